//! The caches of the clients of one worker.
//!
//! All entries are in one arena and one table by client and question; each client has an order of eviction of its own
//! over its entries, a heap whose first is evicted next. The four policies differ in the rank of an entry alone:
//!
//! | policy | rank |
//! |---|---|
//! | TTL | the instant at which it expires |
//! | FIFO | the number of the storing |
//! | LRU | the number of the last use |
//! | LFU | the number of uses, then that of the last use |
//!
//! An entry takes one of a cache's places, or as many as it has records or octets. What takes more than all of them is
//! not stored.
//!
//! An entry that has expired keeps its place until it is asked for or evicted, as nothing looks at it before.

use dnsdyno_measure::CachingClients;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::description::Policy;
use crate::evicted::Evicted;
use crate::ids::QuestionId;

const NS_PER_S: u64 = 1_000_000_000;

/// Uses are counted up to this, so that the number of the last use has its bits in a rank.
const MOST_USES: u64 = (1 << 24) - 1;
const USES_SHIFT: u32 = 40;

#[derive(Debug)]
struct Entry {
    question: QuestionId,
    client: u32,
    /// The number of what was said.
    value: u32,
    /// Where it is in the order of its client.
    place: u32,
    expires_ns: u64,
    ttl_s: u32,
    /// How many places it takes.
    takes: u32,
}

/// What is stored at a question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    /// The number of what was said.
    pub(crate) value: u32,
    /// For how many seconds it is valid.
    pub(crate) ttl_s: u32,
    /// How many places it takes.
    pub(crate) takes: u32,
}

/// An entry in the order of its client. Its rank stands here, so that finding a place in the order reads no entries:
/// those of a client are far apart in memory.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    rank: u64,
    number: u32,
}

/// What a cache says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The value stored.
    Valid(u32),
    /// Nothing, because it was evicted before its TTL had ended.
    Evicted,
    /// Nothing.
    Absent,
}

/// The caches of all clients of a worker. Clients are numbered from 0 within the worker.
#[derive(Debug)]
pub(crate) struct Cache {
    policy: Policy,
    capacity: u64,
    /// The places that are taken, by client.
    taken: Vec<u64>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    table: HashTable<u32>,
    /// The entries of each client, as a heap: the first has the smallest rank.
    orders: Vec<Vec<Ranked>>,
    evicted: Evicted,
    /// Storings and uses so far.
    uses: u64,
    hasher: DefaultHashBuilder,
}

impl Cache {
    /// Caches of `capacity` places for each of `clients`; an entry takes at least `least` of them.
    pub(crate) fn new(policy: Policy, capacity: u32, least: u32, clients: usize) -> Self {
        let total = (capacity / least.max(1)) as usize * clients;
        Cache {
            policy,
            capacity: u64::from(capacity),
            taken: vec![0; clients],
            // Memory that is not written is not taken: what caches never hold costs addresses only.
            entries: Vec::with_capacity(total),
            free: Vec::new(),
            table: HashTable::with_capacity(total),
            orders: std::iter::repeat_with(Vec::new).take(clients).collect(),
            evicted: Evicted::new(total),
            uses: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// How many entries all clients have, those that have expired and were not looked at since included.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Looks a question up, and counts what expired; hits and misses are the caller's.
    pub(crate) fn get(
        &mut self,
        client: u32,
        question: QuestionId,
        now_ns: u64,
        counts: &mut CachingClients,
    ) -> Found {
        let Some(number) = self.find(client, question) else {
            let valid = self.evicted.take(client, question).is_some_and(|expires_ns| expires_ns > now_ns);
            return if valid { Found::Evicted } else { Found::Absent };
        };
        let entry = &self.entries[number as usize];
        if entry.expires_ns <= now_ns {
            counts.expired += 1;
            self.remove(number);
            return Found::Absent;
        }
        let value = entry.value;
        self.use_again(number);
        Found::Valid(value)
    }

    /// Stores what a response says, for a client and a question. With a TTL of 0 it is not stored (RFC 2181 §8), and
    /// neither is what has no room in an empty cache.
    pub(crate) fn put(
        &mut self,
        (client, question): (u32, QuestionId),
        stored: Stored,
        now_ns: u64,
        counts: &mut CachingClients,
    ) {
        let Stored { value, ttl_s, takes } = stored;
        if ttl_s == 0 || u64::from(takes) > self.capacity {
            return;
        }
        let expires_ns = now_ns + u64::from(ttl_s) * NS_PER_S;
        self.uses += 1;
        // What says as much as before is stored again in its place; what grew or shrank is stored anew.
        let known = self.find(client, question);
        let same = known.filter(|number| self.entries[*number as usize].takes == takes);
        if let (Some(number), None) = (known, same) {
            self.remove(number);
            counts.refreshed += 1;
        }
        if let Some(number) = same {
            counts.refreshed += 1;
            let entry = &mut self.entries[number as usize];
            (entry.value, entry.ttl_s, entry.expires_ns) = (value, ttl_s, expires_ns);
            match self.policy {
                Policy::Ttl => self.set_rank(number, expires_ns),
                Policy::Fifo => self.set_rank(number, self.uses),
                Policy::Lru | Policy::Lfu => {}
            }
            return;
        }
        while self.taken[client as usize] + u64::from(takes) > self.capacity {
            self.evict(client, now_ns, counts);
        }
        self.evicted.forget(client, question);
        counts.stored += u64::from(known.is_none());
        let rank = match self.policy {
            Policy::Ttl => expires_ns,
            Policy::Fifo | Policy::Lru => self.uses,
            Policy::Lfu => (1 << USES_SHIFT) | self.uses,
        };
        self.insert(Entry { question, client, value, place: 0, expires_ns, ttl_s, takes }, rank);
    }

    /// Clears the cache of a client.
    pub(crate) fn clear(&mut self, client: u32, counts: &mut CachingClients) {
        while let Some(last) = self.order(client).last().copied() {
            counts.cleared += 1;
            self.remove(last.number);
        }
    }

    /// Evicts the first in the order of a client.
    fn evict(&mut self, client: u32, now_ns: u64, counts: &mut CachingClients) {
        let Some(Ranked { number, .. }) = self.order(client).first().copied() else { return };
        let entry = &self.entries[number as usize];
        if entry.expires_ns <= now_ns {
            counts.expired += 1;
        } else {
            let ttl_ns = u64::from(entry.ttl_s) * NS_PER_S;
            let age_ns = ttl_ns.saturating_sub(entry.expires_ns - now_ns);
            let tenth = (u128::from(age_ns) * 10 / u128::from(ttl_ns)).min(9) as u16;
            counts.evicted += 1;
            counts.evicted_at.add(tenth, 1);
            self.evicted.remember(client, entry.question, entry.expires_ns);
        }
        self.remove(number);
    }

    fn use_again(&mut self, number: u32) {
        self.uses += 1;
        match self.policy {
            Policy::Ttl | Policy::Fifo => {}
            Policy::Lru => self.set_rank(number, self.uses),
            Policy::Lfu => {
                let entry = &self.entries[number as usize];
                let rank = self.order(entry.client)[entry.place as usize].rank;
                let uses = ((rank >> USES_SHIFT) + 1).min(MOST_USES);
                self.set_rank(number, (uses << USES_SHIFT) | self.uses);
            }
        }
    }

    fn find(&self, client: u32, question: QuestionId) -> Option<u32> {
        let hash = self.hasher.hash_one((client, question));
        let same = |number: &u32| {
            let entry = &self.entries[*number as usize];
            entry.client == client && entry.question == question
        };
        self.table.find(hash, same).copied()
    }

    fn insert(&mut self, entry: Entry, rank: u64) {
        let client = entry.client;
        self.taken[client as usize] += u64::from(entry.takes);
        let hash = self.hasher.hash_one((client, entry.question));
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number as usize] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        let (entries, hasher) = (&self.entries, &self.hasher);
        let rehash = |number: &u32| {
            let entry = &entries[*number as usize];
            hasher.hash_one((entry.client, entry.question))
        };
        self.table.insert_unique(hash, number, rehash);
        let order = &mut self.orders[client as usize];
        order.push(Ranked { rank, number });
        let last = order.len() - 1;
        self.rise(client, last);
    }

    fn remove(&mut self, number: u32) {
        let (client, question, place) = {
            let entry = &self.entries[number as usize];
            self.taken[entry.client as usize] -= u64::from(entry.takes);
            (entry.client, entry.question, entry.place as usize)
        };
        let hash = self.hasher.hash_one((client, question));
        if let Ok(found) = self.table.find_entry(hash, |other| *other == number) {
            found.remove();
        }
        self.free.push(number);
        let order = &mut self.orders[client as usize];
        order.swap_remove(place);
        if place < order.len() {
            self.place_anew(client, place);
        }
    }

    fn set_rank(&mut self, number: u32, rank: u64) {
        let entry = &self.entries[number as usize];
        let (client, place) = (entry.client, entry.place as usize);
        self.orders[client as usize][place].rank = rank;
        self.place_anew(client, place);
    }

    fn order(&self, client: u32) -> &[Ranked] {
        &self.orders[client as usize]
    }

    /// Moves the entry at `place` to where its rank belongs.
    fn place_anew(&mut self, client: u32, place: usize) {
        let place = self.rise(client, place);
        self.sink(client, place);
    }

    /// Moves an entry towards the front; returns where it is then.
    fn rise(&mut self, client: u32, mut place: usize) -> usize {
        let (order, entries) = (&mut self.orders[client as usize], &mut self.entries);
        let moved = order[place];
        while place > 0 {
            let above = (place - 1) / 2;
            let upper = order[above];
            if upper.rank <= moved.rank {
                break;
            }
            put_at(order, entries, place, upper);
            place = above;
        }
        put_at(order, entries, place, moved);
        place
    }

    /// Moves an entry towards the end.
    fn sink(&mut self, client: u32, mut place: usize) {
        let (order, entries) = (&mut self.orders[client as usize], &mut self.entries);
        let moved = order[place];
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(left_rank) = order.get(left).map(|ranked| ranked.rank) else { break };
            let below = match order.get(right) {
                Some(ranked) if ranked.rank < left_rank => right,
                _ => left,
            };
            let lower = order[below];
            if moved.rank <= lower.rank {
                break;
            }
            put_at(order, entries, place, lower);
            place = below;
        }
        put_at(order, entries, place, moved);
    }
}

fn put_at(order: &mut [Ranked], entries: &mut [Entry], place: usize, ranked: Ranked) {
    order[place] = ranked;
    entries[ranked.number as usize].place = place as u32;
}

#[cfg(test)]
mod tests;

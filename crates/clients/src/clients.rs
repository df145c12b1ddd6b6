//! The clients of a worker: what they ask, and when, given the responses that they get.
//!
//! ```text
//! arrivals ──► procedures ──► cache ──► asks ──► next_ask ──► the server
//!                  ▲            ▲                                 │
//!                  └────────────┴──────── answered, failed ◄──────┘
//! ```

use std::collections::VecDeque;

use dnsdyno_measure::{CachingClients, LookupStep, ProcedureKind};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::arrivals::{Arrival, Arrivals, Happening};
use crate::asks::{Asks, State};
use crate::cache::Cache;
use crate::description::check::Checked;
use crate::description::{Lookups, Names};
use crate::following::Resolution;
use crate::ids::QuestionId;
use crate::procedure::{Ended, Outcome, Procedures};
use crate::repeated::Responses;
use crate::response::{Useless, Wanted};
use crate::selection::Selection;
use crate::sets::Known;
use crate::share::Share;
use crate::timers::{Timer, Timers};

/// So many procedures of a worker are under way at most: of users that arrive then, `turned_away` counts. A server
/// that does not answer at all must not fill the memory; half a million take some 250 MB.
const MOST_PROCEDURES: usize = 1 << 19;

/// A query that is due. It ends once: by [`Clients::answered`] or by [`Clients::failed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The number by which it ends. After its end the number is used again.
    pub id: u32,
    /// When it should leave.
    pub due_ns: u64,
    /// How long the client waits for a response before it asks again. It still takes one that comes later.
    pub wait_ns: u64,
    /// The client, from 0 on, of all clients of the run.
    pub client: u32,
    /// The procedure that needs it.
    pub kind: ProcedureKind,
    /// Its step.
    pub step: LookupStep,
    /// 0, or which retry it is.
    pub retry: u32,
}

/// A query that was handed out, until it ends. Its question may have ended before: by the response to another query,
/// or because it was given up.
#[derive(Debug, Clone, Copy)]
struct Query {
    question: QuestionId,
    ask: u32,
    /// Of its question; `None`: the query has ended.
    serial: Option<u64>,
}

/// The clients of one worker.
#[derive(Debug)]
pub struct Clients {
    following: Resolution,
    wanted: Wanted,
    first_wait_ns: u64,
    most_retries: u32,
    /// What procedures begin with, by the index of the tracking area or of the line; and by that of the access point.
    first: Vec<QuestionId>,
    second: Vec<QuestionId>,
    arrivals: Arrivals,
    timers: Timers,
    /// By their numbers.
    queries: Vec<Query>,
    free_queries: Vec<u32>,
    is_finished: bool,
}

impl Clients {
    /// The clients of a worker. The same seed gives the same behaviour; the clients of all workers together are those
    /// described. `start_ns` is the instant from which on users arrive.
    pub fn new(checked: &Checked, share: Share, seed: u64, start_ns: u64) -> Self {
        let description = checked.description();
        let (lookups, wanted) = match &description.names {
            Names::Epc(mobile) => (mobile.lookups.clone(), Wanted::Gateways(mobile.lookups.clone())),
            Names::Stub(_) => (Lookups::default(), Wanted::Presence),
        };
        let mut known = Known::default();
        let mut number = |wires: &[Vec<u8>]| -> Vec<QuestionId> {
            wires.iter().filter_map(|wire| known.names.question_of_wire(wire)).collect()
        };
        let (first, second) = (number(&checked.first), number(&checked.second));
        known.end_of_description();
        let (clients, cache) = (share.clients(description.clients) as usize, description.cache);
        Clients {
            following: Resolution {
                share,
                lookups,
                count: description.cache.count,
                known,
                responses: Responses::default(),
                cache: Cache::new(cache.policy, cache.entries, cache.count.least(), clients),
                selection: Selection::default(),
                random: Xoshiro256PlusPlus::seed_from_u64(seed),
                procedures: Procedures::default(),
                asks: Asks::default(),
                ready: VecDeque::new(),
                ended: Vec::new(),
                counts: CachingClients::default(),
            },
            wanted,
            first_wait_ns: (description.retries.first_s * 1e9) as u64,
            most_retries: description.retries.retries,
            first,
            second,
            arrivals: Arrivals::new(checked, share, seed, start_ns),
            timers: Timers::default(),
            queries: Vec::new(),
            free_queries: Vec::new(),
            is_finished: false,
        }
    }

    /// When there is something to do next: then [`next_ask`](Self::next_ask) is to be called. `None`: only after a
    /// response, or never.
    pub fn next_event_ns(&self) -> Option<u64> {
        if let Some(asked) = self.following.ready.front().and_then(|id| self.following.asks.get(*id)) {
            return Some(asked.due_ns);
        }
        self.timers.next_ns().into_iter().chain(self.next_arrival_ns()).min()
    }

    /// Lets everything happen that does until `now_ns`, up to the next query that is due; `None` if there is none.
    pub fn next_ask(&mut self, now_ns: u64) -> Option<Ask> {
        loop {
            while let Some(id) = self.following.ready.pop_front() {
                if let Some(ask) = self.hand_out(id) {
                    return Some(ask);
                }
            }
            let timer_ns = self.timers.next_ns();
            let arrival_ns = self.next_arrival_ns();
            match (timer_ns, arrival_ns) {
                (Some(timer_ns), arrival_ns)
                    if timer_ns <= now_ns && arrival_ns.is_none_or(|arrival_ns| timer_ns <= arrival_ns) =>
                {
                    self.end_wait();
                }
                (_, Some(arrival_ns)) if arrival_ns <= now_ns => self.happen(arrival_ns),
                _ => return None,
            }
        }
    }

    /// The question of a query that is not ended: name, type and class on the wire.
    pub fn question(&self, id: u32) -> &[u8] {
        let query = self.queries.get(id as usize).filter(|query| query.serial.is_some());
        query.map_or(&[], |query| self.following.known.names.asked(query.question))
    }

    /// Ends a query with the whole response to it. If the response was truncated, it is that over TCP: a truncated one
    /// is of no use to a client.
    ///
    /// A response that cannot be used (malformed, truncated, an RCODE such as SERVFAIL or REFUSED) is as none: the
    /// client asks again when it would have without. So a server in trouble is not asked more at once. Nor is one
    /// of use whose question has ended, by the response to an earlier or a later query.
    pub fn answered(&mut self, id: u32, at_ns: u64, message: &[u8]) {
        let Some(ask) = self.end_query(id) else { return };
        let Some((client, question)) = self.sent(ask) else { return };
        let read = self.following.responses.read(
            message,
            question,
            &self.wanted,
            &mut self.following.known,
            &mut self.following.counts,
        );
        match read {
            Ok(bundle) => {
                if let Some(answer) = self.following.responses.held().last()
                    && self.following.known.names.note_last(question, answer.set)
                {
                    self.following.counts.changed += 1;
                }
                self.following.store((client, question), bundle, message.len(), at_ns);
                let mut next = self.following.asks.end(ask);
                self.timers.drop_ended(&self.following.asks);
                while let Some(waiter) = self.following.asks.waiter(&mut next) {
                    self.following.resolve(waiter, question, bundle, at_ns);
                }
            }
            Err(useless) => {
                let counter = match useless {
                    Useless::Malformed => &mut self.following.counts.malformed,
                    Useless::Truncated => &mut self.following.counts.truncated,
                    Useless::Refused => &mut self.following.counts.refused,
                    Useless::Excess => &mut self.following.counts.excess,
                };
                *counter += 1;
            }
        }
    }

    /// Ends a query without a response. Whether it ends or not, the client asks again after `first_s` seconds since it
    /// was due, then after twice that, and so on; and it gives the question up when the time after the last retry is
    /// over.
    pub fn failed(&mut self, id: u32) {
        self.end_query(id);
    }

    /// Ends all: procedures under way count as interrupted, and nothing is asked any longer. Queries that are not ended
    /// are forgotten.
    pub fn finish(&mut self, at_ns: u64) {
        self.is_finished = true;
        self.following.ready.clear();
        self.timers.clear();
        self.queries.iter_mut().for_each(|query| query.serial = None);
        self.free_queries = (0..self.queries.len() as u32).collect();
        self.following.asks = Asks::default();
        for number in self.following.procedures.under_way() {
            self.following.end(number, Outcome::Interrupted, at_ns);
        }
    }

    /// Takes the procedures that ended since the last call, in the order of their ends.
    pub fn ended(&mut self) -> impl Iterator<Item = Ended> + '_ {
        self.following.ended.drain(..)
    }

    /// What was counted since the last call of [`take_counts`](Self::take_counts).
    pub fn counts(&self) -> &CachingClients {
        &self.following.counts
    }

    /// Takes what was counted, and begins anew.
    pub fn take_counts(&mut self) -> CachingClients {
        std::mem::take(&mut self.following.counts)
    }

    /// How many entries the caches of all clients have now. Entries that expired, and that nothing has looked at since,
    /// are among them.
    pub fn entries(&self) -> usize {
        self.following.cache.len()
    }

    /// How many procedures are under way.
    pub fn under_way(&self) -> usize {
        self.following.procedures.len()
    }

    fn next_arrival_ns(&self) -> Option<u64> {
        if self.is_finished { None } else { self.arrivals.next_ns() }
    }

    fn happen(&mut self, at_ns: u64) {
        match self.arrivals.take() {
            Some(Happening::Arrival(arrival)) => self.begin(arrival, at_ns),
            // Procedures under way go on: their users are asked for again by those of the event.
            Some(Happening::Restart { client }) => {
                self.following.cache.clear(client, &mut self.following.counts)
            }
            None => {}
        }
    }

    fn begin(&mut self, arrival: Arrival, at_ns: u64) {
        let Arrival { kind, client, first, second, users } = arrival;
        if self.following.procedures.len() >= MOST_PROCEDURES {
            self.following.counts.turned_away.add(kind, 1);
            return;
        }
        let Some(question) = self.first.get(first as usize).copied() else { return };
        self.following.counts.begun.add(kind, 1);
        let number = self.following.procedures.begin(kind, client, at_ns);
        let procedure = self.following.procedures.get_mut(number);
        procedure.users = users;
        if kind == ProcedureKind::Attach {
            procedure.second = self.second.get(second as usize).copied();
        }
        self.following.start(number, question, at_ns);
    }

    fn hand_out(&mut self, id: u32) -> Option<Ask> {
        let asked = self.following.asks.get_mut(id).filter(|asked| asked.state == State::Ready)?;
        asked.state = State::Sent;
        let asked = *asked;
        self.following.known.names.prepare(asked.question);
        let wait_ns = self.first_wait_ns << asked.retries;
        let timer = Timer { due_ns: asked.due_ns.saturating_add(wait_ns), ask: id, serial: asked.serial };
        self.timers.start(asked.retries, timer);
        let query = Query { question: asked.question, ask: id, serial: Some(asked.serial) };
        Some(Ask {
            id: self.begin_query(query),
            due_ns: asked.due_ns,
            wait_ns,
            client: self.following.share.global(asked.client),
            kind: asked.kind,
            step: asked.step,
            retry: asked.retries,
        })
    }

    fn begin_query(&mut self, query: Query) -> u32 {
        match self.free_queries.pop() {
            Some(id) => {
                self.queries[id as usize] = query;
                id
            }
            None => {
                self.queries.push(query);
                (self.queries.len() - 1) as u32
            }
        }
    }

    /// Ends a query; its question, if that has not ended.
    fn end_query(&mut self, id: u32) -> Option<u32> {
        let query = self.queries.get_mut(id as usize)?;
        let serial = query.serial.take()?;
        self.free_queries.push(id);
        let ask = query.ask;
        self.following.asks.is(ask, serial).then_some(ask)
    }

    /// Counts a query that was handed out, when it is sent: the run may end before.
    pub fn count_sent(&mut self, ask: &Ask) {
        let counts = &mut self.following.counts;
        if ask.retry == 0 {
            counts.asked.add(ask.kind, 1);
            counts.asked_by_step.add(ask.step, 1);
        } else {
            counts.asked_again.add(ask.kind, 1);
        }
    }

    /// Client and question of what is asked.
    fn sent(&self, ask: u32) -> Option<(u32, QuestionId)> {
        self.following.asks.get(ask).map(|asked| (asked.client, asked.question))
    }

    /// Asks the question whose timer has ended again, or gives it up.
    fn end_wait(&mut self) {
        let Some(Timer { due_ns, ask, serial }) = self.timers.take() else { return };
        self.timers.drop_ended(&self.following.asks);
        let most_retries = self.most_retries;
        if !self.following.asks.is(ask, serial) {
            return;
        }
        let Some(asked) = self.following.asks.get_mut(ask) else { return };
        if asked.retries >= most_retries {
            self.give_up(ask, due_ns);
            return;
        }
        asked.retries += 1;
        asked.due_ns = due_ns;
        asked.state = State::Ready;
        self.following.ready.push_back(ask);
    }

    fn give_up(&mut self, ask: u32, at_ns: u64) {
        self.following.counts.given_up += 1;
        let mut next = self.following.asks.end(ask);
        while let Some(waiter) = self.following.asks.waiter(&mut next) {
            let procedure = self.following.procedures.get_mut(waiter.procedure);
            procedure.unanswered = true;
            procedure.waiting -= 1;
            self.following.go_on(waiter.procedure, at_ns);
        }
    }
}

//! Queries of which a wanted share is in the cache of a resolver.
//!
//! Some names are *hot*: they are asked for again and again. Others are *cold*: each is asked for once, because a
//! placeholder makes it unique. A worker keeps a model of what the cache has of its hot names, by the instants at which
//! they were taken and by their TTL:
//!
//! ```text
//!   asked for ─► being resolved ─► cached ────────────────► uncertain ─► expired
//!   (a miss)     SETTLE_NS          until 90 % of the TTL      until the TTL
//!                                   less a second              and two seconds
//! ```
//!
//! A query that must be a hit takes a random name that is cached. One that must be a miss takes a hot name that was
//! never asked for or has expired, or else a cold name. No query takes a name that is uncertain: resolvers count
//! seconds, and may fetch a name again before it expires.
//!
//! If all hot names were asked for at the start, all would be uncertain at the same time, and there would be no hits.
//! So only half of them are; the others, and those that have expired, follow evenly over the TTL.

use std::collections::VecDeque;
use std::sync::Arc;

use super::random::{random_of, scaled};

/// What all workers have in common.
#[derive(Debug)]
pub(super) struct CachePlan {
    /// The share of queries that the cache has, 0 to 1.
    pub(super) share: f64,
    /// How long a resolver keeps a name.
    pub(super) ttl_ns: u64,
    /// The queries for hot names are the first ones of the source.
    pub(super) hot: u32,
    /// The queries for cold names follow them.
    pub(super) cold: u32,
    pub(super) seed: u64,
}

impl CachePlan {
    /// A query that no query of the run is a copy of.
    pub(super) fn check_question(&self) -> u32 {
        self.hot
    }
}

/// The model of one worker.
#[derive(Debug)]
pub(super) struct CacheModel {
    plan: Arc<CachePlan>,
    /// Hot names that are not in the cache.
    absent: VecDeque<u32>,
    /// Hot names that were asked for, with the instants; the oldest first.
    asked: VecDeque<(u64, u32)>,
    /// How many of `asked`, from the oldest on, are too old for a hit.
    uncertain: usize,
    /// How many of `asked`, from the oldest on, have been resolved.
    settled: usize,
    /// The hits that are due: the wanted share of the queries so far, less the hits so far.
    owed: f64,
    /// The share of hits that is aimed at.
    share: f64,
    next_cold: u32,
    /// Hot names that are asked for without a distance in time.
    at_start: usize,
    /// When the next hot name may be asked for, and the distance of the one after it.
    next_hot_ns: u64,
    distance_ns: u64,
}

impl CacheModel {
    pub(super) fn new(plan: Arc<CachePlan>, worker: u32, workers: u32) -> CacheModel {
        // Each worker has hot names of its own, so that it knows when they are asked for.
        let own = (worker..plan.hot).step_by(workers.max(1) as usize);
        let mut absent: VecDeque<u32> = own.collect();
        if absent.is_empty() && plan.hot > 0 {
            absent.push_back(worker % plan.hot);
        }
        CacheModel {
            at_start: absent.len() / 2,
            next_hot_ns: 0,
            distance_ns: (plan.ttl_ns + EXPIRED_NS) / absent.len().max(1) as u64,
            absent,
            asked: VecDeque::new(),
            uncertain: 0,
            settled: 0,
            owed: 0.0,
            share: plan.share.min(MOST_HITS),
            next_cold: if plan.cold == 0 { 0 } else { worker % plan.cold },
            plan,
        }
    }

    pub(super) fn pick(&mut self, number: u64, now_ns: u64) -> u32 {
        self.advance(now_ns);
        self.owed += self.share;
        let hit = if self.owed >= 1.0 { self.cached(number) } else { None };
        match hit {
            Some(name) => {
                self.owed -= 1.0;
                name
            }
            None => self.missing(now_ns, self.owed >= 1.0),
        }
    }

    /// Moves names on to the next state.
    fn advance(&mut self, now_ns: u64) {
        let ttl_ns = self.plan.ttl_ns;
        let usable_ns = (ttl_ns - ttl_ns / PREFETCH_PART).saturating_sub(SECOND_NS).max(ttl_ns / 4);
        let age_ns = |asked: Option<&(u64, u32)>| asked.map(|(at_ns, _)| now_ns.saturating_sub(*at_ns));
        while age_ns(self.asked.get(self.settled)).is_some_and(|age_ns| age_ns >= SETTLE_NS) {
            self.settled += 1;
        }
        while age_ns(self.asked.get(self.uncertain)).is_some_and(|age_ns| age_ns >= usable_ns) {
            self.uncertain += 1;
        }
        while age_ns(self.asked.front()).is_some_and(|age_ns| age_ns >= ttl_ns + EXPIRED_NS) {
            self.absent.extend(self.asked.pop_front().map(|(_, name)| name));
            self.uncertain = self.uncertain.saturating_sub(1);
            self.settled = self.settled.saturating_sub(1);
        }
    }

    /// A name that the cache has; the oldest of those that are being resolved, if there is no other.
    fn cached(&self, number: u64) -> Option<u32> {
        let from = self.uncertain;
        let count = match self.settled.saturating_sub(from) {
            0 => usize::from(from < self.asked.len()),
            count => count,
        };
        if count == 0 {
            return None;
        }
        let nth = scaled(random_of(self.plan.seed, number), count as u64) as usize;
        self.asked.get(from + nth).map(|(_, name)| *name)
    }

    /// A name that the cache does not have: a hot one where it is time for one, or where hits lack one.
    fn missing(&mut self, now_ns: u64, is_needed: bool) -> u32 {
        let is_time = self.at_start > 0 || now_ns >= self.next_hot_ns;
        if (is_time || is_needed)
            && let Some(name) = self.absent.pop_front()
        {
            self.at_start = self.at_start.saturating_sub(1);
            let last_ns = if self.at_start > 0 { now_ns } else { now_ns.max(self.next_hot_ns) };
            self.next_hot_ns = last_ns + self.distance_ns;
            self.asked.push_back((now_ns, name));
            return name;
        }
        let cold = self.plan.hot + self.next_cold;
        self.next_cold = if self.next_cold + 1 < self.plan.cold { self.next_cold + 1 } else { 0 };
        cold
    }
}

/// Hits beyond this share are not possible: a name is asked for once before it is in the cache, and again after it has
/// expired.
const MOST_HITS: f64 = 0.998;

/// How long a resolver usually needs for a name.
const SETTLE_NS: u64 = 200_000_000;

/// Resolvers fetch a name again when less than this part of its TTL is left.
const PREFETCH_PART: u64 = 10;

/// How long after its TTL a name has surely expired.
const EXPIRED_NS: u64 = 2 * SECOND_NS;

const SECOND_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests;

//! Queries with their responses, and the time between them.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use dnsdyno_measure::Histogram;
use serde::Serialize;

use crate::message::{DnsMessage, Protocol};

/// Queries with their responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pairs {
    /// Queries with a response.
    pub answered: u64,
    /// Queries without one: it was not captured within the next 250,000 queries, or there was none.
    pub unanswered: u64,
    /// Queries that were sent again with the same ID from the same port, before they were answered.
    pub repeated: u64,
    /// Responses whose query was not captured before them.
    pub without_query: u64,
    /// Percentiles of the time from query to response, at the place of the capture; empty without a pair.
    pub latency: Vec<Percentile>,
}

/// The time within which a part of the queries was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Percentile {
    /// The part, such as `p99`.
    pub name: &'static str,
    /// The time.
    pub ns: u64,
}

#[derive(Default)]
pub(super) struct Counter {
    /// When each query was captured that has no response yet.
    open: HashMap<Key, u64>,
    /// The last queries, also those that have one.
    last: VecDeque<(Key, u64)>,
    latency: Option<Histogram>,
    pairs: Pairs,
}

/// Client, server, transport and ID.
type Key = (SocketAddr, SocketAddr, Protocol, [u8; 2]);

impl Counter {
    pub(super) fn add(&mut self, message: &DnsMessage<'_>) {
        let Some(id) = message.bytes.first_chunk::<2>() else { return };
        let key = (message.client(), message.server(), message.protocol, *id);
        if message.is_response() {
            return self.add_response(key, message.at_unix_ns);
        }
        if self.open.contains_key(&key) {
            self.pairs.repeated += 1;
            return;
        }
        if self.last.len() == MAX_OPEN
            && let Some((key, at_unix_ns)) = self.last.pop_front()
            && self.open.get(&key) == Some(&at_unix_ns)
        {
            self.open.remove(&key);
            self.pairs.unanswered += 1;
        }
        self.open.insert(key, message.at_unix_ns);
        self.last.push_back((key, message.at_unix_ns));
    }

    fn add_response(&mut self, key: Key, at_unix_ns: u64) {
        match self.open.remove(&key) {
            Some(asked_unix_ns) => {
                self.pairs.answered += 1;
                let latency = self.latency.get_or_insert_with(Histogram::new);
                latency.record(at_unix_ns.saturating_sub(asked_unix_ns));
            }
            None => self.pairs.without_query += 1,
        }
    }

    pub(super) fn pairs(self) -> Pairs {
        let latency = self.latency.iter().flat_map(|latency| {
            PERCENTILES.iter().filter_map(|(name, per_mille)| {
                let rank = (latency.count() * per_mille).div_ceil(1_000);
                Some(Percentile { name, ns: latency.at_rank(rank.max(1))? })
            })
        });
        let latency = latency.collect();
        Pairs { unanswered: self.pairs.unanswered + self.open.len() as u64, latency, ..self.pairs }
    }
}

/// Queries whose responses are waited for: at 100,000 a second those of more than two seconds.
const MAX_OPEN: usize = 250_000;

const PERCENTILES: &[(&str, u64)] =
    &[("p50", 500), ("p90", 900), ("p95", 950), ("p99", 990), ("p99.9", 999), ("max", 1_000)];

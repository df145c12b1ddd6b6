//! Queries with their responses, and the time between them.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::net::SocketAddr;

use dnsdyno_measure::Histogram;
use dnsdyno_wire::peek;
use serde::Serialize;

use crate::message::{DnsMessage, Protocol};

/// Queries with their responses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pairs {
    /// Queries with a response.
    pub answered: u64,
    /// Queries without one: it was not captured within the next 250,000 queries, or there was none.
    pub unanswered: u64,
    /// Queries that were sent again within 6 s, with the same ID from the same port, before they were answered.
    pub repeated: u64,
    /// Responses whose query was not captured before them, or had another question.
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
    /// Queries that have no response yet.
    open: HashMap<Key, Asked>,
    /// The last queries, also those that have one.
    last: VecDeque<(Key, u64)>,
    latency: Option<Histogram>,
    pairs: Pairs,
}

/// Client, server, transport and ID.
type Key = (SocketAddr, SocketAddr, Protocol, [u8; 2]);

/// A query.
#[derive(Clone, Copy)]
struct Asked {
    /// When it was captured.
    at_unix_ns: u64,
    question: u64,
}

impl Counter {
    pub(super) fn add(&mut self, message: &DnsMessage<'_>) {
        let Some(id) = message.bytes.first_chunk::<2>() else { return };
        let key = (message.client(), message.server(), message.protocol, *id);
        let asked = Asked { at_unix_ns: message.at_unix_ns, question: question_of(message.bytes) };
        if message.is_response() {
            return self.add_response(key, asked);
        }
        if let Some(before) = self.open.get(&key) {
            let age_ns = asked.at_unix_ns.saturating_sub(before.at_unix_ns);
            if before.question == asked.question && age_ns < LONGEST_REPEAT_NS {
                self.pairs.repeated += 1;
                return;
            }
            // Another query, for which the ID was used again.
            self.pairs.unanswered += 1;
        }
        if self.last.len() == MAX_OPEN
            && let Some((key, at_unix_ns)) = self.last.pop_front()
            && self.open.get(&key).is_some_and(|asked| asked.at_unix_ns == at_unix_ns)
        {
            self.open.remove(&key);
            self.pairs.unanswered += 1;
        }
        self.open.insert(key, asked);
        self.last.push_back((key, message.at_unix_ns));
    }

    fn add_response(&mut self, key: Key, response: Asked) {
        let is_of = |asked: &&Asked| {
            asked.question == response.question || [asked.question, response.question].contains(&NO_QUESTION)
        };
        let Some(asked) = self.open.get(&key).filter(is_of).copied() else {
            self.pairs.without_query += 1;
            return;
        };
        self.open.remove(&key);
        self.pairs.answered += 1;
        let latency = self.latency.get_or_insert_with(Histogram::new);
        latency.record(response.at_unix_ns.saturating_sub(asked.at_unix_ns));
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

/// A number for the question of a message, the same in any case; [`NO_QUESTION`] where it has none, or is not valid.
fn question_of(message: &[u8]) -> u64 {
    let question = peek(message).map_or(&[][..], |message| message.question);
    if question.is_empty() {
        return NO_QUESTION;
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&question.to_ascii_lowercase());
    hasher.finish().max(NO_QUESTION + 1)
}

const NO_QUESTION: u64 = 0;

/// Resolvers of hosts ask again after 5 s at the latest.
const LONGEST_REPEAT_NS: u64 = 6_000_000_000;

/// Queries whose responses are waited for: at 100,000 a second those of more than two seconds.
const MAX_OPEN: usize = 250_000;

const PERCENTILES: &[(&str, u64)] =
    &[("p50", 500), ("p90", 900), ("p95", 950), ("p99", 990), ("p99.9", 999), ("max", 1_000)];

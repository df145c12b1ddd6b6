//! The names that the statistics of all servers have in common, whatever each server calls them. What a server counts
//! beside these keeps its own name, after `raw.`.

use self::Measure::{Counter, Gauge, GaugeNs};

/// A series of a server's statistics.
#[derive(Debug)]
pub struct Series {
    /// Its name. `*` stands for a last part that the server adds: a type, an RCODE.
    pub name: &'static str,
    /// What it measures.
    pub measure: Measure,
    /// What it means, as the end of a sentence.
    pub meaning: &'static str,
}

/// What a series measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// It counts messages or events, and never falls.
    Counter,
    /// It is a number of things at an instant.
    Gauge,
    /// It is a duration at an instant, in nanoseconds.
    GaugeNs,
}

/// All series that servers have in common.
pub const SERIES: [Series; 35] = [
    row("queries", Counter, "queries that came in"),
    row("queries.udp", Counter, "queries over UDP"),
    row("queries.tcp", Counter, "queries over TCP without encryption"),
    row("queries.dot", Counter, "queries over TLS"),
    row("queries.doh", Counter, "queries over HTTPS"),
    row("queries.doq", Counter, "queries over QUIC"),
    row("queries.type.*", Counter, "queries of this type"),
    row("responses", Counter, "responses that were sent"),
    row("responses.rcode.*", Counter, "responses with this RCODE"),
    row("responses.truncated", Counter, "responses with the TC bit"),
    row("responses.slipped", Counter, "truncated responses in place of those over a rate limit"),
    row("dropped.acl", Counter, "queries of clients that may not ask"),
    row("dropped.duplicate", Counter, "queries that were outstanding already"),
    row("dropped.queue", Counter, "queries for which a queue had no room"),
    row("dropped.quota", Counter, "queries above a quota"),
    row("dropped.rate-limit", Counter, "queries or responses above a rate limit"),
    row("dropped.recursion", Counter, "queries above the number that may be resolved at once"),
    row("dropped.rule", Counter, "queries that a rule drops"),
    row("dropped.send-error", Counter, "responses that could not be sent"),
    row("dropped.timeout", Counter, "queries that waited too long"),
    row("dropped.update-quota", Counter, "updates above a quota"),
    row("cache.hits", Counter, "queries that the cache answered"),
    row("cache.misses", Counter, "queries that the cache could not answer"),
    row("tcp.refused", Counter, "connections that were refused"),
    row("tcp.open", Gauge, "open connections"),
    row("tcp.high_water", Gauge, "the most connections that were open at once"),
    row("recursing", Gauge, "queries that are being resolved"),
    row("latency_ns", GaugeNs, "the mean time that a query took of late"),
    row("statements", Counter, "statements of all clients of a database, with those that read these figures"),
    row("statements.select", Counter, "statements that read rows"),
    row("statements.insert", Counter, "statements that add rows"),
    row("statements.update", Counter, "statements that change rows"),
    row("statements.delete", Counter, "statements that remove rows"),
    row("commits", Counter, "transactions that were committed"),
    row("syncs", Counter, "times that a database waited for its disk"),
];

/// The series of this name; `None` for a name that only one server has.
pub fn series_of(name: &str) -> Option<&'static Series> {
    SERIES.iter().find(|series| match series.name.strip_suffix('*') {
        Some(start) => name.strip_prefix(start).is_some_and(|rest| !rest.is_empty()),
        None => series.name == name,
    })
}

/// Whether the statistics of a server may have a series of this name.
pub fn is_series(name: &str) -> bool {
    name.starts_with("raw.") || series_of(name).is_some()
}

const fn row(name: &'static str, measure: Measure, meaning: &'static str) -> Series {
    Series { name, measure, meaning }
}

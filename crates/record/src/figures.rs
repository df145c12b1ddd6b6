//! The figures of a record that expectations and reports have in common.

use dnsdyno_measure::{Latency, Quantile, Tally};

use crate::Headline;

/// Queries that were sent. Each query has one type, and only sent queries are counted there.
pub fn sent(tally: &Tally) -> u64 {
    tally.types.iter().map(|count| count.sent).sum()
}

/// Queries that count for the server: all but the interrupted ones and those of a send-only run.
pub fn judged(tally: &Tally) -> u64 {
    tally.ends.total().saturating_sub(tally.ends.interrupted).saturating_sub(tally.ends.sent_only)
}

/// Judged queries without a response in time, for any reason.
pub fn lost(tally: &Tally) -> u64 {
    judged(tally).saturating_sub(tally.ends.answered)
}

/// `count` per second over `over_ns`; 0 if that is 0.
pub fn rate_qps(count: u64, over_ns: u64) -> f64 {
    if over_ns == 0 { 0.0 } else { count as f64 / (over_ns as f64 * 1e-9) }
}

/// One of the two latencies, including the unanswered.
pub fn latency(which: Headline, tally: &Tally) -> Latency<'_> {
    match which {
        Headline::Response => tally.response_latency(),
        Headline::Service => tally.service_latency(),
    }
}

/// The lateness of sent queries.
pub fn lateness(tally: &Tally) -> Latency<'_> {
    Latency { answered: &tally.lateness, unanswered: 0 }
}

/// The exact maximum of a latency; beyond the timeout if a query was not answered.
pub fn longest(latency: Latency<'_>) -> Option<Quantile> {
    if latency.unanswered > 0 {
        return Some(Quantile::BeyondTimeout);
    }
    latency.answered.exact().map(|exact| Quantile::At(exact.max_ns))
}

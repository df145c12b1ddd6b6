//! The figures of a record that expectations, comparisons and reports have in common.

use dnsdyno_measure::{Latency, Quantile, Tally};

pub use crate::counts::{judged, lost, sent};
use crate::{Digest, Headline, Row};

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

/// The rate of `count` queries of the run; `None` where [too little](carries_a_rate) is behind it, or it
/// [lacks](is_partial) a part.
pub fn run_rate(digest: &Digest, count: u64) -> Option<f64> {
    let asked_qps = digest.rows().iter().map(Row::asked_qps).fold(0.0, f64::max);
    let rate = rate_qps(count, digest.sending_ns());
    (carries_a_rate(digest) && !is_partial(digest)).then(|| not_above(asked_qps, rate))
}

/// Whether the run is long enough for an average rate: the ten queries of a closed loop of 2 µs are not 5,000,000
/// queries a second.
pub fn carries_a_rate(digest: &Digest) -> bool {
    digest.schedule_ns() >= RATE_NEEDS_NS && digest.tally().scheduled >= RATE_NEEDS_QUERIES
}

/// Whether there were responses, and all were REFUSED or SERVFAIL: then the figures are those of an error.
pub fn are_only_refusals(tally: &Tally) -> bool {
    const REFUSALS: [u16; 2] = [2, 5];
    tally.rcodes.total() > 0 && tally.rcodes.iter().all(|(code, _)| REFUSALS.contains(&code))
}

/// Whether the part of an agent is missing in an interval of the run: what is there is not the rate of the load.
pub fn is_partial(digest: &Digest) -> bool {
    digest.partial_intervals() > 0
}

/// The rate of `count` queries of a row; `None` where the part of an agent is missing in it.
pub fn row_rate(row: &Row, count: u64) -> Option<f64> {
    let rate = not_above(row.asked_qps(), rate_qps(count, row.covered_ns));
    (row.partial_intervals == 0).then_some(rate)
}

/// The scheduled rate of a row, as [`row_rate`].
pub fn row_asked(row: &Row) -> Option<f64> {
    (row.partial_intervals == 0).then(|| row.asked_qps())
}

/// An interval at 333.3 queries a second may have 334 queries; no server answers more than it is asked.
fn not_above(asked_qps: f64, rate_qps: f64) -> f64 {
    if asked_qps > 0.0 { rate_qps.min(asked_qps) } else { rate_qps }
}

/// A shorter run is mostly its start.
pub const RATE_NEEDS_NS: u64 = 1_000_000_000;

/// With fewer, one query more or less is over 1 % of the rate.
pub const RATE_NEEDS_QUERIES: u64 = 100;

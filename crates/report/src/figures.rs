//! The figures that several reports show.

use dnsdyno_measure::{Latency, Tally};
pub(crate) use dnsdyno_record::figures::{judged, latency, lateness, longest, lost, rate_qps, sent};
use dnsdyno_record::{Digest, Headline, Row};

/// `part` of `whole`, 0 to 1; `None` where there is no whole.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The average size of `messages` messages, rounded; `None` where there is none.
pub(crate) fn mean_bytes(bytes: u64, messages: u64) -> Option<u64> {
    share(bytes, messages).map(|mean| mean.round() as u64)
}

/// The rate of `count` queries of the run; `None` where [too little](carries_a_rate) is behind it.
pub(crate) fn run_rate(digest: &Digest, count: u64) -> Option<f64> {
    let asked_qps = digest.rows().iter().map(Row::asked_qps).fold(0.0, f64::max);
    let rate = rate_qps(count, digest.schedule_ns());
    carries_a_rate(digest).then(|| not_above(asked_qps, rate))
}

/// Whether the run is long enough for an average rate: the ten queries of a closed loop of 2 µs are not 5,000,000
/// queries a second.
pub(crate) fn carries_a_rate(digest: &Digest) -> bool {
    digest.schedule_ns() >= RATE_NEEDS_NS && digest.tally().scheduled >= RATE_NEEDS_QUERIES
}

/// The rate of `count` queries of a row.
pub fn row_rate(row: &Row, count: u64) -> f64 {
    not_above(row.asked_qps(), rate_qps(count, row.covered_ns))
}

/// An interval at 333.3 queries a second may have 334 queries; no server answers more than it is asked.
fn not_above(asked_qps: f64, rate_qps: f64) -> f64 {
    if asked_qps > 0.0 { rate_qps.min(asked_qps) } else { rate_qps }
}

/// The latency that is first in this run's summary.
pub(crate) fn headline<'a>(digest: &Digest, tally: &'a Tally) -> Latency<'a> {
    digest.header.latency_of(tally)
}

/// The latency that is not first.
pub(crate) fn other(which: Headline) -> Headline {
    match which {
        Headline::Response => Headline::Service,
        Headline::Service => Headline::Response,
    }
}

/// Packets that our own sockets dropped.
pub(crate) fn socket_drops(digest: &Digest) -> u64 {
    let in_evidence = digest.sum.as_ref().map_or(0, |sum| sum.evidence.socket_drops);
    digest.arrivals().socket_drops.max(in_evidence)
}

/// A shorter run is mostly its start.
pub(crate) const RATE_NEEDS_NS: u64 = 1_000_000_000;

/// With fewer, one query more or less is over 1 % of the rate.
pub(crate) const RATE_NEEDS_QUERIES: u64 = 100;

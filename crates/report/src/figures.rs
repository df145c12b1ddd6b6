//! The figures that several reports show.

use dnsdyno_measure::{Latency, Quantile, Tally};
use dnsdyno_record::{Digest, Headline};

/// Queries that were sent. Each query has one type, and only sent queries are counted there.
pub(crate) fn sent(tally: &Tally) -> u64 {
    tally.types.iter().map(|count| count.sent).sum()
}

/// Queries that count for the server: all but the interrupted ones and those of a send-only run.
pub(crate) fn judged(tally: &Tally) -> u64 {
    tally.ends.total() - tally.ends.interrupted - tally.ends.sent_only
}

/// Judged queries without a response in time, for any reason.
pub(crate) fn lost(tally: &Tally) -> u64 {
    judged(tally) - tally.ends.answered
}

/// `part` of `whole`, 0 to 1; `None` where there is no whole.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// `count` per second over `over_ns`; 0 if that is 0.
pub(crate) fn rate_qps(count: u64, over_ns: u64) -> f64 {
    if over_ns == 0 { 0.0 } else { count as f64 / (over_ns as f64 * 1e-9) }
}

/// The latency that is first in this run's summary.
pub(crate) fn headline<'a>(digest: &Digest, tally: &'a Tally) -> Latency<'a> {
    latency(digest.header.headline, tally)
}

/// One of the two latencies, including the unanswered.
pub(crate) fn latency(which: Headline, tally: &Tally) -> Latency<'_> {
    match which {
        Headline::Response => tally.response_latency(),
        Headline::Service => tally.service_latency(),
    }
}

/// The latency that is not first.
pub(crate) fn other(which: Headline) -> Headline {
    match which {
        Headline::Response => Headline::Service,
        Headline::Service => Headline::Response,
    }
}

/// The lateness of sent queries.
pub(crate) fn lateness(tally: &Tally) -> Latency<'_> {
    Latency { answered: &tally.lateness, unanswered: 0 }
}

/// The exact maximum of a latency; beyond the timeout if a query was not answered.
pub(crate) fn longest(latency: Latency<'_>) -> Option<Quantile> {
    if latency.unanswered > 0 {
        return Some(Quantile::BeyondTimeout);
    }
    latency.answered.exact().map(|exact| Quantile::At(exact.max_ns))
}

/// Packets that our own sockets dropped.
pub(crate) fn socket_drops(digest: &Digest) -> u64 {
    let in_evidence = digest.sum.as_ref().map_or(0, |sum| sum.evidence.socket_drops);
    digest.arrivals().socket_drops.max(in_evidence)
}

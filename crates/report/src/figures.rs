//! The figures that several reports show.

use dnsdyno_measure::{Latency, Tally};
pub(crate) use dnsdyno_record::figures::{
    RATE_NEEDS_NS, RATE_NEEDS_QUERIES, carries_a_rate, is_partial, judged, latency, lateness, longest, lost,
    rate_qps, run_rate, sent,
};
pub use dnsdyno_record::figures::{row_asked, row_rate};
use dnsdyno_record::{Digest, Headline};
use dnsdyno_text::layout::NOTHING;
use dnsdyno_text::units::rate;

/// `part` of `whole`, 0 to 1; `None` where there is no whole.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A rate of a row; `partial` where the part of an agent is missing in it.
pub fn row_rate_cell(row_rate: Option<f64>) -> String {
    row_rate.map_or(PARTIAL.to_owned(), rate)
}

/// The rate of `count` queries of a run, or why there is none.
pub(crate) fn run_rate_cell(digest: &Digest, count: u64) -> String {
    let none = if is_partial(digest) { PARTIAL } else { NOTHING };
    run_rate(digest, count).map_or(none.to_owned(), rate)
}

/// In place of a rate: an agent has not given its part.
pub(crate) const PARTIAL: &str = "partial";

/// The average size of `messages` messages, rounded; `None` where there is none.
pub(crate) fn mean_bytes(bytes: u64, messages: u64) -> Option<u64> {
    share(bytes, messages).map(|mean| mean.round() as u64)
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

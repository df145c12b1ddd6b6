//! The worst moment of a run, as a clause: named where it is far from the figures of the whole.

use dnsdyno_measure::{BEYOND, Latency, Quantile};
use dnsdyno_record::Digest;
use dnsdyno_record::held::HELD_LOSS;
use dnsdyno_text::units::{duration, percent, rate, seconds};

use crate::figures::headline;
use crate::quantile::quantile;
use crate::steps::Rate;

/// `, but 312 ms at worst (between 7 s and 8 s)`, `, but 25.00 % lost at worst (between 7 s and 8 s)`; empty where the
/// loss and the latency of the run say as much.
pub(super) fn of_run(digest: &Digest, loss: f64, latency: Latency<'_>) -> String {
    let worst = digest.worst();
    let between = |from_ns: u64, to_ns: u64| {
        let [from, to] = [from_ns, to_ns].map(|ns| seconds(ns, digest.header.interval_ns));
        format!("at worst (between {from} s and {to} s)")
    };
    if let Some(most) = worst
        .loss
        .filter(|most| most.lost >= BEYOND && most.share() > HELD_LOSS && most.share() >= loss * MORE_LOST)
    {
        return format!(", but {} lost {}", percent(most.share()), between(most.from_ns, most.to_ns));
    }
    let longest = worst.longest(digest.header.headline);
    match longest.filter(|longest| is_far(longest.ns, latency.percentile(P99))) {
        Some(longest) => {
            format!(", but {} {}", duration(longest.ns), between(longest.from_ns, longest.to_ns))
        }
        None => String::new(),
    }
}

/// The same of the rates that were held, where `shown` is the latency at the highest of them:
/// `, but 482 ms at 3,000/s`, `, but 482 ms at worst (at 3,000/s)`.
pub(super) fn of_steps(digest: &Digest, held: &[Rate<'_>], shown: Latency<'_>) -> String {
    let Some(shown) = shown.percentile(P99) else { return String::new() };
    let rows: Vec<_> = held.iter().filter_map(|rate| Some((rate.asked_qps, rate.row()?))).collect();
    let p99 =
        rows.iter().filter_map(|(qps, row)| Some((headline(digest, &row.tally).percentile(P99)?, *qps)));
    if let Some((p99, qps)) = p99.max_by_key(|(p99, _)| *p99).filter(|(p99, _)| is_longer(*p99, shown)) {
        return format!(", but {} at {}/s", quantile(Some(p99), digest.header.timeout_ns), rate(qps));
    }
    let which = digest.header.headline;
    let longest = rows.iter().filter_map(|(qps, row)| Some((row.worst.longest(which)?.ns, *qps)));
    match longest.max_by_key(|(ns, _)| *ns).filter(|(ns, _)| is_far(*ns, Some(shown))) {
        Some((ns, qps)) => format!(", but {} at worst (at {}/s)", duration(ns), rate(qps)),
        None => String::new(),
    }
}

/// Whether the longest latency says what p99 does not: that the server stood still, or nearly so.
fn is_far(longest_ns: u64, p99: Option<Quantile>) -> bool {
    let Some(Quantile::At(p99_ns)) = p99 else { return false };
    longest_ns >= SHORTEST_TOLD_NS && longest_ns >= p99_ns.saturating_mul(FAR)
}

/// Whether the p99 of another rate is another figure than the one that is shown.
fn is_longer(p99: Quantile, shown: Quantile) -> bool {
    match (p99, shown) {
        (Quantile::BeyondTimeout, Quantile::At(_)) => true,
        (Quantile::At(ns), Quantile::At(shown_ns)) => {
            ns >= SHORTEST_TOLD_NS && ns >= shown_ns.saturating_mul(LONGER)
        }
        _ => false,
    }
}

/// The percentile of the sentence.
const P99: f64 = 0.99;

/// So many times p99: one response in a hundred is as long as p99 anyway, and of a few hundred some are much longer.
const FAR: u64 = 10;

/// So many times the p99 that is shown.
const LONGER: u64 = 2;

/// So many times the loss of the run.
const MORE_LOST: f64 = 2.0;

/// No user notices less.
const SHORTEST_TOLD_NS: u64 = 10_000_000;

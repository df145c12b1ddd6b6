//! The buckets of the histograms that are exposed: two per octave, at bounds of our own histograms.
//!
//! ```text
//!   16.4 µs   24.6 µs   32.8 µs   49.2 µs   65.5 µs  …  17.2 s   25.8 s   34.4 s   ∞
//!   2^14 ns   1.5·2^14  2^15      1.5·2^15  2^16        2^34     1.5·2^34 2^35
//! ```
//!
//! Each of our buckets lies in exactly one of them, so that no count is moved to a neighbour.

use dnsdyno_measure::{Histogram, Latency};

/// The upper bounds of all buckets but the last, in nanoseconds, ascending.
pub(crate) const BOUNDS_NS: [u64; BOUNDS] = {
    let mut bounds = [0; BOUNDS];
    let mut i = 0;
    while i < BOUNDS {
        let octave = 1 << (FIRST_POWER + i / 2);
        bounds[i] = if i % 2 == 0 { octave } else { octave + octave / 2 };
        i += 1;
    }
    bounds
};

/// Durations by bucket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buckets {
    /// The last one is for what is longer than all bounds, and for what had no answer.
    pub(crate) counts: [u64; BOUNDS + 1],
    /// An unanswered query has taken the timeout at least, and counts with it.
    pub(crate) sum_ns: u128,
}

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets { counts: [0; BOUNDS + 1], sum_ns: 0 }
    }
}

impl Buckets {
    /// Adds durations.
    pub(crate) fn add(&mut self, histogram: &Histogram) {
        for bucket in histogram.buckets() {
            let place = BOUNDS_NS.partition_point(|bound_ns| *bound_ns <= bucket.from_ns);
            self.counts[place] = self.counts[place].saturating_add(bucket.count);
        }
        let sum_ns = histogram.exact().map_or(0, |exact| exact.sum_ns);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }

    /// Adds latencies, with those of the unanswered queries.
    pub(crate) fn add_latency(&mut self, latency: Latency<'_>, timeout_ns: u64) {
        self.add(latency.answered);
        self.counts[BOUNDS] = self.counts[BOUNDS].saturating_add(latency.unanswered);
        let unanswered_ns = u128::from(latency.unanswered) * u128::from(timeout_ns);
        self.sum_ns = self.sum_ns.saturating_add(unanswered_ns);
    }

    /// All durations.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Their sum.
    pub(crate) fn sum_seconds(&self) -> f64 {
        self.sum_ns as f64 / SECOND_NS
    }
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND_NS
}

/// 2^14 ns = 16.4 µs: less than a response over loopback takes.
const FIRST_POWER: usize = 14;

/// Up to 2^35 ns = 34.4 s.
pub(crate) const BOUNDS: usize = 43;

const SECOND_NS: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_rise_from_16_microseconds_to_34_seconds() {
        assert!(BOUNDS_NS.is_sorted_by(|one, next| one < next));
        assert_eq!((BOUNDS_NS[0], BOUNDS_NS[1], BOUNDS_NS[BOUNDS - 1]), (1 << 14, 3 << 13, 1 << 35));
    }

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_whose_bound_is_above_it() {
        let mut histogram = Histogram::new();
        [1_000, 16_383, 16_384, 1 << 20, (1 << 35) - 1, 1 << 35].iter().for_each(|ns| histogram.record(*ns));
        let mut buckets = Buckets::default();
        buckets.add(&histogram);
        let counted: Vec<_> = (0..=BOUNDS).filter(|i| buckets.counts[*i] > 0).collect();
        assert_eq!(counted, [0, 1, 13, BOUNDS - 1, BOUNDS]);
        assert_eq!((buckets.counts[0], buckets.count()), (2, 6));
    }

    #[test]
    fn none_of_our_buckets_is_in_two_of_them() {
        let mut histogram = Histogram::new();
        (0..4_000).for_each(|n| histogram.record(1_000 + n * n * 2_000));
        for bucket in histogram.buckets() {
            let place = |ns: u64| BOUNDS_NS.partition_point(|bound_ns| *bound_ns <= ns);
            assert_eq!(place(bucket.from_ns), place(bucket.to_ns), "{bucket:?}");
        }
    }

    #[test]
    fn an_unanswered_query_counts_with_the_timeout_beyond_all_bounds() {
        let mut answered = Histogram::new();
        answered.record(1_000_000);
        let mut buckets = Buckets::default();
        buckets.add_latency(Latency { answered: &answered, unanswered: 2 }, 5_000_000_000);
        assert_eq!((buckets.count(), buckets.counts[BOUNDS]), (3, 2));
        assert_eq!(buckets.sum_seconds(), 10.001);
    }
}

//! Latency histograms: log-linear, buckets at most 1 % wide, merged exactly.
//!
//! Every histogram of dnsdyno has the same layout, independent of the timeout. Merging two histograms only adds
//! counts: nothing is rounded twice.
//!
//! ```text
//!   1 µs                                                               36 min
//!   |.|.|.|.| . | . | . | . |   .   |   .   |   .   |   .   | ...         |
//!    each octave has 128 equal buckets: a bucket is 0.4 to 0.8 % of its value wide
//! ```

/// Counts of durations, in nanoseconds.
///
/// Durations below [`FLOOR_NS`] count as that floor (the software clock cannot distinguish them), durations above
/// [`CEILING_NS`] as that ceiling.
#[derive(Clone)]
pub struct Histogram {
    /// By [`bucket_number`] of the duration, kept within floor and ceiling.
    counts: Box<[u64; BUCKETS]>,
    /// The sum of the counts.
    count: u64,
    /// Exact sum, for an average without the rounding of the buckets.
    sum_ns: u128,
    /// Exact sum of squares: an integer, so the order of merging does not change it.
    sum_squares_ns2: u128,
    min_ns: u64,
    max_ns: u64,
}

/// A bucket that is not empty: `from_ns..=to_ns` and its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Lowest duration of the bucket.
    pub from_ns: u64,
    /// Highest duration of the bucket.
    pub to_ns: u64,
    /// Durations counted in it; never 0.
    pub count: u64,
}

impl Histogram {
    /// An empty histogram. Allocates all its memory (about 36 kB).
    pub fn new() -> Self {
        let counts = Box::new([0; BUCKETS]);
        Histogram { counts, count: 0, sum_ns: 0, sum_squares_ns2: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        self.record_n(duration_ns, 1);
    }

    /// Counts the same duration `times` times.
    #[inline]
    pub fn record_n(&mut self, duration_ns: u64, times: u64) {
        if cfg!(feature = "unmeasured") || times == 0 {
            return;
        }
        self.counts[number_of(duration_ns)] += times;
        self.count += times;
        let (wide_ns, times) = (u128::from(duration_ns), u128::from(times));
        self.sum_ns += wide_ns * times;
        self.sum_squares_ns2 = self.sum_squares_ns2.saturating_add((wide_ns * wide_ns).saturating_mul(times));
        self.min_ns = self.min_ns.min(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
    }

    /// Adds the counts of `other`. Exact, because the layout is the same.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count = count.saturating_add(*more);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.sum_squares_ns2 = self.sum_squares_ns2.saturating_add(other.sum_squares_ns2);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Removes all durations and keeps the allocated memory.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.counts.fill(0);
        }
        (self.count, self.sum_ns, self.sum_squares_ns2) = (0, 0, 0);
        (self.min_ns, self.max_ns) = (u64::MAX, 0);
    }

    /// Number of durations recorded.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The duration of this rank, 1 for the shortest; `None` where the rank does not exist.
    ///
    /// It is the upper end of the bucket: at most 0.8 % above the exact value and never below it. The longest
    /// duration is exact.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        if rank == 0 {
            return None;
        }
        let mut up_to = 0_u64;
        let bucket = self.buckets().find(|bucket| {
            up_to = up_to.saturating_add(bucket.count);
            up_to >= rank
        })?;
        Some(bucket.to_ns.min(self.max_ns.max(FLOOR_NS)))
    }

    /// The buckets that are not empty, shortest durations first.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        (0..).zip(self.counts.iter()).filter(|(_, count)| **count > 0).map(|(number, count)| Bucket {
            from_ns: from_ns(number),
            to_ns: from_ns(number + 1) - 1,
            count: *count,
        })
    }

    /// A histogram from the buckets and the exact figures of another one; each count is put into the same bucket.
    /// The reader of a record uses it.
    pub fn from_parts(buckets: impl IntoIterator<Item = Bucket>, exact: ExactFigures) -> Self {
        let mut histogram = Histogram::new();
        for bucket in buckets {
            let count = &mut histogram.counts[number_of(bucket.from_ns)];
            *count = count.saturating_add(bucket.count);
            histogram.count = histogram.count.saturating_add(bucket.count);
        }
        if histogram.count > 0 {
            histogram.sum_ns = exact.sum_ns;
            histogram.sum_squares_ns2 = exact.sum_squares_ns2;
            histogram.min_ns = exact.min_ns;
            histogram.max_ns = exact.max_ns;
        }
        histogram
    }

    /// The exact figures, without the rounding of the buckets; `None` while empty.
    pub fn exact(&self) -> Option<ExactFigures> {
        (self.count() > 0).then_some(ExactFigures {
            sum_ns: self.sum_ns,
            sum_squares_ns2: self.sum_squares_ns2,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
        })
    }

    /// The standard deviation of the population in nanoseconds; `None` while empty.
    pub fn stddev_ns(&self) -> Option<u64> {
        let (count, sum, squares) = (u128::from(self.count()), self.sum_ns, self.sum_squares_ns2);
        // count² × variance: exact where it fits into 128 bits, else in floating point.
        let scaled = match (count.checked_mul(squares), sum.checked_mul(sum)) {
            (Some(whole), Some(part)) => whole.saturating_sub(part) as f64,
            _ => (count as f64 * squares as f64 - sum as f64 * sum as f64).max(0.0),
        };
        (count > 0).then(|| (scaled.sqrt() / count as f64).round() as u64)
    }

    /// The average in nanoseconds; `None` while empty.
    pub fn mean_ns(&self) -> Option<u64> {
        let count = u128::from(self.count());
        (count > 0).then(|| (self.sum_ns / count) as u64)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// For failed tests: without the thousands of buckets.
impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("exact", &self.exact())
            .finish_non_exhaustive()
    }
}

/// Equal: the same count in each bucket, and the same exact figures.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts && self.exact() == other.exact()
    }
}

/// The exact figures of a histogram, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactFigures {
    /// Sum of all durations.
    pub sum_ns: u128,
    /// Sum of their squares, in ns².
    pub sum_squares_ns2: u128,
    /// Shortest duration.
    pub min_ns: u64,
    /// Longest duration.
    pub max_ns: u64,
}

/// Shortest duration that is distinguished: 1 µs.
pub const FLOOR_NS: u64 = 1_000;

/// Longest duration that is distinguished: 2^41 ns, about 36 minutes, more than twice the longest timeout of a plan.
pub const CEILING_NS: u64 = (1 << 41) - 1;

/// Significant digits of the layout, as HdrHistogram counts them: 128 buckets per octave, an error of at most 0.8 %;
/// 1 % is promised.
pub const SIGNIFICANT_DIGITS: u8 = 2;

/// The number of the bucket in which a duration is counted.
#[inline]
fn number_of(duration_ns: u64) -> usize {
    bucket_number(duration_ns.clamp(FLOOR_NS, CEILING_NS)) as usize
}

/// The number of the bucket of `ns` in HdrHistogram's layout: 128 buckets per octave, one per nanosecond below 256 ns.
#[inline]
pub fn bucket_number(ns: u64) -> u64 {
    let shift = u64::from((u64::BITS - ns.leading_zeros()).saturating_sub(8));
    128 * shift + (ns >> shift)
}

/// The lowest duration of the bucket with this number; `u64::MAX` for a number that is too large.
pub(crate) fn from_ns(number: u64) -> u64 {
    let shift = (number / 128).saturating_sub(1);
    let mantissa = number - 128 * shift;
    if shift < 56 { mantissa << shift } else { u64::MAX }
}

/// Buckets, up to that of the longest duration.
const BUCKETS: usize = 35 * 128;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|v| histogram.record(*v));
        histogram
    }

    #[test]
    fn the_buckets_are_those_of_hdrhistogram() {
        let mut library =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1, CEILING_NS, SIGNIFICANT_DIGITS).unwrap();
        let near = |power: u32| [(1u64 << power) - 1, 1 << power, (1 << power) + (1 << (power - 7))];
        for duration_ns in (10..41).flat_map(near).chain([FLOOR_NS, 1_234_567, 999_999_999, CEILING_NS]) {
            let bucket = filled(&[duration_ns]).buckets().next().unwrap();
            let ends = (library.lowest_equivalent(duration_ns), library.highest_equivalent(duration_ns));
            assert_eq!((bucket.from_ns, bucket.to_ns), ends, "{duration_ns}");
            library.saturating_record(duration_ns);
        }
    }

    #[test]
    fn buckets_are_numbered_without_gaps() {
        let numbered: Vec<_> = (0..5000).map(from_ns).collect();
        assert!(numbered.is_sorted_by(|one, next| one < next));
        assert!((0..5000).zip(&numbered).all(|(n, from_ns)| bucket_number(*from_ns) == n));
        assert_eq!((from_ns(255), from_ns(256), from_ns(384), from_ns(u64::MAX)), (255, 256, 512, u64::MAX));
    }

    #[test]
    fn an_empty_histogram_has_no_rank_and_no_figures() {
        let empty = Histogram::new();
        assert_eq!((empty.count(), empty.at_rank(1), empty.exact()), (0, None, None));
    }

    #[test]
    fn durations_outside_the_range_are_kept_at_its_ends() {
        let histogram = filled(&[5, u64::MAX / 4]);
        let buckets: Vec<_> = histogram.buckets().collect();
        assert!(buckets[0].from_ns <= FLOOR_NS && FLOOR_NS <= buckets[0].to_ns);
        assert!(buckets[1].to_ns >= CEILING_NS);
    }

    proptest! {
        #[test]
        fn every_rank_is_within_one_percent_of_the_exact_value(
            mut values in proptest::collection::vec(FLOOR_NS..60_000_000_000u64, 1..300)
        ) {
            let histogram = filled(&values);
            values.sort_unstable();
            for (i, truth) in values.iter().enumerate() {
                let measured = histogram.at_rank(i as u64 + 1).unwrap();
                let error = (measured as f64 - *truth as f64) / *truth as f64;
                prop_assert!((0.0..0.01).contains(&error), "rank {} is {measured}, truth {truth}", i + 1);
            }
        }

        #[test]
        fn merging_is_exact_in_any_order(
            a in proptest::collection::vec(1..10_000_000_000u64, 0..200),
            b in proptest::collection::vec(1..10_000_000_000u64, 0..200),
        ) {
            let whole = filled(&a.iter().chain(&b).copied().collect::<Vec<_>>());
            let mut ab = filled(&a);
            ab.merge(&filled(&b));
            let mut ba = filled(&b);
            ba.merge(&filled(&a));
            prop_assert_eq!(&ab, &whole);
            prop_assert_eq!(&ba, &whole);
            prop_assert_eq!(ab.exact().map(|e| (e.sum_ns, e.min_ns, e.max_ns)),
                            whole.exact().map(|e| (e.sum_ns, e.min_ns, e.max_ns)));
        }

        #[test]
        fn buckets_written_and_read_back_are_the_same_histogram(
            values in proptest::collection::vec(1..10_000_000_000u64, 1..200),
        ) {
            let histogram = filled(&values);
            let again = Histogram::from_parts(histogram.buckets(), histogram.exact().unwrap());
            prop_assert_eq!(&again, &histogram);
            prop_assert_eq!(again.stddev_ns(), histogram.stddev_ns());
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Histogram>(&text).unwrap(), &histogram);
        }
    }
}

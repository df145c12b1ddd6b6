//! The buckets of the latency histogram of dnsperf: hg64 with five significant bits. A bucket is one microsecond wide
//! up to 63 µs, and above that a 32nd of its power of two.
//!
//! Our own buckets are at least twice as fine, with edges of their own (powers of two of nanoseconds). A bucket of ours
//! that is in two of theirs is counted where its middle is, so that no count is further than half of one of our
//! buckets, 0.4 % of its value, from where it belongs.

use std::collections::BTreeMap;

use dnsdyno_measure::Histogram;

/// A bucket that is not empty; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) from_us: u64,
    pub(crate) to_us: u64,
    pub(crate) count: u64,
}

/// The buckets of a histogram, shortest durations first.
pub(crate) fn buckets(histogram: &Histogram) -> Vec<Bucket> {
    let Some(exact) = histogram.exact() else { return Vec::new() };
    let mut counts: BTreeMap<u64, Bucket> = BTreeMap::new();
    for bucket in histogram.buckets() {
        let middle_ns = bucket.from_ns + (bucket.to_ns - bucket.from_ns) / 2;
        let (from_us, to_us) = bounds(middle_ns.clamp(exact.min_ns, exact.max_ns) / 1_000);
        counts.entry(from_us).or_insert(Bucket { from_us, to_us, count: 0 }).count += bucket.count;
    }
    counts.into_values().collect()
}

/// The bucket of a duration.
fn bounds(us: u64) -> (u64, u64) {
    let shift = us.checked_ilog2().unwrap_or(0).saturating_sub(SIGNIFICANT_BITS);
    let from_us = us >> shift << shift;
    (from_us, from_us + ((1 << shift) - 1))
}

const SIGNIFICANT_BITS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_are_a_microsecond_and_then_a_32nd_of_a_power_of_two() {
        assert_eq!(
            [0, 1, 63, 64, 65, 66].map(bounds),
            [(0, 0), (1, 1), (63, 63), (64, 65), (64, 65), (66, 67)]
        );
        // From an output of dnsperf.
        assert_eq!(bounds(2_400), (2_368, 2_431));
        assert_eq!(bounds(1_000_000), (999_424, 1_015_807));
    }

    proptest! {
        #[test]
        fn every_duration_is_counted_at_most_half_of_our_bucket_away(
            mut values in proptest::collection::vec(1_000..20_000_000_000u64, 1..200)
        ) {
            let mut histogram = Histogram::new();
            values.iter().for_each(|ns| histogram.record(*ns));
            values.sort_unstable();
            let found = buckets(&histogram);
            prop_assert_eq!(found.iter().map(|bucket| bucket.count).sum::<u64>(), values.len() as u64);
            let each = found.iter().flat_map(|bucket| std::iter::repeat_n(*bucket, bucket.count as usize));
            for (bucket, ns) in each.zip(values) {
                let off_ns = (bucket.from_us * 1_000).saturating_sub(ns)
                    .max(ns.saturating_sub(bucket.to_us * 1_000 + 999));
                prop_assert!(off_ns as f64 <= ns as f64 * 0.0045, "{ns} ns is in {bucket:?}");
            }
        }
    }
}

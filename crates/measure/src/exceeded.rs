//! How many of a histogram's durations are longer than each of them.

use crate::Histogram;

/// How many durations are longer than the end of each bucket.
pub(crate) struct Exceeded {
    /// The end of a bucket, and how many are beyond it.
    pub(crate) steps: Vec<(u64, u64)>,
    pub(crate) total: u64,
}

impl Exceeded {
    pub(crate) fn of(histogram: &Histogram) -> Exceeded {
        let total = histogram.count();
        let mut left = total;
        let steps = histogram.buckets().map(|bucket| {
            left = left.saturating_sub(bucket.count);
            (bucket.to_ns, left)
        });
        Exceeded { steps: steps.collect(), total }
    }

    /// How many are longer than `ns`, at the most.
    pub(crate) fn above(&self, ns: u64) -> u64 {
        let place = self.steps.partition_point(|(to_ns, _)| *to_ns <= ns);
        place.checked_sub(1).map_or(self.total, |place| self.steps[place].1)
    }
}

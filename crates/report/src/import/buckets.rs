//! A histogram of another program: counts of latencies between two durations, and the queries without an answer.

/// Latencies between two durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedBucket {
    /// The shortest that is counted here, in nanoseconds.
    pub from_ns: f64,
    /// The longest.
    pub to_ns: f64,
    /// How many.
    pub count: u64,
}

/// A histogram, sorted by duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    buckets: Vec<CountedBucket>,
    unanswered: u64,
    timeout_ns: f64,
}

/// Between which two durations a latency is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// Of an answered query.
    Between {
        /// In nanoseconds.
        from_ns: f64,
        /// In nanoseconds.
        to_ns: f64,
    },
    /// Of one without an answer: at least the timeout.
    BeyondTimeout {
        /// In nanoseconds.
        timeout_ns: f64,
    },
}

impl Counted {
    /// A histogram of these buckets, in any order, and queries without an answer.
    ///
    /// # Errors
    /// A bucket that ends before it begins, or more queries than can be counted.
    pub(super) fn new(
        mut buckets: Vec<CountedBucket>,
        unanswered: u64,
        timeout_ns: f64,
    ) -> Result<Counted, String> {
        let is_bucket = |bucket: &CountedBucket| {
            bucket.from_ns >= 0.0 && bucket.to_ns.is_finite() && bucket.from_ns <= bucket.to_ns
        };
        let count = buckets.iter().try_fold(unanswered, |sum, bucket| sum.checked_add(bucket.count));
        if !buckets.iter().all(is_bucket) || count.is_none() || !(timeout_ns > 0.0 && timeout_ns.is_finite())
        {
            return Err("its histogram is damaged: make the result again".to_owned());
        }
        buckets.retain(|bucket| bucket.count > 0);
        buckets.sort_by(|a, b| a.from_ns.total_cmp(&b.from_ns));
        Ok(Counted { buckets, unanswered, timeout_ns })
    }

    /// All queries, answered or not.
    pub fn count(&self) -> u64 {
        self.answered() + self.unanswered
    }

    /// The answered ones.
    pub fn answered(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }

    /// The average of the answered queries: between the two that the buckets leave possible; `None` of none.
    pub fn average_ns(&self) -> Option<(f64, f64)> {
        let count = self.answered();
        let sum = |end: fn(&CountedBucket) -> f64| {
            self.buckets.iter().map(|bucket| end(bucket) * bucket.count as f64).sum::<f64>() / count as f64
        };
        (count > 0).then(|| (sum(|bucket| bucket.from_ns), sum(|bucket| bucket.to_ns)))
    }

    /// The quantile `q` by nearest rank; `None` of no query.
    pub fn quantile(&self, q: f64) -> Option<Ends> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        // Slightly less: 0.999 × 1000 is a little more than 999 in binary.
        let rank = ((q * count as f64) * (1.0 - 1e-12)).ceil().clamp(1.0, count as f64) as u64;
        let mut below = 0;
        for bucket in &self.buckets {
            below += bucket.count;
            if below >= rank {
                return Some(Ends::Between { from_ns: bucket.from_ns, to_ns: bucket.to_ns });
            }
        }
        Some(Ends::BeyondTimeout { timeout_ns: self.timeout_ns })
    }
}

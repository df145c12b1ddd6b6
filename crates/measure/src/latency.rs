//! Percentiles that include the unanswered queries.
//!
//! A query without a response took at least the timeout. Without it, a failing server would look fast. So it ranks
//! after every answered query, and a percentile among the unanswered queries is a lower bound: the timeout.

use crate::Histogram;

/// The latency of a set of queries: the answered ones, and the number of unanswered ones.
#[derive(Clone, Copy, Debug)]
pub struct Latency<'a> {
    /// Latency of the answered queries.
    pub answered: &'a Histogram,
    /// Queries without a response in time.
    pub unanswered: u64,
}

/// A percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    /// A duration in nanoseconds.
    At(u64),
    /// Among the unanswered queries: at least the run's timeout.
    BeyondTimeout,
}

impl Latency<'_> {
    /// All queries, answered or not.
    pub fn count(&self) -> u64 {
        self.answered.count() + self.unanswered
    }

    /// The quantile `q` (0.0 to 1.0), by nearest rank; `None` where there is no query.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        // Slightly less: 0.999 × 1000 is 999.0000000000001 in binary, and must be rank 999.
        let rank = ((q * total as f64) * (1.0 - 1e-12)).ceil().clamp(1.0, total as f64) as u64;
        Some(self.answered.at_rank(rank).map_or(Quantile::BeyondTimeout, Quantile::At))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_among_the_unanswered_is_a_bound() {
        let mut answered = Histogram::new();
        (0..98).for_each(|_| answered.record(2_000_000));
        let latency = Latency { answered: &answered, unanswered: 2 };
        assert!(matches!(latency.quantile(0.98), Some(Quantile::At(ns)) if ns.abs_diff(2_000_000) < 20_000));
        assert_eq!(latency.quantile(0.99), Some(Quantile::BeyondTimeout));
    }

    #[test]
    fn nearest_rank_is_independent_of_rounding_errors() {
        let mut answered = Histogram::new();
        (0..999).for_each(|_| answered.record(1_000_000));
        let latency = Latency { answered: &answered, unanswered: 1 };
        assert!(matches!(latency.quantile(0.999), Some(Quantile::At(_))));
        assert_eq!(latency.quantile(1.0), Some(Quantile::BeyondTimeout));
    }

    #[test]
    fn without_queries_there_is_no_percentile() {
        assert_eq!(Latency { answered: &Histogram::new(), unanswered: 0 }.quantile(0.5), None);
    }
}

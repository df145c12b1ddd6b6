//! Percentiles with the unanswered queries in them.
//!
//! A query without an answer took at least the timeout. Leaving it out makes a failing server
//! look fast, so it ranks after every answered query, and a percentile that falls among the
//! unanswered is no figure but a bound.

use crate::Histogram;

/// The latency of a set of queries: those answered, and how many were not.
#[derive(Clone, Copy, Debug)]
pub struct Latency<'a> {
    /// Latency of the answered queries.
    pub answered: &'a Histogram,
    /// Queries that got no answer in time.
    pub unanswered: u64,
}

/// A percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    /// That many nanoseconds.
    At(u64),
    /// It falls among the unanswered: at least the run's timeout.
    BeyondTimeout,
}

impl Latency<'_> {
    /// All queries that count here.
    pub fn count(&self) -> u64 {
        self.answered.count() + self.unanswered
    }

    /// The quantile `q` (0.0 to 1.0), by nearest rank; `None` where no query counts.
    pub fn quantile(&self, q: f64) -> Option<Quantile> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        // A tiny step back: 0.999 × 1000 is 999.0000000000001 in binary, and must be rank 999.
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
    fn nearest_rank_is_not_moved_by_binary_fractions() {
        let mut answered = Histogram::new();
        (0..999).for_each(|_| answered.record(1_000_000));
        let latency = Latency { answered: &answered, unanswered: 1 };
        assert!(matches!(latency.quantile(0.999), Some(Quantile::At(_))));
        assert_eq!(latency.quantile(1.0), Some(Quantile::BeyondTimeout));
    }

    #[test]
    fn nothing_measured_has_no_percentile() {
        assert_eq!(Latency { answered: &Histogram::new(), unanswered: 0 }.quantile(0.5), None);
    }
}

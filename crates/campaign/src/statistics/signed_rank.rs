//! The difference of pairs, with an interval: each pair is two runs that were made beside each other.
//!
//! The estimate is the median of the means of all pairs of differences (Walsh averages; Hodges and Lehmann, 1963), and
//! the interval is that of the signed-rank test (Wilcoxon, 1945; Tukey, 1949). It needs no distribution but that the
//! differences lie evenly around the true one, and a few disturbed runs hardly move it.

use super::shift::Interval;
use super::{Shift, median};

/// The typical difference, with the interval that contains the true one with probability `level` or more; without an
/// interval where the differences are too few for that level (5 of them for 0.95). `None` where there is none.
pub fn of_pairs(differences: &[f64], level: f64) -> Option<Shift> {
    if differences.is_empty() {
        return None;
    }
    let n = differences.len();
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (at, a) in differences.iter().enumerate() {
        averages.extend(differences.iter().take(at + 1).map(|b| (a + b) / 2.0));
    }
    let estimate = median(&mut averages);
    averages.sort_by(f64::total_cmp);
    let beyond = beyond(n, (1.0 - level) / 2.0);
    let ends = beyond.and_then(|k| Some((*averages.get(k)?, *averages.get(averages.len() - 1 - k)?)));
    Some(Shift { estimate, interval: ends.map(|(from, to)| Interval { from, to }) })
}

/// How many of the ordered averages lie beyond each end of the interval: the greatest rank sum that is reached by
/// chance with at most this probability. `None` where even the smallest rank sum, 0, is more probable.
fn beyond(n: usize, probability: f64) -> Option<usize> {
    let n = n.min(MOST_PAIRS);
    // By rank sum: the share of all choices of signs that give it.
    let mut shares = vec![0.0; n * (n + 1) / 2 + 1];
    if let Some(none) = shares.first_mut() {
        *none = 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    }
    for rank in 1..=n {
        for sum in (rank..shares.len()).rev() {
            let more = shares.get(sum - rank).copied().unwrap_or(0.0);
            shares.iter_mut().skip(sum).take(1).for_each(|share| *share += more);
        }
    }
    let mut below = 0.0;
    let reached = shares.iter().take_while(|share| {
        below += **share;
        below <= probability
    });
    reached.count().checked_sub(1)
}

/// More differences than this have the interval of so many, which is wider than theirs.
const MOST_PAIRS: usize = 400;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand_distr::{Distribution, Normal};

    use super::*;

    #[test]
    fn the_ranks_are_those_of_the_tables() {
        // Critical values of the signed-rank test, both sides 5 %: n = 6 has 0, 8 has 3, 10 has 8, 20 has 52.
        for (n, critical) in [(6, 0), (8, 3), (10, 8), (20, 52)] {
            assert_eq!(beyond(n, 0.025), Some(critical), "{n}");
        }
        assert_eq!(beyond(5, 0.025), None);
    }

    #[test]
    fn a_case_is_counted_by_hand() {
        let found = of_pairs(&[1.0, 2.0, 6.0], 0.95).unwrap();
        // Averages: 1 1.5 2 3.5 4 6.
        assert_eq!((found.estimate, found.interval), (2.75, None));
        let six = of_pairs(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).unwrap();
        assert_eq!(six.interval, Some(Interval { from: 1.0, to: 6.0 }));
        assert!(of_pairs(&[], 0.95).is_none());
    }

    #[test]
    fn the_interval_contains_the_true_difference_also_with_disturbed_runs() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let noise = Normal::new(0.05, 0.02).unwrap();
        let mut held = 0;
        for night in 0..600 {
            let draw = |at: usize| {
                let disturbed = (night * 10 + at).is_multiple_of(20);
                noise.sample(&mut random) - if disturbed { 0.3 } else { 0.0 }
            };
            let interval = of_pairs(&(0..10).map(draw).collect::<Vec<_>>(), 0.95).unwrap().interval.unwrap();
            held += u32::from(interval.from <= 0.05 && 0.05 <= interval.to);
        }
        assert!((550..=600).contains(&held), "{held} of 600");
    }
}

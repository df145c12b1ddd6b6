//! By how much one side is above the other, with an interval.
//!
//! The shift is the median of the differences of all pairs of runs, one of each side (Hodges and Lehmann, 1963): it
//! needs no distribution, and a few disturbed runs hardly move it. The interval is a bootstrap over runs: each side is
//! drawn again from its own runs, with replacement.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::median;

/// A shift and the interval that contains the true one 95 times in 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median over all pairs.
    pub estimate: f64,
    /// `None` where a side has one run.
    pub interval: Option<Interval>,
}

/// An interval, in the unit of the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
}

/// The shift from `a` to `b`; `None` where a side is empty.
pub fn shift(a: &[f64], b: &[f64], resamples: u32, seed: u64) -> Option<Shift> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut pairs = Vec::with_capacity(a.len() * b.len());
    let estimate = of_pairs(a, b, &mut pairs);
    let interval = (a.len() > 1 && b.len() > 1 && resamples > 0).then(|| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let most = MOST_DIFFERENCES / (a.len() as u64 * b.len() as u64).max(1);
        let resamples = resamples.min(u32::try_from(most).unwrap_or(u32::MAX)).max(FEWEST_RESAMPLES);
        let (mut drawn_a, mut drawn_b) = (a.to_vec(), b.to_vec());
        let mut shifts: Vec<f64> = (0..resamples)
            .map(|_| {
                drawn_a.fill_with(|| a[random.random_range(0..a.len())]);
                drawn_b.fill_with(|| b[random.random_range(0..b.len())]);
                of_pairs(&drawn_a, &drawn_b, &mut pairs)
            })
            .collect();
        shifts.sort_by(f64::total_cmp);
        let beyond = (shifts.len() as f64 * BEYOND) as usize;
        let wider = |end: f64| estimate + (end - estimate) * widening(a.len(), b.len());
        Interval { from: wider(shifts[beyond]), to: wider(shifts[shifts.len() - 1 - beyond]) }
    });
    Some(Shift { estimate, interval })
}

fn of_pairs(a: &[f64], b: &[f64], pairs: &mut Vec<f64>) -> f64 {
    pairs.clear();
    pairs.extend(a.iter().flat_map(|x| b.iter().map(move |y| y - x)));
    median(pairs)
}

/// Runs that are drawn again spread less than the runs that could have been made. Few of them also know little of their
/// own spread: so the interval is widened as that of Student is (Hesterberg, 2015).
fn widening(a: usize, b: usize) -> f64 {
    let (a, b) = (a as f64, b as f64);
    let drawn = ((1.0 / (a - 1.0) + 1.0 / (b - 1.0)) / (1.0 / a + 1.0 / b)).sqrt();
    // The expansion of Student's quantile in the degrees of freedom, in units of the normal one.
    let freedom = a + b - 2.0;
    let student = 1.0 + 1.210 / freedom + 1.440 / freedom.powi(2);
    drawn * student
}

/// Draws of the runs: the ends of the interval are then known to a few hundredths of its width.
pub const RESAMPLES: u32 = 5_000;

/// Of hundreds of runs fewer draws are enough, and more would take minutes.
const MOST_DIFFERENCES: u64 = 50_000_000;

/// An end of the interval is then the 5th draw.
const FEWEST_RESAMPLES: u32 = 200;

/// Share of the draws beyond each end of the interval.
const BEYOND: f64 = 0.025;

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, Normal};

    use super::*;

    #[test]
    fn the_shift_is_the_median_of_all_pairs() {
        let found = shift(&[1.0, 2.0, 30.0], &[4.0, 5.0, 6.0], RESAMPLES, 1).unwrap();
        assert_eq!(found.estimate, 3.0);
        assert_eq!(shift(&[1.0], &[3.0], RESAMPLES, 1), Some(Shift { estimate: 2.0, interval: None }));
        assert_eq!(shift(&[], &[3.0], RESAMPLES, 1), None);
    }

    #[test]
    fn equal_runs_have_an_interval_of_no_width() {
        let found = shift(&[2.0; 5], &[2.0; 5], 200, 1).unwrap();
        assert_eq!(found.interval, Some(Interval { from: 0.0, to: 0.0 }));
    }

    #[test]
    fn the_interval_contains_the_true_shift_about_95_times_in_100() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let noise = Normal::new(0.0, 1.0).unwrap();
        for runs in [4, 6, 10] {
            let mut draw =
                |at: f64| -> Vec<f64> { (0..runs).map(|_| at + noise.sample(&mut random)).collect() };
            let contains = |i: u64, a: &[f64], b: &[f64]| {
                let interval = shift(a, b, 200, i).unwrap().interval.unwrap();
                interval.from <= 0.5 && 0.5 <= interval.to
            };
            let held = (0..400).filter(|i| contains(*i, &draw(0.0), &draw(0.5))).count();
            assert!((364..=396).contains(&held), "{held} of 400 with {runs} runs");
        }
    }
}

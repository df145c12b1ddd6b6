//! What shows a step: how much it saves, how seldom as much is saved where the runs come in any other order, and where
//! it may have begun.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

use super::cost::{FEWEST_AFTER, cost, levels};

/// The runs before and after a step.
pub(super) struct Around<'a> {
    figures: &'a [f64],
    levels: Vec<f64>,
}

impl<'a> Around<'a> {
    /// `figures` are those of both sides, in units of their noise.
    pub(super) fn new(figures: &'a [f64]) -> Around<'a> {
        Around { figures, levels: levels(figures, FINE) }
    }

    /// How often runs in any order save at least as much by one cut, wherever it is. Where it is clear that the step is
    /// not shown at `level`, fewer orders are tried.
    pub(super) fn probability(&self, orders: u32, level: f64, seed: u64) -> f64 {
        let observed = most(&self.saved(self.figures));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut shuffled = self.figures.to_vec();
        let enough = (f64::from(orders + 1) * level) as u32 + 1;
        // The order as it is belongs to them.
        let mut reached = 1;
        for tried in 1..=orders {
            shuffled.shuffle(&mut random);
            reached += u32::from(most(&self.saved(&shuffled)) >= observed - ROUNDING);
            if reached > enough {
                return f64::from(reached) / f64::from(tried + 1);
            }
        }
        f64::from(reached) / f64::from(orders + 1)
    }

    /// The first and the last run at which the step may have begun, 95 times in 100, around that at which it was found.
    pub(super) fn began(&self, found: usize) -> (usize, usize) {
        let saved = self.saved(self.figures);
        let least = most(&saved) - PLACES;
        let places =
            || saved.iter().enumerate().filter(|(_, saved)| **saved >= least).map(|(place, _)| place);
        (places().min().unwrap_or(found).min(found), places().max().unwrap_or(found).max(found))
    }

    /// What a cut before each run saves; nothing where it may not be.
    fn saved(&self, figures: &[f64]) -> Vec<f64> {
        let runs = figures.len();
        // At the best level: what the first so many runs cost, and what the others do.
        let mut before = vec![f64::INFINITY; runs + 1];
        let mut after = vec![f64::INFINITY; runs + 1];
        for level in &self.levels {
            let mut sum = 0.0;
            for (run, figure) in figures.iter().enumerate() {
                sum += cost(*figure, *level);
                before[run + 1] = sum.min(before[run + 1]);
            }
            let whole = sum;
            sum = 0.0;
            for (run, figure) in figures.iter().enumerate() {
                after[run] = (whole - sum).min(after[run]);
                sum += cost(*figure, *level);
            }
        }
        let whole = before.last().copied().unwrap_or(0.0);
        let may_be = |cut: usize| cut >= FEWEST_AFTER && cut + FEWEST_AFTER <= runs;
        (0..runs)
            .map(|cut| if may_be(cut) { whole - before[cut] - after[cut] } else { f64::NEG_INFINITY })
            .collect()
    }
}

fn most(saved: &[f64]) -> f64 {
    saved.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Width of the levels, in units of the noise.
const FINE: f64 = 0.2;

/// A place that saves less than the best one by so much is not where the step began, in 95 of 100: the distribution of
/// twice the difference is that of the larger of two exponential ones (Bhattacharya and Brockwell, 1976).
const PLACES: f64 = 3.7;

const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(run: usize) -> f64 {
        [0.4, -0.9, 1.1, 0.2, -0.3, -1.2, 0.7][run * 5 % 7]
    }

    #[test]
    fn a_clear_step_is_seldom_reached_by_chance_and_its_place_is_known() {
        let figures: Vec<f64> = (0..40).map(|run| noise(run) + if run < 28 { 0.0 } else { 6.0 }).collect();
        let around = Around::new(&figures);
        assert_eq!(around.probability(399, 0.01, 1), 1.0 / 400.0);
        assert_eq!(around.began(28), (28, 28));
    }

    #[test]
    fn no_step_is_reached_often_and_few_orders_tell_it() {
        let figures: Vec<f64> = (0..40).map(noise).collect();
        assert!(Around::new(&figures).probability(399, 0.01, 1) > 0.1);
    }

    #[test]
    fn a_small_step_may_have_begun_at_several_runs() {
        let figures: Vec<f64> = (0..40).map(|run| noise(run) + if run < 20 { 0.0 } else { 2.0 }).collect();
        let (first, last) = Around::new(&figures).began(20);
        assert!(first < 20 && last > 20 && last - first < 15, "{first} {last}");
    }
}

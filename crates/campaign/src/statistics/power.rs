//! How many runs it takes to see a difference, and which difference so many runs show.
//!
//! For figures that are normally distributed over runs, with the spread that was seen. The result is advice ("about 40
//! runs"), not a part of a verdict.

/// The runs on each side with which a difference of `difference` is found 9 times in 10, where runs spread by `spread`
/// and differences are called at `level`; `None` where it is more than [`MOST_RUNS`].
pub fn runs_needed(difference: f64, spread: f64, level: f64) -> Option<u32> {
    let in_spreads = (difference / spread).abs();
    let runs = (2.0 * quantiles(level).powi(2) / in_spreads.powi(2) + FEW).ceil();
    // Also where the difference is 0, or nothing spreads.
    (runs <= f64::from(MOST_RUNS)).then(|| (runs as u32).max(2))
}

/// The difference that is found 9 times in 10 with `a` against `b` runs; `None` where a side has one run.
pub fn difference_shown(a: usize, b: usize, spread: f64, level: f64) -> Option<f64> {
    if a < 2 || b < 2 {
        return None;
    }
    let runs = 2.0 / (1.0 / a as f64 + 1.0 / b as f64);
    Some(spread * quantiles(level) * (2.0 / (runs - FEW)).sqrt())
}

/// The sum of the normal quantiles of the level (both sides) and of the power.
fn quantiles(level: f64) -> f64 {
    normal_quantile(1.0 - level / 2.0) + NINE_OF_TEN
}

/// The quantile of the standard normal distribution for a probability from 0.5 to 1 (Abramowitz and Stegun 26.2.23,
/// exact to 0.0005).
fn normal_quantile(probability: f64) -> f64 {
    let t = (-2.0 * (1.0 - probability).ln()).sqrt();
    let upper = 2.515_517 + 0.802_853 * t + 0.010_328 * t * t;
    t - upper / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t)
}

/// More runs are no advice: the difference is too small for the spread.
pub const MOST_RUNS: u32 = 1_000;

/// The normal quantile of 0.9.
const NINE_OF_TEN: f64 = 1.2816;

/// The spread is not known but measured, by the same runs: that costs about a run (Guenther, 1981).
const FEW: f64 = 1.05;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand_distr::{Distribution, Normal};

    use super::*;
    use crate::statistics::permutation;

    #[test]
    fn the_normal_quantiles_are_those_of_the_tables() {
        for (probability, quantile) in [(0.9, 1.2816), (0.975, 1.9600), (0.98, 2.0537), (0.995, 2.5758)] {
            assert!((normal_quantile(probability) - quantile).abs() < 0.0005, "{probability}");
        }
    }

    #[test]
    fn with_the_advised_runs_the_difference_is_found_about_nine_times_in_ten() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let noise = Normal::new(0.0, 1.0).unwrap();
        // Up to 8 runs a side, so that the test is exact and fast.
        for (difference, seen) in [(3.0, 82..=99), (2.2, 80..=97), (1.9, 80..=97)] {
            let runs = runs_needed(difference, 1.0, 0.04).unwrap() as usize;
            assert!((4..=9).contains(&runs), "{runs} runs for {difference}");
            let mut draw = |at: f64| (0..runs).map(|_| at + noise.sample(&mut random)).collect::<Vec<f64>>();
            let mut is_found = |i| {
                let figures = [draw(0.0), draw(difference)].concat();
                permutation::test(&[figures], runs, 1_000, i)[0].alone <= 0.04
            };
            let found = (0..100).filter(|i| is_found(*i)).count();
            assert!(seen.contains(&found), "{found} of 100 with {runs} runs for {difference}");
        }
    }

    #[test]
    fn the_difference_shown_and_the_runs_needed_are_the_same_relation() {
        let difference = difference_shown(20, 20, 3.0, 0.05).unwrap();
        assert_eq!(runs_needed(difference * 1.001, 3.0, 0.05), Some(20));
        assert_eq!(difference_shown(1, 20, 3.0, 0.05), None);
    }

    #[test]
    fn a_difference_far_below_the_spread_has_no_number_of_runs() {
        assert_eq!(runs_needed(0.001, 1.0, 0.05), None);
        assert_eq!(runs_needed(0.0, 1.0, 0.05), None);
        assert_eq!(runs_needed(0.0, 0.0, 0.05), None);
        assert_eq!(runs_needed(1.0, 0.0, 0.05), Some(2));
    }
}

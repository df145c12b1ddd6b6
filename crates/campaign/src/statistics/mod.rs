//! Statistics over runs: one figure per run, never one per query, because the queries of a run share their time.
//!
//! | question | answer |
//! |---|---|
//! | is there a difference? | [`permutation`]: how often random labels of the runs give one as large |
//! | how large is it? | [`shift()`]: the median over all pairs of runs, with a bootstrap interval over runs |
//! | how large is it, of runs made in pairs? | [`signed_rank`]: the median over the means of all pairs of differences |
//! | how often is one side above? | [`effect()`]: Vargha and Delaney's A12 |
//! | is a new run one of those of the past? | [`prediction`]: Student's interval for one further figure |
//! | how many runs does it take? | [`power`]: from the spread of the runs |
//! | has it changed over many runs? | [`steps`]: where the level of a history changes, and a slow drift |
//!
//! No function assumes a distribution of the figures, except [`power`], which only advises, and [`prediction`], which
//! says what it does about figures that have another one.

mod effect;
pub mod permutation;
pub mod power;
pub mod prediction;
mod shift;
pub mod signed_rank;
pub mod steps;

pub use effect::effect;
pub use shift::{Interval, RESAMPLES, Shift, shift};

/// The mean; 0 of no figures.
pub(crate) fn mean(figures: &[f64]) -> f64 {
    if figures.is_empty() { 0.0 } else { figures.iter().sum::<f64>() / figures.len() as f64 }
}

/// The median; 0 of no figures. Changes their order.
pub fn median(figures: &mut [f64]) -> f64 {
    let length = figures.len();
    if length == 0 {
        return 0.0;
    }
    let (below, upper, _) = figures.select_nth_unstable_by(length / 2, f64::total_cmp);
    match length % 2 {
        1 => *upper,
        _ => (*upper + below.iter().copied().fold(f64::NEG_INFINITY, f64::max)) / 2.0,
    }
}

/// The standard deviation within two groups; `None` where there are not at least three figures in all.
pub fn spread(a: &[f64], b: &[f64]) -> Option<f64> {
    let squares = |figures: &[f64]| {
        let mean = mean(figures);
        figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>()
    };
    let freedom = (a.len() + b.len()).checked_sub(2).filter(|freedom| *freedom > 0)?;
    Some(((squares(a) + squares(b)) / freedom as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn the_spread_is_within_the_groups_and_not_between_them() {
        assert_eq!(spread(&[1.0, 3.0], &[101.0, 103.0]), Some(2f64.sqrt()));
        assert_eq!(spread(&[1.0], &[2.0]), None);
    }
}

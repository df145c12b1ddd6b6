//! A slow change over the whole history: the median of the slopes between all pairs of runs (Theil, 1950; Sen, 1968),
//! which a few disturbed runs hardly move, with the interval of Kendall's rank correlation.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

/// A slope, for each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub(super) estimate: f64,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// The slope of the figures; `None` of fewer than three. Only pairs that `are_comparable` count.
pub(super) fn slope(figures: &[f64], are_comparable: impl Fn(usize, usize) -> bool) -> Option<Slope> {
    let step = figures.len().div_ceil(MOST_RUNS).max(1);
    let runs: Vec<usize> = (0..figures.len()).step_by(step).collect();
    let mut slopes = Vec::new();
    for (at, late) in runs.iter().enumerate() {
        for early in &runs[..at] {
            if are_comparable(*early, *late) {
                slopes.push((figures[*late] - figures[*early]) / (late - early) as f64);
            }
        }
    }
    if runs.len() < 3 || slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let (runs, pairs) = (runs.len() as f64, slopes.len() as f64);
    let spread = (runs * (runs - 1.0) * (2.0 * runs + 5.0) / 18.0).sqrt();
    let place = |share: f64| ((pairs * share) as usize).min(slopes.len() - 1);
    let beyond = (0.5 - NORMAL * spread / (2.0 * pairs)).clamp(0.0, 0.5);
    let (from, to) = (slopes[place(beyond)], slopes[place(1.0 - beyond)]);
    Some(Slope { estimate: slopes[place(0.5)], from, to })
}

/// How often figures in any order rise or fall with their place as much as these.
pub(super) fn probability(figures: &[f64], orders: u32, seed: u64) -> f64 {
    let middle = figures.len() as f64 / 2.0;
    let together = |ranks: &[f64]| {
        ranks.iter().enumerate().map(|(run, rank)| (run as f64 - middle) * (rank - middle)).sum::<f64>().abs()
    };
    let mut order: Vec<usize> = (0..figures.len()).collect();
    order.sort_by(|a, b| figures[*a].total_cmp(&figures[*b]));
    let mut ranks = vec![0.0; figures.len()];
    order.iter().enumerate().for_each(|(rank, run)| ranks[*run] = rank as f64);
    let observed = together(&ranks);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let reached = (0..orders).filter(|_| {
        ranks.shuffle(&mut random);
        together(&ranks) >= observed
    });
    (1 + reached.count()) as f64 / f64::from(orders + 1)
}

/// Of longer histories each second run, or third, and so on.
const MOST_RUNS: usize = 300;

/// The normal quantile of 0.975.
const NORMAL: f64 = 1.96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_the_median_of_all_pairs() {
        let mut figures: Vec<f64> = (0..30).map(|run| run as f64 * 0.5).collect();
        figures[3] = 100.0;
        let found = slope(&figures, |_, _| true).unwrap();
        assert!((found.estimate - 0.5).abs() < 0.01, "{found:?}");
        assert!(found.from <= 0.5 && 0.5 <= found.to);
        assert_eq!(slope(&[1.0, 2.0], |_, _| true), None);
    }

    #[test]
    fn what_rises_seldom_does_so_by_chance() {
        let rises: Vec<f64> = (0..30).map(f64::from).collect();
        assert_eq!(probability(&rises, 199, 1), 1.0 / 200.0);
        let mixed: Vec<f64> = (0..30).map(|run| f64::from(run * 7 % 30)).collect();
        assert!(probability(&mixed, 199, 1) > 0.05);
    }
}

//! Steps in a history: runs of one kind, one figure each, in their order.
//!
//! ```text
//!   ● ● ●●   ●  ● ●●                   noise     from the differences of neighbours
//!  ──────●──●───────┐
//!                   └──●──●─●──●──     a step    the level changes and stays
//!          ○              ●   ●
//!          disturbed: far from its level, and alone
//! ```
//!
//! 1. The history is cut into segments so that figures and cuts together cost least; a run far from its level costs no
//!    more than any other one ([`cost`]), so disturbed runs make no step.
//! 2. Each cut is held against the same runs in any other order: one that such an order saves as much with is taken
//!    away.
//! 3. The size of a step is the median difference of all pairs of runs before and after it, with a bootstrap interval.
//! 4. A slow change over all runs is told instead of steps, or beside them, where a slope explains more.
//!
//! The runs between two steps are taken to be exchangeable: a host that wanders from run to run is told as steps.

mod cost;
mod drift;
mod evidence;
mod segments;

use super::{Interval, median, shift};
use cost::{STEP, fit, is_disturbed, standard};
use evidence::Around;
use segments::{Segments, ranges};

pub use cost::FEWEST_AFTER;

/// What a history shows; figures are in the unit of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The segments between them.
    pub segments: Vec<Segment>,
    /// A slow change beside them.
    pub drift: Option<Drift>,
    /// The standard deviation of a run that is not disturbed.
    pub noise: f64,
    /// Which runs are so far from their level that they count as disturbed.
    pub disturbed: Vec<bool>,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The first run after it.
    pub at: usize,
    /// The first run that may be that, 95 times in 100.
    pub earliest: usize,
    /// The last one.
    pub latest: usize,
    /// By how much the level has changed.
    pub size: f64,
    /// The interval of that, 95 times in 100.
    pub interval: Option<Interval>,
    /// How often the same runs in any order show as much.
    pub probability: f64,
}

/// Runs between two steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its first run.
    pub from: usize,
    /// The run after its last one.
    pub to: usize,
    /// Its level; where there is a drift, that in its middle.
    pub level: f64,
}

/// A slow change over the whole history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// From the first run to the last one.
    pub size: f64,
    /// The interval of that, 95 times in 100.
    pub interval: Interval,
}

/// Finds the steps of a history. `least_noise` is that of the figures themselves, such as the width in which they are
/// counted: a smaller difference is none.
pub fn find(figures: &[f64], least_noise: f64, seed: u64) -> Steps {
    let least = least_noise.max(f64::MIN_POSITIVE);
    let by_neighbours = noise_of_neighbours(figures).max(least);
    let first = Segments::of(&standard(figures, by_neighbours));
    // A drift is in the distances to a level, and hardly in the differences of neighbours.
    let noise = noise_within(figures, &first.cuts).min(by_neighbours).max(least);
    let mut best = Segments::of(&standard(figures, noise));
    let mut drift = None;
    for slope in slopes(figures, &best.cuts) {
        let straight = without(figures, slope.estimate);
        let of = Segments::of(&standard(&straight, noise));
        if of.cost + STEP < best.cost {
            (best, drift) = (of, Some(slope));
        }
    }
    if let Some(slope) = drift
        && !is_drift(figures, &best.cuts, slope.estimate, seed)
    {
        (best, drift) = (Segments::of(&standard(figures, noise)), None);
    }
    let straight = without(figures, drift.map_or(0.0, |slope| slope.estimate));
    let cuts = shown(&standard(&straight, noise), best.cuts, seed);
    described(&straight, &cuts, (drift, noise, seed))
}

/// The slopes that may explain more than steps: of the whole history, and within its segments.
fn slopes(figures: &[f64], cuts: &[usize]) -> Vec<drift::Slope> {
    let segment = |run: usize| cuts.partition_point(|cut| *cut <= run);
    let whole = drift::slope(figures, |_, _| true);
    let within = || drift::slope(figures, |early, late| segment(early) == segment(late));
    let within = if cuts.is_empty() { None } else { within() };
    whole.into_iter().chain(within).collect()
}

/// Whether the figures, without the steps that are beside it, rise or fall as they seldom do in any other order.
fn is_drift(figures: &[f64], cuts: &[usize], slope: f64, seed: u64) -> bool {
    let straight = without(figures, slope);
    let mut level = figures.to_vec();
    for (from, to) in ranges(cuts, figures.len()) {
        let middle = median(&mut straight[from..to].to_vec());
        level[from..to].iter_mut().for_each(|figure| *figure -= middle);
    }
    drift::probability(&level, ORDERS, seed) <= LEVEL
}

/// The figures without a slope, which turns around the middle of the history.
fn without(figures: &[f64], slope: f64) -> Vec<f64> {
    let middle = figures.len().saturating_sub(1) as f64 / 2.0;
    figures.iter().enumerate().map(|(run, figure)| figure - slope * (run as f64 - middle)).collect()
}

/// The cuts, each with how often other orders of the runs beside it save as much, without those that they reach.
fn shown(figures: &[f64], mut cuts: Vec<usize>, seed: u64) -> Vec<(usize, f64)> {
    loop {
        let probability = |place: usize| {
            let (from, to) = beside(&cuts, place, figures.len());
            Around::new(&figures[from..to]).probability(ORDERS, LEVEL, seed)
        };
        let probabilities: Vec<f64> = (0..cuts.len()).map(probability).collect();
        let worst = probabilities.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        match worst.filter(|(_, probability)| **probability > LEVEL) {
            Some((place, _)) => {
                cuts.remove(place);
            }
            None => return cuts.into_iter().zip(probabilities).collect(),
        }
    }
}

/// The runs beside a cut: those of the two segments that it parts, and not very many of them.
fn beside(cuts: &[usize], place: usize, runs: usize) -> (usize, usize) {
    let cut = cuts[place];
    let from = if place == 0 { 0 } else { cuts[place - 1] };
    let to = cuts.get(place + 1).copied().unwrap_or(runs);
    (from.max(cut.saturating_sub(MOST_BESIDE)), to.min(cut + MOST_BESIDE))
}

/// Sizes, levels and places. `of` has the drift, the noise and the seed.
fn described(straight: &[f64], shown: &[(usize, f64)], of: (Option<drift::Slope>, f64, u64)) -> Steps {
    let (slope, noise, seed) = of;
    let standard = standard(straight, noise);
    let runs = straight.len();
    let cuts: Vec<usize> = shown.iter().map(|(cut, _)| *cut).collect();
    let segments: Vec<Segment> = ranges(&cuts, runs)
        .map(|(from, to)| Segment { from, to, level: fit(&standard[from..to]).0 * noise })
        .collect();
    let step = |(place, (at, probability)): (usize, &(usize, f64))| {
        let (from, to) = beside(&cuts, place, runs);
        let (earliest, latest) = Around::new(&standard[from..to]).began(at - from);
        let near = (from.max(at.saturating_sub(MOST_SIZED)), to.min(at + MOST_SIZED));
        let size = shift(&straight[near.0..*at], &straight[*at..near.1], RESAMPLES, seed);
        Step {
            at: *at,
            earliest: from + earliest,
            latest: from + latest,
            size: size.map_or(0.0, |size| size.estimate),
            interval: size.and_then(|size| size.interval),
            probability: *probability,
        }
    };
    let steps = shown.iter().enumerate().map(step).collect();
    let last = runs.saturating_sub(1) as f64;
    let drift = slope.map(|slope| Drift {
        size: slope.estimate * last,
        interval: Interval { from: slope.from * last, to: slope.to * last },
    });
    let mut disturbed = vec![false; runs];
    for segment in &segments {
        let level = segment.level / noise;
        (segment.from..segment.to).for_each(|run| disturbed[run] = is_disturbed(standard[run], level));
    }
    Steps { steps, segments, drift, noise, disturbed }
}

/// The standard deviation of a run that is not disturbed, from the differences of neighbours: a step is in only one of
/// them.
fn noise_of_neighbours(figures: &[f64]) -> f64 {
    let differences = figures.windows(2).map(|pair| (pair[1] - pair[0]).abs() * HALF_OF_TWO);
    median(&mut differences.collect::<Vec<_>>()) * NORMAL
}

/// The same from the distances to the level of each segment: known better, where the segments are right.
fn noise_within(figures: &[f64], cuts: &[usize]) -> f64 {
    let mut distances = Vec::with_capacity(figures.len());
    for (from, to) in ranges(cuts, figures.len()) {
        let middle = median(&mut figures[from..to].to_vec());
        // The level is known from the same runs.
        let freedom = ((to - from) as f64 / (to - from).saturating_sub(1).max(1) as f64).sqrt();
        distances.extend(figures[from..to].iter().map(|figure| (figure - middle).abs() * freedom));
    }
    median(&mut distances) * NORMAL
}

/// The smallest step that runs with this noise show 9 times in 10, where `before` of them are before it, and `after`
/// after it. `disturbed` is the share of those that say nothing of it.
pub fn smallest(noise: f64, before: usize, after: usize, disturbed: f64) -> Option<f64> {
    if after < FEWEST_AFTER || before < cost::FEWEST_BEFORE || before + after < FEWEST_RUNS {
        return None;
    }
    let (before, after) = (before as f64, after as f64);
    let runs = before * after / (before + after) * (1.0 - disturbed).max(0.1);
    let few = 1.0 + FEW / (before + after);
    Some(noise * ((2.0 * STEP).sqrt() + NINE_OF_TEN) * few / runs.sqrt())
}

/// Fewer runs show no step: too many of their orders save as much by chance.
pub const FEWEST_RUNS: usize = 10;

/// How seldom a step is reached by chance that is told.
const LEVEL: f64 = 0.01;

/// Orders that are tried: a probability of 1 % is then known to within half a percentage point.
const ORDERS: u32 = 399;

/// Runs on each side that a step is held against.
const MOST_BESIDE: usize = 200;

/// Runs on each side that its size is measured by.
const MOST_SIZED: usize = 60;

/// Draws for the interval of a size.
const RESAMPLES: u32 = 400;

/// The standard deviation of normally distributed figures, in units of the median of their distances.
const NORMAL: f64 = 1.4826;

/// A difference of two runs varies by the root of two more than a run.
const HALF_OF_TWO: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Of few runs the noise is hardly known, and many of their orders save as much as a step: what that costs was found by
/// trying (`examples/history_series.rs`).
const FEW: f64 = 8.0;

/// The normal quantile of 0.9.
const NINE_OF_TEN: f64 = 1.2816;

#[cfg(test)]
mod tests;

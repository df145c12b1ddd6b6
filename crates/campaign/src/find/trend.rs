//! Whether the limit itself moves: during the search, or after an overload.
//!
//! ```text
//!   drift       limit of a trial = limit now − rate × trials since
//!   hysteresis  limit of a trial = limit − fall, if the trial before it failed
//! ```
//!
//! Each rate and each fall of a short list is held against a limit that stays, by the probability that it gives to the
//! trials that were seen.

use super::belief::{OUTSIDE, normal};

/// A trial near the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) load: f64,
    pub(super) passed: bool,
    /// Trials since.
    pub(super) ago: f64,
    /// Whether the trial before it failed.
    pub(super) follows_failure: bool,
}

/// How a limit may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// By a share in each trial.
    Drift,
    /// It is lower in a trial after one that failed.
    Fall,
}

/// What the trials say about a motion.
#[derive(Clone, Debug)]
pub(super) struct Trend {
    /// How many times as probable the trials are with it as without.
    pub(super) odds: f64,
    /// The mean of the rate, or of the fall, where there is one, as a logarithm of the load.
    pub(super) shift: f64,
    /// The mean of the noise.
    pub(super) noise: f64,
    /// The limit after an overload: the lower end of its interval, its middle, the upper end. Of a drift, the limit of
    /// the next trial.
    pub(super) shifted: [f64; 3],
    /// The logarithm of the load at the lower end of the grid, and from one place to the next.
    from: f64,
    step: f64,
    /// The probability of each place of the limit now.
    of_places: Vec<f64>,
}

impl Motion {
    /// How much is tried, as logarithms of the load.
    fn shifts(self) -> &'static [f64] {
        match self {
            Motion::Drift => RATES,
            Motion::Fall => FALLS,
        }
    }

    /// How much of the shift a trial has.
    fn share(self, point: &Point) -> f64 {
        match self {
            Motion::Drift => -point.ago,
            Motion::Fall => f64::from(u8::from(point.follows_failure)),
        }
    }
}

impl Trend {
    /// Holds a motion against none, with the limit between these loads.
    pub(super) fn of(motion: Motion, points: &[Point], from_load: f64, to_load: f64) -> Trend {
        let width = (to_load / from_load).ln().max(0.01);
        let step = width / PLACES as f64;
        let mut still = 0.0;
        let (mut shift_sum, mut noise_sum) = (0.0, 0.0);
        let (mut of_places, mut shifted) = (vec![0.0; PLACES], Vec::new());
        let shifts = motion.shifts();
        for noise in NOISES {
            let curve: Vec<f64> =
                (0..6 * PLACES).map(|at| normal((at as f64 - 3.0 * PLACES as f64) * step / noise)).collect();
            for shift in std::iter::once(&0.0).chain(shifts) {
                // Where the curve of each trial begins.
                let first = |point: &Point| {
                    let from = (from_load / point.load).ln() + shift * motion.share(point);
                    let place = (from / step + 0.5).round() + 3.0 * PLACES as f64;
                    (place.clamp(0.0, 5.0 * PLACES as f64) as usize, point.passed)
                };
                let trials: Vec<(usize, bool)> = points.iter().map(first).collect();
                let mut of_shift = vec![0.0; PLACES];
                LAPSES.iter().for_each(|lapse| add_chances(&mut of_shift, &trials, &curve, *lapse));
                of_shift.iter_mut().for_each(|chance| *chance /= shifts.len() as f64);
                let sum: f64 = of_shift.iter().sum();
                if *shift == 0.0 {
                    still += sum * shifts.len() as f64;
                    continue;
                }
                shift_sum += shift * sum;
                noise_sum += noise * sum;
                let load = |place: usize| from_load.ln() + (place as f64 + 0.5) * step + shift;
                shifted.extend(of_shift.iter().enumerate().map(|(place, chance)| (load(place), *chance)));
                of_places.iter_mut().zip(of_shift).for_each(|(all, one)| *all += one);
            }
        }
        let moved: f64 = of_places.iter().sum();
        let mean = |sum: f64| if moved > 0.0 { sum / moved } else { 0.0 };
        Trend {
            odds: if still > 0.0 { moved / still } else { 1.0 },
            shift: mean(shift_sum),
            noise: mean(noise_sum),
            shifted: quantiles(&mut shifted),
            from: from_load.ln(),
            step,
            of_places: of_places.iter().map(|place| mean(*place)).collect(),
        }
    }

    /// The probability that the limit now is below this load, if there is this motion.
    pub(super) fn below(&self, load: f64) -> f64 {
        let at = (load.ln() - self.from) / self.step;
        let share = |(place, chance): (usize, &f64)| chance * (at - place as f64).clamp(0.0, 1.0);
        self.of_places.iter().enumerate().map(share).sum()
    }
}

/// Adds to each place the probability that it gives to what was seen: of each trial where its curve begins, and whether
/// it passed.
fn add_chances(places: &mut [f64], trials: &[(usize, bool)], curve: &[f64], lapse: f64) {
    let mut chances = vec![1.0; PLACES];
    for (first, passed) in trials {
        for (chance, passes) in chances.iter_mut().zip(curve.iter().skip(*first)) {
            let passes = STRAY + (1.0 - lapse - STRAY) * passes;
            *chance *= if *passed { passes } else { 1.0 - passes };
        }
    }
    places.iter_mut().zip(chances).for_each(|(place, chance)| *place += chance);
}

/// The lower end of the interval, the middle, the upper end.
fn quantiles(of_places: &mut [(f64, f64)]) -> [f64; 3] {
    of_places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = of_places.iter().map(|(_, chance)| chance).sum();
    [OUTSIDE, 0.5, 1.0 - OUTSIDE].map(|share| {
        let mut below = 0.0;
        let found = of_places.iter().find(|(_, chance)| {
            below += chance;
            below >= share * total
        });
        found.or(of_places.last()).map_or(0.0, |(load, _)| load.exp())
    })
}

/// Rates of a drift.
const RATES: &[f64] = &[
    -0.024, -0.015, -0.0094, -0.0059, -0.0037, -0.0023, -0.0014, 0.0014, 0.0023, 0.0037, 0.0059, 0.0094,
    0.015, 0.024,
];

/// How much lower the limit may be after an overload.
const FALLS: &[f64] = &[-0.06, -0.1, -0.15, -0.22, -0.3, -0.4, -0.55, -0.7, -1.0];

const PLACES: usize = 150;
const NOISES: [f64; 4] = [0.004, 0.012, 0.035, 0.1];
const LAPSES: [f64; 2] = [0.004, 0.08];
const STRAY: f64 = 0.002;

#[cfg(test)]
mod tests {
    use super::*;

    fn points(limit: impl Fn(usize, bool) -> f64, loads: &[f64]) -> Vec<Point> {
        let mut follows_failure = false;
        let point = |(at, load): (usize, &f64)| {
            let passed = *load <= limit(at, follows_failure);
            let ago = (loads.len() - 1 - at) as f64;
            let point = Point { load: *load, passed, ago, follows_failure };
            follows_failure = !passed;
            point
        };
        loads.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_limit_that_falls_during_the_search_is_told_from_one_that_stays() {
        // A search follows the limit: a percent below it, and a percent above it.
        let around = |limit: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..20).map(|at| limit(at) * if at % 2 == 0 { 0.99 } else { 1.01 }).collect()
        };
        let falls = |at: usize| 1_000.0 - 8.0 * at as f64;
        let falling = Trend::of(Motion::Drift, &points(|at, _| falls(at), &around(&falls)), 600.0, 1_400.0);
        assert!(falling.odds > 20.0 && (-0.015..-0.005).contains(&falling.shift), "{falling:?}");
        // The limit of the last trial is 848.
        assert!(falling.below(825.0) < 0.05 && falling.below(875.0) > 0.95, "{falling:?}");
        let stays = |_| 945.0;
        let steady = Trend::of(Motion::Drift, &points(|at, _| stays(at), &around(&stays)), 600.0, 1_400.0);
        assert!(steady.odds < 1.0, "{steady:?}");
    }

    #[test]
    fn a_limit_that_is_lower_after_an_overload_is_told() {
        let loads: Vec<f64> =
            [1_200., 900., 850., 780., 900., 960., 1_020., 850., 760., 940., 990., 1_010., 880., 790.].into();
        let limit = |_, failed| if failed { 800.0 } else { 1_000.0 };
        let found = Trend::of(Motion::Fall, &points(limit, &loads), 500.0, 1_500.0);
        assert!(found.odds > 20.0 && (-0.35..-0.12).contains(&found.shift), "{found:?}");
        assert!((760.0..840.0).contains(&found.shifted[1]), "{found:?}");
        assert!(found.below(985.0) < 0.1 && found.below(1_020.0) > 0.9, "{found:?}");
    }
}

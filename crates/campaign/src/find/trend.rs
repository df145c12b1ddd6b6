//! Whether the limit itself moves: during the search, or after an overload.
//!
//! ```text
//!   limit of trial i = limit + shift × z        drift:      z grows from 0 at the first trial to 1 at the last
//!                                               hysteresis: z is 1 after a trial that failed, else 0
//! ```
//!
//! Each shift of a short list is held against none, by the probability that it gives to the trials that were seen.

use super::belief::{OUTSIDE, normal};

/// A trial near the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) load: f64,
    pub(super) passed: bool,
    /// How much of the shift it has.
    pub(super) z: f64,
}

/// What the trials say about a shift.
#[derive(Clone, Debug)]
pub(super) struct Trend {
    /// How many times as probable the trials are with a shift as without.
    pub(super) odds: f64,
    /// The mean of the shift, where there is one, as a logarithm of the load.
    pub(super) shift: f64,
    /// The limit at z = 1 where there is a shift: the lower end of its interval, its middle, the upper end.
    pub(super) shifted: [f64; 3],
}

/// Drifts over a search, as logarithms of the load: up to 40 % upwards and downwards, in steps of 2 %.
pub(super) fn drifts() -> Vec<f64> {
    (-20..=20).filter(|step| *step != 0).map(|step| f64::from(step) * 0.02).collect()
}

/// How much lower the limit may be after an overload.
pub(super) const FALLS: &[f64] = &[-0.06, -0.1, -0.15, -0.22, -0.3, -0.4, -0.55, -0.7, -1.0];

/// Holds the shifts against none, with the limit between these loads.
pub(super) fn trend(points: &[Point], shifts: &[f64], from_load: f64, to_load: f64) -> Trend {
    let width = (to_load / from_load).ln().max(0.01);
    let step = width / PLACES as f64;
    let mut evidence = (0.0, 0.0);
    let (mut shift_sum, mut at_1) = (0.0, Vec::new());
    for noise in NOISES {
        let curve: Vec<f64> =
            (0..6 * PLACES).map(|at| normal((at as f64 - 3.0 * PLACES as f64) * step / noise)).collect();
        for shift in std::iter::once(&0.0).chain(shifts) {
            for lapse in LAPSES {
                let mut chances = vec![1.0; PLACES];
                for point in points {
                    let from = (from_load / point.load).ln() + shift * point.z;
                    let first = (from / step).round() + 3.0 * PLACES as f64;
                    let first = first.clamp(0.0, 5.0 * PLACES as f64) as usize;
                    for (chance, passes) in chances.iter_mut().zip(curve.iter().skip(first)) {
                        let passes = STRAY + (1.0 - lapse - STRAY) * passes;
                        *chance *= if point.passed { passes } else { 1.0 - passes };
                    }
                }
                let sum: f64 = chances.iter().sum();
                if *shift == 0.0 {
                    evidence.0 += sum;
                    continue;
                }
                evidence.1 += sum / shifts.len() as f64;
                shift_sum += shift * sum / shifts.len() as f64;
                let load = |place: usize| (place as f64 + 0.5) * step + from_load.ln() + shift;
                at_1.extend(chances.iter().enumerate().map(|(place, chance)| (load(place), *chance)));
            }
        }
    }
    Trend {
        odds: if evidence.0 > 0.0 { evidence.1 / evidence.0 } else { 1.0 },
        shift: if evidence.1 > 0.0 { shift_sum / evidence.1 } else { 0.0 },
        shifted: quantiles(&mut at_1),
    }
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

const PLACES: usize = 150;
const NOISES: [f64; 4] = [0.004, 0.012, 0.035, 0.1];
const LAPSES: [f64; 2] = [0.004, 0.08];
const STRAY: f64 = 0.002;

#[cfg(test)]
mod tests {
    use super::*;

    fn points(
        limit: impl Fn(usize, bool) -> f64,
        loads: &[f64],
        z: impl Fn(usize, bool) -> f64,
    ) -> Vec<Point> {
        let mut failed = false;
        let point = |(at, load): (usize, &f64)| {
            let passed = *load <= limit(at, failed);
            let point = Point { load: *load, passed, z: z(at, failed) };
            failed = !passed;
            point
        };
        loads.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_limit_that_falls_during_the_search_is_told_from_one_that_stays() {
        let z = |at: usize, _| at as f64 / 19.0;
        // A search follows the limit: a percent below it, and a percent above it.
        let around = |limit: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..20).map(|at| limit(at) * if at % 2 == 0 { 0.99 } else { 1.01 }).collect()
        };
        let falls = |at: usize| 1_000.0 - 8.0 * at as f64;
        let falling = trend(&points(|at, _| falls(at), &around(&falls), z), &drifts(), 600.0, 1_400.0);
        assert!(falling.odds > 20.0 && falling.shift < -0.1, "{falling:?}");
        assert!((820.0..880.0).contains(&falling.shifted[1]), "{falling:?}");
        let stays = |_| 945.0;
        let steady = trend(&points(|at, _| stays(at), &around(&stays), z), &drifts(), 600.0, 1_400.0);
        assert!(steady.odds < 1.0, "{steady:?}");
    }

    #[test]
    fn a_limit_that_is_lower_after_an_overload_is_told() {
        let z = |_, failed| f64::from(failed);
        let loads: Vec<f64> =
            [1_200., 900., 850., 780., 900., 960., 1_020., 850., 760., 940., 990., 1_010., 880., 790.].into();
        let limit = |_, failed| if failed { 800.0 } else { 1_000.0 };
        let found = trend(&points(limit, &loads, z), FALLS, 500.0, 1_500.0);
        assert!(found.odds > 20.0 && (-0.35..-0.12).contains(&found.shift), "{found:?}");
        assert!((760.0..840.0).contains(&found.shifted[1]), "{found:?}");
    }
}

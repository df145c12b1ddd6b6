//! What the trials say about the limit: a probability for each place of the limit, width of the noise, and share of
//! trials that fail for other reasons than the load.
//!
//! ```text
//!   P(a trial at load x passes) = (1 − lapse) × Φ((limit − ln x) / noise)
//!
//!   1 ──────────╮            limit  the load, as its logarithm, at which a trial passes with probability 1/2,
//!               │╲                  where nothing but the load can fail it
//!               │ ╲          noise  how far the limit of one trial is from that of the next (standard deviation)
//!   0           │  ╰──────   lapse  the share of trials that fail whatever their load: a bad second
//!             limit     ln x
//! ```
//!
//! Bayes' rule on a grid: each trial multiplies the probability of each cell by that of what was seen. The limit is
//! uniform on the logarithm of the load before the first trial; [`NOISES`] and [`LAPSES`] have the others. Nothing is
//! random, so the same trials give the same figures.

/// Probabilities on the grid.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    /// The logarithm of the load at the first place.
    from: f64,
    /// From one place to the next.
    step: f64,
    places: usize,
    /// For each lapse, for each noise: a probability for each place.
    cells: Vec<f64>,
    /// For each noise: Φ at each distance, in places, of the limit from the load.
    curves: Vec<Vec<f64>>,
    /// The probability of each place, over all lapses and noises.
    of_places: Vec<f64>,
}

/// What was seen of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrialOutcome {
    Passed,
    Failed,
    /// Either: what the generator has added hides which, so the load is near the limit of the trial.
    Either,
}

impl Belief {
    /// Nothing is known but that the limit is between two loads; a place is `step` (a share of the load) wide, or wider
    /// where these would be too many.
    pub(super) fn between(from_load: f64, to_load: f64, step: f64) -> Belief {
        let width = (to_load / from_load).ln().max(step);
        let places = ((width / step).ceil() as usize).min(MOST_PLACES) + 1;
        let step = width / (places - 1) as f64;
        let curve = |noise: f64| {
            (0..2 * places).map(|at| normal((at as f64 - places as f64) * step / noise)).collect::<Vec<_>>()
        };
        let prior = |lapse: f64, noise: f64| std::iter::repeat_n(lapse * noise / places as f64, places);
        let weights =
            LAPSES.iter().flat_map(|(_, lapse)| NOISES.iter().map(move |(_, noise)| (lapse, noise)));
        Belief {
            from: from_load.ln(),
            step,
            places,
            cells: weights.flat_map(|(lapse, noise)| prior(*lapse, *noise)).collect(),
            curves: NOISES.iter().map(|(noise, _)| curve(*noise)).collect(),
            of_places: vec![1.0 / places as f64; places],
        }
    }

    /// Takes the result of a trial.
    pub(super) fn learn(&mut self, load: f64, seen: TrialOutcome) {
        let at = ((load.ln() - self.from) / self.step).round().clamp(0.0, (self.places - 1) as f64) as usize;
        let rows = self.cells.chunks_mut(self.places);
        let kinds = LAPSES.iter().flat_map(|(lapse, _)| self.curves.iter().map(move |curve| (lapse, curve)));
        self.of_places.fill(0.0);
        for (row, (lapse, curve)) in rows.zip(kinds) {
            let chances = curve.iter().skip(self.places - at);
            let height = match seen {
                TrialOutcome::Passed | TrialOutcome::Failed => 1.0 - lapse - STRAY,
                // The generator is the reason, and no lapse.
                TrialOutcome::Either => 1.0 - 2.0 * STRAY,
            };
            for ((cell, chance), place) in row.iter_mut().zip(chances).zip(&mut self.of_places) {
                let passes = STRAY + height * chance;
                *cell *= match seen {
                    TrialOutcome::Passed => passes,
                    TrialOutcome::Failed => 1.0 - passes,
                    // Half of a trial that has passed, and half of one that has failed.
                    TrialOutcome::Either => (passes * (1.0 - passes)).sqrt(),
                };
                *place += *cell;
            }
        }
        let total: f64 = self.of_places.iter().sum();
        if total > 0.0 {
            self.cells.iter_mut().chain(&mut self.of_places).for_each(|cell| *cell /= total);
        }
    }

    /// The load below which the limit is with this probability.
    pub(super) fn quantile(&self, probability: f64) -> f64 {
        let mut below = 0.0;
        for (place, chance) in self.of_places.iter().enumerate() {
            if below + chance >= probability {
                let within = if *chance > 0.0 { (probability - below) / chance } else { 0.5 };
                return (self.from + (place as f64 + within - 0.5) * self.step).exp();
            }
            below += chance;
        }
        (self.from + self.places as f64 * self.step).exp()
    }

    /// The probability that the limit is below this load.
    pub(super) fn below(&self, load: f64) -> f64 {
        // Places are centred: the first one ends half a step above the first load.
        let at = (load.ln() - self.from) / self.step + 0.5;
        let whole = at.clamp(0.0, self.places as f64) as usize;
        let part =
            self.of_places.get(whole).map_or(0.0, |chance| chance * (at - whole as f64).clamp(0.0, 1.0));
        self.of_places.iter().take(whole).sum::<f64>() + part
    }

    /// The probability that the limit is between these loads.
    pub(super) fn within(&self, from: f64, to: f64) -> f64 {
        self.below(to) - self.below(from)
    }

    /// How much a trial at this load tells about the limit, in bits: the entropy of its outcome, less what is left of
    /// it for whoever knows the limit.
    pub(super) fn tells(&self, load: f64) -> f64 {
        let at = ((load.ln() - self.from) / self.step).round().clamp(0.0, (self.places - 1) as f64) as usize;
        let rows = self.cells.chunks(self.places);
        let kinds = LAPSES.iter().flat_map(|(lapse, _)| self.curves.iter().map(move |curve| (lapse, curve)));
        let mut passes = vec![0.0; self.places];
        for (row, (lapse, curve)) in rows.zip(kinds) {
            let chances = curve.iter().skip(self.places - at);
            for ((passes, cell), chance) in passes.iter_mut().zip(row).zip(chances) {
                *passes += cell * (STRAY + (1.0 - lapse - STRAY) * chance);
            }
        }
        let known: f64 =
            passes.iter().zip(&self.of_places).map(|(passes, place)| place * bits(passes / place)).sum();
        (bits(passes.iter().sum()) - known).max(0.0)
    }

    /// The probability that the limit is at this load or above.
    pub(super) fn above(&self, load: f64) -> f64 {
        let first = ((load.ln() - self.from) / self.step).round().max(0.0) as usize;
        self.of_places.iter().skip(first).sum()
    }

    /// The mean of the noise, as a share of the load.
    pub(super) fn noise(&self) -> f64 {
        self.mean_of(|lapse_and_noise| NOISES[lapse_and_noise % NOISES.len()].0)
    }

    /// The mean of the share of trials that fail whatever their load.
    pub(super) fn lapse(&self) -> f64 {
        self.mean_of(|lapse_and_noise| LAPSES[lapse_and_noise / NOISES.len()].0)
    }

    /// The probability that at least three of ten trials fail whatever their load.
    pub(super) fn is_unstable(&self) -> f64 {
        self.mean_of(|row| if LAPSES[row / NOISES.len()].0 >= UNSTABLE_LAPSE { 1.0 } else { 0.0 })
    }

    /// The probabilities of the two ends of the grid: of its first and of its last twentieth.
    pub(super) fn at_ends(&self) -> (f64, f64) {
        let places = &self.of_places;
        let end = (self.places / 20).max(1);
        (places.iter().take(end).sum(), places.iter().rev().take(end).sum())
    }

    fn mean_of(&self, value: impl Fn(usize) -> f64) -> f64 {
        let rows = self.cells.chunks(self.places).enumerate();
        rows.map(|(row, cells)| value(row) * cells.iter().sum::<f64>()).sum()
    }
}

/// The entropy of an event with this probability.
fn bits(chance: f64) -> f64 {
    let of = |chance: f64| if chance > 0.0 { -chance * chance.log2() } else { 0.0 };
    let chance = if chance.is_finite() { chance.clamp(0.0, 1.0) } else { 0.0 };
    of(chance) + of(1.0 - chance)
}

/// The distribution function of the normal distribution; its error is below 0.00003.
pub(super) fn normal(at: f64) -> f64 {
    // Abramowitz and Stegun, 26.2.16.
    let t = 1.0 / (1.0 + 0.33267 * at.abs());
    let density = (-at * at / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let beyond = density * t * (0.436_183_6 + t * (-0.120_167_6 + t * 0.937_298));
    if at >= 0.0 { 1.0 - beyond } else { beyond }
}

/// Widths of the noise as shares of the load, and how likely each is before the first trial: a limit that is the same
/// in each trial, to one that is a fifth higher or lower from trial to trial.
pub(super) const NOISES: [(f64, f64); 7] =
    [(0.002, 0.12), (0.005, 0.14), (0.01, 0.17), (0.02, 0.19), (0.04, 0.17), (0.08, 0.13), (0.16, 0.08)];

/// Shares of trials that fail whatever their load, and how likely each is before the first trial.
pub(super) const LAPSES: [(f64, f64); 5] =
    [(0.002, 0.5), (0.03, 0.25), (0.1, 0.15), (0.3, 0.06), (0.5, 0.04)];

/// A share of trials that fail whatever their load, from which on there is no limit to speak of.
const UNSTABLE_LAPSE: f64 = 0.3;

/// The probability that the limit is below its interval, and the same above it. The interval is told as one of 95 %:
/// where the noise is larger than is usual, a search ends too early now and then, by luck, which takes a percent or two
/// of that (the tests of `truth` have the figures).
pub(super) const OUTSIDE: f64 = 0.024;

/// The chance that a trial far above the limit passes: no trial rules a place out altogether.
const STRAY: f64 = 0.002;

/// Places of a grid: with a step of a quarter of a percent, five octaves of the load.
const MOST_PLACES: usize = 1_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_first_trial_each_octave_is_as_likely_as_the_next() {
        let belief = Belief::between(1_000.0, 4_000.0, 0.0025);
        assert!((belief.quantile(0.5) / 2_000.0 - 1.0).abs() < 0.005, "{}", belief.quantile(0.5));
        assert!((belief.above(2_000.0) - 0.5).abs() < 0.005);
    }

    #[test]
    fn however_far_apart_its_ends_are_it_reaches_from_one_to_the_other() {
        let belief = Belief::between(100.0, 50e6, 0.0025);
        assert!(
            belief.quantile(0.0001) < 105.0 && belief.quantile(0.9999) > 47e6,
            "{}",
            belief.quantile(0.9999)
        );
    }

    #[test]
    fn a_limit_without_noise_is_found_by_halving() {
        let mut belief = Belief::between(1_000.0, 4_000.0, 0.0025);
        for _ in 0..16 {
            let load = belief.quantile(0.5);
            belief.learn(load, if load <= 1_700.0 { TrialOutcome::Passed } else { TrialOutcome::Failed });
        }
        assert!((belief.quantile(0.5) / 1_700.0 - 1.0).abs() < 0.01, "{}", belief.quantile(0.5));
        assert!(belief.noise() < 0.04 && belief.lapse() < 0.05, "{} {}", belief.noise(), belief.lapse());
    }

    #[test]
    fn a_single_failure_far_below_the_limit_is_a_lapse() {
        let mut belief = Belief::between(500.0, 4_000.0, 0.0025);
        belief.learn(1_000.0, TrialOutcome::Failed);
        for load in [1_200.0, 1_500.0, 1_700.0, 1_800.0, 1_900.0, 1_950.0] {
            belief.learn(load, TrialOutcome::Passed);
        }
        [2_100.0, 2_200.0, 2_050.0, 2_300.0]
            .iter()
            .for_each(|load| belief.learn(*load, TrialOutcome::Failed));
        assert!((1_900.0..2_100.0).contains(&belief.quantile(0.5)), "{}", belief.quantile(0.5));
    }

    #[test]
    fn a_trial_that_may_be_either_says_that_the_limit_is_near_its_load_and_nothing_on_which_side() {
        let mut belief = Belief::between(1_000.0, 4_000.0, 0.0025);
        let width = |belief: &Belief| (belief.quantile(0.975) / belief.quantile(0.025)).ln();
        let before = width(&belief);
        (0..3).for_each(|_| belief.learn(2_000.0, TrialOutcome::Either));
        assert!((belief.quantile(0.5) / 2_000.0 - 1.0).abs() < 0.005, "{}", belief.quantile(0.5));
        assert!(width(&belief) < before / 2.0, "{} of {before}", width(&belief));
    }

    #[test]
    fn the_distribution_function_is_that_of_the_tables() {
        for (at, truth) in [(0.0, 0.5), (1.0, 0.841_345), (-1.96, 0.024_998), (3.0, 0.998_650)] {
            assert!((normal(at) - truth).abs() < 3e-5, "{at}: {}", normal(at));
        }
    }
}

//! How often a comparison of equals says that they differ: the same imaginary server under two names.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, Exp1, StandardNormal};

use super::figure::Figure;
use super::figures::{Kind, Row};
use super::*;

/// How the runs of a server differ from each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Noise {
    /// Normally distributed, 5 %.
    Normal,
    /// Most runs are alike, and one in eight is disturbed: a third slower on average.
    Disturbed,
    /// Alike to within a step of the histogram, so that many runs have the same figure.
    Steps,
}

impl Noise {
    pub(super) fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let normal: f64 = StandardNormal.sample(random);
        let (slow, chance): (f64, f64) = (Exp1.sample(random), Exp1.sample(random));
        match self {
            Noise::Normal => 0.05 * normal,
            // A draw above ln 8 is one of eight.
            Noise::Disturbed => 0.02 * normal + if chance > 8f64.ln() { slow / 3.0 } else { 0.0 },
            Noise::Steps => (normal * 1.5).round() * 0.01,
        }
    }
}

/// The outcome of a comparison of `runs` against as many runs of the same server, one of `family` comparisons.
fn of_equals(noise: Noise, runs: usize, family: u32, random: &mut Xoshiro256PlusPlus, seed: u64) -> Outcome {
    let metrics = ["p99", "p50", "p90", "p99.9", "avg", "rate"];
    // Half of what makes the runs differ is common to all latencies.
    let shared: Vec<f64> = (0..2 * runs).map(|_| noise.draw(random)).collect();
    let row = |name: &&str| {
        let figure = |shared: &f64| {
            let value = (0.7 * shared + 0.7 * noise.draw(random)).exp();
            Figure { value, beyond_timeout: false }
        };
        let is_rate = *name == "rate";
        let kind = if is_rate { Kind::Rate } else { Kind::Duration };
        Row::exact(name, kind, !is_rate, shared.iter().map(figure).collect())
    };
    let rows: Vec<Row> = metrics.iter().map(row).collect();
    let settings = Settings { seed, family, resamples: 0, relabellings: RELABELLINGS, ..Settings::default() };
    Outcome::of(&Design { runs, past: None, settings: &settings }.metrics(rows), &settings)
}

/// Of so many experiments with `loads` comparisons each, how many say that something differs.
fn alarms(noise: Noise, runs: usize, loads: u32, experiments: u64, seed: u64) -> u64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut differs = |number: u64| {
        // Each comparison is made, so that the numbers drawn do not depend on what was found.
        let outcomes: Vec<Outcome> =
            (0..loads).map(|_| of_equals(noise, runs, loads, &mut random, number)).collect();
        outcomes.iter().any(|outcome| matches!(outcome, Outcome::Better | Outcome::Worse | Outcome::Mixed))
    };
    (0..experiments).filter(|number| differs(*number)).count() as u64
}

/// The levels of 4 % and 1 %, and a third of them, are whole numbers of 1,500: the labels as they are count as one.
const RELABELLINGS: u32 = 1_499;

/// Where one of twenty differs, 300 experiments have 15 of them on average, and more than 28 with a probability of
/// 0.06 % (binomial distribution). So all three kinds of noise keep to that in 998 of 1,000 such tests.
#[test]
fn equals_differ_in_at_most_one_of_twenty_comparisons() {
    for noise in [Noise::Normal, Noise::Disturbed, Noise::Steps] {
        let found = alarms(noise, 5, 1, 300, 1);
        assert!(found <= 28, "{noise:?}: {found} of 300");
    }
}

/// The measure of `docs/comparing.md`: `cargo test --release -p dnsdyno-campaign a_thousand_pairs -- --ignored
/// --nocapture`. Of 4,000, a share of 5 % has a standard error of 0.34 %: the bound is 5 % and four of them.
#[test]
#[ignore = "thousands of comparisons take minutes"]
fn a_thousand_pairs_of_equals_and_more() {
    const EXPERIMENTS: u64 = 4_000;
    for loads in [1, 3] {
        for runs in [4, 5, 10] {
            for noise in [Noise::Normal, Noise::Disturbed, Noise::Steps] {
                let found = alarms(noise, runs, loads, EXPERIMENTS, 20_261_123);
                let share = found as f64 / EXPERIMENTS as f64;
                eprintln!("{loads} loads, {runs} runs, {noise:?}: {:.2} % differ", share * 100.0);
                assert!(share <= 0.0638, "{share}");
            }
        }
    }
}

//! Series whose steps, drifts and disturbed runs are known.

use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::*;

/// Logarithms of rates with a noise of 1.5 %, of which one in twenty is disturbed by a third.
fn history(seed: u64, runs: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let run = |run: usize| {
        let noise: f64 = StandardNormal.sample(&mut random);
        let disturbed = random.random::<f64>() < 0.05;
        (1.0 + 0.015 * noise).ln() + level(run) + if disturbed { (2.0f64 / 3.0).ln() } else { 0.0 }
    };
    (0..runs).map(run).collect()
}

fn found(seed: u64, runs: usize, level: impl Fn(usize) -> f64) -> Steps {
    find(&history(seed, runs, level), 0.0005, 1)
}

#[test]
fn unchanged_histories_have_a_step_in_two_of_a_hundred_at_most() {
    let told = (0..SERIES).filter(|seed| {
        let found = found(*seed, 100, |_| 0.0);
        !found.steps.is_empty() || found.drift.is_some()
    });
    let told = told.count();
    assert!(told * 50 <= SERIES as usize, "{told} of {SERIES}");
}

#[test]
fn a_step_of_three_percent_is_found_within_twelve_runs_in_most() {
    let down = 0.97f64.ln();
    let is_found = |seed: &u64| {
        let found = found(*seed, 100, |run| if run < 88 { 0.0 } else { down });
        found.steps.iter().any(|step| step.earliest <= 88 && 88 <= step.latest && step.size < 0.0)
    };
    let count = (0..STEPPED).filter(is_found).count();
    assert!(count * 100 >= STEPPED as usize * 85, "{count} of {STEPPED}");
}

#[test]
fn a_step_of_a_tenth_is_found_within_three_runs_in_nearly_all() {
    for size in [0.9f64.ln(), 1.1f64.ln()] {
        let is_found = |seed: &u64| {
            let found = found(*seed, 100, |run| if run < 97 { 0.0 } else { size });
            found.steps.iter().any(|step| step.at.abs_diff(97) <= 1 && step.size.signum() == size.signum())
        };
        let count = (0..STEPPED).filter(is_found).count();
        // 95 of 100 are to be found; so few series may have three less.
        assert!(count * 100 >= STEPPED as usize * 90, "{count} of {STEPPED} of {size}");
    }
}

#[test]
fn a_drift_is_told_and_no_step() {
    let drifting = |seed: u64| found(seed, 100, |run| -0.06 * run as f64 / 99.0);
    let told = (0..20).filter(|seed| {
        let found = drifting(*seed);
        let holds = |drift: &Drift| drift.interval.from <= -0.06 && -0.06 <= drift.interval.to;
        found.steps.is_empty() && found.drift.as_ref().is_some_and(holds)
    });
    assert!(told.count() >= 17);
}

#[test]
fn the_smallest_step_is_found_about_nine_times_in_ten() {
    let noise = 0.015;
    for (before, after) in [(88, 12), (28, 12), (10, 10)] {
        let size = smallest(noise, before, after, 0.05).unwrap();
        let is_found = |seed: &u64| {
            let found = found(*seed + 500, before + after, |run| if run < before { 0.0 } else { -size });
            found.steps.iter().any(|step| step.at.abs_diff(before) <= 6)
        };
        let count = (0..STEPPED).filter(is_found).count() as u64;
        let share = count * 100 / STEPPED;
        assert!((80..=99).contains(&share), "{share} of 100 of {size} with {before} and {after} runs");
    }
    assert_eq!((smallest(noise, 4, 20, 0.0), smallest(noise, 20, 2, 0.0)), (None, None));
}

#[test]
fn equal_figures_have_no_step_and_a_difference_below_their_noise_is_none() {
    let equal = find(&[3.0; 50], 0.0005, 1);
    assert!(equal.steps.is_empty() && equal.drift.is_none() && equal.noise == 0.0005);
    let nearly: Vec<f64> = (0..50).map(|run| if run < 25 { 3.0 } else { 3.0004 }).collect();
    assert!(find(&nearly, 0.0005, 1).steps.is_empty());
    for few in [&[][..], &[1.0], &[1.0, 2.0, 3.0]] {
        assert!(find(few, 0.1, 1).steps.is_empty());
    }
}

#[test]
fn two_steps_and_the_runs_between_them_are_found() {
    let found = found(3, 120, |run| if (40..70).contains(&run) { -0.1 } else { 0.0 });
    let places: Vec<usize> = found.steps.iter().map(|step| step.at).collect();
    assert_eq!((places, found.segments.len()), (vec![40, 70], 3));
    assert!((found.segments[1].level + 0.1).abs() < 0.02, "{:?}", found.segments);
    let interval = found.steps[0].interval.unwrap();
    assert!(interval.from <= -0.1 && -0.1 <= interval.to, "{interval:?}");
}

#[test]
fn disturbed_runs_are_named() {
    let mut figures = history(1, 30, |_| 0.0);
    figures[4] = -0.4;
    figures[20] = -0.4;
    let disturbed = find(&figures, 0.0005, 1).disturbed;
    assert!(disturbed[4] && disturbed[20] && disturbed.iter().filter(|is| **is).count() <= 4);
}

/// As many as a test has time for; `examples/history_series.rs` makes a thousand of each kind.
const SERIES: u64 = 300;
const STEPPED: u64 = 60;

//! What a bound says of imaginary servers whose change is known: a gate must not pass what it could not see.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use dnsdyno_plan::expect::ChangeBound;

use super::equals::Noise;
use super::figure::Figure;
use super::figures::{Kind, Row};
use super::*;

/// What `p99 +10%` says of so many runs on each side, of which the candidate is slower by this factor.
fn state_of(
    noise: Noise,
    runs: usize,
    slower: f64,
    random: &mut Xoshiro256PlusPlus,
    seed: u64,
) -> BoundState {
    let mut figure =
        |slower: f64| Figure { value: 1e6 * slower * noise.draw(random).exp(), beyond_timeout: false };
    let figures = (0..2 * runs).map(|i| figure(if i < runs { 1.0 } else { slower })).collect();
    judged(Row::exact("p99", Kind::Duration, true, figures), runs, seed).1
}

/// The verdict on a metric, and what a bound of 10 % more says of it.
fn judged(row: Row, runs: usize, seed: u64) -> (Compared, BoundState) {
    let bound = ChangeBound::parse(&format!("{} +10%", row.name)).unwrap();
    let settings = Settings { seed, resamples: 400, ..Settings::default() };
    let metrics = Design { runs, past: None, settings: &settings }.metrics(vec![row]);
    let state = bounds::judge(&bound, &metrics, false).state;
    (metrics.into_iter().next().unwrap(), state)
}

fn kept(noise: Noise, runs: usize, slower: f64) -> usize {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20);
    (0..SETS).filter(|seed| state_of(noise, runs, slower, &mut random, *seed) == BoundState::Kept).count()
}

#[test]
fn a_fifth_more_is_never_kept_below_a_tenth_by_four_runs() {
    for noise in [Noise::Normal, Noise::Disturbed, Noise::Steps] {
        let kept = kept(noise, 4, 1.2);
        assert!(kept <= SETS as usize / 100, "{noise:?}: {kept} of {SETS}");
    }
}

#[test]
fn what_is_just_beyond_the_bound_is_kept_no_more_often_than_the_interval_misses() {
    for runs in [4, 10] {
        let kept = kept(Noise::Normal, runs, 1.101);
        assert!(kept <= SETS as usize / 20, "{runs} runs: {kept} of {SETS}");
    }
}

#[test]
fn without_a_change_enough_runs_keep_the_bound_and_few_noisy_ones_do_not_judge_it() {
    let of_ten = kept(Noise::Normal, 10, 1.0);
    assert!(of_ten >= SETS as usize * 9 / 10, "{of_ten} of {SETS}");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let states: Vec<_> = (0..SETS).map(|seed| state_of(Noise::Normal, 4, 1.0, &mut random, seed)).collect();
    let reaches =
        |state: &&BoundState| matches!(state, BoundState::NotJudged(NotJudged::ReachesBeyond { .. }));
    assert!(states.iter().filter(reaches).count() >= SETS as usize / 4, "{states:?}");
    assert!(!states.contains(&BoundState::Exceeded));
}

/// Ten against ten runs with a noise of 1 %: the candidate is a fifth slower, and `ours` of that may be the
/// generator's.
fn slower_with_a_part_of_ours(ours: f64) -> Row {
    let noise = |i: usize| 1.0 + (i % 5) as f64 * 0.005;
    let at = |value| Figure { value, beyond_timeout: false };
    let figures = (0..20).map(|i| at(1e6 * noise(i) * if i < 10 { 1.0 } else { 1.2 })).collect();
    let mut row = Row::exact("p99", Kind::Duration, true, figures);
    (10..20).for_each(|i| row.without_ours[i] -= ours * 1e6);
    row
}

#[test]
fn what_our_part_can_explain_is_not_called_the_servers() {
    let (certain, state) = judged(slower_with_a_part_of_ours(0.05), 10, 1);
    assert_eq!((certain.verdict, state), (Verdict::Worse, BoundState::Exceeded));
    let (certain, state) = judged(slower_with_a_part_of_ours(0.15), 10, 1);
    assert_eq!((certain.verdict, state), (Verdict::Worse, BoundState::NotJudged(NotJudged::MayBeOurs)));
    let (ours, state) = judged(slower_with_a_part_of_ours(0.25), 10, 1);
    assert_eq!((ours.verdict, state), (Verdict::MayBeOurs, BoundState::NotJudged(NotJudged::MayBeOurs)));
    assert_eq!(Outcome::of(&[ours], &Settings::default()), Outcome::Undecided);
}

#[test]
fn a_part_of_ours_in_the_baseline_may_hide_a_change() {
    let noise = |i: usize| 1.0 + (i % 5) as f64 * 0.005;
    let figures = (0..20).map(|i| Figure { value: 1e6 * noise(i), beyond_timeout: false }).collect();
    let mut row = Row::exact("p99", Kind::Duration, true, figures);
    assert_eq!(judged(row.clone(), 10, 1).1, BoundState::Kept);
    (0..10).for_each(|i| row.without_ours[i] *= 0.8);
    let (hidden, state) = judged(row, 10, 1);
    assert_eq!((hidden.verdict, state), (Verdict::NoDifference, BoundState::NotJudged(NotJudged::MayBeOurs)));
}

#[test]
fn beyond_the_timeout_on_both_sides_is_not_the_same() {
    let beyond = |is_beyond: [bool; 2]| {
        let figure = |i: usize| match is_beyond[usize::from(i >= 10)] {
            true => Figure { value: 5e9, beyond_timeout: true },
            false => Figure { value: 1e6, beyond_timeout: false },
        };
        let row = Row::exact("p99", Kind::Duration, true, (0..20).map(figure).collect());
        let (metric, state) = judged(row, 10, 1);
        (metric.verdict, state)
    };
    let not_compared = BoundState::NotJudged(NotJudged::BeyondTimeout);
    assert_eq!(beyond([true, true]), (Verdict::NotCompared, not_compared));
    assert_eq!(beyond([false, true]), (Verdict::Worse, BoundState::Exceeded));
    assert_eq!(beyond([true, false]), (Verdict::Better, BoundState::Kept));
    let row = |name: &str| {
        let figures = vec![Figure { value: 5e9, beyond_timeout: true }; 20];
        judged(Row::exact(name, Kind::Duration, true, figures), 10, 1).0
    };
    assert_eq!(Outcome::of(&[row("p99")], &Settings::default()), Outcome::Undecided);
}

#[test]
fn some_runs_beyond_the_timeout_leave_a_bound_without_an_end() {
    let figure = |i: usize| match i >= 14 {
        true => Figure { value: 5e9, beyond_timeout: true },
        false => Figure { value: 1e6, beyond_timeout: false },
    };
    let row = Row::exact("p99", Kind::Duration, true, (0..20).map(figure).collect());
    let state = judged(row, 10, 1).1;
    assert!(
        matches!(state, BoundState::Exceeded | BoundState::NotJudged(NotJudged::NoEnd)),
        "six of ten are beyond the timeout: {state:?}"
    );
}

#[test]
fn no_loss_in_a_few_queries_says_nothing_of_a_small_one() {
    let state = |queries: u64| {
        let mut row =
            Row::exact("loss", Kind::Share, true, vec![Figure { value: 0.0, beyond_timeout: false }; 20]);
        row.wholes = vec![queries; 20];
        let settings = Settings::default();
        let metrics = Design { runs: 10, past: None, settings: &settings }.metrics(vec![row]);
        bounds::judge(&ChangeBound::parse("loss +0.1%").unwrap(), &metrics, false).state
    };
    assert_eq!(state(1_000), BoundState::Kept, "ten of 10,000 would be lost");
    // Of 1,000 queries up to 3 may be lost: 3,000 have as many at the bound.
    let needed = Needed::TimesTheQueries(3);
    assert_eq!(state(100), BoundState::NotJudged(NotJudged::ReachesBeyond { needed }), "one of 1,000");
}

/// Sets of runs.
const SETS: u64 = 300;

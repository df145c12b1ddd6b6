//! Whole nights over imaginary hosts: what each parameter does is known.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::imaginary::{Effect, TRIAL_NS, World};
use super::*;

/// Twenty parameters; some counters move all the same.
fn decoys(count: usize) -> Vec<Effect> {
    (0..count).map(|at| Effect::None { moves: at.is_multiple_of(2) }).collect()
}

/// Three stages in a row behind each other among decoys, at places drawn by the seed; with these places, the narrowest
/// first.
fn planted(seed: u64) -> (World, Vec<usize>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut effects = decoys(20);
    let mut places: Vec<usize> = Vec::new();
    while places.len() < 3 {
        let at = random.random_range(0..effects.len());
        if !places.contains(&at) {
            places.push(at);
        }
    }
    for (at, capacity) in places.iter().zip([4_000.0, 6_000.0, 9_000.0]) {
        effects[*at] = Effect::Stage(vec![capacity, capacity * 4.0, capacity * 16.0]);
    }
    (World::new(effects, seed), places)
}

#[test]
fn of_a_hundred_empty_nights_five_at_most_report_a_gain() {
    let mut bounds = Vec::new();
    let gains = (0..100).filter(|seed| {
        let mut world = World { drift: 0.02, ..World::new(decoys(20), *seed) };
        let answer = world.answer(world.night(*seed));
        match answer.verdict {
            Verdict::Nothing { beyond } => {
                bounds.push(beyond.unwrap());
                false
            }
            _ => true,
        }
    });
    let gains = gains.count();
    assert!(gains <= 5, "{gains}");
    // And they say how small a gain they would have seen.
    assert!(crate::statistics::median(&mut bounds) < 0.06, "{bounds:?}");
}

#[test]
fn three_planted_bottlenecks_are_found_in_their_order_and_no_decoy_is_called_a_gain() {
    let (mut in_order, mut false_gains, mut trials, mut alone) = (0, 0, 0, 0);
    for seed in 0..100 {
        let (mut world, places) = planted(seed);
        let answer = world.answer(world.night(seed));
        let Verdict::Gains(gains) = &answer.verdict else { continue };
        let found: Vec<usize> = gains.parts.iter().map(|part| part.parameter).collect();
        in_order += u32::from(found == places);
        false_gains += found.iter().filter(|at| !places.contains(at)).count();
        (trials, alone) = (trials + answer.trials_made(), alone + answer.one_at_a_time * (answer.rounds + 1));
    }
    assert!(in_order >= 95, "{in_order} of 100");
    assert!(false_gains <= 2, "{false_gains}");
    assert!(trials * 3 <= alone, "{trials} trials against {alone}");
}

#[test]
fn counters_that_account_for_what_is_not_answered_lead_to_the_bottlenecks_in_far_fewer_trials() {
    let (mut in_order, mut false_gains, mut trials, mut without) = (0, 0, 0, 0);
    for seed in 0..100 {
        let (mut world, places) = planted(seed);
        let (_, found_after) = world.answer_and_trials_of_finds(world.night(seed));
        without += found_after.get(2).unwrap_or(&400);
        let mut world = World { says_what_binds: true, ..planted(seed).0 };
        let (answer, found_after) = world.answer_and_trials_of_finds(world.night(seed));
        trials += found_after.get(2).unwrap_or(&400);
        let Verdict::Gains(gains) = &answer.verdict else { continue };
        let found: Vec<usize> = gains.parts.iter().map(|part| part.parameter).collect();
        in_order += u32::from(found == places);
        false_gains += found.iter().filter(|at| !places.contains(at)).count();
    }
    assert!(in_order >= 95 && false_gains <= 2, "{in_order} of 100, {false_gains} false");
    assert!(trials * 5 < without * 3, "{trials} trials against {without}");
}

#[test]
fn gains_lie_inside_their_intervals() {
    let (mut held, mut all) = (0, 0);
    for seed in 0..1_000 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xabc);
        let mut effects = decoys(12);
        effects[3] = Effect::Factor(1.0 + 0.2 * random.random::<f64>());
        effects[7] = Effect::Factor(1.0 + 0.1 * random.random::<f64>());
        effects[9] = Effect::Stage(vec![12_000.0, 40_000.0]);
        let mut world = World { offered: 100_000.0, ..World::new(effects, seed) };
        let answer = world.answer(world.night(seed));
        let Verdict::Gains(gains) = answer.verdict else { continue };
        let truth = world.truth(&gains.changes);
        let mut see = |gain: Gain, true_gain: f64| {
            all += 1;
            held += u32::from(gain.from <= true_gain && true_gain <= gain.to);
        };
        see(gains.together, truth / world.truth(&Changes::new()) - 1.0);
        for part in &gains.parts {
            let mut without = gains.changes.clone();
            without.remove(&part.parameter);
            see(part.adds.unwrap(), truth / world.truth(&without) - 1.0);
        }
    }
    assert!(all > 2_000, "{all} intervals");
    assert!(f64::from(held) >= 0.93 * f64::from(all), "{held} of {all}");
}

#[test]
fn what_is_worse_or_does_not_run_is_said_and_is_no_part_of_the_answer() {
    let mut effects = decoys(8);
    effects[1] = Effect::Factor(0.7);
    effects[2] = Effect::Fails;
    effects[4] = Effect::Factor(1.3);
    let mut world = World { offered: 100_000.0, ..World::new(effects, 5) };
    let answer = world.answer(world.night(5));
    let Verdict::Gains(gains) = &answer.verdict else { panic!("{answer:#?}") };
    assert_eq!(gains.parts.iter().map(|part| part.parameter).collect::<Vec<_>>(), [4]);
    // Two steps of 30 %.
    assert!(gains.together.from < 0.69 && 0.69 < gains.together.to, "{gains:#?}");
    assert!(matches!(answer.rows[2].state, RowState::Fails(_)), "{:?}", answer.rows[2]);
    assert!(matches!(answer.rows[1].state, RowState::Worse | RowState::NoGain), "{:?}", answer.rows[1]);
    assert_eq!(answer.rows[3].state, RowState::NoEffectPossible);
    assert!(gains.memory_bytes.is_some_and(|bytes| bytes > 0));
}

#[test]
fn what_a_diagnosis_has_named_is_compared_first() {
    let (mut world, places) = planted(7);
    let mut night = world.night(7);
    night.parameters[places[0]].is_first = true;
    let answer = world.answer(night);
    let Verdict::Gains(gains) = &answer.verdict else { panic!("{answer:#?}") };
    assert_eq!(gains.parts.iter().map(|part| part.parameter).collect::<Vec<_>>(), places);
    // One that does nothing ends nothing.
    let mut night = world.night(8);
    night.parameters[(places[0] + 1) % 20].is_first = true;
    let Verdict::Gains(gains) = world.answer(night).verdict else { panic!() };
    assert_eq!(gains.parts.iter().map(|part| part.parameter).collect::<Vec<_>>(), places);
}

#[test]
fn what_was_worse_behind_a_bottleneck_is_tried_again_where_that_is_gone() {
    let mut found = 0;
    for seed in 0..20 {
        // Few: each is compared on the first base.
        let mut effects = decoys(3);
        effects[0] = Effect::Stage(vec![5_000.0, 15_000.0]);
        effects[1] = Effect::Behind(0, [0.8, 1.2]);
        let mut world = World::new(effects, seed);
        let Verdict::Gains(gains) = world.answer(world.night(seed)).verdict else { continue };
        let parts: Vec<usize> = gains.parts.iter().map(|part| part.parameter).collect();
        found += u32::from(parts == [0, 1]);
    }
    assert!(found >= 15, "{found} of 20");
}

#[test]
fn a_limit_that_is_far_too_low_is_found_although_its_next_step_does_not_gain() {
    let mut found = 0;
    for seed in 0..20 {
        let mut effects = decoys(12);
        effects[5] = Effect::Stage(vec![6_000.0, 6_040.0, 12_000.0]);
        let mut world = World::new(effects, seed);
        let answer = world.answer(world.night(seed));
        let Verdict::Gains(gains) = &answer.verdict else { continue };
        let parts: Vec<_> = gains.parts.iter().map(|part| (part.parameter, part.value)).collect();
        found += u32::from(parts == [(5, 1)]);
    }
    assert!(found >= 17, "{found} of 20");
}

#[test]
fn a_load_that_the_server_answers_shows_nothing_and_it_says_so() {
    let mut world = World { offered: 10_000.0, ..World::new(decoys(5), 1) };
    assert_eq!(world.answer(world.night(1)).verdict, Verdict::NotOverloaded);
    // The last bottleneck is gone: the gain may be greater than this load shows.
    let mut effects = decoys(5);
    effects[0] = Effect::Stage(vec![5_000.0, 90_000.0]);
    let mut world = World { offered: 10_000.0, ..World::new(effects, 1) };
    let Verdict::Gains(gains) = world.answer(world.night(1)).verdict else { panic!() };
    assert!(gains.is_at_least);
}

#[test]
fn a_night_ends_in_its_time_and_says_what_was_not_tried() {
    for trials in [3, 20, 45, 80, 150] {
        let (mut world, _) = planted(4);
        let night = Night { lasts_ns: trials * TRIAL_NS, ..world.night(4) };
        let answer = world.answer(night);
        assert!(u64::from(answer.trials_made()) <= trials + 1, "{} of {trials}", answer.trials_made());
        assert!(
            trials > 80 || answer.notes.iter().any(|note| note.contains("the time was over")),
            "{trials}"
        );
    }
}

/// The answer of a night whose trials show what `instead` says, or what they do in the world.
fn answer_where(world: &mut World, mut tuner: Tuner, instead: impl Fn(&Trial) -> Option<Shown>) -> Answer {
    loop {
        match tuner.next() {
            Next::Done(answer) => return *answer,
            Next::Trial(trial) => {
                let shown = instead(&trial).unwrap_or_else(|| world.trial(&trial.changes));
                tuner.learn(&shown, TRIAL_NS);
            }
            Next::Disturbed(why) => panic!("{why}"),
        }
    }
}

#[test]
fn what_cannot_be_set_is_left_out_and_condemns_nothing_else() {
    // Few are compared, many screened.
    for count in [3, 12] {
        let mut effects = decoys(count);
        effects[0] = Effect::NotSet;
        effects[1] = Effect::Factor(1.3);
        effects[2] = Effect::NotSet;
        let mut world = World { offered: 100_000.0, ..World::new(effects, 3) };
        let answer = world.answer(world.night(3));
        let Verdict::Gains(gains) = &answer.verdict else { panic!("{answer:#?}") };
        assert_eq!(gains.parts.iter().map(|part| part.parameter).collect::<Vec<_>>(), [1]);
        for (at, row) in answer.rows.iter().enumerate() {
            assert_eq!(matches!(row.state, RowState::NotSet(_)), at == 0 || at == 2, "{at}: {row:?}");
            assert!(!matches!(row.state, RowState::Fails(_)), "{at}: {row:?}");
        }
    }
    let mut world = World::new(vec![Effect::NotSet; 8], 3);
    let answer = world.answer(world.night(3));
    assert_eq!(answer.verdict, Verdict::Nothing { beyond: None });
    assert!(answer.rows.iter().all(|row| matches!(row.state, RowState::NotSet(_))), "{answer:#?}");
}

#[test]
fn what_could_be_set_once_and_cannot_any_more_is_no_part_of_the_answer() {
    let mut effects = decoys(2);
    effects[0] = Effect::Stage(vec![5_000.0, 15_000.0]);
    let mut world = World::new(effects, 2);
    let mut tuner = Tuner::new(world.night(2));
    let shown = Shown::NotSet(vec![(0, "another one holds it".to_owned())]);
    while tuner.found_so_far().is_empty() {
        let Next::Trial(trial) = tuner.next() else { panic!() };
        tuner.learn(&world.trial(&trial.changes), TRIAL_NS);
    }
    let answer =
        answer_where(&mut world, tuner, |trial| trial.changes.contains_key(&0).then(|| shown.clone()));
    assert!(matches!(answer.rows[0].state, RowState::NotSet(_)), "{answer:#?}");
    assert!(matches!(answer.verdict, Verdict::Nothing { .. }), "{answer:#?}");
}

#[test]
fn what_was_found_stays_where_its_next_step_cannot_be_set() {
    let mut effects = decoys(2);
    effects[0] = Effect::Factor(1.3);
    let mut world = World { offered: 100_000.0, ..World::new(effects, 2) };
    let tuner = Tuner::new(world.night(2));
    let not_set = || Shown::NotSet(vec![(0, "it is too large".to_owned())]);
    let answer = answer_where(&mut world, tuner, |trial| (trial.changes.get(&0) == Some(&1)).then(not_set));
    let Verdict::Gains(gains) = &answer.verdict else { panic!("{answer:#?}") };
    assert_eq!(gains.changes, [(0, 0)].into());
}

#[test]
fn what_is_in_doubt_is_not_said_not_to_run() {
    for count in [3, 12] {
        let mut effects = decoys(count);
        effects[0] = Effect::Doubtful;
        let mut world = World::new(effects, 3);
        let answer = world.answer(world.night(3));
        assert!(answer.rows.iter().all(|row| !matches!(row.state, RowState::Fails(_))), "{answer:#?}");
        if count == 3 {
            assert!(matches!(answer.rows[0].state, RowState::NoEffectPossible | RowState::Doubtful(_)));
        }
    }
}

#[test]
fn a_gain_whose_confirmation_is_in_doubt_is_said_and_not_denied() {
    let mut effects = decoys(2);
    effects[0] = Effect::Factor(1.5);
    let mut world = World { offered: 100_000.0, ..World::new(effects, 2) };
    let tuner = Tuner::new(world.night(2));
    let doubtful = || Shown::Doubtful("the generator was the limit".to_owned());
    let is_of_change = |trial: &Trial| trial.phase == Phase::Confirm && !trial.changes.is_empty();
    let answer = answer_where(&mut world, tuner, |trial| is_of_change(trial).then(doubtful));
    let Verdict::NotConfirmed { changes, why } = &answer.verdict else { panic!("{answer:#?}") };
    assert!(changes.contains_key(&0) && why.contains("the generator was the limit"), "{why}");
    assert_eq!(answer.rows[0].state, RowState::NotConfirmed);
}

#[test]
fn a_base_that_has_counted_before_ends_a_night_until_it_goes_on() {
    let (mut world, _) = planted(1);
    let mut tuner = Tuner::new(world.night(1));
    let mut learn = |tuner: &mut Tuner| {
        let Next::Trial(trial) = tuner.next() else { panic!() };
        tuner.learn(&world.trial(&trial.changes), TRIAL_NS);
    };
    learn(&mut tuner);
    for _ in 0..4 {
        tuner.learn(&Shown::Doubtful("the host had no CPU".to_owned()), TRIAL_NS);
    }
    let Next::Disturbed(why) = tuner.next() else { panic!("{tuner:#?}") };
    assert!(why.contains("the host had no CPU"), "{why}");
    // A resume.
    tuner.go_on();
    learn(&mut tuner);
    assert!(matches!(tuner.next(), Next::Trial(_)));
}

#[test]
fn a_server_that_does_not_run_ends_the_night() {
    let (world, _) = planted(1);
    let mut tuner = Tuner::new(world.night(1));
    tuner.learn(&Shown::Failed("no such file".to_owned()), TRIAL_NS);
    let Next::Done(answer) = tuner.next() else { panic!() };
    assert_eq!(answer.verdict, Verdict::NoBase { why: "no such file".to_owned() });
    // Trials in doubt are made again, a few times.
    let mut tuner = Tuner::new(world.night(1));
    for _ in 0..3 {
        tuner.learn(&Shown::Doubtful("the host had no CPU".to_owned()), TRIAL_NS);
        assert!(matches!(tuner.next(), Next::Trial(_)));
    }
    tuner.learn(&Shown::Doubtful("the host had no CPU".to_owned()), TRIAL_NS);
    assert!(matches!(tuner.next(), Next::Done(_)));
}

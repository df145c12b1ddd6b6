//! The schedule and what it makes of imaginary runs.

use std::collections::BTreeMap;

use dnsdyno_measure::{NotSentReason, Samples, Side, Warning, Watched, WatchedKind};
use dnsdyno_record::{Digest, ReadError, Sum};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};

use super::*;
use crate::compare::sample::{MADE, SECOND, SyntheticRun, run};
use crate::compare::{ComparedRun, Outcome as Compared, Settings};

/// Subjects, all compared with the first, under loads, five times each after one dropped run.
pub(super) fn design(subjects: usize, loads: usize) -> Design {
    let subject = |number: usize| Subject {
        name: format!("s{number}"),
        against: (number > 0).then_some(0),
        differs: String::new(),
    };
    let strictness = Strictness { steady_permille: Some(50), any_answer: false, keeps_doubtful: false };
    let load = |number: usize| LoadOf {
        name: format!("l{number}"),
        kind: LoadKind::Run,
        strictness,
        lasts_ns: Some(2 * SECOND),
        on: None,
        has_course: false,
        repeats: 5,
        dropped: 1,
    };
    Design {
        subjects: (0..subjects).map(subject).collect(),
        loads: (0..loads).map(load).collect(),
        order: Order::InTurn,
        seed: 7,
        retries: 3,
        rest_ns: SECOND,
        columns: Vec::new(),
    }
}

/// With so many runs of each cell that count, after so many dropped ones.
pub(super) fn times(dropped: u32, repeats: u32, design: Design) -> Design {
    let loads = design.loads.into_iter().map(|load| LoadOf { dropped, repeats, ..load }).collect();
    Design { loads, ..design }
}

/// A run that counts.
fn good() -> Digest {
    run("run", MADE).digest
}

/// Makes runs until the end; `made` gives the record of each, or why it failed.
pub(super) fn carry_out(
    design: Design,
    mut made: impl FnMut(Cell, usize) -> Result<Digest, String>,
) -> Experiment {
    let mut experiment = Experiment::new(design);
    for number in 0..100_000 {
        let Next::Run { cell, .. } = experiment.next() else { return experiment };
        match made(cell, number) {
            Ok(digest) => experiment.learn(&digest),
            Err(why) => experiment.learn_failed(&why),
        };
    }
    panic!("an experiment has an end");
}

fn subjects_of(experiment: &Experiment) -> String {
    experiment.outcomes().iter().map(|(cell, _)| char::from(b'A' + cell.subject as u8)).collect()
}

#[test]
fn subjects_take_turns_and_the_first_run_of_each_is_dropped() {
    let experiment = carry_out(times(1, 2, design(2, 1)), |_, _| Ok(good()));
    assert_eq!(subjects_of(&experiment), "ABABAB");
    let outcomes: Vec<_> = experiment.outcomes().iter().map(|(_, outcome)| outcome.clone()).collect();
    let (dropped, counted) = (Outcome::Dropped, Outcome::Counted);
    assert_eq!(outcomes[..3], [dropped.clone(), dropped, counted.clone()]);
    assert!(outcomes[3..].iter().all(|outcome| *outcome == counted));
    assert_eq!((experiment.design().runs(), experiment.left()), (6, 0));
}

#[test]
fn subjects_alternate_under_one_load_before_the_next_one() {
    let experiment = carry_out(times(0, 1, design(2, 2)), |_, _| Ok(good()));
    let cells: Vec<_> = experiment.outcomes().iter().map(|(cell, _)| (cell.load, cell.subject)).collect();
    assert_eq!(cells, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn random_blocks_have_each_cell_once_in_an_order_of_their_own_and_the_same_for_a_seed() {
    let random = |seed| Design { order: Order::RandomBlocks, seed, ..times(1, 9, design(4, 2)) };
    let made = |seed| carry_out(random(seed), |_, _| Ok(good())).outcomes().to_vec();
    let (first, again, other) = (made(1), made(1), made(2));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let blocks: Vec<Vec<Cell>> =
        first.chunks(8).map(|block| block.iter().map(|(cell, _)| *cell).collect()).collect();
    assert_eq!(blocks.len(), 10);
    for block in &blocks {
        let design = random(1);
        let mut numbers: Vec<usize> = block.iter().map(|cell| design.number(*cell)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
    }
    assert!(blocks.windows(2).any(|pair| pair[0] != pair[1]));
}

/// A run of which this host has lost five queries.
fn with_warning() -> Digest {
    let mut digest = good();
    if let Some(sum) = &mut digest.sum {
        sum.tally.ends.answered -= 5;
        sum.tally.ends.not_sent.add(NotSentReason::NoRoute, 5);
        sum.warnings.push(Warning::SendsMissing { not_sent: 5, scheduled: 2_000 });
    }
    digest
}

#[test]
fn a_run_is_discarded_for_a_doubt_with_an_effect_and_for_no_other() {
    let strict = Strictness { steady_permille: Some(50), any_answer: false, keeps_doubtful: false };
    let with = |change: fn(&mut Sum)| {
        let mut digest = good();
        digest.sum.as_mut().into_iter().for_each(change);
        doubts_of(&digest, strict)
    };
    let late = Warning::SendsLate { p99_lateness_ns: 2_000_000, longest_ns: 9_000_000 };
    let mut sends_late = good();
    sends_late.sum.as_mut().unwrap().notes.push(late);
    assert_eq!(doubts_of(&sends_late, strict), []);
    // Packets that no query has missed.
    assert_eq!(with(|sum| sum.warnings.push(Warning::SocketDrops { packets: 3, timed_out: 0 })), []);
    let lost = with(|sum| {
        sum.tally.ends.answered -= 3;
        sum.tally.ends.timed_out += 3;
        sum.warnings.push(Warning::SocketDrops { packets: 3, timed_out: 3 });
    });
    assert_eq!(lost, [Doubt::Unsure("socket drops".to_owned())]);
    let behind = Warning::SendsBehind { behind_ns: SECOND, schedule_ns: 2 * SECOND, connection_waits: 0 };
    let mut slow = good();
    slow.sum.as_mut().unwrap().warnings.push(behind);
    assert_eq!(doubts_of(&slow, strict)[0].to_string(), "in doubt: sends behind");
}

/// A run in which half of the queries were sent 5 ms late, all of them one after the other.
fn with_late_sends() -> Digest {
    let mut digest = good();
    let sum = digest.sum.as_mut().unwrap();
    (0..1_000).for_each(|_| {
        sum.tally.lateness.record(5_000_000);
        sum.tally.own_delay.record(5_000_000);
        sum.tally.response.record(5_200_000);
    });
    digest
}

#[test]
fn percentiles_that_may_be_ours_are_marked_and_their_runs_count() {
    let experiment =
        carry_out(design(2, 1), |cell, _| Ok(if cell.subject == 0 { good() } else { with_late_sends() }));
    assert!(experiment.outcomes().iter().all(|(_, outcome)| !matches!(outcome, Outcome::Discarded(_))));
    let found = results(&experiment, |number| {
        let mut run = read(number, &BTreeMap::new())?;
        if number % 2 == 0 {
            run.run.digest.sum = with_late_sends().sum;
        }
        Ok(run)
    })
    .unwrap();
    let is_wide = |cell: usize| found.cells[cell].percentiles.values[3].unwrap().is_wide;
    assert_eq!([is_wide(0), is_wide(1)], [false, true]);
    assert!(found.differences[0].found.is_ok(), "they are compared");
}

#[test]
fn a_run_in_doubt_is_discarded_with_its_reason_and_made_again_at_the_end_of_its_round() {
    // The third run is the first that counts, of A.
    let experiment = carry_out(times(1, 2, design(3, 1)), |_, number| {
        Ok(if number == 3 { with_warning() } else { good() })
    });
    assert_eq!(subjects_of(&experiment), "ABCABCAABC");
    let (cell, outcome) = &experiment.outcomes()[3];
    let Outcome::Discarded(doubts) = outcome else { panic!("{outcome:?}") };
    assert!(matches!(&doubts[..], [Doubt::Unsure(_)]), "{doubts:?}");
    assert_eq!(cell.subject, 0);
    let counted = |subject: usize| {
        let is_counted =
            |(cell, outcome): &&(Cell, Outcome)| cell.subject == subject && *outcome == Outcome::Counted;
        experiment.outcomes().iter().filter(is_counted).count()
    };
    assert_eq!([0, 1, 2].map(counted), [2, 2, 2]);
}

#[test]
fn a_run_in_doubt_counts_where_the_experiment_says_so_and_that_is_noted() {
    let mut kept = times(1, 2, design(1, 1));
    kept.loads.iter_mut().for_each(|load| load.strictness.keeps_doubtful = true);
    let experiment = carry_out(kept, |_, _| Ok(with_warning()));
    assert_eq!(experiment.outcomes().len(), 3);
    let found = results(&experiment, |number| {
        let mut run = read(number, &BTreeMap::new())?;
        run.run.digest = with_warning();
        Ok(run)
    })
    .unwrap();
    assert_eq!(found.cells[0].state, CellState::Complete);
    assert!(
        found.notes[0].starts_with("the rate or loss of 2 of the runs that count is in doubt"),
        "{:?}",
        found.notes
    );
}

#[test]
fn a_cell_whose_runs_are_all_in_doubt_is_given_up_after_its_retries_and_the_others_go_on() {
    let experiment = carry_out(design(2, 1), |cell, _| match cell.subject {
        0 => Ok(good()),
        _ => Err("it died".to_owned()),
    });
    assert_eq!(subjects_of(&experiment), "ABBBBAAAAA");
    assert!(experiment.is_given_up(Cell { subject: 1, load: 0 }));
    let found = results(&experiment, |number| read(number, &BTreeMap::new())).unwrap();
    assert_eq!(found.cells[0].state, CellState::Complete);
    assert_eq!((found.cells[1].state, found.cells[1].answered), (CellState::NotMeasured, None));
    assert_eq!(found.discarded.len(), 4);
    assert_eq!(found.discarded[0].doubts, [Doubt::Failed("it died".to_owned())]);
    assert_eq!(found.differences[0].found.as_ref().unwrap_err(), "one of them has no runs that count");
}

#[test]
fn a_cell_in_doubt_throughout_shows_its_figures_and_is_not_compared() {
    let doubtful = |cell: Cell| if cell.subject == 1 { with_warning() } else { good() };
    let experiment = carry_out(design(2, 1), |cell, _| Ok(doubtful(cell)));
    let found = results(&experiment, |number| read(number, &BTreeMap::new())).unwrap();
    let cell = &found.cells[1];
    // The first run need not be good.
    assert_eq!((cell.state, cell.runs.len()), (CellState::InDoubt, 4));
    assert_eq!(cell.answered.unwrap().median.value, 1_000.0);
    assert!(found.differences[0].found.is_err());
}

#[test]
fn wrong_answers_void_a_run_even_a_first_one() {
    let mut wrong = good();
    if let Some(sum) = &mut wrong.sum {
        sum.tally.rcodes = Default::default();
        sum.tally.rcodes.add(0, 1_900);
        sum.tally.rcodes.add(5, 100);
    }
    let experiment =
        carry_out(design(1, 1), |_, number| Ok(if number == 0 { wrong.clone() } else { good() }));
    let Outcome::Discarded(doubts) = &experiment.outcomes()[0].1 else { panic!("it counts") };
    assert_eq!(doubts[0].to_string(), "void: 5.0 % of the answers are REFUSED");
    assert_eq!(experiment.outcomes().len(), 7);
    let any = Strictness { any_answer: true, steady_permille: None, keeps_doubtful: false };
    assert_eq!(doubts_of(&wrong, any), []);
}

fn doubts_of(digest: &Digest, strictness: Strictness) -> Vec<Doubt> {
    doubts(digest, strictness)
}

#[test]
fn a_run_that_is_not_steady_or_was_stolen_from_is_in_doubt() {
    let steady = Strictness { steady_permille: Some(50), any_answer: false, keeps_doubtful: false };
    let mut digest = Digest::new(good().header);
    for (index, lost) in [(0, 0), (1, 0), (2, 100), (3, 0)] {
        digest.interval(&crate::compare::sample::second(index, SyntheticRun { lost, ..MADE }));
    }
    digest.sum(good().sum.as_ref().unwrap());
    let found = doubts_of(&digest, steady);
    assert!(matches!(found[..], [Doubt::NotSteady(share)] if (0.1..0.11).contains(&share)), "{found:?}");
    assert_eq!(doubts_of(&digest, Strictness { steady_permille: None, ..steady }), []);

    let mut stolen = good();
    let counters = [("cpu0.steal_ns", 30), ("cpu0.user_ns", 970), ("cpu.steal_ns", 500)];
    let counters = counters.map(|(name, ns)| (name.to_owned(), ns)).into();
    if let Some(sum) = &mut stolen.sum {
        sum.watched = vec![Some(dnsdyno_measure::Samples { counters, ..Default::default() })];
    }
    assert_eq!(doubts_of(&stolen, steady), [Doubt::Steal(0.03)]);
}

#[test]
fn a_resumed_experiment_goes_on_as_if_it_had_not_been_stopped() {
    let made = |cell: Cell, number: usize| match (cell.subject, number % 5) {
        (1, 3) => Err("it died".to_owned()),
        (_, 1) => Ok(with_warning()),
        _ => Ok(good()),
    };
    let random = Design { order: Order::RandomBlocks, retries: 9, ..design(3, 2) };
    let whole = carry_out(random.clone(), made);
    let mut stopped = Experiment::new(random);
    for number in 0..whole.outcomes().len() {
        // Made anew from what was learned.
        let mut resumed = Experiment::new(stopped.design().clone());
        for (number, (cell, _)) in stopped.outcomes().iter().enumerate() {
            match made(*cell, number) {
                Ok(digest) => resumed.learn(&digest),
                Err(why) => resumed.learn_failed(&why),
            };
        }
        assert_eq!(resumed.next(), stopped.next());
        let Next::Run { cell, .. } = resumed.next() else { panic!("it ends early") };
        match made(cell, number) {
            Ok(digest) => resumed.learn(&digest),
            Err(why) => resumed.learn_failed(&why),
        };
        stopped = resumed;
    }
    assert_eq!(stopped.next(), Next::Done);
    assert_eq!(stopped.outcomes(), whole.outcomes());
}

/// The record of a run: the one of this number, or a good one.
fn read(number: u32, made: &BTreeMap<u32, SyntheticRun>) -> Result<ReadRun, ReadError> {
    let made = made.get(&number).copied().unwrap_or(MADE);
    Ok(as_read(run(&format!("{number:03}"), SyntheticRun { started_s: number.into(), ..made })))
}

/// A run as the results need it, of two seconds: too few for a wobble.
fn as_read(run: ComparedRun) -> ReadRun {
    let seconds = Seconds::new(&run.digest.header);
    ReadRun { run, seconds }
}

/// An experiment of equal servers whose runs differ by 5 % noise and by a slow change of the host.
pub(super) fn of_equals(seed: u64, loads: usize, faster: f64) -> ExperimentResult {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let noise = Normal::new(0.0, 0.05).unwrap();
    let drift: f64 = random.random_range(-0.01..0.01);
    let mut made = BTreeMap::new();
    let experiment = carry_out(Design { seed, ..times(1, 6, design(2, loads)) }, |cell, number| {
        let subject = if cell.subject == 1 { faster } else { 1.0 };
        let slower = (noise.sample(&mut random) + drift * number as f64).exp() * subject;
        made.insert(number as u32 + 1, SyntheticRun { slower, ..MADE });
        Ok(run("run", SyntheticRun { slower, ..MADE }).digest)
    });
    results(&experiment, |number| read(number, &made)).unwrap()
}

#[test]
fn the_same_server_twice_differs_in_at_most_one_experiment_of_twenty() {
    let differs = |seed: &u64| {
        let found = of_equals(*seed, 2, 1.0);
        let outcomes: Vec<Compared> =
            found.differences.iter().map(|difference| difference.found.as_ref().unwrap().outcome).collect();
        assert_eq!(outcomes.len(), 2);
        outcomes.iter().any(|outcome| *outcome != Compared::NoDifference)
    };
    let wrong = (0..EXPERIMENTS).filter(differs).count() as u64;
    // One in twenty, with the chance of so many experiments: at 100, more than 10 are 1 in 100.
    assert!(wrong * 10 <= EXPERIMENTS, "{wrong} of {EXPERIMENTS}");
}

const EXPERIMENTS: u64 = 100;

#[test]
fn a_server_that_is_a_quarter_slower_is_found_under_each_load() {
    let found = of_equals(3, 2, 1.25);
    for difference in &found.differences {
        assert_eq!(difference.found.as_ref().unwrap().outcome, Compared::Worse);
    }
}

#[test]
fn several_loads_share_the_risk_of_a_false_alarm_and_so_need_more_runs() {
    let fewest = |family| Settings { family, ..Settings::default() }.fewest_runs();
    assert_eq!([1, 2, 5, 6, 18].map(fewest), [4, 5, 5, 6, 6]);
}

#[test]
fn servers_that_answer_with_other_codes_are_said_not_to_do_the_same_work() {
    let experiment = carry_out(design(2, 1), |_, _| Ok(good()));
    let unlike = results(&experiment, |number| {
        let mut run = read(number, &BTreeMap::new())?;
        // Even numbers are those of the second subject.
        if number % 2 == 0
            && let Some(sum) = &mut run.run.digest.sum
        {
            sum.tally.rcodes = Default::default();
            sum.tally.rcodes.add(3, 2_000);
        }
        Ok(run)
    })
    .unwrap();
    let said = unlike.notes.iter().any(|note| note.contains("NOERROR is s0 100.0 %, s1 0.0 %"));
    assert!(said, "{:?}", unlike.notes);
    let alike = results(&experiment, |number| read(number, &BTreeMap::new())).unwrap();
    assert!(!alike.notes.iter().any(|note| note.contains("answer alike")));
}

/// What a search may find.
fn found(doubt: Option<&str>) -> Found {
    let figure =
        FoundFigure { value: 4_830.0, unit: "qps".to_owned(), from: None, to: None, is_at_least: false };
    let answer = "capacity 4,830 qps".to_owned();
    Found { answer, figure: Some(figure), text: String::new(), doubt: doubt.map(str::to_owned) }
}

#[test]
fn a_search_has_its_own_repeats_and_its_answer_and_is_not_compared() {
    let mut mixed = design(2, 2);
    let search = mixed.loads.last_mut().unwrap();
    (search.kind, search.repeats, search.dropped) = (LoadKind::Search, 1, 0);
    assert_eq!((mixed.runs(), mixed.compared_loads()), (14, 1));
    let mut experiment = Experiment::new(mixed);
    let mut searches = 0;
    while let Some(kind) = experiment.next_kind() {
        match kind {
            LoadKind::Run => drop(experiment.learn(&good())),
            // The first one says nothing of its server, and is made again.
            _ => {
                searches += 1;
                let outcome = experiment.learn_found(found((searches == 1).then_some("its sends were late")));
                assert_eq!(outcome == Outcome::Counted, searches > 1, "{outcome:?}");
            }
        }
    }
    assert_eq!((searches, experiment.next(), experiment.left()), (3, Next::Done, 0));
    let found = results(&experiment, |number| read(number, &BTreeMap::new())).unwrap();
    let of_search: Vec<_> = found.cells.iter().filter(|cell| cell.cell.load == 1).collect();
    for cell in &of_search {
        assert_eq!((cell.state, cell.runs.len(), cell.found.len()), (CellState::Complete, 0, 1));
        assert_eq!(cell.found[0].1.answer, "capacity 4,830 qps");
    }
    assert_eq!(found.differences.len(), 1, "one load is compared");
    assert_eq!(found.discarded.len(), 1);
}

#[test]
fn the_cpu_time_of_the_server_is_told_for_each_answer_and_that_of_the_generator_is_not() {
    let of = |side: Side| {
        let mut digest = good();
        digest.header.watched = vec![Watched {
            kind: WatchedKind::Process,
            side,
            label: "nsd (7)".to_owned(),
            software: None,
            version: None,
            settings: BTreeMap::new(),
            unset: Vec::new(),
            missing: Vec::new(),
        }];
        let counters = BTreeMap::from([("cpu_ns".to_owned(), 30_000_000)]);
        digest.sum.as_mut().unwrap().watched = vec![Some(Samples { counters, ..Samples::default() })];
        RunFigures::of(1, &digest, &Seconds::new(&digest.header), &[]).cpu_ns
    };
    let answered = good().tally().ends.answered as f64;
    assert_eq!(of(Side::Server), Some(30e6 / answered));
    assert_eq!(of(Side::Generator), None);
}

#[test]
fn the_length_of_an_experiment_is_that_of_its_runs_rests_and_starts() {
    let design = design(2, 3);
    // 6 cells, 6 rounds; each a rest of 1 s, a start of 0.5 s and a run of 2 s.
    assert_eq!(design.runs(), 36);
    assert_eq!(design.lasts_ns(SECOND / 2), 36 * 7 * SECOND / 2);
}

#[test]
fn the_rate_asked_is_that_of_the_schedule_where_it_ends_within_a_second() {
    // Two intervals with 1,000 queries each; the last one is half over when the schedule ends.
    let cut = || run("cut", SyntheticRun { ends_before_ns: SECOND / 2, ..MADE });
    let experiment = carry_out(design(1, 1), |_, _| Ok(cut().digest));
    let found = results(&experiment, |_| Ok(as_read(cut()))).unwrap();
    let asked = found.cells[0].asked_qps.unwrap();
    assert!((asked - 2_000.0 / 1.5).abs() < 1e-6, "{asked}");
}

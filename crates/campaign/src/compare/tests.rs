//! Comparisons of synthetic runs whose difference is known.

use dnsdyno_plan::Draft;
use dnsdyno_plan::expect::{ChangeBound, ComparedMetric};
use dnsdyno_record::{Headline, Phase};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, Normal};

use super::figures::Row;
use super::sample::{MADE, SyntheticRun, header, run, run_of, steps};
use super::*;
use crate::statistics::permutation::smallest;

/// Runs of one side, each slower by its factor, started in turn with those of the other side.
fn side(name: &str, slower: &[f64]) -> Vec<ComparedRun> {
    let offset = u64::from(name == "b");
    (0..)
        .zip(slower)
        .map(|(i, slower)| {
            let made = SyntheticRun { slower: *slower, started_s: i * 2 + offset, ..MADE };
            run(&format!("{name}{i}"), made)
        })
        .collect()
}

/// Ten runs with a noise of 3 %.
const NOISE: [f64; 10] = [1.0, 1.03, 0.97, 1.01, 0.99, 1.04, 0.96, 1.02, 0.98, 1.0];

fn quick() -> Settings {
    Settings { resamples: 200, ..Settings::default() }
}

fn metric<'a>(comparison: &'a Comparison, name: &str) -> &'a Compared {
    comparison.metrics.iter().find(|metric| metric.name == name).unwrap()
}

#[test]
fn slower_runs_are_told_with_the_size_of_the_difference() {
    let found = compare(side("a", &NOISE), side("b", &NOISE.map(|x| x * 1.1)), &quick()).unwrap();
    assert_eq!(found.outcome, Outcome::Worse);
    assert_eq!(found.metrics[0].name, "p99");
    for name in ["p50", "p90", "p99", "avg"] {
        let metric = metric(&found, name);
        let change = metric.change.unwrap();
        let interval = change.interval.unwrap();
        assert_eq!(metric.verdict, Verdict::Worse, "{name}");
        assert!((change.estimate - 0.1).abs() < 0.01 && change.is_ratio, "{name}: {change:?}");
        assert!(interval.from > 0.05 && interval.to < 0.16, "{name}: {interval:?}");
    }
    for name in ["rate", "loss"] {
        let metric = metric(&found, name);
        assert!(metric.is_constant && metric.verdict == Verdict::NoDifference, "{metric:?}");
    }
    // 2,000 queries carry no p99.9.
    assert!(
        matches!(&found.notes[..], [Note::NotMeasured { metrics, .. }] if metrics == &["p99.9"]),
        "{:?}",
        found.notes
    );
    let reverse = compare(side("b", &NOISE.map(|x| x * 1.1)), side("a", &NOISE), &quick()).unwrap();
    assert_eq!(reverse.outcome, Outcome::Better);
}

#[test]
fn without_a_difference_the_runs_that_it_would_take_are_told() {
    let found = compare(side("a", &NOISE), side("b", &NOISE.map(|x| x * 1.01)), &quick()).unwrap();
    assert_eq!(found.outcome, Outcome::NoDifference);
    let change = found.metrics[0].change.unwrap();
    // With a spread of 2.7 %: sqrt(2 × (2.05 + 1.28)² / (10 − 1)) × 2.7 % = 4.3 %.
    assert!((0.035..0.05).contains(&change.shown.unwrap()), "{change:?}");
    assert!((200..400).contains(&change.runs_needed.unwrap()), "{change:?}");
}

#[test]
fn few_runs_show_nothing_and_say_so() {
    for runs in [1, 2, 3] {
        let found = compare(side("a", &NOISE[..runs]), side("b", &[2.0; 3][..runs]), &quick()).unwrap();
        assert_eq!((found.outcome, found.metrics[0].verdict), (Outcome::TooFew, Verdict::TooFew));
        assert_eq!(found.metrics[0].change.unwrap().interval, None);
    }
    assert!(smallest(FEWEST_RUNS, FEWEST_RUNS) <= FIRST_LEVEL && smallest(3, 3) > FIRST_LEVEL);
    let four = compare(side("a", &NOISE[..4]), side("b", &NOISE.map(|x| x * 2.0)[..4]), &quick()).unwrap();
    assert_eq!(four.outcome, Outcome::Worse);
    assert_eq!(metric(&four, "p50").verdict, Verdict::Worse);
}

#[test]
fn what_was_not_asked_alike_is_named_with_its_runs() {
    let mut candidate = side("b", &NOISE[..2]);
    candidate[1].digest.header.load = "2,000 queries/s for 2 s".into();
    candidate[1].plan = Draft::from_toml("edns-size = 1232\nserver = \"::2\"\nidle-timeout = \"30s\"").ok();
    candidate[0].plan = Draft::from_toml("seed = \"5\"\nidle-timeout = \"30000ms\"").ok();
    let mut baseline = side("a", &NOISE[..2]);
    baseline.iter_mut().for_each(|run| run.plan = Draft::from_toml("idle-timeout = \"0.5m\"").ok());
    let found = compare(baseline, candidate, &quick()).unwrap();
    let names: Vec<_> = found.unlike.iter().map(|unlike| unlike.what.as_str()).collect();
    assert_eq!(names, ["load", "edns-size"]);
    let labels = |runs: &[&str]| runs.iter().map(|run| (*run).to_owned()).collect::<Vec<_>>();
    let load = &found.unlike[0].values;
    assert_eq!(load[0], ("1,000 queries/s for 2 s".to_owned(), labels(&["a0", "a1", "b0"])));
    assert_eq!(load[1], ("2,000 queries/s for 2 s".to_owned(), labels(&["b1"])));
    let size = &found.unlike[1].values;
    assert_eq!(size[1], ("1232".to_owned(), labels(&["b1"])), "a number without a unit");
}

#[test]
fn a_side_that_only_refuses_is_not_better() {
    let refusing = |mut run: ComparedRun| {
        let tally = &mut run.digest.sum.as_mut().unwrap().tally;
        let answered = tally.rcodes.total();
        tally.rcodes = Default::default();
        tally.rcodes.add(5, answered);
        run
    };
    let faster = || side("b", &NOISE.map(|x| x * 0.2)).into_iter().map(refusing).collect::<Vec<_>>();
    let bounds = ["p99 +5%", "loss +1%"].map(|text| ChangeBound::parse(text).unwrap());
    let settings = Settings { fail_if: bounds.to_vec(), ..quick() };
    let found = compare(side("a", &NOISE), faster(), &settings).unwrap();
    assert_eq!(found.outcome, Outcome::Undecided);
    let not_judged = BoundState::NotJudged(NotJudged::OnlyRefusals);
    assert!(found.bounds.iter().all(|bound| bound.state == not_judged), "{:?}", found.bounds);
    let words = super::report::comparison(&found, 200).replace('\n', " ");
    assert!(words.contains("Undecided: every response of b0, "), "{words}");
    // Of two sides that both refuse, one may be faster.
    let both = compare(side("a", &NOISE).into_iter().map(refusing).collect(), faster(), &settings).unwrap();
    assert_eq!(both.outcome, Outcome::Better);
}

#[test]
fn each_aspect_of_a_header_is_compared() {
    type Change = fn(&mut dnsdyno_record::Header);
    let changes: [(&str, Change); 6] = [
        ("queries", |header| header.queries_hash = Some("f".into())),
        ("transport", |header| header.transport = "tcp".into()),
        ("timeout", |header| header.timeout_ns = 1),
        ("responses", |header| header.send_only = true),
        ("steps", |header| header.phases = steps()),
        // A load that a number of queries ends.
        ("steps", |header| header.phases = vec![Phase { to_ns: u64::MAX, ..steps()[0].clone() }]),
    ];
    for (what, change) in changes {
        let mut candidate = side("b", &NOISE[..1]);
        change(&mut candidate[0].digest.header);
        let runs = [side("a", &NOISE[..1]), candidate].concat();
        let found = alike::unlike(&runs.iter().collect::<Vec<_>>());
        assert_eq!(found.iter().map(|unlike| unlike.what.as_str()).collect::<Vec<_>>(), [what]);
    }
}

#[test]
fn the_same_run_twice_is_refused() {
    let twice = compare(side("a", &NOISE[..2]), side("a", &NOISE[..1]), &quick()).unwrap_err();
    assert_eq!(twice, CompareError::Twice { first: "runs/a0".into(), second: "runs/a0".into() });
    let nothing =
        compare(side("a", &NOISE[..2]), without_first(side("b", &NOISE[..1])), &quick()).unwrap_err();
    assert_eq!(nothing, CompareError::NoRuns { side: Side::Candidate });
}

#[test]
fn the_first_run_by_its_start_can_be_left_out() {
    let mut runs = side("a", &NOISE[..3]);
    runs.reverse();
    let labels: Vec<_> = without_first(runs).into_iter().map(|run| run.label).collect();
    assert_eq!(labels, ["runs/a2", "runs/a1"]);
}

#[test]
fn runs_of_one_side_after_those_of_the_other_are_noted() {
    let late = |i: u64| run(&format!("c{i}"), SyntheticRun { started_s: 100 + i, ..MADE });
    let found = compare(side("a", &NOISE[..2]), vec![late(0), late(1)], &quick()).unwrap();
    assert!(found.notes.contains(&Note::NotInterleaved { first: Side::Baseline }), "{:?}", found.notes);
    let in_turn = compare(side("a", &NOISE[..2]), side("b", &NOISE[..2]), &quick()).unwrap();
    assert!(!in_turn.notes.iter().any(|note| matches!(note, Note::NotInterleaved { .. })));
}

#[test]
fn a_run_without_its_end_or_with_a_doubtful_generator_counts_and_is_noted() {
    let mut baseline = side("a", &NOISE[..2]);
    baseline[0].digest.sum = None;
    let mut candidate = side("b", &NOISE[..2]);
    candidate[1].digest.sum.as_mut().unwrap().ended = dnsdyno_record::Ended::Interrupted;
    candidate[0].plan = None;
    let found = compare(baseline, candidate, &quick()).unwrap();
    for note in [
        Note::Incomplete { runs: vec!["a0".into()] },
        Note::EndedEarly { runs: vec!["b1".into()] },
        Note::NoPlan { run: "b0".into() },
    ] {
        assert!(found.notes.contains(&note), "{:?}", found.notes);
    }
    assert_eq!(found.baseline.len(), 2);
}

#[test]
fn lateness_is_no_doubt_about_a_comparison_and_the_ends_of_its_percentiles_count() {
    let late = |name: &str, by: f64, late_ns: u64| {
        let mut runs = side(name, &NOISE.map(|x| x * by));
        for run in &mut runs {
            let sum = run.digest.sum.as_mut().unwrap();
            sum.evidence.open_loop = true;
            sum.tally.lateness = dnsdyno_measure::Histogram::new();
            (0..2_000).for_each(|_| sum.tally.lateness.record(late_ns));
            sum.warnings =
                vec![dnsdyno_measure::Warning::SendsLate { p99_lateness_ns: late_ns, longest_ns: late_ns }];
        }
        runs
    };
    // p99 is 1.2 ms: a tenth more of it is 120 µs.
    let theirs = compare(late("a", 1.0, 1_000), late("b", 1.1, 10_000), &quick()).unwrap();
    assert_eq!(theirs.metrics[0].verdict, Verdict::Worse);
    assert!(!theirs.notes.iter().any(|note| matches!(note, Note::InDoubt { .. })), "{:?}", theirs.notes);
    let ours = compare(late("a", 1.0, 1_000), late("b", 1.1, 200_000), &quick()).unwrap();
    assert_eq!((ours.metrics[0].verdict, ours.outcome), (Verdict::MayBeOurs, Outcome::Undecided));
}

#[test]
fn a_server_that_answers_nothing_is_beyond_the_timeout_and_worse() {
    let dead = |i: u64| run(&format!("b{i}"), SyntheticRun { lost: MADE.rate, started_s: i * 2 + 1, ..MADE });
    let found = compare(side("a", &NOISE[..5]), (0..5).map(dead).collect(), &quick()).unwrap();
    assert_eq!(found.outcome, Outcome::Worse);
    let p99 = metric(&found, "p99");
    assert!(p99.candidate_median.beyond_timeout && p99.change.unwrap().at_least, "{p99:?}");
    let rate = metric(&found, "rate");
    assert_eq!((rate.candidate_median.value, rate.change.unwrap().is_ratio), (0.0, false));
    let loss = metric(&found, "loss");
    assert_eq!((loss.change.unwrap().estimate, loss.verdict), (1.0, Verdict::Worse));
}

#[test]
fn the_load_decides_what_is_judged_first() {
    let closed = |name: &str, rate: u64, i: u64| {
        let made = SyntheticRun { headline: Headline::Service, rate: rate + i, started_s: i, ..MADE };
        run(&format!("{name}{i}"), made)
    };
    let runs = |name: &str, rate: u64| (0..5).map(|i| closed(name, rate, i)).collect::<Vec<_>>();
    let found = compare(runs("a", 1_000), runs("b", 1_200), &quick()).unwrap();
    assert_eq!((found.metrics[0].name.as_str(), found.metrics[0].verdict), ("rate", Verdict::Better));
    let by = Settings { by: ComparedMetric::parse("p50").ok(), ..quick() };
    assert_eq!(compare(runs("a", 1_000), runs("b", 1_200), &by).unwrap().metrics[0].name, "p50");
    let by = Settings { by: ComparedMetric::parse("p99.99").ok(), ..quick() };
    let error = compare(runs("a", 1_000), runs("b", 1_200), &by).unwrap_err();
    assert!(error.to_string().starts_with("p99.99 was not measured in a0"), "{error}");
}

#[test]
fn a_stair_is_compared_step_by_step() {
    let stair = |name: &str, i: u64, slower: f64| {
        let made = SyntheticRun { slower, started_s: i, ..MADE };
        let mut header = header(&format!("{name}{i}"), made);
        header.phases = steps();
        run_of(&format!("{name}{i}"), made, header)
    };
    let runs =
        |name: &str, by: f64| (0..5).map(|i| stair(name, i, NOISE[i as usize] * by)).collect::<Vec<_>>();
    let found = compare(runs("a", 1.0), runs("b", 1.3), &quick()).unwrap();
    assert_eq!(found.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["step 0", "step 1"]);
    assert!(found.steps.iter().all(|step| step.verdict == Verdict::Worse), "{:?}", found.steps);
    assert!(found.metrics.iter().all(|metric| metric.name != "rate"), "a stair has no average rate");
}

#[test]
fn a_bound_is_exceeded_by_a_change_beyond_it_that_is_shown() {
    let state = |text: &str, baseline: &[f64], candidate: &[f64]| {
        let settings = Settings { fail_if: vec![ChangeBound::parse(text).unwrap()], ..quick() };
        compare(side("a", baseline), side("b", candidate), &settings).unwrap().bounds[0].state
    };
    let slower = NOISE.map(|x| x * 1.1);
    assert_eq!(state("p99 +5%", &NOISE, &slower), BoundState::Exceeded);
    assert_eq!(state("p99 +20%", &NOISE, &slower), BoundState::Kept);
    assert_eq!(state("p99 -5%", &NOISE, &slower), BoundState::Kept);
    assert_eq!(state("p99 -5%", &slower, &NOISE), BoundState::Exceeded);
    // Beyond the bound, and within the noise.
    let wide = NOISE.map(|x| (x - 1.0) * 10.0 + 1.2);
    let found = state("p99 +0.1%", &wide, &wide.map(|x| x * 1.002));
    assert_eq!(found, BoundState::NotJudged(NotJudged::ReachesBeyond { needed: Needed::TooMany }));
    let too_few = BoundState::NotJudged(NotJudged::TooFewRuns);
    assert_eq!(state("p99 +5%", &NOISE[..2], &slower[..2]), too_few);
    assert_eq!(state("p99.99 +5%", &NOISE, &slower), BoundState::NotJudged(NotJudged::NotMeasured));
    assert_eq!(state("loss +1%", &NOISE, &slower), BoundState::Kept, "constant");
    assert_eq!(state("loss +1%", &NOISE[..1], &slower[..1]), too_few, "constant, by chance");
}

/// The figures of 20 runs in which all latencies share the noise of their run and have some of their own.
struct Experiments {
    random: Xoshiro256PlusPlus,
    noise: Normal<f64>,
}

impl Experiments {
    /// Ten against ten runs with a noise of 3 %, whose latencies are higher by `shift`. With 499 relabellings, and the
    /// labels as they are, the levels of 4 %, 1 % and 5 % are whole numbers of 500.
    fn verdicts(&mut self, shift: f64, seed: u64) -> Vec<Compared> {
        let metrics = ["p99", "p50", "p90", "p99.9", "avg", "loss"];
        let shared: Vec<f64> = (0..20).map(|_| self.noise.sample(&mut self.random)).collect();
        let row = |name: &&str| {
            let share = if *name == "p99" { 1.0 } else { 0.7_f64.sqrt() };
            let figure = |i: usize| {
                let own = (1.0 - share * share).sqrt() * self.noise.sample(&mut self.random);
                let by = if i < 10 { 1.0 } else { 1.0 + shift };
                Figure { value: (1.0 + shared[i] * share + own) * by, beyond_timeout: false }
            };
            let is_share = *name == "loss";
            let kind = if is_share { Kind::Share } else { Kind::Duration };
            Row::exact(name, kind, true, (0..20).map(figure).collect())
        };
        let rows: Vec<Row> = metrics.iter().map(row).collect();
        let settings = Settings { seed, resamples: 0, relabellings: 499, ..Settings::default() };
        Design { runs: 10, past: None, settings: &settings }.metrics(rows)
    }
}

/// The verdicts of 3,000 experiments: a thousand with each seed, so that no single draw decides.
fn experiments(shift: f64) -> impl Iterator<Item = Vec<Compared>> {
    let of = move |seed: u64| {
        let noise = Normal::new(0.0, 0.03).unwrap();
        let mut experiments = Experiments { random: Xoshiro256PlusPlus::seed_from_u64(seed), noise };
        (0..1_000).map(move |i| experiments.verdicts(shift, i))
    };
    (1..=3).flat_map(of)
}

#[test]
fn a_shift_of_5_percent_is_found_at_10_against_10_runs_with_3_percent_noise() {
    let found = experiments(0.05).filter(|metrics| metrics[0].verdict == Verdict::Worse).count();
    assert!(found >= 2_700, "{found} of 3,000");
}

#[test]
fn where_nothing_differs_a_difference_is_called_in_at_most_1_of_20_comparisons() {
    let (mut first, mut overall) = (0, 0);
    for metrics in experiments(0.0) {
        first += u32::from(metrics[0].differs());
        overall += u32::from(Outcome::of(&metrics, &Settings::default()) != Outcome::NoDifference);
    }
    assert!(first <= 150 && overall <= 150, "p99 {first}, any {overall} of 3,000");
    assert!(first >= 60, "p99 {first} of 3,000: the test is too careful");
}

//! What is said of trials.

use dnsdyno_measure::{Bounds, Quantile};
use dnsdyno_record::expect::{Ends, Measured};
use serde_json::json;

use super::{FINDING_FILE, ReadFinding, finding_json, finding_text, trial_line};
use crate::find::{
    FindNote, Finding, GoalFinding, IntervalKind, Method, OfCriterion, OfGoal, Outcome, Purpose, Reason,
    Trial, TrialVerdict, TrialsSoFar, Undecided, What, Why,
};

/// A trial with this p99; half of its queries took 120 µs.
fn trial(number: u32, load: f64, p99: Option<Bounds>) -> Trial {
    Trial {
        number,
        purpose: Purpose::Near,
        load,
        lasted_ns: 10_000_000_000,
        planned_ns: 10_000_000_000,
        took_ns: 10_500_000_000,
        queries: 10_000,
        lost: 200,
        ours: 0,
        errors: 0,
        answered_qps: load * 0.98,
        kept_up: load * 0.98,
        of_bound: None,
        p50: Some(Bounds::exact(Quantile::At(120_000))),
        p99,
        timeout_ns: 5_000_000_000,
        mean_ns: Some(130_000),
        verdict: TrialVerdict::Passed,
        goals: Vec::new(),
    }
}

fn finding(trials: Vec<Trial>) -> Finding {
    let interval = IntervalKind::Confidence;
    Finding {
        method: Method::Search,
        what: What::Queries,
        criteria: vec!["loss<5%".to_owned()],
        outcome: Outcome::Capacity { load: 1_000.0, from: 990.0, to: 1_010.0, interval },
        goals: Vec::new(),
        notes: Vec::new(),
        trials,
        cut: 0,
        belief: Vec::new(),
    }
}

fn line(trial: Trial) -> String {
    trial_line(Method::Search, TrialsSoFar { trials: &[trial], bracket: None })
}

#[test]
fn a_percentile_beyond_the_timeout_is_longer_than_that_and_one_of_too_few_queries_is_none() {
    let beyond = trial(1, 1_000.0, Some(Bounds::exact(Quantile::BeyondTimeout)));
    assert!(line(beyond.clone()).contains("  120 µs      >5 s  pass"), "{}", line(beyond));
    assert!(line(trial(1, 1_000.0, None)).contains("  120 µs         -  pass"));
    let trials = vec![beyond.clone(), trial(2, 2_000.0, beyond.p99), trial(3, 2_000.0, beyond.p99)];
    let text = finding_text(&finding(trials.clone()), 100);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" of ")).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("      >5 s  #")), "{text}");
    let written = &finding_json(&finding(trials))["trials"][0];
    assert_eq!(written["p99"], json!({ "ns": 5_000_000_000_u64, "beyond_timeout": true }));
    assert_eq!(written["p50"], json!({ "ns": 120_000, "beyond_timeout": false }));
    assert_eq!(finding_json(&finding(vec![trial(1, 1_000.0, None)]))["trials"][0]["p99"], json!(null));
}

#[test]
fn a_percentile_that_is_mostly_ours_is_marked_and_has_its_two_ends() {
    let wide = Bounds { upper: Quantile::At(561_000), lower: Quantile::At(42_000) };
    let made = trial(1, 1_000.0, Some(wide));
    assert!(line(made.clone()).contains("   ~561 µs  pass"), "{}", line(made));
    let written = &finding_json(&finding(vec![made]))["trials"][0]["bounds"]["p99"];
    assert_eq!((&written["ours_ns"], &written["wide"]), (&json!(519_000), &json!(true)));
}

#[test]
fn an_undecided_trial_says_how_much_of_its_figure_may_be_ours_and_what_the_generator_has_met() {
    let ends = Ends { measured: Measured::Duration(5_200_000), without_ours: Measured::Duration(4_800_000) };
    let of = OfCriterion { criterion: "p99<5ms".to_owned(), ends };
    let undecided = Undecided { criteria: vec![of], reasons: vec!["sends_late".to_owned()] };
    let made = Trial { verdict: TrialVerdict::Undecided(undecided), ..trial(1, 1_000.0, None) };
    let why = "undecided  p99<5ms (5.20 ms, at most 400 µs of it ours), sends_late";
    assert!(line(made.clone()).trim_end().ends_with(why), "{}", line(made));
    let written = &finding_json(&finding(vec![made.clone()]))["trials"][0];
    assert_eq!((&written["verdict"], &written["warnings"]), (&json!("undecided"), &json!(["sends_late"])));
    assert_eq!(written["undecided"][0]["measured"], "5.20 ms, at most 400 µs of it ours");
    let note = |open: Option<(f64, f64)>, criteria: &[&str]| {
        let criteria = criteria.iter().map(|text| (*text).to_owned()).collect();
        let reasons = vec!["sends_late".to_owned()];
        let note = FindNote::Undecided { load: 980.0, trials: 4, criteria, reasons, open };
        finding_text(&Finding { notes: vec![note], ..finding(vec![made.clone()]) }, 1_000)
    };
    let both = note(Some((990.0, 1_010.0)), &["p99<5ms"]);
    let said = "of 4 trials from 980 qps on it depends on what the generator or its host has added whether they meet \
                p99<5ms (sends_late); the interval allows for both in those from 990 to 1,010 qps, and the others \
                count neither for the server nor against it";
    assert!(both.contains(said), "{both}");
    let not_made = note(None, &[]);
    let said = "of 4 trials from 980 qps on the load was not made as it was asked for (sends_late); they count neither";
    assert!(not_made.contains(said), "{not_made}");
}

#[test]
fn a_result_of_format_1_is_read_and_has_no_goals() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FINDING_FILE), include_str!("format-1.json")).unwrap();
    let found = ReadFinding::read(folder.path()).unwrap();
    assert_eq!((found.goals.len(), found.has_names(), found.trials.len()), (0, false, 3));
    assert_eq!((found.outcome.load, found.outcome.to), (Some(4_010.0), Some(4_080.0)));
    assert!(found.trials.iter().all(|trial| trial.goals.is_empty()));
}

#[test]
fn the_goals_of_a_result_are_told_and_read_again_each_with_its_limit_and_reason() {
    let of = |name: &str, load: f64, reason: Reason, outcome: Outcome| GoalFinding {
        name: Some(name.to_owned()),
        criteria: vec!["p99<5ms".to_owned()],
        held_ns: (name == "held").then_some(60_000_000_000),
        outcome,
        reason,
        notes: vec![FindNote::Noise { share: load / 100_000.0 }],
        trials: vec![1],
        load_ns: 10_000_000_000,
        belief: vec![(load, 0.5)],
    };
    let interval = IntervalKind::Confidence;
    let capacity = Outcome::Capacity { load: 1_000.0, from: 990.0, to: 1_010.0, interval };
    let goals = vec![
        of("fast", 1_000.0, Reason::Precise, capacity.clone()),
        of("held", 900.0, Reason::Trials, Outcome::AtLeast { load: 900.0, why: Why::Trials }),
    ];
    let seen = |goal: &str, verdict: TrialVerdict, is_long_enough| OfGoal {
        goal: goal.to_owned(),
        verdict,
        is_long_enough,
    };
    let both = vec![seen("fast", TrialVerdict::Passed, true), seen("held", TrialVerdict::Passed, false)];
    let made = Trial { goals: both, ..trial(1, 1_000.0, None) };
    assert!(
        line(made.clone()).trim_end().ends_with("differs    fast pass; held pass, but short"),
        "{}",
        line(made)
    );
    let order = FindNote::Order {
        strict: "held".to_owned(),
        loose: "fast".to_owned(),
        is_contradicted: false,
        is_used: true,
    };
    let several = Finding { goals, notes: vec![order], outcome: capacity, ..finding(vec![made]) };
    assert!(!several.is_found() && finding(Vec::new()).is_found());
    let text = finding_text(&several, 200);
    for words in [
        "fast: capacity 1,000 qps, 95 %: 990..1,010\n",
        "held: capacity at least 900 qps: the trials that were allowed",
        "p99<5ms, held for 60 s; 1 trial counts, 10 s of load; ended because the allowed trials are used up",
        "order: held is stricter than fast, so its limit is not above that; the intervals are held to this",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FINDING_FILE), finding_json(&several).to_string()).unwrap();
    let read = ReadFinding::read(folder.path()).unwrap();
    let names: Vec<_> = read.goals.iter().map(|goal| (goal.name.as_deref(), goal.reason.as_str())).collect();
    assert_eq!(names, [(Some("fast"), "precise"), (Some("held"), "trials")]);
    assert_eq!((read.goals[1].held_ns, read.goals[1].outcome.load), (Some(60_000_000_000), Some(900.0)));
    assert_eq!(read.trials[0].goals.iter().map(|of| of.long_enough).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn the_error_of_a_damaged_result_is_a_line_that_a_terminal_can_show() {
    let folder = tempfile::tempdir().unwrap();
    let result = json!({ "outcome": {}, "trials": [{ "verdict": "\u{1b}[2J" }] });
    std::fs::write(folder.path().join(FINDING_FILE), result.to_string()).unwrap();
    let error = ReadFinding::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("unknown variant `\\u{1b}[2J`") && !error.contains('\u{1b}'), "{error:?}");
}

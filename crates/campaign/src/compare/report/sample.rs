//! Comparisons for the tests, with figures that show each column.

use crate::compare::{
    BoundOutcome, BoundState, Change, Compared, Comparison, Figure, Kind, Level, Mismatch, Missing, Note,
    Outcome, Possible, Verdict,
};
use crate::statistics::Interval;
use crate::statistics::permutation::Probability;

/// Ten against ten runs, the candidate slower by 5.1 %.
pub(super) fn slower() -> Comparison {
    let labels = |side: &str| (0..10).map(|i| format!("{side}-{i}")).collect();
    Comparison {
        baseline: labels("old"),
        candidate: labels("new"),
        asked: "10,000 queries/s for 30 s over udp".into(),
        metrics: vec![
            metric("p99", Kind::Duration, [2_100_000.0, 2_210_000.0], 0.0512, 0.002, Verdict::Worse),
            metric("p50", Kind::Duration, [212_000.0, 213_000.0], 0.0041, 0.41, Verdict::NoDifference),
            metric("rate", Kind::Rate, [9_990.0, 9_850.0], -0.014, 0.0004, Verdict::Worse),
            Compared {
                is_constant: true,
                ..metric("loss", Kind::Share, [0.0, 0.0], 0.0, 1.0, Verdict::NoDifference)
            },
        ],
        steps: Vec::new(),
        unlike: Vec::new(),
        notes: vec![Note::NotMeasured {
            metrics: vec!["p99.9".into()],
            run: "old-3".into(),
            why: Missing::TooFew,
        }],
        bounds: vec![
            BoundOutcome { text: "p99 +5%".into(), metric: Some(0), state: BoundState::Exceeded },
            BoundOutcome { text: "p50 +5%".into(), metric: Some(1), state: BoundState::Kept },
        ],
        outcome: Outcome::Worse,
        seed: 1,
        fewest_runs: 4,
        past: None,
    }
}

/// The same without a difference, not asked alike, with hostile labels.
pub(super) fn hostile() -> Comparison {
    let hostile = "\u{1b}[31m<img src=x>|`@all`".to_owned();
    let mut comparison = slower();
    comparison.metrics.truncate(1);
    comparison.metrics[0].verdict = Verdict::NoDifference;
    comparison.outcome = Outcome::NoDifference;
    comparison.asked = hostile.clone();
    comparison.candidate = vec![hostile.clone()];
    comparison.steps = vec![Compared { name: hostile.clone(), ..comparison.metrics[0].clone() }];
    comparison.unlike =
        vec![Mismatch { what: "load".into(), values: vec![(hostile.clone(), vec![hostile.clone()])] }];
    comparison.notes = vec![Note::EndedEarly { runs: vec![hostile.clone()] }];
    comparison.bounds[0].text = hostile;
    comparison
}

/// One run against one.
pub(super) fn one_against_one() -> Comparison {
    let mut comparison = slower();
    comparison.baseline.truncate(1);
    comparison.candidate.truncate(1);
    comparison.bounds.clear();
    comparison.notes.clear();
    comparison.outcome = Outcome::TooFew;
    for metric in comparison.metrics.iter_mut().filter(|metric| !metric.is_constant) {
        metric.verdict = Verdict::TooFew;
        metric.baseline.truncate(1);
        metric.candidate.truncate(1);
        let change = metric.change.as_mut().unwrap();
        (change.interval, change.shown, change.runs_needed) = (None, None, None);
    }
    comparison
}

fn metric(name: &str, kind: Kind, [from, to]: [f64; 2], change: f64, p: f64, verdict: Verdict) -> Compared {
    let at = |value| Figure { value, beyond_timeout: false };
    Compared {
        name: name.into(),
        kind,
        less_is_better: kind != Kind::Rate,
        baseline: vec![at(from); 10],
        candidate: vec![at(to); 10],
        baseline_median: at(from),
        candidate_median: at(to),
        change: Some(Change {
            estimate: change,
            interval: Some(Interval { from: change - 0.0119, to: change + 0.0107 }),
            is_ratio: kind != Kind::Share,
            at_least: false,
            shown: Some(0.043),
            runs_needed: Some(31),
        }),
        possible: Possible {
            seen: change,
            interval: Some(Interval { from: change - 0.0119, to: change + 0.0107 }),
            is_open: false,
            apart: change,
            probability_apart: p,
            spread: Some(0.01),
            queries_without: None,
        },
        effect: 0.5 + change.signum() * 0.46,
        probability: Probability { alone: p, together: p },
        smallest_probability: 0.000_01,
        level: Level { is_alone: true, value: 0.04 },
        is_constant: false,
        population: None,
        is_rounded: false,
        verdict,
    }
}

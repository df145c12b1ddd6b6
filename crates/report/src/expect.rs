//! The outcomes of expectations, as text and for programs.

use dnsdyno_measure::percentile_name;
use dnsdyno_record::expect::{Decision, EachOutcome, Ends, Measured, Missed, Outcome, PartKind};
use dnsdyno_text::safe;
use dnsdyno_text::units;
use serde_json::{Value, json};

use crate::figures::share;

/// The outcome of an expectation on a run, as a line.
pub fn outcome_text(outcome: &Outcome) -> String {
    format!("{}  {}  ({})\n", mark(outcome.decision), safe(&outcome.text), outcome_measured_text(outcome))
}

/// What was measured; where that does not decide, with how much of it may be the generator's.
pub fn outcome_measured_text(outcome: &Outcome) -> String {
    ends_text(&outcome.ends, outcome.decision)
}

/// The outcome of an expectation on each part of a run: a line, and one for each part that did not meet it for certain.
pub fn each_outcome_text(outcome: &EachOutcome) -> String {
    let mark = mark(outcome.decision());
    let missed: String = missed_texts(outcome).map(|text| format!("         {text}\n")).collect();
    format!("{mark}  each {}  ({})\n{missed}", safe(&outcome.text), each_measured_text(outcome))
}

fn mark(decision: Decision) -> &'static str {
    match decision {
        Decision::Met => "met    ",
        Decision::NotMet => "NOT MET",
        Decision::Undecided => "undecided",
    }
}

/// In how many parts the expectation was met, or not met: `in 2 of 5 steps`.
pub fn each_measured_text(outcome: &EachOutcome) -> String {
    let (part, parts) = match outcome.kind {
        PartKind::Step => ("step", "steps"),
        PartKind::Interval => ("interval", "intervals"),
    };
    let judged = units::count(outcome.judged);
    let text = match (outcome.judged, outcome.missed, outcome.undecided) {
        (0, ..) if outcome.cut_short == 0 => return "not measured: no query was due".to_owned(),
        (0, ..) => "not measured".to_owned(),
        (1, ..) => format!("in the one {part}"),
        (_, 0, 0) => format!("in each of {judged} {parts}"),
        (_, 0, undecided) => format!("in {} of {judged} {parts}", units::count(undecided)),
        (_, missed, 0) => format!("in {} of {judged} {parts}", units::count(missed)),
        (_, missed, undecided) => {
            let (missed, undecided) = (units::count(missed), units::count(undecided));
            format!("in {missed} of {judged} {parts}; undecided in {undecided}")
        }
    };
    match outcome.cut_short {
        0 => text,
        _ => format!("{text}; the last {part} was cut short, with too few queries for it"),
    }
}

/// The parts that did not meet it for certain with what was measured there, and the number of those that are not kept.
pub fn missed_texts(outcome: &EachOutcome) -> impl Iterator<Item = String> {
    let kept = outcome.first_missed.len() as u64;
    let more = (outcome.missed + outcome.undecided).saturating_sub(kept);
    let more = (more > 0).then(|| format!("and {} more", units::count(more)));
    let has_both = outcome.missed > 0 && outcome.undecided > 0;
    let missed = outcome.first_missed.iter().map(move |missed| {
        let word = if has_both && missed.decision == Decision::Undecided { "undecided, " } else { "" };
        format!("{}: {word}{}", part_text(missed), ends_text(&missed.ends, missed.decision))
    });
    missed.chain(more)
}

/// A part by its label, where it has one, and its time.
fn part_text(missed: &Missed) -> String {
    let time = format!("{} to {}", units::setting(missed.from_ns), units::setting(missed.to_ns));
    match &missed.label {
        Some(label) => format!("step {} ({time})", safe(label)),
        None => time,
    }
}

/// A measured figure as text.
pub fn measured_text(measured: &Measured) -> String {
    match measured {
        Measured::Part { part, whole } => {
            let percent = units::percent(share(*part, *whole).unwrap_or(0.0));
            format!("{percent} ({} of {})", units::count(*part), units::count(*whole))
        }
        Measured::Count(count) => units::count(*count),
        Measured::Duration(ns) => units::duration(*ns),
        Measured::BeyondTimeout { timeout_ns } => format!(">{}", units::setting(*timeout_ns)),
        Measured::RateQps(qps) => format!("{}/s", units::rate(*qps)),
        Measured::Generator { text, .. } => safe(text),
        Measured::TooFew { q, needed, judged } => format!(
            "not measured: {} needs {} queries, {} were judged",
            percentile_name(*q),
            units::count(*needed),
            units::count(*judged)
        ),
        Measured::Partial { intervals } => partial_text(*intervals),
        Measured::Nothing(why) => format!("not measured: {why}"),
    }
}

/// A figure; where it does not decide, with how much of it may be the generator's.
pub fn ends_text(ends: &Ends, decision: Decision) -> String {
    let text = measured_text(&ends.measured);
    if matches!(ends.measured, Measured::Partial { .. }) {
        return text;
    }
    match decision {
        Decision::Undecided => format!("{text}, {}", ours_text(ends)),
        Decision::Met | Decision::NotMet => text,
    }
}

/// How much of a figure may be the generator's: `at most 350 µs of it ours`.
fn ours_text(ends: &Ends) -> String {
    match (&ends.measured, &ends.without_ours) {
        (Measured::Duration(measured_ns), Measured::Duration(without_ns)) => {
            format!("at most {} of it ours", units::duration(measured_ns.saturating_sub(*without_ns)))
        }
        (Measured::Part { part, .. }, Measured::Part { part: without, .. }) if without < part => {
            format!("at most {} of them ours", units::count(part - without))
        }
        (Measured::Part { part, .. }, Measured::Part { part: without, .. }) => {
            format!("at most {} more without our part", units::count(without - part))
        }
        (Measured::RateQps(_), Measured::RateQps(without)) if without.is_finite() => {
            format!("at most {}/s without our part", units::rate(*without))
        }
        (_, Measured::Partial { intervals }) => partial_text(*intervals),
        _ => "which may be ours".to_owned(),
    }
}

fn partial_text(intervals: u64) -> String {
    let lack = units::counted(intervals, "interval lacks", "intervals lack");
    format!("partial: {lack} the part of an agent")
}

/// The outcomes for programs; `None` where nothing was expected.
pub fn expectations_json(of_run: &[Outcome], of_each: &[EachOutcome]) -> Option<Value> {
    let outcomes = of_run.iter().map(outcome_json).chain(of_each.iter().map(each_outcome_json));
    let outcomes: Vec<Value> = outcomes.collect();
    (!outcomes.is_empty()).then(|| outcomes.into())
}

fn outcome_json(outcome: &Outcome) -> Value {
    json!({
        "expectation": outcome.text,
        "measured": outcome_measured_text(outcome),
        "outcome": outcome.decision.key(),
        "passed": outcome.decision.is_met(),
    })
}

fn each_outcome_json(outcome: &EachOutcome) -> Value {
    let missed = |missed: &Missed| {
        json!({
            "label": missed.label,
            "from_ns": missed.from_ns,
            "to_ns": missed.to_ns,
            "measured": ends_text(&missed.ends, missed.decision),
            "outcome": missed.decision.key(),
        })
    };
    json!({
        "expectation": outcome.text,
        "each": match outcome.kind {
            PartKind::Step => "step",
            PartKind::Interval => "interval",
        },
        "judged": outcome.judged,
        "missed": outcome.missed,
        "undecided": outcome.undecided,
        "cut_short": outcome.cut_short,
        "first_missed": outcome.first_missed.iter().map(missed).collect::<Vec<_>>(),
        "outcome": outcome.decision().key(),
        "passed": outcome.decision().is_met(),
    })
}

#[cfg(test)]
mod tests;

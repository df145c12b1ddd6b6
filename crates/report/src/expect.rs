//! The outcomes of expectations, as text and for programs.

use dnsdyno_record::expect::{EachOutcome, Measured, Missed, Outcome, PartKind};
use serde_json::{Value, json};

use crate::figures::share;
use crate::foreign::safe;
use crate::units;

/// The outcome of an expectation on a run, as a line.
pub fn outcome_text(outcome: &Outcome) -> String {
    let mark = if outcome.passed { MET } else { NOT_MET };
    format!("{mark}  {}  ({})\n", safe(&outcome.text), measured_text(&outcome.measured))
}

/// The outcome of an expectation on each part of a run: a line, and one for each part that did not meet it.
pub fn each_outcome_text(outcome: &EachOutcome) -> String {
    let mark = if outcome.passed() { MET } else { NOT_MET };
    let missed: String = missed_texts(outcome).map(|text| format!("         {text}\n")).collect();
    format!("{mark}  each {}  ({})\n{missed}", safe(&outcome.text), each_measured_text(outcome))
}

/// In how many parts the expectation was met, or not met: `in 2 of 5 steps`.
pub fn each_measured_text(outcome: &EachOutcome) -> String {
    let (part, parts) = match outcome.kind {
        PartKind::Step => ("step", "steps"),
        PartKind::Interval => ("interval", "intervals"),
    };
    let judged = units::count(outcome.judged);
    match (outcome.judged, outcome.missed) {
        (0, _) => "not measured: no query was due".to_owned(),
        (1, _) => format!("in the one {part}"),
        (_, 0) => format!("in each of {judged} {parts}"),
        (_, missed) => format!("in {} of {judged} {parts}", units::count(missed)),
    }
}

/// The parts that did not meet it with what was measured there, and the number of those that are not kept.
pub fn missed_texts(outcome: &EachOutcome) -> impl Iterator<Item = String> {
    let kept = outcome.first_missed.len() as u64;
    let more = outcome.missed.saturating_sub(kept);
    let more = (more > 0).then(|| format!("and {} more", units::count(more)));
    let missed = outcome.first_missed.iter();
    missed.map(|missed| format!("{}: {}", part_text(missed), measured_text(&missed.measured))).chain(more)
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
        Measured::Nothing(why) => format!("not measured: {why}"),
    }
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
        "measured": measured_text(&outcome.measured),
        "passed": outcome.passed,
    })
}

fn each_outcome_json(outcome: &EachOutcome) -> Value {
    let missed = |missed: &Missed| {
        json!({
            "label": missed.label,
            "from_ns": missed.from_ns,
            "to_ns": missed.to_ns,
            "measured": measured_text(&missed.measured),
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
        "first_missed": outcome.first_missed.iter().map(missed).collect::<Vec<_>>(),
        "passed": outcome.passed(),
    })
}

const MET: &str = "met    ";
const NOT_MET: &str = "NOT MET";

#[cfg(test)]
mod tests;

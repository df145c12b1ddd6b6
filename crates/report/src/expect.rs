//! The outcomes of expectations as text.

use dnsdyno_record::expect::{EachOutcome, Measured, Missed, Outcome, PartKind};

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
    let (part, parts) = match outcome.kind {
        PartKind::Step => ("step", "steps"),
        PartKind::Interval => ("interval", "intervals"),
    };
    let (mark, judged) = (if outcome.passed() { MET } else { NOT_MET }, units::count(outcome.judged));
    let summary = match (outcome.judged, outcome.missed) {
        (0, _) => "not measured: no query was due".to_owned(),
        (1, 0) => format!("in the one {part}"),
        (_, 0) => format!("in each of {judged} {parts}"),
        (1, _) => format!("in the one {part}"),
        (_, missed) => format!("in {} of {judged} {parts}", units::count(missed)),
    };
    let mut text = format!("{mark}  each {}  ({summary})\n", safe(&outcome.text));
    for missed in &outcome.first_missed {
        text += &format!("         {}: {}\n", part_text(missed), measured_text(&missed.measured));
    }
    let kept = outcome.first_missed.len() as u64;
    if outcome.missed > kept {
        text += &format!("         and {} more\n", units::count(outcome.missed - kept));
    }
    text
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

const MET: &str = "met    ";
const NOT_MET: &str = "NOT MET";

#[cfg(test)]
mod tests;

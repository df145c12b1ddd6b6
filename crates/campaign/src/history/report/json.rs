//! A history for programs, as `docs/formats/history.schema.json` describes it. Durations are in nanoseconds, rates each
//! second, shares from 0 to 1; changes are ratios, of shares differences.

use serde_json::{Value, json};

use super::words::{gate, notes, row_name, sentence, sentences, step_word};
use crate::compare::report::unit_key;
use crate::history::{GateOutcome, GateState, History, HistoryRun, Judged, Row, Why};
use crate::statistics::Interval;
use crate::statistics::steps::Step;

/// One JSON object.
pub fn history_json(history: &History) -> Value {
    json!({
        "format": FORMAT,
        "sentence": sentence(history),
        "by": history.axis.word(),
        "rows": history.rows.iter().map(|(of, judged)| row(of, judged)).collect::<Vec<_>>(),
        "gates": history.gates.iter().map(|outcome| gate_json(history, outcome)).collect::<Vec<_>>(),
        "notes": notes(history),
    })
}

fn row(row: &Row, judged: &[Judged]) -> Value {
    let differs: serde_json::Map<String, Value> =
        row.differs.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "name": row_name(row),
        "what": row.what.word(),
        "differs": differs,
        "asked": row.asked,
        "runs": row.runs.iter().map(run).collect::<Vec<_>>(),
        "metrics": judged.iter().map(|judged| metric(row, judged)).collect::<Vec<_>>(),
    })
}

fn run(run: &HistoryRun) -> Value {
    json!({
        "folder": run.folder,
        "started_unix_ns": run.entry.started_unix_ns,
        "labels": run.entry.labels,
        "not_judged": run.entry.left_out,
    })
}

fn metric(row: &Row, judged: &Judged) -> Value {
    let folder = |at: usize| judged.runs.get(at).map(|at| &row.runs[*at].folder);
    let of = judged.metric;
    let ends = |interval: Interval| json!({ "from": of.change(interval.from), "to": of.change(interval.to) });
    let step = |(place, step): (usize, &Step)| {
        let changed = judged.changed.get(place).into_iter().flatten();
        let label =
            |(key, from, to): &(String, String, String)| json!({ "label": key, "before": from, "after": to });
        let accepted = judged.accepted.get(place).and_then(Option::as_ref);
        json!({
            "began": folder(step.at),
            "earliest": folder(step.earliest),
            "latest": folder(step.latest),
            "change": of.change(step.size),
            "interval": step.interval.map(ends),
            "p_value": step.probability,
            "verdict": step_word(judged, place),
            "accepted": accepted.map(|one| &one.reason),
            "labels": changed.map(label).collect::<Vec<_>>(),
        })
    };
    let at_least = |at: &usize| row.runs[*at].entry.figures.get(of.key).is_some_and(|figure| figure.at_least);
    let figure = |((value, at), disturbed): ((&f64, &usize), &bool)| {
        json!({
            "folder": row.runs[*at].folder, "value": value, "at_least": at_least(at), "disturbed": disturbed,
        })
    };
    json!({
        "metric": of.key,
        "unit": unit_key(of.kind),
        "less_is_better": of.less_is_better,
        "words": sentences(row, judged),
        "steps": judged.found.steps.iter().enumerate().map(step).collect::<Vec<_>>(),
        "drift": judged.found.drift.map(|drift| json!({
            "change": of.change(drift.size), "interval": ends(drift.interval),
        })),
        "is_enough": judged.is_enough(),
        "smallest_step": judged.smallest.map(|smallest| of.change(smallest)),
        "figures": judged.figures.iter().zip(&judged.runs).zip(&judged.found.disturbed).map(figure).collect::<Vec<_>>(),
    })
}

fn gate_json(history: &History, outcome: &GateOutcome) -> Value {
    let (_, words) = gate(history, outcome);
    let (state, why) = match &outcome.state {
        GateState::Kept { .. } => ("kept", None),
        GateState::Exceeded { .. } => ("exceeded", None),
        GateState::NotJudged(why) => ("not_judged", Some(why_key(why))),
    };
    json!({ "gate": outcome.gate, "row": outcome.row, "state": state, "why": why, "words": words })
}

fn why_key(why: &Why) -> &'static str {
    match why {
        Why::NoRuns => "no_runs",
        Why::TooFewRuns { .. } => "too_few_runs",
        Why::NewestLeftOut { .. } => "newest_left_out",
        Why::BeyondTimeout => "beyond_timeout",
        Why::NewestWorse { .. } => "newest_worse",
        Why::Noise { .. } => "noise",
        Why::Drift { .. } => "drift",
    }
}

/// The format of the history as JSON. Grows where a reader of the old one would misread the new one.
pub const FORMAT: u32 = 1;

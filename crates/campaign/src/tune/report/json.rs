//! The answer of a night as one JSON object: `tune.json`.

use serde_json::{Map, Value, json};

use super::{TuneReport, words};
use crate::tune::{Gain, Verdict};

/// The answer for programs.
pub fn tune_json(report: &TuneReport<'_>) -> Value {
    let answer = report.answer;
    let trials: Map<String, Value> =
        answer.trials.iter().map(|(phase, count)| (phase.key().to_owned(), json!(count))).collect();
    json!({
        "title": report.title,
        "server": report.server,
        "judge": report.judge,
        "answer": words::sentence(report),
        "verdict": verdict(report),
        "parameters": parameters(report),
        "not_here": report.not_here.iter().map(|one| {
            json!({ "parameter": one.id, "numbers": one.numbers, "why": one.why })
        }).collect::<Vec<_>>(),
        "trials": trials,
        "trials_one_at_a_time": answer.one_at_a_time,
        "rounds": answer.rounds,
        "pairs": report.pairs,
        "took_ns": report.took_ns,
        "notes": answer.notes,
        "install": files(&report.install),
        "undo": files(&report.undo),
    })
}

fn verdict(report: &TuneReport<'_>) -> Value {
    match &report.answer.verdict {
        Verdict::Gains(gains) => {
            let change = |part: &crate::tune::Part| {
                let of = report.parameters.get(part.parameter);
                json!({
                    "parameter": of.map(|of| &of.id),
                    "from": of.and_then(|of| of.present.as_ref()),
                    "to": of.and_then(|of| of.values.get(part.value)),
                    "adds": part.adds.map(gain),
                    "alone": part.alone.map(gain),
                })
            };
            json!({
                "kind": "gains",
                "together": gain(gains.together),
                "at_least": gains.is_at_least,
                "changes": gains.parts.iter().map(change).collect::<Vec<_>>(),
                "memory_bytes": gains.memory_bytes,
            })
        }
        Verdict::Nothing { beyond } => json!({ "kind": "nothing", "beyond": beyond }),
        Verdict::NotConfirmed { why, .. } => {
            json!({ "kind": "not_confirmed", "changes": words::not_confirmed(report), "why": why })
        }
        Verdict::NotOverloaded => json!({ "kind": "not_overloaded" }),
        Verdict::NoBase { why } => json!({ "kind": "no_base", "why": why }),
    }
}

fn parameters(report: &TuneReport<'_>) -> Vec<Value> {
    let rows = report.answer.rows.iter().zip(&report.parameters);
    rows.map(|(row, of)| {
        json!({
            "parameter": of.id,
            "numbers": of.numbers,
            "present": of.present,
            "values": of.values,
            "acts_on": of.acts_on,
            "state": words::state_key(row),
            "seen": row.seen.map(gain),
            "trials": row.trials,
        })
    })
    .collect()
}

fn gain(gain: Gain) -> Value {
    json!({ "estimate": gain.estimate, "from": gain.from, "to": gain.to })
}

fn files(files: &[(String, String)]) -> Vec<Value> {
    files.iter().map(|(path, text)| json!({ "path": path, "text": text })).collect()
}

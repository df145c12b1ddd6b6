//! The result of a search for programs: `find.json`, as `docs/find.md` describes it.

use dnsdyno_campaign::find::{FindNote, Finding, IntervalKind, Outcome, Trial, TrialVerdict, Why};
use dnsdyno_measure::Bounds;
use serde_json::{Value, json};

use super::text::answer_line;
use crate::bounds::one_as_json;
use crate::expect::measured_text;
use crate::objects::quantile as object;

/// The result as one object.
pub fn finding_json(finding: &Finding) -> Value {
    json!({
        "format": 1,
        "answer": answer_line(finding),
        "method": finding.method.name(),
        "unit": finding.what.unit(),
        "criteria": finding.criteria,
        "outcome": outcome(&finding.outcome),
        "notes": finding.notes.iter().map(note).collect::<Vec<_>>(),
        "trials": finding.trials.iter().map(trial).collect::<Vec<_>>(),
        "cut_off": finding.cut,
    })
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Capacity { load, from, to, interval } => {
            let interval = match interval {
                IntervalKind::Confidence => "confidence_95",
                IntervalKind::Bracket => "bracket",
                IntervalKind::Percentiles => "percentiles_1_99",
                IntervalKind::Range => "range",
            };
            json!({ "kind": "capacity", "load": load, "from": from, "to": to, "interval": interval })
        }
        Outcome::AtLeast { load, why } => {
            let why = match why {
                Why::Generator => "generator",
                Why::Most => "most",
                Why::Trials => "trials",
            };
            json!({ "kind": "at_least", "load": load, "why": why })
        }
        Outcome::NotMet { lowest, criteria } => {
            json!({ "kind": "not_met", "lowest": lowest, "criteria": criteria })
        }
        Outcome::Unstable { share, from, to } => {
            json!({ "kind": "unstable", "share": share, "from": from, "to": to })
        }
        Outcome::InDoubt { load } => json!({ "kind": "in_doubt", "load": load }),
    }
}

fn note(note: &FindNote) -> Value {
    match note {
        FindNote::Warm { trials } => json!({ "kind": "warm", "trials": trials }),
        FindNote::NotWarm => json!({ "kind": "not_warm" }),
        FindNote::Noise { share } => json!({ "kind": "noise", "share": share }),
        FindNote::Lapses { share } => json!({ "kind": "lapses", "share": share }),
        FindNote::Imprecise { reached, wanted, trials_needed } => {
            json!({ "kind": "imprecise", "reached": reached, "wanted": wanted, "trials_needed": trials_needed })
        }
        FindNote::Drift { from, to } => json!({ "kind": "drift", "from": from, "to": to }),
        FindNote::Hysteresis { from, to } => json!({ "kind": "hysteresis", "from": from, "to": to }),
        FindNote::Collapse { load, answered_qps, peak_load, peak_qps } => json!({
            "kind": "collapse", "load": load, "answered_qps": answered_qps, "peak_load": peak_load,
            "peak_qps": peak_qps
        }),
        FindNote::Doubt { load, trials, warnings } => {
            json!({ "kind": "doubt", "load": load, "trials": trials, "warnings": warnings })
        }
        FindNote::Errors { share } => json!({ "kind": "errors", "share": share }),
        FindNote::UsualLoss { share } => json!({ "kind": "usual_loss", "share": share }),
        FindNote::Knee { rule, load, at_ns, figures } => {
            json!({ "kind": "knee", "rule": rule, "load": load, "at_ns": at_ns, "figures": figures })
        }
        FindNote::NotByTheBook { text } => json!({ "kind": "not_by_the_book", "text": text }),
    }
}

fn trial(trial: &Trial) -> Value {
    let (verdict, unmet, warnings) = match &trial.verdict {
        TrialVerdict::Passed => ("passed", Vec::new(), Vec::new()),
        TrialVerdict::Failed(unmet) => {
            let unmet = unmet.iter().map(
                |unmet| json!({ "criterion": unmet.criterion, "measured": measured_text(&unmet.measured) }),
            );
            ("failed", unmet.collect(), Vec::new())
        }
        TrialVerdict::InDoubt(names) => ("in_doubt", Vec::new(), names.clone()),
    };
    let percentile = |bounds: Option<Bounds>| object(bounds.map(|bounds| bounds.upper), trial.timeout_ns);
    let bounds = |bounds: Option<Bounds>| bounds.map(|bounds| one_as_json(bounds, trial.timeout_ns));
    json!({
        "number": trial.number,
        "purpose": trial.purpose.text(),
        "load": trial.load,
        "lasted_ns": trial.lasted_ns,
        "queries": trial.queries,
        "lost": trial.lost,
        "errors": trial.errors,
        "answered_qps": trial.answered_qps,
        "p50": percentile(trial.p50),
        "p99": percentile(trial.p99),
        "bounds": { "p50": bounds(trial.p50), "p99": bounds(trial.p99) },
        "mean_ns": trial.mean_ns,
        "verdict": verdict,
        "late": trial.late,
        "unmet": unmet,
        "warnings": warnings,
    })
}

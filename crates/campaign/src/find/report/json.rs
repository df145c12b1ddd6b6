//! The result of a search for programs: `find.json`, as `docs/find.md` describes it.

use dnsdyno_measure::Bounds;
use dnsdyno_record::expect::Decision;
use dnsdyno_report::bounds::one_as_json;
use dnsdyno_report::expect::ends_text;
use dnsdyno_report::quantile_json as object;
use serde_json::{Value, json};

use super::FORMAT;
use super::mlrsearch::{goals_json, irregular_name};
use super::text::{answer_line, note_text, outcome_text};
use crate::find::{
    FindNote, Finding, GoalFinding, IntervalKind, OfCriterion, OfGoal, Outcome, Trial, TrialVerdict,
    Undecided, What, Why,
};

/// The result as one object.
pub fn finding_json(finding: &Finding) -> Value {
    let mut object = json!({
        "format": FORMAT,
        "answer": answer_line(finding),
        "method": finding.method.name(),
        "unit": finding.what.unit(),
        "criteria": finding.criteria,
        "outcome": outcome(&finding.outcome),
        "goals": finding.goals.iter().map(|one| goal(one, finding.what)).collect::<Vec<_>>(),
        "notes": notes(&finding.notes, finding.what),
        "trials": finding.trials.iter().map(trial).collect::<Vec<_>>(),
        "cut_off": finding.cut,
        "belief": finding.belief.iter().map(believed).collect::<Vec<_>>(),
    });
    if let Some(goals) = goals_json(finding.goal_results()) {
        object["mlrsearch"] = goals;
    }
    object
}

fn goal(goal: &GoalFinding, what: What) -> Value {
    json!({
        "name": goal.name,
        "criteria": goal.criteria,
        "held_ns": goal.held_ns,
        "answer": outcome_text(&goal.outcome, what),
        "outcome": outcome(&goal.outcome),
        "reason": goal.reason.name(),
        "notes": notes(&goal.notes, what),
        "trials": goal.trials,
        "load_ns": goal.load_ns,
        "belief": goal.belief.iter().map(believed).collect::<Vec<_>>(),
    })
}

fn notes(notes: &[FindNote], what: What) -> Vec<Value> {
    notes.iter().map(|one| with_text(note(one), one, what)).collect()
}

fn believed((load, below): &(f64, f64)) -> Value {
    json!({ "load": load, "below": below })
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Capacity { load, from, to, interval } => {
            let interval = match interval {
                IntervalKind::Confidence => "confidence_95",
                IntervalKind::Bracket => "bracket",
                IntervalKind::Percentiles => "percentiles_1_99",
                IntervalKind::Range => "range",
                IntervalKind::RelevantBounds => "relevant_bounds",
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
        Outcome::Undecided { load } => json!({ "kind": "undecided", "load": load }),
    }
}

/// A note with its sentence, as the text has it.
fn with_text(mut object: Value, note: &FindNote, what: What) -> Value {
    object["text"] = note_text(note, what).into();
    object
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
        FindNote::Undecided { load, trials, criteria, reasons, open } => json!({
            "kind": "undecided", "load": load, "trials": trials, "criteria": criteria, "warnings": reasons,
            "open_from": open.map(|(from, _)| from), "open_to": open.map(|(_, to)| to)
        }),
        FindNote::Errors { share } => json!({ "kind": "errors", "share": share }),
        FindNote::UsualLoss { share } => json!({ "kind": "usual_loss", "share": share }),
        FindNote::Knee { rule, load, at_ns, figures } => {
            json!({ "kind": "knee", "rule": rule, "load": load, "at_ns": at_ns, "figures": figures })
        }
        FindNote::Order { strict, loose, is_contradicted, is_used } => json!({
            "kind": "order", "strict": strict, "loose": loose, "contradicted": is_contradicted, "used": is_used
        }),
        FindNote::GoalResult(result) => json!({
            "kind": "goal_result", "goal": result.goal.name, "irregular": result.irregular.map(irregular_name)
        }),
        FindNote::NotByTheBook { text } => json!({ "kind": "not_by_the_book", "text": text }),
    }
}

/// The words of a verdict: its name, the criteria that were not met, those that are undecided, what the generator has
/// met.
fn verdict(verdict: &TrialVerdict) -> (&'static str, Vec<Value>, Vec<Value>, Vec<String>) {
    let of_criteria = |of: &[OfCriterion], decision: Decision| -> Vec<Value> {
        let one = |of: &OfCriterion| json!({ "criterion": of.criterion, "measured": ends_text(&of.ends, decision) });
        of.iter().map(one).collect()
    };
    match verdict {
        TrialVerdict::Passed => ("passed", Vec::new(), Vec::new(), Vec::new()),
        TrialVerdict::Failed(unmet) => {
            ("failed", of_criteria(unmet, Decision::NotMet), Vec::new(), Vec::new())
        }
        TrialVerdict::Undecided(Undecided { criteria, reasons }) => {
            ("undecided", Vec::new(), of_criteria(criteria, Decision::Undecided), reasons.clone())
        }
    }
}

fn of_goal(of: &OfGoal) -> Value {
    let (verdict, unmet, undecided, warnings) = verdict(&of.verdict);
    json!({
        "goal": of.goal, "verdict": verdict, "unmet": unmet, "undecided": undecided, "warnings": warnings,
        "long_enough": of.is_long_enough
    })
}

fn trial(trial: &Trial) -> Value {
    let (verdict, unmet, undecided, warnings) = verdict(&trial.verdict);
    let percentile = |bounds: Option<Bounds>| object(bounds.map(|bounds| bounds.upper), trial.timeout_ns);
    let bounds = |bounds: Option<Bounds>| bounds.map(|bounds| one_as_json(bounds, trial.timeout_ns));
    json!({
        "number": trial.number,
        "purpose": trial.purpose.text(),
        "load": trial.load,
        "lasted_ns": trial.lasted_ns,
        "planned_ns": trial.planned_ns,
        "queries": trial.queries,
        "lost": trial.lost,
        "lost_by_us_at_most": trial.ours,
        "errors": trial.errors,
        "answered_qps": trial.answered_qps,
        "p50": percentile(trial.p50),
        "p99": percentile(trial.p99),
        "bounds": { "p50": bounds(trial.p50), "p99": bounds(trial.p99) },
        "mean_ns": trial.mean_ns,
        "verdict": verdict,
        "unmet": unmet,
        "undecided": undecided,
        "warnings": warnings,
        "goals": trial.goals.iter().map(of_goal).collect::<Vec<_>>(),
    })
}

//! A comparison for programs. Durations are in nanoseconds, rates in queries per second, shares from 0 to 1.

use serde_json::{Value, json};

use super::words::{note, sentence, verdict_words};
use crate::compare::{
    BoundOutcome, BoundState, Compared, Comparison, Figure, Kind, Mismatch, Needed, NotJudged, Outcome,
    PastBaseline, Verdict,
};

/// One JSON object.
pub fn comparison_json(comparison: &Comparison) -> Value {
    let bound = |outcome: &BoundOutcome| {
        let (state, why) = match outcome.state {
            BoundState::Kept => ("kept", None),
            BoundState::Exceeded => ("exceeded", None),
            BoundState::NotJudged(why) => ("not_judged", Some(not_judged_key(why))),
        };
        let needed = match outcome.state {
            BoundState::NotJudged(NotJudged::ReachesBeyond { needed }) => needed_json(needed),
            BoundState::NotJudged(NotJudged::NeverVaried { units }) => needed_json(Needed::Units(units)),
            _ => Value::Null,
        };
        json!({ "bound": outcome.text, "state": state, "why": why, "would_tell": needed })
    };
    json!({
        "sentence": sentence(comparison),
        "outcome": outcome_key(comparison.outcome),
        "asked": comparison.asked,
        "baseline": comparison.baseline,
        "candidate": comparison.candidate,
        "judged_first": comparison.metrics.first().map(|metric| &metric.name),
        "metrics": comparison.metrics.iter().map(metric).collect::<Vec<_>>(),
        "steps": comparison.steps.iter().map(metric).collect::<Vec<_>>(),
        "fail_if": comparison.bounds.iter().map(bound).collect::<Vec<_>>(),
        "not_asked_alike": comparison.unlike.iter().map(unlike).collect::<Vec<_>>(),
        "notes": comparison.notes.iter().map(note).collect::<Vec<_>>(),
        "past": comparison.past.as_ref().map(past),
        "seed": comparison.seed,
    })
}

/// The overall verdict as a word for programs.
pub fn outcome_key(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "better",
        Outcome::Worse => "worse",
        Outcome::Mixed => "mixed",
        Outcome::NoDifference => "no_difference",
        Outcome::Undecided => "undecided",
        Outcome::TooFew => "too_few",
    }
}

/// The verdict on a metric as a word for programs.
pub fn verdict_key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoDifference => "no_difference",
        Verdict::MayBeOurs => "may_be_ours",
        Verdict::NotCompared => "not_compared",
        Verdict::TooFew => "too_few",
    }
}

fn not_judged_key(why: NotJudged) -> &'static str {
    match why {
        NotJudged::NotMeasured => "not_measured",
        NotJudged::OnlyRefusals => "only_refusals",
        NotJudged::TooFewRuns => "too_few_runs",
        NotJudged::BeyondTimeout | NotJudged::NoEnd => "beyond_timeout",
        NotJudged::MayBeOurs => "may_be_ours",
        NotJudged::NeverVaried { .. } => "never_varied",
        NotJudged::ReachesBeyond { .. } => "reaches_beyond",
    }
}

/// What would tell whether a bound is kept: a number of runs on each side, of sessions of the past, or how many times
/// the queries.
fn needed_json(needed: Needed) -> Value {
    match needed {
        Needed::Runs(runs) => json!({ "runs": runs }),
        Needed::TimesTheQueries(times) => json!({ "times_the_queries": times }),
        Needed::Units(units) => json!({ "units_of_the_past": units }),
        Needed::FewMore | Needed::TooMany | Needed::NoPast => Value::Null,
    }
}

fn past(past: &PastBaseline) -> Value {
    let left_out = &past.left_out;
    json!({
        "units": past.units,
        "are_sessions": past.are_sessions,
        "fewest": past.fewest,
        "left_out": {
            "other_kind": left_out.other_kind,
            "later": left_out.later,
            "unfinished": left_out.unfinished,
            "unreadable": left_out.unreadable,
            "older": left_out.older,
            "first_of_sessions": left_out.first,
        },
    })
}

/// The unit of a metric as a word for programs.
pub fn unit_key(kind: Kind) -> &'static str {
    match kind {
        Kind::Duration => "ns",
        Kind::Rate => "qps",
        Kind::Share => "share",
    }
}

fn metric(metric: &Compared) -> Value {
    let change = metric.change.map(|change| {
        let factor = change.factor().map(|factor| {
            let ends = factor.interval;
            json!({
                "estimate": factor.estimate,
                "low": ends.map(|ends| ends.from),
                "high": ends.map(|ends| ends.to),
            })
        });
        json!({
            "factor": factor,
            "estimate": change.estimate,
            "is_ratio": change.is_ratio,
            "at_least": change.at_least,
            "from": change.interval.map(|ends| ends.from),
            "to": change.interval.map(|ends| ends.to),
            "shown_9_in_10": change.shown,
            "runs_needed": change.runs_needed,
        })
    });
    json!({
        "name": metric.name,
        "unit": unit_key(metric.kind),
        "less_is_better": metric.less_is_better,
        "baseline": side(metric.baseline_median, &metric.baseline),
        "candidate": side(metric.candidate_median, &metric.candidate),
        "change": change,
        "possible": metric.possible.interval.map(|ends| json!({ "from": ends.from, "to": ends.to })),
        "effect_a12": metric.effect,
        "p_value": metric.probability.alone,
        "p_adjusted": metric.probability.together,
        "p_without_ours": metric.possible.probability_apart,
        "level": metric.level.value,
        "is_rounded": metric.is_rounded,
        "verdict": verdict_key(metric.verdict),
        "words": verdict_words(metric),
    })
}

fn side(median: Figure, figures: &[Figure]) -> Value {
    json!({ "median": one(median), "runs": figures.iter().map(|figure| one(*figure)).collect::<Vec<_>>() })
}

fn one(figure: Figure) -> Value {
    json!({ "value": figure.value, "beyond_timeout": figure.beyond_timeout })
}

fn unlike(unlike: &Mismatch) -> Value {
    let value = |(value, runs): &(String, Vec<String>)| json!({ "value": value, "runs": runs });
    json!({ "what": unlike.what, "values": unlike.values.iter().map(value).collect::<Vec<_>>() })
}

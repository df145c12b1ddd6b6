//! The results of goals by the terms of RFC 9971, as text and as JSON.

use dnsdyno_text::safe;
use dnsdyno_text::units::{percent, rate};
use serde_json::{Value, json};

use crate::find::{Classified, GoalResult, Irregular, LoadClass, SearchGoal};

/// The bounds of a goal in a few words: `lossless 48,300..48,510 qps, conditional throughput 48,300`.
pub(super) fn goal_answer(result: &GoalResult, unit: &str) -> String {
    let name = safe(&result.goal.name);
    let throughput = result
        .conditional_throughput
        .map_or(String::new(), |load| format!(", conditional throughput {}", rate(load)));
    match (result.irregular, result.lower, result.upper) {
        (None, Some(lower), Some(upper)) => {
            format!("{name} {}..{} {unit}{throughput}", rate(lower), rate(upper))
        }
        (_, Some(lower), _) => format!("{name} at least {} {unit} (irregular){throughput}", rate(lower)),
        (_, None, Some(upper)) => format!("{name} below {} {unit} (irregular)", rate(upper)),
        (_, None, None) => format!("{name} not judged (irregular)"),
    }
}

/// The same in sentences.
pub(super) fn goal_text(result: &GoalResult, unit: &str) -> String {
    let bound = |load: Option<f64>| load.map_or("none".to_owned(), |load| format!("{} {unit}", rate(load)));
    let kind = if result.irregular.is_some() { "irregular" } else { "regular" };
    let mut text = format!(
        "{}: {kind} Goal Result: Relevant Lower Bound {}, Relevant Upper Bound {}",
        safe(&result.goal.short_text()),
        bound(result.lower),
        bound(result.upper)
    );
    if let Some(width) = result.width() {
        text += &format!(" ({} of it apart; Goal Width {})", percent(width), percent(result.goal.width));
    }
    if let (Some(load), Some(answers)) = (result.conditional_throughput, result.answers_qps) {
        let load = if load == answers { String::new() } else { format!("{} {unit}, ", rate(load)) };
        text += &format!(
            "; Conditional Throughput {load}{} answers a second, what a trial at the Relevant Lower Bound is expected \
             to give",
            rate(answers)
        );
    }
    if let Some(irregular) = result.irregular {
        text += &format!("; irregular because {}", why(irregular, result, unit));
    }
    let (growing, of) = result.growing;
    if growing > 0 {
        text += &format!(
            "; in {growing} of {of} trials without too much loss at the Relevant Lower Bound the queue grew to the \
             end: this load is not held, only not lost yet; a longer Goal Final Trial Duration gives a lower bound"
        );
    }
    text
}

/// Why a result is irregular.
fn why(irregular: Irregular, result: &GoalResult, unit: &str) -> String {
    match irregular {
        Irregular::MaxLoad => {
            format!("Max Load, {} {unit}, is a Lower Bound: no higher load was tried", rate(result.loads.1))
        }
        Irregular::MinLoad => {
            format!("Min Load, {} {unit}, is an Upper Bound: no lower load was tried", rate(result.loads.0))
        }
        Irregular::Generator { load } => format!(
            "from {} {unit} on it depends on the generator or its host what a trial has lost",
            rate(load)
        ),
        Irregular::NoLoadBetween => "there is no load between the bounds".to_owned(),
        Irregular::Trials => "the trials that were allowed are used up (--trials)".to_owned(),
    }
}

/// The results of all goals; `None` where the method has none.
pub(super) fn goals_json<'a>(results: impl Iterator<Item = &'a GoalResult>) -> Option<Value> {
    let results: Vec<&GoalResult> = results.collect();
    let first = results.first()?;
    Some(json!({
        "rfc": 9971,
        "min_load": first.loads.0,
        "max_load": first.loads.1,
        "trial_effective_duration": "trial_duration",
        "goal_width": "(upper - lower) / upper",
        "goals": results.iter().map(|result| goal_json(result)).collect::<Vec<_>>(),
    }))
}

fn goal_json(result: &GoalResult) -> Value {
    let SearchGoal {
        name,
        loss_ratio,
        final_trial_ns,
        duration_sum_ns,
        exceed_ratio,
        width,
        initial_trial_ns,
    } = &result.goal;
    let (growing, low_loss) = result.growing;
    json!({
        "name": name,
        "goal_loss_ratio": loss_ratio,
        "goal_final_trial_duration_ns": final_trial_ns,
        "goal_duration_sum_ns": duration_sum_ns,
        "goal_exceed_ratio": exceed_ratio,
        "goal_width": width,
        "goal_initial_trial_duration_ns": initial_trial_ns,
        "result": if result.irregular.is_some() { "irregular" } else { "regular" },
        "irregular": result.irregular.map(irregular_name),
        "in_doubt_from": match result.irregular { Some(Irregular::Generator { load }) => Some(load), _ => None },
        "relevant_lower_bound": result.lower,
        "relevant_upper_bound": result.upper,
        "width": result.width(),
        "conditional_throughput": result.conditional_throughput,
        "conditional_throughput_answers_qps": result.answers_qps,
        "low_loss_trials": low_loss,
        "low_loss_trials_with_growing_queue": growing,
        "loads": result.classified.iter().map(load_json).collect::<Vec<_>>(),
    })
}

pub(super) fn irregular_name(irregular: Irregular) -> &'static str {
    match irregular {
        Irregular::MaxLoad => "max_load",
        Irregular::MinLoad => "min_load",
        Irregular::Generator { .. } => "generator",
        Irregular::NoLoadBetween => "no_load_between",
        Irregular::Trials => "trials",
    }
}

fn load_json(of: &Classified) -> Value {
    let class = match of.ratios.class {
        LoadClass::UpperBound => "upper_bound",
        LoadClass::LowerBound => "lower_bound",
        LoadClass::Undecided => "undecided",
    };
    json!({
        "load": of.load,
        "full_length_low_loss_ns": of.sums.full_low_ns,
        "full_length_high_loss_ns": of.sums.full_high_ns,
        "short_low_loss_ns": of.sums.short_low_ns,
        "short_high_loss_ns": of.sums.short_high_ns,
        "optimistic_exceed_ratio": of.ratios.optimistic,
        "pessimistic_exceed_ratio": of.ratios.pessimistic,
        "class": class,
    })
}

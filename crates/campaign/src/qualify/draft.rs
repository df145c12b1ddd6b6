//! The options of the run of each test.

use dnsdyno_plan::Draft;
use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};

use super::test::{Settings, Test};

/// The stair from step `from` on, as many steps as one record tells apart; and how many these are.
pub(super) fn stair(base: &Draft, settings: &Settings, from: usize) -> (Draft, usize) {
    let steps = settings.steps.get(from..).unwrap_or_default();
    let steps = steps.get(..MOST_STEPS).unwrap_or(steps);
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return (base.clone(), 0) };
    let draft = match steps.len() {
        // A stair of one step has no phases.
        1 => Draft {
            rate: Some(rate(*first)),
            duration: Some(format_duration_ns(settings.hold_ns)),
            ..base.clone()
        },
        _ => Draft {
            stair: Some(format!("{}..{}", rate(*first), rate(*last))),
            step: Some(rate(settings.step_qps)),
            hold: Some(format_duration_ns(settings.hold_ns)),
            ..base.clone()
        },
    };
    let name = format!("stair from {}", rate(*first));
    (with_conditions(draft, settings, name, settings.hold_ns), steps.len())
}

/// A test with one load, for so long.
pub(super) fn constant(base: &Draft, settings: &Settings, test: Test, qps: f64, for_ns: u64) -> Draft {
    let draft = Draft { rate: Some(rate(qps)), duration: Some(format_duration_ns(for_ns)), ..base.clone() };
    with_conditions(draft, settings, format!("{} at {}", test.name(), rate(qps)), settings.length_ns(test))
}

/// How long errors must last in a test of this length to be continuous, in ns.
pub(super) fn continuous_ns(settings: &Settings, length_ns: u64) -> u64 {
    settings.criteria.continuous_ns.min(length_ns)
}

/// The text of the condition that errors of a kind are continuous.
pub(super) fn condition(settings: &Settings, name: &str, length_ns: u64) -> String {
    format!("{name}>0 for {}", format_duration_ns(continuous_ns(settings, length_ns)))
}

/// Ends the run where it has failed; those of the user stay.
fn with_conditions(draft: Draft, settings: &Settings, name: String, length_ns: u64) -> Draft {
    let errors = settings.criteria.errors.iter().map(|(name, _)| condition(settings, name, length_ns));
    let conditions = draft.stop_when.iter().flatten().cloned().chain(errors).chain([slow(settings)]);
    Draft { stop_when: Some(conditions.collect()), name: Some(name), ..draft }
}

/// The text of the condition that a response took too long.
pub(super) fn slow(settings: &Settings) -> String {
    // Conditions have no larger unit than a second.
    format!("response.slowest>{}s", settings.criteria.response_ns as f64 * 1e-9)
}

fn rate(qps: f64) -> String {
    format_rate_qps(qps)
}

/// More steps would not each have a row in the summary of a record.
const MOST_STEPS: usize = dnsdyno_record::MAX_PHASE_ROWS - 4;

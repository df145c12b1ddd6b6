//! Expectations and conditions of a plan, evaluated on the figures of a record.
//!
//! ```text
//!   Digest (the whole run) ──► evaluate ──► Outcome, one for each --expect
//!   Interval by interval ──┬─► Each ──────► EachOutcome, one for each --expect-each
//!                          └─► StopWatch ─► the condition of --stop-when that holds
//! ```
//!
//! A figure has two ends: as measured, and without what the generator may have added. An expectation is met where both
//! meet it, not met where neither does, and else undecided. One on a figure that was not measured is not met and says
//! so: a run without responses has no p99 below 5 ms.

mod at_end;
mod decision;
mod each;
mod kept;
mod measured;
mod part;
mod stop;

pub use at_end::AtEnd;
pub use decision::Decision;
pub use each::{Each, EachOutcome, MAX_MISSED_KEPT, Missed, PartKind, evaluate_each};
pub use kept::{Expectations, Judged, KeptError};
pub use measured::{Ends, Measured, measure_row, measure_run};
pub use stop::StopWatch;

use dnsdyno_plan::expect::Expectation;

use crate::{Digest, Row};
use decision::decide;

/// The outcome of an expectation on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The expectation as given.
    pub text: String,
    /// The measured figure with its ends.
    pub ends: Ends,
    /// Whether it is as expected.
    pub decision: Decision,
}

/// Checks a run against all of `expectations`, in their order.
pub fn evaluate(expectations: &[Expectation], digest: &Digest) -> Vec<Outcome> {
    expectations
        .iter()
        .map(|expectation| outcome(expectation, measure_run(expectation.metric, digest)))
        .collect()
}

/// Checks a row of the summary of a run, such as a step of its load, against all of `expectations`.
pub fn evaluate_row(expectations: &[Expectation], digest: &Digest, row: &Row) -> Vec<Outcome> {
    let measure = |expectation: &Expectation| measure_row(expectation.metric, digest, row);
    expectations.iter().map(|expectation| outcome(expectation, measure(expectation))).collect()
}

fn outcome(expectation: &Expectation, ends: Ends) -> Outcome {
    Outcome { text: expectation.text.clone(), decision: decide(expectation, &ends), ends }
}

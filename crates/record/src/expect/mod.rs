//! Expectations and conditions of a plan, evaluated on the figures of a record.
//!
//! ```text
//!   Digest (the whole run) ──► evaluate ──► Outcome, one for each --expect
//!   Interval by interval ──┬─► Each ──────► EachOutcome, one for each --expect-each
//!                          └─► StopWatch ─► the condition of --stop-when that holds
//! ```
//!
//! An expectation on a figure that was not measured fails and says so: a run without responses has no p99 below 5 ms.

mod each;
mod holds;
mod kept;
mod measured;
mod stop;

pub use each::{Each, EachOutcome, MAX_MISSED_KEPT, Missed, PartKind, evaluate_each};
pub use kept::{Expectations, Judged, KeptError};
pub use measured::{Measured, measure_row, measure_run};
pub use stop::StopWatch;

use dnsdyno_plan::expect::Expectation;

use crate::{Digest, Header, Row};
use holds::holds;

/// The outcome of an expectation on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The expectation as given.
    pub text: String,
    /// The measured figure.
    pub measured: Measured,
    /// Whether it is true.
    pub passed: bool,
}

/// Checks a run against all of `expectations`, in their order.
pub fn evaluate(expectations: &[Expectation], digest: &Digest) -> Vec<Outcome> {
    let outcome = |expectation: &Expectation| {
        let measured = measure_run(expectation.metric, digest);
        Outcome { text: expectation.text.clone(), passed: holds(expectation, &measured), measured }
    };
    expectations.iter().map(outcome).collect()
}

/// Checks a row of the summary of a run, such as a step of its load, against all of `expectations`.
pub fn evaluate_row(expectations: &[Expectation], header: &Header, row: &Row) -> Vec<Outcome> {
    let outcome = |expectation: &Expectation| {
        let measured = measure_row(expectation.metric, header, row);
        Outcome { text: expectation.text.clone(), passed: holds(expectation, &measured), measured }
    };
    expectations.iter().map(outcome).collect()
}

//! Why runs are not compared.

use super::side::Side;

/// Why runs are not compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// A run counts twice.
    #[error("{first} and {second} are the same run: name each run once, because a copy hides the noise")]
    Twice {
        /// Its first label.
        first: String,
        /// Its second label.
        second: String,
    },
    /// A side is empty.
    #[error("the {side} has no runs left: name more runs, or leave out --drop-first")]
    NoRuns {
        /// The side.
        side: Side,
    },
    /// The metric to judge by.
    #[error("{name} was not measured in {run}: judge by another metric with --by, such as p50")]
    NotMeasured {
        /// The metric.
        name: String,
        /// A run without it.
        run: String,
    },
    /// No metric at all.
    #[error("there is nothing to compare: no rate, loss or latency was measured in each of the runs")]
    Nothing,
}

//! Why runs are not compared.

use super::figure::Missing;
use super::past_baseline::LeftOut;
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
    #[error(
        "{name} was not measured in {run}{}: judge by another metric with --by, such as {}",
        why.is_in_words(), why.other()
    )]
    NotMeasured {
        /// The metric.
        name: String,
        /// A run without it.
        run: String,
        /// Why.
        why: Missing,
    },
    /// No earlier run.
    #[error(
        "the folder of the past has no earlier run of the kind of the new ones ({left_out}): the same plan, server \
         with its port, and host are needed; make runs with the same command"
    )]
    NoPast {
        /// What it has.
        left_out: LeftOut,
    },
    /// No metric at all.
    #[error("there is nothing to compare: no rate, loss or latency was measured in each of the runs")]
    Nothing,
}

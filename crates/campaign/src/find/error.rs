//! What is wrong with the options of a search; each sentence says what to do.

use dnsdyno_plan::expect::ExpectError;
use dnsdyno_text::notation::UnitError;

use super::written::GoalError;

/// Why a search is not valid; each sentence says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FindError {
    /// There is no such method.
    #[error("--method {0}: use search, stair, ramp, window, rfc2544, rfc8219 or mlrsearch")]
    Method(String),
    /// There is no such thing.
    #[error("--find {0}: use qps (queries per second), connections (per second) or clients (held)")]
    What(String),
    /// An option of the load.
    #[error("--{option} cannot be used here, because the search sets it: {instead}")]
    SetBySearch {
        /// The option.
        option: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// An option of another method.
    #[error("--{option} is for {of}: remove it, or change the method")]
    OfMethod {
        /// The option.
        option: &'static str,
        /// The methods that it is for.
        of: &'static str,
    },
    /// A method needs an option.
    #[error("--method {method} needs --{option}: {why}")]
    Needs {
        /// The method.
        method: &'static str,
        /// The option.
        option: &'static str,
        /// What it is.
        why: &'static str,
    },
    /// Connections over UDP.
    #[error("--find {0} needs connections: add --transport tcp, dot, doh, doq or doh3")]
    NoConnections(&'static str),
    /// A method that has only queries.
    #[error("--method {method} finds queries per second only: remove --find, or use --method search")]
    QueriesOnly {
        /// The method.
        method: &'static str,
    },
    /// A criterion.
    #[error(transparent)]
    Criterion(#[from] ExpectError),
    /// A goal.
    #[error(transparent)]
    Goal(#[from] Box<GoalError>),
    /// A quantity.
    #[error("--{option}: {error}")]
    Quantity {
        /// The option.
        option: &'static str,
        /// Why.
        error: UnitError,
    },
    /// A quantity out of range.
    #[error("--{option} {text}: {needs}")]
    Range {
        /// The option.
        option: &'static str,
        /// As given.
        text: String,
        /// What it must be.
        needs: &'static str,
    },
    /// The lowest load is above the highest.
    #[error(
        "the loads are not in order: --least {least}, --from {start}, --most {most}: each must be at most the next"
    )]
    Order {
        /// The lowest load.
        least: String,
        /// The first.
        start: String,
        /// The highest.
        most: String,
    },
    /// The steps of a stair are too short for a criterion.
    #[error(transparent)]
    TooFew(Box<TooFew>),
    /// A stair has more steps than a record tells apart.
    #[error(
        "a stair has {most} steps at most, and this one has {steps}: use --step {step}, or --method search"
    )]
    Steps {
        /// Its steps.
        steps: String,
        /// As many as it may have.
        most: String,
        /// A height that is enough.
        step: String,
    },
    /// An interval of a stair would belong to two steps.
    #[error(
        "--hold {hold} is no multiple of --interval {interval}: each step is judged by its own intervals; change one"
    )]
    Interval {
        /// The interval.
        interval: String,
        /// The length of a step.
        hold: String,
    },
    /// A time of more than a month.
    #[error(
        "this would take up to {0}: use fewer trials (--trials, --repeats) or shorter ones (--trial, --least, the \
         durations of goals)"
    )]
    TooLong(String),
}

/// The steps of a stair are too short for a criterion.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "`{criterion}` needs {needed} queries in each step, and --hold {hold} at --from {start} has {has}: use --hold \
     {better} or --from {higher}"
)]
pub struct TooFew {
    /// The criterion.
    pub criterion: String,
    /// Queries that it needs.
    pub needed: String,
    /// The length of a step.
    pub hold: String,
    /// The first step.
    pub start: String,
    /// Its queries.
    pub has: String,
    /// A length that is enough.
    pub better: String,
    /// A load that is enough.
    pub higher: String,
}

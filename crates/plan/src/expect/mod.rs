//! Expectations and conditions: what a run must show to pass, `loss<0.1%`, and what ends it early,
//! `loss>1% for 3s`.
//!
//! ```text
//!   service.p99.9   <=   5ms   [for 3s]
//!   metric          op   bound  time, of a condition
//! ```
//!
//! And the bounds of a comparison: `p99 +5%`. Only the notation is defined here. Expectations are evaluated on the
//! figures of a record, in `dnsdyno-record`; bounds on those of several runs, in `dnsdyno-campaign`.

mod bound;
mod change;
mod limit;
mod metric;

pub use bound::{Bound, Unit};
pub use change::{ChangeBound, ComparedMetric};
pub(crate) use limit::StopLimit;
pub use metric::{AnswerCount, Durations, Figure, METRICS, Metric, PacketCount, QueryCount, ResponseCount};

use dnsdyno_text::shown;

use dnsdyno_text::notation::parse_duration_ns;

/// One expectation, validated when parsed: the metric exists and the bound has its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// As the user wrote it.
    pub text: String,
    /// What is measured.
    pub metric: Metric,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub bound: Bound,
}

/// A condition that ends a run: an expectation that holds for some time.
#[derive(Clone, Debug, PartialEq)]
pub struct StopCondition {
    /// As the user wrote it.
    pub text: String,
    /// What must hold in each interval.
    pub holds: Expectation,
    /// For how long, in nanoseconds; 0 = one interval.
    pub for_ns: u64,
}

/// Why an expectation is not valid. The message lists what is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpectError {
    /// There is no `<`, `<=`, `>`, `>=` or `=` in it.
    #[error("`{0}` has no comparison: write METRIC<BOUND with one of < <= > >= =, such as 'p99<5ms'")]
    NoComparison(String),
    /// The name of the metric is not known.
    #[error("`{text}`: there is no metric `{name}`; use {known}", known = known_metrics())]
    UnknownMetric {
        /// The expectation.
        text: String,
        /// The name in it.
        name: String,
    },
    /// The bound is not valid for the metric.
    #[error("`{text}`: `{bound}` is not a valid bound for {metric}, which {needed}")]
    WrongBound {
        /// The expectation.
        text: String,
        /// The bound in it.
        bound: String,
        /// The metric.
        metric: String,
        /// The kind of bound it needs.
        needed: &'static str,
    },
    /// `generator` is either ok or not; it has no order.
    #[error("`{0}`: generator can only be compared with =, as in 'generator=ok'")]
    NoOrder(String),
    /// `generator` is judged once, at the end.
    #[error("`{0}`: this is judged for the whole run only: use --expect")]
    WholeRunOnly(String),
    /// A bound on a change has no sign.
    #[error("`{0}` is no bound on a change: write METRIC +N% or METRIC -N%, such as 'p99 +5%' or 'rate -5%'")]
    NoChange(String),
    /// The metric has no figure that two runs can be compared by.
    #[error("`{text}`: {name} has no figure to compare: use a percentile, a rate or a share of the queries")]
    NotCompared {
        /// As given.
        text: String,
        /// The metric.
        name: String,
    },
    /// A limit of the queries that are behind or outstanding.
    #[error("`{text}`: {name} ends the run at once: write a whole number above 0, as in '{name}>=1000'")]
    Limit {
        /// As given.
        text: String,
        /// `behind` or `outstanding`.
        name: String,
    },
    /// The time of a condition.
    #[error("`{text}`: `{time}` is not a duration: write a number and ms, s or m, as in 'loss>1% for 3s'")]
    Time {
        /// The condition.
        text: String,
        /// The time in it.
        time: String,
    },
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `=`
    Equal,
}

impl Expectation {
    /// Reads an expectation on a whole run; blanks around its parts do not matter, nor does the case of names.
    ///
    /// # Errors
    /// Where the metric or the bound is not valid; the message says what is.
    pub fn parse(text: &str) -> Result<Expectation, ExpectError> {
        let text = text.trim();
        let echo = || shown(text, MAX_SHOWN).into_owned();
        let (name, comparison, bound_text) =
            Comparison::split(text).ok_or_else(|| ExpectError::NoComparison(echo()))?;
        let metric = Metric::parse(name).ok_or_else(|| ExpectError::UnknownMetric {
            text: echo(),
            name: shown(name, MAX_SHOWN).into_owned(),
        })?;
        if metric == Metric::Generator && comparison != Comparison::Equal {
            return Err(ExpectError::NoOrder(echo()));
        }
        let bound = Bound::parse(bound_text, metric.unit()).ok_or_else(|| ExpectError::WrongBound {
            text: echo(),
            bound: shown(bound_text, MAX_SHOWN).into_owned(),
            metric: name.to_owned(),
            needed: metric.unit().needed(),
        })?;
        Ok(Expectation { text: text.to_owned(), metric, comparison, bound })
    }

    /// Reads an expectation on a part of a run: a step of the load, or an interval.
    ///
    /// # Errors
    /// As [`Expectation::parse`], and where only a whole run has the metric.
    pub fn parse_of_part(text: &str) -> Result<Expectation, ExpectError> {
        let expectation = Expectation::parse(text)?;
        match expectation.metric {
            Metric::Generator | Metric::Answers(_) => Err(ExpectError::WholeRunOnly(expectation.text)),
            _ => Ok(expectation),
        }
    }

    /// Whether it is on how many queries were answered or not, so that a run without answers can meet it.
    pub fn is_on_answers(&self) -> bool {
        matches!(self.metric, Metric::Queries(_))
    }
}

impl StopCondition {
    /// Reads a condition: an expectation, and optionally `for` with a duration.
    ///
    /// # Errors
    /// As [`Expectation::parse_of_part`], and where the duration is not valid.
    pub fn parse(text: &str) -> Result<StopCondition, ExpectError> {
        let text = text.trim();
        let (condition, time) = match text.rsplit_once(" for ") {
            Some((condition, time)) => (condition, Some(time.trim())),
            None => (text, None),
        };
        let wrong = |time: &str| ExpectError::Time {
            text: shown(text, MAX_SHOWN).into_owned(),
            time: shown(time, MAX_SHOWN).into_owned(),
        };
        let for_ns = match time {
            Some(time) => parse_duration_ns(time).ok().filter(|ns| *ns > 0).ok_or_else(|| wrong(time))?,
            None => 0,
        };
        Ok(StopCondition { text: text.to_owned(), holds: Expectation::parse_of_part(condition)?, for_ns })
    }
}

impl Comparison {
    /// The text before the first operator, the operator, and the text after it.
    fn split(text: &str) -> Option<(&str, Comparison, &str)> {
        let at = text.find(['<', '>', '='])?;
        let operators = [
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
            ("==", Comparison::Equal),
            ("=", Comparison::Equal),
        ];
        let (operator, comparison) = operators.into_iter().find(|(sign, _)| text[at..].starts_with(sign))?;
        Some((text[..at].trim(), comparison, text[at + operator.len()..].trim()))
    }

    /// Whether a measured figure is as the bound requires.
    pub fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Comparison::Less => measured < bound,
            Comparison::LessOrEqual => measured <= bound,
            Comparison::Greater => measured > bound,
            Comparison::GreaterOrEqual => measured >= bound,
            Comparison::Equal => measured == bound,
        }
    }

    /// As [`holds`](Self::holds), where the bound was computed and its last bits are noise.
    pub fn holds_with(self, measured: f64, bound: f64) -> bool {
        let is_equal = (measured - bound).abs() <= bound.abs() * 1e-12;
        match self {
            Comparison::Less => measured < bound && !is_equal,
            Comparison::LessOrEqual => measured < bound || is_equal,
            Comparison::Greater => measured > bound && !is_equal,
            Comparison::GreaterOrEqual => measured > bound || is_equal,
            Comparison::Equal => is_equal,
        }
    }

    /// Whether larger figures fulfil it.
    pub fn is_upward(self) -> bool {
        matches!(self, Comparison::Greater | Comparison::GreaterOrEqual)
    }
}

/// What an error lists.
fn known_metrics() -> String {
    METRICS.iter().map(|metrics| metrics.names).collect::<Vec<_>>().join(", ")
}

/// How many characters of an invalid expectation are shown.
const MAX_SHOWN: usize = 80;

#[cfg(test)]
mod tests;

//! Expectations: what a run must show to pass, `loss<0.1%` or `p99<5ms`.
//!
//! ```text
//!   service.p99.9   <=   5ms
//!   metric          op   bound, in the metric's own unit
//! ```
//!
//! An expectation on a figure that was not measured fails and says so: a run without responses has no p99 below 5 ms.

mod bound;
mod metric;

use dnsdyno_record::Digest;

use bound::Bound;
use metric::{Measured, Metric};

/// One expectation, validated when parsed: the metric exists and the bound has its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    text: String,
    metric: Metric,
    comparison: Comparison,
    bound: Bound,
}

/// The outcome of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The expectation as given.
    pub text: String,
    /// The measured figure as text.
    pub measured: String,
    /// Whether it is true.
    pub passed: bool,
}

/// Why an expectation is not valid. The message lists what is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpectError {
    /// There is no `<`, `<=`, `>`, `>=` or `=` in it.
    #[error(
        "expectation {0:?} has no comparison: write METRIC<BOUND with one of < <= > >= =, such as 'p99<5ms'"
    )]
    NoComparison(String),
    /// The name of the metric is not known.
    #[error("expectation {text:?}: unknown metric {name:?}; known are {KNOWN_METRICS}")]
    UnknownMetric {
        /// The expectation.
        text: String,
        /// The name in it.
        name: String,
    },
    /// The bound is not valid for the metric.
    #[error("expectation {text:?}: {bound:?} is not a valid bound for {metric}, which {needed}")]
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
    #[error("expectation {0:?}: generator can only be compared with =, as in 'generator=ok'")]
    NoOrder(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

impl Expectation {
    /// Reads an expectation; blanks around its parts do not matter, nor does the case of names.
    ///
    /// # Errors
    /// Where the metric or the bound is not valid; the message says what is.
    pub fn parse(text: &str) -> Result<Expectation, ExpectError> {
        let text = text.trim();
        let (name, comparison, bound_text) =
            Comparison::split(text).ok_or_else(|| ExpectError::NoComparison(text.to_owned()))?;
        let metric = Metric::parse(name)
            .ok_or_else(|| ExpectError::UnknownMetric { text: text.to_owned(), name: name.to_owned() })?;
        if metric == Metric::Generator && comparison != Comparison::Equal {
            return Err(ExpectError::NoOrder(text.to_owned()));
        }
        let bound = Bound::parse(bound_text, metric.unit()).ok_or_else(|| ExpectError::WrongBound {
            text: text.to_owned(),
            bound: bound_text.to_owned(),
            metric: name.to_owned(),
            needed: metric.unit().needed(),
        })?;
        Ok(Expectation { text: text.to_owned(), metric, comparison, bound })
    }

    /// Checks a run against the expectation.
    pub fn check(&self, digest: &Digest) -> Outcome {
        let measured = self.metric.measure(digest);
        let passed = match (&measured, self.bound) {
            (Measured::Duration(ns), Bound::DurationNs(bound)) => self.comparison.holds(*ns as f64, bound),
            // At least the timeout: above every lower bound, below none.
            (Measured::BeyondTimeout { timeout_ns }, Bound::DurationNs(bound)) => {
                self.comparison.is_upward() && *timeout_ns as f64 > bound
            }
            (Measured::Part { part, .. }, Bound::Count(bound)) => self.comparison.holds(*part as f64, bound),
            (Measured::Part { part, whole }, Bound::Share(bound)) => {
                // Compares part with bound × whole: 99.9 % of 1,000 is exactly 999, a quotient may not be exact.
                self.comparison.holds_with(*part as f64, bound * *whole as f64)
            }
            (Measured::Count(count), Bound::Count(bound)) => self.comparison.holds(*count as f64, bound),
            (Measured::Rate(qps), Bound::RateQps(bound)) => self.comparison.holds(*qps, bound),
            (Measured::Generator { is_ok, .. }, Bound::Ok) => *is_ok,
            _ => false,
        };
        Outcome { text: self.text.clone(), measured: measured.to_string(), passed }
    }
}

/// Checks a run against all of `expectations`, in their order.
pub fn evaluate(expectations: &[Expectation], digest: &Digest) -> Vec<Outcome> {
    expectations.iter().map(|expectation| expectation.check(digest)).collect()
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

    fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Comparison::Less => measured < bound,
            Comparison::LessOrEqual => measured <= bound,
            Comparison::Greater => measured > bound,
            Comparison::GreaterOrEqual => measured >= bound,
            Comparison::Equal => measured == bound,
        }
    }

    /// As [`holds`](Self::holds), where the bound was computed and its last bits are noise.
    fn holds_with(self, measured: f64, bound: f64) -> bool {
        let is_equal = (measured - bound).abs() <= bound.abs() * 1e-12;
        match self {
            Comparison::Less => measured < bound && !is_equal,
            Comparison::LessOrEqual => measured < bound || is_equal,
            Comparison::Greater => measured > bound && !is_equal,
            Comparison::GreaterOrEqual => measured > bound || is_equal,
            Comparison::Equal => is_equal,
        }
    }

    fn is_upward(self) -> bool {
        matches!(self, Comparison::Greater | Comparison::GreaterOrEqual)
    }
}

/// What an error lists and the manual explains.
pub const KNOWN_METRICS: &str = "loss, answered, late, timeouts, unreachable, not_sent (percent of the queries, or a \
     count); p50, p90, p99.9 and any other percentile, avg, min, max (with response. or service. before \
     them, or lateness.); rate or qps (answered per second), sent_rate; truncated, noerror, servfail, nxdomain, \
     refused and any other RCODE (percent of the responses, or a count); fallback (retried over TCP, percent \
     of the queries over UDP, or a count); duplicates, unexpected, wrong_question, \
     malformed, socket_drops (a count); generator=ok";

#[cfg(test)]
mod tests;

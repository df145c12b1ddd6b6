//! The bounds of a comparison: `p99 +5%`, a change that makes it fail.

use dnsdyno_text::shown;

use super::bound::decimal;
use super::{ExpectError, MAX_SHOWN, Metric, Unit};

/// A metric that runs are compared by: a duration, a rate or a share.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMetric {
    /// Its name, as expectations have it.
    pub name: String,
    /// What is measured.
    pub metric: Metric,
}

/// The change of a metric that makes a comparison fail.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeBound {
    /// As the user wrote it.
    pub text: String,
    /// What is compared.
    pub of: ComparedMetric,
    /// The bound: 0.05 = 5 % more, −0.05 = 5 % less; of a share in percentage points.
    pub change: f64,
}

impl ComparedMetric {
    /// Reads the name of a metric.
    ///
    /// # Errors
    /// Where there is no such metric, or it has no figure to compare.
    pub fn parse(name: &str) -> Result<ComparedMetric, ExpectError> {
        ComparedMetric::within(name, name)
    }

    /// The metric called `name` in `text`.
    fn within(name: &str, text: &str) -> Result<ComparedMetric, ExpectError> {
        let (name, echo) = (name.trim().to_lowercase(), || shown(text, MAX_SHOWN).into_owned());
        let safe_name = || shown(&name, MAX_SHOWN).into_owned();
        let metric = Metric::parse(&name)
            .ok_or_else(|| ExpectError::UnknownMetric { text: echo(), name: safe_name() })?;
        match metric.unit() {
            Unit::Duration | Unit::Rate | Unit::ShareOrCount => Ok(ComparedMetric { name, metric }),
            Unit::Count | Unit::Verdict => Err(ExpectError::NotCompared { text: echo(), name: safe_name() }),
        }
    }
}

impl ChangeBound {
    /// Reads a bound: a metric, a sign and a percentage. Blanks around the parts do not matter.
    ///
    /// # Errors
    /// Where the metric or the percentage is not valid; the message says what is.
    pub fn parse(text: &str) -> Result<ChangeBound, ExpectError> {
        let text = text.trim();
        let wrong = || ExpectError::NoChange(shown(text, MAX_SHOWN).into_owned());
        let at = text.find(['+', '-']).ok_or_else(wrong)?;
        let (name, signed) = text.split_at(at);
        let sign = if signed.starts_with('-') { -1.0 } else { 1.0 };
        let percent = signed[1..].trim().strip_suffix('%').and_then(|number| decimal(number.trim()));
        let change = sign * percent.ok_or_else(wrong)? / 100.0;
        Ok(ChangeBound { text: text.to_owned(), of: ComparedMetric::within(name, text)?, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_has_a_metric_a_sign_and_a_percentage() {
        for (text, name, change) in
            [("p99 +5%", "p99", 0.05), ("rate -2.5 %", "rate", -0.025), ("Loss+0.1%", "loss", 0.001)]
        {
            let bound = ChangeBound::parse(text).unwrap();
            assert_eq!((bound.of.name.as_str(), bound.text.as_str()), (name, text));
            assert!((bound.change - change).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn what_is_no_bound_is_refused_with_what_is() {
        for text in ["p99", "p99 5%", "p99 +5", "p99 +", "p99 +-5%", "+5%%", "", "p99 +x%"] {
            let error = ChangeBound::parse(text).unwrap_err();
            assert!(error.to_string().contains("p99 +5%"), "{text}: {error}");
        }
        let unknown = ChangeBound::parse("speed +5%").unwrap_err().to_string();
        assert!(unknown.contains("there is no metric `speed`"), "{unknown}");
        for text in ["malformed +5%", "generator +5%"] {
            let error = ChangeBound::parse(text).unwrap_err().to_string();
            assert!(error.contains("has no figure to compare"), "{error}");
        }
    }
}

//! The right-hand side of an expectation: a number and its unit.

/// What an expectation compares with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A share, 0 to 1.
    Share(f64),
    /// A number of queries, responses or packets.
    Count(f64),
    /// In nanoseconds.
    DurationNs(f64),
    /// In queries per second.
    RateQps(f64),
    /// `ok`.
    Ok,
}

/// The kinds of bound of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A percentage or a number.
    ShareOrCount,
    /// A number.
    Count,
    /// A duration.
    Duration,
    /// A rate.
    Rate,
    /// `ok`.
    Verdict,
}

impl Unit {
    /// The kind of bound, as the text after the name of the metric.
    pub(super) fn needed(self) -> &'static str {
        match self {
            Unit::ShareOrCount => "needs a percentage (0.1%) or a whole number (0, 100, 10k)",
            Unit::Count => "needs a whole number (0, 100, 10k)",
            Unit::Duration => "needs a duration with its unit: ns, us, ms or s (5ms, 0.5s)",
            Unit::Rate => "needs a rate per second (10k, 50000, 1.5M, 10k/s)",
            Unit::Verdict => "can only be ok",
        }
    }
}

impl Bound {
    pub(super) fn parse(text: &str, unit: Unit) -> Option<Bound> {
        let text = text.to_lowercase();
        match unit {
            Unit::Verdict => (text == "ok").then_some(Bound::Ok),
            Unit::Duration => duration_ns(&text).map(Bound::DurationNs),
            Unit::Rate => {
                let number = text.strip_suffix("/s").or_else(|| text.strip_suffix("qps")).unwrap_or(&text);
                multiple(number.trim()).map(Bound::RateQps)
            }
            Unit::Count => whole(&text),
            Unit::ShareOrCount => match text.strip_suffix('%') {
                Some(number) => {
                    decimal(number.trim()).filter(|p| *p <= 100.0).map(|p| Bound::Share(p / 100.0))
                }
                // A bare 0.001 could be a share or a typing error, so it is refused.
                None => whole(&text),
            },
        }
    }
}

/// `5ms`, `0.5 s`, `250us`, `250µs`.
fn duration_ns(text: &str) -> Option<f64> {
    // The order matters: every unit ends in "s".
    let units = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, factor) =
        units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    decimal(number.trim()).map(|figure| figure * factor)
}

fn whole(text: &str) -> Option<Bound> {
    multiple(text).filter(|figure| figure.fract() == 0.0).map(Bound::Count)
}

/// A number with `k`, `m` or `g` for thousands, millions and thousands of millions.
fn multiple(text: &str) -> Option<f64> {
    let factors = [("k", 1e3), ("m", 1e6), ("g", 1e9)];
    let found = factors.into_iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)));
    let (number, factor) = found.unwrap_or((text, 1.0));
    decimal(number).map(|figure| figure * factor)
}

/// Digits, `_` between them and one point: no sign, no exponent, no `inf`.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'_');
    if !is_plain || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    text.replace('_', "").parse().ok().filter(|figure: &f64| figure.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_accepts_its_own_bounds() {
        assert_eq!(Bound::parse("5ms", Unit::Duration), Some(Bound::DurationNs(5e6)));
        assert_eq!(Bound::parse("0.5 s", Unit::Duration), Some(Bound::DurationNs(5e8)));
        assert_eq!(Bound::parse("250µs", Unit::Duration), Some(Bound::DurationNs(250e3)));
        assert_eq!(Bound::parse("10k", Unit::Rate), Some(Bound::RateQps(10e3)));
        assert_eq!(Bound::parse("1.5M/s", Unit::Rate), Some(Bound::RateQps(1.5e6)));
        assert_eq!(Bound::parse("99.9%", Unit::ShareOrCount), Some(Bound::Share(99.9 / 100.0)));
        assert_eq!(Bound::parse("1_000", Unit::ShareOrCount), Some(Bound::Count(1e3)));
        assert_eq!(Bound::parse("OK", Unit::Verdict), Some(Bound::Ok));
    }

    #[test]
    fn a_bound_needs_a_number_and_the_right_unit() {
        for text in ["5", "ms", "5 m", "-5ms", "infs", "1e3ms", "", "5%", "1.2.3s"] {
            assert_eq!(Bound::parse(text, Unit::Duration), None, "{text}");
        }
        for text in ["0.1", "101%", "%", "-1%", "5ms", "nan%", ".%"] {
            assert_eq!(Bound::parse(text, Unit::ShareOrCount), None, "{text}");
        }
        assert_eq!(Bound::parse("1%", Unit::Count), None);
        assert_eq!(Bound::parse("10ms", Unit::Rate), None);
        assert_eq!(Bound::parse("bad", Unit::Verdict), None);
    }
}

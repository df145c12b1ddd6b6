//! Parsing and display of faults.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::words::{TextError, duration, error};
use super::{Delay, Faults, Limit, Share, Stall};

impl FromStr for Share {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Share, TextError> {
        let (number, divisor) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent, 100.0),
            None => (text, 1.0),
        };
        let share = number.trim().parse().ok().and_then(|number: f64| Share::new(number / divisor));
        share.ok_or_else(|| error(text, "a share of the queries: write 1% or 0.01, between 0 and 100 %"))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 0.07 × 100 is not exactly 7: percentages are rounded to the billionth.
        write!(f, "{}%", (self.value() * 1e11).round() / 1e9)
    }
}

impl FromStr for Delay {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Delay, TextError> {
        let delay = parse_delay(text.trim()).ok_or_else(|| error(text, DELAY_FORMS))?;
        let faults = Faults { delay: Some(delay), ..Faults::default() };
        faults.validate().map(|()| delay).map_err(|_| error(text, DELAY_FORMS))
    }
}

fn parse_delay(text: &str) -> Option<Delay> {
    let Some((kind, figures)) = text.split_once(':') else {
        return duration(text).map(Delay::Fixed);
    };
    match kind {
        "fixed" => duration(figures).map(Delay::Fixed),
        "uniform" => range(figures).map(|(from, to)| Delay::Uniform { from, to }),
        "normal" => {
            let (mean, deviation) = figures.split_once(',')?;
            Some(Delay::Normal { mean: duration(mean)?, deviation: duration(deviation)? })
        }
        "exp" => duration(figures).map(|mean| Delay::Exponential { mean }),
        "pareto" => {
            let (shortest, shape) = figures.split_once(',')?;
            Some(Delay::Pareto { shortest: duration(shortest)?, shape: shape.trim().parse().ok()? })
        }
        "lognormal" => {
            let (median, sigma) = figures.split_once(',')?;
            Some(Delay::LogNormal { median: duration(median)?, sigma: sigma.trim().parse().ok()? })
        }
        _ => None,
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Fixed(delay) => write!(f, "{delay:?}"),
            Delay::Uniform { from, to } => write!(f, "uniform:{from:?}..{to:?}"),
            Delay::Normal { mean, deviation } => write!(f, "normal:{mean:?},{deviation:?}"),
            Delay::Exponential { mean } => write!(f, "exp:{mean:?}"),
            Delay::LogNormal { median, sigma } => write!(f, "lognormal:{median:?},{sigma}"),
            Delay::Pareto { shortest, shape } => write!(f, "pareto:{shortest:?},{shape}"),
        }
    }
}

impl FromStr for Stall {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Stall, TextError> {
        let stall = range(text.trim()).map(|(from, to)| Stall { from, to });
        stall.filter(|stall| stall.from <= stall.to).ok_or_else(|| {
            error(text, "a stall: write its start and end after the first query, such as 3s..4s")
        })
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}..{:?}", self.from, self.to)
    }
}

impl FromStr for Limit {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Limit, TextError> {
        let (work, after) = text.split_once('@').unwrap_or((text, "0"));
        let work =
            work_at_rate(work.trim()).or_else(|| parse_delay(work).filter(|work| work.middle_ns() > 0));
        work.zip(duration(after)).map(|(work, after)| Limit { work, after }).ok_or_else(|| {
            error(
                text,
                "a limit: write queries a second, such as 5k, or the work of each, such as exp:200us; with @8s from \
                 8 s after the first query on",
            )
        })
    }
}

/// The work of each query, where so many a second are answered.
fn work_at_rate(rate: &str) -> Option<Delay> {
    let (number, factor) = match rate.strip_suffix(['k', 'M']) {
        Some(number) if rate.ends_with('k') => (number, 1e3),
        Some(number) => (number, 1e6),
        None => (rate, 1.0),
    };
    let qps = number.parse::<f64>().ok()? * factor;
    let work = Duration::try_from_secs_f64(qps.recip()).ok().filter(|work| !work.is_zero())?;
    Some(Delay::Fixed(work))
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:?}", self.work, self.after)
    }
}

fn range(text: &str) -> Option<(Duration, Duration)> {
    let (from, to) = text.split_once("..")?;
    Some((duration(from)?, duration(to)?))
}

const DELAY_FORMS: &str = "a delay: write 5ms, uniform:1ms..5ms, normal:MEAN,DEVIATION, exp:MEAN, \
                           lognormal:MEDIAN,SIGMA or pareto:SHORTEST,SHAPE, with durations in ns, us, ms, s or \
                           min, at most an hour";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_as_written_and_shown_so_that_they_read_the_same() {
        let ms = Duration::from_millis;
        let pairs = [
            ("5ms", Delay::Fixed(ms(5))),
            ("1.5s", Delay::Fixed(ms(1500))),
            ("250us", Delay::Fixed(Duration::from_micros(250))),
            ("0", Delay::Fixed(Duration::ZERO)),
            ("uniform:1ms..5ms", Delay::Uniform { from: ms(1), to: ms(5) }),
            ("normal:5ms,1ms", Delay::Normal { mean: ms(5), deviation: ms(1) }),
            ("exp:2ms", Delay::Exponential { mean: ms(2) }),
            ("lognormal:2ms,0.5", Delay::LogNormal { median: ms(2), sigma: 0.5 }),
            ("pareto:2ms,1.5", Delay::Pareto { shortest: ms(2), shape: 1.5 }),
        ];
        for (text, delay) in pairs {
            assert_eq!(text.parse(), Ok(delay), "{text}");
            assert_eq!(delay.to_string().parse(), Ok(delay), "{delay}");
        }
    }

    #[test]
    fn an_invalid_delay_is_refused_with_the_valid_forms() {
        for text in [
            "",
            "5",
            "ms",
            "5 parsecs",
            "-1ms",
            "uniform:5ms..1ms",
            "uniform:1ms",
            "exp:0s",
            "pareto:1ms",
            "pareto:1ms,0",
            "pareto:0,2",
            "lognormal:2ms",
            "lognormal:2ms,-1",
            "lognormal:2ms,x",
            "normal:5ms",
            "2h",
            "1e9s",
            "99999999999999999999s",
        ] {
            let error = text.parse::<Delay>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("'{text}' is not a delay")) && error.contains("uniform:"),
                "{error}"
            );
        }
    }

    #[test]
    fn shares_are_percents_or_fractions() {
        for (text, value) in [("1%", 0.01), ("0.01", 0.01), ("100%", 1.0), ("0", 0.0), (" 2.5 % ", 0.025)] {
            assert_eq!(text.parse::<Share>().map(Share::value), Ok(value), "{text}");
        }
        for text in ["", "%", "101%", "1.5", "-1%", "NaN", "one"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
        assert_eq!("7%".parse::<Share>().unwrap().to_string(), "7%");
        assert_eq!("0.0001".parse::<Share>().unwrap().to_string(), "0.01%");
    }

    #[test]
    fn a_limit_is_a_rate_or_the_work_of_a_query_and_maybe_its_begin() {
        let us = Duration::from_micros;
        let limit = Limit { work: Delay::Fixed(us(200)), after: Duration::from_secs(8) };
        assert_eq!(["5k@8s", " 5000 @ 8s", "200us@8s"].map(str::parse), [Ok(limit), Ok(limit), Ok(limit)]);
        assert_eq!(limit.to_string().parse(), Ok(limit));
        let at_once = Limit { after: Duration::ZERO, ..limit };
        assert_eq!("0.5M".parse(), Ok(Limit { work: Delay::Fixed(us(2)), ..at_once }));
        assert_eq!("exp:60us".parse(), Ok(Limit { work: Delay::Exponential { mean: us(60) }, ..at_once }));
        for text in ["", "0", "-1", "k", "5k@", "5k@8", "nan", "1e9999", "0ms", "exp:0s", "inf"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_stall_is_a_start_and_an_end() {
        let stall = Stall { from: Duration::from_secs(3), to: Duration::from_millis(4500) };
        assert_eq!("3s..4.5s".parse(), Ok(stall));
        assert_eq!(stall.to_string().parse(), Ok(stall));
        for text in ["3s", "4s..3s", "3..4", "..", "3s..", "3s-4s"] {
            assert!(text.parse::<Stall>().is_err(), "{text}");
        }
    }
}

//! The options of a qualification, read and checked.

use dnsdyno_plan::expect::{ExpectError, Expectation, Metric};
use dnsdyno_plan::{Draft, Group};
use dnsdyno_text::notation::{
    UnitError, format_duration_ns, parse_duration_ns, parse_percent, parse_range, parse_rate_qps,
};
use dnsdyno_text::shown;
use serde::Serialize;

use super::function::{Function, FunctionError};
use super::test::{Criteria, Scale, Settings, Test};

/// The options as the user gives them; `None` = not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QualifyOptions {
    /// The range of the stair, `2k..25k`.
    pub stair: Option<String>,
    /// The height of a step.
    pub step: Option<String>,
    /// The length of a step.
    pub hold: Option<String>,
    /// The length of the burst.
    pub burst: Option<String>,
    /// The length of the long run.
    pub long: Option<String>,
    /// What the three lengths are multiplied by, `1/48`.
    pub scale: Option<String>,
    /// The text of the timetable of commands.
    pub function: Option<String>,
    /// Tests that are not made, by their keys.
    pub skip: Vec<String>,
    /// The longest response time.
    pub response_time: Option<String>,
    /// For how long errors are continuous.
    pub continuous: Option<String>,
    /// The largest share of errors.
    pub most_errors: Option<String>,
    /// What an error is.
    pub errors: Option<String>,
    /// The capacity that is needed.
    pub need: Option<String>,
}

/// Why the options are not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// A value cannot be read.
    #[error("--{option}: {source}")]
    Unit {
        /// The option.
        option: &'static str,
        /// Why.
        source: UnitError,
    },
    /// A value is read, and has no meaning.
    #[error("--{option} {why}")]
    Value {
        /// The option.
        option: &'static str,
        /// What is wrong, and what to write.
        why: String,
    },
    /// A kind of error.
    #[error("--errors: {0}")]
    Errors(#[from] ExpectError),
    /// The timetable.
    #[error("--function: {0}")]
    Function(#[from] FunctionError),
    /// An option of `run` that has no meaning here.
    #[error("--{option} is for one run: {instead}")]
    OfRun {
        /// The option.
        option: &'static str,
        /// What to do.
        instead: &'static str,
    },
}

impl QualifyOptions {
    /// Reads and checks the options.
    ///
    /// # Errors
    /// One is not valid.
    pub fn read(&self) -> Result<Settings, SettingsError> {
        let scale = self.scale.as_deref().map(scale).transpose()?.flatten();
        let factor = scale.as_ref().map_or(1.0, |scale| scale.factor);
        let length = |option, text: &Option<String>, default| {
            Ok::<u64, SettingsError>(scaled(length(option, text, default)?, factor))
        };
        let hold_ns = length("hold", &self.hold, "60s")?;
        if !hold_ns.is_multiple_of(GRAIN_NS) {
            let why = format!("must be a multiple of {}", format_duration_ns(GRAIN_NS));
            return Err(value("hold", why));
        }
        let (steps, step_qps) = self.steps()?;
        let settings = Settings {
            steps,
            step_qps,
            hold_ns,
            burst_ns: length("burst", &self.burst, "10m")?,
            long_ns: length("long", &self.long, "48h")?,
            scale,
            function: self.function.as_deref().map(Function::from_toml).transpose()?,
            skip: self.skip.iter().map(|key| test_of(key)).collect::<Result<_, _>>()?,
            criteria: self.criteria()?,
            need_qps: self.need.as_deref().map(|text| rate("need", text)).transpose()?,
        };
        if settings.skip.contains(&Test::Function) && settings.function.is_some() {
            return Err(value("skip", "function contradicts --function: remove one".to_owned()));
        }
        if !Test::ALL.into_iter().any(|test| settings.makes(test)) {
            return Err(value("skip", "leaves no test: name fewer".to_owned()));
        }
        Ok(settings)
    }

    /// The rates of the stair, and the height of a step.
    fn steps(&self) -> Result<(Vec<f64>, f64), SettingsError> {
        let unit = |source| SettingsError::Unit { option: "stair", source };
        let range = self.stair.as_deref().unwrap_or("2k..25k");
        let (from_qps, to_qps) = parse_range(range, parse_rate_qps).map_err(unit)?;
        let step_qps = rate("step", self.step.as_deref().unwrap_or("1k"))?;
        if from_qps <= 0.0 || to_qps < from_qps {
            return Err(value("stair", "must go up, from a rate above 0: write it like 2k..25k".to_owned()));
        }
        let steps = ((to_qps - from_qps) / step_qps - SAME_STEP).ceil().max(0.0);
        if steps > MOST_STEPS {
            return Err(value("step", format!("is too low: the stair would have {} steps", steps + 1.0)));
        }
        let rates = (0..steps as u32).map(|nth| from_qps + f64::from(nth) * step_qps).chain([to_qps]);
        Ok((rates.collect(), step_qps))
    }

    fn criteria(&self) -> Result<Criteria, SettingsError> {
        let most_errors = parse_percent(self.most_errors.as_deref().unwrap_or("0.1%"))
            .map_err(|source| SettingsError::Unit { option: "most-errors", source })?;
        if most_errors >= 1.0 {
            return Err(value("most-errors", "must be below 100%".to_owned()));
        }
        let names = self.errors.as_deref().unwrap_or("loss,servfail,refused").split(',');
        Ok(Criteria {
            response_ns: length("response-time", &self.response_time, "1s")?,
            continuous_ns: length("continuous", &self.continuous, "3s")?,
            most_errors,
            errors: names.map(|name| error_metric(name.trim())).collect::<Result<_, _>>()?,
        })
    }
}

/// Refuses options of a run that the tests set themselves, or that have a meaning for one run only.
///
/// # Errors
/// The first such option.
pub fn refuse_unusable(draft: &Draft) -> Result<(), SettingsError> {
    let load = "the tests set the load, see --stair, --burst and --long";
    let only = |option: &'static str, is_given: bool| Vec::from_iter(is_given.then_some(option));
    let rows = [
        // The stair and the burst of the command line are options of the tests, and no longer here.
        (draft.given(Group::Shape), load),
        (draft.given(Group::End), load),
        (only("rate-limit", draft.rate_limit.is_some()), load),
        (only("send-only", draft.send_only == Some(true)), "a test needs the answers"),
        (only("speed", draft.speed.is_some()), load),
        (draft.given(Group::Expectations), CRITERIA),
        (only("interval", draft.interval.is_some()), "the steps set the length of an interval"),
        (only("name", draft.name.is_some()), "each run is named by its test; use --note"),
    ];
    let first = rows.into_iter().find_map(|(given, instead)| Some((*given.first()?, instead)));
    if let Some((option, instead)) = first {
        return Err(SettingsError::OfRun { option, instead });
    }
    let reads_input = |file: &Option<String>| file.as_deref() == Some("-");
    if reads_input(&draft.queries) || reads_input(&draft.replay) {
        let why = "- can be read once, and each test reads it: write it to a file, and name that";
        let option = if reads_input(&draft.queries) { "queries" } else { "replay" };
        return Err(value(option, why.to_owned()));
    }
    Ok(())
}

fn test_of(key: &str) -> Result<Test, SettingsError> {
    Test::ALL.into_iter().find(|test| test.key() == key).ok_or_else(|| {
        value(
            "skip",
            format!("`{}` is no test: write stair, burst, function or long", shown(key, MOST_SHOWN)),
        )
    })
}

/// `1/48` or `0.5`; 1 is none.
fn scale(text: &str) -> Result<Option<Scale>, SettingsError> {
    let part = |text: &str| text.trim().parse::<f64>().ok().filter(|part| part.is_finite() && *part > 0.0);
    let factor = match text.split_once('/') {
        Some((over, under)) => part(over).zip(part(under)).map(|(over, under)| over / under),
        None => part(text),
    };
    match factor.filter(|factor| *factor <= 1.0) {
        Some(1.0) => Ok(None),
        Some(factor) => Ok(Some(Scale { text: text.trim().to_owned(), factor })),
        None => Err(value(
            "scale",
            format!("`{}` is not a part of 1: write it like 1/48", shown(text, MOST_SHOWN)),
        )),
    }
}

fn error_metric(name: &str) -> Result<(String, Metric), SettingsError> {
    let metric = Expectation::parse_of_part(&format!("{name}>0"))?.metric;
    match metric {
        Metric::Queries(_) | Metric::Responses(_) => Ok((name.to_lowercase(), metric)),
        _ => Err(value(
            "errors",
            format!("`{name}` counts no queries: write metrics such as loss, servfail or refused"),
        )),
    }
}

fn rate(option: &'static str, text: &str) -> Result<f64, SettingsError> {
    let rate = parse_rate_qps(text).map_err(|source| SettingsError::Unit { option, source })?;
    if rate > 0.0 { Ok(rate) } else { Err(value(option, "must be above 0".to_owned())) }
}

fn length(option: &'static str, text: &Option<String>, default: &str) -> Result<u64, SettingsError> {
    let text = text.as_deref().unwrap_or(default);
    match parse_duration_ns(text).map_err(|source| SettingsError::Unit { option, source })? {
        0 => Err(value(option, "must be above 0".to_owned())),
        ns => Ok(ns),
    }
}

/// A length of a rehearsal: whole seconds where it is long, so that intervals of a second fit.
fn scaled(ns: u64, factor: f64) -> u64 {
    if factor == 1.0 {
        return ns;
    }
    let ns = (ns as f64 * factor).round() as u64;
    let grain_ns = if ns >= 10 * SECOND_NS { SECOND_NS } else { GRAIN_NS };
    (ns / grain_ns * grain_ns).max(SHORTEST_NS)
}

fn value(option: &'static str, why: String) -> SettingsError {
    SettingsError::Value { option, why }
}

const CRITERIA: &str =
    "what a test must show is set by --response-time, --errors, --most-errors and --continuous";
const SECOND_NS: u64 = 1_000_000_000;

/// An interval of the record divides each step, and is not shorter.
const GRAIN_NS: u64 = 100_000_000;

/// Of a test in a rehearsal.
const SHORTEST_NS: u64 = SECOND_NS / 2;

/// A stair of a day with steps of a minute.
const MOST_STEPS: f64 = 1_440.0;

/// Tolerance for rounding of the number of steps, as that of a stair.
const SAME_STEP: f64 = 1e-9;

/// Characters of a value in a message.
const MOST_SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(wanted: QualifyOptions) -> String {
        wanted.read().unwrap_err().to_string()
    }

    #[test]
    fn the_defaults_are_those_of_the_carrier() {
        let settings = QualifyOptions::default().read().unwrap();
        assert_eq!((settings.steps.len(), settings.steps[0], settings.steps[23]), (24, 2_000.0, 25_000.0));
        assert_eq!(settings.hold_ns, 60 * SECOND_NS);
        assert_eq!((settings.burst_ns, settings.long_ns), (600 * SECOND_NS, 172_800 * SECOND_NS));
        assert_eq!(
            (settings.criteria.response_ns, settings.criteria.continuous_ns),
            (SECOND_NS, 3 * SECOND_NS)
        );
        assert!(settings.makes(Test::Long) && !settings.makes(Test::Function), "there are no commands");
        assert_eq!(settings.rehearsal(), None);
    }

    #[test]
    fn a_rehearsal_scales_the_three_lengths_and_says_so() {
        let settings =
            QualifyOptions { scale: Some("1/48".into()), ..QualifyOptions::default() }.read().unwrap();
        assert_eq!((settings.hold_ns, settings.burst_ns), (1_200_000_000, 12 * SECOND_NS));
        assert_eq!(settings.long_ns, 3_600 * SECOND_NS);
        assert!(settings.rehearsal().unwrap().starts_with("rehearsal at scale 1/48: a burst of 12 s"));
        assert_eq!(
            QualifyOptions { scale: Some("1".into()), ..QualifyOptions::default() }.read().unwrap().scale,
            None
        );
    }

    #[test]
    fn the_last_step_is_the_end_of_the_range() {
        let wanted = QualifyOptions { stair: Some("1k..2500".into()), ..QualifyOptions::default() };
        assert_eq!(wanted.read().unwrap().steps, [1_000.0, 2_000.0, 2_500.0]);
        let one = QualifyOptions { stair: Some("5k..5k".into()), ..QualifyOptions::default() };
        assert_eq!(one.read().unwrap().steps, [5_000.0]);
    }

    #[test]
    fn what_has_no_meaning_is_refused_with_what_to_write() {
        let some = |text: &str| Some(text.to_owned());
        assert!(
            said(QualifyOptions { stair: some("25k..2k"), ..QualifyOptions::default() })
                .contains("must go up")
        );
        assert!(
            said(QualifyOptions { step: some("1"), ..QualifyOptions::default() }).contains("23001 steps")
        );
        assert!(
            said(QualifyOptions { hold: some("1234ms"), ..QualifyOptions::default() })
                .contains("multiple of 100ms")
        );
        for text in ["48", "0", "1/0", "2/1", "x", "-1/48", "nan"] {
            assert!(
                said(QualifyOptions { scale: some(text), ..QualifyOptions::default() }).contains("like 1/48"),
                "{text}"
            );
        }
        assert!(
            said(QualifyOptions { skip: vec!["brust".into()], ..QualifyOptions::default() })
                .contains("no test")
        );
        let all = ["stair", "burst", "long"].map(str::to_owned).to_vec();
        assert!(said(QualifyOptions { skip: all, ..QualifyOptions::default() }).contains("leaves no test"));
        assert!(said(QualifyOptions { errors: some("p99"), ..QualifyOptions::default() }).contains("p99"));
        assert!(
            said(QualifyOptions { most_errors: some("1"), ..QualifyOptions::default() })
                .contains("percentage")
        );
    }

    #[test]
    fn options_of_one_run_are_refused() {
        let of = |draft: Draft| refuse_unusable(&draft).unwrap_err().to_string();
        assert!(of(Draft { rate: Some("5".into()), ..Draft::default() }).contains("--rate is for one run"));
        assert!(of(Draft { queries: Some("-".into()), ..Draft::default() }).contains("write it to a file"));
        assert!(refuse_unusable(&Draft { note: Some("x".into()), ..Draft::default() }).is_ok());
    }
}

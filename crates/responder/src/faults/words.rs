//! The words that texts of faults are made of, and what is said where they are wrong.

use std::time::Duration;

/// A text that cannot be parsed. Says what was read and how it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not {what}")]
pub struct TextError {
    text: String,
    what: &'static str,
}

/// A number with a unit; only 0 has none.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds_each = match unit.trim() {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "" if number == "0" => 1.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * seconds_each;
    Duration::try_from_secs_f64(seconds).ok()
}

/// How long something may wait.
pub(crate) fn wait(text: &str) -> Result<Duration, TextError> {
    duration(text).ok_or_else(|| error(text, "a duration: write it in ns, us, ms, s or min"))
}

pub(crate) fn error(text: &str, what: &'static str) -> TextError {
    TextError { text: text.to_string(), what }
}

//! The words that texts of faults are made of, and what is said where they are wrong.

use std::time::Duration;

use dnsdyno_text::notation::parse_duration_ns;

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
    let has_unit = text == "0" || text.ends_with(char::is_alphabetic);
    has_unit.then(|| parse_duration_ns(text).ok()).flatten().map(Duration::from_nanos)
}

/// How long something may wait.
pub(crate) fn wait(text: &str) -> Result<Duration, TextError> {
    duration(text).ok_or_else(|| error(text, "a duration: write it in ns, us, ms, s or min"))
}

pub(crate) fn error(text: &str, what: &'static str) -> TextError {
    TextError { text: text.to_string(), what }
}

//! Parsing of option values; an error names the option.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use dnsdyno_text::notation::UnitError;

use crate::error::PlanError;
use crate::expect::ExpectError;

/// Reads an optional quantity.
pub(crate) fn read<T>(
    option: &'static str,
    text: &Option<String>,
    parse: impl Fn(&str) -> Result<T, UnitError>,
) -> Result<Option<T>, PlanError> {
    text.as_deref().map(parse).transpose().map_err(|source| PlanError::Unit { option, source })
}

/// Reads an optional value of any other kind; `expected` is the text of the error for an invalid one.
pub(crate) fn read_as<T>(
    option: &'static str,
    text: &Option<String>,
    parse: impl Fn(&str) -> Option<T>,
    expected: &'static str,
) -> Result<Option<T>, PlanError> {
    let wrong = |text: &str| PlanError::Value { option, text: text.to_owned(), expected };
    text.as_deref().map(|text| parse(text).ok_or_else(|| wrong(text))).transpose()
}

/// Reads the expectations of an option; the error names the option.
pub(crate) fn read_all<T>(
    option: &'static str,
    texts: &Option<Vec<String>>,
    parse: impl Fn(&str) -> Result<T, ExpectError>,
) -> Result<Vec<T>, PlanError> {
    let wrong = |source| PlanError::Expectation { option, source };
    texts.iter().flatten().map(|text| parse(text).map_err(wrong)).collect()
}

/// Reads a quantity, or fills in the default.
pub(crate) fn filled<T>(
    option: &'static str,
    text: &mut Option<String>,
    usual: &str,
    parse: impl Fn(&str) -> Result<T, UnitError>,
) -> Result<T, PlanError> {
    let text = text.get_or_insert_with(|| usual.to_owned());
    parse(text).map_err(|source| PlanError::Unit { option, source })
}

/// Reads a weight: `3`, `2.5`, `15%`.
pub(crate) fn weight(text: &str) -> Result<f64, String> {
    let not_one = || format!("`{}` is not a weight above 0", text.trim());
    check_weight(text.trim().trim_end_matches('%').parse().map_err(|_| not_one())?).map_err(|_| not_one())
}

/// Refuses a weight that gives no share.
pub(crate) fn check_weight(weight: f64) -> Result<f64, String> {
    match weight > 0.0 && weight <= HEAVIEST {
        true => Ok(weight),
        false => Err(format!("`{weight}` is not a weight above 0")),
    }
}

/// Allows shares of a millionth; excludes infinite weights.
const HEAVIEST: f64 = 1e9;

/// Makes a path absolute.
pub(crate) fn absolute(path: &mut String, working_dir: &Path) -> PathBuf {
    let whole = working_dir.join(&path);
    *path = whole.display().to_string();
    whole
}

/// Refuses a value of 0.
pub(crate) fn above_zero<T: Default + PartialEq>(
    option: &'static str,
    value: Option<T>,
) -> Result<Option<T>, PlanError> {
    if value == Some(T::default()) { Err(PlanError::Zero { option }) } else { Ok(value) }
}

/// Refuses a number outside of `limits`.
pub(crate) fn within<T: Copy + Into<u64>>(
    option: &'static str,
    value: Option<T>,
    limits: RangeInclusive<u64>,
) -> Result<Option<T>, PlanError> {
    if let Some(value) = value {
        limited(option, value.into(), limits, |number| number.to_string())?;
    }
    Ok(value)
}

/// Refuses a quantity outside of `limits`, which are shown as `format` writes them.
pub(crate) fn limited(
    option: &'static str,
    given: u64,
    limits: RangeInclusive<u64>,
    format: fn(u64) -> String,
) -> Result<u64, PlanError> {
    if limits.contains(&given) {
        return Ok(given);
    }
    let [given, min, max] = [given, *limits.start(), *limits.end()].map(format);
    Err(PlanError::OutOfRange { option, given, min, max })
}

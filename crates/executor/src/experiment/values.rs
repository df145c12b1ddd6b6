//! Values of a file that several of its tables have.

use std::path::Path;

use dnsdyno_plan::units::parse_duration_ns;

use super::file::Text;

/// A name that can be part of a path and of a sentence.
pub(super) fn named(what: &str, name: &str) -> Result<String, String> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    match !name.is_empty() && name.len() <= 60 && name.chars().all(is_good) && !name.starts_with('.') {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "{name:?} is no name of a {what}: use letters, digits, `-`, `_`, `.` and `+`, at most 60"
        )),
    }
}

/// A number that is given, or the usual one, if it is in its range.
pub(super) fn bounded(
    key: &str,
    given: Option<u32>,
    usual: u32,
    range: std::ops::RangeInclusive<u32>,
) -> Result<u32, String> {
    let value = given.unwrap_or(usual);
    match range.contains(&value) {
        true => Ok(value),
        false => Err(format!("`{key} = {value}`: it is from {} to {}", range.start(), range.end())),
    }
}

/// A duration in ns.
pub(super) fn duration(key: &str, text: Option<&Text>) -> Result<Option<u64>, String> {
    text.map(|text| parse_duration_ns(&text.0)).transpose().map_err(|error| format!("`{key}`: {error}"))
}

/// A path of the file, which is relative to the folder of the file.
pub(super) fn relative(folder: &Path, path: &str) -> String {
    folder.join(path).display().to_string()
}

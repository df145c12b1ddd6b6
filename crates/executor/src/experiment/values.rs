//! Values of a file that several of its tables have.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use dnsdyno_text::notation::parse_duration_ns;

use super::text::Text;

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

/// `text` with `{primary.port}` and the like filled in. Other braces stay.
pub(super) fn filled(values: &BTreeMap<String, String>, text: &str) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The same in the environment of a command: `DNSDYNO_PRIMARY_PORT`.
pub(super) fn variables(values: &BTreeMap<String, String>) -> impl Iterator<Item = (String, String)> + '_ {
    let name = |name: &str| format!("DNSDYNO_{}", name.to_uppercase().replace(['.', '-'], "_"));
    values.iter().map(move |(of, value)| (name(of), value.clone()))
}

/// The address and the port of a target as it is written for `--server`.
pub(super) fn asked_at(target: &str) -> (String, String) {
    let host_and_port = target.rsplit_once(':').filter(|(host, _)| !host.contains(':'));
    match (target.parse::<SocketAddr>(), host_and_port) {
        (Ok(address), _) => (address.ip().to_string(), address.port().to_string()),
        (Err(_), Some((host, port))) => (host.to_owned(), port.to_owned()),
        (Err(_), None) => (target.to_owned(), "53".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_where_the_server_is_asked() {
        let at = |target: &str| asked_at(target);
        let both = |address: &str, port: &str| (address.to_owned(), port.to_owned());
        assert_eq!(at("10.77.0.2:5300"), both("10.77.0.2", "5300"));
        assert_eq!(at("[::1]:5300"), both("::1", "5300"));
        assert_eq!(at("::1"), both("::1", "53"));
        assert_eq!(at("ns.example:54"), both("ns.example", "54"));
    }
}

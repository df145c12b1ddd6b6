//! The names of series that all servers have in common, whatever they call them.

use serde_json::Value;

use crate::source::Reading;

impl Reading {
    /// Queries that came in over a transport: `udp`, `tcp`, `dot`, `doh`, `doq`.
    pub(super) fn transport(&mut self, transport: &str, value: u64) {
        self.counter(format!("queries.{transport}"), value);
    }

    /// Queries of a type: `A`, `TYPE65280`.
    pub(super) fn query_type(&mut self, name: &str, value: u64) {
        self.counter(format!("queries.type.{}", name.to_ascii_uppercase()), value);
    }

    /// Responses with an RCODE, by name or number.
    pub(super) fn rcode(&mut self, name: &str, value: u64) {
        let name = name.to_ascii_uppercase();
        let number = name.strip_prefix("RCODE").or_else(|| name.strip_prefix("RESERVED")).unwrap_or(&name);
        let known = match name.as_str() {
            "NOTIMPL" => Some("NOTIMP"),
            "BADSIG" => Some("BADVERS"),
            _ => number
                .parse()
                .ok()
                .and_then(|number: usize| RCODES.get(number).copied())
                .filter(|name| !name.is_empty()),
        };
        match (known, number.parse::<u16>()) {
            (Some(known), _) => self.counter(format!("responses.rcode.{known}"), value),
            (None, Ok(number)) => self.counter(format!("responses.rcode.RCODE{number}"), value),
            (None, Err(_)) => self.counter(format!("responses.rcode.{name}"), value),
        }
    }

    /// Requests or responses that the server dropped, by reason.
    pub(super) fn dropped(&mut self, reason: &str, value: u64) {
        self.counter(format!("dropped.{reason}"), value);
    }
}

/// Calls `found` with every whole number in a document, and the keys that lead to it.
pub(super) fn numbers<'a>(value: &'a Value, path: &mut Vec<&'a str>, found: &mut impl FnMut(&[&str], u64)) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                path.push(key);
                numbers(value, path, found);
                path.pop();
            }
        }
        Value::Number(number) => {
            if let Some(number) = number.as_u64() {
                found(path, number);
            }
        }
        _ => {}
    }
}

/// Lines of a name and a value.
pub(super) fn pairs(text: &str, between: char) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(move |line| line.split_once(between))
}

/// `1.25` as nanoseconds; `None` for what is not a number of seconds.
pub(super) fn seconds_as_ns(text: &str) -> Option<u64> {
    let seconds: f64 = text.trim().parse().ok()?;
    // A float beyond the range of a u64 becomes the highest one.
    (seconds.is_finite() && seconds >= 0.0).then(|| (seconds * 1e9).round() as u64)
}

/// Characters of a version or of the value of a parameter.
pub(super) const LONGEST_TEXT: usize = 200;

/// The names of RCODEs, by number; empty where it has none.
const RCODES: [&str; 24] = [
    "NOERROR",
    "FORMERR",
    "SERVFAIL",
    "NXDOMAIN",
    "NOTIMP",
    "REFUSED",
    "YXDOMAIN",
    "YXRRSET",
    "NXRRSET",
    "NOTAUTH",
    "NOTZONE",
    "DSOTYPENI",
    "",
    "",
    "",
    "",
    "BADVERS",
    "BADKEY",
    "BADTIME",
    "BADMODE",
    "BADNAME",
    "BADALG",
    "BADTRUNC",
    "BADCOOKIE",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rcode_has_one_name_however_a_server_writes_it() {
        let mut reading = Reading::default();
        for name in ["NOTIMP", "NOTIMPL", "notimp", "4", "RCODE4", "RESERVED11", "12", "RCODE12", "17"] {
            reading.rcode(name, 1);
        }
        let expected = [("BADKEY", 1), ("DSOTYPENI", 1), ("NOTIMP", 5), ("RCODE12", 2)];
        let expected = expected.map(|(name, value)| (format!("responses.rcode.{name}"), value));
        assert_eq!(reading.counters, expected.into());
    }
}

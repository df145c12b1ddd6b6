//! Knot Resolver: its control socket, which carries out an expression in Lua.
//!
//! ```text
//!   ► __binary              no prompts from here on
//!   ◄ "> "                  the prompt that was sent before
//!   ► tojson(stats.list())  …
//!   ◄ length in 4 octets, the value as text: '{"answer.total":7,…}'
//! ```
//!
//! Each process of several has a socket, and counters, of its own.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use dnsdyno_measure::Watched;
use dnsdyno_text::shown;
use serde_json::Value;
use socket2::SockAddr;

use super::common::{LONGEST_TEXT, numbers};
use super::control::Timed;
use super::statistics::Statistics;
use crate::source::{ReadError, Reading};

pub(super) struct KnotResolver {
    path: PathBuf,
    /// The process that has answered.
    process: Cell<Option<u32>>,
}

impl KnotResolver {
    pub(super) fn new(path: &Path) -> KnotResolver {
        KnotResolver { path: path.to_owned(), process: Cell::new(None) }
    }

    /// The counters of all its modules.
    fn counters(&self) -> Result<Value, ReadError> {
        let exchange = || -> io::Result<Value> {
            let mut socket = Timed::connect(&SockAddr::unix(&self.path)?)?;
            self.process.set(socket.process());
            socket.write_all(format!("__binary\n{COUNTERS}\n").as_bytes())?;
            let text = read_value(&mut socket)?;
            Ok(serde_json::from_str(text.trim().trim_matches('\''))?)
        };
        let counters = exchange().map_err(|error| {
            let reason = match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => "no answer in time".to_owned(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                    "nothing listens there: is kresd running, with a control socket of this path?".to_owned()
                }
                ErrorKind::InvalidData | ErrorKind::UnexpectedEof => NOT_ITS_ANSWER.to_owned(),
                _ => shown(&error.to_string(), LONGEST_TEXT).into_owned(),
            };
            ReadError(format!("{}: {reason}", self.path.display()))
        })?;
        match counters["worker"].is_object() {
            true => Ok(counters),
            false => Err(ReadError(format!("{}: {NOT_ITS_ANSWER}", self.path.display()))),
        }
    }
}

impl Statistics for KnotResolver {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let counters = self.counters()?;
        watched.version = counters["version"].as_str().map(|text| shown(text, LONGEST_TEXT).into_owned());
        if !counters["stats"].is_object() {
            watched.missing.push(
                "queries, answers and cache hits: add `modules.load('stats')` to kresd.conf".to_owned(),
            );
        }
        Ok(())
    }

    fn process(&self) -> Option<u32> {
        self.process.get()
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.counters()?, &mut reading);
        Ok(reading)
    }
}

/// Reads the value of the expression: what is before it is the prompt of the text mode.
fn read_value(from: &mut impl Read) -> io::Result<String> {
    let (mut prompt, mut length) = ([0; PROMPT.len()], [0; 4]);
    from.read_exact(&mut prompt)?;
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if prompt != *PROMPT || length > LONGEST_ANSWER_BYTES {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut text = String::new();
    from.take(length.into()).read_to_string(&mut text)?;
    Ok(text)
}

/// The series of its counters.
pub(super) fn add(counters: &Value, reading: &mut Reading) {
    numbers(counters, &mut Vec::new(), &mut |path, value| match path {
        [module, name] if is_gauge(module, name) => {
            reading.gauge(format!("raw.{module}.{name}"), value);
            if (*module, *name) == ("worker", "concurrent") {
                reading.gauge("recursing", value);
            }
        }
        path => {
            reading.counter(format!("raw.{}", path.join(".")), value);
            if let ["stats", name] = path {
                common(name, value, reading);
            }
        }
    });
    let stat = |name: &str| counters["stats"][name].as_u64();
    if let (Some(all), Some(hits)) = (stat("answer.total"), stat("answer.cached")) {
        reading.counter("cache.misses", all.saturating_sub(hits));
    }
    // What it asks by itself, such as for prefetching, is a request too.
    if let (Some(all), Some(own)) = (stat("request.total"), stat("request.internal")) {
        reading.counter("queries", all.saturating_sub(own));
    }
}

fn common(name: &str, value: u64, reading: &mut Reading) {
    match name {
        "request.udp" | "request.tcp" | "request.dot" | "request.doh" => {
            reading.transport(name.trim_start_matches("request."), value)
        }
        "answer.total" => reading.counter("responses", value),
        "answer.cached" => reading.counter("cache.hits", value),
        "answer.tc" => reading.counter("responses.truncated", value),
        // An answer without data has the RCODE NOERROR, and is not counted there.
        "answer.noerror" | "answer.nodata" => reading.rcode("NOERROR", value),
        "answer.nxdomain" | "answer.servfail" => reading.rcode(name.trim_start_matches("answer."), value),
        _ => {}
    }
}

fn is_gauge(module: &str, name: &str) -> bool {
    matches!(
        (module, name),
        ("worker", "concurrent" | "rss") | ("cache", "count" | "count_entries" | "usage_percent")
    )
}

/// Modules that are not loaded have no counters.
const COUNTERS: &str = "tojson({ version = package_version(), worker = worker.stats(), cache = cache.stats(), \
                        stats = stats and stats.list() })";

const PROMPT: &[u8; 2] = b"> ";

const NOT_ITS_ANSWER: &str = "what answers there is not the control socket of Knot Resolver";

/// Its counters take a kilobyte.
const LONGEST_ANSWER_BYTES: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counters_have_the_common_names_and_misses_are_the_rest() {
        let counters = json!({
            "version": "5.6.0",
            "worker": {"concurrent": 3, "udp": 40, "tcp": 2, "usertime": 0.5},
            "cache": {"usage_percent": 1, "read": 9},
            "stats": {
                "request.total": 12, "request.internal": 2, "request.udp": 9, "request.tcp": 1, "answer.total": 10,
                "answer.cached": 7, "answer.noerror": 5, "answer.nodata": 1, "answer.servfail": 4, "answer.tc": 1,
            },
        });
        let mut reading = Reading::default();
        add(&counters, &mut reading);
        let expected = [
            ("queries", 10),
            ("queries.udp", 9),
            ("responses", 10),
            ("cache.hits", 7),
            ("cache.misses", 3),
            ("responses.rcode.NOERROR", 6),
            ("responses.rcode.SERVFAIL", 4),
            ("responses.truncated", 1),
            ("raw.worker.udp", 40),
            ("raw.cache.read", 9),
        ];
        for (name, value) in expected {
            assert_eq!(reading.counters.get(name), Some(&value), "{name}");
        }
        assert_eq!(reading.gauges.get("recursing"), Some(&3));
        assert!(!reading.counters.contains_key("raw.worker.usertime"), "no whole number");
    }

    #[test]
    fn a_value_has_its_length_before_it_and_anything_else_is_refused() {
        let read = |bytes: &[u8]| read_value(&mut &*bytes);
        assert_eq!(read(b"> \0\0\0\x04'{}'more").unwrap(), "'{}'");
        for wrong in [&b"> \0\0"[..], b"HTTP/1.0 200", b"> \xff\0\0\0x"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}

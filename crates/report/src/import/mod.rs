//! Results of other programs, read from the files that they print: dnsperf, k6 and DNS Shotgun.
//!
//! ```text
//!   dnsperf's text ──► dnsperf      ─┐
//!   dnsperf -j     ──► dnsperf_json ─┤
//!   k6's summary   ──► k6           ─┼─► Imported: counts, rates, latencies; what a format lacks is absent
//!   Shotgun's JSON ──► shotgun      ─┤
//!   dns-metrics    ──► dns_metrics  ─┘
//! ```
//!
//! Nothing is calculated that the file does not have: a percentile comes from a histogram, or as the program printed
//! it. A histogram says of a latency between which two durations it is, and both are kept.

mod asked;
mod buckets;
mod dns_metrics;
mod dnsperf;
mod dnsperf_json;
mod error;
mod imported;
mod k6;
mod shotgun;

use std::io::Read;
use std::path::Path;

use dnsdyno_record::{PACKED_FILE, RUN_FILE, open_regular};
use serde::Deserialize;
use serde::de::IgnoredAny;

pub use buckets::{Counted, CountedBucket, Ends};
pub use error::ImportError;
pub use imported::{Imported, Latencies};

/// Reads the result of another program; `None` where the file is a record of dnsdyno.
///
/// # Errors
/// The file cannot be read, is of none of the formats, or has not what its format needs.
pub fn import(path: &Path) -> Result<Option<Imported>, ImportError> {
    let is_record = |name: &std::ffi::OsStr| name == RUN_FILE || name == PACKED_FILE;
    if path.file_name().is_some_and(is_record) {
        return Ok(None);
    }
    let text = read(path)?;
    let parse = match format_of(&text) {
        Some(Format::Record) => return Ok(None),
        Some(Format::DnsperfText) => dnsperf::parse,
        Some(Format::DnsperfJson) => dnsperf_json::parse,
        Some(Format::K6) => k6::parse,
        Some(Format::Shotgun) => shotgun::parse,
        Some(Format::DnsMetrics) => dns_metrics::parse,
        None => return Err(ImportError::Unknown { path: path.to_owned() }),
    };
    let result = parse(&text).and_then(|result| match result.is_finite() {
        true => Ok(result),
        false => Err("a figure of it is beyond any number: it is damaged".to_owned()),
    });
    result.map(Some).map_err(|why| ImportError::Broken { path: path.to_owned(), why })
}

fn read(path: &Path) -> Result<String, ImportError> {
    let cannot = |source| ImportError::Read { path: path.to_owned(), source };
    let mut octets = Vec::new();
    let file = open_regular(path).map_err(cannot)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut octets).map_err(cannot)?;
    if octets.len() as u64 > MOST_BYTES {
        return Err(ImportError::TooLarge { path: path.to_owned() });
    }
    // The names of queries, with -v, may be any octets.
    Ok(String::from_utf8(octets)
        .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned()))
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Record,
    DnsperfText,
    DnsperfJson,
    K6,
    Shotgun,
    DnsMetrics,
}

/// The members that tell the formats of JSON apart.
#[derive(Deserialize)]
struct Members {
    start: Option<IgnoredAny>,
    statistics: Option<IgnoredAny>,
    stats_sum: Option<IgnoredAny>,
    metrics: Option<IgnoredAny>,
    results: Option<IgnoredAny>,
    #[serde(rename = "type")]
    kind: Option<serde_json::Value>,
    generator: Option<serde_json::Value>,
}

fn format_of(text: &str) -> Option<Format> {
    if text.trim_start().starts_with('{') {
        let first = serde_json::Deserializer::from_str(text).into_iter::<Members>().next()?.ok()?;
        let is = |value: &Option<serde_json::Value>, word: &str| {
            value.as_ref().and_then(serde_json::Value::as_str) == Some(word)
        };
        return match () {
            () if is(&first.kind, "header") && is(&first.generator, "dnsdyno") => Some(Format::Record),
            () if is(&first.kind, "header") => Some(Format::DnsMetrics),
            () if first.start.is_some() || first.statistics.is_some() => Some(Format::DnsperfJson),
            () if first.stats_sum.is_some() => Some(Format::Shotgun),
            () if first.metrics.is_some() || first.results.is_some() => Some(Format::K6),
            () => None,
        };
    }
    // With -j too, dnsperf prints its warnings as text.
    let begins = |line: &str| line.starts_with("{\"start\"") || line.starts_with("{\"statistics\"");
    match () {
        () if text.lines().any(begins) => Some(Format::DnsperfJson),
        () if dnsperf::is_one(text) => Some(Format::DnsperfText),
        () => None,
    }
}

/// Shotgun writes a count for each millisecond of the timeout and each interval: an hour of them is 60 MB.
const MOST_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests;

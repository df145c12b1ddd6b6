//! Any program with metrics for Prometheus: the text formats of Prometheus and OpenMetrics.
//!
//! ```text
//!   # TYPE coredns_dns_requests_total counter
//!   coredns_dns_requests_total{proto="udp",type="A",zone="."} 41 1395066363000
//! ```

use std::collections::BTreeMap;

use dnsdyno_measure::{LONGEST_SERIES_NAME, Watched};
use dnsdyno_text::shown;

use super::common::LONGEST_TEXT;
use super::http::{Http, split};
use super::pdns;
use super::statistics::Statistics;
use crate::source::{OpenError, ReadError, Reading};

pub(super) struct OpenMetrics {
    http: Http,
    path: String,
}

impl OpenMetrics {
    pub(super) fn new(url: &str) -> Result<OpenMetrics, OpenError> {
        let path = match split(url).1 {
            "" | "/" => "/metrics",
            path => path,
        };
        Ok(OpenMetrics { http: Http::new(url, None)?, path: path.to_owned() })
    }

    fn get(&self) -> Result<String, ReadError> {
        let answer = self.http.get(&self.path, FORMATS)?;
        let has_samples = samples(&answer.body).next().is_some();
        match has_samples {
            true => Ok(answer.body),
            false => Err(answer.is_not("a text of metrics for Prometheus")),
        }
    }
}

impl Statistics for OpenMetrics {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let text = self.get()?;
        for sample in samples(&text) {
            let software = SOFTWARE.iter().find(|(prefix, _)| sample.name.starts_with(prefix));
            if let Some((_, software)) = software {
                watched.software = Some((*software).to_owned());
            }
            if sample.name.ends_with("_build_info") && software.is_some() {
                watched.version = sample.label("version").map(|text| shown(text, LONGEST_TEXT).into_owned());
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let mut reading = Reading::default();
        add(&self.get()?, &mut reading);
        Ok(reading)
    }
}

/// The series of a text.
pub(super) fn add(text: &str, reading: &mut Reading) {
    let types: BTreeMap<&str, &str> = text.lines().filter_map(type_line).collect();
    for sample in samples(text) {
        let Some(kind) = kind(sample.name, &types) else { continue };
        let Some((name, value)) = named(&sample) else { continue };
        match kind {
            Kind::Counter => reading.counter(name, value),
            Kind::Gauge => reading.gauge(name, value),
        }
        common(&sample, value, reading);
    }
}

/// A line of a value.
struct Sample<'a> {
    name: &'a str,
    /// As they stand between the braces.
    labels: &'a str,
    value: f64,
}

enum Kind {
    Counter,
    Gauge,
}

impl<'a> Sample<'a> {
    /// `name{label="text"} value instant`; the instant, and what follows it, does not matter here.
    fn parse(line: &'a str) -> Option<Sample<'a>> {
        let name_ends = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
        let (name, rest) = line.split_at(name_ends);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inner) => {
                let end = end_of_labels(inner)?;
                (&inner[..end], &inner[end + 1..])
            }
            None => ("", rest),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
        let is_usable = !name.is_empty() && name.chars().all(is_name) && value.is_finite() && value >= 0.0;
        is_usable.then_some(Sample { name, labels, value })
    }

    /// The text of a label; one with an escaped character is not understood.
    fn label(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        loop {
            let (label, after) = rest.split_once("=\"")?;
            let end = after.find('"')?;
            if label.trim_start_matches([',', ' ']) == name {
                return Some(&after[..end]);
            }
            rest = &after[end + 1..];
        }
    }
}

/// Where the labels end: a brace within quotes is a part of a text.
fn end_of_labels(text: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, octet) in text.bytes().enumerate() {
        match octet {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'}' if !is_quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(Sample::parse)
}

/// `# TYPE name counter`.
fn type_line(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("# TYPE ")?.trim().split_once(' ')
}

/// What a sample is; `None` for a part of a histogram or summary that is not its count or sum.
fn kind(name: &str, types: &BTreeMap<&str, &str>) -> Option<Kind> {
    let family = |end: &str| name.strip_suffix(end).and_then(|family| types.get(family)).copied();
    let declared = types.get(name).copied().or_else(|| family("_total"));
    let of_distribution = ["_count", "_sum"].iter().find_map(|end| family(end));
    match (declared, of_distribution) {
        (_, Some("histogram" | "summary")) => Some(Kind::Counter),
        (Some("counter"), _) => Some(Kind::Counter),
        (Some("gauge"), _) => Some(Kind::Gauge),
        // A quantile.
        (Some("summary" | "histogram"), _) => None,
        _ if matches!(family("_bucket"), Some("histogram")) || name.ends_with("_created") => None,
        (Some("info" | "stateset"), _) => None,
        _ => Some(if name.ends_with("_total") { Kind::Counter } else { Kind::Gauge }),
    }
}

/// The name of the series and its value as a whole number: seconds become nanoseconds.
fn named(sample: &Sample<'_>) -> Option<(String, u64)> {
    let ends = [("_seconds_total", "_ns"), ("_seconds_sum", "_sum_ns"), ("_seconds", "_ns")];
    let in_seconds = ends.iter().find_map(|(end, new)| Some((sample.name.strip_suffix(end)?, new)));
    let (name, value) = match in_seconds {
        Some((name, end)) => (format!("{name}{end}"), sample.value * 1e9),
        None => (sample.name.to_owned(), sample.value),
    };
    // The unit is the end of a name: it stands after the labels.
    let name = match (sample.labels, name.strip_suffix("_ns").or(name.strip_suffix("_bytes"))) {
        ("", _) => format!("raw.{name}"),
        (labels, Some(short)) => format!("raw.{short}{{{labels}}}{}", &name[short.len()..]),
        (labels, None) => format!("raw.{name}{{{labels}}}"),
    };
    // Longer names would be cut and fall together.
    (name.len() <= LONGEST_SERIES_NAME).then_some((name, value.round() as u64))
}

/// The common names of programs that are known.
fn common(sample: &Sample<'_>, value: u64, reading: &mut Reading) {
    for prefix in ["pdns_auth_", "pdns_recursor_"] {
        if let Some(name) = sample.name.strip_prefix(prefix).filter(|_| sample.labels.is_empty()) {
            return pdns::common(&name.replace('_', "-"), value, reading);
        }
    }
    match sample.name {
        "coredns_dns_requests_total" => {
            reading.counter("queries", value);
            let transport = match sample.label("proto") {
                Some("tls") => "dot",
                Some("https" | "https3") => "doh",
                Some("quic") => "doq",
                Some("tcp") => "tcp",
                _ => "udp",
            };
            reading.transport(transport, value);
            // Types that are seldom are counted together as "other".
            if let Some(rtype) = sample.label("type").filter(|rtype| *rtype != "other") {
                reading.query_type(rtype, value);
            }
        }
        "coredns_dns_responses_total" => {
            reading.counter("responses", value);
            if let Some(rcode) = sample.label("rcode") {
                reading.rcode(rcode, value);
            }
        }
        "coredns_cache_hits_total" => reading.counter("cache.hits", value),
        "coredns_cache_misses_total" => reading.counter("cache.misses", value),
        "coredns_forward_max_concurrent_rejects_total" => reading.dropped("quota", value),
        "dnsdist_queries" => reading.counter("queries", value),
        "dnsdist_responses" => reading.counter("responses", value),
        _ => {}
    }
}

/// Programs, by what the names of their metrics begin with.
const SOFTWARE: [(&str, &str); 5] = [
    ("coredns_", "coredns"),
    ("hickory_", "hickory"),
    ("pdns_auth_", "pdns"),
    ("pdns_recursor_", "pdns-recursor"),
    ("dnsdist_", "dnsdist"),
];

const FORMATS: &str = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";

//! Lines of dns-metrics, the format of DNS-OARC, as newer versions of DNS Shotgun write it: a header, statistics of
//! intervals, and their sum. The unit of times is in the header. Of latencies there are buckets with their ends, or
//! counts between the boundaries of the header, of which the last is that of the queries without an answer.

use std::collections::BTreeMap;

use dnsdyno_record::Headline;
use serde::Deserialize;

use super::buckets::{Counted, CountedBucket};
use super::imported::{Imported, Latencies};

#[derive(Deserialize)]
struct Header {
    generator: Option<String>,
    generator_version: Option<String>,
    #[serde(default)]
    generator_params: Vec<String>,
    #[serde(default = "nanoseconds")]
    time_units_per_sec: f64,
    timeout: Option<f64>,
    latency_bucket_boundaries: Option<Vec<f64>>,
}

/// Its `discarded` is not read. What Shotgun discards are mostly packets that it does not count as queries, and other
/// programs mean other things with it.
#[derive(Deserialize)]
struct Sum {
    since: f64,
    until: f64,
    queries: u64,
    responses: u64,
    response_rcodes: Option<BTreeMap<String, u64>>,
    response_latency: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    avg: Option<f64>,
    buckets: Option<Vec<(f64, f64, u64)>>,
    bucket_counts: Option<Vec<u64>>,
}

#[derive(Deserialize)]
struct TypedLine {
    #[serde(rename = "type")]
    kind: String,
}

/// Reads it.
///
/// # Errors
/// There is no sum, or a line is damaged.
pub(super) fn parse(text: &str) -> Result<Imported, String> {
    let damaged =
        |error: serde_json::Error| format!("a line of it is damaged ({error}): make the result again");
    let (mut header, mut sum) = (None, None);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<TypedLine>(line).map_err(damaged)?.kind.as_str() {
            "header" => header = Some(serde_json::from_str::<Header>(line).map_err(damaged)?),
            "stats_sum" => sum = Some(serde_json::from_str::<Sum>(line).map_err(damaged)?),
            _ => {}
        }
    }
    let header =
        header.filter(|header| header.time_units_per_sec > 0.0).ok_or("it has no header: damaged")?;
    let sum = sum.ok_or("it has no line stats_sum: its run did not end")?;
    let unanswered = sum.queries.checked_sub(sum.responses).ok_or("it has more responses than queries")?;
    let unit_ns = 1e9 / header.time_units_per_sec;
    let latency = sum.response_latency.as_ref();
    let average = latency.and_then(|latency| latency.avg).filter(|avg| avg.is_finite() && *avg >= 0.0);
    let seconds = (sum.until - sum.since) / header.time_units_per_sec;
    let rate = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    let program = match (header.generator.as_deref(), header.generator_version.as_deref()) {
        (Some("shotgun"), version) => format!("DNS Shotgun {}", version.unwrap_or_default()),
        (name, version) => {
            format!("{} {}", name.unwrap_or("an unknown program"), version.unwrap_or_default())
        }
    };
    // What the clients of Shotgun want to send counts from then; dnsperf's queries count from their sending.
    let from = if program.starts_with("dnsperf") { Headline::Service } else { Headline::Response };
    Ok(Imported {
        started_unix_ns: Some((sum.since * unit_ns) as u64).filter(|ns| *ns > 0),
        queries: Some(sum.queries),
        answered: Some(sum.responses),
        sent_qps: rate(sum.queries),
        answered_qps: rate(sum.responses),
        average_ns: average.map(|avg| avg * unit_ns).filter(|_| sum.responses > 0),
        latencies: latency.map_or(Ok(Latencies::None), |latency| latencies(&header, latency, unanswered))?,
        rcodes: sum.response_rcodes.map(|rcodes| rcodes.into_iter().collect()),
        asked: asked(&header.generator_params),
        ..Imported::of(program.trim_end().to_owned(), from)
    })
}

fn latencies(header: &Header, latency: &Latency, unanswered: u64) -> Result<Latencies, String> {
    let unit_ns = 1e9 / header.time_units_per_sec;
    // Where the timeout is not known, a percentile beyond it would be invented.
    let Some(timeout) = header.timeout else { return Ok(Latencies::None) };
    // The schema has it in seconds. Shotgun writes it in its units, and so does dnsperf: no timeout is an hour.
    let is_shotgun = header.generator.as_deref() == Some("shotgun");
    let is_in_units = is_shotgun || timeout >= header.time_units_per_sec.min(HOUR_S);
    let timeout_ns = timeout * if is_in_units { unit_ns } else { 1e9 };
    let bucket = |(from, to, count): (f64, f64, u64)| CountedBucket {
        from_ns: from * unit_ns,
        to_ns: to * unit_ns,
        count,
    };
    let buckets: Vec<CountedBucket> = match (latency, &header.latency_bucket_boundaries) {
        (Latency { buckets: Some(buckets), .. }, _) => buckets.iter().copied().map(bucket).collect(),
        (Latency { bucket_counts: Some(counts), .. }, Some(ends)) if counts.len() == ends.len() + 1 => {
            let from = [0.0].into_iter().chain(ends.iter().copied());
            let between = from.zip(ends).zip(counts).map(|((from, to), count)| bucket((from, *to, *count)));
            between.collect()
        }
        _ => return Ok(Latencies::None),
    };
    Counted::new(buckets, unanswered, timeout_ns).map(Latencies::Counted)
}

/// The parameters of replay.py, without the server, the place of the results and the folder of the capture.
fn asked(words: &[String]) -> Option<String> {
    let mut kept = Vec::new();
    // Of Shotgun, the first is the program.
    let has_program = words.first().is_some_and(|first| !first.starts_with('-'));
    let mut words = words.iter().skip(usize::from(has_program));
    while let Some(word) = words.next() {
        match word.as_str() {
            "-s" | "--server" | "-O" | "--outdir" | "-b" | "--bind-net" => _ = words.next(),
            "-r" | "--read" => {
                let path = words.next().map(String::as_str).unwrap_or_default();
                kept.push(format!("-r {}", path.rsplit('/').next().unwrap_or(path)));
            }
            word => kept.push(word.to_owned()),
        }
    }
    Some(kept.join(" ")).filter(|asked| !asked.is_empty())
}

/// The unit of the schema, which does not require that a header has one.
fn nanoseconds() -> f64 {
    1e9
}

const HOUR_S: f64 = 3_600.0;

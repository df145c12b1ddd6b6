//! The JSON of `dnsperf -j`, 2.15 and 2.16: an object a line, with warnings as text between them.

use dnsdyno_record::Headline;
use serde::Deserialize;

use super::asked::CommandLine;
use super::buckets::{Counted, CountedBucket};
use super::imported::{Imported, Latencies};

#[derive(Deserialize)]
struct Line {
    start: Option<Start>,
    stop: Option<Stop>,
    statistics: Option<Statistics>,
}

#[derive(Deserialize)]
struct Start {
    version: Option<String>,
    #[serde(default)]
    command_line: Vec<String>,
}

#[derive(Deserialize)]
struct Stop {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Statistics {
    #[serde(default)]
    interval: bool,
    sent: u64,
    completed: u64,
    lost: u64,
    run_time: f64,
    qps: f64,
    latency: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    avg: Option<f64>,
    histogram: Option<Vec<(f64, f64, u64)>>,
}

/// Reads it.
///
/// # Errors
/// The statistics are missing or damaged.
pub(super) fn parse(text: &str) -> Result<Imported, String> {
    let (mut start, mut reason, mut statistics) = (None, None, None);
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| format!("a line of it is damaged ({error}): make the result again"))?;
        start = start.or(line.start);
        reason = line.stop.and_then(|stop| stop.reason).or(reason);
        statistics = line.statistics.filter(|statistics| !statistics.interval).or(statistics);
    }
    let Some(Statistics { sent, completed, lost, run_time, qps, latency, .. }) = statistics else {
        return Err("it has no statistics of the whole run: dnsperf prints them when it ends".to_owned());
    };
    let program = start.as_ref().and_then(|start| start.version.as_deref()).unwrap_or_default();
    let words = start.as_ref().map(|start| start.command_line.as_slice()).unwrap_or_default();
    let command = CommandLine::new(words.get(1..).unwrap_or_default());
    let histogram = latency.as_ref().and_then(|latency| latency.histogram.as_ref());
    let bucket = |(from, to, count): &(f64, f64, u64)| CountedBucket {
        from_ns: from * 1e9,
        to_ns: to * 1e9,
        count: *count,
    };
    let counted = histogram
        .filter(|_| start.is_some())
        .map(|histogram| Counted::new(histogram.iter().map(bucket).collect(), lost, command.timeout_ns()));
    let latencies = counted.transpose()?.map_or(Latencies::None, Latencies::Counted);
    let is_figure = |figure: &f64| figure.is_finite() && *figure >= 0.0;
    let average = latency.and_then(|latency| latency.avg).filter(is_figure).filter(|_| completed > 0);
    Ok(Imported {
        asked: start.is_some().then(|| command.asked()),
        is_closed_loop: start.is_some() && !command.has_rate(),
        ended_early: reason.as_deref() == Some("interruption"),
        queries: completed.checked_add(lost),
        answered: Some(completed),
        // The run time is rounded there, the rate of the answers is not.
        sent_qps: (run_time > 0.0 && completed > 0).then(|| qps * (sent as f64 / completed as f64)),
        answered_qps: Some(qps).filter(is_figure),
        average_ns: average.map(|seconds| seconds * 1e9),
        latencies,
        ..Imported::of(format!("dnsperf {program}").trim_end().to_owned(), Headline::Service)
    })
}

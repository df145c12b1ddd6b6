//! What `-j` prints instead of texts: an object a line for the start, each interval, the end, and the statistics. Times
//! are in seconds.

use dnsdyno_measure::Histogram;
use dnsdyno_text::secret::words_without_secrets;
use jiff::Timestamp;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::dnsperf::settings::{Input, Settings};
use crate::dnsperf::statistics::Form;
use crate::figures::{Durations, Figures};
use crate::hg64::{Bucket, buckets};
use crate::texts::{VERSION, ctime};

#[derive(Serialize)]
struct Start {
    version: &'static str,
    command_line: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updates: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries: Option<bool>,
    server_addr: String,
    server_port: u16,
    started: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timelimit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maxruns: Option<u32>,
}

#[derive(Serialize)]
struct Statistics {
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<bool>,
    sent: u64,
    completed: u64,
    lost: u64,
    #[serde(skip_serializing_if = "is_zero")]
    interrupted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    unexpected: u64,
    request_avg_pktsize: u64,
    response_avg_pktsize: u64,
    run_time: f64,
    qps: f64,
    latency: Latency,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<Connection>,
}

#[derive(Serialize)]
struct Connection {
    attempts: u64,
    completed: u64,
    latency: Latency,
}

#[derive(Serialize)]
struct Latency {
    avg: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stddev: Option<f64>,
    /// From, to, count.
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram: Option<Vec<(f64, f64, u64)>>,
}

/// The line of the start.
pub(super) fn start(words: &[String], settings: &Settings) -> String {
    let is_update = settings.input == Input::Updates;
    let server = settings.addresses.server;
    line(
        "start",
        &Start {
            version: VERSION,
            command_line: ["dnsperf".to_owned()]
                .into_iter()
                .chain(words_without_secrets(words).into_iter().skip(1))
                .collect(),
            updates: is_update.then_some(true),
            queries: (!is_update).then_some(true),
            server_addr: server.ip().to_string(),
            server_port: server.port(),
            started: ctime(Timestamp::now()),
            timelimit: (settings.time_limit_us > 0).then(|| seconds(settings.time_limit_us)),
            maxruns: (settings.passes > 0).then_some(settings.passes),
        },
    )
}

/// The line of the end of sending.
pub(super) fn stop(reason: &str) -> String {
    line("stop", &one("reason", &reason))
}

/// The line of an interval whose statistics are not asked for.
pub(super) fn rate(now_us: u64, qps: f64) -> String {
    #[derive(Serialize)]
    struct Rate {
        timestamp_usec: u64,
        qps: f64,
    }
    line("rate", &Rate { timestamp_usec: now_us, qps })
}

/// The line of the statistics of a run, or of an interval of it, after this time.
pub(super) fn statistics(figures: &Figures, run_us: u64, form: Form) -> String {
    let is_interval = form.interval_us.is_some();
    let (request_avg_pktsize, response_avg_pktsize) = figures.mean_bytes;
    let connections = &figures.connections;
    let latency = |durations: &Durations, histogram: &Histogram| {
        let is_many = durations.count > 1;
        Latency {
            avg: seconds(durations.average_us()),
            min: (!is_interval).then(|| seconds(durations.min_us())),
            max: (!is_interval).then(|| seconds(durations.max_us())),
            stddev: is_many.then(|| durations.stddev_s()),
            histogram: (is_many && form.has_histogram).then(|| rows(histogram)),
        }
    };
    line(
        "statistics",
        &Statistics {
            interval: is_interval.then_some(true),
            sent: figures.sent,
            completed: figures.answered,
            lost: figures.lost,
            interrupted: figures.interrupted,
            unexpected: figures.unexpected,
            request_avg_pktsize,
            response_avg_pktsize,
            run_time: seconds(run_us),
            qps: figures.rate_qps(form.interval_us.unwrap_or(run_us)),
            latency: latency(&figures.latency, &figures.histogram),
            connection: connections.is_any().then(|| Connection {
                attempts: connections.attempts,
                completed: connections.successful,
                latency: latency(&connections.latency, &connections.histogram),
            }),
        },
    )
}

/// The line of the sessions that were resumed over TLS.
pub(super) fn tls(resumed: u64) -> String {
    line("dns_over_tls", &one("tls_sessions_resumed", &resumed))
}

/// The line of the statuses over HTTP, and of the resumed sessions where they are counted.
pub(super) fn https(statuses: &[(String, u64)], resumed: Option<u64>) -> String {
    struct Codes<'a>(&'a [(String, u64)]);
    impl Serialize for Codes<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(status, count)| (status, count)))
        }
    }
    #[derive(Serialize)]
    struct Https<'a> {
        status_codes: Codes<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tls_sessions_resumed: Option<u64>,
    }
    line("dns_over_https", &Https { status_codes: Codes(statuses), tls_sessions_resumed: resumed })
}

fn rows(histogram: &Histogram) -> Vec<(f64, f64, u64)> {
    let row = |bucket: Bucket| (seconds(bucket.from_us), seconds(bucket.to_us), bucket.count);
    buckets(histogram).into_iter().map(row).collect()
}

/// An object with one member.
fn one<'a, T: Serialize>(key: &'a str, value: &'a T) -> impl Serialize + use<'a, T> {
    struct One<'a, T>(&'a str, &'a T);
    impl<T: Serialize> Serialize for One<'_, T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(self.0, self.1)?;
            map.end()
        }
    }
    One(key, value)
}

fn line(key: &str, value: &impl Serialize) -> String {
    // Numbers and texts: nothing of it can fail.
    format!("{}\n", serde_json::to_string(&one(key, value)).unwrap_or_default())
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

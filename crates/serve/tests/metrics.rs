//! The metrics of a run against its record: every count that is served is that of the summary.

mod support;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use dnsdyno_record::{Digest, Interval, Line, RunReader};
use dnsdyno_runner::{Live, Observer};
use dnsdyno_serve::Metrics;
use support::{Got, get, simulated};

const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";

fn served() -> Metrics {
    Metrics::serve("127.0.0.1:0".parse().unwrap()).unwrap()
}

fn scrape(address: SocketAddr, accept: &str) -> Got {
    get(address, &format!("GET /metrics HTTP/1.1\r\nHost: any.example\r\nAccept: {accept}\r\n\r\n"))
}

/// Passes the lines of a record on, as the collector of a run does.
fn replay(run: &Path, metrics: &mut Metrics) -> Digest {
    let reader = RunReader::open(run).unwrap();
    let mut digest = Digest::new(reader.header().clone());
    metrics.begins(reader.header(), Some(1_000_000_000)).unwrap();
    for line in reader {
        if let Line::Interval(interval) = line.unwrap() {
            let Interval { index, to_ns, asked_qps, .. } = *interval;
            let covered_ns = interval.covered_ns();
            let live = Live { index, to_ns, covered_ns, asked_qps, arrivals: &interval.arrivals };
            metrics.passed(&live);
            metrics.settled(&interval);
            digest.interval(&interval);
            metrics.idle(&digest);
        }
    }
    digest
}

/// The samples of a text by their names with labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// The sum of the samples of this name whose labels contain `label`.
fn sum(samples: &BTreeMap<String, f64>, name: &str, label: &str) -> u64 {
    let of_name = samples.iter().filter(|(sample, _)| {
        sample.strip_prefix(name).is_some_and(|labels| labels.is_empty() || labels.starts_with('{'))
    });
    of_name.filter(|(sample, _)| sample.contains(label)).map(|(_, count)| *count as u64).sum()
}

#[test]
fn every_count_is_that_of_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |draft| {
        (draft.rate, draft.duration) = (None, None);
        draft.stair = Some("2k..6k".into());
        (draft.step, draft.hold) = (Some("2k".into()), Some("300ms".into()));
    });
    let mut metrics = served();
    let digest = replay(&run, &mut metrics);
    let got = scrape(metrics.address(), OPEN_METRICS);
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((got.status, got.header("content-type")), (200, Some(content_type)));
    assert!(got.body.ends_with("# EOF\n"));
    let samples = samples(&got.body);
    let (tally, arrivals) = (digest.tally(), digest.arrivals());
    assert!(tally.ends.timed_out > 0 && tally.ends.answered > 0, "{:?}", tally.ends);
    for (end, count) in [("answered", tally.ends.answered), ("timed_out", tally.ends.timed_out)] {
        let label = format!("end=\"{end}\"");
        assert_eq!(sum(&samples, "dnsdyno_queries_total", &label), count, "{end}");
    }
    assert_eq!(sum(&samples, "dnsdyno_queries_total", ""), tally.scheduled);
    assert_eq!(sum(&samples, "dnsdyno_responses_total", "rcode=\"NOERROR\""), tally.rcodes.of(0));
    assert_eq!(sum(&samples, "dnsdyno_requests_total", ""), tally.requests);
    assert_eq!(sum(&samples, "dnsdyno_live_queries_total", "event=\"sent\""), arrivals.sent);
    let latency = tally.response_latency();
    assert_eq!(sum(&samples, "dnsdyno_response_seconds_count", ""), latency.count());
    let within = |bound: &str| sum(&samples, "dnsdyno_response_seconds_bucket", &format!("le=\"{bound}\""));
    assert_eq!((within("+Inf"), within("34.359738368")), (latency.count(), tally.response.count()));
    // Each step of the stair is a phase of its own, and has the queries of its row.
    for row in digest.rows() {
        let label = format!("phase=\"{}\"", row.label.as_deref().unwrap());
        assert_eq!(sum(&samples, "dnsdyno_queries_total", &label), row.tally.scheduled, "{label}");
    }
    assert_eq!(samples["dnsdyno_run_state{state=\"running\"}"], 1.0);
    assert_eq!(samples["dnsdyno_generator_doubts"] as usize, digest.warnings().len());
}

#[test]
fn the_older_format_has_the_same_samples_under_the_names_of_its_families() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let mut metrics = served();
    replay(&run, &mut metrics);
    let (new, old) = (scrape(metrics.address(), OPEN_METRICS), scrape(metrics.address(), "*/*"));
    assert_eq!(old.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(samples(&old.body), samples(&new.body));
    assert!(old.body.contains("# TYPE dnsdyno_queries_total counter\n"), "{}", old.body);
    assert!(old.body.contains("# TYPE dnsdyno_run_info gauge\n"));
    assert!(old.body.contains("# TYPE dnsdyno_response_seconds histogram\n"));
    assert!(!old.body.contains("EOF") && !old.body.contains("UNIT"));
    let declined = scrape(metrics.address(), "application/openmetrics-text;q=0, text/plain");
    assert_eq!(declined.body, old.body);
}

#[test]
fn hostile_names_stay_within_their_label() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |draft| draft.name = Some("a\"} 1\ndnsdyno_queries_total 9\\".into()));
    let mut metrics = served();
    replay(&run, &mut metrics);
    let got = scrape(metrics.address(), "");
    assert!(got.body.contains(r#"name="a\"} 1\ndnsdyno_queries_total 9\\""#), "{}", got.body);
    assert!(!got.body.contains("\ndnsdyno_queries_total 9"));
}

#[test]
fn before_a_run_begins_there_is_a_state_and_elsewhere_a_hint() {
    let metrics = served();
    let got = scrape(metrics.address(), "");
    assert!(got.body.contains("dnsdyno_run_state{state=\"preparing\"} 1"), "{}", got.body);
    let hint = get(metrics.address(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(hint.status == 404 && hint.body.contains("/metrics"));
    let refused = get(metrics.address(), "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
}

#[test]
fn a_port_in_use_is_an_error_that_says_what_to_do() {
    let metrics = served();
    let error = Metrics::serve(metrics.address()).unwrap_err().to_string();
    assert!(error.contains("in use") && error.contains("--metrics"), "{error}");
}

#[test]
fn the_last_state_is_served_until_it_was_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let mut metrics = served();
    let digest = replay(&run, &mut metrics);
    let address = metrics.address();
    // Without a bound in time: the one read below ends it.
    let ending = std::thread::spawn(move || metrics.finish(&digest, Duration::MAX, || true));
    let read = loop {
        let got = scrape(address, "");
        if got.body.contains("dnsdyno_run_state{state=\"ended\"} 1") {
            break got;
        }
    };
    ending.join().unwrap();
    assert!(read.body.contains("dnsdyno_run_state{state=\"running\"} 0"));
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn the_last_state_is_not_waited_for_where_a_signal_ends_the_wait() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let mut metrics = served();
    let digest = replay(&run, &mut metrics);
    metrics.finish(&digest, Duration::MAX, || false);
}

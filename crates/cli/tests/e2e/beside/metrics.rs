//! The metrics of a run in progress, as a Prometheus reads them, and as a receiver of OTLP gets them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dnsdyno_responder::{Faults, Share};

use crate::support::{Started, Workplace, closed_port, has_program, responder};

/// The address in the message at the start.
fn metrics_address(work: &Workplace, run: &mut Started<'_>) -> SocketAddr {
    let address = || {
        let stderr = work.stderr();
        let text = stderr.split("metrics at http://").nth(1)?.split("/metrics").next()?;
        text.parse().ok()
    };
    run.until("the address is printed", || address().is_some());
    address().unwrap()
}

/// The body of a response; empty where the server has gone.
fn get(address: SocketAddr, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut response = String::new();
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.read_to_string(&mut response);
    response.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.to_owned())
}

/// The sum of the samples of this name whose labels contain `label`.
fn sum(text: &str, name: &str, label: &str) -> u64 {
    let samples = text.lines().filter(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{'])) && line.contains(label)
    });
    samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
}

#[test]
fn the_last_metrics_of_a_run_are_those_of_its_record() {
    let work = Workplace::with_queries();
    let server = responder(Faults { loss: Share::new(0.1).unwrap(), seed: 1, ..Faults::default() });
    let words = format!(
        "run -s {} -d q.txt --rate 500 --for 1s --timeout 200ms --interval 100ms -o run --metrics 0 \
         --metrics-linger 50s",
        server.address()
    );
    let mut run = work.start(&words);
    let address = metrics_address(&work, &mut run);
    let mut last = String::new();
    run.until("the metrics say that the run has ended", || {
        let text = get(address, "/metrics");
        let has_ended = text.contains("dnsdyno_run_state{state=\"ended\"} 1");
        last = if has_ended { text } else { String::new() };
        has_ended
    });
    let ran = run.wait().gives(0);
    assert!(
        ran.took < Duration::from_secs(45),
        "the first read of the last state ends the wait: {:?}",
        ran.took
    );
    let record = work.record("run");
    let (tally, arrivals) = (record.tally(), record.arrivals());
    assert!(tally.ends.timed_out > 0, "{:?}", tally.ends);
    for (end, count) in [("answered", tally.ends.answered), ("timed_out", tally.ends.timed_out)] {
        assert_eq!(sum(&last, "dnsdyno_queries_total", &format!("end=\"{end}\"")), count, "{end}");
    }
    assert_eq!(sum(&last, "dnsdyno_queries_total", "transport=\"udp\""), tally.scheduled);
    assert_eq!(sum(&last, "dnsdyno_responses_total", "rcode="), tally.rcodes.total());
    assert_eq!(sum(&last, "dnsdyno_live_queries_total", "event=\"sent\""), arrivals.sent);
    assert_eq!(sum(&last, "dnsdyno_response_seconds_count", ""), tally.response_latency().count());
    assert_eq!(sum(&last, "dnsdyno_generator_doubts", ""), record.warnings().len() as u64);
    check_with_promtool(&work, &last);
}

/// Lets Prometheus' own linter read the text.
fn check_with_promtool(work: &Workplace, text: &str) {
    if !has_program("promtool") {
        return;
    }
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let checked = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout) + String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && said.trim().is_empty(), "{said}\n{text}");
    assert!(!work.has("metrics"), "nothing is written");
}

#[test]
fn a_prometheus_reads_a_run_and_has_its_counts() {
    if !has_program("prometheus") {
        return;
    }
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let (mut metrics, prometheus) = (closed_port(), closed_port());
    // Of 127.0.0.1, it could become the local port of a connection before the run opens it, even of Prometheus' own.
    metrics.set_ip([127, 0, 0, 77].into());
    let config = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
         scrape_configs: [{{job_name: dnsdyno, static_configs: [{{targets: ['{metrics}']}}]}}]\n"
    );
    work.write("prometheus.yml", config);
    let scraping = Prometheus::start(&work, prometheus);
    let words = format!(
        "run -s {} -d q.txt --rate 500 --for 1s --interval 100ms -o run --metrics {metrics} --metrics-linger 50s",
        server.address()
    );
    // It ends when the Prometheus has read its last state.
    let ran = work.dnsdyno(&words).gives(0);
    assert!(ran.took < Duration::from_secs(45), "{ran:?}");
    let query = |query: &str| scraping.query(query);
    let record = work.record("run");
    let of_run = |metric: &str| format!("sum(last_over_time({metric}[1h]))");
    let scheduled = record.tally().scheduled.to_string();
    assert_eq!(query(&of_run("dnsdyno_queries_total")), Some(scheduled.clone()));
    assert_eq!(query(&of_run("dnsdyno_response_seconds_count")), Some(scheduled));
    assert_eq!(query("count(last_over_time(dnsdyno_run_info[1h]))"), Some("1".to_owned()));
    assert_eq!(query("sum(last_over_time(dnsdyno_run_state{state=\"ended\"}[1h]))"), Some("1".to_owned()));
    let p99 =
        query("histogram_quantile(0.99, sum by (le) (last_over_time(dnsdyno_response_seconds_bucket[1h])))");
    let p99: f64 = p99.unwrap().parse().unwrap();
    assert!(p99 > 0.0 && p99.is_finite(), "{p99}");
}

/// A Prometheus with its data in the folder of the test; dropping it ends it.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    fn start(work: &Workplace, address: SocketAddr) -> Prometheus {
        let log = fs::File::create(work.path("prometheus.log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", work.path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", work.path("prometheus-data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let prometheus = Prometheus { child, address };
        let is_ready = || get(address, "/-/ready").contains("Ready");
        assert!(until(is_ready), "not ready: {}", work.read("prometheus.log"));
        prometheus
    }

    /// The value of a query with one result.
    fn query(&self, query: &str) -> Option<String> {
        let escaped: String = query
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            })
            .collect();
        let answer = get(self.address, &format!("/api/v1/query?query={escaped}"));
        // Its API may send the body in chunks: the object is what is between the braces.
        let object = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
        let value: serde_json::Value = serde_json::from_str(object).unwrap();
        Some(value["data"]["result"][0]["value"][1].as_str()?.to_owned())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether it becomes true within a minute.
fn until(mut seen: impl FnMut() -> bool) -> bool {
    (0..3_000).any(|_| {
        let is_seen = seen();
        if !is_seen {
            thread::sleep(Duration::from_millis(20));
        }
        is_seen
    })
}

#[test]
fn a_receiver_of_otlp_gets_each_interval_of_a_run() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", receiver.local_addr().unwrap());
    let (received, requests) = mpsc::channel();
    // It ends with the test: on a busy host a run has more intervals than its load.
    thread::spawn(move || {
        // A request is one connection, with the names of the metrics in it as they are.
        while let Ok((mut stream, _)) = receiver.accept() {
            let request = request_of(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            if received.send(request).is_err() {
                return;
            }
        }
    });
    // Four intervals with queries, and the rest after the last one.
    let words = format!(
        "run -s {} -d q.txt --rate 500 --for 400ms --interval 100ms -o run --otlp {url}",
        server.address()
    );
    let ran = work.dnsdyno(&words).gives(0);
    assert!(!ran.stderr.contains("did not reach"), "{}", ran.stderr);
    let requests: Vec<_> = requests.try_iter().collect();
    assert!(requests.len() >= INTERVALS, "{} requests", requests.len());
    let names = ["dnsdyno_queries", "dnsdyno_response_seconds", "service.instance.id"];
    for request in &requests[..4] {
        let text = String::from_utf8_lossy(request);
        assert!(text.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{text}");
        assert!(names.iter().all(|name| text.contains(name)), "{text}");
    }
}

/// Intervals of that run in which queries are due.
const INTERVALS: usize = 4;

/// A request to its end, by its content length.
fn request_of(stream: &mut TcpStream) -> Vec<u8> {
    let (mut request, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut piece).unwrap();
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        let length =
            text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        let head = request.windows(4).position(|bytes| bytes == b"\r\n\r\n").map(|at| at + 4);
        let is_whole =
            head.zip(length).is_some_and(|(head, length): (usize, usize)| request.len() >= head + length);
        if is_whole || read == 0 {
            return request;
        }
    }
}

#[test]
fn metrics_that_cannot_be_served_or_sent_end_a_run_before_its_load() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let run = format!("run -s {} -d q.txt --rate 100 --for 1s", server.address());
    let in_use = format!("{run} --metrics {}", taken.local_addr().unwrap());
    work.dnsdyno(&in_use).ends_refused(3, &["cannot serve metrics at", "in use", "--metrics"]);
    for (flags, words) in [
        ("--metrics localhost", "a port alone"),
        ("--metrics 127.0.0.1", "127.0.0.1:PORT"),
        ("--metrics-linger 5s", "--metrics"),
        ("--otlp https://127.0.0.1", "plain HTTP"),
        ("--otlp 127.0.0.1:4318", "http://127.0.0.1:4318"),
    ] {
        let ran = work.dnsdyno(&format!("{run} {flags}")).gives(2).says(&[words]);
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(server.book().udp.counts.received, 0);
    assert!(!work.has("runs"));
}

#[test]
fn a_receiver_that_is_away_does_not_stop_a_run_and_is_told() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!(
        "run -s {} -d q.txt --rate 500 --for 300ms --interval 100ms -o run --otlp http://{}",
        server.address(),
        closed_port()
    );
    let ran = work.dnsdyno(&words).gives(0).says(&["did not reach http://", "refused"]);
    assert!(ran.stdout.contains("record: run"));
    assert_eq!(work.record("run").tally().ends.answered, 150);
}

#[test]
fn the_queries_of_the_dashboard_are_valid_for_prometheus() {
    if !has_program("promtool") {
        return;
    }
    let work = Workplace::new();
    let dashboard = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/dashboard.json");
    let dashboard: serde_json::Value = serde_json::from_str(&fs::read_to_string(dashboard).unwrap()).unwrap();
    let mut queries = Vec::new();
    collect_queries(&dashboard, &mut queries);
    assert!(queries.len() > 15, "{queries:?}");
    let rules: Vec<_> = queries
        .iter()
        .enumerate()
        .map(|(i, query)| {
            let query =
                query.replace("$__rate_interval", "1m").replace("$instance", "x").replace("$job", "x");
            BTreeMap::from([("record", format!("panel:{i}")), ("expr", query)])
        })
        .collect();
    // JSON is YAML.
    let rules = serde_json::json!({ "groups": [{ "name": "panels", "rules": rules }] });
    work.write("rules.yml", rules.to_string());
    let checked = Command::new("promtool")
        .args(["check", "rules", "--lint=none"])
        .arg(work.path("rules.yml"))
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

/// Every `expr` of a dashboard.
fn collect_queries(value: &serde_json::Value, queries: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(object) => object.iter().for_each(|(key, value)| match value.as_str() {
            Some(query) if key == "expr" => queries.push(query.to_owned()),
            _ => collect_queries(value, queries),
        }),
        serde_json::Value::Array(values) => values.iter().for_each(|value| collect_queries(value, queries)),
        _ => {}
    }
}

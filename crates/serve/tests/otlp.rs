//! What a receiver of OTLP gets, decoded, against the summary of the run.

mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dnsdyno_record::{Digest, Interval, Line, RunReader};
use dnsdyno_runner::{Live, Observer};
use dnsdyno_serve::{Otlp, OtlpEndpoint};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, HistogramDataPoint, NumberDataPoint, metric::Data, number_data_point::Value,
};
use prost::Message;
use support::simulated;

/// A receiver that answers each request with the next of these statuses, and then with 200.
struct Receiver {
    url: String,
    taken: Arc<Mutex<Vec<ExportMetricsServiceRequest>>>,
}

impl Receiver {
    fn new(statuses: &'static [u16]) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let requests = Arc::clone(&taken);
        thread::spawn(move || {
            let mut statuses = statuses.iter();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = body_of(&mut stream);
                let status = *statuses.next().unwrap_or(&200);
                if status == 200 {
                    requests.lock().unwrap().push(ExportMetricsServiceRequest::decode(&*request).unwrap());
                }
                let _ = write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
            }
        });
        Receiver { url, taken }
    }
}

/// A receiver that takes requests, and answers with an octet now and then.
fn dripping() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                body_of(&mut stream);
                for octet in b"HTTP/1.1 200 x\r\n".iter().chain([b'a'; 1_000].iter()) {
                    if stream.write_all(&[*octet]).is_err() {
                        return;
                    }
                    thread::sleep(Duration::from_millis(200));
                }
            });
        }
    });
    url
}

#[test]
fn a_receiver_that_answers_octet_by_octet_holds_up_the_end_of_a_run_for_a_few_seconds_only() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let since = Instant::now();
    let (_, lost) = replay(&run, &dripping());
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    let lost = lost.expect("what has not been taken is told");
    assert!(lost.contains("no response in time"), "{lost}");
}

/// The body of a request, by its content length.
fn body_of(stream: &mut TcpStream) -> Vec<u8> {
    let (mut request, mut piece) = (Vec::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut piece).unwrap();
        request.extend_from_slice(&piece[..read]);
        let Some(head) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
        assert!(text.starts_with("post /v1/metrics http/1.1\r\n") && text.contains("application/x-protobuf"));
        let length = text.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        let end = head + 4 + length.parse::<usize>().unwrap();
        if request.len() >= end || read == 0 {
            return request[head + 4..].to_vec();
        }
    }
}

/// Passes the lines of a record on; returns its summary, and what did not reach the receiver.
fn replay(run: &Path, url: &str) -> (Digest, Option<String>) {
    let mut otlp = Otlp::start(OtlpEndpoint::parse(url).unwrap()).unwrap();
    let reader = RunReader::open(run).unwrap();
    let mut digest = Digest::new(reader.header().clone());
    otlp.begins(reader.header(), None).unwrap();
    for line in reader {
        if let Line::Interval(interval) = line.unwrap() {
            let Interval { index, to_ns, asked_qps, .. } = *interval;
            let covered_ns = interval.covered_ns();
            let live = Live { index, to_ns, covered_ns, asked_qps, arrivals: &interval.arrivals };
            otlp.passed(&live);
            otlp.settled(&interval);
            digest.interval(&interval);
            otlp.idle(&digest);
        }
    }
    let lost = otlp.finish(&digest);
    (digest, lost)
}

/// All points of a counter.
fn points(requests: &[ExportMetricsServiceRequest], name: &str) -> Vec<NumberDataPoint> {
    let of = |data: Data| match data {
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == AggregationTemporality::Delta as i32);
            sum.data_points
        }
        _ => panic!("{name} is no counter"),
    };
    data(requests, name).into_iter().flat_map(of).collect()
}

/// All points of a histogram.
fn histograms(requests: &[ExportMetricsServiceRequest], name: &str) -> Vec<HistogramDataPoint> {
    let of = |data: Data| match data {
        Data::Histogram(histogram) => histogram.data_points,
        _ => panic!("{name} is no histogram"),
    };
    data(requests, name).into_iter().flat_map(of).collect()
}

fn data(requests: &[ExportMetricsServiceRequest], name: &str) -> Vec<Data> {
    let resources = requests.iter().flat_map(|request| &request.resource_metrics);
    let metrics = resources.flat_map(|resource| &resource.scope_metrics).flat_map(|scope| &scope.metrics);
    metrics.filter(|metric| metric.name == name).filter_map(|metric| metric.data.clone()).collect()
}

fn total(points: &[NumberDataPoint]) -> i64 {
    let count = |point: &NumberDataPoint| match point.value {
        Some(Value::AsInt(count)) => count,
        _ => panic!("{point:?}"),
    };
    points.iter().map(count).sum()
}

#[test]
fn the_requests_of_a_run_add_up_to_its_summary() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let receiver = Receiver::new(&[]);
    let (digest, lost) = replay(&run, &receiver.url);
    assert_eq!(lost, None);
    let requests = receiver.taken.lock().unwrap();
    let tally = digest.tally();
    assert_eq!(requests.len() as u64, digest.intervals + 1, "one per interval, and the rest");
    assert_eq!(total(&points(&requests, "dnsdyno_queries")), tally.scheduled as i64);
    assert_eq!(total(&points(&requests, "dnsdyno_live_queries")) as u64, {
        let arrivals = digest.arrivals();
        arrivals.sent
            + arrivals.answered
            + arrivals.late
            + arrivals.timed_out
            + arrivals.refused
            + arrivals.not_sent
    });
    let latencies = histograms(&requests, "dnsdyno_response_seconds");
    let latency = tally.response_latency();
    assert_eq!(latencies.iter().map(|point| point.count).sum::<u64>(), latency.count());
    for point in &latencies {
        assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    }
    let beyond: u64 = latencies.iter().map(|point| point.bucket_counts.last().unwrap()).sum();
    assert_eq!(beyond, latency.unanswered);
    let attributes = &requests[0].resource_metrics[0].resource.as_ref().unwrap().attributes;
    let attributes: BTreeMap<_, _> = attributes
        .iter()
        .map(|attribute| (attribute.key.as_str(), format!("{:?}", attribute.value)))
        .collect();
    assert!(attributes["service.instance.id"].contains(&digest.header.run_id));
}

#[test]
fn the_times_of_the_requests_follow_each_other_without_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let receiver = Receiver::new(&[]);
    let (digest, _) = replay(&run, &receiver.url);
    let requests = receiver.taken.lock().unwrap();
    let mut next = digest.header.started_unix_ns;
    for request in requests.iter() {
        let one = points(std::slice::from_ref(request), "dnsdyno_generator_cpu_seconds");
        assert_eq!((one.len(), one[0].start_time_unix_nano), (1, next));
        next = one[0].time_unix_nano;
    }
    assert_eq!(next, digest.header.started_unix_ns + digest.to_ns());
}

#[test]
fn a_receiver_that_is_busy_gets_the_same_request_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let receiver = Receiver::new(&[503, 429, 200, 502]);
    let (digest, lost) = replay(&run, &receiver.url);
    assert_eq!(lost, None);
    let requests = receiver.taken.lock().unwrap();
    assert_eq!(total(&points(&requests, "dnsdyno_queries")), digest.tally().scheduled as i64);
}

#[test]
fn what_a_receiver_refuses_is_told_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let receiver = Receiver::new(&[404, 400]);
    let (digest, lost) = replay(&run, &receiver.url);
    let lost = lost.unwrap();
    let expected =
        format!("2 of {} requests with metrics did not reach {}", digest.intervals + 1, receiver.url);
    assert!(lost.contains(&expected) && lost.contains("status 400"), "{lost}");
}

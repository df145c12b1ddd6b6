//! Over HTTP/3: connections, handshakes, streams, statuses and queries are counted as by the server; aioquic, which
//! shares no code with ours, as its server and as its client.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dnsdyno_lab::Certificate;
use dnsdyno_measure::{Anomalies, ConnectionEnd, StreamFailure};
use dnsdyno_responder::{Config, Faults, Responder, Transport};
use serde_json::Value;

use super::quic::{DOH3, connections, handshakes_agree, share, with};
use crate::support::{Workplace, has_readers};

#[test]
fn each_fault_of_a_query_is_counted_by_its_reason() {
    let one = share(0.01);
    for method in DOH3.methods {
        let work = Workplace::new();
        let faults = Faults {
            loss: one,
            wrong_id: one,
            wrong_question: one,
            garbage: one,
            wrong_length: one,
            dribble: one,
            reorder: one,
            server_error: one,
            stream_reset: one,
            ..Faults::default()
        };
        let load = format!("--rate 5k --for 1s --timeout 3s --clients 8 {method}");
        let (digest, book) = DOH3.measured(&work, with(faults), &load);
        let (ends, anomalies, did) = (digest.tally().ends, digest.arrivals().anomalies, book.counts);
        assert_eq!((ends.total(), did.received, digest.tally().retried), (5_000, 5_000, 0), "{ends:?}");
        let all = [did.dropped, did.wrong_ids, did.wrong_questions, did.garbage, did.wrong_lengths];
        let more = [did.dribbled, did.reordered, did.server_errors, did.stream_resets];
        assert!(all.iter().chain(&more).all(|count| *count > 10), "{did:?}");
        let (ours, encrypted) = connections(&digest);
        assert_eq!(encrypted.statuses.of(500), did.server_errors);
        let of_streams = [StreamFailure::Status, StreamFailure::Reset, StreamFailure::WrongId]
            .map(|why| encrypted.stream(why));
        assert_eq!(of_streams, [did.server_errors, did.stream_resets, did.wrong_ids]);
        // A body of another length than its head says, and one that is no message.
        assert_eq!(encrypted.stream(StreamFailure::Protocol), did.wrong_lengths);
        assert_eq!(encrypted.stream(StreamFailure::NoMessage), did.garbage);
        assert_eq!((anomalies.wrong_question, anomalies.malformed), (did.wrong_questions, did.garbage));
        assert_eq!(ends.timed_out, did.dropped + did.wrong_questions);
        assert_eq!(ends.answered, did.answered, "{ends:?}");
        assert_eq!(
            (ours.established, ours.ended(ConnectionEnd::ByUs)),
            (8, 8),
            "a stream is not its connection"
        );
        assert!(work.dnsdyno("show run").gives(0).stdout.contains("500: "));
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn after_goaway_the_next_queries_use_other_connections() {
    for method in DOH3.methods {
        let work = Workplace::new();
        let faults = Faults { goaway: share(0.01), ..Faults::default() };
        let load = format!("--outstanding 20 --clients 4 --count 2000 {method}");
        let (digest, book) = DOH3.measured(&work, with(faults), &load);
        let ends = digest.tally().ends;
        assert_eq!((ends.answered, ends.refused), (2_000, 0), "{ends:?}");
        let (ours, encrypted) = connections(&digest);
        assert!(book.connections.goaways > 5);
        let gone = ours.ended(ConnectionEnd::GoneAway);
        assert!(gone >= book.connections.goaways / 2, "{ours:?}");
        assert_eq!(gone + ours.ended(ConnectionEnd::ByUs), ours.established, "{:?}", ours.ended);
        assert_eq!(ours.established, book.connections.accepted);
        assert!(digest.tally().retried >= encrypted.stream(StreamFailure::GoneAway));
        assert_eq!(digest.tally().requests, 2_000 + digest.tally().retried);
        assert_eq!(book.counts.answered, 2_000);
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn the_end_of_a_connection_is_counted_and_its_queries_are_retried() {
    for faults in [
        Faults { cut: share(0.005), ..Faults::default() },
        Faults { reset: share(0.005), ..Faults::default() },
    ] {
        let work = Workplace::new();
        let told = format!("{faults:?}");
        let (digest, book) = DOH3.measured(&work, with(faults), "--outstanding 20 --clients 4 --count 4000");
        let (ours, _) = connections(&digest);
        let (ended, did) = (ours.ended(ConnectionEnd::Error), book.counts.cuts + book.counts.resets);
        assert!(did > 10 && ended > did / 2 && ended <= did, "{ended} of {did}: {told}");
        assert_eq!(ended + ours.ended(ConnectionEnd::ByUs), ours.established, "{told}: {:?}", ours.ended);
        let (ends, tally) = (digest.tally().ends, digest.tally());
        assert_eq!((ends.answered, ends.total()), (4_000, 4_000), "{told}: {ends:?}");
        assert!(tally.retried >= ended && tally.requests == 4_000 + tally.retried, "{told}");
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn a_wrong_path_is_refused_by_its_status_and_said_before_the_load() {
    let work = Workplace::new();
    let (server, address) = DOH3.serve(&work, Config::default());
    let words = format!("run -s {address} --ask www.example --transport doh3 --ca ca.pem --count 3");
    work.checked(&format!("{words} --http-path /elsewhere"))
        .ends_refused(3, &["HTTP status 404", "--http-path"]);
    let book = server.stop().doh3;
    assert!(book.statuses.get(&404).is_some_and(|count| *count >= 1), "{:?}", book.statuses);
    assert_eq!(book.counts.received, 0);
}

#[test]
fn a_server_of_doq_does_not_speak_http_3() {
    let work = Workplace::new();
    let doq = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
    let server = Responder::start(Config { doq, ..Config::default() }).unwrap();
    let address = server.addresses_of(Transport::Doq)[0];
    let words = format!("run -s {address} --ask www.example --transport doh3 --insecure --count 3");
    work.checked(&words).ends_refused(3, &["no common ALPN", "h3"]);
}

/// The server of `doh3.py`, and what it says.
struct Aioquic {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
    address: SocketAddr,
}

impl Aioquic {
    fn serve(certificate: &Certificate) -> Aioquic {
        let mut child = python("serve")
            .args([certificate.cert_file(), certificate.key_file()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("no port: {line:?}"));
        Aioquic { child, said, address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)) }
    }

    /// Ends it; what it has counted.
    fn stop(mut self) -> Value {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.said.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Aioquic {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn python(role: &str) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(here.join("../../target/readers/bin/python"));
    command.arg(here.join("tests/e2e/doh3.py")).arg(role);
    command
}

#[test]
fn aioquic_answers_our_queries_and_counts_the_same() {
    if !has_readers() {
        return;
    }
    let certificate = Certificate::make().expect("a certificate");
    let server = Aioquic::serve(&certificate);
    let (address, ca) = (server.address, certificate.ca_file().display().to_string());
    let (mut asked, mut opened) = ([0, 0], 0);
    for (number, load) in [
        "--rate 300 --for 1s --clients 3",
        "--outstanding 16 --count 400 --clients 2",
        "--outstanding 4 --count 60 --queries-per-connection 3",
    ]
    .into_iter()
    .enumerate()
    {
        for (at, method) in ["post", "get"].into_iter().enumerate() {
            let work = Workplace::new();
            let words = format!(
                "run -s {address} --ask www.example --transport doh3 --ca {ca} --sni localhost --http-method {method} \
                 {load} --quiet -o run"
            );
            work.dnsdyno(&words).gives(0);
            let digest = work.record("run");
            let tally = digest.tally();
            assert_eq!((tally.ends.answered, tally.retried), (tally.scheduled, 0), "{number} {method}");
            assert_eq!(digest.arrivals().anomalies, Anomalies::default());
            let (ours, encrypted) = connections(&digest);
            assert_eq!((encrypted.statuses.of(200), encrypted.streams_total()), (tally.requests, 0));
            assert_eq!(encrypted.statuses.of(103), 0, "an informational response is none");
            assert_eq!(ours.ended(ConnectionEnd::ByUs), ours.established);
            asked[at] += tally.requests;
            opened += ours.established;
        }
    }
    let counted = server.stop();
    assert_eq!([&counted["post"], &counted["get"]], [&Value::from(asked[0]), &Value::from(asked[1])]);
    assert_eq!(counted["connections"], opened);
    // Each ended with H3_NO_ERROR.
    assert_eq!(counted["errors"], serde_json::json!({ "256": opened }));
}

#[test]
fn aioquic_is_answered_by_the_responder() {
    if !has_readers() {
        return;
    }
    let work = Workplace::new();
    let (server, address) = DOH3.serve(&work, Config::default());
    for (number, method) in ["GET", "POST"].into_iter().enumerate() {
        let ran = python("ask")
            .args([&address.port().to_string(), &work.path("ca.pem").display().to_string()])
            .args([method, "www.example", "50"])
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let seen: Value = serde_json::from_slice(&ran.stdout).unwrap();
        assert_eq!(seen["answers"], 50);
        assert_eq!(seen["headers"]["content-type"], "application/dns-message");
        assert!(seen["headers"]["cache-control"].as_str().is_some_and(|text| text.starts_with("max-age=")));
        let body = seen["body"].as_str().unwrap();
        assert!(body.starts_with("0000") && body.ends_with("c0000201"), "192.0.2.1: {body}");
        let book = server.book().doh3;
        assert_eq!(book.counts.answered, 50 * (number as u64 + 1));
    }
    let book = server.stop().doh3;
    // What is too short to be a query was received, too.
    assert_eq!((book.counts.received, book.counts.ignored_short), (102, 2));
    for (status, count) in [(200, 100), (400, 2), (404, 2), (405, 2), (415, 2)] {
        assert_eq!(book.statuses.get(&status), Some(&count), "{status}");
    }
    assert_eq!(
        (book.connections.accepted, book.connections.closed_by_client),
        (2, 2),
        "{:?}",
        book.connections
    );
}

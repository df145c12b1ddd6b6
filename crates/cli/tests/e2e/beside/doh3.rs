//! Over HTTP/3: connections, handshakes, streams, statuses and queries are counted as by the server; aioquic, which
//! shares no code with ours, as its server and as its client.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dnsdyno_lab::Certificate;
use dnsdyno_measure::{Anomalies, ConnectionEnd, Connections, Encrypted, HandshakeKind, StreamFailure};
use dnsdyno_record::Digest;
use dnsdyno_responder::book::Side;
use dnsdyno_responder::{
    Config, Faults, Responder, Resumption, Rule, Running, Share, TlsSettings, Transport,
};
use serde_json::Value;

use crate::support::{Workplace, has_readers};

/// A responder that serves DoH/3, whose certificate is trusted in `ca.pem`.
fn serve(work: &Workplace, config: Config) -> (Running, SocketAddr) {
    let doh3 = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 0))];
    let server = Responder::start(Config { doh3, ..config }).unwrap_or_else(|error| panic!("{error}"));
    work.write("ca.pem", server.trust_pem().unwrap());
    let address = server.addresses_of(Transport::Doh3)[0];
    (server, address)
}

/// A run against such a responder, and what that counted.
fn measured(work: &Workplace, config: Config, load: &str) -> (Digest, Side) {
    let (server, address) = serve(work, config);
    let words = format!(
        "run -s {address} --ask www.example --ask mail.example/AAAA --transport doh3 --ca ca.pem {load} --quiet -o run"
    );
    work.dnsdyno(&words).completes();
    (work.record("run"), server.stop().doh3)
}

fn with(faults: Faults) -> Config {
    Config { faults: Faults { seed: 7, ..faults }, ..Config::default() }
}

fn percent(percent: f64) -> Share {
    Share::new(percent / 100.0).unwrap()
}

/// The connections of a run, after checking that they add up, and their handshakes and streams.
#[track_caller]
fn connections(digest: &Digest) -> (&Connections, &Encrypted) {
    let connections = digest.arrivals().connections.as_deref().expect("a run over connections");
    assert_eq!(connections.opened, connections.established + connections.failed_total(), "{connections:?}");
    assert_eq!(connections.established, connections.ended_total(), "{connections:?}");
    let encrypted = connections.encrypted.as_deref().expect("an encrypted transport");
    assert_eq!(encrypted.done_total(), connections.established, "{encrypted:?}");
    (connections, encrypted)
}

/// Both sides count the same handshakes.
#[track_caller]
fn handshakes_agree(digest: &Digest, book: &Side) {
    let (_, encrypted) = connections(digest);
    let done = [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Early]
        .map(|kind| encrypted.handshake(kind).count());
    let theirs = &book.connections;
    assert_eq!(done, [theirs.handshakes_full, theirs.handshakes_resumed, theirs.handshakes_early]);
    assert_eq!(theirs.accepted, theirs.ended(), "{theirs:?}");
}

/// Both methods.
const METHODS: [&str; 2] = ["", "--http-method get"];

#[test]
fn kept_connections_carry_all_queries_and_the_responder_counts_the_same() {
    for method in METHODS {
        for load in ["--rate 2k --for 1s --clients 5", "--outstanding 50 --count 5000 --clients 5"] {
            let work = Workplace::new();
            let (digest, book) = measured(&work, Config::default(), &format!("{load} {method}"));
            let tally = digest.tally();
            assert_eq!((tally.ends.answered, tally.retried), (tally.scheduled, 0), "{load}");
            assert_eq!((book.counts.received, book.counts.answered), (tally.requests, tally.requests));
            let (ours, encrypted) = connections(&digest);
            assert_eq!((ours.opened, ours.established, ours.open_max), (5, 5, 5));
            assert_eq!((book.connections.accepted, book.connections.closed_by_client), (5, 5));
            assert_eq!((ours.ended(ConnectionEnd::ByUs), ours.reused), (5, tally.requests - 5));
            assert_eq!((encrypted.statuses.of(200), encrypted.streams_total()), (tally.requests, 0));
            assert_eq!(book.statuses.get(&200), Some(&tally.requests));
            assert_eq!(digest.arrivals().anomalies, Anomalies::default());
            handshakes_agree(&digest, &book);
        }
    }
}

#[test]
fn a_connection_carries_the_given_number_of_queries_and_the_next_resumes_its_session() {
    for (each, load) in
        [(1, "--outstanding 20"), (10, "--outstanding 20"), (1, "--rate 500 --http-method get")]
    {
        let work = Workplace::new();
        let load = format!("{load} --queries-per-connection {each} --count 1000");
        let (digest, book) = measured(&work, Config::default(), &load);
        assert_eq!((digest.tally().ends.answered, digest.tally().requests), (1_000, 1_000), "{load}");
        assert_eq!(book.counts.answered, 1_000);
        let (ours, encrypted) = connections(&digest);
        assert_eq!(ours.established, book.connections.accepted);
        let fewest = 1_000 / each;
        let most = if each == 1 { fewest } else { fewest + u64::from(digest.header.clients) };
        assert!((fewest..=most).contains(&ours.established), "{} for {load}", ours.established);
        // Over a slow host clients of an open loop connect before the first of them has a session.
        let least = if load.contains("--rate") { 0 } else { fewest / 2 };
        assert!(encrypted.handshake(HandshakeKind::Resumed).count() > least, "{encrypted:?}");
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn queries_are_sent_with_the_first_flight_where_both_sides_allow_it() {
    let early = || TlsSettings { resumption: Resumption::EarlyData, ..TlsSettings::default() };
    let load = "--outstanding 4 --queries-per-connection 1 --count 200";
    for (tls, flag) in [(early(), "--early-data"), (early(), ""), (TlsSettings::default(), "--early-data")] {
        let work = Workplace::new();
        let is_early = flag == "--early-data" && matches!(tls.resumption, Resumption::EarlyData);
        let (digest, book) = measured(&work, Config { tls, ..Config::default() }, &format!("{load} {flag}"));
        assert_eq!(digest.tally().ends.answered, 200);
        let (_, encrypted) = connections(&digest);
        let done = encrypted.handshake(HandshakeKind::Early).count();
        assert_eq!((done > 150, done > 0), (is_early, is_early), "{done} with {flag:?}");
        assert_eq!((book.counts.early, encrypted.early_rejected), (done, 0));
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn rejected_early_data_is_sent_again_after_the_handshake() {
    let work = Workplace::new();
    let tls = || TlsSettings { resumption: Resumption::EarlyData, ..TlsSettings::default() };
    let (server, address) = serve(&work, Config { tls: tls(), ..Config::default() });
    let words = format!(
        "run -s {address} --ask www.example --transport doh3 --insecure --early-data --queries-per-connection 1 \
         --clients 4 --rate 200 --for 4s --quiet -o run"
    );
    let mut generator = work.start(&words);
    generator.until("early data is accepted", || server.book().doh3.connections.handshakes_early > 20);
    let first = server.stop().doh3;
    // It does not know the sessions of the previous one.
    let config = Config { tls: tls(), doh3: vec![address], ..Config::default() };
    let second = Responder::start(config).unwrap_or_else(|error| panic!("{error}"));
    generator.wait().gives(0);
    let (digest, second) = (work.record("run"), second.stop().doh3);
    let (_, encrypted) = connections(&digest);
    assert!(encrypted.early_rejected > 0, "{encrypted:?}");
    assert!(second.connections.handshakes_early > 20, "{:?}", second.connections);
    let ends = digest.tally().ends;
    assert_eq!((ends.total(), ends.answered + ends.refused), (800, 800), "{ends:?}");
    assert_eq!(ends.answered, first.counts.answered + second.counts.answered);
}

#[test]
fn each_fault_of_a_query_is_counted_by_its_reason() {
    let one = percent(1.0);
    for method in METHODS {
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
        let (digest, book) = measured(&work, with(faults), &load);
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
    for method in METHODS {
        let work = Workplace::new();
        let faults = Faults { goaway: percent(1.0), ..Faults::default() };
        let load = format!("--outstanding 20 --clients 4 --count 2000 {method}");
        let (digest, book) = measured(&work, with(faults), &load);
        let ends = digest.tally().ends;
        assert_eq!((ends.answered, ends.refused), (2_000, 0), "{ends:?}");
        let (ours, encrypted) = connections(&digest);
        assert!(book.connections.goaways > 5);
        let gone = ours.ended(ConnectionEnd::GoneAway);
        assert!(gone >= book.connections.goaways / 2, "{ours:?}");
        assert_eq!(gone + ours.ended(ConnectionEnd::ByUs), ours.established, "{:?}", ours.ended);
        assert_eq!(ours.established, book.connections.accepted);
        assert!(digest.tally().retried >= encrypted.stream(StreamFailure::GoneAway));
        assert_eq!(book.counts.answered, 2_000);
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn the_end_of_a_connection_is_counted_and_its_queries_are_retried() {
    for faults in [
        Faults { cut: percent(0.5), ..Faults::default() },
        Faults { reset: percent(0.5), ..Faults::default() },
    ] {
        let work = Workplace::new();
        let told = format!("{faults:?}");
        let (digest, book) = measured(&work, with(faults), "--outstanding 20 --clients 4 --count 4000");
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
fn a_stream_without_a_response_is_cancelled_so_that_others_can_be_opened() {
    let work = Workplace::new();
    let faults = Faults { loss: percent(50.0), ..Faults::default() };
    let (digest, book) = measured(&work, with(faults), "--rate 1k --for 3s --timeout 200ms --clients 1");
    let (ours, encrypted) = connections(&digest);
    let (given_up, dropped) = (encrypted.stream(StreamFailure::GivenUp), book.counts.dropped);
    assert!(given_up > dropped / 2 && given_up <= dropped, "{given_up} of {dropped}");
    let ends = digest.tally().ends;
    assert_eq!((ends.timed_out, ends.answered), (dropped, 3_000 - dropped), "{ends:?}");
    assert_eq!(ours.established, 1);
}

#[test]
fn responses_of_all_lengths_are_received_completely() {
    for (size, method) in [(512, METHODS[0]), (5_000, METHODS[1]), (65_535, METHODS[0])] {
        let work = Workplace::new();
        let config = Config { rule: Rule::FixedSize { bytes: size }, ..Config::default() };
        let load = format!("--outstanding 8 --clients 2 --count 200 {method}");
        let (digest, book) = measured(&work, config, &load);
        let tally = digest.tally();
        assert_eq!((tally.ends.answered, tally.bytes_answered), (200, 200 * u64::from(size)));
        assert_eq!(book.counts.answered, 200);
    }
}

#[test]
fn a_wrong_path_is_refused_by_its_status_and_said_before_the_load() {
    let work = Workplace::new();
    let (server, address) = serve(&work, Config::default());
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
    let (server, address) = serve(&work, Config::default());
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

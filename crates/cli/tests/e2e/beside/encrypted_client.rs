//! Over DoT and DoH: connections, handshakes, streams and queries are counted as by the server.

use std::time::Duration;

use dnsdyno_lab::{Certificate, ServerOptions};
use dnsdyno_measure::{
    Anomalies, ConnectionEnd, Connections, Encrypted, HandshakeFailure, HandshakeKind, StreamFailure,
};
use dnsdyno_record::Digest;
use dnsdyno_responder::{
    Book, CertificateFiles, Config, Faults, Responder, Resumption, Running, Share, TlsSettings, TlsVersions,
    Transport, book::Side,
};

use rustix::process::Signal;

use crate::support::{DNSDYNO, Ran, Workplace, real_server};

/// The transports as flags, with their names in the responder.
const WAYS: [(&str, Transport); 3] = [
    ("--transport dot", Transport::Dot),
    ("--transport doh", Transport::Doh),
    ("--transport doh --http-method get", Transport::Doh),
];

/// A responder over DoT and DoH, whose authority is in `ca.pem`.
fn start(work: &Workplace, faults: Faults, tls: TlsSettings) -> Running {
    let free = "127.0.0.1:0".parse().unwrap();
    let config = Config { dot: vec![free], doh: vec![free], faults, tls, ..Config::default() };
    let server = Responder::start(config).unwrap_or_else(|error| panic!("{error}"));
    work.write("ca.pem", server.trust_pem().unwrap_or_default());
    server
}

fn run(work: &Workplace, server: &Running, way: (&str, Transport), load: &str) -> Ran {
    let address = server.addresses_of(way.1)[0];
    let words = format!(
        "run -s {address} --ask www.example --ask mail.example/AAAA {} --ca ca.pem {load} --quiet -o run",
        way.0
    );
    work.dnsdyno(&words).completes()
}

/// A run over a transport against a responder with these faults, and the responder's counts of that transport.
fn measured(work: &Workplace, faults: Faults, way: (&str, Transport), load: &str) -> (Digest, Side) {
    let server = start(work, faults, TlsSettings::default());
    run(work, &server, way, load);
    (work.record("run"), side(server.stop(), way.1))
}

fn side(book: Book, transport: Transport) -> Side {
    match transport {
        Transport::Dot => book.dot,
        _ => book.doh,
    }
}

fn books(digest: &Digest) -> (&Connections, &Encrypted) {
    let connections = digest.arrivals().connections.as_deref().expect("a run over connections");
    (connections, connections.encrypted.as_deref().expect("encrypted connections"))
}

/// Handshakes by kind.
fn handshakes(digest: &Digest) -> [u64; 3] {
    HandshakeKind::ALL.map(|kind| books(digest).1.handshake(kind).count())
}

fn percent(percent: f64) -> Share {
    Share::new(percent / 100.0).unwrap()
}

#[test]
fn a_query_whose_handshake_failed_is_no_request() {
    for way in &WAYS[..2] {
        let work = Workplace::new();
        let faults = Faults { tls_alert: percent(50.0), ..Faults::default() };
        let (digest, book) = measured(&work, faults, *way, "--queries-per-connection 1 --rate 100 --for 2s");
        let tally = digest.tally();
        assert_eq!((tally.requests, tally.retried), (book.counts.received, 0), "{way:?}");
        assert!(book.connections.tls_alerts > 20 && tally.ends.refused > 2, "{:?}", tally.ends);
    }
}

#[test]
fn kept_connections_carry_all_queries_and_the_responder_counts_the_same() {
    for way in WAYS {
        for load in ["--rate 2k --for 1s --clients 5", "--outstanding 50 --count 5000 --clients 5"] {
            let work = Workplace::new();
            let (digest, book) = measured(&work, Faults::default(), way, load);
            let tally = digest.tally();
            assert_eq!((tally.ends.answered, tally.retried), (tally.scheduled, 0), "{way:?} {load}");
            assert_eq!((book.counts.received, book.counts.answered), (tally.requests, tally.requests));
            let (connections, encrypted) = books(&digest);
            assert_eq!((connections.opened, connections.open_max, book.connections.accepted), (5, 5, 5));
            assert_eq!((connections.ended(ConnectionEnd::ByUs), book.connections.closed_by_client), (5, 5));
            let of_book = [book.connections.handshakes_full, book.connections.handshakes_resumed, 0];
            assert_eq!(handshakes(&digest), of_book);
            let answers = if way.1 == Transport::Doh { tally.requests } else { 0 };
            assert_eq!((encrypted.statuses.of(200), encrypted.streams_total()), (answers, 0));
            assert_eq!(connections.query.count(), tally.ends.answered);
            assert_eq!(digest.arrivals().anomalies, Anomalies::default());
        }
    }
}

/// TLS 1.3 has four secrets for each connection without a session: of the handshake and of the data, each way; and one
/// for exporters.
#[test]
fn the_secrets_of_each_connection_are_written_for_their_owner() {
    let (work, way) = (Workplace::new(), WAYS[0]);
    let server = start(&work, Faults::default(), TlsSettings::default());
    // Two workers, so that each of them has to write.
    let load = "--count 40 --outstanding 4 --clients 4 --workers 2 --no-resumption --tls-key-log keys.txt";
    run(&work, &server, way, load);
    let text = work.read("keys.txt");
    let secrets = |label: &str| text.lines().filter(|line| line.starts_with(label)).count() as u64;
    let [full, ..] = handshakes(&work.record("run"));
    for label in ["CLIENT_HANDSHAKE_TRAFFIC_SECRET ", "SERVER_TRAFFIC_SECRET_0 "] {
        assert_eq!(secrets(label), full, "{text}");
    }
    let mode = work.shell("stat -c %a keys.txt").stdout;
    assert_eq!((full, mode.trim()), (4, "600"));
    let port = server.addresses_of(Transport::Dot)[0].port();
    let words = format!("-s 127.0.0.1 -p {port} -d q.txt -m dot -O tls-sslkeylogfile");
    work.write("q.txt", "www.example A\n");
    work.shell(&format!("SSLKEYLOGFILE=other.txt {DNSDYNO} dnsperf {words}")).gives(0);
    assert_eq!(work.read("other.txt").matches("CLIENT_HANDSHAKE_TRAFFIC_SECRET ").count(), 1);
    let refused = work.dnsdyno(&format!(
        "run -s 127.0.0.1:{port} --ask www.example --transport dot --insecure --count 1 --tls-key-log ./none/k"
    ));
    refused.gives(2).says(&["cannot write the secrets of TLS sessions", "none/k"]);
}

#[test]
fn a_connection_for_each_query_resumes_the_sessions_of_earlier_ones() {
    for way in WAYS {
        for (more, tls) in [
            ("--outstanding 10", TlsSettings::default()),
            ("--rate 200", TlsSettings::default()),
            ("--outstanding 10 --fast-open", TlsSettings::default()),
            ("--outstanding 10 --tls-version 1.2", TlsSettings::default()),
            ("--outstanding 10 --tls-version 1.3 --no-resumption", TlsSettings::default()),
            ("--outstanding 10", TlsSettings { versions: TlsVersions::Only12, ..TlsSettings::default() }),
        ] {
            let work = Workplace::new();
            let server = start(&work, Faults::default(), tls);
            run(&work, &server, way, &format!("{more} --queries-per-connection 1 --count 200"));
            let (digest, book) = (work.record("run"), side(server.stop(), way.1));
            let connections = books(&digest).0;
            assert_eq!((digest.tally().ends.answered, connections.established), (200, 200), "{way:?} {more}");
            assert_eq!((book.connections.accepted, book.counts.answered), (200, 200));
            let [full, resumed, early] = handshakes(&digest);
            let of_book = [book.connections.handshakes_full, book.connections.handshakes_resumed];
            assert_eq!(([full, resumed], early), (of_book, 0), "{way:?} {more}");
            if more.contains("--no-resumption") {
                assert_eq!(full, 200);
            } else {
                assert!(resumed >= 150, "{way:?} {more}: {full} full, {resumed} resumed");
            }
        }
    }
}

#[test]
fn early_data_carries_the_queries_of_resumed_handshakes() {
    let work = Workplace::new();
    let tls = TlsSettings { resumption: Resumption::EarlyData, ..TlsSettings::default() };
    let server = start(&work, Faults::default(), tls);
    run(&work, &server, WAYS[0], "--outstanding 4 --early-data --queries-per-connection 1 --count 200");
    let (digest, book) = (work.record("run"), server.stop().dot);
    assert_eq!(digest.tally().ends.answered, 200);
    let [full, resumed, early] = handshakes(&digest);
    let of_book = &book.connections;
    assert_eq!(
        [full, resumed, early],
        [of_book.handshakes_full, of_book.handshakes_resumed, of_book.handshakes_early]
    );
    assert!(early > 100, "{full} full, {resumed} resumed, {early} early");
    assert_eq!((book.counts.early, book.counts.received), (early, 200));
    assert_eq!(books(&digest).1.early_rejected, 0);
}

#[test]
fn rejected_early_data_is_sent_again_and_counted_once() {
    let work = Workplace::new();
    let certificate = Certificate::make().unwrap();
    let files = CertificateFiles { chain: certificate.cert_file(), key: certificate.key_file() };
    let tls = TlsSettings { files: Some(files), resumption: Resumption::EarlyData, ..TlsSettings::default() };
    let free = "127.0.0.1:0".parse().unwrap();
    let first = Responder::start(Config { dot: vec![free], tls: tls.clone(), ..Config::default() }).unwrap();
    let address = first.addresses_of(Transport::Dot)[0];
    let words = format!(
        "run -s {address} --ask www.example --transport dot --ca {} --sni localhost --early-data --rate 100 --for 3s \
         --queries-per-connection 1 --quiet -o run",
        certificate.ca_file().display()
    );
    let mut generator = work.start(&words);
    generator.until("its sessions are early", || first.book().dot.connections.handshakes_early > 20);
    let first = first.stop().dot;
    // Another one does not know the sessions of the first.
    let second = Responder::start(Config { dot: vec![address], tls, ..Config::default() }).unwrap();
    generator.wait().gives(0);
    let (digest, second) = (work.record("run"), second.stop().dot);
    let ends = digest.tally().ends;
    assert_eq!(ends.answered + ends.refused, 300, "{ends:?}");
    assert_eq!(ends.answered, first.counts.answered + second.counts.answered);
    let encrypted = books(&digest).1;
    assert!(encrypted.early_rejected >= 1, "{encrypted:?}");
    assert_eq!(
        handshakes(&digest)[2],
        first.connections.handshakes_early + second.connections.handshakes_early
    );
}

#[test]
fn faults_of_queries_are_counted_as_over_any_transport() {
    for way in WAYS {
        let work = Workplace::new();
        let one = percent(1.0);
        let faults = Faults { loss: one, wrong_id: one, wrong_question: one, seed: 42, ..Faults::default() };
        let (digest, did) = measured(&work, faults, way, "--rate 3k --for 1s --timeout 500ms --clients 8");
        let (ends, anomalies, did) = (digest.tally().ends, digest.arrivals().anomalies, did.counts);
        assert_eq!((ends.total(), did.received), (3_000, 3_000), "{way:?}");
        assert!([did.dropped, did.wrong_ids, did.wrong_questions].iter().all(|n| *n > 5));
        assert_eq!(
            (anomalies.wrong_question, anomalies.unexpected),
            (did.wrong_questions, did.wrong_ids),
            "{way:?}"
        );
        // Over DoH the stream says whose a response is: one with a wrong ID ends its own query.
        let refused = if way.1 == Transport::Doh { did.wrong_ids } else { 0 };
        assert_eq!(ends.refused, refused, "{way:?}");
        assert_eq!(ends.timed_out, did.dropped + did.wrong_ids + did.wrong_questions - refused, "{way:?}");
    }
}

#[test]
fn lost_connections_lose_no_query() {
    let faults = |change: fn(&mut Faults)| {
        let mut faults = Faults { seed: 3, ..Faults::default() };
        change(&mut faults);
        faults
    };
    for way in WAYS {
        for (name, faults, end) in [
            ("reset", faults(|faults| faults.reset = percent(2.0)), Some(ConnectionEnd::Reset)),
            ("cut", faults(|faults| faults.cut = percent(2.0)), Some(ConnectionEnd::Reset)),
            ("close", faults(|faults| faults.close_after = Some(27)), Some(ConnectionEnd::ByServer)),
            ("dribble", faults(|faults| faults.dribble = percent(5.0)), None),
            ("reorder", faults(|faults| faults.reorder = percent(5.0)), None),
        ] {
            let work = Workplace::new();
            let (digest, book) = measured(&work, faults, way, "--outstanding 20 --clients 4 --count 1000");
            let ends = digest.tally().ends;
            assert_eq!(ends.answered + ends.refused, 1_000, "{way:?} {name}: {ends:?}");
            let connections = books(&digest).0;
            assert_eq!(connections.established, book.connections.accepted, "{way:?} {name}");
            match end {
                Some(end) => {
                    assert!(connections.ended(end) > 3, "{way:?} {name}: {connections:?}");
                    assert!(digest.tally().retried > 3, "{way:?} {name}");
                }
                None => assert_eq!((ends.answered, connections.established), (1_000, 4), "{way:?} {name}"),
            }
        }
    }
}

#[test]
fn a_wrong_length_ends_a_connection_of_dot_and_one_stream_of_doh() {
    let faults = Faults { wrong_length: percent(1.0), seed: 3, ..Faults::default() };
    for way in WAYS {
        let work = Workplace::new();
        let load = "--outstanding 20 --clients 4 --count 2000 --timeout 200ms";
        let (digest, book) = measured(&work, faults.clone(), way, load);
        let ends = digest.tally().ends;
        assert!(book.counts.wrong_lengths > 5 && ends.total() == 2_000, "{way:?} {ends:?}");
        let (connections, encrypted) = books(&digest);
        if way.1 == Transport::Doh {
            assert_eq!(encrypted.stream(StreamFailure::Protocol), book.counts.wrong_lengths);
            assert_eq!((ends.refused, connections.established), (book.counts.wrong_lengths, 4), "{way:?}");
        } else {
            assert!(connections.established > 4, "{connections:?}");
        }
    }
}

#[test]
fn a_malformed_message_is_counted_and_ends_only_connections_of_dot() {
    let faults = Faults { garbage: percent(1.0), seed: 5, ..Faults::default() };
    for way in WAYS {
        let work = Workplace::new();
        let (digest, book) =
            measured(&work, faults.clone(), way, "--outstanding 20 --clients 4 --count 2000");
        let (connections, encrypted) = books(&digest);
        assert!(book.counts.garbage > 5, "{way:?}");
        let malformed = digest.arrivals().anomalies.malformed;
        if way.1 == Transport::Doh {
            assert_eq!((malformed, connections.established), (book.counts.garbage, 4), "{way:?}");
            assert_eq!(encrypted.stream(StreamFailure::NoMessage), malformed);
            assert_eq!(digest.tally().ends.refused, malformed);
        } else {
            assert_eq!(connections.ended(ConnectionEnd::Garbled), malformed);
        }
    }
}

#[test]
fn http_errors_instead_of_a_response_are_counted_by_reason() {
    let three = percent(3.0);
    for way in &WAYS[1..] {
        let work = Workplace::new();
        let faults = Faults { server_error: three, stream_reset: three, seed: 7, ..Faults::default() };
        let (digest, book) = measured(&work, faults, *way, "--outstanding 20 --clients 4 --count 2000");
        let (ends, did) = (digest.tally().ends, book.counts);
        assert!(did.server_errors > 20 && did.stream_resets > 20, "{did:?}");
        let (connections, encrypted) = books(&digest);
        assert_eq!(encrypted.statuses.of(500), did.server_errors);
        assert_eq!(encrypted.statuses.of(200), did.answered);
        assert_eq!(encrypted.stream(StreamFailure::Status), did.server_errors);
        assert_eq!(encrypted.stream(StreamFailure::Reset), did.stream_resets);
        assert_eq!((ends.answered, ends.refused), (did.answered, did.server_errors + did.stream_resets));
        assert_eq!(connections.established, 4, "a stream is not its connection");
        assert!(work.dnsdyno("show run").gives(0).stdout.contains("500: "));
    }
}

#[test]
fn after_goaway_the_next_queries_use_other_connections() {
    for way in &WAYS[1..] {
        let work = Workplace::new();
        let faults = Faults { goaway: percent(1.0), seed: 9, ..Faults::default() };
        let (digest, book) = measured(&work, faults, *way, "--outstanding 20 --clients 4 --count 2000");
        let ends = digest.tally().ends;
        assert_eq!((ends.answered, ends.refused), (2_000, 0), "{ends:?}");
        let (connections, encrypted) = books(&digest);
        assert!(book.connections.goaways > 5);
        let gone = connections.ended(ConnectionEnd::GoneAway);
        assert!(gone >= book.connections.goaways / 2, "{connections:?}");
        assert_eq!(connections.established, book.connections.accepted);
        assert!(digest.tally().retried >= encrypted.stream(StreamFailure::GoneAway));
    }
}

#[test]
fn handshakes_that_fail_are_counted_by_reason_and_end_in_their_time() {
    for way in WAYS {
        for (faults, why) in [
            (Faults { tls_alert: percent(30.0), seed: 1, ..Faults::default() }, HandshakeFailure::Alert),
            (
                Faults { no_handshake: percent(30.0), seed: 1, ..Faults::default() },
                HandshakeFailure::TimedOut,
            ),
        ] {
            let work = Workplace::new();
            let (digest, book) = measured(
                &work,
                faults,
                way,
                "--outstanding 10 --queries-per-connection 1 --count 200 --handshake-timeout 200ms --timeout 2s",
            );
            let ends = digest.tally().ends;
            assert_eq!(ends.answered + ends.refused + ends.timed_out, 200, "{way:?} {why:?}: {ends:?}");
            assert!(ends.answered > 180, "{way:?} {why:?}: what failed is asked again: {ends:?}");
            let encrypted = books(&digest).1;
            let failed = book.connections.tls_alerts + book.connections.handshakes_withheld;
            assert!(failed > 20, "{:?}", book.connections);
            assert_eq!((encrypted.failed(why), encrypted.failed_total()), (failed, failed), "{way:?}");
        }
    }
}

#[test]
fn a_silent_server_makes_queries_time_out_and_the_run_end() {
    for way in WAYS {
        let work = Workplace::new();
        let faults = Faults { silent: percent(100.0), ..Faults::default() };
        let server = start(&work, faults, TlsSettings::default());
        let ran = run(&work, &server, way, "--rate 100 --for 1s --timeout 300ms --clients 2");
        assert!(ran.took < Duration::from_secs(5), "{:?}", ran.took);
        let digest = work.record("run");
        assert_eq!(digest.tally().ends.timed_out, 100, "{way:?} {:?}", digest.tally().ends);
        let (connections, encrypted) = books(&digest);
        assert!(connections.ended(ConnectionEnd::Silent) > 0, "{way:?} {connections:?}");
        assert_eq!(encrypted.failed_total(), 0);
    }
}

#[test]
fn a_server_without_handshakes_makes_queries_time_out_and_the_run_end() {
    for way in WAYS {
        let work = Workplace::new();
        let faults = Faults { no_handshake: percent(100.0), ..Faults::default() };
        let server = start(&work, faults, TlsSettings::default());
        let ran = run(&work, &server, way, "--outstanding 10 --for 1s --timeout 400ms --clients 2");
        assert!(ran.took < Duration::from_secs(5), "{:?}", ran.took);
        let digest = work.record("run");
        let ends = digest.tally().ends;
        assert_eq!((ends.timed_out, ends.answered), (digest.tally().scheduled, 0), "{way:?} {ends:?}");
        assert!(books(&digest).1.failed_total() > 0, "{way:?}");
    }
}

#[test]
fn a_handshake_in_progress_is_abandoned_when_the_user_ends_the_run() {
    for way in &WAYS[..2] {
        let work = Workplace::new();
        let faults = Faults { no_handshake: percent(100.0), ..Faults::default() };
        let server = start(&work, faults, TlsSettings::default());
        let mut generator = work.start(&format!(
            "run -s {} --ask www.example {} --ca ca.pem --outstanding 6 --workers 1 --clients 1 --for 50s \
             --timeout 40s \
             --handshake-timeout 40s --quiet -o run",
            server.addresses_of(way.1)[0],
            way.0
        ));
        let withheld = || side(server.book(), way.1).connections.handshakes_withheld;
        generator.until("its handshake is in progress", || withheld() == 1);
        generator.signal(Signal::INT);
        generator.until("it reports that it stops", || work.stderr().contains("stopping"));
        generator.signal(Signal::INT);
        generator.wait().gives(130);
        let digest = work.record("run");
        let (connections, encrypted) = books(&digest);
        assert_eq!((connections.established, digest.tally().ends.interrupted), (1, 6), "{way:?}");
        assert_eq!(encrypted.failed(HandshakeFailure::Abandoned), 1, "{way:?} {encrypted:?}");
    }
}

#[test]
fn an_idle_connection_is_closed_and_the_next_query_makes_a_new_handshake() {
    for way in &WAYS[..2] {
        let work = Workplace::new();
        let load = "--rate 10 --for 1s --clients 1 --workers 1 --idle-timeout 20ms";
        let (digest, book) = measured(&work, Faults::default(), *way, load);
        assert_eq!((digest.tally().ends.answered, book.connections.accepted), (10, 10), "{way:?}");
        assert_eq!(handshakes(&digest), [1, 9, 0], "{way:?}");
    }
}

#[test]
fn certificates_are_verified_by_name_and_root_unless_disabled() {
    let work = Workplace::new();
    let server = start(&work, Faults::default(), TlsSettings::default());
    let strange = Certificate::make().unwrap();
    let strange = strange.ca_file();
    for (transport, kind) in [("dot", Transport::Dot), ("doh", Transport::Doh)] {
        let address = server.addresses_of(kind)[0];
        for (trust, failure) in [
            (format!("--ca {}", strange.display()), Some(HandshakeFailure::Untrusted)),
            ("--ca ca.pem --sni other.example".to_owned(), Some(HandshakeFailure::WrongName)),
            ("--ca ca.pem --sni localhost".to_owned(), None),
            ("--insecure --sni other.example".to_owned(), None),
        ] {
            work.dnsdyno(&format!(
                "run -s {address} --ask a --transport {transport} {trust} --rate 100 --for 500ms --clients 2 --quiet \
                 -o run"
            ))
            .completes();
            let digest = work.record("run");
            let (ends, encrypted) = (digest.tally().ends, books(&digest).1);
            match failure {
                Some(why) => {
                    assert_eq!((ends.answered, ends.refused), (0, 50), "{trust}");
                    assert_eq!(encrypted.failed(why), encrypted.failed_total(), "{trust}");
                    let shown = work.dnsdyno("show run").gives(0).stdout;
                    assert!(shown.contains("certificate "), "{shown}");
                }
                None => assert_eq!((ends.answered, encrypted.failed_total()), (50, 0), "{trust}"),
            }
            std::fs::remove_dir_all(work.path("run")).unwrap();
        }
    }
}

#[test]
fn a_server_of_another_protocol_and_a_silent_one_give_different_errors() {
    let work = Workplace::new();
    let server = start(&work, Faults::default(), TlsSettings::default());
    let (plain, dot) = (server.address(), server.addresses_of(Transport::Dot)[0]);
    for (address, transport, failures) in [
        // Not TLS: it reads our hello as a length, and waits for the rest of the message.
        (plain, "dot", [HandshakeFailure::TimedOut, HandshakeFailure::Closed, HandshakeFailure::NotTls]),
        // TLS, but no HTTP.
        (dot, "doh", [HandshakeFailure::Alpn; 3]),
    ] {
        work.dnsdyno(&format!(
            "run -s {address} --ask a --transport {transport} --ca ca.pem --rate 50 --for 500ms --clients 2 \
             --handshake-timeout 100ms --timeout 1s --quiet -o run"
        ))
        .completes();
        let digest = work.record("run");
        let encrypted = books(&digest).1;
        let of_these = HandshakeFailure::ALL.into_iter().filter(|why| failures.contains(why));
        assert_eq!(of_these.map(|why| encrypted.failed(why)).sum::<u64>(), encrypted.failed_total());
        assert_eq!((digest.tally().ends.answered, encrypted.done_total()), (0, 0));
        std::fs::remove_dir_all(work.path("run")).unwrap();
    }
}

/// A real server over its encrypted transports: kept connections, and one for each few queries.
fn answers_encrypted(name: &str, part: &str) {
    let work = Workplace::with_queries();
    let certificate = Certificate::make().unwrap();
    let options = ServerOptions {
        parts: vec![part.to_owned()],
        values: certificate.values(),
        ..ServerOptions::default()
    };
    let Some(server) = real_server(name, &options) else { return };
    let queries = dnsdyno_lab::example_queries().lines().filter(|line| !line.starts_with(';')).count() as u64;
    let mut asked = 0;
    for (listener, way) in
        [("dot", "--transport dot"), ("doh", "--transport doh"), ("doh", "--transport doh --http-method get")]
    {
        let Some(address) = server.listener(listener) else { continue };
        for (passes, load) in [
            (4, "--rate 1k --passes 4 --clients 4"),
            (2, "--outstanding 10 --passes 2 --queries-per-connection 3"),
            // More than the stream limit of any of them.
            (40, "--outstanding 300 --passes 40 --clients 1 --workers 1"),
        ] {
            asked += 1;
            let out = format!("run{asked}");
            work.dnsdyno(&format!(
                "run -s {address} -d q.txt {way} --ca {} --sni localhost {load} --quiet -o {out}",
                certificate.ca_file().display()
            ))
            .gives(0);
            let digest = work.record(&out);
            let tally = digest.tally();
            assert_eq!(tally.ends.answered, passes * queries, "{name} {way} {load}: {:?}", tally.ends);
            assert_eq!(digest.arrivals().anomalies, Anomalies::default(), "{name} {way} {load}");
            let (connections, encrypted) = books(&digest);
            assert_eq!((connections.failed_total(), encrypted.failed_total()), (0, 0));
            let answers = if listener == "doh" { passes * queries } else { 0 };
            assert_eq!((encrypted.statuses.of(200), encrypted.streams_total()), (answers, 0), "{name} {way}");
        }
    }
    assert_eq!(asked, if part == "dot_doh" { 9 } else { 3 });
}

#[test]
fn bind_answers_over_dot_and_doh() {
    answers_encrypted("bind", "dot_doh");
}

#[test]
fn unbound_answers_over_dot_and_doh() {
    answers_encrypted("unbound", "dot_doh");
}

#[test]
fn nsd_answers_over_dot() {
    answers_encrypted("nsd", "dot");
}

#[test]
fn hickory_answers_over_dot() {
    answers_encrypted("hickory", "dot_doq");
}

#[test]
fn invalid_options_of_encryption_are_reported_before_anything_is_sent() {
    let work = Workplace::new();
    work.write("not.pem", "nothing");
    let cases: [(&str, &[&str]); 9] = [
        ("--transport dot --ca none.pem", &["none.pem", "--ca"]),
        ("--transport dot --ca not.pem", &["not.pem", "BEGIN CERTIFICATE"]),
        ("--transport tcp --ca not.pem", &["--ca", "tcp", "--transport dot"]),
        ("--transport udp --insecure", &["--insecure", "udp"]),
        ("--transport dot --http-method get", &["--http-method", "--transport doh"]),
        ("--transport doh --insecure --ca not.pem", &["--ca", "--insecure", "remove one"]),
        ("--transport doh --early-data --no-resumption", &["--early-data", "--no-resumption"]),
        ("--transport doh --http-path dns-query", &["--http-path", "/dns-query"]),
        ("--transport dot --insecure --sni a..b", &["a..b", "--sni"]),
    ];
    for (flags, words) in cases {
        let flags = format!("run -s 127.0.0.1:9 --ask a {flags} --for 1s -o none");
        work.dnsdyno(&flags).ends_refused(2, words);
    }
}

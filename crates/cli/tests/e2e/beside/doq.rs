//! Over QUIC: connections, handshakes, streams and queries are counted as by the server, and no query is lost.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use dnsdyno_lab::{Certificate, Need, ServerOptions, ServerSpec, require};
use dnsdyno_measure::{
    Anomalies, ConnectFailure, ConnectionEnd, Connections, HandshakeFailure, HandshakeKind, Latency,
    Quantile, StreamFailure,
};
use dnsdyno_responder::{Config, Faults, Resumption, TlsSettings};

use super::quic::{DOQ, connections, handshakes_agree, share, with};
use crate::support::{Workplace, closed_port};

#[test]
fn without_resumption_on_either_side_every_handshake_is_full() {
    let off = TlsSettings { resumption: Resumption::Off, ..TlsSettings::default() };
    for (tls, flag) in [(TlsSettings::default(), "--no-resumption"), (off, "")] {
        let work = Workplace::new();
        let load = format!("--outstanding 8 --queries-per-connection 1 --count 100 {flag}");
        let (digest, book) = DOQ.measured(&work, Config { tls, ..Config::default() }, &load);
        let (ours, encrypted) = connections(&digest);
        assert_eq!((ours.established, encrypted.handshake(HandshakeKind::Full).count()), (100, 100));
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn each_fault_of_a_query_is_counted_by_its_reason() {
    let work = Workplace::new();
    let faults = Faults {
        loss: share(0.01),
        wrong_question: share(0.01),
        stream_reset: share(0.01),
        dribble: share(0.01),
        reorder: share(0.01),
        ..Faults::default()
    };
    let (digest, book) = DOQ.measured(&work, with(faults), "--rate 5k --for 1s --timeout 3s --clients 8");
    let (ends, anomalies, did) = (digest.tally().ends, digest.arrivals().anomalies, book.counts);
    let all = (ends.total(), did.received, digest.tally().retried);
    assert_eq!(all, (5_000, 5_000, 0), "{ends:?} {:?}", digest.arrivals());
    let wrong = [did.dropped, did.wrong_questions, did.stream_resets, did.dribbled, did.reordered];
    assert!(wrong.iter().all(|n| *n > 10), "{did:?}");
    assert_eq!((anomalies.wrong_question, anomalies.malformed), (did.wrong_questions, 0));
    assert_eq!(ends.timed_out, did.dropped + did.wrong_questions);
    let (ours, encrypted) = connections(&digest);
    assert_eq!(
        (encrypted.stream(StreamFailure::Reset), ends.refused),
        (did.stream_resets, did.stream_resets)
    );
    assert_eq!((ours.established, ours.ended(ConnectionEnd::ByUs)), (8, 8));
    handshakes_agree(&digest, &book);
}

#[test]
fn a_protocol_error_ends_the_connection_and_outstanding_queries_are_retried() {
    let part = || share(0.005);
    let cases = [
        (Faults { garbage: part(), ..Faults::default() }, ConnectionEnd::Garbled),
        (Faults { wrong_id: part(), ..Faults::default() }, ConnectionEnd::Protocol),
        (Faults { wrong_length: part(), ..Faults::default() }, ConnectionEnd::Protocol),
        (Faults { cut: part(), ..Faults::default() }, ConnectionEnd::Error),
        (Faults { reset: part(), ..Faults::default() }, ConnectionEnd::Error),
    ];
    for (faults, end) in cases {
        let work = Workplace::new();
        let told = format!("{faults:?}");
        let (digest, book) = DOQ.measured(&work, with(faults), "--outstanding 20 --clients 4 --count 4000");
        let (ours, _) = connections(&digest);
        let did = book.counts;
        let wrong = did.garbage + did.wrong_ids + did.wrong_lengths + did.cuts + did.resets;
        // One connection may have received several before it was closed.
        let ended = ours.ended(end);
        assert!(wrong > 10 && ended > wrong / 2 && ended <= wrong, "{ended} of {wrong}: {told}");
        assert_eq!(ended + ours.ended(ConnectionEnd::ByUs), ours.established, "{told}: {:?}", ours.ended);
        let malformed = digest.arrivals().anomalies.malformed;
        assert_eq!(malformed, if end == ConnectionEnd::Garbled { ended } else { 0 }, "{told}");
        let (ends, tally) = (digest.tally().ends, digest.tally());
        assert_eq!((ends.answered, ends.total()), (4_000, 4_000), "{told}: {ends:?}");
        assert_eq!(tally.requests, 4_000 + tally.retried, "{told}");
        assert!(tally.retried >= ended, "{told}");
        assert_eq!(ours.established, book.connections.accepted, "{told}");
        handshakes_agree(&digest, &book);
    }
}

#[test]
fn after_the_server_closes_a_connection_the_next_queries_use_new_ones() {
    let work = Workplace::new();
    let faults = Faults { close_after: Some(25), ..Faults::default() };
    let (digest, book) =
        DOQ.measured(&work, with(faults), "--outstanding 10 --clients 1 --workers 1 --count 1000");
    assert_eq!(digest.tally().ends.answered, 1_000, "{:?}", digest.tally().ends);
    let (ours, _) = connections(&digest);
    assert!((40..=41).contains(&ours.established), "{}", ours.established);
    assert_eq!(ours.ended(ConnectionEnd::ByServer), book.connections.closed_on_command);
    assert!(digest.tally().retried > 0);
}

#[test]
fn a_handshake_that_never_ends_times_out_and_its_queries_are_retried() {
    let work = Workplace::new();
    let faults = Faults { no_handshake: share(0.1), ..Faults::default() };
    let load = "--outstanding 20 --queries-per-connection 2 --count 1000 --handshake-timeout 300ms";
    let (digest, book) = DOQ.measured(&work, with(faults), load);
    assert_eq!(digest.tally().ends.answered, 1_000, "{:?}", digest.tally().ends);
    let (ours, encrypted) = connections(&digest);
    let withheld = book.connections.handshakes_withheld;
    assert!(withheld > 10);
    // The run does not wait for one that was held back at its end.
    let abandoned = encrypted.failed(HandshakeFailure::Abandoned);
    assert_eq!(encrypted.failed(HandshakeFailure::TimedOut) + abandoned, withheld);
    assert_eq!(ours.failed(ConnectFailure::TimedOut) + abandoned, withheld);
    handshakes_agree(&digest, &book);

    let all = Faults { no_handshake: share(1.0), ..Faults::default() };
    let load = "--outstanding 4 --for 1s --timeout 400ms";
    let (digest, _) = DOQ.measured(&work, with(all), load);
    let ends = digest.tally().ends;
    assert_eq!((ends.timed_out, ends.answered), (digest.tally().scheduled, 0), "{ends:?}");
}

#[test]
fn an_alert_ends_the_handshake_and_is_counted_as_one() {
    let work = Workplace::new();
    let faults = Faults { tls_alert: share(0.1), ..Faults::default() };
    let (digest, book) =
        DOQ.measured(&work, with(faults), "--outstanding 20 --queries-per-connection 2 --count 1000");
    let (ours, encrypted) = connections(&digest);
    let alerts = book.connections.tls_alerts;
    assert!(alerts > 10);
    // Which it is: the responder selects no protocol.
    assert_eq!(encrypted.failed(HandshakeFailure::Alpn), alerts);
    assert_eq!((ours.failed(ConnectFailure::Handshake), ours.failed_total()), (alerts, alerts));
    let ends = digest.tally().ends;
    // Three in a row are rare.
    assert_eq!(ends.answered + ends.refused, 1_000, "{ends:?}");
    assert!(ends.refused < alerts, "{ends:?}");
    // Those whose connection never opened have not left.
    let requests = digest.tally().requests;
    assert_eq!((requests, digest.tally().retried), (book.counts.received, 0));
}

#[test]
fn a_silent_connection_is_closed_and_every_query_on_it_times_out() {
    let work = Workplace::new();
    let faults = Faults { silent: share(0.5), ..Faults::default() };
    let load = "--rate 200 --for 3s --clients 8 --timeout 300ms";
    let (digest, book) = DOQ.measured(&work, with(faults), load);
    let ends = digest.tally().ends;
    assert_eq!(ends.answered + ends.timed_out, 600, "{ends:?}");
    let (ours, _) = connections(&digest);
    let silent = book.connections.silent;
    assert!(silent > 1 && ends.timed_out > 10, "{silent} {ends:?}");
    let ended = ours.ended(ConnectionEnd::Silent);
    assert!(ended >= 1 && ended <= silent, "{ended} of {silent}");
}

#[test]
fn a_slow_response_does_not_delay_others() {
    let work = Workplace::new();
    // 200 µs per byte, which is 10 ms or more.
    let faults = Faults { dribble: share(0.05), ..Faults::default() };
    let (digest, book) = DOQ.measured(&work, with(faults), "--rate 1k --for 2s --clients 1 --workers 1");
    assert!(book.counts.dribbled > 50, "{:?}", book.counts);
    assert_eq!(digest.tally().ends.answered, 2_000);
    let (ours, _) = connections(&digest);
    assert!(p(0.5, ours) < 5_000_000, "p50 {}", p(0.5, ours));
    assert!(p(0.98, ours) > 8_000_000, "p98 {}", p(0.98, ours));
}

/// A percentile of the time from the send of a query to its response, in nanoseconds.
fn p(part: f64, connections: &Connections) -> u64 {
    match (Latency { answered: &connections.query, unanswered: 0 }).quantile(part) {
        Some(Quantile::At(ns)) => ns,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_query_without_a_free_stream_waits_for_one() {
    let work = Workplace::new();
    // The responder allows 1,024 streams at once.
    let (digest, book) =
        DOQ.measured(&work, Config::default(), "--outstanding 4000 --clients 1 --workers 1 --count 20000");
    assert_eq!(digest.tally().ends.answered, 20_000, "{:?}", digest.tally().ends);
    assert_eq!((book.counts.answered, book.connections.accepted), (20_000, 1));
}

#[test]
fn clients_that_share_sockets_are_distinguished_over_both_families() {
    for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))] {
        let work = Workplace::new();
        let config = Config { doq: vec![address], ..Config::default() };
        let (digest, book) = DOQ.measured(&work, config, "--rate 3k --clients 300 --workers 1 --count 3000");
        assert_eq!(digest.tally().ends.answered, 3_000, "{:?}", digest.tally().ends);
        let (ours, _) = connections(&digest);
        assert_eq!((ours.established, ours.open_max, book.connections.accepted), (300, 300, 300));
        assert_eq!(digest.arrivals().anomalies, Anomalies::default());
    }
}

#[test]
fn an_idle_connection_is_closed_by_us_or_by_the_server_and_the_next_query_opens_another() {
    let work = Workplace::new();
    let load = "--rate 5 --for 2s --clients 1";
    let (digest, book) = DOQ.measured(&work, Config::default(), &format!("{load} --idle-timeout 50ms"));
    let (ours, _) = connections(&digest);
    assert_eq!((digest.tally().ends.answered, ours.established), (10, 10));
    assert_eq!((ours.ended(ConnectionEnd::ByUs), book.connections.closed_by_client), (10, 10));

    let hasty = Config { idle: Duration::from_millis(80), ..Config::default() };
    let (digest, book) = DOQ.measured(&work, hasty, load);
    let (ours, _) = connections(&digest);
    assert_eq!(digest.tally().ends.answered, 10, "{:?}", digest.tally().ends);
    assert!(ours.ended(ConnectionEnd::ByServer) >= 8, "{:?}", ours.ended);
    assert_eq!(ours.established, book.connections.accepted);
}

#[test]
fn a_certificate_that_is_not_trusted_or_for_another_name_ends_every_handshake() {
    let work = Workplace::new();
    let (server, address) = DOQ.serve(&work, Config::default());
    let stranger = Certificate::make().expect("a certificate");
    let ca = stranger.ca_file().display().to_string();
    for (trust, why) in [
        (format!("--ca {ca}"), Some(HandshakeFailure::Untrusted)),
        ("--ca ca.pem --sni other.example".to_owned(), Some(HandshakeFailure::WrongName)),
        ("--ca ca.pem --sni localhost".to_owned(), None),
        ("--insecure --sni other.example".to_owned(), None),
    ] {
        let words = format!(
            "run -s {address} --ask www.example --transport doq {trust} --rate 50 --for 400ms --clients 2 \
             --quiet -o run"
        );
        work.dnsdyno(&words).completes();
        let digest = work.record("run");
        let (ours, encrypted) = connections(&digest);
        let ends = digest.tally().ends;
        match why {
            Some(why) => {
                assert_eq!((ends.refused, ours.established), (20, 0), "{trust}: {ends:?}");
                assert_eq!(encrypted.failed(why), ours.failed(ConnectFailure::Handshake), "{encrypted:?}");
            }
            None => assert_eq!(ends.answered, 20, "{trust}: {ends:?}"),
        }
        std::fs::remove_dir_all(work.path("run")).unwrap();
    }
    server.stop();
}

#[test]
fn a_closed_port_refuses_every_query() {
    let work = Workplace::new();
    let server = closed_port();
    work.dnsdyno(&format!(
        "run -s {server} --ask www.example --transport doq --insecure --rate 500 --for 1s --clients 3 --quiet -o run"
    ))
    .completes();
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.refused, 500, "{:?}", digest.tally().ends);
    let connections = digest.arrivals().connections.as_deref().unwrap();
    assert_eq!(
        (connections.established, connections.failed(ConnectFailure::Refused)),
        (0, connections.opened)
    );
}

#[test]
fn a_restart_of_the_server_is_a_gap_and_the_run_continues() {
    let work = Workplace::new();
    let (server, address) = DOQ.serve(&work, Config::default());
    let words = format!(
        "run -s {address} --ask www.example --transport doq --insecure --clients 4 --rate 500 --for 4s --quiet -o run"
    );
    let mut generator = work.start(&words);
    generator.until("its first queries are answered", || server.book().doq.counts.answered > 300);
    let first = server.stop();
    generator.until("its queries are refused", || {
        work.intervals("run").iter().any(|interval| interval.tally.ends.refused > 0)
    });
    let (second, _) = DOQ.serve(&work, Config { doq: vec![address], ..Config::default() });
    generator.wait().gives(0);
    let (digest, second) = (work.record("run"), second.stop());
    let ends = digest.tally().ends;
    assert_eq!((ends.total(), ends.answered + ends.refused), (2_000, 2_000), "{ends:?}");
    assert!(ends.refused > 100 && second.doq.counts.answered > 200, "{ends:?}");
    assert_eq!(ends.answered, first.doq.counts.answered + second.doq.counts.answered);
    assert!(connections(&digest).0.failed(ConnectFailure::Refused) > 0);
}

#[test]
fn an_unfinished_handshake_does_not_delay_the_end_of_a_run() {
    let work = Workplace::new();
    let faults = Faults { no_handshake: share(1.0), ..Faults::default() };
    let (server, address) = DOQ.serve(&work, with(faults));
    let ran = work
        .dnsdyno(&format!(
            "run -s {address} --ask www.example --transport doq --ca ca.pem --rate 100 --for 500ms --timeout 500ms \
             --handshake-timeout 30s --quiet -o run"
        ))
        .completes();
    assert!(ran.took < Duration::from_secs(5), "{:?}", ran.took);
    let digest = work.record("run");
    assert_eq!(digest.tally().ends.timed_out, 50, "{:?}", digest.tally().ends);
    connections(&digest);
    server.stop();
}

#[test]
fn hickory_answers_over_quic() {
    let work = Workplace::with_queries();
    if !require(&[Need::Server("hickory")]) {
        return;
    }
    let certificate = Certificate::make().expect("a certificate");
    let options = ServerOptions {
        parts: vec!["dot_doq".to_owned()],
        values: certificate.values(),
        ..ServerOptions::default()
    };
    let spec = ServerSpec::named("hickory").expect("a template of that name");
    let server = spec.start(&options).unwrap_or_else(|error| panic!("{error}"));
    let address = server.listener("doq").expect("it serves DoQ");
    let queries = dnsdyno_lab::example_queries().lines().filter(|line| !line.starts_with(';')).count() as u64;
    for (out, load) in [
        ("kept", "--rate 1k --passes 4 --clients 4"),
        // It closes a connection after a hundred queries, without sending their remaining responses.
        ("deep", "--outstanding 40 --passes 20 --clients 2"),
        ("short", "--outstanding 10 --passes 2 --queries-per-connection 3"),
    ] {
        work.dnsdyno(&format!(
            "run -s {address} -d q.txt --transport doq --ca {} --sni localhost {load} -o {out}",
            certificate.ca_file().display()
        ))
        .gives(0);
        let digest = work.record(out);
        let tally = digest.tally();
        assert_eq!(tally.ends.answered, tally.scheduled, "{out}: {:?}", tally.ends);
        assert!(tally.scheduled >= 2 * queries);
        assert_eq!(digest.arrivals().anomalies, Anomalies::default());
        let (ours, encrypted) = connections(&digest);
        assert_eq!((ours.failed_total(), encrypted.streams_total()), (0, 0), "{out}");
        let in_order = ours.ended(ConnectionEnd::ByUs) + ours.ended(ConnectionEnd::ByServer);
        assert_eq!(in_order, ours.established, "{out}: {:?}", ours.ended);
    }
    server.stop().expect("it stops");
}

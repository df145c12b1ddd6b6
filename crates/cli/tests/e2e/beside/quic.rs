//! What DoQ and DoH/3 have in common: a responder over QUIC, runs against it, and the tests that hold for both.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use dnsdyno_measure::{
    Anomalies, ConnectFailure, ConnectionEnd, Connections, Encrypted, HandshakeKind, StreamFailure,
};
use dnsdyno_record::Digest;
use dnsdyno_responder::book::Side;
use dnsdyno_responder::{
    Book, Config, Faults, Responder, Resumption, Rule, Running, Share, TlsSettings, Transport,
};

use crate::support::{Workplace, closed_port};

/// A protocol over QUIC.
#[derive(Clone, Copy)]
pub(super) struct Quic {
    /// That of `--transport`.
    word: &'static str,
    transport: Transport,
    /// The options of each way to ask that it has.
    pub(super) methods: &'static [&'static str],
}

pub(super) const DOQ: Quic = Quic { word: "doq", transport: Transport::Doq, methods: &[""] };
pub(super) const DOH3: Quic =
    Quic { word: "doh3", transport: Transport::Doh3, methods: &["", "--http-method get"] };

impl Quic {
    /// A responder that serves it, whose certificate is trusted in `ca.pem`; at the address of the configuration, where
    /// that has one.
    pub(super) fn serve(self, work: &Workplace, mut config: Config) -> (Running, SocketAddr) {
        let listen = if self.transport == Transport::Doq { &mut config.doq } else { &mut config.doh3 };
        if listen.is_empty() {
            listen.push(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        }
        let server = Responder::start(config).unwrap_or_else(|error| panic!("{error}"));
        work.write("ca.pem", server.trust_pem().unwrap());
        let address = server.addresses_of(self.transport)[0];
        (server, address)
    }

    /// What the responder counted of it.
    pub(super) fn side(self, book: Book) -> Side {
        if self.transport == Transport::Doq { book.doq } else { book.doh3 }
    }

    /// A run against such a responder, and what that counted.
    pub(super) fn measured(self, work: &Workplace, config: Config, load: &str) -> (Digest, Side) {
        let (server, address) = self.serve(work, config);
        // A run is never overwritten.
        let _ = std::fs::remove_dir_all(work.path("run"));
        let word = self.word;
        let words = format!(
            "run -s {address} --ask www.example --ask mail.example/AAAA --transport {word} --ca ca.pem {load} --quiet \
             -o run"
        );
        let ran = work.dnsdyno(&words).completes();
        assert!(ran.took < Duration::from_secs(30), "{:?}", ran.took);
        let book = server.stop();
        assert_eq!(book.tcp.counts.received + book.udp.counts.received, 0);
        (work.record("run"), self.side(book))
    }
}

pub(super) fn with(faults: Faults) -> Config {
    Config { faults: Faults { seed: 7, ..faults }, ..Config::default() }
}

pub(super) fn share(part: f64) -> Share {
    Share::new(part).unwrap()
}

/// The connections of a run, after checking that they add up, and their handshakes and streams.
#[track_caller]
pub(super) fn connections(digest: &Digest) -> (&Connections, &Encrypted) {
    let connections = digest.arrivals().connections.as_deref().expect("a run over connections");
    assert_eq!(connections.opened, connections.established + connections.failed_total(), "{connections:?}");
    assert_eq!(connections.established, connections.ended_total(), "{connections:?}");
    assert_eq!(connections.established, connections.connect.count());
    let encrypted = connections.encrypted.as_deref().expect("an encrypted transport");
    // Each connection has one handshake.
    assert_eq!(encrypted.done_total(), connections.established, "{encrypted:?}");
    let of_handshakes = [ConnectFailure::Handshake, ConnectFailure::TimedOut, ConnectFailure::Abandoned];
    let failed: u64 = of_handshakes.iter().map(|why| connections.failed(*why)).sum();
    assert_eq!(encrypted.failed_total(), failed, "{encrypted:?} {connections:?}");
    (connections, encrypted)
}

/// Both sides count the same handshakes and connections closed by the client.
#[track_caller]
pub(super) fn handshakes_agree(digest: &Digest, book: &Side) {
    let (_, encrypted) = connections(digest);
    let done = [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Early]
        .map(|kind| encrypted.handshake(kind).count());
    let theirs = &book.connections;
    assert_eq!(done, [theirs.handshakes_full, theirs.handshakes_resumed, theirs.handshakes_early]);
    assert_eq!(theirs.accepted, theirs.ended(), "{theirs:?}");
}

#[test]
fn kept_connections_carry_all_queries_and_the_responder_counts_the_same() {
    for quic in [DOQ, DOH3] {
        for method in quic.methods {
            for load in ["--rate 2k --for 1s --clients 5", "--outstanding 50 --count 5000 --clients 5"] {
                let work = Workplace::new();
                let (digest, book) = quic.measured(&work, Config::default(), &format!("{load} {method}"));
                let tally = digest.tally();
                assert_eq!((tally.ends.answered, tally.retried), (tally.scheduled, 0), "{load}");
                assert_eq!((book.counts.received, book.counts.answered), (tally.requests, tally.requests));
                let (ours, encrypted) = connections(&digest);
                assert_eq!((ours.opened, ours.established, ours.open_max), (5, 5, 5));
                assert_eq!((book.connections.accepted, book.connections.closed_by_client), (5, 5));
                assert_eq!((ours.ended(ConnectionEnd::ByUs), ours.reused), (5, tally.requests - 5));
                assert_eq!((ours.query.count(), encrypted.streams_total()), (tally.ends.answered, 0));
                let of_http = if quic.transport == Transport::Doh3 { tally.requests } else { 0 };
                assert_eq!(encrypted.statuses.of(200), of_http);
                assert_eq!(book.statuses.get(&200).copied().unwrap_or(0), of_http);
                assert_eq!(digest.arrivals().anomalies, Anomalies::default());
                handshakes_agree(&digest, &book);
            }
        }
    }
}

#[test]
fn a_connection_carries_the_given_number_of_queries_and_the_next_resumes_its_session() {
    let loads = [(1, "--outstanding 20"), (10, "--outstanding 20"), (1, "--rate 500"), (10, "--rate 1k")];
    for quic in [DOQ, DOH3] {
        for ((each, load), method) in loads.into_iter().zip(quic.methods.iter().cycle()) {
            let work = Workplace::new();
            let load = format!("{load} {method} --queries-per-connection {each} --count 1000");
            let (digest, book) = quic.measured(&work, Config::default(), &load);
            assert_eq!((digest.tally().ends.answered, digest.tally().requests), (1_000, 1_000), "{load}");
            assert_eq!(book.counts.answered, 1_000);
            let (ours, encrypted) = connections(&digest);
            assert_eq!(ours.established, book.connections.accepted);
            assert_eq!(ours.reused, 1_000 - ours.established);
            let fewest = 1_000 / each;
            // Each client may hold one that is not full when the run ends.
            let most = if each == 1 { fewest } else { fewest + u64::from(digest.header.clients) };
            assert!((fewest..=most).contains(&ours.established), "{} for {load}", ours.established);
            // On a busy host, clients of an open loop connect before the first of them has a session.
            let is_open = quic.transport == Transport::Doh3 && load.contains("--rate");
            let least = if is_open { 0 } else { fewest / 2 };
            assert!(encrypted.handshake(HandshakeKind::Resumed).count() > least, "{encrypted:?}");
            handshakes_agree(&digest, &book);
        }
    }
}

fn early() -> TlsSettings {
    TlsSettings { resumption: Resumption::EarlyData, ..TlsSettings::default() }
}

#[test]
fn queries_are_sent_with_the_first_flight_where_both_sides_allow_it() {
    let load = "--outstanding 4 --queries-per-connection 1 --count 200";
    for quic in [DOQ, DOH3] {
        for (tls, flag) in
            [(early(), "--early-data"), (early(), ""), (TlsSettings::default(), "--early-data")]
        {
            let work = Workplace::new();
            let is_early = flag == "--early-data" && matches!(tls.resumption, Resumption::EarlyData);
            let config = Config { tls, ..Config::default() };
            let (digest, book) = quic.measured(&work, config, &format!("{load} {flag}"));
            assert_eq!(digest.tally().ends.answered, 200);
            let (_, encrypted) = connections(&digest);
            let done = encrypted.handshake(HandshakeKind::Early).count();
            assert_eq!((done > 150, done > 0), (is_early, is_early), "{done} with {flag:?}");
            assert_eq!((book.counts.early, encrypted.early_rejected), (done, 0));
            handshakes_agree(&digest, &book);
        }
    }
}

#[test]
fn rejected_early_data_is_sent_again_after_the_handshake() {
    for quic in [DOQ, DOH3] {
        let work = Workplace::new();
        let (server, address) = quic.serve(&work, Config { tls: early(), ..Config::default() });
        let words = format!(
            "run -s {address} --ask www.example --transport {} --insecure --early-data --queries-per-connection 1 \
             --clients 4 --rate 200 --for 4s --quiet -o run",
            quic.word
        );
        let mut generator = work.start(&words);
        generator
            .until("early data is accepted", || quic.side(server.book()).connections.handshakes_early > 20);
        let first = quic.side(server.stop());
        // It does not know the sessions of the previous one.
        let mut config = Config { tls: early(), ..Config::default() };
        if quic.transport == Transport::Doq { &mut config.doq } else { &mut config.doh3 }.push(address);
        let (second, _) = quic.serve(&work, config);
        generator.wait().gives(0);
        let (digest, second) = (work.record("run"), quic.side(second.stop()));
        let (_, encrypted) = connections(&digest);
        assert!(encrypted.early_rejected > 0, "{encrypted:?}");
        assert!(second.connections.handshakes_early > 20, "{:?}", second.connections);
        let ends = digest.tally().ends;
        assert_eq!((ends.total(), ends.answered + ends.refused), (800, 800), "{ends:?}");
        assert_eq!(ends.answered, first.counts.answered + second.counts.answered);
    }
}

#[test]
fn a_stream_without_a_response_is_cancelled_so_that_others_can_be_opened() {
    for quic in [DOQ, DOH3] {
        let work = Workplace::new();
        let faults = Faults { loss: share(0.5), ..Faults::default() };
        let load = "--rate 1k --for 3s --timeout 200ms --clients 1";
        let (digest, book) = quic.measured(&work, with(faults), load);
        let (ours, encrypted) = connections(&digest);
        let (given_up, dropped) = (encrypted.stream(StreamFailure::GivenUp), book.counts.dropped);
        assert!(given_up > dropped / 2 && given_up <= dropped, "{given_up} of {dropped}");
        let ends = digest.tally().ends;
        assert_eq!((ends.timed_out, ends.answered), (dropped, 3_000 - dropped), "{ends:?}");
        assert_eq!(ours.established, 1);
    }
}

#[test]
fn responses_of_all_lengths_are_received_completely() {
    for quic in [DOQ, DOH3] {
        for (size, method) in [512, 5_000, 65_535].into_iter().zip(quic.methods.iter().cycle()) {
            let work = Workplace::new();
            let config = Config { rule: Rule::FixedSize { bytes: size }, ..Config::default() };
            let load = format!("--outstanding 8 --clients 2 --count 200 {method}");
            let (digest, book) = quic.measured(&work, config, &load);
            let tally = digest.tally();
            assert_eq!((tally.ends.answered, tally.bytes_answered), (200, 200 * u64::from(size)));
            assert_eq!(book.counts.answered, 200);
        }
    }
}

#[test]
fn a_closed_port_is_said_to_be_one_of_udp_before_the_load() {
    for quic in [DOQ, DOH3] {
        let words = format!("run -s {} --ask www.example -m {} --insecure", closed_port(), quic.word);
        let said = ["nothing listens on this UDP port", "--no-check"];
        Workplace::new().checked(&format!("{words} --count 3")).ends_refused(3, &said);
    }
}

//! The check before the load: what each server says of itself over each transport, and what stops a run.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::thread;

use dnsdyno_lab::{Certificate, Flaw, ServerOptions};
use dnsdyno_record::Check;
use dnsdyno_responder::{
    CertificateFiles, Config, Faults, Responder, Running, Share, TlsSettings, TlsVersions, Transport,
};

use crate::support::{Ran, Workplace, closed_port, real_server, responder};

/// A name of the testbed's zone.
const QUERY: &str = "--ask host-000.dyno.example/A";

/// The checks in the record of a short run as typed, which must succeed.
fn checks_of(work: &Workplace, words: &str) -> Vec<Check> {
    work.checked(&format!("run {words} {QUERY} --rate 20 --for 200ms -o run")).gives(0);
    let checks = work.record("run").header.checks;
    std::fs::remove_dir_all(work.path("run")).unwrap();
    checks
}

/// Checks that the run was not made: exit code 3, one message with `words`, no record.
#[track_caller]
fn is_stopped(work: &Workplace, typed: &str, words: &[&str]) -> Ran {
    let ran = work.checked(&format!("run {typed} {QUERY} --rate 20 --for 200ms -o stopped"));
    let ran = ran.ends_refused(3, words).says(&["--no-check"]);
    assert!(!work.has("stopped"), "a record of a run that was not made");
    ran
}

/// The servers of the testbed, what to add to their configuration, their transports, and what they call themselves.
const SERVERS: [(&str, Option<&str>, &[&str], &str); 7] = [
    ("nsd", None, &["udp", "tcp"], "NSD"),
    ("nsd", Some("dot"), &["dot"], "NSD"),
    ("knot", None, &["udp", "tcp"], "Knot"),
    ("bind", Some("dot_doh"), &["udp", "tcp", "dot", "doh"], "9."),
    ("unbound", Some("dot_doh"), &["udp", "tcp", "dot", "doh"], "unbound"),
    ("pdns", None, &["udp", "tcp"], "PowerDNS"),
    ("hickory", Some("dot_doq"), &["udp", "tcp", "dot", "doq"], ""),
];

#[test]
fn every_server_answers_the_check_over_each_transport_and_says_what_it_is() {
    let certificate = Certificate::make().unwrap();
    for (name, part, transports, version) in SERVERS {
        let work = Workplace::new();
        let options = ServerOptions {
            parts: part.into_iter().map(str::to_owned).collect(),
            values: part.map_or_else(Default::default, |_| certificate.values()),
            ..ServerOptions::default()
        };
        let Some(server) = real_server(name, &options) else { continue };
        for transport in transports {
            let is_plain = ["udp", "tcp"].contains(transport);
            let address = if is_plain { Some(server.address()) } else { server.listener(transport) };
            let trust = format!("--ca {} --sni localhost", certificate.ca_file().display());
            let trust = if is_plain { "" } else { &trust };
            let address = address.unwrap_or_else(|| panic!("{name} has no {transport}"));
            let checks = checks_of(&work, &format!("-s {address} --transport {transport} {trust}"));
            let [check] = &checks[..] else { panic!("{checks:?}") };
            assert_eq!(
                (check.transport.as_str(), check.rcode.as_deref()),
                (*transport, Some("NOERROR")),
                "{name}"
            );
            assert_eq!((check.query.as_str(), check.attempts), ("host-000.dyno.example A", 1));
            assert!(check.response_bytes > 12 && check.took_ns > 0, "{check:?}");
            let said = check.version.as_deref().unwrap_or_default();
            assert!(said.contains(version), "{name} says {said:?} over {transport}");
            let Some(tls) = &check.tls else {
                assert!(is_plain, "{name} over {transport}");
                continue;
            };
            assert!(tls.version.starts_with("TLS 1."), "{tls:?}");
            assert_eq!((tls.issuer.as_str(), tls.subject.as_str()), ("CN=dnsdyno lab", "CN=localhost"));
            assert!(tls.names.iter().any(|name| name == "localhost"), "{tls:?}");
            let protocol = if *transport == "doh" { Some("h2") } else { tls.alpn.as_deref() };
            assert_eq!(tls.alpn.as_deref(), protocol);
        }
    }
}

#[test]
fn a_mix_is_checked_over_each_of_its_transports() {
    let work = Workplace::new();
    let server = responder(Faults::default());
    let checks = checks_of(&work, &format!("-s {} --mix udp+tcp=1,tcp=1", server.address()));
    let transports: Vec<_> = checks.iter().map(|check| check.transport.as_str()).collect();
    // Once over TCP, which two members use.
    assert_eq!(transports, ["udp", "tcp"]);
    // The query and that for the identity over each; the load had four queries.
    assert_eq!(server.stop().total().counts.received, 2 * 2 + 4);
}

#[test]
fn a_lost_query_is_sent_again_over_udp_but_a_silent_server_stops_the_run() {
    let work = Workplace::new();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    is_stopped(
        &work,
        &format!("-s {address}"),
        &[&format!(
            "no answer from {address} over udp within 3 s (3 queries sent for `host-000.dyno.example A`)"
        )],
    );
    // The third attempt is answered.
    let server = responder(Faults { loss: Share::new(0.5).unwrap(), seed: 5, ..Faults::default() });
    let ran = work.checked(&format!("run -s {} {QUERY} --rate 20 --for 200ms -o run", server.address()));
    ran.gives(0);
    assert!((1..=3).contains(&work.record("run").header.checks[0].attempts));
}

#[test]
fn a_port_without_a_server_stops_the_run_unless_it_is_not_checked() {
    let work = Workplace::new();
    let port = closed_port();
    for (transport, words) in [
        (
            "udp",
            vec![
                format!("{port} refused the query over udp (ICMP)"),
                "check the address and the port".to_owned(),
            ],
        ),
        ("tcp", vec![format!("{port} refused the connection for tcp"), "usually port 53".to_owned()]),
        ("dot --insecure", vec!["usually port 853".to_owned()]),
        ("doh --insecure", vec!["usually port 443".to_owned()]),
        ("doq --insecure", vec![format!("{port}")]),
        ("doh3 --insecure", vec!["usually port 443".to_owned()]),
    ] {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        is_stopped(&work, &format!("-s {port} --transport {transport}"), &words);
    }
    work.checked(&format!("run -s {port} {QUERY} --no-check --rate 20 --for 200ms -o run"));
    let digest = work.record("run");
    assert_eq!((digest.tally().ends.answered, digest.header.checks.len()), (0, 0));
}

#[test]
fn a_server_that_refuses_service_is_named_at_the_start_and_at_the_end() {
    let work = Workplace::new();
    let Some(server) = real_server("nsd", &ServerOptions::default()) else { return };
    let words =
        format!("run -s {} --ask elsewhere.example/A --rate 20 --for 200ms --quiet", server.address());
    let told = "`elsewhere.example A` with REFUSED";
    let ran = work.checked(&words).gives(0).says(&[told]);
    // The summary wraps its lines.
    let summary = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(summary.contains("ALL RESPONSES WERE REFUSED"), "{}", ran.stdout);
}

/// A server of one connection after the other, which sends `bytes` after it has received something.
fn speaking(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the tests.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = std::io::Read::read(&mut stream, &mut [0; 4_096]);
            let _ = stream.write_all(bytes);
        }
    });
    address
}

/// A responder over DoT and DoH with this certificate and these versions of TLS.
fn encrypted(certificate: &Certificate, versions: TlsVersions, faults: Faults) -> Running {
    let free = "127.0.0.1:0".parse().unwrap();
    let files = CertificateFiles { chain: certificate.cert_file(), key: certificate.key_file() };
    let tls = TlsSettings { files: Some(files), versions, ..TlsSettings::default() };
    // DoQ needs TLS 1.3.
    let doq = if versions == TlsVersions::Only12 { Vec::new() } else { vec![free] };
    let config = Config { dot: vec![free], doh: vec![free], doq, tls, faults, ..Config::default() };
    Responder::start(config).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_broken_certificate_is_explained_over_dot_doh_and_doq() {
    let work = Workplace::new();
    for (flaw, words) in [
        (Flaw::Expired, "expired on 2020-12-31"),
        (Flaw::NotYetValid, "not valid before 2090-01-01"),
        (Flaw::OtherName, "other.example"),
        (Flaw::Authority, "CA"),
    ] {
        let certificate = Certificate::make_flawed(flaw).unwrap();
        let server = encrypted(&certificate, TlsVersions::default(), Faults::default());
        for (name, transport) in [("dot", Transport::Dot), ("doh", Transport::Doh), ("doq", Transport::Doq)] {
            let address = server.addresses_of(transport)[0];
            let ca = certificate.ca_file();
            let typed = format!("-s {address} --transport {name} --ca {} --sni localhost", ca.display());
            is_stopped(&work, &typed, &["certificate", words]);
        }
    }
    let certificate = Certificate::make().unwrap();
    let server = encrypted(&certificate, TlsVersions::default(), Faults::default());
    let address = server.addresses_of(Transport::Dot)[0];
    let stranger = Certificate::make().unwrap();
    let ca = stranger.ca_file();
    is_stopped(&work, &format!("-s {address} --transport dot --ca {}", ca.display()), &["--ca"]);
}

#[test]
fn what_is_not_the_expected_tls_or_http_is_explained() {
    let work = Workplace::new();
    let certificate = Certificate::make().unwrap();
    let ca = format!("--ca {} --sni localhost", certificate.ca_file().display());
    let all = Share::new(1.0).unwrap();

    let only_12 = encrypted(&certificate, TlsVersions::Only12, Faults::default());
    let dot = only_12.addresses_of(Transport::Dot)[0];
    is_stopped(&work, &format!("-s {dot} --transport dot --tls-version 1.3 {ca}"), &["version"]);

    let good = encrypted(&certificate, TlsVersions::default(), Faults::default());
    let [dot, doh] = [Transport::Dot, Transport::Doh].map(|transport| good.addresses_of(transport)[0]);
    is_stopped(&work, &format!("-s {dot} --transport doh {ca}"), &["ALPN"]);
    is_stopped(
        &work,
        &format!("-s {doh} --transport doh --http-path /other {ca}"),
        &["404", "--http-path /other"],
    );
    is_stopped(&work, &format!("-s {dot} --transport tcp"), &["DNS over TCP"]);
    let plain = good.address();
    let typed = format!("-s {plain} --transport dot --handshake-timeout 200ms {ca}");
    is_stopped(&work, &typed, &["does this port serve DNS over TLS?"]);

    let failing =
        encrypted(&certificate, TlsVersions::default(), Faults { server_error: all, ..Faults::default() });
    let doh = failing.addresses_of(Transport::Doh)[0];
    is_stopped(&work, &format!("-s {doh} --transport doh {ca}"), &["500"]);

    let alerting =
        encrypted(&certificate, TlsVersions::default(), Faults { tls_alert: all, ..Faults::default() });
    let dot = alerting.addresses_of(Transport::Dot)[0];
    is_stopped(&work, &format!("-s {dot} --transport dot {ca}"), &["alert"]);

    let web = speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>\x1b[2J");
    let ran = is_stopped(&work, &format!("-s {web} --transport dot --insecure"), &["HTTP/1.1 400"]);
    assert!(!ran.stderr.contains('\u{1b}'), "control characters of a server reach the terminal");
    is_stopped(&work, &format!("-s {web} --transport tcp"), &["DNS over TCP"]);
    let mail = speaking(b"220 mail.example ESMTP\r\n");
    is_stopped(
        &work,
        &format!("-s {mail} --transport doh --insecure"),
        &["does not speak TLS", "220 mail.example"],
    );
}

#[test]
fn what_is_not_dns_over_udp_is_shown() {
    let work = Workplace::new();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((_, client)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(b"hello", client);
        }
    });
    is_stopped(&work, &format!("-s {address}"), &["is not DNS", "`hello`", "DNS over UDP"]);
}

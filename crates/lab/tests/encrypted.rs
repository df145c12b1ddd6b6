//! Servers over DoT and DoH, and the zones whose responses never fit into a datagram.

mod common;

use std::path::Path;
use std::process::Command;

use common::{ask_tcp, ask_udp};
use dnsdyno_lab::{Certificate, Need, ServerOptions, ServerSpec, Zone, require};
use domain::base::iana::Rtype;

const KDIG: Need<'_> = Need::Program { name: "kdig", package: "knot-dnsutils" };

/// The output of kdig for a host of the example zone, over TLS or HTTPS, verified.
fn kdig(port: u16, certificate: &Certificate, transport: &str) -> String {
    let words = format!("@127.0.0.1 -p {port} {transport} +tls-hostname=localhost host-042.dyno.example A");
    let trust = format!("+tls-ca={}", certificate.ca_file().display());
    let ran = Command::new("kdig").args(words.split_whitespace()).arg(trust).output().expect("kdig runs");
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

fn answers_encrypted(name: &str, part: &str) {
    if !require(&[Need::Server(name), KDIG]) {
        return;
    }
    let certificate = Certificate::make().expect("a certificate");
    let options = ServerOptions {
        parts: vec![part.to_owned()],
        values: certificate.values(),
        ..ServerOptions::default()
    };
    let spec = ServerSpec::named(name).expect("a template of that name");
    let server = spec.start(&options).unwrap_or_else(|error| panic!("{error}"));
    let port = |listener| server.listener(listener).map(|address| address.port());
    let dot = kdig(port("dot").expect("it serves DoT"), &certificate, "+tls");
    assert!(dot.contains("198.51.100.42") && dot.contains("TLS session"), "{name}:\n{dot}");
    for (transport, sign) in [("+https", "HTTP/2-POST"), ("+https-get", "HTTP/2-GET")] {
        let Some(port) = port("doh") else { continue };
        let doh = kdig(port, &certificate, transport);
        assert!(doh.contains("198.51.100.42") && doh.contains(sign), "{name}:\n{doh}");
    }
    assert_eq!(port("doh").is_some(), part == "dot_doh");
    server.stop().expect("it stops");
}

#[test]
fn bind_answers_over_dot_and_doh() {
    answers_encrypted("bind", "dot_doh");
}

#[test]
fn bind_answers_over_dot_alone() {
    answers_encrypted("bind", "dot");
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
fn bind_truncates_the_naptr_responses_and_gives_them_whole_over_tcp() {
    if !require(&[Need::Server("bind")]) {
        return;
    }
    for (file, records, bytes) in
        [("naptr-93.zone", 93, 10_000..12_500), ("naptr-202.zone", 202, 22_500..24_500)]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testbed/zones").join(file);
        let values = [("max_records_per_type", "0"), ("minimal_responses", "no")];
        let options = ServerOptions {
            zone: Zone::from_file("epc.mnc001.mcc001.3gppnetwork.example.", &path).expect("it is there"),
            values: values.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..ServerOptions::default()
        };
        let server = ServerSpec::named("bind").and_then(|spec| spec.start(&options));
        let server = server.unwrap_or_else(|error| panic!("{error}"));
        let name = "tac-lb01.tac-hb10.tac.epc.mnc001.mcc001.3gppnetwork.example.";
        assert!(ask_udp(server.address(), name, Rtype::NAPTR).header().tc());
        let answer = ask_tcp(server.address(), name, Rtype::NAPTR);
        let counts = answer.header_counts();
        assert_eq!((counts.ancount(), counts.nscount()), (records, 14), "{file}");
        assert!(bytes.contains(&answer.as_slice().len()), "{file}: {} bytes", answer.as_slice().len());
        server.stop().expect("it stops");
    }
}

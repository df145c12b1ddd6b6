//! The responder over TCP, DoT, DoH and DoQ, queried by other programs.

use std::process::Command;

use dnsdyno_lab::{Need, require};
use serde_json::Value;

use crate::beside::respond::RespondProcess;
use crate::support::Workplace;

const KDIG: Need<'_> = Need::Program { name: "kdig", package: "knot-dnsutils" };
const DNSPERF: Need<'_> = Need::Program { name: "dnsperf", package: "dnsperf" };

/// A responder with all transports, and its ports: UDP and TCP, DoT, DoH, DoQ.
fn start(work: &Workplace, more: &str) -> (RespondProcess, [u16; 4]) {
    let words = format!(
        "respond --listen 127.0.0.1:0 --dot 127.0.0.1:0 --doh 127.0.0.1:0 --doq 127.0.0.1:0 \
         --write-ca ca.pem --book book.json {more}"
    );
    let server = RespondProcess::start(work, &words);
    let ports = server.addresses.iter().map(|address| address.port()).collect::<Vec<_>>();
    let ports = ports.try_into().unwrap_or_else(|ports| panic!("four addresses, not {ports:?}"));
    (server, ports)
}

fn output(work: &Workplace, program: &str, words: &str) -> String {
    let ran =
        Command::new(program).args(words.split_whitespace()).current_dir(work.path("")).output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

#[test]
fn kdig_gets_a_response_over_every_transport_and_trusts_the_certificate() {
    if !require(&[KDIG]) {
        return;
    }
    let work = Workplace::new();
    let (server, [tcp, dot, doh, doq]) = start(&work, "--address 192.0.2.77");
    let trust = "+tls-ca=ca.pem +tls-hostname=localhost";
    for (port, transport, sign) in [
        (tcp, "+tcp".to_string(), "(TCP)"),
        (dot, trust.to_string(), "TLS session (TLS1.3)"),
        (doh, format!("+https {trust}"), "HTTP/2-POST)-(localhost/dns-query)-(status: 200)"),
        (doh, format!("+https-get {trust}"), "HTTP/2-GET)-(localhost/dns-query)-(status: 200)"),
        (doq, "+quic".to_string(), "QUIC session (QUICv1)"),
    ] {
        let said = output(&work, "kdig", &format!("@127.0.0.1 -p {port} {transport} www.example A"));
        assert!(said.contains("192.0.2.77") && said.contains(sign), "{transport}:\n{said}");
    }
    let stranger = format!("@127.0.0.1 -p {dot} +tls-ca=ca.pem +tls-hostname=other.example www.example A");
    let said = output(&work, "kdig", &stranger);
    assert!(!said.contains("192.0.2.77"), "another name is not ours:\n{said}");
    server.end();
    let book: Value = serde_json::from_str(&work.read("book.json")).unwrap();
    let count = |side: &str| book[side]["counts"]["answered"].as_u64().unwrap();
    assert_eq!([count("tcp"), count("dot"), count("doh"), count("doq")], [1, 1, 2, 1]);
}

#[test]
fn dnsperf_and_the_responder_count_the_same_over_each_transport() {
    if !require(&[DNSPERF]) {
        return;
    }
    let work = Workplace::with_queries();
    let (server, [tcp, dot, doh, _]) = start(&work, "");
    for (mode, port) in
        [("tcp", tcp), ("dot", dot), ("doh -O doh-method=GET", doh), ("doh -O doh-method=POST", doh)]
    {
        let words = format!("-s 127.0.0.1 -p {port} -m {mode} -d q.txt -c 2 -q 10 -n 1000000 -l 1");
        let said = output(&work, "dnsperf", &words);
        assert!(said.contains("Queries lost:         0"), "{mode}:\n{said}");
        let sent = said.lines().find_map(|line| line.trim().strip_prefix("Queries completed:"));
        let sent: u64 = sent.unwrap().split_whitespace().next().unwrap().parse().unwrap();
        assert!(sent > 10, "{mode}:\n{said}");
    }
    server.end();
    let book: Value = serde_json::from_str(&work.read("book.json")).unwrap();
    for side in ["tcp", "dot", "doh"] {
        let (counts, connections) = (&book[side]["counts"], &book[side]["connections"]);
        assert_eq!(counts["received"], counts["answered"], "{side}");
        assert_eq!(counts["lost_with_connection"], 0, "{side}");
        assert_eq!(book[side]["first_query"]["count"], connections["accepted"], "{side}");
    }
}

#[test]
fn invalid_options_are_reported() {
    let work = Workplace::new();
    work.write("not.pem", "nothing");
    work.dnsdyno("respond --listen 127.0.0.1:0 --dot 127.0.0.1:0 --cert not.pem --key not.pem")
        .ends_refused(2, &["not.pem", "PEM"]);
    work.dnsdyno("respond --listen 127.0.0.1:0 --doq 127.0.0.1:0 --tls-version 1.2")
        .ends_refused(2, &["TLS 1.3"]);
    work.dnsdyno("respond --listen 127.0.0.1:0 --write-ca ca.pem").ends_refused(2, &["--dot"]);
    work.dnsdyno("respond --listen 127.0.0.1:0 --dot 127.0.0.1:0 --close-after 0")
        .ends_refused(2, &["1 or more"]);
    work.dnsdyno("respond --listen 127.0.0.1:0 --silent 60% --tls-alert 60%").ends_refused(2, &["120 %"]);
}

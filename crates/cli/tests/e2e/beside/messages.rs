//! What messages carry, with servers that understand it: signatures, updates, cookies, other source addresses.

use std::collections::BTreeMap;

use dnsdyno_lab::ServerOptions;
use dnsdyno_measure::{Cookies, Tsig};
use dnsdyno_record::Digest;

use crate::support::{Workplace, real_server};

/// Each algorithm with a secret of the length of its hash; those of 48 octets have no padding in base64.
const ALGORITHMS: [&str; 6] =
    ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"];

const NOERROR: u16 = 0;
const REFUSED: u16 = 5;
const NOTAUTH: u16 = 9;
const BADCOOKIE: u16 = 23;

fn secret(algorithm: &str) -> &'static str {
    match algorithm {
        "hmac-md5" => "AAECAwQFBgcICQoLDA0ODw==",
        "hmac-sha1" => "AAECAwQFBgcICQoLDA0ODxAREhM=",
        "hmac-sha224" => "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGw==",
        "hmac-sha384" => "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v",
        _ => "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    }
}

fn with_values(values: &[(&str, String)]) -> ServerOptions {
    let values: BTreeMap<_, _> =
        values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    ServerOptions { values, ..ServerOptions::default() }
}

/// BIND with these keys, each of which may change the zone.
fn bind_with_keys(algorithms: &[&str]) -> ServerOptions {
    let key = |algorithm: &&str| {
        format!("key \"{algorithm}.key\" {{ algorithm {algorithm}; secret \"{}\"; }};\n", secret(algorithm))
    };
    let allowed: String = algorithms.iter().map(|algorithm| format!("key \"{algorithm}.key\"; ")).collect();
    with_values(&[
        ("keys", algorithms.iter().map(key).collect()),
        ("zone_options", format!("allow-update {{ {allowed}}};")),
    ])
}

/// The same of Knot.
fn knot_with_keys() -> ServerOptions {
    let key = |algorithm: &&str| {
        format!("  - id: {algorithm}.key\n    algorithm: {algorithm}\n    secret: {}\n", secret(algorithm))
    };
    let keys: String = ALGORITHMS.iter().map(key).collect();
    let ids = ALGORITHMS.map(|algorithm| format!("{algorithm}.key")).join(", ");
    let sections = format!("key:\n{keys}\nacl:\n  - id: signed\n    key: [{ids}]\n    action: update\n");
    with_values(&[("sections", sections), ("zone_options", "acl: signed".to_owned())])
}

fn tsig(digest: &Digest) -> Tsig {
    digest.arrivals().tsig.as_deref().cloned().unwrap_or_default()
}

fn cookies(digest: &Digest) -> Cookies {
    digest.arrivals().cookies.as_deref().copied().unwrap_or_default()
}

fn has_only(digest: &Digest, rcode: u16, queries: u64) {
    let rcodes: Vec<_> = digest.tally().rcodes.iter().collect();
    assert_eq!(rcodes, [(rcode, queries)], "{:?}", digest.tally().ends);
}

/// Signed queries are answered with signatures that verify, and signed updates appear in the zone.
fn accepts_signatures(name: &str, options: &ServerOptions, algorithms: &[&str]) {
    let work = Workplace::new();
    let Some(server) = real_server(name, options) else { return };
    let address = server.address();
    for algorithm in algorithms {
        let key = format!("{algorithm}:{algorithm}.key:{}", secret(algorithm));
        work.write("tsig.key", format!("{key}\n").replace('=', ""));

        let query = format!("run -s {address} --ask www.dyno.example. --rate 1k --count 50");
        work.dnsdyno(&format!("{query} --tsig {key} --edns-size 1232 -o q-{algorithm}")).gives(0);
        let queried = work.record(&format!("q-{algorithm}"));
        has_only(&queried, NOERROR, 50);
        assert_eq!(tsig(&queried), Tsig { verified: 50, ..Tsig::default() }, "{algorithm}");

        let blocks: String = (0..20)
            .map(|i| {
                format!(
                    "dyno.example\nprohibit {algorithm}-{i} A\nadd {algorithm}-{i} 60 A 192.0.2.{i}\nsend\n"
                )
            })
            .collect();
        work.write("u.txt", blocks);
        let update = format!("run -s {address} -d u.txt --queries-format updates --rate 500 --passes 1");
        work.dnsdyno(&format!("{update} --tsig-file tsig.key -o u-{algorithm}")).gives(0);
        let updated = work.record(&format!("u-{algorithm}"));
        has_only(&updated, NOERROR, 20);
        assert_eq!(tsig(&updated).verified, 20, "{algorithm}");
        let names: String = (0..20).map(|i| format!("{algorithm}-{i}.dyno.example A\n")).collect();
        work.write("names.txt", names);
        work.dnsdyno(&format!("run -s {address} -d names.txt --rate 1k --passes 1 -o n-{algorithm}"))
            .gives(0);
        has_only(&work.record(&format!("n-{algorithm}")), NOERROR, 20);
        for file in ["plan.toml", "host.json", "run.ndjson"] {
            assert!(!work.read(&format!("q-{algorithm}/{file}")).contains(secret(algorithm)), "{file}");
        }
    }
}

#[test]
fn bind_accepts_signatures_with_each_algorithm_and_truncated() {
    let algorithms = [&ALGORITHMS[..], &["hmac-sha256-128", "hmac-sha512-256"]].concat();
    accepts_signatures("bind", &bind_with_keys(&algorithms), &algorithms);
}

#[test]
fn knot_accepts_signatures_with_each_algorithm() {
    accepts_signatures("knot", &knot_with_keys(), &ALGORITHMS);
}

#[test]
fn an_update_of_300_records_over_tcp_appears_in_the_zone() {
    let work = Workplace::new();
    let Some(server) = real_server("bind", &bind_with_keys(&["hmac-sha256"])) else { return };
    let address = server.address();
    let lines: String = (0..300).map(|i| format!("add many-{i} 60 TXT \"number {i}\"\n")).collect();
    work.write("u.txt", format!("dyno.example\n{lines}send\n"));
    let key = format!("hmac-sha256.key:{}", secret("hmac-sha256"));
    let update =
        format!("run -s {address} -d u.txt --queries-format updates -m tcp --rate 10 --count 1 --tsig {key}");
    work.dnsdyno(&format!("{update} -o update")).gives(0);
    let updated = work.record("update");
    has_only(&updated, NOERROR, 1);
    assert_eq!(tsig(&updated).verified, 1);
    let names: String = (0..300).map(|i| format!("many-{i}.dyno.example TXT\n")).collect();
    work.write("names.txt", names);
    work.dnsdyno(&format!("run -s {address} -d names.txt --rate 1k --passes 1 -o names")).gives(0);
    has_only(&work.record("names"), NOERROR, 300);
}

#[test]
fn a_wrong_secret_and_an_unknown_key_are_counted_with_advice() {
    let work = Workplace::new();
    let Some(server) = real_server("bind", &bind_with_keys(&["hmac-sha256"])) else { return };
    let run = format!("run -s {} --ask www.dyno.example. --rate 1k --count 30", server.address());
    for (record, key, error, advice) in [
        ("secret", "hmac-sha256.key:AAAA", 16, "its secret for this key is another one"),
        ("key", "other.key:AAAA", 17, "it has no key with this name and algorithm"),
    ] {
        let ran = work.dnsdyno(&format!("{run} --tsig {key} -o {record}")).gives(0);
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(advice), "{said}");
        let digest = work.record(record);
        has_only(&digest, NOTAUTH, 30);
        let tsig = tsig(&digest);
        assert_eq!((tsig.unsigned_errors, tsig.verified, tsig.errors.of(error)), (30, 0, 30), "{tsig:?}");
    }
}

#[test]
fn responses_without_a_signature_end_no_query() {
    let work = Workplace::new();
    let Some(server) = real_server("bind", &bind_with_keys(&["hmac-sha256"])) else { return };
    let run =
        format!("run -s {} --ask www.dyno.example. --rate 1k --count 30 --timeout 200ms", server.address());
    // The server truncates no MAC of its own accord: it answers with the whole one, which is accepted.
    let key = format!("hmac-sha256-128:hmac-sha256.key:{}", secret("hmac-sha256"));
    work.dnsdyno(&format!("{run} --tsig {key} -o whole")).gives(0);
    let whole = work.record("whole");
    assert_eq!(tsig(&whole).verified + tsig(&whole).failed.total() + tsig(&whole).unsigned_errors, 30);

    let responder = crate::support::responder(dnsdyno_responder::Faults::default());
    let run = format!(
        "run -s {} --ask www.dyno.example. --rate 1k --count 30 --timeout 200ms",
        responder.address()
    );
    work.dnsdyno(&format!("{run} --tsig k:AAAA -o unsigned")).gives(1);
    let unsigned = work.record("unsigned");
    assert_eq!((unsigned.tally().ends.timed_out, tsig(&unsigned).failed.total()), (30, 30));
    assert_eq!(unsigned.arrivals().anomalies.wrong_question, 0);
}

/// The first query of each client has no cookie of the server, and is answered with one; a wrong one is refused.
fn gives_cookies_and_wants_them_back(name: &str, options: &ServerOptions) {
    let work = Workplace::new();
    let Some(server) = real_server(name, options) else { return };
    let run = format!("run -s {} --ask www.dyno.example. --outstanding 1 --count 100", server.address());
    work.dnsdyno(&format!("{run} --workers 1 --clients 2 --cookie -o cookies")).gives(0);
    let digest = work.record("cookies");
    let rcodes: Vec<_> = digest.tally().rcodes.iter().collect();
    assert_eq!(rcodes, [(NOERROR, 98), (BADCOOKIE, 2)]);
    assert_eq!(cookies(&digest), Cookies { with_server_cookie: 100, bad_cookie: 2, ..Cookies::default() });

    let wrong = format!("10:{}{}", "01".repeat(8), "02".repeat(16));
    work.dnsdyno(&format!("{run} --edns-option {wrong} -o wrong")).gives(0);
    has_only(&work.record("wrong"), BADCOOKIE, 100);
}

#[test]
fn bind_gives_cookies_and_wants_them_back() {
    let wants = "require-server-cookie yes;".to_owned();
    gives_cookies_and_wants_them_back("bind", &with_values(&[("more_options", wants)]));
}

#[test]
fn knot_gives_cookies_and_wants_them_back() {
    let module = "template:\n  - id: default\n    global-module: mod-cookies\n".to_owned();
    gives_cookies_and_wants_them_back("knot", &with_values(&[("sections", module)]));
}

/// The address from which a server accepts the PROXY protocol; the check of the lab comes from another one.
const BALANCER: &str = "127.0.0.2";

#[test]
fn dnsdist_sees_the_announced_addresses_over_udp_and_tcp() {
    let work = Workplace::new();
    let Some(behind) = real_server("nsd", &ServerOptions::default()) else { return };
    let rules = "local seen = newNMG()\nseen:addMask(\"192.0.2.0/24\")\nseen:addMask(\"127.0.0.1/32\")\n\
                 addAction(NotRule(NetmaskGroupRule(seen)), RCodeAction(DNSRCode.REFUSED))";
    let values = with_values(&[("proxy_sources", format!("{BALANCER}/32")), ("rules", rules.to_owned())]);
    let options = ServerOptions { stub: Some(behind.address()), ..values };
    let Some(server) = real_server("dnsdist", &options) else { return };
    for transport in ["udp", "tcp"] {
        let run = format!(
            "run -s {} --ask www.dyno.example. --rate 1k --count 60 -m {transport} --clients 4 -a {BALANCER}",
            server.address()
        );
        work.dnsdyno(&format!("{run} --proxy-protocol 192.0.2.0/24 -o in-{transport}")).gives(0);
        has_only(&work.record(&format!("in-{transport}")), NOERROR, 60);
        work.dnsdyno(&format!("{run} --proxy-protocol 198.51.100.7:5353 -o out-{transport}")).gives(0);
        has_only(&work.record(&format!("out-{transport}")), REFUSED, 60);
    }
}

#[test]
fn powerdns_reads_the_announced_address_over_udp_and_tcp() {
    let work = Workplace::new();
    let Some(server) = real_server("pdns", &with_values(&[("proxy_sources", BALANCER.to_owned())])) else {
        return;
    };
    for transport in ["udp", "tcp"] {
        let run = format!(
            "run -s {} --ask www.dyno.example. --rate 1k --count 60 -m {transport} --clients 4 -a {BALANCER}",
            server.address()
        );
        work.dnsdyno(&format!("{run} --proxy-protocol 192.0.2.0/24 -o {transport}")).gives(0);
        has_only(&work.record(transport), NOERROR, 60);
    }
}

#[test]
fn knot_sees_the_announced_addresses_over_udp() {
    let work = Workplace::new();
    let options = with_values(&[
        ("proxy_sources", "127.0.0.1".to_owned()),
        ("sections", "mod-queryacl:\n  - id: seen\n    address: [192.0.2.0/24, 127.0.0.1]\n".to_owned()),
        ("zone_options", "module: mod-queryacl/seen".to_owned()),
    ]);
    let Some(server) = real_server("knot", &options) else { return };
    let run = format!("run -s {} --ask www.dyno.example. --rate 1k --count 60 --clients 4", server.address());
    work.dnsdyno(&format!("{run} --proxy-protocol 192.0.2.0/24 -o in")).gives(0);
    has_only(&work.record("in"), NOERROR, 60);
    work.dnsdyno(&format!("{run} --proxy-protocol 198.51.100.7 -o out")).gives(0);
    let rcodes = work.record("out").tally().rcodes.of(NOERROR);
    assert_eq!(rcodes, 0);
}

#[test]
fn queries_of_another_class_are_answered_by_the_server_itself() {
    let work = Workplace::new();
    let Some(server) = real_server("bind", &ServerOptions::default()) else { return };
    // BIND limits such responses to three a second.
    let run = format!("run -s {} --ask version.bind/TXT --class CH --rate 1k --count 2", server.address());
    work.dnsdyno(&format!("{run} -o class")).gives(0);
    has_only(&work.record("class"), NOERROR, 2);
}

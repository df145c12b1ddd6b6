//! Every source of queries: what arrives is what the source says, and a resolver's cache has the wanted share of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use dnsdyno_lab::{Server, ServerOptions, Zone};
use dnsdyno_measure::Anomalies;
use dnsdyno_responder::Faults;
use dnsdyno_wire::{name_to_text, peek, type_name};

use crate::support::{Workplace, real_server, responder};

/// Sends `count` queries to a socket that never answers; returns them as `name type`.
fn sent(work: &Workplace, words: &str, count: usize) -> Vec<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let port = socket.local_addr().unwrap().port();
    let record = format!("sent-{port}");
    work.dnsdyno(&format!(
        "run -s 127.0.0.1:{port} --send-only --rate 5k --count {count} {words} -o {record}"
    ))
    .gives(0);
    let mut queries = Vec::new();
    let mut message = [0; 4096];
    for _ in 0..count {
        let length = socket.recv(&mut message).unwrap();
        let found = peek(&message[..length]).unwrap();
        queries.push(format!("{} {}", name_to_text(found.qname()), type_name(found.qtype().unwrap())));
    }
    queries
}

#[test]
fn names_with_placeholders_are_unique_repeatable_and_matched_with_their_responses() {
    let work = Workplace::new();
    let ask = "--ask {rand:8}.example.com --ask h{n:0..9}.example.com/MX --seed 5";
    let queries = sent(&work, ask, 200);
    let random: BTreeSet<_> = queries.iter().filter(|query| query.ends_with(".example.com A")).collect();
    let numbered: BTreeSet<_> = queries.iter().filter(|query| query.ends_with("MX")).collect();
    assert_eq!((random.len(), numbered.len()), (100, 5));
    assert_eq!(sent(&work, ask, 200), queries);
    assert_ne!(sent(&work, "--ask {rand:8}.example.com --seed 6", 200)[..2], queries[..2]);

    let server = responder(Faults::default());
    let address = server.address();
    work.dnsdyno(&format!("run -s {address} {ask} --count 5k --workers 2 -o matched")).gives(0);
    let digest = work.record("matched");
    assert_eq!((digest.tally().ends.answered, digest.tally().scheduled), (5_000, 5_000));
    assert_eq!(digest.arrivals().anomalies, Anomalies::default());
    // The check before the load fills in the placeholders, too.
    work.checked(&format!("run -s {address} --ask {{rand:8}}.example.com --count 5 -o checked")).gives(0);
    assert!(!work.record("checked").header.checks[0].query.contains("xxxx"));
}

#[test]
fn a_list_has_its_types_by_weight_and_a_plan_repeats_queries_from_standard_input() {
    let work = Workplace::new();
    work.write("list.csv", "Rank,Domain\n1,one.example\n2,two.example\n");
    let queries = sent(&work, "-d list.csv --types A=3,AAAA=1", 200);
    let mut types = BTreeMap::new();
    for query in &queries {
        *types.entry(query.rsplit(' ').next().unwrap()).or_insert(0) += 1;
    }
    assert_eq!(types, BTreeMap::from([("A", 150), ("AAAA", 50)]));

    let server = responder(Faults::default());
    let text = "{rand:8}.example A\nb.example MX rd=0 opt=65001:0a0b\nc\\{x.example CH class=CH\n";
    let text = text.replace(" CH ", " TXT ");
    work.dnsdyno_reading(
        &text,
        &format!("run -s {} -d - --passes 2 --keep-order -o first", server.address()),
    )
    .gives(0);
    assert_eq!(work.read("first/queries.txt"), text.replace(" opt=65001:0a0b", " edns=1232 opt=65001:0a0b"));
    work.dnsdyno("run --plan first/plan.toml -o second").gives(0);
    let hash = |name: &str| work.record(name).header.queries_hash;
    assert_eq!(hash("first"), hash("second"));
}

#[test]
fn binary_files_are_sent_as_they_are_and_those_cut_short_are_refused() {
    let work = Workplace::new();
    let message = b"\x09\x09\x01\x00\0\x01\0\0\0\0\0\0\x01a\0\0\x1c\0\x01";
    let file = [&[0, message.len() as u8][..], message].concat();
    work.write("whole.bin", file.repeat(3));
    work.write("cut.bin", &file.repeat(3)[..50]);
    assert_eq!(sent(&work, "-d whole.bin", 3), ["a AAAA"; 3]);
    work.dnsdyno("run -s 127.0.0.1 -d cut.bin")
        .ends_refused(2, &["cut.bin is cut short", "message 3", "byte 42"]);
    work.dnsdyno("run -s 127.0.0.1 -d whole.bin --queries-format csv")
        .ends_refused(2, &["whole.bin is a binary file"]);
}

#[test]
fn a_zone_is_asked_for_what_it_has_and_for_what_it_has_not() {
    let work = Workplace::with_queries();
    let Some(server) = real_server("nsd", &ServerOptions::default()) else { return };
    let zone = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbed/zones/example.zone");
    let origin = Zone::example().origin();
    let run = |more: &str, name: &str| {
        work.dnsdyno(&format!(
            "run -s {} --zone {zone} --origin {origin} --passes 1 {more} -o {name}",
            server.address()
        ))
        .gives(0);
        let digest = work.record(name);
        let tally = digest.tally();
        assert_eq!(tally.ends.answered, tally.scheduled);
        tally.rcodes.iter().collect::<BTreeMap<_, _>>()
    };
    let whole = run("", "whole");
    assert_eq!(whole.keys().copied().collect::<Vec<_>>(), [0]);
    let part = run("--nxdomain 20%", "part");
    let (found, missing) = (part[&0] as f64, part[&3] as f64);
    assert!((missing / (found + missing) - 0.2).abs() < 0.002, "{part:?}");
}

#[test]
fn the_generators_of_flamethrower_are_known_by_their_names() {
    let work = Workplace::new();
    work.write(
        "plan.toml",
        "generator = \"randomlabel count=7 lblsize=3 lblcount=2\"\nask = [\"zone.example\"]\n",
    );
    let queries = sent(&work, "--plan plan.toml", 14);
    assert_eq!(queries[..7], queries[7..]);
    assert!(queries.iter().all(|query| query.contains(".zone.example ")), "{queries:?}");
    assert!(sent(&work, "--generator numberqname", 5).iter().all(|query| query.ends_with(".test.com A")));
    work.dnsdyno("run -s 127.0.0.1 --generator file").ends_refused(2, &["--generator", "-d FILE"]);
}

/// The cache hits and the queries that Unbound has counted. On a busy host it may close the connection without a word.
fn counted(server: &Server) -> (f64, f64) {
    let config = server.folder().join("server.conf");
    let ask = |_| {
        let run =
            Command::new("unbound-control").arg("-c").arg(&config).arg("stats_noreset").output().unwrap();
        String::from_utf8(run.stdout).ok().filter(|text| text.contains("total.num.cachehits="))
    };
    let text = (0..20).find_map(ask).expect("the counts of Unbound");
    let value = |key: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key} in {text}")).parse().unwrap()
    };
    (value("total.num.cachehits"), value("total.num.queries"))
}

#[test]
fn the_hit_rate_is_the_one_that_unbound_counts() {
    for share in [0, 50, 90, 100] {
        let work = Workplace::new();
        // A resolver keeps an answer no longer than the NS records that come with it.
        let zone = "$TTL 3600\n@ SOA ns host 1 1 1 1 2\n@ NS ns\nns A 192.0.2.7\n* 2 A 192.0.2.8\n";
        let zone = Zone::from_text("cached.example.", zone).unwrap();
        let serve = ServerOptions { zone: zone.clone(), ..ServerOptions::default() };
        let Some(upstream) = real_server("nsd", &serve) else { return };
        let options = ServerOptions { stub: Some(upstream.address()), zone, ..ServerOptions::default() };
        let Some(resolver) = real_server("unbound", &options) else { return };
        let before = counted(&resolver);
        work.dnsdyno(&format!(
            "run -s {} --ask {{rand:8}}.cached.example --hit-rate {share}% --ttl 2s \
             --hot 100 --rate 1k --for 8s -o run",
            resolver.address()
        ))
        .gives(0);
        let after = counted(&resolver);
        let digest = work.record("run");
        let tally = digest.tally();
        // While a host is too busy to send, resolve or answer, names expire of which the worker knows nothing: each
        // query of that time may find what it should not. On a quiet host there is none.
        let prompt = tally.response.buckets().filter(|bucket| bucket.to_ns <= 100_000_000);
        let in_time: u64 = prompt.map(|bucket| bucket.count).sum();
        let disturbed = 100.0 - in_time as f64 / 8_000.0 * 100.0;
        let found = (after.0 - before.0) / (after.1 - before.1) * 100.0;
        let allowed = 1.0 + disturbed;
        assert!(
            (found - f64::from(share)).abs() <= allowed,
            "{share} % wanted, {found} % counted, {disturbed} % of the queries disturbed"
        );
    }
}

//! The clients against the model: real messages over a link that takes no time, and what the arithmetic says.

mod common;

use std::sync::atomic::{AtomicU32, Ordering};

use common::{PLENTY, S, Server, drive};
use dnsdyno_clients::predict::model::{Group, solve};
use dnsdyno_clients::predict::{Serving, predict};
use dnsdyno_clients::{Clients, Description, Policy, Questions, Share, Zone};
use dnsdyno_measure::{CachingClients, ProcedureKind};

/// How long until the caches are as they stay, in seconds: two and a half rounds of a TTL of 300 s and a question ten
/// seconds later.
const WARM_S: u64 = 775;
/// How long is counted after that: ten such rounds. All names are first asked for at the start, and where nothing is
/// evicted they stay in step for long; a part of a round more or less would be a part of the misses too.
const COUNTED_S: u64 = 3_100;

/// The files of queries that were written so far, each with its own name.
static FILES: AtomicU32 = AtomicU32::new(0);

/// One client that looks up `names` names, each every ten seconds on average; their records last for `ttls_s` seconds
/// in turn. Returns the counts after the caches are warm, and the part that is missed for each of the TTLs.
fn stub(names: u32, ttls_s: &[u32], entries: u32, policy: &str) -> (CachingClients, Vec<f64>) {
    let path = std::env::temp_dir().join(format!(
        "dnsdyno-clients-model-{}-{}",
        std::process::id(),
        FILES.fetch_add(1, Ordering::Relaxed)
    ));
    let lines: String = (0..names).map(|number| format!("n{number}.test A\n")).collect();
    std::fs::write(&path, lines).unwrap();
    let json = format!(
        r#"{{"kind": "stub", "queries": {path:?}, "cache": {{"entries": {entries}, "policy": "{policy}"}},
            "arrivals": {{"attaches": {}, "apn_zipf": 0}}}}"#,
        f64::from(names) / 10.0
    );
    let checked = Description::parse(&json).unwrap().check(PLENTY).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut clients = Clients::new(&checked, Share { worker: 0, workers: 1 }, 11, 0);
    let mut server = Server::default();
    for number in 0..names {
        server.add(&format!("n{number}.test"), "A", ttls_s[number as usize % ttls_s.len()], &["-"]);
    }
    let run = |clients: &mut Clients, until_s: u64| {
        let mut missed = vec![0u64; ttls_s.len()];
        drive(clients, until_s * S, |_, question, message| {
            server.respond_into(question, message);
            // The last digit of the name: `n123.test`.
            let digit = question[usize::from(question[0])] - b'0';
            missed[usize::from(digit) % ttls_s.len()] += 1;
        });
        clients.ended().for_each(drop);
        (clients.take_counts(), missed)
    };
    run(&mut clients, WARM_S);
    let (counts, missed) = run(&mut clients, WARM_S + COUNTED_S);
    let asked = counts.begun.of(ProcedureKind::Lookup) as f64 / ttls_s.len() as f64;
    (counts, missed.iter().map(|missed| *missed as f64 / asked).collect())
}

fn assert_within(found: f64, expected: f64, part: f64, what: &str) {
    println!("{what}: {found:.4}, expected {expected:.4} ({:+.1} %)", (found / expected - 1.0) * 100.0);
    assert!((found / expected - 1.0).abs() <= part, "{what}: {found:.4} instead of {expected:.4}");
}

#[test]
fn equal_ttls_miss_as_the_model_says() {
    for (entries, expected) in
        [(1000, 0.0323), (968, 0.0323), (950, 0.05), (900, 0.1), (800, 0.2), (500, 0.5), (200, 0.8)]
    {
        for policy in ["ttl", "fifo"] {
            let (_, missed) = stub(1_000, &[300], entries, policy);
            assert_within(missed[0], expected, 0.05, &format!("{policy}, {entries} entries"));
        }
    }
}

#[test]
fn lru_misses_as_the_model_says() {
    for entries in [1000, 968, 950, 900, 800, 500, 200] {
        let (_, missed) = stub(1_000, &[300], entries, "lru");
        let model = solve(Policy::Lru, &[Group::asked(1_000.0, 0.1, 300.0)], f64::from(entries));
        assert_within(missed[0], model.missed_per_s[0] / 100.0, 0.05, &format!("lru, {entries} entries"));
    }
}

#[test]
fn lfu_misses_about_as_the_model_says() {
    for entries in [900, 800, 500, 200] {
        let (_, missed) = stub(1_000, &[300], entries, "lfu");
        let kept = f64::from(entries) / 1_000.0;
        assert_within(missed[0], 1.0 - kept + kept / 31.0, 0.05, &format!("lfu, {entries} entries"));
    }
}

#[test]
fn short_ttls_miss_first_as_the_model_says() {
    // Ten times the keys of the table, because its model is that of many: a thousand have a standard deviation of nine
    // valid entries, where the cache lacks twelve.
    for (entries, long, short) in [(9_000, 0.0331, 0.1669), (7_000, 0.0385, 0.5615), (5_000, 0.0400, 0.9600)]
    {
        let (counts, missed) = stub(10_000, &[300, 60], entries, "ttl");
        assert_within(missed[0], long, 0.05, &format!("300 s, {entries} entries"));
        assert_within(missed[1], short, 0.05, &format!("60 s, {entries} entries"));
        let all = counts.misses as f64 / counts.begun.of(ProcedureKind::Lookup) as f64;
        assert_within(all, (long + short) / 2.0, 0.05, &format!("all, {entries} entries"));
    }
}

#[test]
fn misses_after_an_eviction_are_those_that_a_cache_that_fits_does_not_have() {
    let (fits, _) = stub(1_000, &[300], 1_000, "ttl");
    assert_eq!((fits.evicted, fits.misses_evicted), (0, 0));
    let (overflows, _) = stub(1_000, &[300], 500, "ttl");
    let part = overflows.misses_evicted as f64 / overflows.misses as f64;
    // An entry lasts for ten seconds of its 300, and is asked for within the other 290 nearly always.
    assert!(part > 0.999, "{part}");
    assert_eq!(overflows.evicted_at.total(), overflows.evicted);
    let young = overflows.evicted_at.of(0) as f64 / overflows.evicted as f64;
    assert!(young > 0.99, "{young}");
}

/// The mobile core: 40 clients, 400 tracking areas, ten access points, addresses in the additional section.
#[test]
fn the_load_of_a_mobile_core_is_the_predicted_one() {
    let operator = "epc.mnc010.mcc440.3gppnetwork.org";
    let mut server = Server::default();
    let sgw = |number: u32| format!("topon.s5.sgw{number}.node.{operator}");
    for number in 0..40 {
        server.add(&sgw(number), "A", 300, &["-"]);
    }
    for tac in 1..=400u32 {
        let name = format!("tac-lb{:02x}.tac-hb{:02x}.tac.{operator}", tac % 256, tac / 256);
        let hosts: Vec<String> = (0..5).map(|number| sgw((tac + tac / 40 * 5 + number) % 40)).collect();
        let records: Vec<String> =
            hosts.iter().map(|host| format!("1 1 a x-3gpp-sgw:x-s5-gtp {host}")).collect();
        server.add(&name, "NAPTR", 300, &records.iter().map(String::as_str).collect::<Vec<_>>());
        let brought: Vec<(&str, &str)> = hosts.iter().map(|host| (host.as_str(), "A")).collect();
        server.bring((&name, "NAPTR"), &brought);
    }
    for apn in 0..10 {
        let host = format!("topon.s5.pgw{apn}.node.{operator}");
        let name = format!("a{apn}.apn.{operator}");
        server.add(&name, "NAPTR", 300, &[&format!("1 1 a x-3gpp-pgw:x-s5-gtp {host}")]);
        server.add(&host, "A", 300, &["-"]).bring((&name, "NAPTR"), &[(&host, "A")]);
    }
    let questions = |qtype: &str, names, brought| Questions {
        qtype: qtype.to_owned(),
        names,
        per_lookup: 1.0,
        brought,
        ttl_s: 300,
        octets: 500,
        records: 1,
    };
    let zone = Zone {
        tac: vec![questions("NAPTR", 400, 0.0), questions("A", 40, 5.0)],
        apn: vec![questions("NAPTR", 10, 0.0), questions("A", 10, 1.0)],
        ..Zone::default()
    };
    let tacs: Vec<u32> = (1..=400).collect();
    let apns: Vec<String> = (0..10).map(|apn| format!("a{apn}")).collect();
    for (count, entries) in [
        ("names", 100),
        ("names", 15),
        ("names", 8),
        ("rrsets", 200),
        ("rrsets", 60),
        ("rrsets", 40),
        ("rrsets", 20),
    ] {
        let json = format!(
            r#"{{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": {tacs:?}, "apns": {apns:?}, "clients": 40,
                "cache": {{"entries": {entries}, "count": "{count}"}},
                "arrivals": {{"attaches": 40, "handovers": 80, "apn_zipf": 0, "tac_zipf": 0}}}}"#
        );
        let checked = Description::parse(&json).unwrap().check(PLENTY).unwrap();
        let expected = predict(&checked, &zone, 1_232).unwrap();
        let mut clients = Clients::new(&checked, Share { worker: 0, workers: 1 }, 11, 0);
        let mut counts = CachingClients::default();
        for until_s in [WARM_S, WARM_S + COUNTED_S] {
            drive(&mut clients, until_s * S, |_, question, message| server.respond_into(question, message));
            counts = clients.take_counts();
            clients.ended().for_each(drop);
        }
        let what = format!("{count}, {entries} entries, state {:?}", expected.state);
        assert_within(counts.queries() as f64 / COUNTED_S as f64, expected.queries_per_s, 0.05, &what);
    }
}

/// A link over which each response takes its time, and some queries are lost.
fn drive_slowly(clients: &mut Clients, until_ns: u64, serving: &Serving, server: &Server) {
    let response_ns = (serving.response_s * 1e9) as u64;
    let mut on_the_way: std::collections::VecDeque<(u64, u32, Vec<u8>)> = Default::default();
    let mut random = 1u64;
    loop {
        let arrives_ns = on_the_way.front().map(|(at_ns, ..)| *at_ns);
        let next_ns = clients.next_event_ns().into_iter().chain(arrives_ns).min();
        let Some(now_ns) = next_ns.filter(|now_ns| *now_ns <= until_ns) else { return };
        if arrives_ns == Some(now_ns)
            && let Some((_, id, message)) = on_the_way.pop_front()
        {
            clients.answered(id, now_ns, &message);
        }
        while let Some(ask) = clients.next_ask(now_ns) {
            clients.count_sent(&ask);
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if ((random >> 33) as f64 / f64::from(1u32 << 31)) < serving.lost {
                clients.failed(ask.id);
                continue;
            }
            let mut message = Vec::new();
            server.respond_into(clients.question(ask.id), &mut message);
            on_the_way.push_back((now_ns + response_ns, ask.id, message));
        }
        clients.ended().for_each(drop);
    }
}

#[test]
fn the_load_on_a_server_that_is_slow_or_loses_queries_is_the_predicted_one() {
    let (names, ttl_s) = (500, 100);
    let path = std::env::temp_dir().join(format!("dnsdyno-clients-slow-{}", std::process::id()));
    let lines: String = (0..names).map(|number| format!("n{number}.test A\n")).collect();
    std::fs::write(&path, lines).unwrap();
    let mut server = Server::default();
    for number in 0..names {
        server.add(&format!("n{number}.test"), "A", ttl_s, &["-"]);
    }
    let zone = Zone {
        stub: vec![Questions {
            qtype: "A".to_owned(),
            names,
            per_lookup: 1.0,
            brought: 0.0,
            ttl_s,
            octets: 50,
            records: 1,
        }],
        ..Zone::default()
    };
    for (response_s, lost, entries) in [
        (0.0, 0.0, 250),
        (2.0, 0.0, 250),
        (4.0, 0.0, 500),
        (4.0, 0.0, 250),
        (0.0, 0.5, 500),
        (4.0, 0.5, 250),
        (30.0, 0.0, 500),
    ] {
        let json = format!(
            r#"{{"kind": "stub", "queries": {path:?}, "cache": {{"entries": {entries}}},
                "arrivals": {{"attaches": 50, "apn_zipf": 0}}}}"#
        );
        let checked = Description::parse(&json).unwrap().check(PLENTY).unwrap();
        let serving = Serving { payload_octets: 1_232, response_s, lost };
        let expected = predict(&checked, &zone, serving).unwrap();
        let mut clients = Clients::new(&checked, Share { worker: 0, workers: 1 }, 11, 0);
        // Ten rounds of a TTL and a question ten seconds later, after two and a half of them.
        drive_slowly(&mut clients, 275 * S, &serving, &server);
        clients.take_counts();
        drive_slowly(&mut clients, 1_375 * S, &serving, &server);
        let counts = clients.take_counts();
        let what = format!("{response_s} s, {lost} lost, {entries} entries");
        assert_within(counts.queries() as f64 / 1_100.0, expected.queries_per_s, 0.05, &what);
        let again = counts.asked_again.total() as f64 / counts.queries() as f64;
        let expected_again = expected.again_per_s / expected.queries_per_s;
        assert!(
            (again - expected_again).abs() < 0.02,
            "{what}: {again} asked again, expected {expected_again}"
        );
        let hits = counts.hit_ratio().unwrap();
        assert!((hits - expected.hit_ratio).abs() < 0.03, "{what}: hit ratio {hits}, {}", expected.hit_ratio);
    }
    std::fs::remove_file(&path).unwrap();
}

//! Simulated clients that ask again, of several kinds, or before and after a change of records: what a run counts is
//! what the server has counted and what `epc predict` has said.

use std::time::Duration;

use dnsdyno_lab::{ServerOptions, within_tries};
use dnsdyno_measure::{CachingClients, ProcedureKind};
use dnsdyno_responder::{Delay, Faults, Running, Share};
use serde_json::{Value, json};

use crate::support::{Workplace, real_server, responder};

/// Other programs on the host may disturb a run.
const TRIES: usize = 3;

/// Clients of a kind that look up 500 names, each ten times a minute on average, and ask again after half a second.
fn stub(work: &Workplace, changes: &Value) -> Value {
    let names: String = (0..500).map(|number| format!("n{number}.example A\n")).collect();
    work.write("names.txt", names);
    let mut description = json!({
        "kind": "stub",
        "queries": work.path("names.txt"),
        "cache": { "entries": 0, "policy": "ttl", "count": "names" },
        "arrivals": { "attaches": 80.0, "apn_zipf": 0.0 },
        "retries": { "first_s": 0.5, "retries": 2 },
        "zone": {
            "stub": [{ "qtype": "A", "names": 500, "per_lookup": 1.0, "ttl_s": 300, "octets": 50 }],
        },
    });
    for (key, value) in changes.as_object().unwrap() {
        description[key] = value.clone();
    }
    description
}

fn run(work: &Workplace, servers: &str, more: &str) -> dnsdyno_record::Digest {
    work.dnsdyno(&format!("run -s {servers} {more} --quiet -o run")).gives(0);
    work.record("run")
}

fn clients_of(digest: &dnsdyno_record::Digest) -> &CachingClients {
    digest.arrivals().clients.as_deref().expect("what clients counted")
}

fn faulty(delay_ms: u64, loss: f64) -> Running {
    responder(Faults {
        delay: (delay_ms > 0).then(|| Delay::Fixed(Duration::from_millis(delay_ms))),
        loss: Share::new(loss).unwrap(),
        ..Faults::default()
    })
}

#[test]
fn clients_multiply_the_load_on_a_slow_server_as_predicted_and_as_it_counts() {
    // Asked again after 0.5 and 1.5 s, and given up after 3.5 s.
    for (delay_ms, loss) in [(0, 0.0), (700, 0.0), (1_800, 0.0), (0, 0.4)] {
        within_tries(TRIES, &format!("the load with {delay_ms} ms and {loss} lost"), |_| {
            let work = Workplace::new();
            work.write("clients.json", stub(&work, &json!({})).to_string());
            let words = format!(
                "epc predict clients.json --json --response-time {delay_ms}ms --lost {}%",
                loss * 100.0
            );
            let forecast: Value = serde_json::from_str(&work.dnsdyno(&words).gives(0).stdout).unwrap();
            let case = if delay_ms == 0 && loss == 0.0 { &forecast["now"] } else { &forecast["after"] };
            let predicted = |key: &str| case[key].as_f64().unwrap();

            let server = faulty(delay_ms, loss);
            let address = server.address().to_string();
            let digest = run(&work, &address, "--source stub:clients.json --timeout 5s --for 8s");
            let (clients, book) = (clients_of(&digest), server.stop());
            assert_eq!(digest.tally().requests, clients.queries());
            assert_eq!(book.udp.counts.received, clients.queries(), "what the server counted");
            if loss == 0.0 {
                assert_eq!(clients.given_up, 0, "{clients:?}");
            }
            let per_question = clients.queries() as f64 / clients.asked.total() as f64;
            let expected =
                predicted("queries_per_s") / (predicted("queries_per_s") - predicted("asked_again_per_s"));
            // Questions at the end of the run have no time to be asked again.
            let measured =
                [(per_question, expected), (clients.queries() as f64 / 8.0, predicted("queries_per_s"))];
            match measured.iter().all(|(found, expected)| (found / expected - 1.0).abs() <= 0.15) {
                true => Ok(()),
                false => Err(format!("{measured:?}")),
            }
        });
    }
}

#[test]
fn a_retry_goes_to_the_same_server_or_to_the_next_as_described() {
    for (which, failed_of) in [("same", 0.5), ("next", 0.0)] {
        let work = Workplace::new();
        let changes = json!({
            "clients": 2,
            "retries": { "first_s": 0.2, "retries": 1, "server": which },
        });
        work.write("clients.json", stub(&work, &changes).to_string());
        let (dead, alive) = (faulty(0, 1.0), faulty(0, 0.0));
        let servers = format!("{},{}", dead.address(), alive.address());
        let digest = run(&work, &servers, "--source stub:clients.json --timeout 1s --for 4s --workers 2");
        let (dead, alive) = (dead.stop().udp.counts, alive.stop().udp.counts);
        let clients = clients_of(&digest);
        let (asked, again) = (clients.asked.total(), clients.asked_again.total());
        assert_eq!(dead.received + alive.received, asked + again);
        // Client 0 asks the first server, client 1 the second, and each has half of the users.
        let is_near = |found: u64, part: f64| (found as f64 - part * asked as f64).abs() < 0.2 * asked as f64;
        assert!(is_near(again, 0.5), "{asked}, {again} again");
        let failed = clients.failed.of(ProcedureKind::Lookup);
        assert!(
            is_near(failed, failed_of) && (failed > 0) == (failed_of > 0.0),
            "{which}: {failed} of {asked}"
        );
        // To the dead server go the first queries of client 0, and with `same` also the second ones.
        assert!(is_near(dead.received, if which == "same" { 1.0 } else { 0.5 }), "{which}: {dead:?}");
    }
}

#[test]
fn each_kind_of_clients_has_a_cache_and_figures_of_its_own() {
    let work = Workplace::new();
    let kind = |name: &str, entries: u32, attaches: f64| {
        let changes = json!({
            "name": name,
            "clients": 2,
            "cache": { "entries": entries, "policy": "ttl", "count": "names" },
            "arrivals": { "attaches": attaches, "apn_zipf": 0.0 },
        });
        stub(&work, &changes)
    };
    let kinds = json!({ "kinds": [kind("MME", 0, 100.0), kind("SGSN", 1_000, 300.0)] });
    work.write("clients.json", kinds.to_string());
    let server = faulty(0, 0.0);
    let address = server.address().to_string();
    let digest = run(&work, &address, "--source stub:clients.json --for 6s --workers 2");
    let received = server.stop().udp.counts.received;
    assert_eq!(digest.header.client_kinds, ["MME", "SGSN"]);
    let (all, kinds) = (clients_of(&digest), &digest.arrivals().client_kinds);
    let [mme, sgsn] = &kinds[..] else { panic!("{kinds:?}") };
    assert_eq!(mme.queries() + sgsn.queries(), all.queries());
    assert_eq!((all.queries(), all.misses), (received, mme.misses + sgsn.misses));
    assert_eq!(mme.entries + sgsn.entries, all.entries);
    // Without a cache each lookup is asked; with one of all names each name once for each of two clients.
    let looked_up = |kind: &CachingClients| kind.begun.of(ProcedureKind::Lookup);
    assert_eq!((mme.hits, mme.entries, mme.misses + mme.joined), (0, 0, looked_up(mme)));
    assert_eq!((sgsn.hits + sgsn.misses + sgsn.joined, sgsn.evicted), (looked_up(sgsn), 0));
    assert_eq!(sgsn.entries, sgsn.misses, "{sgsn:?}");
    assert!(sgsn.misses <= 1_000 && sgsn.hits > 300, "{sgsn:?}");
    for (kind, rate) in [(mme, 100.0), (sgsn, 300.0)] {
        let mean: f64 = 6.0 * rate;
        let begun = looked_up(kind) as f64;
        assert!((begun - mean).abs() < 5.0 * mean.sqrt(), "{begun} of {mean}");
    }
    let shown = work.dnsdyno("show run").completes().stdout;
    assert!(shown.contains("MME") && shown.contains("SGSN") && shown.contains("peak"), "{shown}");
    let json: Value = serde_json::from_str(&work.dnsdyno("show run --json").completes().stdout).unwrap();
    assert_eq!(json["clients_with_caches"]["kinds"]["MME"]["misses"], mme.misses);
    assert_eq!(json["clients_with_caches"]["all"]["hits"], all.hits);
}

#[test]
fn what_is_wrong_with_a_kind_is_refused_with_its_place() {
    let work = Workplace::new();
    let kind =
        |name: &str, entries: u32| stub(&work, &json!({ "name": name, "cache": { "entries": entries } }));
    let refused = |kinds: Value, why: &[&str]| {
        work.write("clients.json", json!({ "kinds": kinds }).to_string());
        work.dnsdyno("run -s 127.0.0.1:9 --source stub:clients.json").ends_refused(2, why);
    };
    refused(json!([kind("", 1)]), &["kinds.0", "name"]);
    refused(json!([kind("a", 1), kind("a", 1)]), &["`a` is there twice"]);
    refused(json!([kind("a", 1), kind("b", u32::MAX)]), &["kinds.1.cache.entries", "MiB"]);
}

#[test]
fn the_change_to_ipv6_multiplies_the_load_as_predicted() {
    let work = Workplace::new();
    let size = "--tacs 40 --apns 4 --sgws 24 --pgws 24 --mmes 4";
    work.dnsdyno(&format!("data epc --out zones {size} --ip v6-added")).gives(0);
    for file in ["zones/description.json", "zones/after/description.json"] {
        let mut description: Value = serde_json::from_str(&work.read(file)).unwrap();
        // What a server adds to its responses differs from server to server.
        description["lookups"]["additional"] = false.into();
        description["arrivals"]["attaches"] = 200.0.into();
        description["arrivals"]["handovers"] = 200.0.into();
        work.write(file, description.to_string());
    }
    let words = "epc predict zones/description.json --after zones/after/description.json --json";
    let forecast: Value = serde_json::from_str(&work.dnsdyno(words).gives(0).stdout).unwrap();
    let of = |case: &str, key: &str| forecast[case][key].as_f64().unwrap();
    assert!(of("after", "queries_per_s") > 5.0 * of("now", "queries_per_s"), "{forecast:#}");
    assert!(of("after", "entries_needed") > 1.3 * of("now", "entries_needed"), "{forecast:#}");
    assert_eq!(forecast["after"]["state"], 3, "the caches overflow");
    assert_eq!(forecast["after"]["cache"]["count"], "records");

    // The zone after the change, and its clients.
    work.write("zones/epc.zone", work.read("zones/after/epc.zone"));
    let include = format!("include \"{}\";", work.path("zones/bind.conf").display());
    let options = ServerOptions {
        values: [("more_zones".to_owned(), include)].into(),
        ready_within: Duration::from_secs(60),
        ..ServerOptions::default()
    };
    let Some(server) = real_server("bind", &options) else { return };
    within_tries(TRIES, "the load after the change", |number| {
        work.dnsdyno(&format!(
            "run -s {} --source epc:zones/after/description.json --transport udp+tcp --edns-size 1232 --for 8s \
             --quiet -o run-{number}",
            server.address()
        ))
        .gives(0);
        let digest = work.record(&format!("run-{number}"));
        let clients = clients_of(&digest);
        assert_eq!(clients.failed.total(), 0, "{clients:?}");
        let found = [
            (digest.tally().scheduled as f64 / 8.0, of("after", "queries_per_s")),
            (digest.tally().requests as f64 / 8.0, of("after", "requests_per_s")),
        ];
        match found.iter().all(|(measured, predicted)| (measured / predicted - 1.0).abs() <= 0.15) {
            true => Ok(()),
            false => Err(format!("measured and predicted: {found:?}")),
        }
    });
}

//! Runs whose queries are what simulated clients with caches ask: the server counts what the clients say they asked,
//! and their caches miss as often as the model of such caches says.

use std::path::Path;
use std::time::Duration;

use dnsdyno_clients::Policy;
use dnsdyno_clients::predict::model::{Group, solve};
use dnsdyno_lab::{ServerOptions, Zone, within_tries};
use dnsdyno_measure::{CachingClients, LookupStep, ProcedureKind};
use dnsdyno_record::Interval;
use serde_json::{Value, json};

use crate::support::{Workplace, real_server};

/// Changes a description that `dnsdyno data` wrote.
fn describe(work: &Workplace, file: &str, changes: Value) {
    let mut description: Value = serde_json::from_str(&work.read(file)).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        description[key] = value.clone();
    }
    work.write(file, description.to_string());
}

fn with_zones(name: &str, include: &Path, parts: &[&str]) -> Option<dnsdyno_lab::Server> {
    let include = match name {
        "bind" => format!("include \"{}\";", include.display()),
        _ => format!("include: \"{}\"", include.display()),
    };
    let options = ServerOptions {
        values: [("more_zones".to_owned(), include)].into(),
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        ready_within: Duration::from_secs(60),
        ..ServerOptions::default()
    };
    real_server(name, &options)
}

#[test]
fn a_server_counts_what_the_clients_of_a_mobile_core_ask() {
    let work = Workplace::new();
    work.dnsdyno("data epc --out zones --tacs 40 --apns 4 --sgws 12 --pgws 12 --per-answer 40").gives(0);
    let changes = json!({
        "clients": 5,
        "cache": { "entries": 60, "policy": "ttl", "count": "rrsets" },
        "arrivals": { "attaches": 300.0, "handovers": 200.0 },
    });
    describe(&work, "zones/description.json", changes);
    let Some(server) = with_zones("bind", &work.path("zones/bind.conf"), &["statistics"]) else { return };
    let statistics = server.listener("statistics").unwrap();
    work.dnsdyno(&format!(
        "run -s {} --source epc:zones/description.json --transport udp+tcp --edns-size 1232 --for 3s \
         --watch bind=http://{statistics}/ --quiet -o run",
        server.address()
    ))
    .gives(0);
    let digest = work.record("run");
    let (tally, fallback) = (digest.tally(), digest.tally().fallback.as_deref().unwrap());
    let clients: &CachingClients = digest.arrivals().clients.as_deref().expect("what clients counted");
    assert_eq!(tally.ends.answered, tally.scheduled, "{:?}", tally.ends);
    assert_eq!(clients.asked.total() + clients.asked_again.total(), tally.scheduled);
    assert_eq!(clients.misses, clients.asked.total(), "each question that no cache answers is asked");
    // Poisson arrivals: within five standard deviations.
    for (procedure, mean) in [(ProcedureKind::Attach, 900.0_f64), (ProcedureKind::Handover, 600.0)] {
        let begun = clients.begun.of(procedure);
        assert!((begun as f64 - mean).abs() < 5.0 * mean.sqrt(), "{procedure:?} {begun}");
        let ended = clients.done.of(procedure) + clients.interrupted.of(procedure);
        assert_eq!((ended, clients.failed.of(procedure)), (begun, 0), "{clients:?}");
    }
    assert!(clients.evicted > 0 && clients.misses_evicted > 0, "{clients:?}");
    assert!(fallback.started > 0, "answers of 40 records fit no datagram");

    let counted = digest.watched()[0].clone().expect("samples");
    let asked = [
        ("queries", tally.requests),
        ("queries.udp", fallback.udp_requests),
        ("queries.tcp", fallback.tcp_requests),
        ("responses.truncated", fallback.started),
    ];
    for (name, wanted) in asked {
        assert_eq!(counted.counter(name), wanted, "{name}");
    }
    // By type: nothing was asked twice, and only NAPTR answers are so long that they are asked for again over TCP.
    assert_eq!(clients.asked_again.total(), 0, "{clients:?}");
    let steps = |steps: &[LookupStep]| steps.iter().map(|step| clients.asked_by_step.of(*step)).sum::<u64>();
    let naptr = steps(&[LookupStep::TacNaptr, LookupStep::ApnNaptr, LookupStep::NextNaptr]);
    let by_type = [
        ("NAPTR", naptr + fallback.started),
        ("SRV", steps(&[LookupStep::Srv])),
        ("A", steps(&[LookupStep::A])),
        ("AAAA", steps(&[LookupStep::Aaaa])),
    ];
    for (rtype, wanted) in by_type {
        assert_eq!(counted.counter(&format!("queries.type.{rtype}")), wanted, "{rtype}");
    }
    let shown = work.dnsdyno("show run").completes().stdout;
    for words in ["simulated clients", "attach", "handover", "hit ratio", "state 3"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
}

/// Questions of the model, each asked so often a second; the TTL of all.
const NAMES: f64 = 1_000.0;
const RATE: f64 = 10.0;
const TTL_S: f64 = 2.0;

/// Other programs on the host may disturb a run.
const TRIES: usize = 3;

/// The share of misses by the model: an entry is in the cache until its TTL ends and then waits for the next lookup;
/// of a cache with fewer entries than that needs, the share of what has no place.
fn modelled(entries: f64) -> f64 {
    let needed = NAMES * RATE * TTL_S / (1.0 + RATE * TTL_S);
    if entries >= needed { 1.0 / (1.0 + RATE * TTL_S) } else { 1.0 - entries / NAMES }
}

#[test]
fn caches_miss_as_often_as_the_model_of_such_caches_says() {
    let work = Workplace::new();
    work.dnsdyno("data plain --out plain --zones 1 --hosts 1000 --ttl 2").gives(0);
    let Some(server) = with_zones("knot", &work.path("plain/knot.conf"), &[]) else { return };
    for (entries, policy) in [(1_000, "ttl"), (900, "ttl"), (500, "ttl"), (500, "fifo")] {
        let what = format!("misses of a cache of {entries} entries, {policy}");
        within_tries(TRIES, &what, |number| {
            let description = json!({
                "kind": "stub",
                "queries": work.path("plain/queries.txt"),
                "cache": { "entries": entries, "policy": policy, "count": "names" },
                "arrivals": { "attaches": NAMES * RATE, "apn_zipf": 0.0 },
            });
            work.write("clients.json", description.to_string());
            // Entries that were stored together expire together: three whole rounds of the TTL and of the wait after
            // it are counted, from the middle of a round on.
            let run = format!("{policy}-{entries}-{number}");
            work.dnsdyno(&format!(
                "run -s {} --source stub:clients.json --interval 100ms --for 7700ms --quiet -o {run}",
                server.address()
            ))
            .gives(0);
            let intervals = work.intervals(&run);
            let of = |count: fn(&CachingClients) -> u64| -> f64 {
                let counted = |interval: &Interval| interval.arrivals.clients.as_deref().map_or(0, count);
                intervals.iter().skip(13).take(63).map(counted).sum::<u64>() as f64
            };
            let measured =
                of(|clients| clients.misses) / of(|clients| clients.hits + clients.misses + clients.joined);
            let model = modelled(f64::from(entries));
            match (measured / model - 1.0).abs() <= 0.05 {
                true => Ok(()),
                false => Err(format!("measured {measured:.4}, by the model {model:.4}")),
            }
        });
    }
}

/// All points of the model's tables, over a real server: equal TTLs with each policy, and two TTLs (docs/clients.md).
#[test]
#[ignore = "takes a quarter of an hour"]
fn each_point_of_the_tables_of_the_model_is_measured() {
    let work = Workplace::new();
    // Half of the keys are A, the others AAAA, so that the record tells them apart.
    let zone = |ttls_s: [u64; 2], keys: u32| {
        let hosts = (0..keys / 2).map(|host| {
            let [long, short] = ttls_s;
            format!("h{host} {long} A 192.0.2.1\nh{host} {short} AAAA 2001:db8::1\n")
        });
        format!(
            "$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n{}",
            hosts.collect::<String>()
        )
    };
    let mut off_by_more = Vec::new();
    let mut points: Vec<([u64; 2], u32, f64, u32, Policy)> = Vec::new();
    for policy in [Policy::Ttl, Policy::Fifo, Policy::Lru, Policy::Lfu] {
        points.extend(
            [1_000, 968, 950, 900, 800, 500, 200].map(|entries| ([3, 3], 1_000, 10.0, entries, policy)),
        );
    }
    points.extend([9_000, 7_000, 5_000].map(|entries| ([10, 2], 10_000, 3.0, entries, Policy::Ttl)));
    for (ttls_s, keys, rate, entries, policy) in points {
        let options = ServerOptions {
            zone: Zone::from_text("model.example", zone(ttls_s, keys)).unwrap(),
            ready_within: Duration::from_secs(60),
            ..ServerOptions::default()
        };
        let Some(server) = real_server("knot", &options) else { return };
        let names = |rtype: &str| {
            (0..keys / 2).map(|host| format!("h{host}.model.example {rtype}\n")).collect::<String>()
        };
        work.write("queries.txt", names("A") + &names("AAAA"));
        let description = json!({
            "kind": "stub",
            "queries": work.path("queries.txt"),
            "cache": { "entries": entries, "policy": policy, "count": "names" },
            "arrivals": { "attaches": f64::from(keys) * rate, "apn_zipf": 0.0 },
        });
        work.write("clients.json", description.to_string());
        let half = f64::from(keys) / 2.0;
        let groups = ttls_s.map(|ttl_s| Group::asked(half, rate, ttl_s as f64));
        let model = solve(policy, &groups, f64::from(entries));
        // Whole rounds of what the longer TTL lasts and of the wait after it, from the middle of a round on. What
        // begins together comes in waves, which two TTLs and a cache that is just too small even out after some rounds.
        let is_equal = ttls_s[0] == ttls_s[1];
        let (half_rounds_skipped, rounds) = if is_equal { (1, 3) } else { (5, 10) };
        let lasts_s = ttls_s[0] as f64 - model.lost_s.unwrap_or(0.0);
        let round_ms = ((lasts_s + 1.0 / rate) * 1e3) as u64;
        let skipped = (half_rounds_skipped * round_ms / 2).div_ceil(100);
        let counted = (rounds * round_ms).div_ceil(100);
        let run = format!("{policy:?}-{entries}-{}", ttls_s[1]);
        work.dnsdyno(&format!(
            "run -s {} --source stub:clients.json --interval 100ms --for {}ms --quiet -o {run}",
            server.address(),
            (skipped + counted + 1) * 100
        ))
        .gives(0);
        let lookups = f64::from(keys) / 2.0 * rate * counted as f64 / 10.0;
        let intervals = work.intervals(&run);
        let missed_of = |slot: usize| -> f64 {
            let counted = intervals.iter().skip(skipped as usize).take(counted as usize);
            counted.map(|interval| interval.tally.types[slot].answered).sum::<u64>() as f64
        };
        // Keys with the same TTL and rate are alike: which of them LFU keeps is chance.
        let slots: &[&[usize]] = if is_equal { &[&[0, 1]] } else { &[&[0], &[1]] };
        for slots in slots {
            let of = slots.len() as f64;
            let measured = slots.iter().map(|slot| missed_of(*slot)).sum::<f64>() / (of * lookups);
            let expected =
                slots.iter().map(|slot| model.missed_per_s[*slot]).sum::<f64>() / (of * half * rate);
            let (off, ttl_s) = ((measured / expected - 1.0) * 100.0, ttls_s[slots[0]]);
            let row = format!(
                "{policy:?} {entries} of {keys}, TTL {ttl_s} s: {measured:.4}, model {expected:.4}, {off:+.1} %"
            );
            println!("{row}");
            off_by_more.extend((off.abs() > 5.0).then_some(row));
        }
    }
    assert!(off_by_more.is_empty(), "{off_by_more:#?}");
}

#[test]
fn the_load_that_is_predicted_is_the_load_that_comes() {
    let work = Workplace::new();
    work.dnsdyno("data epc --out zones --tacs 400 --apns 40 --sgws 12 --pgws 12 --mmes 5").gives(0);
    let description: Value = serde_json::from_str(&work.read("zones/description.json")).unwrap();
    let mut lookups = description["lookups"].clone();
    // What a server adds to its responses differs from server to server.
    lookups["additional"] = false.into();
    let changes = json!({
        "lookups": lookups,
        "cache": { "entries": 80, "policy": "ttl", "count": "rrsets" },
        "arrivals": { "attaches": 300.0, "handovers": 200.0, "clients_per_tac": 1 },
    });
    describe(&work, "zones/description.json", changes);
    let words = "epc predict zones/description.json --json --entries 2k";
    let forecast: Value = serde_json::from_str(&work.dnsdyno(words).gives(0).stdout).unwrap();
    assert_eq!((&forecast["now"]["state"], &forecast["after"]["state"]), (&json!(3), &json!(1)));
    let Some(server) = with_zones("bind", &work.path("zones/bind.conf"), &[]) else { return };
    within_tries(TRIES, "the predicted load", |number| {
        work.dnsdyno(&format!(
            "run -s {} --source epc:zones/description.json --transport udp+tcp --edns-size 1232 --for 8s --quiet \
             -o run-{number}",
            server.address()
        ))
        .gives(0);
        let digest = work.record(&format!("run-{number}"));
        let measured = digest.tally().scheduled as f64 / 8.0;
        let predicted = forecast["now"]["queries_per_s"].as_f64().unwrap();
        match (measured / predicted - 1.0).abs() <= 0.1 {
            true => Ok(()),
            false => Err(format!("measured {measured:.0}/s, predicted {predicted:.0}/s")),
        }
    });
}

#[test]
fn what_cannot_be_predicted_is_refused_with_what_to_do() {
    let work = Workplace::new();
    work.dnsdyno("data epc --out zones --tacs 4 --apns 2 --sgws 4 --pgws 4").gives(0);
    let refused =
        |words: &str, why: &[&str]| work.dnsdyno(&format!("epc predict {words}")).ends_refused(2, why);
    refused("none.json", &["none.json"]);
    refused("zones/description.json --clients 0", &["clients: 0 is not from 1"]);
    refused("zones/description.json --attaches=-1", &["attaches"]);
    refused("zones/description.json --policy random", &["random", "ttl"]);
    describe(
        &work,
        "zones/description.json",
        json!({ "clients": 4, "arrivals": { "attaches": 1.0, "apn_zipf": 0.5 } }),
    );
    refused("zones/description.json", &["apn_zipf 1", "data epc --tac-zipf 0 --apn-zipf 0.5"]);
    describe(&work, "zones/description.json", json!({ "zone": null }));
    refused("zones/description.json", &["zone: it is needed to predict"]);
}

#[test]
fn what_cannot_be_used_with_clients_is_refused_with_what_to_do() {
    let work = Workplace::new();
    work.dnsdyno("data epc --out zones --tacs 4 --apns 2 --sgws 4 --pgws 4").gives(0);
    let refused = |words: &str, why: &[&str]| {
        work.dnsdyno(&format!("run -s 127.0.0.1:9 {words}")).ends_refused(2, why);
    };
    refused("--source zones/description.json", &["--source", "epc:FILE"]);
    refused("--source stub:zones/description.json", &["epc:"]);
    refused("--source epc:none.json", &["none.json"]);
    refused("--source epc:zones/description.json --rate 1k", &["--rate cannot be used with --source"]);
    describe(&work, "zones/description.json", json!({ "clients": 0 }));
    refused("--source epc:zones/description.json", &["clients"]);
}

//! How fast the clients are, and how much memory they take; to be run by hand, optimised and alone:
//! `cargo test --release -p dnsdyno-clients --test speed -- --ignored --nocapture --test-threads 1`

mod common;

use std::collections::HashMap;
use std::time::Instant;

use common::{PLENTY, S, Server, drive};
use dnsdyno_clients::{Clients, Description, ENTRY_OCTETS, Share};
use dnsdyno_measure::CachingClients;

/// What one core must do: procedures a second, without a server.
const LEAST_PER_S: f64 = 100_000.0;

/// What a million entries may take, in octets.
const MOST_OCTETS: u64 = 300_000_000;
const _: () = assert!(ENTRY_OCTETS * 1_000_000 < MOST_OCTETS);

fn new(json: &str) -> Clients {
    let checked = Description::parse(json).unwrap().check(PLENTY).unwrap();
    Clients::new(&checked, Share { worker: 0, workers: 1 }, 5, 0)
}

/// A mobile core with eight candidates an answer, their addresses in the additional section.
fn mobile_core() -> Server {
    let operator = "epc.mnc010.mcc440.3gppnetwork.org";
    let mut server = Server::default();
    let host =
        |kind: &str, number: u32| format!("topon.s5.{kind}{number}.area{}.node.{operator}", number % 10);
    for number in 0..60 {
        server.add(&host("sgw", number), "A", 300, &["-"]).add(&host("pgw", number), "A", 300, &["-"]);
    }
    let mut lookup = |name: String, kind: &str, first: u32| {
        let hosts: Vec<String> = (0..8).map(|number| host(kind, (first + number) % 60)).collect();
        let record = |host: &String| format!("1 1 a x-3gpp-{kind}:x-s5-gtp {host}");
        let records: Vec<String> = hosts.iter().map(record).collect();
        server.add(&name, "NAPTR", 300, &records.iter().map(String::as_str).collect::<Vec<_>>());
        let brought: Vec<(&str, &str)> = hosts.iter().map(|host| (host.as_str(), "A")).collect();
        server.bring((&name, "NAPTR"), &brought);
    };
    for tac in 1..=1_000u32 {
        lookup(format!("tac-lb{:02x}.tac-hb{:02x}.tac.{operator}", tac % 256, tac / 256), "sgw", tac);
    }
    for apn in 0..20 {
        lookup(format!("a{apn}.apn.{operator}"), "pgw", apn);
    }
    server
}

#[test]
#[ignore = "a measurement"]
fn one_core_simulates_a_hundred_thousand_procedures_a_second() {
    let server = mobile_core();
    let tacs: Vec<u32> = (1..=1_000).collect();
    let apns: Vec<String> = (0..20).map(|apn| format!("a{apn}")).collect();
    for (entries, count) in
        [(1_000, "names"), (20, "names"), (0, "names"), (1_000, "rrsets"), (100, "rrsets")]
    {
        let mut clients = new(&format!(
            r#"{{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": {tacs:?}, "apns": {apns:?}, "clients": 100,
                "cache": {{"entries": {entries}, "count": "{count}"}},
                "arrivals": {{"attaches": 50000, "handovers": 50000, "tac_zipf": 0.5, "clients_per_tac": 10}}}}"#
        ));
        let mut responses: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        let mut total = CachingClients::default();
        let begun = Instant::now();
        for until_s in 1..=20 {
            drive(&mut clients, until_s * S, |_, question, message| {
                message.clear();
                match responses.get(question) {
                    Some(response) => message.extend_from_slice(response),
                    None => {
                        server.respond_into(question, message);
                        responses.insert(question.to_vec(), message.clone());
                    }
                }
            });
            assert!(clients.ended().all(|end| end.ended_ns == end.began_ns));
            total.merge_in_time(&clients.take_counts());
        }
        let procedures: u64 = total.done.total();
        let per_s = procedures as f64 / begun.elapsed().as_secs_f64();
        println!(
            "{count}, {entries} entries a client: {per_s:.0} procedures a second, {:.2} queries each",
            total.queries() as f64 / procedures as f64
        );
        if count == "names" {
            assert!(per_s > LEAST_PER_S);
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn a_million_entries_fit_into_300_mb() {
    let path = std::env::temp_dir().join(format!("dnsdyno-clients-speed-{}", std::process::id()));
    let lines: String = (0..3_000).map(|number| format!("n{number}.test A\n")).collect();
    std::fs::write(&path, lines).unwrap();
    let mut server = Server::default();
    for number in 0..3_000 {
        server.add(&format!("n{number}.test"), "A", 300, &["-"]);
    }
    for policy in ["ttl", "lfu"] {
        let before = resident_octets();
        let mut clients = new(&format!(
            r#"{{"kind": "stub", "queries": {path:?}, "clients": 1000,
                "cache": {{"entries": 1000, "policy": "{policy}"}},
                "arrivals": {{"attaches": 100000, "apn_zipf": 0}}}}"#
        ));
        for until_s in 1..=60 {
            drive(&mut clients, until_s * S, |_, question, message| server.respond_into(question, message));
            clients.ended().for_each(drop);
        }
        assert_eq!(clients.entries(), 1_000_000, "and evictions for some time");
        let octets = resident_octets() - before;
        println!("{policy}: {} MB, {} octets an entry", octets / 1_000_000, octets / 1_000_000);
        assert!(octets < ENTRY_OCTETS * 1_000_000, "{octets} octets");
        assert!(clients.counts().evicted > 1_000_000);
    }
    std::fs::remove_file(&path).unwrap();
}

fn resident_octets() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

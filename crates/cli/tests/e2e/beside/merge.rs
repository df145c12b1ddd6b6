//! Processes that make parts of one load, with their records joined: as the server counts them, and with nothing made
//! up for a part that is missing.

use std::fs;

use dnsdyno_record::{Digest, Interval};
use dnsdyno_responder::{Faults, Running};
use serde_json::Value;

use crate::support::{Ran, Workplace, responder};

/// Three processes that make a load together, each with its record in `pN`; they are started at once.
fn made(work: &Workplace, server: &Running, load: &str) {
    let words = |part: u32| {
        let server = server.address();
        format!("run -s {server} -d q.txt {load} --interval 500ms --part {part}/3 --quiet -o p{part}")
    };
    let started: Vec<_> = (1..=3).map(|part| work.start(&words(part))).collect();
    started.into_iter().for_each(|run| drop(run.wait().gives(0)));
}

/// Makes these records those of the agents of `run`.
fn become_agents(work: &Workplace) {
    let agents = work.path("run/agents");
    fs::create_dir(&agents).unwrap();
    for part in ["p1", "p2", "p3"] {
        fs::rename(work.path(part), agents.join(part)).unwrap();
    }
}

fn is_answered_by_all(work: &Workplace, name: &str) -> Digest {
    let digest = work.record(name);
    assert_eq!((digest.partial_intervals(), digest.header.agents.len()), (0, 3));
    assert_eq!(digest.tally().ends.answered, digest.tally().scheduled);
    digest
}

#[test]
fn three_processes_make_one_load_and_their_joined_record_has_what_the_server_counts() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    made(&work, &server, "--rate 3k --for 2s");
    let merged = work.dnsdyno("merge p3 p1 p2 --out joined").gives(0);
    let book = server.stop();
    let digest = is_answered_by_all(&work, "joined");
    let hosts: Vec<&str> = digest.header.agents.iter().map(|agent| agent.host.as_str()).collect();
    assert!(!hosts[0].is_empty() && hosts.iter().all(|host| *host == hosts[0]), "{hosts:?}");
    let names: Vec<&str> = digest.header.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["p1", "p2", "p3"], "in the order of their workers");
    assert_eq!(digest.tally().scheduled, 6_000);
    let parts: Vec<Digest> = ["p1", "p2", "p3"].map(|part| work.record(part)).into();
    let requests: u64 = parts.iter().map(|part| part.tally().requests).sum();
    assert_eq!((digest.tally().requests, digest.tally().rcodes.total()), (requests, 6_000));
    assert_eq!(book.udp.counts.received, requests);
    // The load is dealt: each interval has the queries of one process with three workers.
    let of_interval = |interval: &Interval| interval.tally.scheduled;
    let scheduled: Vec<u64> =
        work.intervals("joined").iter().map(of_interval).filter(|count| *count > 0).collect();
    assert_eq!(scheduled, [1_500; 4]);
    let mut all = parts[0].tally().response.clone();
    parts[1..].iter().for_each(|part| all.merge(&part.tally().response));
    assert_eq!(digest.tally().response, all, "bucket by bucket");
    for words in ["  p1 ", "33.33 %", "starts within ", "by the clocks of the hosts", "joined in joined\n"] {
        assert!(merged.stdout.contains(words), "{words}: {}", merged.stdout);
    }
    assert!(
        !digest.header.command_line.iter().any(|word| word == "--part"),
        "{:?}",
        digest.header.command_line
    );
    assert!(!work.read("joined/plan.toml").contains("part ="));
}

#[test]
fn a_part_that_is_missing_makes_each_interval_partial_and_no_rate() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    made(&work, &server, "--rate 3k --for 2s");
    let merged = work.dnsdyno("merge p1 p2 --out joined").gives(0);
    assert!(merged.stderr.contains("part 3/3 is missing: 1 worker of the load"), "{}", merged.stderr);
    // Four, and one in which the others only wait, where the host is busy.
    let partial = "intervals lack the part of an agent";
    for words in
        ["rate: none, because ", partial, "part 3/3 was lost: no record of it was given", " partial "]
    {
        assert!(merged.stdout.contains(words), "{words}: {}", merged.stdout);
    }
    let digest = work.record("joined");
    assert!(work.intervals("joined").iter().filter(|one| one.tally.scheduled > 0).all(Interval::is_partial));
    assert_eq!(digest.tally().scheduled, 4_000);
    let json: Value = serde_json::from_str(&work.dnsdyno("show --json joined").gives(0).stdout).unwrap();
    assert!(json["answered_qps"].is_null() && json["intervals"][0]["answered_qps"].is_null());
    assert_eq!(
        (&json["generator"]["ok"], &json["intervals"][0]["partial_intervals"]),
        (&false.into(), &1.into())
    );
    let csv = work.dnsdyno("show --csv joined").gives(0).stdout;
    let first: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((&first[5..8], first.last()), (&["", "", ""][..], Some(&"1")), "{csv}");
    // Neither says the run of the rate, nor of what the third has met.
    for expected in ["rate>=1", "p99<5s", "loss<50%"] {
        work.dnsdyno(&format!("show joined --expect {expected}")).gives(5);
        work.dnsdyno(&format!("show joined --expect-each {expected}")).gives(5);
    }
    work.dnsdyno("report joined -o page.html").gives(0);
    assert!(work.read("page.html").contains("partial: part 3/3 is missing"));
}

#[test]
fn records_that_are_not_the_parts_of_one_load_are_refused_with_what_differs() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let run = |name: &str, options: &str| {
        let words = format!("run -s {} -d q.txt --for 1s {options} --quiet -o {name}", server.address());
        work.dnsdyno(&words).gives(0);
    };
    run("one", "--rate 200 --part 1/2");
    run("same", "--rate 200 --part 1/2");
    run("other", "--rate 400 --timeout 2s --part 2/2");
    run("whole", "--rate 200");
    let refused = |words: &str, why: &[&str]| drop(work.dnsdyno(words).ends_refused(2, why));
    refused(
        "merge one other --out out",
        &["the load (constant 200", "400", "the timeout (5 s, 2 s)", "not parts of one load"],
    );
    refused("merge one same --out out", &["one (part 1/2) and same (part 1/2)", "give each part once"]);
    refused("merge one whole --out out", &["whole is a whole run", "--part"]);
    refused("merge one", &["--out"]);
    refused("merge nothing --out out", &["cannot open nothing"]);
    assert!(!work.has("out"));
    refused("merge one --out whole", &["whole exists"]);
}

#[test]
fn what_the_host_that_started_a_run_has_watched_is_not_lost() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    made(&work, &server, "--rate 1k --for 1s --watch host");
    work.dnsdyno("merge p1 p2 p3 --out run").gives(0);
    become_agents(&work);
    work.dnsdyno("merge run").gives(0);
    let text = work.read("run/run.ndjson");
    let (header, rest) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    let watched = header["dnsdyno"]["watched"].as_array_mut().unwrap();
    assert_eq!(watched.len(), 3);
    watched.push(watched[0].clone());
    let text = format!("{header}\n{rest}");
    work.write("run/run.ndjson", &text);
    work.dnsdyno("merge run").ends_refused(2, &["what was watched from this host", "--out"]);
    assert_eq!(work.read("run/run.ndjson"), text);
    work.dnsdyno("merge run --out apart").gives(0);
}

#[test]
fn a_run_on_several_hosts_is_joined_anew_from_the_records_of_its_agents_and_never_to_less() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    made(&work, &server, "--rate 1k --for 1s");
    work.dnsdyno("merge p1 p2 --out run").gives(0);
    become_agents(&work);
    // What a killed process has left beside them.
    fs::create_dir(work.path("run/.joining")).unwrap();
    let agents = work.path("run/agents");
    assert!(work.record("run").partial_intervals() >= 2);
    let id = work.record("run").header.run_id;
    work.dnsdyno("merge run").gives(0);
    let digest = is_answered_by_all(&work, "run");
    assert_eq!((&digest.header.run_id, digest.tally().scheduled), (&id, 1_000));
    assert!(!work.has("run/.joining"));

    fs::rename(agents.join("p2"), work.path("gone")).unwrap();
    let refused: Ran = work.dnsdyno("merge run").gives(2);
    assert!(refused.stderr.contains("have less than its record, which stays as it is"), "{}", refused.stderr);
    assert!(!work.has("run/.joining"));
    is_answered_by_all(&work, "run");
    let apart = work.dnsdyno("merge run --out apart").gives(0);
    assert!(apart.stdout.contains("p2 was lost: its record is not in run/agents"), "{}", apart.stdout);
    // One more where the last answers came after the load.
    assert!(matches!(work.record("apart").partial_intervals(), 2 | 3));
}

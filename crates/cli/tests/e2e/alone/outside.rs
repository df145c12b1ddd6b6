//! Comparisons with the past and with results of other programs; the jobs of `docs/ci.md`, run as they stand there.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use dnsdyno_responder::{Config, Delay, Faults, Responder, Running};
use serde_json::Value;

use crate::support::{Ran, Workplace, has_program};

/// A responder at this address that holds each response for so long.
fn delayed(listen: SocketAddr, ms: u64) -> Running {
    let faults = Faults { delay: Some(Delay::Fixed(Duration::from_millis(ms))), ..Faults::default() };
    Responder::start(Config { listen, faults, ..Config::default() }).unwrap_or_else(|error| panic!("{error}"))
}

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// The blocks of code of the document, each as its lines.
fn blocks() -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci.md");
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.map(|block| block.lines().map(str::to_owned).collect()).collect()
}

/// The lines of a job of GitHub Actions: those of its last `run: |`.
fn script_for_github(block: &[String]) -> String {
    let begins = block.iter().rposition(|line| line.trim() == "- run: |").expect("a step of several lines");
    block[begins + 1..].join("\n")
}

/// Those of a job of GitLab: the entries of its script, without the first, which makes and starts the server.
fn script_for_gitlab(block: &[String]) -> String {
    let begins = block.iter().position(|line| line.trim() == "script:").expect("a script");
    let entries = block[begins + 1..].iter().map_while(|line| line.strip_prefix("    - "));
    entries.skip(1).collect::<Vec<_>>().join("\n")
}

/// Runs a job, with a lighter load and a bound that no busy host exceeds.
fn run_job(work: &Workplace, script: &str, server: SocketAddr, number: u32) -> Ran {
    let mut script = script.to_owned();
    for (there, here) in [
        ("127.0.0.1:5300", server.to_string().as_str()),
        ("--rate 2k --for 10s", "--rate 200 --for 1s"),
        ("p99 +5%", "p50 +100%"),
    ] {
        assert!(script.contains(there), "{there} is not in:\n{script}");
        script = script.replace(there, here);
    }
    work.shell(&format!(
        "set -e; dnsdyno() {{ \"$0\" \"$@\"; }}; HISTORY=history; GITHUB_RUN_ID={number}; CI_JOB_ID={number}; \
         GITHUB_STEP_SUMMARY=summary.md\n{script}"
    ))
}

#[test]
fn the_jobs_of_the_document_judge_once_the_past_is_long_enough() {
    let blocks = blocks();
    let with = |words: &str| blocks.iter().find(|block| block[1].contains(words)).expect(words);
    let (github, gitlab) =
        (script_for_github(with(".github/workflows")), script_for_gitlab(with(".gitlab-ci.yml")));
    let work = Workplace::with_queries();
    work.write("queries.txt", work.read("q.txt"));
    let server = delayed(anywhere(), 20);
    let address = server.address();

    let first = run_job(&work, &github, address, 1).gives(2);
    assert!(first.stderr.contains("has no earlier run of the kind of the new ones"), "{}", first.stderr);
    run_job(&work, &github, address, 2).gives(2);
    let short = work.read("summary.md");
    assert!(short.contains("- NOT JUDGED: p50 +100%") && short.contains("at least 8 are needed"), "{short}");
    run_job(&work, &github, address, 3).gives(2);
    run_job(&work, &github, address, 4).gives(0);
    let summary = work.read("summary.md");
    assert!(summary.contains("- kept: p50 +100%"), "{summary}");
    assert!(summary.contains("the baseline is the past: 9 runs of this session"), "{summary}");

    run_job(&work, &gitlab, address, 5).gives(0);
    assert!(!work.read("junit.xml").contains("<failure"));
    drop(server);
    let slower = delayed(address, 100);
    // One run of the past that a busy host has slowed makes it too short to judge: it does not pass then either.
    let code = run_job(&work, &gitlab, slower.address(), 6).code();
    let junit = work.read("junit.xml");
    let says = if code == Some(1) { "<failure message=\"EXCEEDED: p50 " } else { "NOT JUDGED: p50 " };
    assert!(matches!(code, Some(1 | 2)) && junit.contains(says), "{code:?}: {junit}");

    // Another plan and another server have no past there; what was left out is told.
    let run =
        format!("run -s {} --ask www.example --rate 100 --count 100 --quiet -o other", slower.address());
    work.dnsdyno(&run).gives(0);
    work.dnsdyno("compare other --against-history history")
        .ends_refused(2, &["has no earlier run", "18 of another kind (load 18)"]);
    let compare = "\"$0\" compare history/run-6-* --against-history history --json --page page.html";
    let json = work.shell(compare).gives(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["past"]["units"].as_u64(), json["outcome"].as_str()), (Some(15), Some("worse")));
    assert_eq!(json["baseline"].as_array().map(Vec::len), Some(15));
    assert!(work.read("page.html").contains("the baseline is the past: 15 runs of this session"));
}

#[test]
fn results_of_dnsperf_and_of_our_own_command_are_sides_of_a_comparison() {
    let work = Workplace::with_queries();
    let (fast, slow) = (delayed(anywhere(), 5), delayed(anywhere(), 60));
    let mut programs = vec![("ours", "\"$0\" dnsperf")];
    programs.extend(has_program("dnsperf").then_some(("theirs", "dnsperf")));
    for (name, program) in programs {
        for (side, server) in [("old", &fast), ("new", &slow)] {
            let port = server.address().port();
            let one = format!(
                "{program} -s 127.0.0.1 -p {port} -d q.txt -Q 100 -l 1 > {name}-{side}-$i.txt || exit 9"
            );
            work.shell(&format!("for i in 1 2 3 4; do {one}; done")).gives(0);
        }
        let all = format!("compare {name}-new-*.txt --against {name}-old-*.txt");
        let bound = work.shell(&format!("\"$0\" {all} --fail-if 'avg +50%'")).gives(1).stdout;
        assert!(bound.contains("EXCEEDED: avg +50% (avg ") && bound.contains("\nSlower: avg "), "{bound}");
        let one = format!("compare {name}-new-1.txt --against {name}-old-1.txt");
        let one = work.shell(&format!("\"$0\" {one} --fail-if 'avg +50%'")).gives(2).stdout;
        let line = one.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.contains("too few runs to know how they spread: at least 4 on each side, 3 more"),
            "{one}"
        );
        let lacks = work.shell(&format!("\"$0\" {all} --fail-if 'p99 +5%'")).gives(2).stdout;
        let line = lacks.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(line.contains("NOT JUDGED: p99 +5% (p99 is left out: not in the format of "), "{lacks}");
        // The average of each file is the one that was printed.
        let json = work.shell(&format!("\"$0\" {all} --json")).gives(0).stdout;
        let json: Value = serde_json::from_str(&json).unwrap();
        let average =
            json["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "avg").unwrap();
        for (i, figure) in average["candidate"]["runs"].as_array().unwrap().iter().enumerate() {
            let text = work.read(&format!("{name}-new-{}.txt", i + 1));
            let line =
                text.lines().find_map(|line| line.trim().strip_prefix("Average Latency (s):")).unwrap();
            let seconds: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
            assert!((figure["value"].as_f64().unwrap() - seconds * 1e9).abs() < 1.0, "{line}");
            assert!(seconds >= 0.06, "{line}");
        }
    }
}

#[test]
fn a_result_with_a_histogram_stands_beside_a_run_and_what_cannot_be_is_refused() {
    let work = Workplace::with_queries();
    let server = delayed(anywhere(), 5);
    let (address, port) = (server.address(), server.address().port());
    work.shell(&format!(
        "\"$0\" dnsperf -s 127.0.0.1 -p {port} -d q.txt -Q 100 -l 2 -j -O latency-histogram > j.ndjson"
    ))
    .gives(0);
    work.dnsdyno(&format!("run -s {address} -d q.txt --rate 100 --for 2s --quiet -o run")).gives(0);
    let ran = work.dnsdyno("compare run --against j.ndjson --json").gives(0).stdout;
    let json: Value = serde_json::from_str(&ran).unwrap();
    let p50 = json["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "p50").unwrap();
    for side in ["baseline", "candidate"] {
        let ns = p50[side]["median"]["value"].as_f64().unwrap();
        assert!(ns >= 5e6, "{side}: {ns}");
    }
    // The service time of our run, whose headline is its response time.
    let recorded = work.record("run");
    let service =
        recorded.tally().service_latency().percentile(0.5).unwrap().written(recorded.header.timeout_ns);
    assert_eq!(p50["candidate"]["median"]["value"].as_f64(), Some(service.ns as f64));
    let notes = json["notes"].to_string();
    assert!(notes.contains("what differs between the programs") && notes.contains("service time"), "{notes}");

    work.write("hello.txt", "hello\n");
    let refusals: [(&str, &[&str]); 5] = [
        ("compare run --against hello.txt", &["hello.txt is no run of dnsdyno", "dnsperf", "k6", "Shotgun"]),
        (
            "compare run --against j.ndjson --page page.html",
            &["no intervals that a page could draw", "--page"],
        ),
        ("compare run --against j.ndjson --drop-first", &["leave out --drop-first"]),
        ("compare j.ndjson --against-history .", &["only runs of dnsdyno have a past", "--against"]),
        ("compare run --against-history none", &["none is not a run, and has no runs in it"]),
    ];
    for (words, told) in refusals {
        work.dnsdyno(words).ends_refused(2, told);
    }
    work.dnsdyno("compare run").ends_refused(2, &["--against"]);
}

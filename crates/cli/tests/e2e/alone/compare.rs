//! Comparisons of real runs, whose difference is known: two responders with different delays.

use std::time::Duration;

use dnsdyno_responder::{Delay, Faults, Running};
use serde_json::Value;

use crate::support::{Workplace, responder};

/// A responder that holds each response for so long.
fn delayed(ms: u64) -> Running {
    responder(Faults { delay: Some(Delay::Fixed(Duration::from_millis(ms))), ..Faults::default() })
}

/// Makes runs in `folder`, named by their number.
fn measure(work: &Workplace, server: &Running, folder: &str, numbers: std::ops::Range<u32>, words: &str) {
    for number in numbers {
        let run = format!("run -s {} --ask www.example {words} --quiet", server.address());
        work.dnsdyno(&format!("{run} -o {folder}/{number}")).gives(0);
    }
}

const LOAD: &str = "--rate 500 --count 100";

#[test]
fn a_slower_server_is_told_in_each_form_and_fails_its_bound() {
    let work = Workplace::new();
    let (fast, slow) = (delayed(2), delayed(80));
    for number in 0..4 {
        measure(&work, &fast, "old", number..number + 1, LOAD);
        measure(&work, &slow, "new", number..number + 1, LOAD);
    }
    let ran = work.dnsdyno("compare new --against old").gives(0);
    // A hundred queries carry no p99.
    assert!(ran.stdout.contains("\nSlower: p50 "), "{}", ran.stdout);
    assert!(
        !ran.stdout.contains("NOT ASKED ALIKE") && !ran.stdout.contains("were made before"),
        "{}",
        ran.stdout
    );
    let reverse = work.dnsdyno("compare old --against new").gives(0).stdout;
    assert!(reverse.contains("\nFaster: p50 "), "{reverse}");

    let exceeded = work.shell("\"$0\" compare new --against old --fail-if 'p50 +50%'").gives(1).stdout;
    assert!(exceeded.contains("EXCEEDED: p50 +50% (p50 "), "{exceeded}");
    let kept = work.shell("\"$0\" compare old --against new --fail-if 'p50 +50%'").gives(0).stdout;
    assert!(kept.contains("kept: p50 +50% (p50 "), "{kept}");

    let json = work.dnsdyno("compare new --against old --json").gives(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["outcome"].as_str(), json["judged_first"].as_str()), (Some("worse"), Some("p50")));
    let p50 = json["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "p50").unwrap();
    for (side, delay_ms, runs) in [("baseline", 2.0, "old"), ("candidate", 80.0, "new")] {
        for (number, figure) in p50[side]["runs"].as_array().unwrap().iter().enumerate() {
            let recorded = work.record(&format!("{runs}/{number}"));
            let percentile = recorded.header.latency_of(recorded.tally()).percentile(0.5).unwrap();
            let ns = percentile.written(recorded.header.timeout_ns).ns;
            assert_eq!(figure["value"].as_f64(), Some(ns as f64));
            assert!(ns as f64 >= delay_ms * 1e6, "{ns}");
        }
    }

    let markdown = work.dnsdyno("compare new --against old --markdown --page page.html").gives(0).stdout;
    assert!(markdown.starts_with("❌ **Slower: p50 "), "{markdown}");
    let page = work.read("page.html");
    assert!(page.contains("\"kind\":\"comparison\"") && page.contains("Slower: p50 "));
    // The runs have the names that they have in the text.
    assert!(page.contains("\"label\":\"old/0\"") && page.contains("\"label\":\"new/3\""));
    work.write("other.html", "not a page of ours");
    work.dnsdyno("compare new --against old --page other.html")
        .ends_refused(2, &["is not a page of dnsdyno", "--page"]);
}

#[test]
fn one_run_against_one_shows_nothing_and_passes_no_bound() {
    let work = Workplace::new();
    let server = delayed(1);
    measure(&work, &server, "a", 0..1, LOAD);
    measure(&work, &server, "b", 0..1, LOAD);
    let ran = work.dnsdyno("compare b/0 --against a/0").gives(0).stdout;
    assert!(ran.contains("Too few runs to tell a difference from noise: 1 against 1."), "{ran}");
    let bound = work.shell("\"$0\" compare b --against a --fail-if 'p50 +5%'").gives(2).stdout;
    assert!(bound.contains("NOT JUDGED: p50 +5%"), "{bound}");
    work.dnsdyno("compare a --against a/0").ends_refused(2, &["are the same run"]);
    work.dnsdyno("compare a --against b --drop-first").ends_refused(2, &["has no runs left"]);
    work.dnsdyno("compare a --against b --by p99.9").ends_refused(2, &["p99.9 was not measured in"]);
    work.dnsdyno("compare none --against a").ends_refused(2, &["cannot compare none"]);
}

#[test]
fn runs_that_were_not_asked_alike_are_refused_with_what_differs() {
    let work = Workplace::new();
    let server = delayed(1);
    measure(&work, &server, "a", 0..2, LOAD);
    measure(&work, &server, "b", 0..1, LOAD);
    measure(&work, &server, "b", 1..2, "--rate 400 --count 100 --edns-size 1232 --timeout 2s");
    let differences = ["load: ", "queries: hash ", "timeout: 5 s (", "edns-size: ", "--even-if-unlike"];
    work.dnsdyno("compare b --against a").ends_refused(2, &differences);
    let ran = work.dnsdyno("compare b --against a --even-if-unlike").gives(0).stdout;
    let in_one_line = ran.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "NOT ASKED ALIKE",
        "steps: 500 to the end (a/0, a/1, b/0); 400 to the end (b/1)",
        "edns-size: not given (a/0, a/1, b/0); 1232 (b/1)",
        // Made one side after the other.
        "make them in turn",
    ] {
        assert!(in_one_line.contains(words), "{words}: {ran}");
    }
}

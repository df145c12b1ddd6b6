//! Searches with several goals: each has a limit that is true, and what is no goal is refused.

use dnsdyno_responder::Faults;
use serde_json::Value;

use crate::support::{Workplace, responder};

/// A server that answers 2,000 queries a second, and holds a tenth of a second of them.
fn of_2000() -> Faults {
    Faults { limit: Some("2k".parse().unwrap()), ..Faults::default() }
}

/// Short trials and little precision, so that the test is short: that what is told is true is the point.
const SHORT: &str =
    "--trial 1s --rest 0 --from 1k --least 1k --most 20k --timeout 1s --precision 10% --trials 24";

#[test]
fn each_goal_has_a_limit_or_a_bound_that_is_true_and_each_trial_a_verdict_for_each() {
    let work = Workplace::with_queries();
    let server = responder(of_2000());
    let ran = work.dnsdyno(&format!(
        "find -s {} -d q.txt {SHORT} --goal loose:loss<5%,p99<150ms --goal held:loss<1%,p99<150ms,3s -o f",
        server.address()
    ));
    let found: Value = serde_json::from_str(&work.read("f/find.json")).unwrap();
    assert_eq!((&found["format"], found["goals"].as_array().unwrap().len()), (&2.into(), 2), "{found}");
    let mut are_found = true;
    // A server that answers 2,000 meets a loss of 5 % at 2,105; its queue adds what it holds in a short trial.
    for (goal, name) in found["goals"].as_array().unwrap().iter().zip(["loose", "held"]) {
        assert_eq!(goal["name"], name, "{goal}");
        let outcome = &goal["outcome"];
        match outcome["kind"].as_str().unwrap() {
            "capacity" => assert!(outcome["from"].as_f64().unwrap() < 2_400.0, "{goal}"),
            "at_least" => {
                assert!(outcome["load"].as_f64().unwrap() < 2_400.0, "{goal}");
                are_found = false;
            }
            _ => are_found = false,
        }
    }
    assert_eq!(ran.code(), Some(if are_found { 0 } else { 1 }), "{ran:?}");
    for trial in found["trials"].as_array().unwrap() {
        let load = trial["load"].as_f64().unwrap();
        let goals = trial["goals"].as_array().unwrap();
        assert_eq!(goals.len(), 2, "{trial}");
        let is_long = trial["planned_ns"].as_u64().unwrap() >= 2_990_000_000;
        assert!(is_long || goals[1]["long_enough"] == false, "{trial}");
        // No trial well above the limit has passed for any.
        assert!(load < 2_600.0 || goals.iter().all(|of| of["verdict"] != "passed"), "{trial}");
        // What meets the stricter goal meets the looser one.
        assert!(goals[1]["verdict"] != "passed" || goals[0]["verdict"] == "passed", "{trial}");
        assert!(work.has(&format!("f/runs/{:03}/run.ndjson", trial["number"].as_u64().unwrap())), "{trial}");
    }
    assert!(ran.stdout.contains("loose: ") && ran.stdout.contains("held: "), "{}", ran.stdout);
    work.dnsdyno("report f").gives(0);
    assert!(work.read("f/report.html").contains("held for 3 s"));
}

#[test]
fn a_search_with_goals_says_before_it_begins_what_it_searches_for() {
    let work = Workplace::with_queries();
    let words = "find -s 127.0.0.1 -d q.txt --goal fast:p99<5ms --goal held:loss<0.1%,60s --dry-run";
    let ran = work.dnsdyno(words).gives(0);
    for line in ["goal fast: p99<5ms\n", "goal held: loss<0.1%, held for 60 s\n"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(!work.has("runs"));
}

#[test]
fn what_is_no_goal_is_refused_with_what_to_do() {
    let work = Workplace::with_queries();
    let refused = |goals: &str, words: &str| {
        work.dnsdyno(&format!("find -s 127.0.0.1 -d q.txt {goals}")).ends_refused(2, &[words]);
    };
    refused("--goal a:loss=0 --goal a:p99<5ms", "there are two goals of this name");
    refused("--goal a:60s", "it has no criterion");
    refused("--goal a:speed<5ms", "there is no metric `speed`");
    refused("--goal a:p99<5ms,25h", "a duration is 1 s to 24 h");
    refused("--goal a:p99<5ms --while loss=0", "--goal and --while cannot be used together");
    refused("--goal a:p99<5ms,sum=3s", "`sum=3s` is for --method mlrsearch");
    refused("--goal a:p99<5ms --method ramp --most 5k", "--goal is for --method search and mlrsearch");
}

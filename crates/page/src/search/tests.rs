//! The page of a search, from invented results.

use dnsdyno_campaign::find::report::FINDING_FILE;
use serde_json::{Value, json};

use super::*;
use crate::is_search;

fn options() -> Options {
    Options { title: None, made_by: "dnsdyno test".into(), made_unix_ns: 0 }
}

fn trial(number: u32, load: f64, verdict: &str) -> Value {
    let why = |is: &str| match verdict == is {
        true => json!([{ "criterion": "p99<5ms", "measured": "<b>9 ms</b>" }]),
        false => json!([]),
    };
    let at = |ns: u64, beyond: bool| json!({ "ns": ns, "beyond_timeout": beyond });
    json!({
        "number": number, "purpose": "near the limit", "load": load, "lasted_ns": 10_000_000_000_u64,
        "queries": 1_000, "lost": if verdict == "passed" { 0 } else { 20 }, "lost_by_us_at_most": 0, "errors": 0,
        "answered_qps": load * 0.98, "p50": at(120_000, false),
        "p99": at(if verdict == "failed" { 5_000_000_000 } else { 4_100_000 }, verdict == "failed"),
        "bounds": { "p50": { "wide": false }, "p99": { "wide": verdict == "undecided" } },
        "mean_ns": 130_000, "verdict": verdict, "unmet": why("failed"), "undecided": why("undecided"),
        "warnings": if verdict == "undecided" { json!(["sends_late"]) } else { json!([]) },
    })
}

fn found() -> Value {
    json!({
        "format": 1, "answer": "capacity 4,000 qps, 95 %: 3,900..4,100, 5 trials, 50 s", "method": "search",
        "unit": "qps", "criteria": ["loss<0.1%", "p99<5ms"],
        "outcome": { "kind": "capacity", "load": 4_000.0, "from": 3_900.0, "to": 4_100.0, "interval": "confidence_95" },
        "notes": [{ "kind": "noise", "share": 0.03, "text": "noise: the limit differs by 3.0 % <script>" }],
        "trials": [
            trial(1, 1_000.0, "passed"), trial(2, 2_000.0, "passed"), trial(3, 8_000.0, "failed"),
            trial(4, 4_050.0, "undecided"), trial(5, 3_950.0, "passed"),
        ],
        "cut_off": 1,
        "belief": [
            { "load": 3_850.0, "below": 0.002 }, { "load": 4_000.0, "below": 0.5 }, { "load": 4_150.0, "below": 0.998 },
        ],
    })
}

/// The page of a search with this result.
fn page_of(found: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FINDING_FILE), found.to_string()).unwrap();
    let run = |run: &str| Some(format!("runs/{run}/"));
    let page = search(folder.path(), &SearchLinks { run: &run, home: None }, &options()).unwrap();
    String::from_utf8(page).unwrap()
}

#[test]
fn the_limit_is_told_with_its_interval_and_each_trial_leads_to_its_run() {
    let page = page_of(&found());
    assert!(page.contains(
        "<p class=\"sentence\">The limit is 4,000 qps: with a probability of 95 % it is between 3,900 and 4,100.</p>"
    ));
    assert!(page.contains("<dt>95 % interval</dt><dd>3,900 – 4,100</dd>"));
    assert!(page.contains("<dt>p99 at 3,950</dt><dd>4.10 ms</dd>"));
    assert!(page.contains("5 trials (3 passed, 1 failed, 1 undecided), 50 s of load"));
    for number in 1..=5 {
        assert!(page.contains(&format!("<a href=\"runs/00{number}/\">{number}</a>")), "{number}");
    }
    assert!(page.contains("p99&lt;5ms (&lt;b&gt;9 ms&lt;/b&gt;), sends_late</td>"));
    assert!(
        page.contains(">~4.10 ms</td>")
            && page.contains("may mostly be the generator&#39;s") | page.contains("generator's")
    );
    assert!(page.contains("1 run was cut off, and made again"));
}

#[test]
fn nothing_of_a_result_is_markup_and_no_place_is_not_a_number() {
    let page = page_of(&found());
    assert!(
        !page.contains("<script") && !page.contains("<b>9") && !page.contains("NaN") && !page.contains("inf")
    );
    assert!(
        page.contains("noise: the limit differs by 3.0 % &lt;script&gt;.")
            || page.contains("Noise: the limit")
    );
}

#[test]
fn there_is_a_chart_for_what_was_answered_for_p99_and_for_the_belief() {
    let page = page_of(&found());
    assert_eq!(page.matches("<figure>").count(), 3);
    // Each trial in the first two charts; near the limit, three in the third.
    assert_eq!(page.matches("<g class=\"point passed\"><title>").count(), 3 + 3 + 1);
    assert_eq!(page.matches("<g class=\"point undecided\"><title>").count(), 3);
    assert_eq!(page.matches("class=\"bound-line\"").count(), 2 + 1, "both criteria, and the legend");
    let mut without = found();
    without["belief"] = json!([]);
    without["trials"][0]["p99"] = Value::Null;
    assert_eq!(page_of(&without).matches("<figure>").count(), 2);
}

#[test]
fn every_outcome_and_method_has_a_page() {
    let outcomes = [
        json!({ "kind": "at_least", "load": 4_000.0, "why": "generator" }),
        json!({ "kind": "not_met", "lowest": 100.0, "criteria": ["loss=0"] }),
        json!({ "kind": "unstable", "share": 0.3, "from": 100.0, "to": 200.0 }),
        json!({ "kind": "undecided", "load": 100.0 }),
        json!({ "kind": "capacity", "load": 4_000.0, "from": 4_000.0, "to": 5_000.0, "interval": "bracket" }),
        json!({ "kind": "capacity", "load": 4_000.0, "from": 3_000.0, "to": 5_000.0, "interval": "range" }),
        json!({ "kind": "capacity", "load": 4_000.0, "from": 3_000.0, "to": 5_000.0, "interval": "percentiles_1_99" }),
    ];
    for (outcome, method) in
        outcomes.into_iter().zip(["search", "stair", "ramp", "window", "stair", "ramp", "rfc2544"])
    {
        let mut found = found();
        (found["outcome"], found["method"]) = (outcome, method.into());
        found["belief"] = json!([]);
        let page = page_of(&found);
        assert!(page.contains("class=\"sentence\"") && !page.contains("NaN"), "{method}");
        // The steps of a stair and of a ramp are in one run.
        assert_eq!(page.contains("runs/002/"), !matches!(method, "stair" | "ramp"), "{method}");
    }
    let mut none = found();
    none["trials"] = json!([]);
    assert!(!page_of(&none).contains("<figure>"));
    let mut one = found();
    one["trials"] = json!([trial(1, 0.0, "passed")]);
    assert!(!page_of(&one).contains("NaN"));
}

#[test]
fn a_search_with_goals_has_a_row_for_each_and_their_limits_in_the_charts() {
    let mut several = found();
    several["format"] = 2.into();
    several["answer"] =
        "fast: capacity 4,000 qps, 95 %: 3,900..4,100; held: capacity at least 3,000 qps, 5 trials".into();
    let goal = |name: &str, outcome: Value| {
        json!({
            "name": name, "criteria": ["p99<5ms"], "held_ns": 60_000_000_000_u64, "answer": "", "outcome": outcome,
            "reason": "not_met", "notes": [{ "kind": "noise", "text": "noise: <i>" }], "trials": [1, 2], "load_ns": 9,
        })
    };
    several["goals"] = json!([
        goal("fast", found()["outcome"].clone()),
        goal("<b>held", json!({ "kind": "at_least", "load": 3_000.0, "why": "trials" })),
    ]);
    several["trials"][0]["goals"] = json!([{ "goal": "fast", "verdict": "failed", "long_enough": false }]);
    let page = page_of(&several);
    assert!(
        page.contains("<p class=\"sentence\">Fast: capacity 4,000 qps, 95 %: 3,900..4,100; held: "),
        "{page}"
    );
    assert!(
        page.contains("3,900 – 4,100") && page.contains("≥ 3,000") && page.contains("fast failed, but short")
    );
    assert!(page.contains("&lt;b&gt;held") && !page.contains("<b>held") && !page.contains("<i>"));
    // A band and a line for the one, a line for the other, in each of the charts; and the legend.
    assert_eq!(page.matches("class=\"limit-band\"").count(), 3 + 1);
    assert_eq!(page.matches("class=\"limit-line\"").count(), 2 * 3 + 1);
}

#[test]
fn what_no_search_has_written_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FINDING_FILE);
    let error = || {
        let links = SearchLinks { run: &|_| None, home: None };
        search(folder.path(), &links, &options()).unwrap_err().to_string()
    };
    assert!(!is_search(folder.path()));
    assert!(error().contains("cannot read"));
    let mut newer = found();
    newer["format"] = 3.into();
    let mut endless = found();
    endless["trials"][0]["load"] = json!(1e300);
    for (text, words) in [
        ("{}".to_owned(), "is not the result of a search"),
        ("[".repeat(100_000), "is not the result of a search"),
        (newer.to_string(), "format 3"),
        (endless.to_string(), "a load that there cannot be"),
    ] {
        std::fs::write(&file, text).unwrap();
        assert!(is_search(folder.path()) && error().contains(words), "{}", error());
    }
}

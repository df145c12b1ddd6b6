//! A night of tuning whose answer is known.

use std::fs;
use std::time::Duration;

use dnsdyno_lab::{Need, require};
use serde_json::Value;

use crate::beside::tune::NIGHT;
use crate::support::Workplace;

#[test]
fn a_planted_bottleneck_is_found_and_decoys_are_not() {
    if !require(&[Need::Root, Need::Server("nsd")]) {
        return;
    }
    let work = Workplace::with_queries();
    work.write("night.toml", NIGHT);
    let ended = work.start("tune night.toml -o night").wait_within(Duration::from_secs(240)).gives(0);
    let found: Value = serde_json::from_str(&work.read("night/tune.json")).unwrap();
    let changes = found["verdict"]["changes"].as_array().unwrap();
    let names: Vec<&str> = changes.iter().map(|change| change["parameter"].as_str().unwrap()).collect();
    assert_eq!(names, ["CPUQuota"], "{}", ended.stdout);
    let rows = found["parameters"].as_array().unwrap();
    let state = |id: &str| rows.iter().find(|row| row["parameter"] == id).unwrap()["state"].as_str().unwrap();
    // No TCP: the counters of its parameters stand still.
    assert_eq!(state("nsd tcp-count"), "no_effect_possible");
    assert_eq!(state("net.core.somaxconn"), "no_effect_possible");
    assert!(found["verdict"]["together"]["from"].as_f64().unwrap() > 0.0, "{}", ended.stdout);
    on_the_page(&work, &found, &ended.stdout);
    let installed = work.read("night/install/etc/systemd/system/nsd.service.d/dnsdyno.conf");
    assert!(installed.contains("CPUQuota="), "{installed}");
    // A night that has ended is not made again.
    let trials = fs::read_dir(work.path("night/runs")).unwrap().count();
    work.dnsdyno("tune night.toml -o night").gives(0);
    assert_eq!(fs::read_dir(work.path("night/runs")).unwrap().count(), trials);
}

/// The page has what the text and the JSON have.
fn on_the_page(work: &Workplace, found: &Value, text: &str) {
    let page = work.read("night/index.html");
    let rows: Vec<&str> = page.split("<tr>").collect();
    let row_of = |name: &str, says: &str| {
        let is_it = |row: &&str| row.contains(name) && row.contains(says);
        assert!(rows.iter().any(is_it), "no row with {name} and {says}");
    };
    for parameter in found["parameters"].as_array().unwrap() {
        let says = match parameter["state"].as_str().unwrap() {
            "gain" => "gain",
            "no_effect_possible" => "no effect possible here",
            "no_gain" | "dropped" => "no gain",
            "worse" => "worse",
            "not_tried" => "not tried",
            other => panic!("{other}"),
        };
        row_of(parameter["parameter"].as_str().unwrap(), says);
    }
    let gain = &found["verdict"]["together"];
    let percent = |of: &str| format!("{:+.0}", gain[of].as_f64().unwrap() * 100.0);
    let together = format!("{}..{} %", percent("from"), percent("to"));
    assert!(text.contains(&together), "{together}: {text}");
    assert!(page.contains(&together), "{together} is not on the page");
    row_of("CPUQuota", &format!("{} %", percent("estimate")));
}

/// A load that is a search: what counts is the limit that each trial has found.
#[test]
fn the_figure_of_a_trial_that_is_a_search_is_its_limit() {
    if !require(&[Need::Root, Need::Server("nsd")]) {
        return;
    }
    let work = Workplace::with_queries();
    let search = "find = { method = \"search\", trial = \"200ms\", from = \"4k\", precision = \"20%\", while = \
                  [\"loss<1%\"] }";
    let night =
        NIGHT.replace("rate = \"20k\"\nfor = \"600ms\"", search).replace("for = \"5m\"", "for = \"45s\"");
    work.write("night.toml", night);
    let words = "tune night.toml --parameter CPUQuota -o night";
    let ended = work.start(words).wait_within(Duration::from_secs(240));
    assert!(matches!(ended.code(), Some(0 | 1)), "{ended:?}");
    let mut searches = 0;
    for trial in fs::read_dir(work.path("night/runs")).unwrap() {
        let read = |name: &str| -> Option<Value> {
            let text = fs::read_to_string(trial.as_ref().unwrap().path().join(name)).ok()?;
            Some(serde_json::from_str(&text).unwrap())
        };
        let (Some(trial), Some(found)) = (read("trial.json"), read("find.json")) else { continue };
        assert_eq!(trial["shown"]["counted"]["gain"], found["outcome"]["load"], "{trial} {found}");
        searches += 1;
    }
    assert!(searches > 0, "{ended:?}");
}

//! Histories of folders with made records: rows, the index, gates, accepted steps.

use std::fs;
use std::path::Path;

use dnsdyno_record::RUN_FILE;
use serde_json::json;

use super::*;

/// The result of a search with this limit.
fn search(folder: &Path, limit: f64) {
    fs::create_dir_all(folder).unwrap();
    let found = json!({
        "format": 1, "answer": "", "method": "search", "unit": "qps", "criteria": ["loss<0.1%"],
        "outcome": { "kind": "capacity", "load": limit, "from": limit * 0.98, "to": limit * 1.02 },
        "notes": [], "trials": [], "cut_off": 0, "belief": [],
    });
    fs::write(folder.join("find.json"), found.to_string()).unwrap();
}

/// The results of an experiment with two servers.
fn experiment(folder: &Path, qps: f64) {
    fs::create_dir_all(folder).unwrap();
    let spread =
        |median: f64| json!({ "lowest": median, "median": median, "highest": median, "mean": median });
    let cell = |server: &str, factor: f64| {
        json!({
            "server": server, "load": "udp", "state": "complete", "runs": [1], "found": [],
            "answered_qps": spread(qps * factor), "answered_share": spread(0.999),
            "server_cpu_ns_per_answer": null, "p50": null, "p95": null, "p99": null,
        })
    };
    let results = json!({
        "title": "two", "servers": [{ "name": "knot", "version": "3.4" }, { "name": "nsd", "version": null }],
        "cells": [cell("knot", 1.0), cell("nsd", 2.0)],
    });
    fs::write(folder.join("results.json"), results.to_string()).unwrap();
}

fn read(folder: &Path) -> History {
    History::read(folder, &HistoryOptions { may_write: true, ..HistoryOptions::default() }).unwrap()
}

#[test]
fn runs_searches_and_experiments_are_found_below_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    search(&folder.path().join("a/one"), 1_000.0);
    experiment(&folder.path().join("b"), 5_000.0);
    let broken = folder.path().join("c");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join(RUN_FILE), "no record\n").unwrap();
    // The trials of a search that is not ended are of no kind of their own.
    let open = folder.path().join("d");
    fs::create_dir_all(open.join("runs/001")).unwrap();
    fs::write(open.join("journal.ndjson"), "").unwrap();
    fs::write(open.join("runs/001").join(RUN_FILE), "").unwrap();
    let history = read(folder.path());
    let what: Vec<What> = history.rows.iter().map(|(row, _)| row.what).collect();
    assert_eq!((what.len(), history.entries(), history.unreadable.len()), (3, 3, 1));
    assert_eq!(history.unreadable[0].0, "c");
    let knot =
        history.rows.iter().find(|(row, _)| row.asked.get("server").is_some_and(|name| name == "knot"));
    let (row, _) = knot.unwrap();
    assert_eq!(row.runs[0].entry.labels["version"], "3.4");
    assert_eq!(row.runs[0].entry.figures["rate"].value, 5_000.0);
}

#[test]
fn the_index_saves_reading_and_is_not_believed_where_a_file_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    (0..4).for_each(|at| search(&folder.path().join(format!("{at}")), 1_000.0));
    assert_eq!((read(folder.path()).read, read(folder.path()).read), (4, 0));
    // Another size, then the same size at another time.
    search(&folder.path().join("1"), 99_000.0);
    let limit = |history: &History| {
        let runs = history.rows.iter().flat_map(|(row, _)| &row.runs);
        runs.filter(|run| run.folder == "1").map(|run| run.entry.figures["limit"].value).next().unwrap()
    };
    let again = read(folder.path());
    assert_eq!((again.read, limit(&again)), (1, 99_000.0));
    search(&folder.path().join("1"), 98_000.0);
    let file = fs::File::options().write(true).open(folder.path().join("1/find.json")).unwrap();
    let later = file.metadata().unwrap().modified().unwrap() + std::time::Duration::from_secs(5);
    file.set_modified(later).unwrap();
    let again = read(folder.path());
    assert_eq!((again.read, limit(&again)), (1, 98_000.0));
    // One that is gone is not told any more.
    fs::remove_dir_all(folder.path().join("2")).unwrap();
    let again = read(folder.path());
    assert_eq!((again.read, again.entries()), (0, 3));
    assert!(!fs::read_to_string(folder.path().join(INDEX_FILE)).unwrap().contains("\"folder\":\"2\""));
}

#[test]
fn a_damaged_index_and_one_of_another_version_are_read_past() {
    let folder = tempfile::tempdir().unwrap();
    (0..3).for_each(|at| search(&folder.path().join(format!("{at}")), 1_000.0));
    let whole = read(folder.path());
    let index = folder.path().join(INDEX_FILE);
    let text = fs::read_to_string(&index).unwrap();
    let cut = &text[..text.len() - 10];
    for (damaged, read_again) in [(cut, 1), ("{\"format\":999}\n", 3), ("\0\0", 3), ("", 3)] {
        fs::write(&index, damaged).unwrap();
        let again = read(folder.path());
        assert_eq!((again.read, again.entries()), (read_again, 3), "{damaged:.20}");
        assert_eq!(again.rows, whole.rows);
    }
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files.len(), 4, "nothing is left beside the index: {files:?}");
}

#[test]
fn without_the_right_to_write_a_history_is_read_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    search(&folder.path().join("0"), 1_000.0);
    let options = HistoryOptions::default();
    assert_eq!(History::read(folder.path(), &options).unwrap().read, 1);
    assert!(!folder.path().join(INDEX_FILE).exists());
    // A folder in its place: the index cannot be written, and that is told.
    fs::create_dir(folder.path().join(INDEX_FILE)).unwrap();
    let history = read(folder.path());
    assert!(history.no_index.is_some() && history.entries() == 1);
    assert!(History::read(&folder.path().join("nothing"), &options).is_err());
}

#[test]
fn who_may_not_write_an_index_reads_each_record_once() {
    let folder = tempfile::tempdir().unwrap();
    (0..3).for_each(|at| search(&folder.path().join(format!("{at}")), 1_000.0));
    let mut memory = Memory::default();
    let mut read =
        || History::read_again(folder.path(), &HistoryOptions::default(), &mut memory).unwrap().read;
    assert_eq!((read(), read()), (3, 0));
    search(&folder.path().join("1"), 99_000.0);
    assert_eq!((read(), read()), (1, 0));
}

#[test]
fn a_file_that_is_a_link_is_not_followed() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("runs");
    search(&around.path().join("elsewhere"), 1_000.0);
    search(&folder.join("0"), 1_000.0);
    fs::create_dir_all(folder.join("1")).unwrap();
    let link =
        |from: &str, to: &str| std::os::unix::fs::symlink(around.path().join(from), folder.join(to)).unwrap();
    link("elsewhere/find.json", "1/find.json");
    link("elsewhere", "2");
    let history = read(&folder);
    assert_eq!((history.entries(), history.unreadable.len()), (1, 1));
    assert!(history.unreadable[0].1.contains("symbolic link"));
}

#[test]
fn an_accepted_run_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    search(&folder.path().join("0"), 1_000.0);
    let one = Accepted { run: "gone".into(), reason: "new host".into(), unix_ns: 1 };
    accept(folder.path(), &one).unwrap();
    assert_eq!(read(folder.path()).unknown_accepted, [one]);
}

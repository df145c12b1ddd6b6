//! The page of a history: its points, links and signs.

use std::fs;

use dnsdyno_campaign::history::{Accepted, HistoryOptions, accept};
use serde_json::json;

use super::*;

/// A folder of searches whose limit is another one from a run on.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let noise = [0.004, -0.009, 0.011, 0.002, -0.003, -0.012, 0.007];
    for run in 0..40 {
        let limit = 50_000.0 * (1.0 + noise[run * 5 % 7]) * if run < 25 { 1.0 } else { 0.9 };
        let at = folder.path().join(format!("{run:03}<b>"));
        fs::create_dir(&at).unwrap();
        let found = json!({
            "format": 1, "answer": "", "method": "search", "unit": "qps", "criteria": ["loss<0.1%"],
            "outcome": { "kind": "capacity", "load": limit, "from": limit * 0.98, "to": limit * 1.02 },
            "notes": [], "trials": [], "cut_off": 0, "belief": [],
        });
        fs::write(at.join("find.json"), found.to_string()).unwrap();
        // A run of its own, so that it is known when it was made.
        let first = at.join("runs/001");
        fs::create_dir_all(&first).unwrap();
        record(&first, run as u64);
    }
    folder
}

/// A record with its header and nothing else.
fn record(folder: &std::path::Path, run: u64) {
    use dnsdyno_record::{Header, HostInfo, RunWriter};
    let header = Header {
        run_id: format!("run-{run}"),
        started_unix_ns: 1_760_000_000_000_000_000 + run * 86_400_000_000_000,
        version: "0.1.0".into(),
        note: Some("version=3.4".into()),
        target: "192.0.2.1".into(),
        load: "1,000 queries/s".into(),
        ..Header::default()
    };
    let writer = RunWriter::create(folder, &header, "", &HostInfo::default());
    drop(writer.unwrap());
}

fn made(folder: &std::path::Path) -> String {
    let found = History::read(folder, &HistoryOptions::default()).unwrap();
    let link = |run: &HistoryRun| Some(format!("/runs/{}/", run.folder.len()));
    let links = HistoryLinks { run: &link, home: Some("/") };
    let options = Options { title: None, made_by: "dnsdyno 0".into(), made_unix_ns: 0 };
    String::from_utf8(history("runs", &found, &links, &options)).unwrap()
}

#[test]
fn a_chart_has_its_step_and_a_link_for_each_run() {
    let folder = folder();
    let page = made(folder.path());
    assert!(page.contains("1 step worse in 1 row."), "{page}");
    assert_eq!(
        (
            page.matches("<a href=\"/runs/6/\" aria-label").count(),
            page.matches("<rect class=\"step worse\"").count()
        ),
        (40, 2)
    );
    assert!(page.contains("class=\"level-line\"") && page.contains("step -") && page.contains("2025-1"));
    assert!(!page.contains("<b>") && !page.contains("<script"), "no markup of others");
}

#[test]
fn an_accepted_step_is_marked_as_such() {
    let folder = folder();
    let one = Accepted { run: "025<b>".into(), reason: "a smaller host".into(), unix_ns: 1 };
    accept(folder.path(), &one).unwrap();
    let page = made(folder.path());
    assert!(
        page.contains("accepted: a smaller host") && page.contains("1 step accepted in 1 row."),
        "{page}"
    );
}

#[test]
fn a_folder_without_runs_has_a_page_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    assert!(made(folder.path()).contains("There is no run, search or experiment to follow."));
}

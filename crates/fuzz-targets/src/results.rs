//! Results of other programs, histories, and what a host says of a run.

use dnsdyno_campaign::history::report::{history_json, history_junit, history_markdown, history_text};
use dnsdyno_campaign::history::{ACCEPTED_FILE, History, HistoryOptions, INDEX_FILE};
use dnsdyno_record::HostInfo;
use dnsdyno_report::import::import;

use crate::folder::{in_folder, write};
use crate::plain::is_plain;

/// A file that dnsperf, k6 or Shotgun has printed.
pub fn imported_result(file: &[u8]) {
    in_folder("imported_result", |folder| {
        let path = folder.join("result");
        write(&path, file);
        match import(&path) {
            Ok(Some(found)) => {
                for figure in [found.sent_qps, found.answered_qps, found.average_ns].into_iter().flatten() {
                    assert!(figure.is_finite(), "{found:?}");
                }
            }
            Ok(None) => {}
            Err(error) => error.to_string().lines().for_each(is_plain),
        }
    });
}

/// A history: its index, its accepted steps, the results of an experiment in it, the host of a run, a run, or a search.
/// The first octet says which.
pub fn history_folder(bytes: &[u8]) {
    let Some((kind, file)) = bytes.split_first() else { return };
    in_folder("history_folder", |folder| {
        let run = folder.join("a");
        std::fs::create_dir_all(&run).expect("a folder of our own");
        let name = match (*kind, kind % 4) {
            (0xf0, _) => "a/run.ndjson",
            (0xf1, _) => "a/find.json",
            (_, 0) => INDEX_FILE,
            (_, 1) => ACCEPTED_FILE,
            (_, 2) => "a/results.json",
            _ => "a/host.json",
        };
        let path = folder.join(name);
        write(&path, file);
        // A campaign has the record of its first run.
        if name.ends_with("find.json") || name.ends_with("results.json") {
            let first = run.join("runs/001");
            std::fs::create_dir_all(&first).expect("a folder of our own");
            write(&first.join("run.ndjson"), RUN.as_bytes());
        }
        if name.ends_with("host.json") {
            write(&run.join("run.ndjson"), RUN.as_bytes());
            if let Ok(host) = serde_json::from_slice::<HostInfo>(file) {
                let again: HostInfo =
                    serde_json::from_str(&host.to_json()).expect("a host can be read again");
                assert_eq!(again, host);
            }
        }
        let history = History::read(folder, &HistoryOptions::default()).expect("a folder that can be read");
        assert!(history.rows.len() + history.unreadable.len() <= 1 + file.len());
        history_text(&history, 80).lines().for_each(is_plain);
        let _ = (history_json(&history).to_string(), history_junit(&history), history_markdown(&history));
        std::fs::remove_file(&path).expect("it was written");
        let _ = std::fs::remove_file(run.join("run.ndjson"));
        let _ = std::fs::remove_dir_all(run.join("runs"));
    });
}

const RUN: &str = include_str!("../../../fuzz/corpus/run_file/seed-phases");

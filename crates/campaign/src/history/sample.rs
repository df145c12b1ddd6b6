//! Entries for the tests.

use std::collections::BTreeMap;

use super::entry::{Entry, EntryFigure, What};
use super::folder::HistoryRun;

/// The run of this number, with this rate.
pub(super) fn at(run: usize, rate: f64) -> HistoryRun {
    let entry = Entry {
        what: What::Run,
        started_unix_ns: 1_760_000_000_000_000_000 + run as u64 * 3_600_000_000_000,
        asked: [("load".to_owned(), "1,000 queries/s".to_owned())].into(),
        labels: BTreeMap::new(),
        figures: [("rate".to_owned(), EntryFigure::exact(rate))].into(),
        queries: 100_000,
        left_out: None,
        accepted: None,
    };
    HistoryRun { folder: format!("{run:03}"), entry }
}

/// Runs with a little noise, whose rate is another one from a run on.
pub(super) fn stepped(runs: usize, from: usize, factor: f64) -> Vec<HistoryRun> {
    let noise = [0.004, -0.009, 0.011, 0.002, -0.003, -0.012, 0.007];
    let rate = |run: usize| 50_000.0 * (1.0 + noise[run * 5 % 7]) * if run < from { 1.0 } else { factor };
    (0..runs).map(|run| at(run, rate(run))).collect()
}

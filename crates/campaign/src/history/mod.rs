//! A memory of runs: whether a server has become faster or slower over time, or from version to version.
//!
//! ```text
//!   FOLDER/…/run.ndjson    ─┐  folder, index      rows: same load, server, host
//!   FOLDER/…/find.json      ├─► Listed ─────────► Row ─► steps of each figure ─► Judged ─► its report, page
//!   FOLDER/…/results.json  ─┘                     ▲                               │
//!   FOLDER/history-accepted.ndjson ───────────────┴── steps that are intended     └─► Gate: kept, exceeded, not judged
//! ```

mod accept;
mod axis;
mod entry;
mod folder;
mod gate;
mod index;
mod judge;
mod metric;
mod read;
pub mod report;
mod rows;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

pub use accept::{ACCEPTED_FILE, AcceptError, Accepted, accept};
pub use axis::Axis;
pub use entry::{Entry, EntryFigure, What};
pub use folder::{HistoryRun, Memory};
pub use gate::{Gate, GateError, GateOutcome, GateState, Why};
pub use index::INDEX_FILE;
pub use judge::Judged;
pub use metric::{HISTORY_METRICS, HistoryMetric};
pub use rows::Row;

/// How a history is read and judged.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryOptions {
    /// The order of the runs.
    pub axis: Axis,
    /// Labels that a run must have: with a value, or with any.
    pub labels: Vec<(String, Option<String>)>,
    /// The bounds.
    pub gates: Vec<Gate>,
    /// Whether the index beside the records may be written.
    pub may_write: bool,
    /// Of the orders that are tried.
    pub seed: u64,
}

impl Default for HistoryOptions {
    /// All runs by their time, without gates, and without writing anything; with the seed of the command line.
    fn default() -> Self {
        HistoryOptions { axis: Axis::Time, labels: Vec::new(), gates: Vec::new(), may_write: false, seed: 1 }
    }
}

/// The history of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// What runs are ordered by.
    pub axis: Axis,
    /// The rows, that with the newest run first, each with its figures.
    pub rows: Vec<(Row, Vec<Judged>)>,
    /// What came of the gates.
    pub gates: Vec<GateOutcome>,
    /// Folders that cannot be read, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// Runs that are in progress.
    pub in_progress: usize,
    /// Entries without the labels that were asked for.
    pub not_meant: usize,
    /// Records that were read; the others were known from the index.
    pub read: usize,
    /// Accepted steps whose run is in no row.
    pub unknown_accepted: Vec<Accepted>,
    /// Why the index could not be written.
    pub no_index: Option<String>,
    /// Whether there is more below the folder than was looked at.
    pub is_cut: bool,
}

impl History {
    /// Reads and judges what is below a folder.
    ///
    /// # Errors
    /// The folder, or its accepted steps, cannot be read.
    pub fn read(folder: &Path, options: &HistoryOptions) -> io::Result<History> {
        History::read_again(folder, options, &mut Memory::default())
    }

    /// The same, where it is not the first time.
    ///
    /// # Errors
    /// As [`History::read`].
    pub fn read_again(folder: &Path, options: &HistoryOptions, memory: &mut Memory) -> io::Result<History> {
        let accepted = accept::accepted(folder)?;
        let listed = folder::list(folder, options.may_write, memory)?;
        let all = listed.runs.len();
        let is_known = |one: &&Accepted| listed.runs.iter().any(|run| run.folder == one.run);
        let unknown_accepted = accepted.iter().filter(|one| !is_known(one)).cloned().collect();
        let rows = rows::rows(listed.runs, &options.axis, &options.labels);
        let in_rows: usize = rows.iter().map(|row| row.runs.len()).sum();
        let judged = |row: Row| {
            let judged = judge::judge(&row, &accepted, options.seed);
            (row, judged)
        };
        let rows: Vec<(Row, Vec<Judged>)> = rows.into_iter().map(judged).collect();
        let gates = options.gates.iter().flat_map(|gate| gate::judge_gate(gate, &rows)).collect();
        Ok(History {
            axis: options.axis.clone(),
            rows,
            gates,
            unreadable: listed.unreadable,
            in_progress: listed.in_progress,
            not_meant: all - in_rows,
            read: listed.read,
            unknown_accepted,
            no_index: listed.no_index,
            is_cut: listed.is_cut,
        })
    }

    /// The entries in all rows.
    pub fn entries(&self) -> usize {
        self.rows.iter().map(|(row, _)| row.runs.len()).sum()
    }
}

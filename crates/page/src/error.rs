//! Why a page cannot be made, and the bound on its runs.

use std::io;

use dnsdyno_campaign::find::report::ReadFindingError;
use dnsdyno_record::ReadError;

/// Why a page cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The result of a search cannot be read.
    #[error(transparent)]
    Finding(#[from] ReadFindingError),
    /// The series cannot be packed.
    #[error("cannot pack the series of a run: {0}")]
    Pack(#[from] io::Error),
    /// A folder has no run in it.
    #[error("{path} is not a run, and has no runs in it; name the folder of a run, or of runs")]
    NoRuns {
        /// The folder, safe to print.
        path: String,
    },
    /// A search has a page of its own.
    #[error(
        "{path} is a search, which has a page of its own: name it alone; its trials are runs, in {path}/runs"
    )]
    SearchAmongRuns {
        /// The folder, safe to print.
        path: String,
    },
    /// Its runs are one folder below.
    #[error(
        "{path} is not a run: its runs are in {path}/runs; a search has a page of its own when it has ended"
    )]
    RunsBelow {
        /// The folder, safe to print.
        path: String,
    },
    /// So many runs are not for one page.
    #[error("{runs} runs are too many for one page, which has at most {MOST_RUNS}: name fewer")]
    TooMany {
        /// How many there are.
        runs: usize,
    },
    /// The page cannot be written as JSON.
    #[error("cannot write the data of the page: {0}")]
    Json(#[from] serde_json::Error),
}

/// More could not be told apart.
pub(crate) const MOST_RUNS: usize = 100;

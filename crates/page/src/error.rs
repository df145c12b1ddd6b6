//! Why a page cannot be made, and the bound on its runs.

use std::io;

use dnsdyno_record::ReadError;

/// Why a page cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The series cannot be packed.
    #[error("cannot pack the series of a run: {0}")]
    Pack(#[from] io::Error),
    /// A folder has no run in it.
    #[error("{path} is not a run, and has no runs in it; name the folder of a run, or of runs")]
    NoRuns {
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

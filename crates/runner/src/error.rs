//! Why a run could not be made.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use dnsdyno_plan::PlanError;
use dnsdyno_plan::source::SourceError;
use dnsdyno_record::WriteError;
use dnsdyno_transport::OpenError;

/// Why a run could not be made. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The draft makes no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The queries are not usable.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The transports cannot be opened.
    #[error(transparent)]
    Transport(#[from] OpenError),
    /// The limit of open files is too low.
    #[error(
        "--clients {clients} needs {needed} open files, and the limit is {soft} (at most {hard}): run `ulimit -n \
         {needed}` first{or_more_workers}, or use fewer clients"
    )]
    TooManyFiles {
        /// Clients of the run.
        clients: usize,
        /// Files that they need.
        needed: u64,
        /// The soft limit.
        soft: u64,
        /// The hard limit.
        hard: u64,
        /// What else helps, where anything does.
        or_more_workers: String,
    },
    /// The system did not say how many files may be open.
    #[error(transparent)]
    FilesLimit(io::Error),
    /// The system did not say which folder relative paths start from.
    #[error("cannot find the current folder")]
    WorkingDir(#[source] io::Error),
    /// The record cannot be begun.
    #[error(transparent)]
    Record(#[from] WriteError),
    /// The plan cannot be written into the record.
    #[error(transparent)]
    PlanFile(PlanError),
    /// The queries of standard input cannot be kept.
    #[error(
        "cannot save the queries from standard input to {path}: choose another folder with --out",
        path = path.display()
    )]
    KeepQueries {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The observer did not want the run to begin.
    #[error(transparent)]
    Observer(Box<dyn Error + Send + Sync>),
}

impl RunError {
    /// Whether the fault lies in what was asked for: it would be refused on any host.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, RunError::Plan(_) | RunError::Source(_) | RunError::Transport(OpenError::Unusable(_)))
    }
}

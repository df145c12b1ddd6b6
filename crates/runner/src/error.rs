//! Why a run failed before anything was sent.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use dnsdyno_engine::StopCause;
use dnsdyno_plan::PlanError;
use dnsdyno_queries::SourceError;
use dnsdyno_record::{Check, WriteError};
use dnsdyno_text::units::bytes;
use dnsdyno_transport::OpenError;

/// Why a run failed. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The draft is not a valid plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The queries are not valid.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The user stopped the run before its start.
    #[error("stopped before anything was sent")]
    StoppedBefore(StopCause),
    /// The system gives no thread.
    #[error(
        "cannot start a thread: {0}; give this process more memory or more processes (`ulimit -v`, `ulimit -u`)"
    )]
    Thread(#[source] io::Error),
    /// There is too little memory for any run.
    #[error(
        "this process can have {} of memory more, and a run takes at least 16 MiB: let it have more (`ulimit -v`, the \
         limit of its control group), or give fewer queries",
        bytes(*free_bytes as f64)
    )]
    LittleMemory {
        /// How much.
        free_bytes: u64,
    },
    /// The thread that reads the queries has failed.
    #[error("the queries were not read, by an error of dnsdyno itself")]
    ReaderFailed,
    /// The server did not answer as it should before the load.
    #[error(transparent)]
    Check(#[from] CheckFailed),
    /// The transports cannot be opened.
    #[error(transparent)]
    Transport(#[from] OpenError),
    /// What the plan watches cannot be watched.
    #[error(transparent)]
    Watch(#[from] dnsdyno_probe::OpenError),
    /// Nothing can be read of this host.
    #[error("this host cannot be looked at: {0}")]
    Facts(#[source] dnsdyno_probe::ReadError),
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
        /// The alternative to fewer clients, if any.
        or_more_workers: String,
    },
    /// The limit of open files cannot be read.
    #[error(transparent)]
    FilesLimit(io::Error),
    /// The current folder cannot be found.
    #[error("cannot find the current folder")]
    WorkingDir(#[source] io::Error),
    /// The record cannot be created.
    #[error(transparent)]
    Record(#[from] WriteError),
    /// The plan cannot be written into the record.
    #[error(transparent)]
    PlanFile(PlanError),
    /// The queries from standard input cannot be saved.
    #[error(
        "cannot save the queries from standard input to {path}: choose another folder with --out",
        path = path.display()
    )]
    KeepQueries {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The questions of the source are made when they are sent.
    #[error(
        "--check-answers needs questions that are known before the load, and those of this source are made when they \
         are sent (placeholders, a generator, --hit-rate): use a list of names, or remove it"
    )]
    MadeQuestions,
    /// The trace cannot be created.
    #[error("cannot write the trace to {path}: {source}; choose another file with --trace-file", path = path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The agents that were to make the run cannot.
    #[error("{why}")]
    Agents {
        /// Why, in words.
        why: String,
        /// Whether the run would fail with any agents.
        is_bad_input: bool,
    },
    /// The observer stopped the run before its start.
    #[error(transparent)]
    Observer(Box<dyn Error + Send + Sync>),
}

impl RunError {
    /// Whether the input is invalid: the run would fail on any host.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            RunError::Agents { is_bad_input: true, .. }
                | RunError::Plan(_)
                | RunError::Source(_)
                | RunError::MadeQuestions
                | RunError::Transport(OpenError::Unusable(_))
        )
    }
}

/// The problems of a check: the run is not made.
#[derive(Debug, thiserror::Error)]
#[error("{}; to start the load anyway: --no-check", .sentences.join("; "))]
pub struct CheckFailed {
    /// A sentence for each transport without a usable answer.
    pub sentences: Vec<String>,
    /// What was found, for each transport of the run.
    pub checks: Vec<Check>,
}

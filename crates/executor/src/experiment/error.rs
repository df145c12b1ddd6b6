//! Why an experiment is not made, or not finished.

use std::io;
use std::path::PathBuf;

use dnsdyno_lab::LabError;
use dnsdyno_page::PageError;
use dnsdyno_record::{ReadError, WriteError};
use dnsdyno_responder::relay::RelayError;
use dnsdyno_runner::RunError;

use crate::JournalError;
use crate::find::FindFailed;

/// Why an experiment is not made, or not finished. What was measured before is kept.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is wrong.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line where it is known.
        reason: String,
    },
    /// This host cannot start what the file asks for.
    #[error("this host cannot run the experiment, and nothing was started:\n  {}", reasons.join("\n  "))]
    CannotRun {
        /// Each server that cannot be started, why, and what to do.
        reasons: Vec<String>,
    },
    /// The journal or the folder cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A server did not start, and had not started before.
    #[error("{subject} cannot be measured: {source}")]
    Start {
        /// The server or variant.
        subject: String,
        /// Why.
        source: LabError,
    },
    /// A command that prepares a server has failed, or the one that tells that it is ready.
    #[error("{subject} cannot be measured: its command {how}; it printed:\n{printed}")]
    Prepare {
        /// The server or variant.
        subject: String,
        /// Which, and how it ended.
        how: String,
        /// The end of what it printed.
        printed: String,
    },
    /// The path to a server, or from it, cannot be made.
    #[error("{subject} cannot be measured: its path: {source}")]
    Path {
        /// The server or variant.
        subject: String,
        /// Why.
        source: RelayError,
    },
    /// Something of this host could not be had.
    #[error(transparent)]
    Host(#[from] LabError),
    /// A run could not be made.
    #[error("{why}: {source}")]
    Run {
        /// Which.
        why: String,
        /// Why.
        source: Box<RunError>,
    },
    /// A search could not be made.
    #[error("{why}: {source}")]
    Search {
        /// Which.
        why: String,
        /// Why.
        source: Box<FindFailed>,
    },
    /// What a search or a program has found cannot be read again.
    #[error("cannot read {}: {source}", path.display())]
    Found {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// A record is incomplete.
    #[error("{source}; free some disk space and type the same command: the experiment goes on with this run")]
    Disk {
        /// What could not be written.
        source: WriteError,
    },
    /// A file of the experiment cannot be written.
    #[error("cannot write {}: {source}; free some disk space and type the same command", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A record of this experiment cannot be read.
    #[error("a record of this experiment cannot be read: {0}")]
    Record(#[from] ReadError),
    /// Values of a host cannot be set or restored.
    #[error("{0}")]
    Settings(String),
    /// The page cannot be made.
    #[error(transparent)]
    Page(#[from] PageError),
}

impl ExperimentError {
    /// Whether the input is wrong, and nothing was sent.
    pub fn is_bad_input(&self) -> bool {
        match self {
            ExperimentError::ReadFile { .. }
            | ExperimentError::File { .. }
            | ExperimentError::CannotRun { .. } => true,
            ExperimentError::Journal(error) => error.is_bad_input(),
            ExperimentError::Run { source, .. } => source.is_bad_input(),
            _ => false,
        }
    }
}

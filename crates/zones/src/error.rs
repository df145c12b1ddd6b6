//! Why data cannot be made.

use std::io;
use std::path::PathBuf;

/// Why data cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// An option has a value that cannot be used; the text says which, and what to do.
    #[error("{0}")]
    Option(String),
    /// The folder has something in it.
    #[error("{} is not empty: name another folder, or remove this one", .0.display())]
    NotEmpty(PathBuf),
    /// The path cannot stand in the configuration of a server.
    #[error(
        "the path {0:?} cannot be written into the configuration of a server: name a folder without quotes, \
         backslashes and line breaks"
    )]
    OddPath(PathBuf),
    /// Something cannot be written.
    #[error(
        "cannot write {}: {source}; name a folder that you may write to and that has space",
        .path.display()
    )]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
}

impl DataError {
    /// Whether other options would help, and not another disk.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, DataError::Write { .. })
    }
}

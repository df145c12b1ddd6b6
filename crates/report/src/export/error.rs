//! Why a run cannot be exported.

use std::io;
use std::path::PathBuf;

use dnsdyno_record::ReadError;
use dnsdyno_record::expect::KeptError;
use dnsdyno_text::shown;

/// Why a run cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The expectations of the run cannot be read.
    #[error(transparent)]
    Expectations(#[from] KeptError),
    /// The programs that read the format need at least one interval.
    #[error(
        "{} has no interval: {format} needs one; export it when its first interval has settled",
        named(run)
    )]
    NoInterval {
        /// The run.
        run: PathBuf,
        /// The format.
        format: &'static str,
    },
    /// Two runs would be written into the same file.
    #[error("{} would be written for two of the runs: export them into different folders", named(file))]
    SameName {
        /// The file.
        file: PathBuf,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", named(file))]
    WriteFile {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl ExportError {
    /// Whether the record or the command is at fault, not the place that is written to.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, ExportError::Write(_) | ExportError::WriteFile { .. })
    }
}

fn named(path: &std::path::Path) -> String {
    shown(&path.to_string_lossy(), LONGEST_PATH).into_owned()
}

/// Characters of a path, which no system exceeds.
const LONGEST_PATH: usize = 4_096;

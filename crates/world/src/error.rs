//! Why a world cannot be made or served.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use dnsdyno_text::safe;
use dnsdyno_zones::DataError;

/// An error, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// An option cannot be used.
    #[error("{0}")]
    Option(String),
    /// A line of the list of names cannot be used.
    #[error("{}, line {line}: {}", path.display(), safe(why))]
    Line {
        /// The list.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong, and what to write instead.
        why: String,
    },
    /// The list cannot be read.
    #[error("cannot read the list of names {}: {source}", path.display())]
    Read {
        /// The list.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A capture cannot be read.
    #[error(transparent)]
    Capture(#[from] dnsdyno_capture::CaptureError),
    /// The zone files cannot be written.
    #[error(transparent)]
    Write(#[from] DataError),
    /// A socket cannot be opened.
    #[error("cannot serve at {address}: {source}{advice}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
        /// What to do.
        advice: &'static str,
    },
    /// The local socket of the counters cannot be made.
    #[error("cannot offer the counters at {}: {source}", path.display())]
    Counters {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Threads or descriptors are not to be had.
    #[error("cannot start serving: {0}")]
    Start(io::Error),
}

impl WorldError {
    /// Whether what was asked for is wrong, and not the host.
    pub fn is_bad_input(&self) -> bool {
        match self {
            WorldError::Option(_) | WorldError::Line { .. } | WorldError::Read { .. } => true,
            WorldError::Capture(_) => true,
            WorldError::Write(error) => error.is_bad_input(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_of_a_list_does_not_act_on_a_terminal() {
        let error =
            WorldError::Line { path: "list".into(), line: 2, why: "`A\u{1b}[2J` is not a type".to_owned() };
        assert_eq!(error.to_string(), "list, line 2: `A\\u{1b}[2J` is not a type");
    }
}

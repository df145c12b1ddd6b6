//! Replay of a capture: its queries one after the other, each with its instant, its client and, where answers are
//! compared, the response that was recorded. Nothing is loaded as a whole.
//!
//! ```text
//!   capture ──► QueryReader ──► Roster: which client ──► Timing: when ──► Streamed, into the chunk of a worker
//!                 │  └─ Answers: waits for the recorded response
//!                 └─ responses, other servers, malformed messages: counted
//! ```

mod answers;
mod clock;
mod compare;
mod reader;
mod scan;
mod servers;

pub use compare::{Compared, ComparedAnswer, compare};
pub use reader::{CapturedQuery, QueryReader};
pub use scan::{Scan, USUAL_TYPES};
pub use servers::CapturedServer;

use std::path::PathBuf;

pub use dnsdyno_capture::ORDERED_WITHIN_NS;
use dnsdyno_capture::{CaptureError, CaptureReader, ReadSettings};

/// What of a capture is replayed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayPlan {
    /// The file; `None` = standard input.
    pub file: Option<PathBuf>,
    /// How many times faster than it was captured.
    pub speed: f64,
    /// The servers whose queries are sent; all, if none is named.
    pub servers: Vec<CapturedServer>,
    /// Whether answers are compared with the recorded ones.
    pub check_answers: bool,
    /// Whether the number of clients was given: the capture is then not read before the run.
    pub has_clients: bool,
}

impl ReplayPlan {
    /// Starts to read the capture.
    ///
    /// # Errors
    /// It cannot be opened, or is not a capture.
    pub fn open(&self) -> Result<QueryReader, CaptureError> {
        let mut settings = ReadSettings::default();
        let ports = self.servers.iter().filter_map(|server| server.port);
        settings.ports.extend(ports.filter(|port| *port != DNS_PORT));
        let reader = match &self.file {
            Some(path) => CaptureReader::open_with(path, &settings)?,
            None => CaptureReader::from_reader_with(Box::new(std::io::stdin()), STDIN, &settings)?,
        };
        Ok(QueryReader::new(reader, self.servers.clone(), self.check_answers))
    }
}

const STDIN: &str = "standard input";
const DNS_PORT: u16 = 53;

#[cfg(test)]
mod tests;

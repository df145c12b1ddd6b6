//! The messages of a run to its caller.

use std::error::Error;

use dnsdyno_engine::Live;
use dnsdyno_plan::source::BadLine;
use dnsdyno_record::{Check, Event, Header, WriteError};

/// Receives the progress of a run. Each method is optional.
pub trait Observer {
    /// A message for the user.
    fn note(&mut self, _note: &Note<'_>) {}

    /// The run begins: its record exists, and the first query is due soon. The last one is due at `schedule_end_ns`,
    /// where the plan limits the time.
    ///
    /// # Errors
    /// An error ends the run before anything is sent.
    fn begins(
        &mut self,
        _header: &Header,
        _schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// A wall interval has ended.
    fn passed(&mut self, _live: &Live<'_>) {}
}

/// An observer that ignores everything.
impl Observer for () {}

/// A message for the user of a run.
#[derive(Debug)]
pub enum Note<'a> {
    /// A malformed line of the source was skipped.
    SkippedLine(&'a BadLine),
    /// Number of further lines skipped.
    SkippedMore(u64),
    /// AF_XDP is not available, for this reason: the run uses sockets, as its plan allows.
    SocketsInstead(String),
    /// What the server answered before the load, over each transport.
    Checked(&'a [Check]),
    /// An event, which the record contains too.
    Event(&'a Event),
    /// The user stopped the run: it sends nothing more and waits for outstanding queries.
    Stopping,
    /// The record cannot be written now. Sent once per run.
    RecordTrouble(&'a WriteError),
}

//! What a run says while it goes on, to whoever started it.

use std::error::Error;

use dnsdyno_engine::Live;
use dnsdyno_plan::source::BadLine;
use dnsdyno_record::{Event, Header, WriteError};

/// Hears how a run goes on. Each method may be left out.
pub trait Observer {
    /// Something that a person should know.
    fn note(&mut self, _note: &Note<'_>) {}

    /// The run begins: its record is there, and the first query is due soon. The last one is due at
    /// `schedule_end_ns`, where the plan says so by time.
    ///
    /// # Errors
    /// Ends the run before anything is sent.
    fn begins(
        &mut self,
        _header: &Header,
        _schedule_end_ns: Option<u64>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// A wall interval is over.
    fn passed(&mut self, _live: &Live<'_>) {}
}

/// An observer that wants to hear nothing.
impl Observer for () {}

/// Something that a person should know of a run.
#[derive(Debug)]
pub enum Note<'a> {
    /// A line of the source holds no query and was skipped.
    SkippedLine(&'a BadLine),
    /// So many more lines were skipped.
    SkippedMore(u64),
    /// AF_XDP cannot be had, for this reason: the run uses sockets, as its plan allows.
    SocketsInstead(String),
    /// Something happened; the record has it too.
    Event(&'a Event),
    /// Sending has stopped because the control was pressed; outstanding queries are waited for.
    Stopping,
    /// The record could not be written just now. Said once a run.
    RecordTrouble(&'a WriteError),
}

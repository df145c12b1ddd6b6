//! What each kind of server does for itself.

use dnsdyno_measure::Watched;

use crate::source::{ReadError, Reading};

/// The statistics of one server.
pub(super) trait Statistics: Send {
    /// Fills in what the server says about itself: software, version, parameters, and what cannot be read of it.
    ///
    /// # Errors
    /// The server does not answer, or not as expected.
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError>;

    /// Whether each reading disturbs the server, as `describe` has found.
    fn disturbs(&self) -> bool {
        false
    }

    /// The process that answers, where the connection to it tells, once it was asked.
    fn process(&self) -> Option<u32> {
        None
    }

    /// Reads all counters.
    ///
    /// # Errors
    /// As for `describe`.
    fn read(&mut self) -> Result<Reading, ReadError>;
}

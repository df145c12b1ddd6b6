//! What decides which run is next (a search, a comparison) sees of whatever makes the runs: a plan in, a
//! finished run with its record out.

use std::error::Error;
use std::path::PathBuf;

use dnsdyno_plan::Plan;

use crate::{Digest, WriteError};

/// Makes the run of a plan: on this host, on an imaginary link, or on many machines.
pub trait PlanRunner {
    /// Why a run could not be made.
    type Error: Error + Send + Sync + 'static;

    /// Makes the run that the plan describes, and returns when it is over.
    ///
    /// # Errors
    /// Where nothing could be sent. A run that broke off is none: its [`Digest::ended`] says so.
    fn run(&mut self, plan: &Plan) -> Result<FinishedRun, Self::Error>;
}

/// A run that is over, however it ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// The record, with its sum and the verdict in it; whole, whether the disk took it or not.
    pub digest: Digest,
    /// The folder of the record; `None` where it was kept in memory.
    pub folder: Option<PathBuf>,
    /// What of the record is missing on the disk; `None` = nothing.
    pub incomplete: Option<WriteError>,
}

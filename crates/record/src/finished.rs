//! The interface between code that chooses the next run (a search, a comparison) and code that makes runs: a plan in,
//! a finished run with its record out.

use std::error::Error;
use std::path::PathBuf;

use dnsdyno_plan::Plan;

use crate::expect::EachOutcome;
use crate::{Digest, WriteError};

/// Makes the run of a plan: on this host, on a simulated link, or on several hosts.
pub trait PlanRunner {
    /// Why a run failed.
    type Error: Error + Send + Sync + 'static;

    /// Makes the run that the plan describes, and returns when it has ended.
    ///
    /// # Errors
    /// Nothing could be sent. A run that ended early is not an error: see [`Digest::ended`].
    fn run(&mut self, plan: &Plan) -> Result<FinishedRun, Self::Error>;
}

/// A run that has ended, regularly or not.
#[derive(Debug)]
pub struct FinishedRun {
    /// The summary with sum and verdict; complete, even where the record on disk is not.
    pub digest: Digest,
    /// The outcomes of the plan's expectations on each step or interval.
    pub each: Vec<EachOutcome>,
    /// The folder of the record; `None` where it was only in memory.
    pub folder: Option<PathBuf>,
    /// What is missing from the record on disk; `None` where it is complete.
    pub incomplete: Option<WriteError>,
}

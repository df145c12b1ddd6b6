//! A run that has ended, as its caller gets it.

use std::path::PathBuf;

use dnsdyno_record::expect::EachOutcome;
use dnsdyno_record::{Digest, WriteError};

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

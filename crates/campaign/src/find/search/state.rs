//! What a search knows between two trials.

use crate::find::belief::Belief;
use crate::find::finding::Finding;
use crate::find::settings::Settings;
use crate::find::trend::Trend;
use crate::find::trial::{Purpose, Trial};

/// The search, between two trials.
#[derive(Clone, Debug)]
pub struct Search {
    pub(super) settings: Settings,
    pub(super) trials: Vec<Trial>,
    pub(super) cut: u32,
    /// From the first trial near the limit on.
    pub(super) belief: Option<Near>,
    /// What is done next.
    pub(super) next: Next,
    /// Trials that were made for another goal, near its limit.
    pub(super) foreign: usize,
    /// Where shorter trials, or those of a goal that must be met where this one is, have shown the limit to be.
    pub(super) steer: Option<(f64, f64)>,
    /// All trials of the search, those too that say nothing about this goal.
    pub(super) made: u32,
}

/// A trial that was made, for this goal or for another.
#[derive(Clone, Copy, Debug)]
pub(in crate::find) struct Made {
    pub(in crate::find) purpose: Purpose,
    pub(in crate::find) load: f64,
    pub(in crate::find) planned_ns: u64,
    pub(in crate::find) rest_ns: u64,
    /// Whether this goal has asked for it.
    pub(in crate::find) is_own: bool,
}

/// The belief, and what was found about the limit itself.
#[derive(Clone, Debug)]
pub(super) struct Near {
    pub(super) belief: Belief,
    /// The loads of the ends of its grid.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Trials that it has learned.
    pub(super) learned: usize,
    /// What the trials say about a limit that moves with time, and about one that is lower after an overload.
    pub(super) drift: Option<Trend>,
    pub(super) fall: Option<Trend>,
    /// The limit may be lower after an overload: only trials after one that passed count, and a trial at a low load
    /// follows each failure.
    pub(super) recovers: bool,
}

/// What is done next.
#[derive(Clone, Debug)]
pub(in crate::find) enum Next {
    Try(Purpose, f64),
    Done(Box<Finding>),
}

/// A load that is undecided so often is not tried again.
pub(super) const UNDECIDED_OF_A_LOAD: usize = 3;

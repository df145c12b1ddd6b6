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
    /// The limit falls after an overload: only trials after one that passed count, and a trial at a low load follows
    /// each failure.
    pub(super) recovers: Option<Trend>,
    /// The limit moves.
    pub(super) drifts: Option<Trend>,
    /// It may move, which is not shown: the interval allows for it.
    pub(super) may_drift: Option<(f64, f64)>,
    /// It may be lower after an overload, which is not shown: then it would be about this load otherwise.
    pub(super) suspected: Option<f64>,
}

/// What is done next.
#[derive(Clone, Debug)]
pub(super) enum Next {
    Try(Purpose, f64),
    Done(Box<Finding>),
}

/// A load that is in doubt so often is not tried again.
pub(super) const DOUBTS_OF_A_LOAD: usize = 3;

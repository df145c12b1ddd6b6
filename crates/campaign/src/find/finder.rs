//! What all methods have in common.

use super::finding::Finding;
use super::trial::Trial;
use crate::step::Campaign;

/// A campaign that finds a limit, by any method.
pub trait Finder: Campaign<Result = Finding> {
    /// What it has so far.
    fn made(&self) -> TrialsSoFar<'_>;
}

/// What a search has so far.
#[derive(Clone, Copy, Debug)]
pub struct TrialsSoFar<'a> {
    /// Its trials.
    pub trials: &'a [Trial],
    /// Between which loads the limit is, with a probability of 95 %; `None` where it cannot be said yet.
    pub bracket: Option<(f64, f64)>,
}

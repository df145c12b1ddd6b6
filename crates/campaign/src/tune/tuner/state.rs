//! What the tuner knows between two trials.

use crate::tune::answer::Answer;
use crate::tune::compare::{Arm, Compare};
use crate::tune::confirm::Confirm;
use crate::tune::look::Look;
use crate::tune::memory::Memory;
use crate::tune::night::{Changes, Night, Phase};
use crate::tune::screen::{Screen, Screened};

/// A night of tuning, as far as it has come. The same trials learned in the same order give the same state.
#[derive(Clone, Debug)]
pub struct Tuner {
    pub(super) night: Night,
    pub(super) stage: Stage,
    /// What is changed so far, and in which order it was found.
    pub(super) base: Changes,
    pub(super) found: Vec<(usize, usize)>,
    /// By number of the parameter.
    pub(super) seen: Vec<Seen>,
    pub(super) rounds: u32,
    pub(super) confirmations: u64,
    pub(super) trials: Vec<(Phase, u32)>,
    pub(super) elapsed_ns: u64,
    /// Trials in a row that did not count.
    pub(super) again: u32,
    pub(super) memory: Memory,
    pub(super) has_ended_early: bool,
    pub(super) has_looked: bool,
    /// Whether a trial of the base has counted, and why the last ones did not any more.
    pub(super) has_base: bool,
    pub(super) disturbed: Option<String>,
    /// Whether those are compared that a diagnosis or a counter names, and whether a diagnosis has been heard.
    pub(super) compares_named: bool,
    pub(super) has_compared_named: bool,
    /// The last screening, and what was compared on the same base.
    pub(super) screen: Option<Screen>,
    pub(super) compared: Vec<Arm>,
}

/// What is being tried.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    Look(Look),
    Screen(Screen),
    Compare(Compare),
    Confirm(Confirm),
    Done(Box<Answer>),
}

/// What is known of a parameter.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Whether a counter on which it acts has ever moved, or it has none.
    pub(super) is_possible: bool,
    pub(super) screened: Option<Screened>,
    /// The difference of its best value and its interval, in logarithms.
    pub(super) compared: Option<(f64, f64, f64)>,
    /// Whether it was worse than what is changed now, without it.
    pub(super) is_worse: bool,
    pub(super) failed: Option<String>,
    /// Why none of the trials counts in which it was compared last.
    pub(super) doubtful: Option<String>,
    /// Why the host does not take its values.
    pub(super) not_set: Option<String>,
    pub(super) is_dropped: bool,
    pub(super) trials: u32,
}

//! What a night of tuning tries, and what a trial of it is.

use std::collections::BTreeMap;

/// What is tuned, and how carefully.
#[derive(Clone, Debug, PartialEq)]
pub struct Night {
    /// The parameters that may be changed.
    pub parameters: Vec<Parameter>,
    /// The smallest gain that is worth a change, as a share: 0.02.
    pub smallest_gain: f64,
    /// Pairs of trials by which the answer is confirmed, at least [`FEWEST_PAIRS`].
    pub pairs: u32,
    /// How long the night may take, in ns.
    pub lasts_ns: u64,
    /// How long a trial takes about, with all around it, in ns, before the first one has shown it.
    pub trial_ns: u64,
    /// Of the random order in the confirmation.
    pub seed: u64,
    /// Trials in a row that may not count before what they try is given up.
    pub retries: u32,
}

/// A parameter as the night sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: `net.core.rmem_max`, `bind tcp-clients`.
    pub id: String,
    /// The values to try, the nearest to the present one first.
    pub values: Vec<String>,
    /// Whether these are steps in one direction, each further than the one before; otherwise each is a choice.
    pub is_stepped: bool,
    /// Whether some counter shows that it may have an effect: without one it is always tried.
    pub has_signs: bool,
    /// Whether it is compared before all others are screened, because a diagnosis has named it.
    pub is_first: bool,
}

/// Which parameters are changed, by number, each to the value of this number. The others are as they were.
pub type Changes = BTreeMap<usize, usize>;

/// A trial: the load put on the server with some parameters changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What is changed.
    pub changes: Changes,
    /// What it is for.
    pub phase: Phase,
    /// Which it is, for people: "screening, 3 of 24".
    pub why: String,
}

/// What trials are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// To see which counters move.
    Look,
    /// To find those that may help among many.
    Screen,
    /// To find the one that helps most among few.
    Compare,
    /// To show that what was found helps.
    Confirm,
}

impl Phase {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Look => "looking at the counters",
            Phase::Screen => "screening",
            Phase::Compare => "one at a time",
            Phase::Confirm => "confirming",
        }
    }

    /// Its key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Phase::Look => "look",
            Phase::Screen => "screen",
            Phase::Compare => "compare",
            Phase::Confirm => "confirm",
        }
    }
}

/// What a trial has shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// It counts.
    Counted(Figures),
    /// It says nothing, for this reason, and is made again.
    Doubtful(String),
    /// The server did not start, or did not answer, with these changes.
    Failed(String),
    /// It was not made: the host does not take the values of these parameters, by number, each with the reason.
    NotSet(Vec<(usize, String)>),
}

/// Why a trial that was made has no figures.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Without {
    /// The server does not run with these changes.
    Failed(String),
    /// Neither it nor those that were made in its place count.
    Doubtful(String),
}

impl Without {
    pub(super) fn why(&self) -> &str {
        let (Without::Failed(why) | Without::Doubtful(why)) = self;
        why
    }
}

/// The figures of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// What is to rise: answers per second, capacity; above 0.
    pub gain: f64,
    /// By number of the parameter: whether one of the counters on which it acts has moved.
    pub moved: Vec<bool>,
    /// By number of the parameter: the share of what was not answered, or of the time, for which these counters
    /// account.
    pub accounts_for: Vec<f64>,
    /// Whether the server has answered all of the load, so that no change can show a gain.
    pub is_saturated: bool,
    /// The memory of the server and of the kernel's buffers, in octets, where it was read.
    pub memory_bytes: Option<u64>,
}

impl Parameter {
    /// Whether it has a value of this number.
    pub(super) fn has(&self, value: usize) -> bool {
        value < self.values.len()
    }
}

/// Fewer pairs have no interval at 95 % that a few disturbed trials do not upset.
pub const FEWEST_PAIRS: u32 = 10;

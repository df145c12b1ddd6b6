//! What a search has found.

use super::mlrsearch::result::GoalResult;
use super::options::{Method, What};
use super::trial::Trial;

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// How it was searched.
    pub method: Method,
    /// What was searched for.
    pub what: What,
    /// The criteria, as text; of several goals, those of the first.
    pub criteria: Vec<String>,
    /// What was found; of several goals, for the first.
    pub outcome: Outcome,
    /// What was found for each goal, in their order; none where the method has no goals.
    pub goals: Vec<GoalFinding>,
    /// What else is to be known.
    pub notes: Vec<FindNote>,
    /// Every trial, in its order.
    pub trials: Vec<Trial>,
    /// Runs that were cut off and made again.
    pub cut: u32,
    /// Where the limit is believed to be, by the trials: loads in their order, each with the probability that the limit
    /// is below it. None where the method has no such belief.
    pub belief: Vec<(f64, f64)>,
}

impl Finding {
    /// Whether it is of a search for goals with names.
    pub fn has_names(&self) -> bool {
        self.goals.iter().any(|goal| goal.name.is_some())
    }

    /// Whether the limit was found; of several goals, each of them.
    pub fn is_found(&self) -> bool {
        let is_capacity = |outcome: &Outcome| matches!(outcome, Outcome::Capacity { .. });
        is_capacity(&self.outcome)
            && self.goals.iter().all(|goal| is_capacity(&goal.outcome))
            && self.goal_results().all(|result| result.irregular.is_none())
    }

    /// The results of the goals of `mlrsearch`.
    pub fn goal_results(&self) -> impl Iterator<Item = &GoalResult> {
        self.notes.iter().filter_map(|note| match note {
            FindNote::GoalResult(result) => Some(result.as_ref()),
            _ => None,
        })
    }
}

/// What was found for a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalFinding {
    /// Its name; `None` of the one goal of a search without names.
    pub name: Option<String>,
    /// Its criteria, as text.
    pub criteria: Vec<String>,
    /// How long a trial must be for it to show that a load is held.
    pub held_ns: Option<u64>,
    /// What was found.
    pub outcome: Outcome,
    /// Why no more trials were made for it.
    pub reason: Reason,
    /// What else is to be known of it.
    pub notes: Vec<FindNote>,
    /// The numbers of the trials that count for its limit.
    pub trials: Vec<u32>,
    /// How long their load lasted, in ns.
    pub load_ns: u64,
    /// As that of the finding.
    pub belief: Vec<(f64, f64)>,
}

/// Why no more trials were made for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The interval is as narrow as was wanted.
    Precise,
    /// The trials that were allowed are used up.
    Trials,
    /// The generator cannot send more, or not well enough.
    Generator,
    /// The highest load that was wanted is held.
    Most,
    /// The criteria are not met at the lowest load.
    NotMet,
    /// Too many trials fail whatever their load.
    Unstable,
    /// Nothing can be said of the server.
    Undecided,
}

impl Reason {
    /// In a word, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Precise => "precise",
            Reason::Trials => "trials",
            Reason::Generator => "generator",
            Reason::Most => "most",
            Reason::NotMet => "not_met",
            Reason::Unstable => "unstable",
            Reason::Undecided => "undecided",
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The limit.
    Capacity {
        /// Its best estimate: half of the trials at this load pass.
        load: f64,
        /// From which load.
        from: f64,
        /// To which load.
        to: f64,
        /// What `from` and `to` are.
        interval: IntervalKind,
    },
    /// The limit is at this load or above.
    AtLeast {
        /// The load.
        load: f64,
        /// Why no more can be said.
        why: Why,
    },
    /// The criteria were not met at the lowest load.
    NotMet {
        /// The lowest load.
        lowest: f64,
        /// What was not met there.
        criteria: Vec<String>,
    },
    /// Trials fail whatever their load.
    Unstable {
        /// The share that fails.
        share: f64,
        /// The lowest load that was tried.
        from: f64,
        /// The highest load below which trials still pass.
        to: f64,
    },
    /// Each trial at the lowest load was undecided: nothing can be said of the server.
    Undecided {
        /// The load.
        load: f64,
    },
}

/// What the bounds of a capacity are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalKind {
    /// The limit is between them with a probability of 95 %.
    Confidence,
    /// The highest load that passed, and the lowest that failed: one trial each.
    Bracket,
    /// The 1st and 99th percentile of repeated searches.
    Percentiles,
    /// The lowest and the highest of the figures of one run.
    Range,
    /// The Relevant Lower and the Relevant Upper Bound of a goal (RFC 9971).
    RelevantBounds,
}

/// Why a limit is only known to be at least so high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The generator cannot send more, or not well enough.
    Generator,
    /// The user wanted no higher load.
    Most,
    /// The trials that were allowed are used up before one has passed where the limit seems to be.
    Trials,
}

/// What else is to be known of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum FindNote {
    /// So many trials until two in a row agreed.
    Warm {
        /// Trials.
        trials: u32,
    },
    /// No two trials at the first load agreed.
    NotWarm,
    /// The limit differs from trial to trial, by so much of it (standard deviation).
    Noise {
        /// The share.
        share: f64,
    },
    /// So many trials failed whatever their load.
    Lapses {
        /// The share of trials.
        share: f64,
    },
    /// The precision that was wanted is not reached.
    Imprecise {
        /// Half of the width of the interval, as a share.
        reached: f64,
        /// That was wanted.
        wanted: f64,
        /// About so many trials would do.
        trials_needed: u32,
    },
    /// The limit moved during the search; the outcome is that of its end.
    Drift {
        /// The limit at the start.
        from: f64,
        /// The limit at the end.
        to: f64,
    },
    /// After an overload the limit is lower, until the load was low.
    Hysteresis {
        /// The limit after an overload: at least.
        from: f64,
        /// At most.
        to: f64,
    },
    /// Beyond the limit fewer queries are answered than at it: congestion collapse.
    Collapse {
        /// The load beyond.
        load: f64,
        /// Answered per second there.
        answered_qps: f64,
        /// The load with the most answers.
        peak_load: f64,
        /// Answered per second there.
        peak_qps: f64,
    },
    /// Trials that say nothing of the server: whether they pass depends on what the generator or its host has added.
    Undecided {
        /// The lowest load with such a trial.
        load: f64,
        /// How many.
        trials: u32,
        /// The criteria that depend on it; none where the load itself was not made.
        criteria: Vec<String>,
        /// What the generator has met in them, by the names of the warnings.
        reasons: Vec<String>,
        /// The lowest and the highest load near the limit that stays undecided however often it is tried; the interval
        /// of the limit contains them.
        open: Option<(f64, f64)>,
    },
    /// In trials that passed, so many queries were answered with SERVFAIL or REFUSED.
    Errors {
        /// The share.
        share: f64,
    },
    /// So many queries were lost at low loads already, and were put down to chance.
    UsualLoss {
        /// The share.
        share: f64,
    },
    /// A stage of a ramp or of a ladder of windows.
    Knee {
        /// The rule by which it was found.
        rule: &'static str,
        /// The load; of windows the number of outstanding queries.
        load: f64,
        /// When, in ns after the start; of windows 0.
        at_ns: u64,
        /// What was measured there, in words.
        figures: String,
    },
    /// A goal that is stricter than another one by its text has a limit that is not above that of the other.
    Order {
        /// The stricter goal.
        strict: String,
        /// The looser goal.
        loose: String,
        /// Whether the trials contradict it: the interval of the stricter one is above that of the looser one.
        is_contradicted: bool,
        /// Whether an interval was made narrower by it.
        is_used: bool,
    },
    /// The result of a goal of `mlrsearch`.
    GoalResult(Box<GoalResult>),
    /// What differs from the method as its document has it.
    NotByTheBook {
        /// In words.
        text: String,
    },
}

//! What a night has found.

use super::night::{Changes, Phase};

/// The answer of a night.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What helps.
    pub verdict: Verdict,
    /// By number of the parameter.
    pub rows: Vec<Row>,
    /// Trials made for each phase, with those that did not count.
    pub trials: Vec<(Phase, u32)>,
    /// Trials that one pass over all values would take, one at a time, with as many pairs as the confirmation has.
    pub one_at_a_time: u32,
    /// How often the changes that were found grew: such a tuner needs a pass for each of these, and one more.
    pub rounds: u32,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// What helps.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// These changes.
    Gains(Gains),
    /// None of them, beyond this share: a greater gain would have been seen. `None` where nothing was compared.
    Nothing {
        /// 0.03 is 3 %.
        beyond: Option<f64>,
    },
    /// These changes gained on the way, and too few pairs of trials count to confirm it.
    NotConfirmed {
        /// The parameters and their values, by number.
        changes: Changes,
        /// How many pairs count, and why the others do not.
        why: String,
    },
    /// The server answers all of the load as it is: no change can show a gain.
    NotOverloaded,
    /// The server does not run, or none of its trials counts, without any change.
    NoBase {
        /// Why.
        why: String,
    },
}

/// Changes that gain, confirmed.
#[derive(Clone, Debug, PartialEq)]
pub struct Gains {
    /// The changes.
    pub changes: Changes,
    /// What they gain together.
    pub together: Gain,
    /// Each of them, in the order in which it was found.
    pub parts: Vec<Part>,
    /// Whether the server answers all of the load with them, so that the true gain may be any that is greater.
    pub is_at_least: bool,
    /// By how much they change the memory, in octets, where it was read.
    pub memory_bytes: Option<i64>,
}

/// A change that gains.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The number of the parameter.
    pub parameter: usize,
    /// The number of its value.
    pub value: usize,
    /// What it adds to the others.
    pub adds: Option<Gain>,
    /// What it gains without them.
    pub alone: Option<Gain>,
}

/// A gain as a share of the base: 0.25 is a quarter more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The typical one.
    pub estimate: f64,
    /// From which, 95 %.
    pub from: f64,
    /// To which.
    pub to: f64,
}

/// What was found of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// How it fared.
    pub state: RowState,
    /// The gain of its best value, as far as it was measured on the way: not confirmed.
    pub seen: Option<Gain>,
    /// Trials in which it was changed.
    pub trials: u32,
}

/// How a parameter fared.
#[derive(Clone, Debug, PartialEq)]
pub enum RowState {
    /// It is part of the answer.
    Gain,
    /// It gained on the way, and does not matter beside those of the answer.
    Dropped,
    /// It was compared, or screened, and gains nothing that could be told from noise.
    NoGain,
    /// It is certainly worse.
    Worse,
    /// None of the counters on which it acts has moved under this load.
    NoEffectPossible,
    /// The server does not run with it.
    Fails(String),
    /// It gained on the way, and too few trials count to confirm it.
    NotConfirmed,
    /// None of its trials counts, for this reason.
    Doubtful(String),
    /// The host does not take its values, for this reason.
    NotSet(String),
    /// The night ended before its turn.
    NotTried,
}

impl Gain {
    /// From logarithms.
    pub(super) fn of_logarithms(estimate: f64, from: f64, to: f64) -> Gain {
        let share = |logarithm: f64| logarithm.exp_m1();
        Gain { estimate: share(estimate), from: share(from), to: share(to) }
    }

    /// From the shift of logarithms, where it has an interval.
    pub(super) fn of(shift: crate::statistics::Shift) -> Option<Gain> {
        let interval = shift.interval?;
        Some(Gain::of_logarithms(shift.estimate, interval.from, interval.to))
    }
}

impl Answer {
    /// All trials that were made.
    pub fn trials_made(&self) -> u32 {
        self.trials.iter().map(|(_, count)| count).sum()
    }
}

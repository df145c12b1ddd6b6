//! The Relevant Bounds of a goal, of all trials so far.
//!
//! ```text
//!   load ──►   L    L    ·    L   ▲U    ·    L    U       L Lower Bound   U Upper Bound   · Undecided
//!                             │    └ Relevant Upper Bound: the lowest U
//!                             └ Relevant Lower Bound: the highest L below it      (the L beyond: loss inversion)
//! ```

use super::classification::{DurationSums, LoadClass, conditional_throughput};
use super::goal::SearchGoal;
use super::outcome::{TrialClass, TrialResult};

/// The trials at each load, the lowest load first.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads {
    loads: Vec<Vec<TrialResult>>,
}

/// The Relevant Bounds; each may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Relevant {
    pub(super) lower: Option<f64>,
    pub(super) upper: Option<f64>,
}

impl Loads {
    /// Takes a trial. Loads are the same only where they are equal: they are chosen with four digits.
    pub(super) fn add(&mut self, trial: TrialResult) {
        let load = |trials: &Vec<TrialResult>| trials.first().map_or(0.0, |first| first.load);
        match self.loads.binary_search_by(|trials| load(trials).total_cmp(&trial.load)) {
            Ok(at) => self.loads[at].push(trial),
            Err(at) => self.loads.insert(at, vec![trial]),
        }
    }

    /// The trials at each load.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (f64, &[TrialResult])> {
        self.loads.iter().filter_map(|trials| Some((trials.first()?.load, trials.as_slice())))
    }

    /// The trials at a load.
    pub(super) fn at(&self, load: f64) -> &[TrialResult] {
        self.iter().find(|(other, _)| *other == load).map_or(&[], |(_, trials)| trials)
    }

    /// What a load is with respect to a goal.
    pub(super) fn class(&self, goal: &SearchGoal, load: f64) -> LoadClass {
        DurationSums::of(goal, self.at(load)).classify(goal).class
    }

    /// Whether a load cannot be decided: so many trials there were in doubt.
    pub(super) fn is_in_doubt(&self, goal: &SearchGoal, load: f64) -> bool {
        is_in_doubt(goal, self.at(load))
    }

    /// The Relevant Bounds. Without an Upper Bound the lower one is the highest Lower Bound, which the RFC calls the
    /// effective one.
    pub(super) fn relevant(&self, goal: &SearchGoal) -> Relevant {
        let class = |trials| DurationSums::of(goal, trials).classify(goal).class;
        let is = |wanted, trials| class(trials) == wanted;
        let upper = self.iter().find(|(_, trials)| is(LoadClass::UpperBound, *trials)).map(|(load, _)| load);
        let below = |load: f64| upper.is_none_or(|upper| load < upper);
        let mut lowers =
            self.iter().rev().filter(|(load, trials)| below(*load) && is(LoadClass::LowerBound, *trials));
        Relevant { lower: lowers.next().map(|(load, _)| load), upper }
    }

    /// The lowest load above the Relevant Lower Bound that cannot be decided.
    pub(super) fn lowest_in_doubt(&self, goal: &SearchGoal, relevant: Relevant) -> Option<f64> {
        let is_above = |load: f64| relevant.lower.is_none_or(|lower| load > lower);
        self.iter().find(|(load, trials)| is_above(*load) && is_in_doubt(goal, trials)).map(|(load, _)| load)
    }

    /// The Conditional Throughput at a load.
    pub(super) fn throughput(&self, goal: &SearchGoal, load: f64) -> Option<f64> {
        conditional_throughput(goal, self.at(load))
    }

    /// The highest Trial Forwarding Rate at a load; `None` where each trial was in doubt.
    pub(super) fn forwarding_rate(&self, goal: &SearchGoal, load: f64) -> Option<f64> {
        let decided = self.at(load).iter().filter(|trial| trial.class(goal) != TrialClass::InDoubt);
        decided.map(TrialResult::forwarding_rate).max_by(f64::total_cmp)
    }
}

fn is_in_doubt(goal: &SearchGoal, trials: &[TrialResult]) -> bool {
    let doubtful = trials.iter().filter(|trial| trial.class(goal) == TrialClass::InDoubt).count();
    let class = DurationSums::of(goal, trials).classify(goal).class;
    doubtful >= MOST_IN_DOUBT && class == LoadClass::Undecided
}

/// So many trials in doubt at one load are enough.
const MOST_IN_DOUBT: usize = 3;

//! The Goal Result of RFC 9971: regular where the Relevant Bounds are as near as the Goal Width asks, else irregular,
//! with the reason.

use super::bounds::{Loads, Relevant};
use super::classification::{DurationSums, ExceedRatios};
use super::goal::SearchGoal;
use super::outcome::TrialClass;
use super::select::{Range, is_within};

/// What was found for a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalResult {
    /// The goal.
    pub goal: SearchGoal,
    /// Min Load and Max Load of the search.
    pub loads: (f64, f64),
    /// Relevant Lower Bound; where there is no Upper Bound, the highest Lower Bound.
    pub lower: Option<f64>,
    /// Relevant Upper Bound.
    pub upper: Option<f64>,
    /// Conditional Throughput, as a load.
    pub conditional_throughput: Option<f64>,
    /// The same in answers per second.
    pub answers_qps: Option<f64>,
    /// Why the result is irregular; `None` of a regular one.
    pub irregular: Option<Irregular>,
    /// Of the low-loss full-length trials at the Relevant Lower Bound: in how many the queue grew, and how many there
    /// are.
    pub growing: (u32, u32),
    /// Each load that was tried, with its classification.
    pub classified: Vec<Classified>,
}

/// A load, and what it is with respect to a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Classified {
    /// The load.
    pub load: f64,
    /// How long its trials were, by their class.
    pub sums: DurationSums,
    /// What follows from that.
    pub ratios: ExceedRatios,
}

/// Why a Goal Result is irregular.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Irregular {
    /// Max Load is a Lower Bound: there is no Upper Bound.
    MaxLoad,
    /// Min Load is an Upper Bound: there is no Lower Bound.
    MinLoad,
    /// From this load on it depends on the generator or its host what a trial is.
    Generator {
        /// The load.
        load: f64,
    },
    /// There is no load between the bounds, and they are further apart than the Goal Width.
    NoLoadBetween,
    /// The trials that were allowed are used up.
    Trials,
}

impl GoalResult {
    /// The result of a goal by all trials; `qps` makes queries per second of a load.
    pub(super) fn of(
        goal: &SearchGoal,
        loads: &Loads,
        range: &Range,
        qps: &dyn Fn(f64) -> f64,
    ) -> GoalResult {
        let relevant = loads.relevant(goal);
        let Relevant { lower, upper } = relevant;
        let conditional_throughput = lower.and_then(|load| loads.throughput(goal, load));
        let at_lower = lower.map_or(&[][..], |load| loads.at(load));
        let low =
            at_lower.iter().filter(|trial| !trial.is_short(goal) && trial.class(goal) == TrialClass::LowLoss);
        let growing = low.clone().filter(|trial| trial.grows).count() as u32;
        let classified = |(load, trials)| {
            let sums = DurationSums::of(goal, trials);
            Classified { load, sums, ratios: sums.classify(goal) }
        };
        GoalResult {
            goal: goal.clone(),
            loads: (range.least, range.most),
            lower,
            upper,
            conditional_throughput,
            answers_qps: conditional_throughput.map(qps),
            irregular: irregular(goal, loads, range, relevant),
            growing: (growing, low.count() as u32),
            classified: loads.iter().map(classified).collect(),
        }
    }

    /// How far the bounds are apart, as a share of the upper one; `None` where one is missing.
    pub fn width(&self) -> Option<f64> {
        Some((self.upper? - self.lower?) / self.upper?)
    }
}

fn irregular(goal: &SearchGoal, loads: &Loads, range: &Range, relevant: Relevant) -> Option<Irregular> {
    let Relevant { lower, upper } = relevant;
    let doubted = loads.lowest_in_doubt(goal, relevant);
    match (lower, upper) {
        (Some(lower), Some(upper)) if is_within(goal.width, lower, upper) => None,
        _ if doubted.is_some_and(|load| upper.is_none_or(|upper| load < upper)) => {
            doubted.map(|load| Irregular::Generator { load })
        }
        (Some(lower), None) if lower >= range.most => Some(Irregular::MaxLoad),
        (None, Some(upper)) if upper <= range.least => Some(Irregular::MinLoad),
        (Some(lower), Some(upper)) if range.halved(lower, upper).is_none() => Some(Irregular::NoLoadBetween),
        _ => Some(Irregular::Trials),
    }
}

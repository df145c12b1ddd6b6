//! Which trial comes next for one goal: the Controller's freedom, which RFC 9971 leaves open.
//!
//! ```text
//!   1 s    double from the first load until a trial is high-loss; then by its forwarding rate to where a server with a
//!          hard limit has its bounds; where that misses, four times as far; then halve
//!   10 s   the bounds that were found, again with longer trials: the lower one first; where one of them does not hold,
//!          further from it
//!   …      as many lengths as the goal has; the last one is its Goal Final Trial Duration. Where the bounds are far
//!          above those of the short trials, these begin again, once
//! ```

use super::bounds::{Loads, Relevant};
use super::classification::LoadClass;
use super::goal::SearchGoal;
use crate::find::settings::rounded_load;

/// The way to the result of one goal.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// The goal as each of its stages has it.
    stages: Vec<SearchGoal>,
    stage: usize,
    /// The bounds of the stage before.
    hint: Relevant,
    /// The load that is tried until it is a bound.
    target: Option<Target>,
    /// How often a bound of this stage was not where it was expected.
    misses: u32,
    /// Whether the short trials have begun again.
    has_begun_again: bool,
}

/// A Trial Input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrialInput {
    /// Trial Load.
    pub(super) load: f64,
    /// Trial Duration, where the load has enough queries for it.
    pub(super) duration_ns: u64,
    /// Whether a load at which no trial is high-loss is only searched upwards.
    pub(super) is_doubling: bool,
}

/// The loads that may be tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) start: f64,
    /// Min Load.
    pub(super) least: f64,
    /// Max Load.
    pub(super) most: f64,
    /// Whether loads are whole numbers.
    pub(super) is_whole: bool,
}

/// A load, and what it is expected to be; `None` where it may as well be one as the other.
#[derive(Clone, Copy, Debug)]
struct Target {
    load: f64,
    expected: Option<LoadClass>,
}

impl Selection {
    pub(super) fn new(goal: &SearchGoal) -> Selection {
        let lengths = goal.trial_lengths_ns();
        // Before the last stage one trial decides, also where it is as long as those of the last.
        let is_last = |length_ns: u64| length_ns == goal.final_trial_ns;
        let single = |length_ns: u64| SearchGoal {
            final_trial_ns: length_ns,
            duration_sum_ns: length_ns,
            ..goal.clone()
        };
        let is_alone = lengths.len() == 1 && goal.duration_sum_ns > goal.final_trial_ns;
        let before = lengths.into_iter().filter(|length_ns| is_alone || !is_last(*length_ns)).map(single);
        let stages = before.chain([goal.clone()]).collect();
        Selection {
            stages,
            stage: 0,
            hint: Relevant::default(),
            target: None,
            misses: 0,
            has_begun_again: false,
        }
    }

    /// The next trial; `None` where the goal has its result, or cannot have more.
    pub(super) fn next(&mut self, loads: &Loads, range: &Range) -> Option<TrialInput> {
        while let Some(goal) = self.stages.get(self.stage).cloned() {
            let input = |target: &Target| TrialInput {
                load: target.load,
                duration_ns: goal.final_trial_ns,
                is_doubling: self.stage == 0
                    && target.expected.is_none()
                    && bounds(loads, &goal).upper.is_none(),
            };
            if let Some(target) = self.target {
                match as_bound(loads, &goal, target.load) {
                    LoadClass::Undecided => return Some(input(&target)),
                    found => {
                        let is_missed = target.expected.is_some_and(|expected| expected != found);
                        self.misses += u32::from(is_missed);
                        self.target = None;
                        if found == LoadClass::LowerBound {
                            self.begin_again();
                        }
                    }
                }
            }
            let relevant = bounds(loads, &goal);
            match self.place(loads, &goal, range, relevant) {
                Some(target) => self.target = Some(target),
                None => (self.stage, self.hint, self.misses) = (self.stage + 1, relevant, 0),
            }
        }
        None
    }

    /// The bounds that its present stage has so far.
    pub(super) fn bracket(&self, loads: &Loads) -> Option<(f64, f64)> {
        let goal = self.stages.get(self.stage).or(self.stages.last())?;
        let relevant = bounds(loads, goal);
        relevant.lower.zip(relevant.upper)
    }

    /// The next load; `None` where the stage has its bounds, or cannot have them.
    fn place(&self, loads: &Loads, goal: &SearchGoal, range: &Range, has: Relevant) -> Option<Target> {
        let Range { least, most, .. } = *range;
        let target = match (has.lower, has.upper) {
            (Some(lower), Some(upper)) => {
                let is_narrow = is_within(goal.width, lower, upper) || range.halved(lower, upper).is_none();
                if is_narrow { None } else { self.between(loads, goal, range, (lower, upper)) }
            }
            (Some(lower), None) if lower >= most => None,
            (Some(lower), None) => Some(self.above(goal, lower)),
            (None, Some(upper)) if upper <= least => None,
            (None, Some(upper)) => Some(self.below(loads, goal, upper)),
            (None, None) => {
                let expected = self.hint.lower.map(|_| LoadClass::LowerBound);
                Some(Target { load: self.hint.lower.or(self.hint.upper).unwrap_or(range.start), expected })
            }
        };
        let target = target?;
        let mut load = range.rounded(target.load);
        if has.lower.is_some_and(|lower| has.upper.is_none() && load <= lower) {
            load = range.next_above(has.lower.unwrap_or(load));
        }
        if has.upper.is_some_and(|upper| has.lower.is_none() && load >= upper) {
            load = range.next_below(has.upper.unwrap_or(load));
        }
        let load = load.clamp(least, most);
        // A load that is a bound already tells no more: this cannot go on for ever.
        let is_new = as_bound(loads, goal, load) == LoadClass::Undecided;
        is_new.then_some(Target { load, ..target })
    }

    /// A load above the highest Lower Bound.
    fn above(&self, goal: &SearchGoal, lower: f64) -> Target {
        match self.hint.upper.filter(|upper| *upper > lower) {
            Some(load) => Target { load, expected: Some(LoadClass::UpperBound) },
            None if self.stage == 0 => Target { load: lower * 2.0, expected: None },
            // Further than where it was expected.
            None => {
                let further = (goal.width * self.reach()).min(1.0);
                Target { load: lower * (1.0 + further), expected: Some(LoadClass::UpperBound) }
            }
        }
    }

    /// A load below the lowest Upper Bound.
    fn below(&self, loads: &Loads, goal: &SearchGoal, upper: f64) -> Target {
        let expected = Some(LoadClass::LowerBound);
        if let Some(load) = self.hint.lower.filter(|lower| *lower < upper) {
            return Target { load, expected };
        }
        let limit = hard_limit(loads, goal, upper).unwrap_or(upper);
        let below = limit * (1.0 - (goal.width * BESIDE * self.reach()).min(0.5));
        // Not by less than the width, or a slow rise of the loss would be followed in small steps.
        Target { load: below.min(upper * (1.0 - goal.width)), expected }
    }

    /// A load between two bounds: beside where a hard limit would be, as near to a bound that there is as the width
    /// allows, or else in the middle.
    fn between(
        &self,
        loads: &Loads,
        goal: &SearchGoal,
        range: &Range,
        (lower, upper): (f64, f64),
    ) -> Option<Target> {
        let middle = range.halved(lower, upper)?;
        let width = goal.width * NEARLY;
        let limit = hard_limit(loads, goal, upper);
        let is_clear = |one: f64, other: f64| one < other * (1.0 - goal.width * CLEAR);
        let (above, below) = (lower / (1.0 - width), upper * (1.0 - width));
        let (load, expected) = match limit {
            Some(limit) if is_clear(lower, limit) && is_clear(limit, above) => (above, LoadClass::UpperBound),
            Some(limit) if is_clear(below, limit) && is_clear(limit, upper) => (below, LoadClass::LowerBound),
            Some(limit) if limit > lower => {
                (limit * (1.0 - goal.width * BESIDE * self.reach()), LoadClass::LowerBound)
            }
            // The limit is higher than it seemed.
            Some(_) => (lower * (1.0 + width * self.reach()), LoadClass::UpperBound),
            None => return Some(Target { load: middle, expected: None }),
        };
        let load = range.rounded(load);
        // What is expected above a bound is near it, or the middle tells more.
        let most = if expected == LoadClass::UpperBound && load > above * 1.001 { middle } else { upper };
        let is_inside = load > lower && load < most;
        Some(if is_inside {
            Target { load, expected: Some(expected) }
        } else {
            Target { load: middle, expected: None }
        })
    }

    /// Begins again with short trials where the bounds are far above those of the short trials before, as where one of
    /// them was disturbed at a low load; once, because a limit that rises all the time would never be reached.
    fn begin_again(&mut self) {
        if self.stage > 0 && self.misses >= MISSES_TO_BEGIN_AGAIN && !self.has_begun_again {
            (self.stage, self.hint, self.misses) = (0, Relevant::default(), 0);
            self.has_begun_again = true;
        }
    }

    /// How much further than at first a bound is looked for.
    fn reach(&self) -> f64 {
        4f64.powi(self.misses.min(10) as i32)
    }
}

impl Range {
    fn rounded(&self, load: f64) -> f64 {
        rounded_load(load, self.is_whole)
    }

    /// The next load that differs.
    fn next_above(&self, load: f64) -> f64 {
        let next = self.rounded(load * (1.0 + LEAST_STEP));
        if next > load { next } else { load + 1.0 }
    }

    /// The same downwards.
    fn next_below(&self, load: f64) -> f64 {
        let next = self.rounded(load * (1.0 - LEAST_STEP));
        if next < load { next } else { load - 1.0 }
    }

    /// The load in the middle of two, by their ratio; `None` where there is none between them.
    pub(super) fn halved(&self, lower: f64, upper: f64) -> Option<f64> {
        let middle = self.rounded((lower * upper).sqrt());
        (middle > lower && middle < upper).then_some(middle)
    }
}

/// Whether two bounds are as near to each other as the Goal Width asks.
pub(super) fn is_within(width: f64, lower: f64, upper: f64) -> bool {
    (upper - lower) / upper <= width * (1.0 + ROUNDING)
}

/// The bounds, where a load that cannot be decided is taken for an upper one.
fn bounds(loads: &Loads, goal: &SearchGoal) -> Relevant {
    let relevant = loads.relevant(goal);
    let doubted = loads.lowest_in_doubt(goal, relevant);
    let upper = [relevant.upper, doubted].into_iter().flatten().min_by(f64::total_cmp);
    Relevant { upper, ..relevant }
}

/// The same of one load.
fn as_bound(loads: &Loads, goal: &SearchGoal, load: f64) -> LoadClass {
    match loads.class(goal, load) {
        LoadClass::Undecided if loads.is_in_doubt(goal, load) => LoadClass::UpperBound,
        class => class,
    }
}

/// The load at which a server that answers no more than it did here loses as much as the goal allows.
fn hard_limit(loads: &Loads, goal: &SearchGoal, upper: f64) -> Option<f64> {
    loads.forwarding_rate(goal, upper).map(|rate| rate / (1.0 - goal.loss_ratio)).filter(|limit| *limit > 0.0)
}

/// How far below an expected limit a bound is tried, in widths: one above it is then within the width of it.
const BESIDE: f64 = 0.4;

/// How far from a bound the other one is tried, in widths: loads have four digits.
const NEARLY: f64 = 0.9;

/// A load that is so far from an expected limit, in widths, is on one side of it.
const CLEAR: f64 = 0.1;

/// After so many misses short trials find the place sooner than long ones.
const MISSES_TO_BEGIN_AGAIN: u32 = 3;

/// Loads have four digits.
const LEAST_STEP: f64 = 0.001;

const ROUNDING: f64 = 1e-9;

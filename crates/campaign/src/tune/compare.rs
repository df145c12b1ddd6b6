//! A few changes compared with the base one at a time, with a trial of the base before and after each:
//!
//! ```text
//!   base B base C base D base │ B base C base D base │ B base C base │ …
//!   cycle 1                   │ cycle 2              │ cycle 3: the worse half is dropped
//! ```
//!
//! What changes on the host in the course of a night changes base and neighbour alike.

use super::confidence::{center, interval, noise};
use super::night::{Changes, Phase, Trial, Without};

/// A comparison of some changes, each on top of what is changed already.
#[derive(Clone, Debug)]
pub(super) struct Compare {
    base: Changes,
    pub(super) arms: Vec<Arm>,
    /// The least difference that is worth a change, in logarithms.
    least: f64,
    cycles: u32,
    most_cycles: u32,
    /// The figure of the last trial of the base.
    before: Option<f64>,
    /// The arm that is tried now, or whose trial waits for the base after it.
    at: usize,
    /// The figure of that trial.
    waits: Option<f64>,
}

/// A change that is compared.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) parameter: usize,
    pub(super) value: usize,
    /// Each against the trials of the base around it, in logarithms.
    pub(super) differences: Vec<f64>,
    pub(super) is_alive: bool,
    /// Why the server does not run with it, or why its trials do not count.
    pub(super) without: Option<Without>,
}

/// How far a comparison has come.
pub(super) enum Compared {
    GoesOn,
    /// The number of the arm that gains, if one does.
    Ended(Option<usize>),
    /// The base did not run any more, or its trials do not count.
    NoBase(String),
}

impl Arm {
    pub(super) fn new(parameter: usize, value: usize) -> Arm {
        Arm { parameter, value, differences: Vec::new(), is_alive: true, without: None }
    }
}

impl Compare {
    pub(super) fn new(base: Changes, arms: Vec<Arm>, smallest_gain: f64) -> Compare {
        let least = smallest_gain.ln_1p();
        Compare { base, arms, least, cycles: 0, most_cycles: MOST_CYCLES, before: None, at: 0, waits: None }
    }

    /// The same, which ends after so many cycles: for gains that are great, if there are any.
    pub(super) fn within(self, most_cycles: u32) -> Compare {
        Compare { most_cycles, ..self }
    }

    pub(super) fn next(&self) -> Trial {
        let is_base = self.is_base_next();
        let mut changes = self.base.clone();
        let arm = self.arms.get(self.at).filter(|_| !is_base);
        changes.extend(arm.map(|arm| (arm.parameter, arm.value)));
        let alive = self.alive().count();
        let what = if is_base { "the base" } else { "a change" };
        let why = format!("{}: {what}; {alive} left, cycle {}", Phase::Compare.name(), self.cycles + 1);
        Trial { changes, phase: Phase::Compare, why }
    }

    /// Leaves a parameter out that cannot be set.
    pub(super) fn leave_out(&mut self, parameter: usize) -> Compared {
        let of_it = self.arms.iter_mut().filter(|arm| arm.parameter == parameter);
        of_it.for_each(|arm| arm.is_alive = false);
        // Its trial was not made; where the base is next, that trial goes on.
        if self.is_base_next() { Compared::GoesOn } else { self.go_on(self.at) }
    }

    /// Takes the figure of the last trial, in logarithms, or the reason why there is none.
    pub(super) fn learn(&mut self, figure: Result<f64, Without>) -> Compared {
        match (self.is_base_next(), figure) {
            (true, Ok(figure)) => {
                if let (Some(before), Some(waits)) = (self.before, self.waits.take()) {
                    let difference = waits - (before + figure) / 2.0;
                    self.arms
                        .iter_mut()
                        .skip(self.at)
                        .take(1)
                        .for_each(|arm| arm.differences.push(difference));
                    self.before = Some(figure);
                    return self.go_on(self.at + 1);
                }
                self.before = Some(figure);
                self.go_on(0)
            }
            (true, Err(without)) => Compared::NoBase(without.why().to_owned()),
            (false, Ok(figure)) => {
                self.waits = Some(figure);
                Compared::GoesOn
            }
            (false, Err(without)) => {
                for arm in self.arms.iter_mut().skip(self.at).take(1) {
                    (arm.is_alive, arm.without) = (false, Some(without.clone()));
                }
                self.go_on(self.at + 1)
            }
        }
    }

    /// The difference of an arm and the ends of its interval, in logarithms, where it has some.
    pub(super) fn found(&self, arm: &Arm) -> Option<(f64, f64, f64)> {
        let (from, to) = interval(&arm.differences, self.noise()?)?;
        Some((center(&arm.differences), from, to))
    }

    fn is_base_next(&self) -> bool {
        self.before.is_none() || self.waits.is_some()
    }

    fn alive(&self) -> impl Iterator<Item = &Arm> {
        self.arms.iter().filter(|arm| arm.is_alive)
    }

    fn noise(&self) -> Option<f64> {
        noise(&self.arms.iter().map(|arm| arm.differences.clone()).collect::<Vec<_>>())
    }

    /// Goes on to the next arm that is alive, from this one on, or to the next cycle.
    fn go_on(&mut self, from: usize) -> Compared {
        let of_rest = |from: usize, arms: &[Arm]| {
            arms.iter().enumerate().skip(from).find(|(_, arm)| arm.is_alive).map(|(at, _)| at)
        };
        if let Some(at) = of_rest(from, &self.arms) {
            self.at = at;
            return Compared::GoesOn;
        }
        self.cycles += 1;
        if let Some(winner) = self.winner() {
            return Compared::Ended(Some(winner));
        }
        self.halve();
        match of_rest(0, &self.arms).filter(|_| self.cycles < self.most_cycles) {
            Some(at) => {
                self.at = at;
                Compared::GoesOn
            }
            None => Compared::Ended(None),
        }
    }

    /// The arm that gains most, of those that gain more than noise.
    fn winner(&self) -> Option<usize> {
        let found = self.arms.iter().enumerate().filter(|(_, arm)| arm.is_alive);
        let gains = found.filter_map(|(at, arm)| {
            let (center, from, _) = self.found(arm)?;
            (from > 0.0 && center >= self.least).then_some((at, center))
        });
        gains.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
    }

    /// Drops the worse half after the second and each later cycle, down to two, and what cannot gain enough.
    fn halve(&mut self) {
        if self.cycles < FIRST_HALVING {
            return;
        }
        let mut centers: Vec<f64> = self.alive().map(|arm| center(&arm.differences)).collect();
        centers.sort_by(|a, b| b.total_cmp(a));
        let keeps = centers.len().div_ceil(2).max(FEWEST_ARMS);
        let bound = centers.get(keeps - 1).copied().unwrap_or(f64::NEG_INFINITY);
        let cannot: Vec<bool> =
            self.arms.iter().map(|arm| self.found(arm).is_some_and(|(_, _, to)| to < self.least)).collect();
        for (arm, cannot) in self.arms.iter_mut().zip(cannot) {
            arm.is_alive &= center(&arm.differences) >= bound && !(cannot && arm.differences.len() > 2);
        }
    }
}

/// A change whose gain is not seen in so many pairs is too small for this night.
pub(super) const MOST_CYCLES: u32 = 8;

const FIRST_HALVING: u32 = 2;

/// The best two stay to the end, because noise may have put the better one second.
const FEWEST_ARMS: usize = 2;

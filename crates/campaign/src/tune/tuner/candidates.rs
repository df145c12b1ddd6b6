//! Which parameters may still gain, with which values, and which of them are compared first.

use super::state::{Seen, Tuner};
use crate::tune::compare::Arm;
use crate::tune::look::Look;

impl Tuner {
    /// Those that are compared before all others are screened: what a diagnosis has named, then those whose counters
    /// account for much of what was not answered, the most first.
    pub(super) fn named(&self, look: &Look) -> Vec<usize> {
        let weight = |at: usize| {
            let is_first = self.night.parameters.get(at).is_some_and(|parameter| parameter.is_first);
            if is_first && !self.has_compared_named { f64::INFINITY } else { look.accounts_for(at) }
        };
        let mut named: Vec<usize> = self.candidates().into_iter().filter(|at| weight(*at) >= MUCH).collect();
        named.sort_by(|a, b| weight(*b).total_cmp(&weight(*a)));
        named
    }

    /// A change to compare, with the differences that it has shown on the same base.
    pub(super) fn arm(&self, parameter: usize, value: usize) -> Arm {
        let is_it = |arm: &&Arm| arm.parameter == parameter && arm.value == value;
        let differences = self.compared.iter().find(is_it).map(|arm| arm.differences.clone());
        Arm { differences: differences.unwrap_or_default(), ..Arm::new(parameter, value) }
    }

    /// The parameters that may still gain: a counter points to them, there is a value left that can be set, and nothing
    /// speaks against them.
    pub(super) fn candidates(&self) -> Vec<usize> {
        let may = |(at, seen): (usize, &Seen)| {
            let is_left = !self.values_of(at).is_empty();
            let runs = seen.failed.is_none() && seen.not_set.is_none();
            (seen.is_possible && is_left && runs && !seen.is_worse).then_some(at)
        };
        self.seen.iter().enumerate().filter_map(may).collect()
    }

    /// The values of a parameter that are to be tried next.
    pub(super) fn values_of(&self, at: usize) -> Vec<usize> {
        let Some(parameter) = self.night.parameters.get(at) else { return Vec::new() };
        match (self.base.get(&at), parameter.is_stepped) {
            (Some(value), true) => vec![value + 1],
            // Of choices one was taken.
            (Some(_), false) => Vec::new(),
            (None, true) => vec![0],
            (None, false) => (0..parameter.values.len()).collect(),
        }
        .into_iter()
        .filter(|value| parameter.has(*value))
        .collect()
    }

    pub(super) fn of(&self, at: usize) -> Seen {
        self.seen.get(at).cloned().unwrap_or_default()
    }
}

/// A counter that accounts for this share of what was not answered, or of the time, names its parameters.
const MUCH: f64 = 0.1;

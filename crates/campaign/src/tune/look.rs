//! A few trials of the base, to see which counters move under the load: what no moving counter points to has no effect.

use super::night::{Changes, Figures, Phase, Trial};

/// Trials of the base.
#[derive(Clone, Debug)]
pub(super) struct Look {
    base: Changes,
    trials: usize,
    made: Vec<Figures>,
}

impl Look {
    pub(super) fn new(base: Changes, is_first: bool) -> Look {
        Look { base, trials: if is_first { FIRST } else { LATER }, made: Vec::new() }
    }

    /// The next trial; `None` where all are made.
    pub(super) fn next(&self) -> Option<Trial> {
        let why = format!("{}, {} of {}", Phase::Look.name(), self.made.len() + 1, self.trials);
        let trial = Trial { changes: self.base.clone(), phase: Phase::Look, why };
        (self.made.len() < self.trials).then_some(trial)
    }

    pub(super) fn learn(&mut self, figures: Figures) {
        self.made.push(figures);
    }

    /// Whether a counter on which this parameter acts has moved in any of the trials.
    pub(super) fn has_moved(&self, parameter: usize) -> bool {
        self.made.iter().any(|figures| figures.moved.get(parameter) == Some(&true))
    }

    /// The share of what was not answered for which the counters of this parameter account, on average.
    pub(super) fn accounts_for(&self, parameter: usize) -> f64 {
        let shares = self.made.iter().filter_map(|figures| figures.accounts_for.get(parameter));
        shares.sum::<f64>() / self.made.len().max(1) as f64
    }

    /// Whether the server has answered all of the load in most of the trials.
    pub(super) fn is_saturated(&self) -> bool {
        self.made.iter().filter(|figures| figures.is_saturated).count() * 2 > self.made.len()
    }
}

/// Also of a counter that moves in every second trial only, three show one nearly always.
const FIRST: usize = 3;

/// The comparison before has looked at the same server already, without its winner.
const LATER: usize = 2;

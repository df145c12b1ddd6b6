//! How long a trial is: short where the limit is far, as long as the goal asks near it; and when it may end early,
//! because it has failed for certain.
//!
//! ```text
//!   warm-up, doubling    2 s, or as long as the criteria need
//!   near the limit       5 s; 8 s once trials contradict each other: then noise is what takes time
//!   a goal of 60 s       60 s near the limit; shorter ones before it only exclude loads
//! ```

use super::state::Search;
use crate::find::trial::{Purpose, Trial};

impl Search {
    /// How long the trial at a load is to last.
    pub(in crate::find) fn lasts_ns(&self, purpose: Purpose, load: f64) -> u64 {
        match purpose {
            Purpose::WarmUp | Purpose::Doubling | Purpose::Lowest | Purpose::Recover | Purpose::Beyond => {
                self.settings.far_ns(load)
            }
            Purpose::Near | Purpose::Down | Purpose::Step => {
                let near_ns = self.settings.near_ns(load, self.agrees());
                near_ns.max(self.settings.held_ns.unwrap_or(0))
            }
        }
    }

    /// Whether a trial was as long as the goal asks, so that it shows that a load was held; one that was to be as long
    /// and ended before has failed, which it may as well.
    pub(in crate::find) fn is_long_enough(&self, trial: &Trial) -> bool {
        let length_ns = if trial.passed() == Some(true) { trial.lasted_ns } else { trial.planned_ns };
        self.settings.held_ns.is_none_or(|held_ns| length_ns as f64 >= held_ns as f64 * WRITTEN)
    }

    /// Whether no trial has failed at a load below one that has passed: where the limit is the same in each trial,
    /// short ones do.
    fn agrees(&self) -> bool {
        let loads = |passed: bool| {
            self.clean().filter(move |trial| trial.passed() == Some(passed)).map(|trial| trial.load)
        };
        let lowest_failed = loads(false).min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
        loads(true).all(|passed| passed < lowest_failed)
    }
}

/// A length is written to the millisecond.
const WRITTEN: f64 = 0.999;

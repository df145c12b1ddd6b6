//! Load Classification and Conditional Throughput, as appendices A and B of RFC 9971 define them.
//!
//! ```text
//!   full-length   low-loss ──────────────────────────────────┐
//!                 high-loss ────────────────┐                ├── effective sum ── at least the Goal Duration Sum
//!   short         high-loss ── excess ──────┴── high-loss ───┘                     = whole
//!                 low-loss  ── balances some of it
//!
//!   optimistic   what is missing of the whole is low-loss:    high-loss / whole         > Exceed Ratio: Upper Bound
//!   pessimistic  what is missing is high-loss:                (whole − low-loss) / whole ≤ Exceed Ratio: Lower Bound
//! ```

use super::goal::SearchGoal;
use super::outcome::{TrialClass, TrialResult};

/// What a load is with respect to a goal, by the trials so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadClass {
    /// It cannot meet the goal any more within the Goal Duration Sum.
    UpperBound,
    /// It meets the goal, whatever follows within the Goal Duration Sum.
    LowerBound,
    /// Neither is certain.
    Undecided,
}

/// The sums of Trial Effective Durations at a load, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DurationSums {
    /// Of full-length low-loss trials.
    pub full_low_ns: f64,
    /// Of full-length high-loss trials.
    pub full_high_ns: f64,
    /// Of short low-loss trials.
    pub short_low_ns: f64,
    /// Of short high-loss trials.
    pub short_high_ns: f64,
}

/// The share of high-loss time that a load has at the end of its Goal Duration Sum: from the best of what may follow to
/// the worst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExceedRatios {
    /// Where all that is missing is low-loss.
    pub optimistic: f64,
    /// Where all that is missing is high-loss.
    pub pessimistic: f64,
    /// What the load is by both.
    pub class: LoadClass,
}

impl DurationSums {
    /// Those of the trials at a load; one in doubt is none.
    pub(super) fn of<'a>(
        goal: &SearchGoal,
        trials: impl IntoIterator<Item = &'a TrialResult>,
    ) -> DurationSums {
        let mut sums = DurationSums::default();
        for trial in trials {
            let sum = match (trial.is_short(goal), trial.class(goal)) {
                (_, TrialClass::InDoubt) => continue,
                (false, TrialClass::LowLoss) => &mut sums.full_low_ns,
                (false, TrialClass::HighLoss) => &mut sums.full_high_ns,
                (true, TrialClass::LowLoss) => &mut sums.short_low_ns,
                (true, TrialClass::HighLoss) => &mut sums.short_high_ns,
            };
            *sum += trial.duration_ns as f64;
        }
        sums
    }

    /// Classifies the load. Short low-loss trials balance short high-loss ones in the proportion that the goal
    /// tolerates, and count for nothing else; what is left of the high-loss ones counts as if it were full-length.
    pub fn classify(&self, goal: &SearchGoal) -> ExceedRatios {
        let balancing_ns = self.short_low_ns * goal.exceed_ratio / (1.0 - goal.exceed_ratio);
        let high_ns = self.full_high_ns + (self.short_high_ns - balancing_ns).max(0.0);
        let whole_ns = (self.full_low_ns + high_ns).max(goal.duration_sum_ns as f64);
        let tolerated_ns = whole_ns * goal.exceed_ratio;
        let pessimistic_ns = whole_ns - self.full_low_ns;
        let class = match (high_ns <= tolerated_ns, pessimistic_ns <= tolerated_ns) {
            (true, true) => LoadClass::LowerBound,
            (true, false) => LoadClass::Undecided,
            (false, _) => LoadClass::UpperBound,
        };
        ExceedRatios { optimistic: high_ns / whole_ns, pessimistic: pessimistic_ns / whole_ns, class }
    }
}

/// The Conditional Throughput of a load: the Trial Forwarding Rate of the full-length trial at the quantile that the
/// Goal Exceed Ratio says, where what is missing of the Goal Duration Sum has lost everything. `None` without a
/// full-length trial.
pub(super) fn conditional_throughput<'a>(
    goal: &SearchGoal,
    trials: impl IntoIterator<Item = &'a TrialResult>,
) -> Option<f64> {
    let counts = |trial: &&TrialResult| !trial.is_short(goal) && trial.class(goal) != TrialClass::InDoubt;
    let mut full: Vec<&TrialResult> = trials.into_iter().filter(counts).collect();
    full.sort_by(|one, other| one.loss_ratio().total_cmp(&other.loss_ratio()));
    let full_ns: f64 = full.iter().map(|trial| trial.duration_ns as f64).sum();
    let mut left_ns = full_ns.max(goal.duration_sum_ns as f64) * (1.0 - goal.exceed_ratio);
    let mut at_quantile = full.first()?;
    for trial in &full {
        if left_ns <= 0.0 {
            break;
        }
        at_quantile = trial;
        left_ns -= trial.duration_ns as f64;
    }
    Some(if left_ns > 0.0 { 0.0 } else { at_quantile.forwarding_rate() })
}

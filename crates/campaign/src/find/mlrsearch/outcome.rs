//! A Trial Result of RFC 9971: the Trial Input, which is a load and a duration, and the Trial Output that
//! classification needs.
//!
//! The Trial Forwarding Ratio of a DNS server is the share of the queries that were answered in time; the Trial Loss
//! Ratio is the rest. The Trial Effective Duration is the Trial Duration.

use super::goal::SearchGoal;

/// A Trial Result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrialResult {
    /// Trial Load.
    pub(super) load: f64,
    /// Trial Duration, as intended.
    pub(super) duration_ns: u64,
    /// Queries that count for the server.
    pub(super) queries: u64,
    /// Of these, without an answer in time.
    pub(super) lost: u64,
    /// Of the lost ones, those that may be the generator's, at the most.
    pub(super) ours: u64,
    /// Whether its load was made as it was asked for.
    pub(super) is_made: bool,
    /// Whether its queue grew to its end.
    pub(super) grows: bool,
}

/// What a trial is with respect to a goal: its Trial Classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrialClass {
    /// It has lost no more than the goal allows.
    LowLoss,
    /// It has lost more.
    HighLoss,
    /// It depends on the generator which of both it is: it is no result of the server.
    InDoubt,
}

impl TrialResult {
    /// Trial Loss Ratio.
    pub(super) fn loss_ratio(&self) -> f64 {
        if self.queries == 0 { 1.0 } else { self.lost as f64 / self.queries as f64 }
    }

    /// Trial Forwarding Rate: the load, times the share that was answered.
    pub(super) fn forwarding_rate(&self) -> f64 {
        self.load * (1.0 - self.loss_ratio())
    }

    /// Its class with respect to a goal.
    pub(super) fn class(&self, goal: &SearchGoal) -> TrialClass {
        let is_high = |lost: u64| lost as f64 > goal.loss_ratio * self.queries as f64 * (1.0 + ROUNDING);
        match (is_high(self.lost), is_high(self.lost.saturating_sub(self.ours))) {
            _ if self.queries == 0 => TrialClass::InDoubt,
            (true, true) => TrialClass::HighLoss,
            (false, _) if self.is_made => TrialClass::LowLoss,
            _ => TrialClass::InDoubt,
        }
    }

    /// Whether it is shorter than the trials that a goal ends with.
    pub(super) fn is_short(&self, goal: &SearchGoal) -> bool {
        self.duration_ns < goal.final_trial_ns
    }
}

/// A product of two floating-point numbers may be a little less than a whole number that it is.
const ROUNDING: f64 = 1e-12;

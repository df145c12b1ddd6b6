//! Where the limit may be, by how far trials were from their criteria. It chooses the next load and nothing else:
//! what is told about the limit follows from trials that passed and failed.
//!
//! ```text
//!   lost 30 % at 10,000 qps                     try about 7,000: what the server has kept up with
//!   p99 at 8,000 is 2 ms, at 9,000 10 ms        try where a line of 1/p99 meets 1/5 ms: 8,750
//! ```

use super::state::{Near, Search};
use crate::find::trial::Trial;

impl Search {
    /// A load a little below or above the one at which the limit may be, where trials say so, the belief does not
    /// exclude it, and no trial was made there.
    pub(super) fn pointed(&self, near: &Near) -> Option<f64> {
        let load = self.by_loss().or_else(|| self.by_latency())?;
        let precision = self.settings.precision;
        let around = (AROUND * precision).exp();
        let chance = near.belief.within(load / around, load * around);
        let is_new = |load: &f64| {
            let reach = (BESIDE * precision / 2.0).exp();
            let is_there = |trial: &Trial| (load / reach..load * reach).contains(&trial.load);
            !self.clean().any(|trial| self.is_long_enough(trial) && is_there(trial))
        };
        let beside = (BESIDE * precision).exp();
        [load / beside, load * beside].into_iter().find(is_new).filter(|_| chance > CREDIBLE)
    }

    /// What the server has kept up with at the lowest load that failed above each that has passed.
    fn by_loss(&self) -> Option<f64> {
        let (passed, failed) = self.around_limit()?;
        let load = failed.kept_up / (1.0 - self.settings.criteria.allowed_loss()).max(0.1);
        let lowest = passed.map_or(0.0, |passed| passed.load / (1.0 + self.settings.precision));
        (failed.kept_up < failed.load * KEPT_UP && load > lowest && load < failed.load).then_some(load)
    }

    /// Where the latency meets its bound, if its inverse falls in a straight line, as that of a queue does nearly.
    fn by_latency(&self) -> Option<f64> {
        let (passed, failed) = self.around_limit()?;
        let passed = passed?;
        let (below, above) = (1.0 / passed.of_bound?, 1.0 / failed.of_bound?);
        let share = (below - 1.0) / (below - above);
        let load = passed.load + (failed.load - passed.load) * share;
        (below > 1.0 && above < 1.0 && load.is_finite()).then_some(load)
    }

    /// The trial at the highest load that has passed, and the one at the lowest that has failed above that.
    fn around_limit(&self) -> Option<(Option<&Trial>, &Trial)> {
        let by_load = |one: &&Trial, other: &&Trial| one.load.total_cmp(&other.load);
        let passed = self.clean().filter(|trial| trial.passed() == Some(true)).max_by(by_load);
        let highest = passed.map_or(0.0, |trial| trial.load);
        let failed = self.clean().filter(|trial| trial.passed() == Some(false) && trial.load > highest);
        Some((passed, failed.min_by(by_load)?))
    }
}

/// A server that has kept up with more than this share of the load has failed for another reason.
const KEPT_UP: f64 = 0.998;

/// How far from that load trials are made, in widths of the precision: one passes and one fails, if the limit is there.
const BESIDE: f64 = 0.6;

/// How far around a load, in widths of the precision, the belief is asked, and the probability that must be there.
const AROUND: f64 = 3.0;
const CREDIBLE: f64 = 0.04;

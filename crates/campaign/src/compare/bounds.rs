//! The bounds that make a comparison fail: `p99 +5%`.

use dnsdyno_plan::expect::ChangeBound;

use super::settings::{ALL_LEVEL, FEWEST_RUNS};
use super::verdict::Compared;

/// A bound and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundOutcome {
    /// As the user wrote it.
    pub text: String,
    /// The place of its metric in [`super::Comparison::metrics`]; `None` where it was not measured.
    pub metric: Option<usize>,
    /// Whether it was exceeded.
    pub state: BoundState,
}

/// Whether a bound was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundState {
    /// The change is not beyond the bound, or no change is shown.
    Kept,
    /// The change is beyond the bound, and a change is shown.
    Exceeded,
    /// Too few runs were made to tell a change from noise, or the metric was not measured.
    NotJudged,
}

/// Judges a bound. A metric that the user names is looked at alone.
pub(super) fn judge(bound: &ChangeBound, metrics: &[Compared]) -> BoundOutcome {
    let place = metrics.iter().position(|metric| metric.metric_is(&bound.of));
    let state = place.map_or(BoundState::NotJudged, |place| {
        let metric = &metrics[place];
        let is_beyond = metric.change.as_ref().is_some_and(|change| match bound.change.is_sign_negative() {
            true => change.estimate < bound.change,
            false => change.estimate > bound.change,
        });
        let can_show = metric.smallest_probability <= ALL_LEVEL;
        let is_shown = metric.probability.alone <= ALL_LEVEL;
        // A figure that is the same in all runs says that nothing has changed, if the runs are more than a few.
        let is_same = metric.is_constant && metric.baseline.len().min(metric.candidate.len()) >= FEWEST_RUNS;
        match (can_show || is_same, is_beyond && is_shown) {
            (false, _) => BoundState::NotJudged,
            (_, true) => BoundState::Exceeded,
            _ => BoundState::Kept,
        }
    });
    BoundOutcome { text: bound.text.clone(), metric: place, state }
}

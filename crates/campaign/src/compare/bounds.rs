//! The bounds that make a comparison fail: `p99 +5%`.
//!
//! ```text
//!                          +5 %
//!   kept            ├──────┤ │             the runs would have shown it
//!   not judged         ├─────┼──┤          they cannot rule it out
//!   exceeded                 │  ├─────┤    the change is beyond it, and a change is shown
//! ```

use dnsdyno_plan::expect::ChangeBound;

use super::settings::ALL_LEVEL;
use super::verdict::{Compared, Verdict};
use crate::statistics::{Interval, power};

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
    /// All that the runs leave possible is within the bound: they would have shown a change beyond it.
    Kept,
    /// The change is beyond the bound, and a change is shown, whatever the generator's part.
    Exceeded,
    /// The runs do not say it.
    NotJudged(NotJudged),
}

/// Why the runs do not say whether a bound was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJudged {
    /// The metric was not measured in each run.
    NotMeasured,
    /// Too few runs to tell a change from noise.
    TooFewRuns,
    /// Both sides are beyond the timeout, by any time.
    BeyondTimeout,
    /// Some runs are beyond the timeout, by any time: the change has no end.
    NoEnd,
    /// What the generator may have added decides.
    MayBeOurs,
    /// A change beyond the bound is possible.
    ReachesBeyond {
        /// The runs on each side that would tell, 9 times in 10; `None` where unknown, or too many.
        runs_needed: Option<u32>,
    },
}

/// Judges a bound. A metric that the user names is looked at alone.
pub(super) fn judge(bound: &ChangeBound, metrics: &[Compared]) -> BoundOutcome {
    let place = metrics.iter().position(|metric| metric.metric_is(&bound.of));
    let state = place
        .map_or(BoundState::NotJudged(NotJudged::NotMeasured), |place| state(bound.change, &metrics[place]));
    BoundOutcome { text: bound.text.clone(), metric: place, state }
}

fn state(bound: f64, metric: &Compared) -> BoundState {
    let is_upward = !bound.is_sign_negative();
    let is_beyond = |change: f64| if is_upward { change > bound } else { change < bound };
    let possible = &metric.possible;
    let is_shown = metric.probability.alone <= ALL_LEVEL && is_beyond(possible.seen);
    let is_theirs = possible.probability_apart <= ALL_LEVEL && is_beyond(possible.apart);
    let Some(interval) = possible.interval.filter(|_| metric.smallest_probability <= ALL_LEVEL) else {
        return BoundState::NotJudged(NotJudged::TooFewRuns);
    };
    let measured = metric.change.and_then(|change| change.interval);
    let is_within = |interval: Interval| !is_beyond(if is_upward { interval.to } else { interval.from });
    match () {
        () if metric.verdict == Verdict::NotCompared => BoundState::NotJudged(NotJudged::BeyondTimeout),
        () if is_shown && is_theirs => BoundState::Exceeded,
        () if is_within(interval) => BoundState::Kept,
        () if has_no_end(metric) => BoundState::NotJudged(NotJudged::NoEnd),
        () if possible.is_open && (is_shown || measured.is_some_and(is_within)) => {
            BoundState::NotJudged(NotJudged::MayBeOurs)
        }
        () => BoundState::NotJudged(NotJudged::ReachesBeyond { runs_needed: runs_needed(bound, metric) }),
    }
}

/// Whether a run is beyond the timeout.
fn has_no_end(metric: &Compared) -> bool {
    metric.baseline.iter().chain(&metric.candidate).any(|figure| figure.beyond_timeout)
}

/// How many runs would tell the change that was seen from the bound, if it is more than were made.
fn runs_needed(bound: f64, metric: &Compared) -> Option<u32> {
    let is_ratio = metric.change?.is_ratio;
    let scaled = |change: f64| if is_ratio { change.ln_1p() } else { change };
    let difference = scaled(bound) - scaled(metric.possible.seen);
    let made = metric.baseline.len().min(metric.candidate.len());
    power::runs_needed(difference, metric.possible.spread?, ALL_LEVEL).filter(|runs| *runs as usize > made)
}

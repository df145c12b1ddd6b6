//! The bounds that make a comparison fail: `p99 +5%`.
//!
//! ```text
//!                          +5 %
//!   kept            ├──────┤ │             the runs would have shown it
//!   not judged         ├─────┼──┤          they cannot rule it out
//!   exceeded                 │  ├─────┤    the change is beyond it, and a change is shown
//! ```

use dnsdyno_plan::expect::ChangeBound;

use super::figures::Kind;
use super::settings::ALL_LEVEL;
use super::verdict::{Compared, Verdict};
use crate::statistics::prediction::Population;
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
    /// On one side, every response of a run was a refusal.
    OnlyRefusals,
    /// Too few runs to tell a change from noise.
    TooFewRuns,
    /// Both sides are beyond the timeout, by any time.
    BeyondTimeout,
    /// Some runs are beyond the timeout, by any time: the change has no end.
    NoEnd,
    /// What the generator may have added decides.
    MayBeOurs,
    /// The change is beyond the bound, and the past has never varied: too few equal figures to tell a change.
    NeverVaried {
        /// The units of the past that would tell.
        units: u32,
    },
    /// A change beyond the bound is possible.
    ReachesBeyond {
        /// What would tell.
        needed: Needed,
    },
}

/// What would tell whether a bound is kept or exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// So many runs on each side, 9 times in 10.
    Runs(u32),
    /// A few runs more than were made: their spread is a chance, too.
    FewMore,
    /// No number of runs that one would make: the change is too near to the bound for their spread.
    TooMany,
    /// So many times the queries: the share was 0, or all, in each run of a side.
    TimesTheQueries(u32),
    /// So many units of the past.
    Units(u32),
    /// No number of them: the past spreads by more from unit to unit.
    NoPast,
}

/// Judges a bound. A metric that the user names is looked at alone. Where one side only refuses, its times, its rate
/// and its loss are those of an error.
pub(super) fn judge(bound: &ChangeBound, metrics: &[Compared], one_side_refuses: bool) -> BoundOutcome {
    let place = metrics.iter().position(|metric| metric.metric_is(&bound.of));
    let is_of_refusals =
        |metric: &Compared| one_side_refuses && (metric.kind != Kind::Share || metric.name == "loss");
    if place.is_some_and(|place| is_of_refusals(&metrics[place])) {
        let state = BoundState::NotJudged(NotJudged::OnlyRefusals);
        return BoundOutcome { text: bound.text.clone(), metric: place, state };
    }
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
        () if is_beyond(possible.seen) && metric.population.is_some_and(|past| past.never_varied()) => {
            BoundState::NotJudged(NotJudged::NeverVaried { units: Population::equals_needed(ALL_LEVEL) })
        }
        () => BoundState::NotJudged(NotJudged::ReachesBeyond { needed: needed(bound, metric) }),
    }
}

/// Whether a run is beyond the timeout.
fn has_no_end(metric: &Compared) -> bool {
    metric.baseline.iter().chain(&metric.candidate).any(|figure| figure.beyond_timeout)
}

/// What would tell the change that was seen from the bound.
fn needed(bound: f64, metric: &Compared) -> Needed {
    let is_ratio = metric.change.is_some_and(|change| change.is_ratio);
    let scaled = |change: f64| if is_ratio { change.ln_1p() } else { change };
    let difference = scaled(bound) - scaled(metric.possible.seen);
    if let Some(queries) = rare(bound, metric) {
        return Needed::TimesTheQueries(queries);
    }
    if let Some(population) = metric.population {
        return population.needed(difference).map_or(Needed::NoPast, Needed::Units);
    }
    let made = metric.baseline.len().min(metric.candidate.len());
    let runs = metric.possible.spread.and_then(|spread| power::runs_needed(difference, spread, ALL_LEVEL));
    match runs {
        None => Needed::TooMany,
        Some(runs) if runs as usize > made => Needed::Runs(runs),
        Some(_) => Needed::FewMore,
    }
}

/// How many times the queries would tell, where none of a side had its share: the interval is then that of the rule of
/// three, 3 of the queries on each such side.
fn rare(bound: f64, metric: &Compared) -> Option<u32> {
    let queries = metric.possible.queries_without? as f64;
    let is_seen_within = metric.possible.seen == 0.0 && metric.is_constant;
    let times = (3.0 / bound.abs() / queries).ceil();
    (is_seen_within && times.is_finite() && times <= f64::from(u32::MAX)).then_some((times as u32).max(2))
}

//! Gates: whether the newest run of a row is worse than its past by more than a bound.
//!
//! ```text
//!   ● ●● ●                      exceeded     a step that is worse by more than the bound, not accepted and not undone
//!  ──────────┐
//!            └──●─●●──●─        kept         all that the newest runs leave possible is within the bound
//!                               not judged   they leave more possible, or are not enough
//! ```
//!
//! The newest runs are those of the newest version, where the runs have the label `version`, and otherwise the newest
//! run alone. One run alone shows no step: it may be disturbed. So a gate that the newest run would exceed is not
//! judged until more runs say which it is.

use super::judge::{Judged, scaled};
use super::metric::{HISTORY_METRICS, HistoryMetric};
use super::rows::Row;
use crate::statistics::median;
use crate::statistics::steps::{FEWEST_AFTER, FEWEST_RUNS};

/// A bound of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As the user wrote it.
    pub text: String,
    /// The metric.
    pub metric: &'static HistoryMetric,
    /// How much worse it may become: a ratio, or a share of a share.
    pub bound: f64,
}

/// A gate that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("'{text}' is not a gate: write METRIC=BOUND%, as in 'rate=5%', with one of the metrics {}", keys())]
pub struct GateError {
    text: String,
}

fn keys() -> String {
    HISTORY_METRICS.map(|metric| metric.key).join(", ")
}

impl Gate {
    /// Reads a gate: `rate=5%`, `p99=10%`, `loss=0.1%` (percentage points).
    ///
    /// # Errors
    /// It has no such metric, or no percentage from 0.01 to 100.
    pub fn parse(text: &str) -> Result<Gate, GateError> {
        let wrong = || GateError { text: dnsdyno_text::shown(text, LONGEST).into_owned() };
        let (key, bound) = text.split_once('=').ok_or_else(wrong)?;
        let metric = HistoryMetric::named(key.trim()).ok_or_else(wrong)?;
        let bound: f64 =
            bound.trim().strip_suffix('%').and_then(|bound| bound.trim().parse().ok()).ok_or_else(wrong)?;
        // Nothing is worse by more than all of it, where more is better.
        let is_bound = (0.01..=100.0).contains(&bound) && (metric.less_is_better || bound < 100.0);
        match is_bound {
            true => Ok(Gate { text: text.trim().to_owned(), metric, bound: bound / 100.0 }),
            false => Err(wrong()),
        }
    }
}

/// What came of a gate in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct GateOutcome {
    /// The gate, as the user wrote it.
    pub gate: String,
    /// Its metric.
    pub metric: &'static HistoryMetric,
    /// The place of the row; `None` where no row has the metric.
    pub row: Option<usize>,
    /// What came of it.
    pub state: GateState,
}

/// What came of a gate.
#[derive(Clone, Debug, PartialEq)]
pub enum GateState {
    /// The newest runs are worse by this share at the most.
    Kept {
        /// As a ratio or share, with 95 % confidence.
        at_most: f64,
    },
    /// A step is worse than the bound.
    Exceeded {
        /// By how much the level is worse now than before the step, as a change: -0.05 for 5 % less.
        change: f64,
        /// The folder of the run at which the step began.
        began: String,
    },
    /// The runs do not say it.
    NotJudged(Why),
}

/// Why a gate is not judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// No run has the metric.
    NoRuns,
    /// Fewer than can show a step.
    TooFewRuns {
        /// How many there are.
        runs: usize,
    },
    /// The newest run has no figure that counts.
    NewestLeftOut {
        /// Why.
        why: String,
    },
    /// The newest runs are worse than the bound, and too few to be a step.
    NewestWorse {
        /// By how much, as a change.
        change: f64,
        /// The runs that would tell a step from a disturbed run.
        more: usize,
    },
    /// The runs leave a change beyond the bound possible.
    Noise {
        /// The change that they leave possible: a ratio, or a share.
        possible: f64,
    },
    /// The newest runs are beyond the timeout, by any time.
    BeyondTimeout,
    /// A slow change over all runs is beyond the bound.
    Drift {
        /// It, as a change.
        change: f64,
    },
}

/// Judges a gate in the rows that have the newest version, or the newest run.
pub(super) fn judge_gate(gate: &Gate, rows: &[(Row, Vec<Judged>)]) -> Vec<GateOutcome> {
    let newest = newest_of(rows);
    let outcome = |row: Option<usize>, state: GateState| GateOutcome {
        gate: gate.text.clone(),
        metric: gate.metric,
        row,
        state,
    };
    let mut outcomes = Vec::new();
    for (at, (row, all)) in rows.iter().enumerate().filter(|(_, (row, _))| is_newest(row, newest.as_deref()))
    {
        let judged = all.iter().find(|judged| judged.metric.key == gate.metric.key);
        outcomes.extend(judged.map(|judged| outcome(Some(at), state(gate, row, judged))));
        // The first row has the newest run.
        if newest.is_none() {
            break;
        }
    }
    if outcomes.is_empty() {
        outcomes.push(outcome(None, GateState::NotJudged(Why::NoRuns)));
    }
    outcomes
}

/// The version of the newest run.
fn newest_of(rows: &[(Row, Vec<Judged>)]) -> Option<String> {
    let runs = rows.iter().flat_map(|(row, _)| &row.runs);
    runs.max_by_key(|run| run.entry.started_unix_ns)?.entry.labels.get(VERSION).cloned()
}

fn is_newest(row: &Row, newest: Option<&str>) -> bool {
    let version =
        |run: &super::folder::HistoryRun| run.entry.labels.get(VERSION).map(String::as_str) == newest;
    newest.is_none() || row.runs.iter().any(version)
}

fn state(gate: &Gate, row: &Row, judged: &Judged) -> GateState {
    let last = row.runs.len() - 1;
    if judged.runs.last() != Some(&last) {
        let left_out = row.runs[last].entry.left_out.clone();
        let why = left_out.unwrap_or_else(|| format!("it has no {}", judged.metric.title));
        return GateState::NotJudged(Why::NewestLeftOut { why });
    }
    if !judged.is_enough() {
        return GateState::NotJudged(Why::TooFewRuns { runs: judged.runs.len() });
    }
    let bound = gate.metric.scaled_bound(gate.bound);
    if let Some((worse, step)) = worst_step(judged).filter(|(worse, _)| *worse > bound) {
        let began = row.runs[judged.runs[judged.found.steps[step].at]].folder.clone();
        let scaled = if judged.metric.less_is_better { worse } else { -worse };
        return GateState::Exceeded { change: judged.metric.change(scaled), began };
    }
    if let Some(drift) = judged.found.drift
        && judged.metric.worse(drift.size) > bound
    {
        return GateState::NotJudged(Why::Drift { change: judged.metric.change(drift.size) });
    }
    let newest = newest_runs(row, judged);
    if judged.metric.less_is_better
        && judged.runs.iter().rev().take(newest).any(|at| judged.is_at_least(row, *at))
    {
        return GateState::NotJudged(Why::BeyondTimeout);
    }
    within(judged, newest, bound)
}

/// Whether what the newest runs leave possible is within the bound.
fn within(judged: &Judged, newest: usize, bound: f64) -> GateState {
    let metric = judged.metric;
    let figures = scaled(metric, &judged.figures);
    let segment = judged.found.segments.last().map_or(0, |segment| segment.from);
    let split = (figures.len() - newest).max(segment);
    let (past, own) = (figures[segment..split].to_vec(), figures[split..].to_vec());
    let (level, level_error) = level_of(past, judged.found.noise);
    let (own, own_error) = level_of(own, judged.found.noise);
    let mut possible: f64 = match level_error {
        // The newest runs are the whole segment: only the steps before it are its past.
        None => 0.0,
        Some(error) => metric.worse(own - level) + CONFIDENT * error.hypot(own_error.unwrap_or(0.0)),
    };
    if level_error.is_some() && metric.worse(own - level) > bound && newest < FEWEST_AFTER {
        let more = FEWEST_AFTER - newest;
        return GateState::NotJudged(Why::NewestWorse { change: metric.change(own - level), more });
    }
    if let Some((worse, step)) = worst_step(judged) {
        let runs = |at: usize| judged.found.segments.get(at).map_or(1, |segment| segment.to - segment.from);
        let last = judged.found.segments.len() - 1;
        let error = |runs: usize| judged.found.noise * MEDIAN / (runs as f64).sqrt();
        possible = possible.max(worse + CONFIDENT * error(runs(step)).hypot(error(runs(last))));
    }
    if level_error.is_none() {
        let error = own_error.unwrap_or(judged.found.noise);
        possible = possible.max(CONFIDENT * error);
    }
    let turned = if metric.less_is_better { possible } else { -possible };
    let as_share = metric.change(turned).abs();
    match possible <= bound {
        true => GateState::Kept { at_most: if possible > 0.0 { as_share } else { 0.0 } },
        false => GateState::NotJudged(Why::Noise { possible: as_share }),
    }
}

/// The median of runs and its standard error; no error without runs.
fn level_of(mut figures: Vec<f64>, noise: f64) -> (f64, Option<f64>) {
    let runs = figures.len();
    let factor = if runs <= 2 { 1.0 } else { MEDIAN };
    let error = (runs > 0).then(|| noise * factor / (runs as f64).sqrt());
    (median(&mut figures), error)
}

/// The step, after the last accepted one, before which the level was better than now by most, with how much worse it is
/// now.
fn worst_step(judged: &Judged) -> Option<(f64, usize)> {
    let since = judged.accepted.iter().rposition(Option::is_some).map_or(0, |accepted| accepted + 1);
    let segments = &judged.found.segments;
    let now = segments.last()?.level;
    let worse = |step: usize| Some((judged.metric.worse(now - segments.get(step)?.level), step));
    (since..judged.found.steps.len()).filter_map(worse).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The runs at the end of the row that have the newest version; one, where it is not known.
fn newest_runs(row: &Row, judged: &Judged) -> usize {
    let version = |at: &usize| row.runs[*at].entry.labels.get(VERSION);
    let Some(newest) = judged.runs.last().and_then(version) else { return 1 };
    let count = judged.runs.iter().rev().take_while(|at| version(at) == Some(newest)).count();
    // A row of one version has no past but its earlier runs.
    if count + FEWEST_RUNS / 2 > judged.runs.len() { 1 } else { count.max(1) }
}

/// The label that says which runs belong together.
const VERSION: &str = "version";

/// The normal quantile of 0.95: a change that is worse than this is left possible in one of twenty.
const CONFIDENT: f64 = 1.645;

/// How much more a median varies than a mean.
const MEDIAN: f64 = 1.2533;

const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::super::accept::Accepted;
    use super::super::axis::Axis;
    use super::super::entry::EntryFigure;
    use super::super::folder::HistoryRun;
    use super::super::judge::judge;
    use super::super::rows::rows;
    use super::super::sample::stepped;
    use super::*;

    fn of(gate: &str, runs: Vec<HistoryRun>, accepted: &[Accepted]) -> GateState {
        let rows = rows(runs, &Axis::Time, &[]).into_iter();
        let rows: Vec<_> = rows.map(|row| (row.clone(), judge(&row, accepted, 1))).collect();
        judge_gate(&Gate::parse(gate).unwrap(), &rows).remove(0).state
    }

    #[test]
    fn a_gate_is_a_metric_and_a_percentage() {
        let gate = Gate::parse(" loss = 0.1 % ".trim()).unwrap();
        assert_eq!((gate.metric.key, gate.bound), ("loss", 0.001));
        for wrong in
            ["rate", "rate=5", "rate=-5%", "rate=0%", "rate=100%", "rate=nan%", "speed=5%", "=5%", "p99=1e9%"]
        {
            let why = Gate::parse(wrong).unwrap_err().to_string();
            assert!(why.contains("is not a gate: write METRIC=BOUND%"), "{why}");
        }
    }

    #[test]
    fn a_step_worse_than_the_bound_exceeds_it_until_it_is_accepted_or_undone() {
        let began = |state| match state {
            GateState::Exceeded { change, began } => Some(((change * 100.0).round(), began)),
            _ => None,
        };
        assert_eq!(began(of("rate=5%", stepped(40, 25, 0.9), &[])), Some((-10.0, "025".into())));
        let accepted = Accepted { run: "025".into(), reason: "intended".into(), unix_ns: 0 };
        let after = of("rate=5%", stepped(40, 25, 0.9), std::slice::from_ref(&accepted));
        assert!(matches!(after, GateState::Kept { .. }), "{after:?}");
        let mut undone = stepped(60, 25, 0.9);
        (45..60).for_each(|run| undone[run] = stepped(60, 60, 1.0)[run].clone());
        let after = of("rate=5%", undone, &[]);
        assert!(matches!(after, GateState::Kept { .. }), "{after:?}");
        let better = of("rate=5%", stepped(40, 25, 1.1), &[]);
        assert!(matches!(better, GateState::Kept { .. }), "{better:?}");
        let within = of("rate=20%", stepped(40, 25, 0.9), &[]);
        assert!(matches!(within, GateState::Kept { at_most } if at_most > 0.09), "{within:?}");
    }

    #[test]
    fn what_the_runs_cannot_show_is_not_judged() {
        let few = of("rate=5%", stepped(9, 9, 1.0), &[]);
        assert_eq!(few, GateState::NotJudged(Why::TooFewRuns { runs: 9 }));
        let noise = of("rate=0.5%", stepped(40, 40, 1.0), &[]);
        assert!(
            matches!(noise, GateState::NotJudged(Why::Noise { possible }) if possible > 0.005),
            "{noise:?}"
        );
        let newest = of("rate=5%", stepped(40, 39, 0.9), &[]);
        assert!(matches!(newest, GateState::NotJudged(Why::NewestWorse { more: 2, .. })), "{newest:?}");
        let mut left_out = stepped(40, 40, 1.0);
        left_out[39].entry.left_out = Some("in doubt".into());
        let state = of("rate=5%", left_out, &[]);
        assert_eq!(state, GateState::NotJudged(Why::NewestLeftOut { why: "in doubt".into() }));
        assert_eq!(of("p99=5%", stepped(40, 40, 1.0), &[]), GateState::NotJudged(Why::NoRuns));
    }

    #[test]
    fn latencies_beyond_the_timeout_keep_no_gate() {
        let mut runs = stepped(40, 40, 1.0);
        for (at, run) in runs.iter_mut().enumerate() {
            let figure = EntryFigure { at_least: at >= 38, ..EntryFigure::exact(20e6) };
            run.entry.figures.insert("p99".to_owned(), figure);
        }
        assert_eq!(of("p99=5%", runs, &[]), GateState::NotJudged(Why::BeyondTimeout));
    }

    #[test]
    fn the_newest_version_is_judged_by_all_its_runs() {
        let of_last = |last: usize| {
            let mut runs = stepped(40, 40, 1.0);
            for (at, run) in runs.iter_mut().enumerate() {
                let version = if at < 40 - last { "3.4" } else { "3.5" };
                run.entry.labels.insert("version".into(), version.into());
            }
            match of("rate=5%", runs, &[]) {
                GateState::Kept { at_most } => at_most,
                state => panic!("{state:?}"),
            }
        };
        assert!(of_last(8) < of_last(1), "{} {}", of_last(8), of_last(1));
    }

    #[test]
    fn a_bound_that_a_step_has_broken_is_seldom_kept() {
        // One run of noise 0.8 %: a loss of 5 % is never within 2 %.
        let state = of("rate=2%", stepped(40, 39, 0.95), &[]);
        assert!(matches!(state, GateState::NotJudged(_)), "{state:?}");
    }
}

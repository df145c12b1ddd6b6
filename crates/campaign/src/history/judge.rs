//! What a row shows: the steps of each of its figures, which of them are accepted, and the smallest that it could show.

use std::collections::BTreeMap;

use super::accept::Accepted;
use super::metric::{HISTORY_METRICS, HistoryMetric};
use super::rows::Row;
use crate::compare::Kind;
use crate::statistics::median;
use crate::statistics::steps::{self, FEWEST_RUNS, Step, Steps};

/// A figure over the runs of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Which figure.
    pub metric: &'static HistoryMetric,
    /// The runs that have it and count, as places in [`Row::runs`].
    pub runs: Vec<usize>,
    /// Their figures.
    pub figures: Vec<f64>,
    /// What was found, in the scale of [`HistoryMetric::change`]; places are those in `runs`.
    pub found: Steps,
    /// The reason of each step that is accepted.
    pub accepted: Vec<Option<Accepted>>,
    /// Labels that changed at each step, with the value before and after it.
    pub changed: Vec<Vec<(String, String, String)>>,
    /// The smallest change, in the scale of the figure, that 12 runs after it would show 9 times in 10; with half of
    /// the runs, where there are fewer than 24. `None` of too few runs.
    pub smallest: Option<f64>,
}

impl Judged {
    /// Whether the figure of a run of the row is only known to be as much at least: of a latency, the timeout.
    pub fn is_at_least(&self, row: &Row, at: usize) -> bool {
        row.runs[at].entry.figures.get(self.metric.key).is_some_and(|figure| figure.at_least)
    }

    /// Whether the runs are enough to show anything.
    pub fn is_enough(&self) -> bool {
        self.runs.len() >= FEWEST_RUNS
    }

    /// How much worse a step is, as a ratio or in shares; below 0 where it is better.
    pub fn worse(&self, step: &Step) -> f64 {
        self.metric.worse(step.size)
    }
}

/// The figures of a row.
pub(super) fn judge(row: &Row, accepted: &[Accepted], seed: u64) -> Vec<Judged> {
    HISTORY_METRICS.iter().filter_map(|metric| of_metric(metric, row, accepted, seed)).collect()
}

fn of_metric(metric: &'static HistoryMetric, row: &Row, accepted: &[Accepted], seed: u64) -> Option<Judged> {
    let figure = |at: usize| {
        row.runs[at].entry.figures.get(metric.key).filter(|_| row.runs[at].entry.left_out.is_none())
    };
    let runs: Vec<usize> = (0..row.runs.len()).filter(|at| figure(*at).is_some()).collect();
    let figures: Vec<f64> = runs.iter().filter_map(|at| Some(figure(*at)?.value)).collect();
    if runs.is_empty() {
        return None;
    }
    let queries: Vec<f64> = runs.iter().map(|at| row.runs[*at].entry.queries as f64).collect();
    let found = steps::find(&scaled(metric, &figures), least_noise(metric, &figures, queries), seed);
    let of_step = |step: &Step| accepted_at(step, row, &runs, accepted);
    let accepted = found.steps.iter().map(of_step).collect();
    let changed = found.steps.iter().map(|step| changed(step, row, &runs)).collect();
    let disturbed = found.disturbed.iter().filter(|is| **is).count() as f64 / runs.len() as f64;
    let last = found.segments.last().map_or(0, |segment| segment.to - segment.from);
    let after = USUAL_AFTER.min(last / 2);
    let smallest = steps::smallest(found.noise, last - after, after, disturbed);
    Some(Judged { metric, runs, figures, found, accepted, changed, smallest })
}

/// Logarithms, where changes are ratios; a figure of 0 is far below all others.
pub(super) fn scaled(metric: &HistoryMetric, figures: &[f64]) -> Vec<f64> {
    if !metric.has_ratios() {
        return figures.to_vec();
    }
    let least = (median(&mut figures.to_vec()) * NEARLY_NOTHING).max(f64::MIN_POSITIVE);
    figures.iter().map(|figure| figure.max(least).ln()).collect()
}

/// The noise that the figures have by themselves: the width of the histograms, the chance of a share.
fn least_noise(metric: &HistoryMetric, figures: &[f64], mut queries: Vec<f64>) -> f64 {
    match (metric.key, metric.kind) {
        ("cpu", _) => LEAST_OF_RATES,
        (_, Kind::Duration) => LEAST_OF_LATENCIES,
        (_, Kind::Rate) => LEAST_OF_RATES,
        (_, Kind::Share) => {
            let whole = Some(median(&mut queries)).filter(|queries| *queries >= 1.0).unwrap_or(USUAL_QUERIES);
            let share = median(&mut figures.to_vec()).max(1.0 / whole);
            (share * (1.0 - share).max(0.0) / whole).sqrt().max(1.0 / whole)
        }
    }
}

/// Queries of a run where that is not known: of experiments.
const USUAL_QUERIES: f64 = 10_000.0;

/// The reason for which a step is intended, where the run at which it may have begun is accepted.
fn accepted_at(step: &Step, row: &Row, runs: &[usize], accepted: &[Accepted]) -> Option<Accepted> {
    let places = runs.get(step.earliest..=step.latest)?;
    let named = |at: &usize| {
        let run = &row.runs[*at];
        let by_note =
            run.entry.accepted.clone().map(|reason| Accepted { run: run.folder.clone(), reason, unix_ns: 0 });
        // The last word counts.
        accepted.iter().rev().find(|one| one.run == run.folder).cloned().or(by_note)
    };
    places.iter().find_map(named)
}

/// The labels whose usual value is another one after the step than before it.
fn changed(step: &Step, row: &Row, runs: &[usize]) -> Vec<(String, String, String)> {
    let from = step.at.saturating_sub(BESIDE);
    let to = (step.at + BESIDE).min(runs.len());
    let usual = |runs: &[usize], key: &str| {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for at in runs {
            let value = row.runs[*at].entry.labels.get(key).map_or("", String::as_str);
            *counts.entry(value).or_default() += 1;
        }
        counts
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map(|(value, _)| value.to_owned())
            .unwrap_or_default()
    };
    let keys = runs[from..to].iter().flat_map(|at| row.runs[*at].entry.labels.keys());
    let keys: std::collections::BTreeSet<&String> = keys.collect();
    let change = |key: &String| {
        let (before, after) = (usual(&runs[from..step.at], key), usual(&runs[step.at..to], key));
        (before != after).then(|| (key.clone(), before, after))
    };
    keys.into_iter().filter_map(change).collect()
}

/// Runs after a step that it may take to be shown.
const USUAL_AFTER: usize = 12;

/// Runs on each side of a step whose labels are looked at.
const BESIDE: usize = 3;

/// Of the median: a figure of 0 has no logarithm.
const NEARLY_NOTHING: f64 = 1e-3;

/// A latency is known to a width of 1 %.
const LEAST_OF_LATENCIES: f64 = 0.004;

const LEAST_OF_RATES: f64 = 0.0005;

#[cfg(test)]
mod tests {
    use super::super::axis::Axis;
    use super::super::rows::rows;
    use super::super::sample::{at, stepped};
    use super::*;

    fn judged(runs: Vec<super::super::HistoryRun>, accepted: &[Accepted]) -> Judged {
        let row = rows(runs, &Axis::Time, &[]).remove(0);
        judge(&row, accepted, 1).into_iter().find(|judged| judged.metric.key == "rate").unwrap()
    }

    #[test]
    fn a_step_has_its_size_its_run_and_what_changed_there() {
        let mut runs = stepped(40, 25, 0.9);
        for (at, run) in runs.iter_mut().enumerate() {
            let version = if at < 25 { "3.4" } else { "3.5" };
            run.entry.labels.insert("version".into(), version.into());
        }
        let judged = judged(runs, &[]);
        let step = &judged.found.steps[0];
        assert_eq!((judged.found.steps.len(), step.at), (1, 25));
        assert!((judged.metric.change(step.size) + 0.1).abs() < 0.02 && judged.worse(step) > 0.0);
        assert_eq!(judged.changed[0], [("version".to_owned(), "3.4".to_owned(), "3.5".to_owned())]);
        assert!(judged.smallest.is_some_and(|smallest| smallest > 0.0));
    }

    #[test]
    fn runs_that_are_left_out_are_not_judged() {
        let mut runs = stepped(40, 40, 1.0);
        for run in &mut runs[30..40] {
            run.entry.figures.get_mut("rate").unwrap().value = 1.0;
            run.entry.left_out = Some("in doubt".into());
        }
        let judged = judged(runs, &[]);
        assert_eq!((judged.runs.len(), judged.found.steps.len()), (30, 0));
    }

    #[test]
    fn a_step_is_accepted_by_the_run_at_which_it_may_have_begun() {
        let accept = |run: &str| Accepted { run: run.into(), reason: "new host".into(), unix_ns: 1 };
        let of = |accepted: &[Accepted]| judged(stepped(40, 25, 0.9), accepted).accepted;
        assert_eq!(of(&[accept("025")]), [Some(accept("025"))]);
        assert_eq!(of(&[accept("010")]), [None]);
        let mut runs = stepped(40, 25, 0.9);
        runs[25].entry.accepted = Some("by its note".into());
        assert_eq!(judged(runs, &[]).accepted[0].as_ref().unwrap().reason, "by its note");
    }

    #[test]
    fn a_loss_of_nothing_has_the_noise_of_its_queries() {
        let loss = |lost: f64| {
            let run = |run: usize| {
                let mut one = at(run, 100.0);
                one.entry.figures.clear();
                let value = if run < 15 { 0.0 } else { lost };
                one.entry.figures.insert("loss".into(), super::super::entry::EntryFigure::exact(value));
                one.entry.queries = 10_000;
                one
            };
            let row = rows((0..30).map(run).collect(), &Axis::Time, &[]).remove(0);
            judge(&row, &[], 1).remove(0).found.steps.len()
        };
        assert_eq!((loss(0.0), loss(0.0001), loss(0.01)), (0, 0, 1));
    }

    #[test]
    fn a_few_runs_are_not_enough() {
        let judged = judged(stepped(6, 6, 1.0), &[]);
        assert!(!judged.is_enough() && judged.smallest.is_none());
    }
}

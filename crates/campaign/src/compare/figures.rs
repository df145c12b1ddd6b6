//! One figure of each run for each metric.

use dnsdyno_measure::{Loss, Tally};
use dnsdyno_plan::expect::{
    ComparedMetric, Durations, Figure as Of, Metric, QueryCount, ResponseCount, Unit,
};
use dnsdyno_record::expect::{Ends, Measured, measure_row, measure_run};
use dnsdyno_record::figures::{run_rate, sent};
use dnsdyno_record::{Digest, Headline, Row as Part};

use super::alike::steps_are_alike;
use super::run::ComparedRun;
use crate::statistics::median;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// In nanoseconds, queries per second, or as a share from 0 to 1.
    pub value: f64,
    /// Whether it is among the unanswered queries: `value` is then the timeout, and the figure is at least that.
    pub beyond_timeout: bool,
}

/// What the figures of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In nanoseconds.
    Duration,
    /// Per second.
    Rate,
    /// From 0 to 1.
    Share,
}

/// The figures of all runs: those of the baseline, then those of the candidate.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The metric, or the step.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) less_is_better: bool,
    pub(super) figures: Vec<Figure>,
    /// What each may have been without the generator's part, at the other extreme.
    pub(super) without_ours: Vec<f64>,
    /// The queries that each is a share of; 0 of any other figure.
    pub(super) wholes: Vec<u64>,
}

/// An end of what a figure may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Low,
    High,
}

impl Row {
    /// Figures without a part of the generator.
    #[cfg(test)]
    pub(super) fn exact(name: &str, kind: Kind, less_is_better: bool, figures: Vec<Figure>) -> Row {
        let without_ours = figures.iter().map(|figure| figure.value).collect();
        let wholes = vec![0; figures.len()];
        Row { name: name.to_owned(), kind, less_is_better, figures, without_ours, wholes }
    }

    /// Whether each figure is what it is: without a part of the generator, and not beyond the timeout.
    pub(super) fn is_exact(&self) -> bool {
        let mut ends = self.figures.iter().zip(&self.without_ours);
        ends.all(|(figure, without)| !figure.beyond_timeout && figure.value == *without)
    }

    /// The figures at one of their ends, scaled as [`Row::scaled`]. Those beyond the timeout may be as long as one
    /// likes.
    pub(super) fn scaled_at(&self, end: End) -> Vec<f64> {
        let of = |(figure, without): (&Figure, &f64)| {
            let value = match end {
                End::Low => figure.value.min(*without).max(figure.value / AS_FAR_AS_ONE_LIKES),
                End::High if figure.beyond_timeout => figure.value * AS_FAR_AS_ONE_LIKES,
                End::High if without.is_infinite() => figure.value * AS_FAR_AS_ONE_LIKES,
                End::High => figure.value.max(*without),
            };
            if self.has_ratios() { value.ln() } else { value }
        };
        self.figures.iter().zip(&self.without_ours).map(of).collect()
    }

    /// Whether changes are ratios: there is none to 0, and that of two small shares says little.
    pub(super) fn has_ratios(&self) -> bool {
        self.kind != Kind::Share && self.figures.iter().all(|figure| figure.value > 0.0)
    }

    /// The figures whose differences are tested: logarithms where changes are ratios.
    pub(super) fn scaled(&self) -> Vec<f64> {
        let of = |figure: &Figure| if self.has_ratios() { figure.value.ln() } else { figure.value };
        self.figures.iter().map(of).collect()
    }
}

/// The median; it is beyond the timeout where as many figures are.
pub(crate) fn median_of(figures: &[Figure]) -> Figure {
    let mut values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    let beyond = figures.iter().filter(|figure| figure.beyond_timeout).count();
    Figure { value: median(&mut values), beyond_timeout: beyond * 2 > figures.len() }
}

/// The metrics that are compared, that of `first` first, then the usual ones and those that are wanted; and the metrics
/// that some run does not have, each with such a run.
pub(super) fn rows_of_runs<'a>(
    first: &ComparedMetric,
    wanted: impl Iterator<Item = &'a ComparedMetric>,
    runs: &[&ComparedRun],
) -> (Vec<Row>, Vec<(String, String)>) {
    let mut metrics = vec![first.clone()];
    for metric in usual(runs).into_iter().chain(wanted.cloned()) {
        if !metrics.iter().any(|known| known.metric == metric.metric) {
            metrics.push(metric);
        }
    }
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for metric in metrics {
        let figures: Vec<_> = runs.iter().map(|run| of_run(metric.metric, &run.digest)).collect();
        match figures.iter().position(Option::is_none) {
            Some(without) => missing.push((metric.name, runs[without].label.clone())),
            None => rows.push(row(&metric, metric.name.clone(), figures)),
        }
    }
    (rows, missing)
}

/// The metric by steps of the load, where all runs have the same steps and each has a figure.
pub(super) fn rows_of_steps(metric: &ComparedMetric, runs: &[&ComparedRun]) -> Vec<Row> {
    let Some(steps) = runs.first().filter(|_| steps_are_alike(runs)).map(|run| run.digest.rows()) else {
        return Vec::new();
    };
    let of = |(i, step): (usize, &Part)| {
        let figures: Vec<_> = runs
            .iter()
            .map(|run| run.digest.rows().get(i).and_then(|part| of_part(metric.metric, &run.digest, part)))
            .collect();
        let is_complete = figures.iter().all(Option::is_some);
        is_complete.then(|| row(metric, step.label.clone().unwrap_or_default(), figures))
    };
    steps.iter().enumerate().filter_map(of).collect()
}

fn row(metric: &ComparedMetric, name: String, all: Vec<Option<OfRun>>) -> Row {
    let all = || all.iter().flatten();
    Row {
        name,
        kind: kind(metric.metric),
        less_is_better: less_is_better(metric.metric),
        figures: all().map(|one| one.figure).collect(),
        without_ours: all().map(|one| one.without_ours).collect(),
        wholes: all().map(|one| one.whole).collect(),
    }
}

/// What is judged first where the user names nothing: the rate where it is what the server can do, else p99, or the
/// median where there are too few queries for that.
pub(super) fn usual_first(runs: &[&ComparedRun]) -> Option<ComparedMetric> {
    let is_closed = runs.iter().all(|run| run.digest.header.headline == Headline::Service);
    let candidates: &[&str] = match is_closed {
        true => &["rate", "sent_rate", "p99", "p50", "loss"],
        false => &["p99", "p50", "loss", "sent_rate"],
    };
    let is_measured = |metric: &ComparedMetric| {
        runs.iter().all(|run| of_run(metric.metric, &run.digest).is_some())
            && !(metric.metric == Metric::AnsweredRate && runs.iter().all(|run| run.digest.header.send_only))
    };
    candidates.iter().filter_map(|name| ComparedMetric::parse(name).ok()).find(is_measured)
}

/// What is compared in any case. A load with several rates has no average rate.
fn usual(runs: &[&ComparedRun]) -> Vec<ComparedMetric> {
    let has_one_rate = runs.iter().all(|run| !run.digest.rows_are_phases());
    let is_send_only = runs.iter().all(|run| run.digest.header.send_only);
    let names: &[&str] = match (is_send_only, has_one_rate) {
        (true, _) => &["sent_rate"],
        (false, true) => &["rate", "loss", "p50", "p90", "p99", "p99.9", "avg"],
        (false, false) => &["loss", "p50", "p90", "p99", "p99.9", "avg"],
    };
    names.iter().filter_map(|name| ComparedMetric::parse(name).ok()).collect()
}

/// The figure of a run, of the metric of this name as in expectations; `None` where the run does not have it.
pub(crate) fn figure_of(metric: &str, digest: &Digest) -> Option<Figure> {
    let metric = ComparedMetric::parse(metric).ok()?;
    of_run(metric.metric, digest).map(|of| of.figure)
}

/// The figure of one run.
#[derive(Clone, Copy)]
struct OfRun {
    figure: Figure,
    without_ours: f64,
    whole: u64,
}

impl OfRun {
    fn exact(value: f64) -> OfRun {
        OfRun { figure: Figure { value, beyond_timeout: false }, without_ours: value, whole: 0 }
    }
}

/// The figure of a run; `None` where too few queries carry it.
fn of_run(metric: Metric, digest: &Digest) -> Option<OfRun> {
    let tally = digest.tally();
    let ends = measure_run(metric, digest);
    match metric {
        // A run without any answer has a rate, which is 0, and percentiles, which are beyond the timeout.
        Metric::AnsweredRate => {
            let value = run_rate(digest, tally.ends.answered)?;
            let without_ours = match (&ends.measured, &ends.without_ours) {
                (Measured::RateQps(measured), Measured::RateQps(without)) => value * (without / measured),
                _ => run_rate(digest, digest.loss().ours)?,
            };
            Some(OfRun { without_ours, ..OfRun::exact(value) })
        }
        Metric::SentRate => run_rate(digest, sent(tally)).map(OfRun::exact),
        _ => of_ends(&ends).or_else(|| unanswered(metric, digest, tally, digest.loss())),
    }
}

/// The figure of a part of a run.
fn of_part(metric: Metric, digest: &Digest, part: &Part) -> Option<OfRun> {
    let ends = measure_row(metric, digest, part);
    of_ends(&ends).or_else(|| unanswered(metric, digest, &part.tally, digest.loss_of(part)))
}

/// A percentile of queries of which none was answered.
fn unanswered(metric: Metric, digest: &Digest, tally: &Tally, loss: Loss) -> Option<OfRun> {
    let Metric::Duration(which, Of::Quantile(q)) = metric else { return None };
    if which == Durations::Lateness || tally.ends.answered > 0 {
        return None;
    }
    digest.header.latency_of(tally).percentile(q)?;
    let value = digest.header.timeout_ns as f64;
    let without_ours = if loss.ours > 0 { 0.0 } else { value };
    Some(OfRun { figure: Figure { value, beyond_timeout: true }, without_ours, whole: 0 })
}

fn of_ends(ends: &Ends) -> Option<OfRun> {
    let (figure, whole) = figure(&ends.measured)?;
    let without_ours = figure_value(&ends.without_ours).unwrap_or(figure.value);
    Some(OfRun { figure, without_ours, whole })
}

fn figure_value(measured: &Measured) -> Option<f64> {
    figure(measured).map(|(figure, _)| figure.value)
}

/// The figure, and the queries that it is a share of.
fn figure(measured: &Measured) -> Option<(Figure, u64)> {
    let at = |value| Figure { value, beyond_timeout: false };
    match measured {
        Measured::Part { part, whole } if *whole > 0 => Some((at(*part as f64 / *whole as f64), *whole)),
        Measured::Duration(ns) => Some((at(*ns as f64), 0)),
        Measured::BeyondTimeout { timeout_ns } => {
            Some((Figure { value: *timeout_ns as f64, beyond_timeout: true }, 0))
        }
        Measured::RateQps(qps) => Some((at(*qps), 0)),
        Measured::Part { .. }
        | Measured::Count(_)
        | Measured::Generator { .. }
        | Measured::TooFew { .. }
        | Measured::Partial { .. }
        | Measured::Nothing(_) => None,
    }
}

/// Beyond the timeout, and where nothing is known, a figure may be so many times as long: any, in a logarithm.
const AS_FAR_AS_ONE_LIKES: f64 = 1e6;

fn kind(metric: Metric) -> Kind {
    match metric.unit() {
        Unit::Duration => Kind::Duration,
        Unit::Rate => Kind::Rate,
        Unit::ShareOrCount | Unit::Count | Unit::Verdict => Kind::Share,
    }
}

fn less_is_better(metric: Metric) -> bool {
    !matches!(
        metric,
        Metric::AnsweredRate
            | Metric::SentRate
            | Metric::Queries(QueryCount::Answered)
            | Metric::Responses(ResponseCount::Rcode(0))
    )
}

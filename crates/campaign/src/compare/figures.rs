//! One figure of each run for each metric.

use dnsdyno_plan::expect::{ComparedMetric, Metric, QueryCount, ResponseCount, Unit};
use dnsdyno_record::Row as Part;

use super::alike::steps_are_alike;
use super::figure::{Figure, Missing, OfRun, of_part};
use super::run::ComparedRun;
use super::subject::{LatencyFrom, Subject};

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
    /// Whether an end of a figure is that of a bucket of another program, and none is a part of the generator.
    pub(super) is_rounded: bool,
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
        Row { name: name.to_owned(), kind, less_is_better, figures, without_ours, wholes, is_rounded: false }
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

/// The metrics that are compared, that of `first` first, then the usual ones and those that are wanted; and the metrics
/// that some run does not have, each with such a run and why.
pub(super) fn rows_of_runs<'a>(
    first: &ComparedMetric,
    wanted: impl Iterator<Item = &'a ComparedMetric>,
    runs: &[&Subject],
) -> (Vec<Row>, Vec<NotMeasured>) {
    let mut metrics = vec![first.clone()];
    for metric in usual(runs).into_iter().chain(wanted.cloned()) {
        if !metrics.iter().any(|known| known.metric == metric.metric) {
            metrics.push(metric);
        }
    }
    let from = LatencyFrom::of(runs);
    let (mut rows, mut missing) = (Vec::new(), Vec::new());
    for metric in metrics {
        let figures: Result<Vec<OfRun>, NotMeasured> = runs
            .iter()
            .map(|run| {
                let not = |why| NotMeasured { metric: metric.name.clone(), run: run.label().to_owned(), why };
                run.figure(&metric, from).map_err(not)
            })
            .collect();
        match figures {
            Ok(figures) => rows.push(row(&metric, metric.name.clone(), &figures)),
            Err(not) => missing.push(not),
        }
    }
    (rows, missing)
}

/// A metric that a run does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotMeasured {
    pub(super) metric: String,
    pub(super) run: String,
    pub(super) why: Missing,
}

/// The metric by steps of the load, where all runs have the same steps and each has a figure.
pub(super) fn rows_of_steps(metric: &ComparedMetric, runs: &[&ComparedRun]) -> Vec<Row> {
    let Some(steps) = runs.first().filter(|_| steps_are_alike(runs)).map(|run| run.digest.rows()) else {
        return Vec::new();
    };
    let of = |(i, step): (usize, &Part)| {
        let figures: Option<Vec<OfRun>> = runs
            .iter()
            .map(|run| run.digest.rows().get(i).and_then(|part| of_part(metric.metric, &run.digest, part)))
            .collect();
        figures.map(|figures| row(metric, step.label.clone().unwrap_or_default(), &figures))
    };
    steps.iter().enumerate().filter_map(of).collect()
}

fn row(metric: &ComparedMetric, name: String, all: &[OfRun]) -> Row {
    let mut open = all.iter().filter(|one| one.without_ours != one.figure.value).peekable();
    Row {
        name,
        kind: kind(metric.metric),
        less_is_better: less_is_better(metric.metric),
        figures: all.iter().map(|one| one.figure).collect(),
        without_ours: all.iter().map(|one| one.without_ours).collect(),
        wholes: all.iter().map(|one| one.whole).collect(),
        is_rounded: open.peek().is_some() && open.all(|one| one.is_rounded),
    }
}

/// What is judged first where the user names nothing: the rate where it is what the server can do, else p99, or the
/// median where there are too few queries for that, or the average where a format has no percentiles.
pub(super) fn usual_first(runs: &[&Subject]) -> Option<ComparedMetric> {
    let is_closed = runs.iter().all(|run| run.is_closed_loop());
    let candidates: &[&str] = match is_closed {
        true => &["rate", "sent_rate", "p99", "p50", "loss"],
        false => &["p99", "p50", "avg", "loss", "sent_rate"],
    };
    let from = LatencyFrom::of(runs);
    let is_send_only = runs.iter().all(|run| run.is_send_only());
    let is_measured = |metric: &ComparedMetric| {
        runs.iter().all(|run| run.figure(metric, from).is_ok())
            && !(metric.metric == Metric::AnsweredRate && is_send_only)
    };
    candidates.iter().filter_map(|name| ComparedMetric::parse(name).ok()).find(is_measured)
}

/// What is compared in any case. A load with several rates has no average rate.
fn usual(runs: &[&Subject]) -> Vec<ComparedMetric> {
    let has_one_rate =
        runs.iter().filter_map(|subject| subject.run()).all(|run| !run.digest.rows_are_phases());
    let is_send_only = runs.iter().all(|run| run.is_send_only());
    let names: &[&str] = match (is_send_only, has_one_rate) {
        (true, _) => &["sent_rate"],
        (false, true) => &["rate", "loss", "p50", "p90", "p99", "p99.9", "avg"],
        (false, false) => &["loss", "p50", "p90", "p99", "p99.9", "avg"],
    };
    names.iter().filter_map(|name| ComparedMetric::parse(name).ok()).collect()
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

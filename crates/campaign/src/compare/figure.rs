//! The figure of one run.

use dnsdyno_measure::{Loss, Tally};
use dnsdyno_plan::expect::{ComparedMetric, Durations, Figure as Of, Metric};
use dnsdyno_record::expect::{Ends, Measured, measure_row, measure_run};
use dnsdyno_record::figures::{run_rate, sent};
use dnsdyno_record::{Digest, Row as Part};

use crate::statistics::median;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// In nanoseconds, queries per second, or as a share from 0 to 1.
    pub value: f64,
    /// Whether it is among the unanswered queries: `value` is then the timeout, and the figure is at least that.
    pub beyond_timeout: bool,
}

/// Why a run does not have a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// It has too few queries, or is too short.
    TooFew,
    /// The format of the other program does not have it.
    NotInFormat,
    /// The programs count latencies from different instants.
    OtherInstant,
}

/// The median; it is beyond the timeout where as many figures are.
pub(crate) fn median_of(figures: &[Figure]) -> Figure {
    let mut values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
    let beyond = figures.iter().filter(|figure| figure.beyond_timeout).count();
    Figure { value: median(&mut values), beyond_timeout: beyond * 2 > figures.len() }
}

/// The figure of a run, of the metric of this name as in expectations; `None` where the run does not have it.
pub(crate) fn figure_of(metric: &str, digest: &Digest) -> Option<Figure> {
    let metric = ComparedMetric::parse(metric).ok()?;
    of_run(metric.metric, digest).map(|of| of.figure)
}

/// The figure of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OfRun {
    pub(super) figure: Figure,
    /// What it may have been without the generator's part, or the other end of a bucket.
    pub(super) without_ours: f64,
    /// The queries that it is a share of; 0 of any other figure.
    pub(super) whole: u64,
    /// Whether the other end is that of a bucket.
    pub(super) is_rounded: bool,
}

impl OfRun {
    pub(super) fn exact(value: f64) -> OfRun {
        OfRun {
            figure: Figure { value, beyond_timeout: false },
            without_ours: value,
            whole: 0,
            is_rounded: false,
        }
    }

    /// A figure in a bucket. As in our own histograms it is at the upper end.
    pub(super) fn rounded(from: f64, to: f64) -> OfRun {
        OfRun { without_ours: from, is_rounded: true, ..OfRun::exact(to) }
    }
}

/// The figure of a run; `None` where too few queries carry it.
pub(super) fn of_run(metric: Metric, digest: &Digest) -> Option<OfRun> {
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
pub(super) fn of_part(metric: Metric, digest: &Digest, part: &Part) -> Option<OfRun> {
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
    Some(OfRun { figure: Figure { value, beyond_timeout: true }, without_ours, ..OfRun::exact(value) })
}

fn of_ends(ends: &Ends) -> Option<OfRun> {
    let (figure, whole) = figure(&ends.measured)?;
    let without_ours = figure_value(&ends.without_ours).unwrap_or(figure.value);
    Some(OfRun { figure, without_ours, whole, is_rounded: false })
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

impl Missing {
    /// What is added to "not measured in RUN".
    pub(super) fn is_in_words(self) -> &'static str {
        match self {
            Missing::TooFew => "",
            Missing::NotInFormat => ", whose format does not have it",
            Missing::OtherInstant => " from the same instant as in the others",
        }
    }

    /// A metric that is probably there.
    pub(super) fn other(self) -> &'static str {
        match self {
            Missing::TooFew => "p50",
            Missing::NotInFormat => "avg, rate or loss",
            Missing::OtherInstant => "rate or loss",
        }
    }
}

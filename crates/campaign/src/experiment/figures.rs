//! The figures of a run, and a figure over the runs of a cell.

use dnsdyno_measure::{PERCENTILES, Samples};
use dnsdyno_record::figures::{carries_a_rate, is_partial, rate_qps, run_rate};
use dnsdyno_record::{Digest, Row};

use super::behind::{Limit, limit};
use super::column::Column;
use super::judge::loss;
use super::seconds::{CPU_TIME, Seconds, process_of};
use crate::compare::{Figure, figure_of, median_of};
use crate::doubts::with_effect;
use crate::statistics::mean;

/// The figures of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Its number in the experiment, from 1.
    pub number: u32,
    /// The rate asked; `None` in a closed loop.
    pub asked_qps: Option<f64>,
    /// The rate answered; `None` where the run is too short for one.
    pub answered_qps: Option<f64>,
    /// The answered share, 0 to 1.
    pub share: Option<f64>,
    /// In the order of [`PERCENTILES`].
    pub percentiles: [Option<Figure>; PERCENTILES.len()],
    /// The mean latency of the answered queries.
    pub average: Option<Figure>,
    /// The shortest latency.
    pub shortest: Option<Figure>,
    /// The longest latency; beyond the timeout where a query was not answered.
    pub longest: Option<Figure>,
    /// Queries of the run.
    pub queries: u64,
    /// Bits of the responses in each second: of DNS messages, without the headers of UDP, TCP and IP.
    pub bits_per_s: Option<f64>,
    /// How much the rate of answers differs between the seconds of the run: [`Seconds::wobble`].
    pub wobble: Option<f64>,
    /// The CPU time of the server's process for each answer, in ns, where it was watched.
    pub cpu_ns: Option<f64>,
    /// What that process has used of one CPU: [`Seconds::cpu_share`].
    pub cpu_share: Option<f64>,
    /// The most memory of that process, in octets.
    pub memory_bytes: Option<f64>,
    /// Which percentiles are too wide: too much of them may be the generator's.
    pub wide: [bool; PERCENTILES.len()],
    /// Whether its rate or loss was in doubt.
    pub is_in_doubt: bool,
    /// Why its figures may be those of the world behind the server.
    pub(super) behind: Option<Limit>,
    /// The share of the answers with each RCODE.
    pub rcodes: Vec<(u16, f64)>,
    /// Made of watched series, in the order of the columns of the results.
    pub columns: Vec<Option<f64>>,
}

/// Percentiles over the runs; `None` where some run has too few queries for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// In the order of [`PERCENTILES`].
    pub values: [Option<Spread>; PERCENTILES.len()],
}

/// A figure over the runs of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Of the lowest run.
    pub lowest: Figure,
    /// The median of the runs.
    pub median: Figure,
    /// The mean of the runs; of a latency beyond the timeout, the timeout counts.
    pub mean: f64,
    /// Of the highest run.
    pub highest: Figure,
    /// Whether too much of it may be the generator's, in half of the runs or more.
    pub is_wide: bool,
}

impl Spread {
    /// The figure over runs; `None` where there is none, or some run does not have it.
    pub(super) fn of(figures: impl Iterator<Item = Option<Figure>>) -> Option<Spread> {
        let figures: Vec<Figure> = figures.collect::<Option<_>>()?;
        let by = |a: &&Figure, b: &&Figure| a.value.total_cmp(&b.value);
        let lowest = *figures.iter().min_by(by)?;
        let highest = *figures.iter().max_by(by)?;
        let values: Vec<f64> = figures.iter().map(|figure| figure.value).collect();
        Some(Spread { lowest, median: median_of(&figures), mean: mean(&values), highest, is_wide: false })
    }

    /// The same of figures that are never beyond the timeout.
    pub(super) fn of_values(values: impl Iterator<Item = Option<f64>>) -> Option<Spread> {
        Spread::of(values.map(|value| value.map(|value| Figure { value, beyond_timeout: false })))
    }
}

impl Percentiles {
    /// Those of runs.
    pub(super) fn of(runs: &[OfRun]) -> Percentiles {
        let mut percentiles = Percentiles::default();
        for (at, slot) in percentiles.values.iter_mut().enumerate() {
            let wide = runs.iter().filter(|run| run.wide.get(at) == Some(&true)).count();
            let of_runs = Spread::of(runs.iter().map(|run| run.values.get(at).copied().flatten()));
            *slot = of_runs.map(|spread| Spread { is_wide: wide * 2 >= runs.len(), ..spread });
        }
        percentiles
    }
}

/// The percentiles of one run, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OfRun {
    /// In the order of [`PERCENTILES`].
    pub(super) values: [Option<Figure>; PERCENTILES.len()],
    /// Which of them are too wide.
    pub(super) wide: [bool; PERCENTILES.len()],
}

impl OfRun {
    /// Those of the whole run, or of `row`, a part of it.
    pub(super) fn of(run: &Digest, row: Option<&Row>) -> OfRun {
        let of_headline = row.map_or_else(|| run.percentiles(), |row| run.percentiles_of(row));
        let ends = PERCENTILES.map(|(.., q)| of_headline.at(q));
        let values = ends.map(|bounds| {
            let written = bounds?.upper.written(run.header.timeout_ns);
            Some(Figure { value: written.ns as f64, beyond_timeout: written.beyond_timeout })
        });
        OfRun { values, wide: ends.map(|bounds| bounds.is_some_and(|bounds| bounds.is_wide())) }
    }
}

impl RunFigures {
    /// The figures of the run of this number.
    pub fn of(number: u32, run: &Digest, seconds: &Seconds, columns: &[Column]) -> RunFigures {
        let tally = run.tally();
        let OfRun { values: percentiles, wide } = OfRun::of(run, None);
        let answers = tally.rcodes.total().max(1) as f64;
        let behind = limit(run);
        RunFigures {
            number,
            asked_qps: asked(run),
            answered_qps: run_rate(run, tally.ends.answered),
            share: loss(run).map(|loss| 1.0 - loss),
            percentiles,
            average: figure_of("avg", run),
            shortest: figure_of("min", run),
            longest: figure_of("max", run),
            queries: tally.scheduled,
            bits_per_s: bits_per_s(run),
            wobble: seconds.wobble(),
            cpu_ns: cpu_of_answer(run),
            cpu_share: seconds.cpu_share().or_else(|| cpu_over_run(run)),
            memory_bytes: process(run)
                .and_then(|process| process.gauges.get(MEMORY))
                .map(|bytes| *bytes as f64),
            wide,
            is_in_doubt: !with_effect(run).is_empty() || behind.is_some_and(Limit::is_a_doubt),
            behind,
            rcodes: tally.rcodes.iter().map(|(code, count)| (code, count as f64 / answers)).collect(),
            columns: columns.iter().map(|column| column.of(run)).collect(),
        }
    }
}

/// What was read of the server's process over the run.
fn process(run: &Digest) -> Option<&Samples> {
    run.watched().get(process_of(&run.header.watched)?)?.as_ref()
}

/// The CPU time of the server's process. One that has used no CPU is not the one that answers: NSD's listener has
/// children for that.
fn cpu_time(run: &Digest) -> Option<u64> {
    process(run)?.counters.get(CPU_TIME).copied().filter(|cpu_ns| *cpu_ns > 0)
}

/// The CPU time of the server's process for each answer, in ns. What the kernel does for it outside of its calls, such
/// as the work of an interface, is in no process.
pub(crate) fn cpu_of_answer(run: &Digest) -> Option<f64> {
    let answered = run.tally().ends.answered;
    cpu_time(run).filter(|_| answered > 0).map(|cpu_ns| cpu_ns as f64 / answered as f64)
}

/// What the process has used of one CPU, where it was read before and after the run only.
fn cpu_over_run(run: &Digest) -> Option<f64> {
    cpu_time(run).filter(|_| run.to_ns() > 0).map(|cpu_ns| cpu_ns as f64 / run.to_ns() as f64)
}

fn bits_per_s(run: &Digest) -> Option<f64> {
    let bytes = run.tally().bytes_answered;
    let has_rate = bytes > 0 && carries_a_rate(run) && !is_partial(run);
    has_rate.then(|| rate_qps(bytes.saturating_mul(8), run.sending_ns()))
}

/// The rate asked, on average over the schedule, which may end before the last interval.
fn asked(run: &Digest) -> Option<f64> {
    let asked_micro: u64 = run.rows().iter().map(|row| row.asked_micro).sum();
    (asked_micro > 0 && run.schedule_ns() > 0).then(|| asked_micro as f64 * 1e3 / run.schedule_ns() as f64)
}

/// The gauge of a process.
const MEMORY: &str = "memory_bytes";

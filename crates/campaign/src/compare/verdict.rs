//! The verdict on a metric, and that on all of them.

use std::ops::Range;

use dnsdyno_plan::expect::ComparedMetric;

use super::design::Design;
use super::figure::{Figure, median_of};
use super::figures::{End, Kind, Row};
use super::settings::{FIRST_LEVEL, Settings};
use crate::statistics::permutation::Probability;
use crate::statistics::prediction::Population;
use crate::statistics::{Interval, Shift, effect};

/// A metric, or a step, of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The metric's name as in expectations, or the label of the step.
    pub name: String,
    /// What its figures are.
    pub kind: Kind,
    /// Whether less is better.
    pub less_is_better: bool,
    /// One figure for each run of the baseline.
    pub baseline: Vec<Figure>,
    /// One for each run of the candidate.
    pub candidate: Vec<Figure>,
    /// The median of the baseline.
    pub baseline_median: Figure,
    /// The median of the candidate.
    pub candidate_median: Figure,
    /// From the baseline to the candidate; `None` where the baseline is beyond the timeout.
    pub change: Option<Change>,
    /// What the runs leave possible, the generator's part in them included.
    pub possible: Possible,
    /// Probability that a run of the candidate is above one of the baseline: A12 of Vargha and Delaney.
    pub effect: f64,
    /// Of a difference as large, if there is none; 1 where nothing differs.
    pub probability: Probability,
    /// The smallest that so many runs can give.
    pub smallest_probability: f64,
    /// Below which a difference is called.
    pub level: Level,
    /// Whether all runs have the same figure.
    pub is_constant: bool,
    /// What the past says, where the baseline is the past.
    pub population: Option<Population>,
    /// Whether what a figure may also have been is the rounding of another program's format, not the generator's part.
    pub is_rounded: bool,
    /// The verdict.
    pub verdict: Verdict,
}

/// A change from the baseline to the candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// 0.05 = 5 % more; of a share in shares, 0.002 = 0.2 percentage points more; of rates of which one is 0 per
    /// second.
    pub estimate: f64,
    /// Contains the true change 95 times in 100; `None` where too few runs were made.
    pub interval: Option<Interval>,
    /// Whether it is a ratio.
    pub is_ratio: bool,
    /// Whether the candidate is beyond the timeout, so that the change is at least this.
    pub at_least: bool,
    /// The change that so many runs show 9 times in 10.
    pub shown: Option<f64>,
    /// The runs on each side that it takes to show this change 9 times in 10; `None` where too many, or unknown.
    pub runs_needed: Option<u32>,
}

/// What the runs leave possible of a change, in the unit of [`Change::estimate`]. A figure beyond the timeout may be as
/// long as one likes, and the generator's part in the figures of either side may be any part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Possible {
    /// The change as it was seen; one beyond the timeout is at least, or at most, this.
    pub seen: f64,
    /// Contains the true change of the servers 95 times in 100; `None` where too few runs were made.
    pub interval: Option<Interval>,
    /// Whether a figure has a part of the generator, or is beyond the timeout.
    pub is_open: bool,
    /// The change where the generator's part explains as much of it as it can.
    pub apart: f64,
    /// Of a difference as large as that, if there is none.
    pub probability_apart: f64,
    /// The standard deviation between runs of a side, in the scale of the test.
    pub spread: Option<f64>,
    /// Of a share of which a side had none, or nothing else: the fewest queries of such a side.
    pub queries_without: Option<u64>,
}

/// The probability below which a difference is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Whether the figure is looked at alone.
    pub is_alone: bool,
    /// The probability.
    pub value: f64,
}

/// The verdict on a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The candidate is better.
    Better,
    /// The candidate is worse.
    Worse,
    /// The runs show no difference.
    NoDifference,
    /// The generator's part in the figures can explain the difference.
    MayBeOurs,
    /// Both sides are beyond the timeout, by any time.
    NotCompared,
    /// So few runs can show none.
    TooFew,
}

/// The verdict on all metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All metrics that differ are better.
    Better,
    /// All metrics that differ are worse.
    Worse,
    /// Some are better and some are worse.
    Mixed,
    /// No metric differs.
    NoDifference,
    /// No metric differs for certain, and the one that is judged first was not compared, or one differs by what the
    /// generator can explain.
    Undecided,
    /// So few runs can show nothing.
    TooFew,
}

/// A change as a factor: of how many times the candidate is the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// The candidate divided by the baseline.
    pub estimate: f64,
    /// Contains the true factor 95 times in 100; `None` where too few runs were made.
    pub interval: Option<Interval>,
}

impl Change {
    /// The change as a factor; `None` where it is no ratio.
    pub fn factor(&self) -> Option<Factor> {
        let of = |change: f64| change + 1.0;
        let interval = self.interval.map(|ends| Interval { from: of(ends.from), to: of(ends.to) });
        self.is_ratio.then(|| Factor { estimate: of(self.estimate), interval })
    }
}

impl Factor {
    /// Whether the sides differ so much that a percentage would be hard to read.
    pub fn is_large(&self) -> bool {
        self.estimate >= LARGE_FACTOR || self.estimate <= 1.0 / LARGE_FACTOR
    }

    /// The larger side divided by the smaller one.
    pub fn turned_up(self) -> Factor {
        if self.estimate >= 1.0 {
            return self;
        }
        let interval = self.interval.map(|ends| Interval { from: 1.0 / ends.to, to: 1.0 / ends.from });
        Factor { estimate: 1.0 / self.estimate, interval }
    }
}

/// From which factor on a change is told as one: a doubled figure is "twice", not "100 % higher".
const LARGE_FACTOR: f64 = 2.0;

impl Compared {
    /// Judges the figures of a row.
    pub(super) fn new(row: Row, design: &Design<'_>, p: Probability, level: Level) -> Compared {
        let (runs, settings) = (design.runs, design.settings);
        let scaled = row.scaled();
        let (a, b) = scaled.split_at(runs);
        let (baseline, candidate) = row.figures.split_at(runs);
        let (baseline_median, candidate_median) = (median_of(baseline), median_of(candidate));
        let smallest_probability = design.smallest(b.len());
        let is_constant = scaled.iter().all(|figure| *figure == scaled[0]);
        let is_ratio = row.has_ratios();
        // An interval of so few runs that nothing can be shown would be a guess.
        let is_known = smallest_probability <= settings.level(FIRST_LEVEL);
        let resamples = if is_known { settings.resamples } else { 0 };
        let shift = design.shift(&scaled, resamples);
        let possible = Possible::of(&row, design, shift, p, resamples);
        let change = shift.filter(|_| !baseline_median.beyond_timeout).map(|shift| {
            let of = |shift: f64| if is_ratio { shift.exp_m1() } else { shift };
            Change {
                estimate: of(shift.estimate),
                interval: shift.interval.map(|ends| Interval { from: of(ends.from), to: of(ends.to) }),
                is_ratio,
                at_least: candidate_median.beyond_timeout,
                // The first metric is the one that more runs are made for.
                shown: design.shown(&scaled).filter(|_| is_known || design.past.is_none()).map(of),
                runs_needed: design.runs_needed(&scaled, shift.estimate),
            }
        });
        let effect = effect(a, b).unwrap_or(0.5);
        let probability = if level.is_alone { p.alone } else { p.together };
        let is_ours = possible.probability_apart > level.value;
        let verdict = match () {
            () if baseline_median.beyond_timeout && candidate_median.beyond_timeout => Verdict::NotCompared,
            () if is_constant => Verdict::NoDifference,
            () if smallest_probability > level.value => Verdict::TooFew,
            () if probability <= level.value && is_ours => Verdict::MayBeOurs,
            () if probability <= level.value && (effect > 0.5) == row.less_is_better => Verdict::Worse,
            () if probability <= level.value => Verdict::Better,
            () => Verdict::NoDifference,
        };
        Compared {
            kind: row.kind,
            less_is_better: row.less_is_better,
            baseline: baseline.to_vec(),
            candidate: candidate.to_vec(),
            baseline_median,
            candidate_median,
            change,
            possible,
            effect,
            probability: p,
            smallest_probability,
            level,
            is_constant,
            population: design.population(&scaled).filter(|_| is_known),
            is_rounded: row.is_rounded,
            verdict,
            name: row.name,
        }
    }

    /// Whether a difference is called.
    pub fn differs(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }

    pub(super) fn metric_is(&self, other: &ComparedMetric) -> bool {
        ComparedMetric::parse(&self.name).is_ok_and(|own| own.metric == other.metric)
    }
}

impl Possible {
    /// That of a row whose figures as measured give this shift and probability.
    fn of(
        row: &Row,
        design: &Design<'_>,
        measured: Option<Shift>,
        p: Probability,
        resamples: u32,
    ) -> Possible {
        let runs = design.runs;
        let of = |shift: f64| if row.has_ratios() { shift.exp_m1() } else { shift };
        let seen = measured.map_or(0.0, |shift| shift.estimate);
        let interval = measured.and_then(|shift| shift.interval);
        let mut possible = Possible {
            seen: of(seen),
            interval: interval.map(|ends| Interval { from: of(ends.from), to: of(ends.to) }),
            is_open: !row.is_exact(),
            apart: of(seen),
            probability_apart: p.alone,
            spread: design.spread(&row.scaled()),
            queries_without: queries_without(row, runs),
        };
        if possible.is_open {
            let (low, high) = (row.scaled_at(End::Low), row.scaled_at(End::High));
            let lowest = [&high[..runs], &low[runs..]].concat();
            let highest = [&low[..runs], &high[runs..]].concat();
            let shift_of = |figures: &[f64]| design.shift(figures, resamples);
            let ends = (shift_of(&lowest), shift_of(&highest));
            let from = ends.0.and_then(|shift| shift.interval).map(|interval| of(interval.from));
            let to = ends.1.and_then(|shift| shift.interval).map(|interval| of(interval.to));
            possible.interval = from.zip(to).map(|(from, to)| Interval { from, to });
            // The sides as near to each other as they may be.
            let (nearest, nearest_shift) = if seen < 0.0 { (highest, ends.1) } else { (lowest, ends.0) };
            let apart = nearest_shift.map_or(0.0, |shift| shift.estimate);
            let turned = apart == 0.0 || (apart < 0.0) != (seen < 0.0);
            possible.apart = of(apart);
            possible.probability_apart = if turned { 1.0 } else { design.test(&[nearest])[0].alone };
        }
        possible.interval = possible.interval.map(|interval| with_rare(row, runs, interval));
        possible
    }
}

/// The queries of the side with the fewest, of those of which no query, or each, has its share.
fn queries_without(row: &Row, runs: usize) -> Option<u64> {
    let of = |side: Range<usize>| {
        let first = row.figures[side.clone()].first()?.value;
        let is_all = row.figures[side.clone()].iter().all(|figure| figure.value == first);
        let whole = row.wholes[side].iter().sum::<u64>();
        (is_all && (first == 0.0 || first == 1.0) && whole > 0).then_some(whole)
    };
    of(0..runs).into_iter().chain(of(runs..row.figures.len())).min()
}

/// The interval of a share, with what none of so many queries leaves possible: where no query of a side was lost, up to
/// 3 of them may be expected (the rule of three).
fn with_rare(row: &Row, runs: usize, Interval { from, to }: Interval) -> Interval {
    let (baseline, candidate) = (0..runs, runs..row.figures.len());
    let whole = |side: &Range<usize>| row.wholes[side.clone()].iter().sum::<u64>() as f64;
    let is_all = |side: &Range<usize>, share: f64| {
        whole(side) > 0.0 && row.figures[side.clone()].iter().all(|figure| figure.value == share)
    };
    // Where all of a side are 0 its share may be higher, and where all are 1, lower.
    let more = |side: &Range<usize>, share: f64| if is_all(side, share) { 3.0 / whole(side) } else { 0.0 };
    Interval {
        from: from - more(&baseline, 0.0) - more(&candidate, 1.0),
        to: to + more(&candidate, 0.0) + more(&baseline, 1.0),
    }
}

impl Outcome {
    /// The verdict on all of `metrics`, of which the first is judged first.
    pub(super) fn of(metrics: &[Compared], settings: &Settings) -> Outcome {
        let has = |verdict: Verdict| metrics.iter().any(|metric| metric.verdict == verdict);
        match (has(Verdict::Better), has(Verdict::Worse)) {
            (true, true) => Outcome::Mixed,
            (true, false) => Outcome::Better,
            (false, true) => Outcome::Worse,
            _ if metrics.iter().any(|metric| metric.smallest_probability > settings.level(FIRST_LEVEL)) => {
                Outcome::TooFew
            }
            _ if has(Verdict::MayBeOurs) => Outcome::Undecided,
            _ if metrics.first().is_some_and(|first| first.verdict == Verdict::NotCompared) => {
                Outcome::Undecided
            }
            _ => Outcome::NoDifference,
        }
    }
}

//! Merged intervals: a row of a summary, or a roll-up of the index. And the limits of a summary.

use dnsdyno_measure::{
    Arrivals, MemberTally, Samples, Tally, WorkerUse, bounded, finite, merge_samples, read_samples,
};
use serde::{Deserialize, Serialize};

use crate::limits::{MOST_AGENTS, MOST_WORKERS};
use crate::peak::Peak;
use crate::trend::{Point, Trend};
use crate::worst::Worst;
use crate::{Header, Interval, Phase};

/// Adjacent intervals, or those of one phase, merged.
///
/// All counts are integers: the order and the grouping of the intervals do not change a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The phase, where rows are phases.
    #[serde(skip)]
    pub label: Option<String>,
    /// Number of the first interval.
    pub index: u64,
    /// Number of intervals.
    pub intervals: u64,
    /// First instant of the first interval.
    pub from_ns: u64,
    /// First instant after the last interval.
    pub to_ns: u64,
    /// Time of the intervals that the load covers: the divisor of rates.
    pub covered_ns: u64,
    /// Time of the intervals that it does not cover: before its first query, and after its end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_ns: u64,
    /// Until when queries were due; 0 where none was.
    pub due_to_ns: u64,
    /// Queries scheduled, in millionths; 0 in closed loop.
    pub asked_micro: u64,
    /// How the queries due ended.
    pub tally: Tally,
    /// What passed the sockets.
    pub arrivals: Arrivals,
    /// Queries and CPU time of each worker.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_WORKERS>")]
    pub workers: Vec<WorkerUse>,
    /// What of it is of each agent, of a run on several hosts. The rows of a digest have none: its own are those of the
    /// whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_AGENTS>")]
    pub agents: Vec<MemberTally>,
    /// Intervals that lack the part of an agent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub partial_intervals: u64,
    /// The worst moments of the intervals.
    #[serde(default, skip_serializing_if = "Worst::is_empty")]
    pub worst: Worst,
    /// The busiest interval; `None` where nothing was sent, and in an index of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// How the latency moves through the step that the row is, or is a part of; empty where rows are no steps.
    #[serde(default, skip_serializing_if = "Trend::is_empty")]
    pub trend: Trend,
    /// What was read beside the load, by source. The rows of a digest have none: its own are those of the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "read_samples")]
    pub watched: Vec<Option<Samples>>,
}

impl Row {
    /// A row without intervals, for a plan with `types` different query types.
    pub(crate) fn empty(types: usize) -> Row {
        Row {
            label: None,
            index: u64::MAX,
            intervals: 0,
            from_ns: u64::MAX,
            to_ns: 0,
            covered_ns: 0,
            idle_ns: 0,
            due_to_ns: 0,
            asked_micro: 0,
            tally: Tally::new(types),
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            agents: Vec::new(),
            partial_intervals: 0,
            worst: Worst::default(),
            peak: None,
            trend: Trend::default(),
            watched: Vec::new(),
        }
    }

    /// A row of one interval.
    pub fn of(interval: &Interval) -> Row {
        let covered_ns = interval.covered_ns();
        let asked_qps = finite::of(interval.asked_qps);
        Row {
            label: None,
            index: interval.index,
            intervals: 1,
            from_ns: interval.from_ns,
            to_ns: interval.to_ns,
            covered_ns,
            idle_ns: interval.to_ns.saturating_sub(interval.from_ns) - covered_ns,
            due_to_ns: match interval.tally.scheduled {
                0 => 0,
                _ => interval.from_ns.saturating_add(covered_ns),
            },
            asked_micro: (asked_qps * (covered_ns as f64 * 1e-3)).round() as u64,
            tally: interval.tally.clone(),
            arrivals: interval.arrivals.clone(),
            workers: interval.workers.clone(),
            agents: interval.agents.iter().map(|agent| agent.clone().unwrap_or_default()).collect(),
            partial_intervals: u64::from(interval.is_partial()),
            worst: Worst::of(&interval.tally, interval.from_ns, interval.to_ns),
            peak: Peak::of(interval),
            trend: Trend::default(),
            watched: interval.watched.clone(),
        }
    }

    /// Average scheduled rate; 0 in closed loop.
    pub fn asked_qps(&self) -> f64 {
        if self.covered_ns == 0 { 0.0 } else { self.asked_micro as f64 * 1e3 / self.covered_ns as f64 }
    }

    /// Adds a later row.
    pub fn merge(&mut self, later: &Row) {
        self.index = self.index.min(later.index);
        self.intervals = self.intervals.saturating_add(later.intervals);
        self.from_ns = self.from_ns.min(later.from_ns);
        self.to_ns = self.to_ns.max(later.to_ns);
        self.covered_ns = self.covered_ns.saturating_add(later.covered_ns);
        self.idle_ns = self.idle_ns.saturating_add(later.idle_ns);
        self.due_to_ns = self.due_to_ns.max(later.due_to_ns);
        self.asked_micro = self.asked_micro.saturating_add(later.asked_micro);
        self.tally.merge_in_time(&later.tally);
        self.arrivals.merge_in_time(&later.arrivals);
        dnsdyno_measure::Counter::merge_in_time(&mut self.workers, &later.workers);
        dnsdyno_measure::Counter::merge_in_time(&mut self.agents, &later.agents);
        self.partial_intervals = self.partial_intervals.saturating_add(later.partial_intervals);
        self.worst.merge(&later.worst);
        Peak::merge(&mut self.peak, later.peak.as_ref());
        self.trend.merge(&later.trend);
        merge_samples(&mut self.watched, &later.watched);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Header {
    /// Whether each row is a phase of the load: where there are several with a rate each, and no interval belongs to
    /// two.
    pub(crate) fn rows_are_phases(&self) -> bool {
        let interval_ns = self.interval_ns.max(1);
        !self.has_slopes
            && (2..=MAX_PHASE_ROWS).contains(&self.phases.len())
            && self.phases.iter().all(|phase| phase.from_ns.is_multiple_of(interval_ns))
    }

    /// A row of one interval, with its place in its step where rows are steps.
    pub(crate) fn row_of(&self, interval: &Interval) -> Row {
        let mut row = Row::of(interval);
        let phase = self.phase_at(interval.from_ns).filter(|_| self.rows_are_phases());
        if let Some(phase) = phase.and_then(|phase| self.phases.get(phase)) {
            row.trend = Trend::of(phase, Point::of(interval.from_ns, self.latency_of(&interval.tally)));
        }
        row
    }

    /// The phase in which an interval begins; `None` after the last phase.
    pub fn phase_at(&self, from_ns: u64) -> Option<usize> {
        self.phases.iter().position(|phase: &Phase| (phase.from_ns..phase.to_ns).contains(&from_ns))
    }

    /// The group of an interval; each group has one roll-up. A group never belongs to two rows of a long run.
    pub(crate) fn group_of(&self, interval: &Interval) -> (u64, Option<usize>) {
        let phase = if self.rows_are_phases() { self.phase_at(interval.from_ns) } else { None };
        (interval.index / GROUP_INTERVALS, phase)
    }
}

/// Intervals per group. With more, the reader of one interval decodes many others; with fewer, the index grows.
pub(crate) const GROUP_INTERVALS: u64 = 64;

/// Largest number of rows that are phases: of a stair with fifty steps, all fifty are shown.
pub const MAX_PHASE_ROWS: usize = 64;

/// Largest number of rows that are not phases: they fit on a screen.
pub const MAX_ROWS: usize = 24;

/// Number of events stored; later ones usually repeat them.
pub const MAX_EVENTS: usize = 100;

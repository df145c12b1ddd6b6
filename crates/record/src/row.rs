//! Intervals put together: a row of a summary, or a roll-up of the index.

use dnsdyno_measure::{Arrivals, Tally, WorkerUse, finite};
use serde::{Deserialize, Serialize};

use crate::{Header, Interval, Phase};

/// Neighbouring intervals, or those of one phase, put together.
///
/// All of it are whole numbers: rows are the same in whatever order and in whatever groups intervals are added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The phase, where rows are phases.
    #[serde(skip)]
    pub label: Option<String>,
    /// Number of the first interval.
    pub index: u64,
    /// How many intervals.
    pub intervals: u64,
    /// First instant of the first interval.
    pub from_ns: u64,
    /// First instant after the last interval.
    pub to_ns: u64,
    /// Time that the intervals cover: what rates divide by.
    pub covered_ns: u64,
    /// First instant after the last interval in which a query was due; 0 where none was.
    pub due_to_ns: u64,
    /// Queries that the schedule asked for, in millionths; 0 in closed loop.
    pub asked_micro: u64,
    /// What became of the queries due.
    pub tally: Tally,
    /// What passed the sockets.
    pub arrivals: Arrivals,
    /// What each worker used.
    pub workers: Vec<WorkerUse>,
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
            due_to_ns: 0,
            asked_micro: 0,
            tally: Tally::new(types),
            arrivals: Arrivals::default(),
            workers: Vec::new(),
        }
    }

    /// A row of one interval.
    pub(crate) fn of(interval: &Interval) -> Row {
        let covered_ns = interval.to_ns.saturating_sub(interval.from_ns);
        let asked_qps = finite::of(interval.asked_qps);
        Row {
            label: None,
            index: interval.index,
            intervals: 1,
            from_ns: interval.from_ns,
            to_ns: interval.to_ns,
            covered_ns,
            due_to_ns: if interval.tally.scheduled > 0 { interval.to_ns } else { 0 },
            asked_micro: (asked_qps * (covered_ns as f64 * 1e-3)).round() as u64,
            tally: interval.tally.clone(),
            arrivals: interval.arrivals.clone(),
            workers: interval.workers.clone(),
        }
    }

    /// Average rate that the schedule asked for; 0 in closed loop.
    pub fn asked_qps(&self) -> f64 {
        if self.covered_ns == 0 { 0.0 } else { self.asked_micro as f64 * 1e3 / self.covered_ns as f64 }
    }

    pub(crate) fn merge(&mut self, later: &Row) {
        self.index = self.index.min(later.index);
        self.intervals += later.intervals;
        self.from_ns = self.from_ns.min(later.from_ns);
        self.to_ns = self.to_ns.max(later.to_ns);
        self.covered_ns += later.covered_ns;
        self.due_to_ns = self.due_to_ns.max(later.due_to_ns);
        self.asked_micro += later.asked_micro;
        self.tally.merge_in_time(&later.tally);
        self.arrivals.merge_in_time(&later.arrivals);
        dnsdyno_measure::Counter::merge_in_time(&mut self.workers, &later.workers);
    }
}

impl Header {
    /// Whether each row is a phase of the load: where there are a few, and no interval lies in two.
    pub(crate) fn rows_are_phases(&self) -> bool {
        let interval_ns = self.interval_ns.max(1);
        (2..=MAX_PHASE_ROWS).contains(&self.phases.len())
            && self.phases.iter().all(|phase| phase.from_ns.is_multiple_of(interval_ns))
    }

    /// The phase that an interval begins in; after the last phase, none.
    pub(crate) fn phase_at(&self, from_ns: u64) -> Option<usize> {
        self.phases.iter().position(|phase: &Phase| (phase.from_ns..phase.to_ns).contains(&from_ns))
    }

    /// The group of an interval: those of one group are one roll-up. A group never lies in two rows of a long run.
    pub(crate) fn group_of(&self, interval: &Interval) -> (u64, Option<usize>) {
        let phase = if self.rows_are_phases() { self.phase_at(interval.from_ns) } else { None };
        (interval.index / GROUP_INTERVALS, phase)
    }
}

/// Intervals of a group. More, and a reader of one interval reads much beside it; fewer, and the index grows.
pub(crate) const GROUP_INTERVALS: u64 = 64;

/// Most rows where each is a phase: who asks for fifty steps wants to see fifty.
pub const MAX_PHASE_ROWS: usize = 64;

/// Events kept; a run that has more says the same again and again.
pub const MAX_EVENTS: usize = 100;

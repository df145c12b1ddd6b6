//! How much of an interval the load covers: the divisor of its rates.
//!
//! ```text
//!   intervals   │         │         │         │
//!   load        │     ├───┼─────────┼──┤      │      begins with a pause, ends within an interval
//!   covered     │     └───┘─────────┘──┘      │
//! ```
//!
//! A rate over the whole of the last interval would be the lower, the earlier the load ends in it.

use std::ops::Range;

use dnsdyno_plan::Part;
use dnsdyno_plan::schedule::{Curve, Load};

use crate::job::Job;

/// The load, as far as it says when queries can be due.
pub(crate) struct Coverage<'a> {
    load: &'a Load,
    /// The queries of this process are a part of its queries.
    part: Part,
    /// Queries at most, of the whole load.
    limit: u64,
    /// No query is scheduled at this instant or later.
    end_ns: u64,
}

/// When a worker, or the last of several, scheduled its last query, and whether because the run was stopped.
#[derive(Clone, Copy)]
pub(crate) struct Exhausted {
    pub(crate) at_ns: u64,
    pub(crate) is_stopped: bool,
}

impl<'a> Coverage<'a> {
    pub(crate) fn new(job: &Job<'a>, workers: usize) -> Coverage<'a> {
        Coverage {
            load: job.load,
            part: job.part(workers),
            limit: job.limit.as_ref().map_or(u64::MAX, |(limit, _)| *limit),
            end_ns: job.end_ns.unwrap_or(u64::MAX),
        }
    }

    /// The time of a settled interval that the load covers. `scheduled` queries were due in it, and `before` in those
    /// before it.
    pub(crate) fn of_settled(
        &self,
        interval: Range<u64>,
        before: u64,
        scheduled: u64,
        exhausted: Option<Exhausted>,
    ) -> u64 {
        match self.load.curve() {
            // However it has ended: all that were due have been scheduled.
            Some(curve) => covered(&interval, curve, due_at(curve, self.part.number_of(before + scheduled))),
            None => self.without_schedule(interval, scheduled, exhausted),
        }
    }

    /// The time of a wall interval that the load covers, and the queries that the schedule asks for in it: none in
    /// closed loop. `sent` queries were sent in it.
    pub(crate) fn of_passed(
        &self,
        interval: Range<u64>,
        sent: u64,
        exhausted: Option<Exhausted>,
    ) -> (u64, u64) {
        let Some(curve) = self.load.curve() else {
            return (self.without_schedule(interval, sent, exhausted), 0);
        };
        let stopped = exhausted.filter(|exhausted| exhausted.is_stopped);
        let due = stopped.map_or(u64::MAX, |stopped| curve.due_by(stopped.at_ns)).min(self.limit);
        let due_before = |t_ns: u64| if t_ns == 0 { 0 } else { curve.due_by(t_ns - 1).min(due) };
        let own_before = |t_ns: u64| self.part.queries_before(due_before(t_ns));
        let asked = own_before(interval.end) - own_before(interval.start);
        (covered(&interval, curve, due_at(curve, due)), asked)
    }

    /// Of a load that does not say when its queries are due: a closed loop, or a source with its own instants.
    fn without_schedule(&self, interval: Range<u64>, queries: u64, exhausted: Option<Exhausted>) -> u64 {
        let length_ns = interval.end - interval.start;
        let until = |until_ns: u64| until_ns.saturating_sub(interval.start).min(length_ns);
        match exhausted.filter(|exhausted| exhausted.at_ns < self.end_ns) {
            None => until(self.end_ns),
            Some(Exhausted { at_ns, is_stopped: true }) => until(at_ns),
            // It ran out of queries. The next one would have followed after the mean distance of those before it: else
            // the rate of a single query would be any.
            Some(Exhausted { at_ns, .. }) if queries > 1 => {
                let to_last_ns = until(at_ns);
                to_last_ns.saturating_add(to_last_ns / (queries - 1)).min(length_ns)
            }
            Some(_) => until(if queries == 0 { 0 } else { u64::MAX }),
        }
    }
}

/// When query `n` would be due; where there is none, the end of the load.
fn due_at(curve: &Curve, n: u64) -> u64 {
    curve.due_at(n).or(curve.duration_ns()).unwrap_or(u64::MAX)
}

/// The part of an interval from the first query of a curve on, until then.
fn covered(interval: &Range<u64>, curve: &Curve, until_ns: u64) -> u64 {
    let from_ns = interval.start.max(due_at(curve, 0));
    until_ns.min(interval.end).saturating_sub(from_ns)
}

#[cfg(test)]
mod tests {
    use dnsdyno_plan::schedule::Piece;

    use super::*;

    const MS: u64 = 1_000_000;

    /// 4,000 queries a second for 2.2 s, after a pause.
    fn open(pause_ns: u64) -> Load {
        let pause = (pause_ns > 0).then(|| Piece::flat(0.0, pause_ns, "pause".to_owned()));
        let pieces = pause.into_iter().chain([Piece::flat(4_000.0, 2_200 * MS, "load".to_owned())]);
        Load::Open { curve: Curve::new(pieces.collect()).unwrap(), window: None }
    }

    fn coverage(load: &Load, limit: u64, end_ns: u64) -> Coverage<'_> {
        Coverage { load, part: Part::whole(1), limit, end_ns }
    }

    /// Intervals of 250 ms.
    fn interval(number: u64) -> Range<u64> {
        number * 250 * MS..(number + 1) * 250 * MS
    }

    #[test]
    fn the_last_interval_is_covered_until_the_load_ends_and_the_drain_is_not() {
        let load = open(0);
        let coverage = coverage(&load, u64::MAX, u64::MAX);
        assert_eq!(coverage.of_settled(interval(7), 7_000, 1_000, None), 250 * MS);
        assert_eq!(coverage.of_settled(interval(8), 8_000, 800, None), 200 * MS);
        assert_eq!(coverage.of_settled(interval(9), 8_800, 0, None), 0);
        assert_eq!(coverage.of_passed(interval(7), 1_000, None), (250 * MS, 1_000));
        assert_eq!(coverage.of_passed(interval(8), 800, None), (200 * MS, 800));
        assert_eq!(coverage.of_passed(interval(9), 0, None), (0, 0));
    }

    #[test]
    fn the_first_interval_is_covered_from_the_first_query_on() {
        let load = open(100 * MS);
        let coverage = coverage(&load, u64::MAX, u64::MAX);
        assert_eq!(coverage.of_settled(interval(0), 0, 600, None), 150 * MS);
        assert_eq!(coverage.of_passed(interval(0), 600, None), (150 * MS, 600));
        assert_eq!(coverage.of_settled(interval(1), 600, 1_000, None), 250 * MS);
    }

    #[test]
    fn a_load_of_a_number_of_queries_is_covered_until_the_next_one_would_be_due() {
        let load = open(0);
        let coverage = coverage(&load, 1_100, u64::MAX);
        assert_eq!(coverage.of_settled(interval(0), 0, 1_000, None), 250 * MS);
        assert_eq!(coverage.of_settled(interval(1), 1_000, 100, None), 25 * MS);
        assert_eq!(coverage.of_passed(interval(1), 100, None), (25 * MS, 100));
    }

    #[test]
    fn a_load_that_is_stopped_is_covered_until_then() {
        let stopped = Some(Exhausted { at_ns: 299_900_000, is_stopped: true });
        let load = open(0);
        let of_rate = coverage(&load, u64::MAX, u64::MAX);
        assert_eq!(of_rate.of_settled(interval(1), 1_000, 200, stopped), 50 * MS);
        assert_eq!(of_rate.of_passed(interval(1), 200, stopped), (50 * MS, 200));
        assert_eq!(of_rate.of_passed(interval(2), 0, stopped), (0, 0));
        let load = Load::Closed { outstanding: 10 };
        let of_window = coverage(&load, u64::MAX, 2_000 * MS);
        assert_eq!(of_window.of_settled(interval(1), 1_000, 200, stopped), 49_900_000);
        assert_eq!(of_window.of_passed(interval(1), 200, stopped), (49_900_000, 0));
    }

    #[test]
    fn a_closed_loop_covers_its_time_or_until_its_queries_have_run_out() {
        let load = Load::Closed { outstanding: 10 };
        let timed = coverage(&load, u64::MAX, 300 * MS);
        let exhausted = |at_ms: u64| Some(Exhausted { at_ns: at_ms * MS, is_stopped: false });
        assert_eq!(timed.of_settled(interval(0), 0, 50, None), 250 * MS);
        assert_eq!(timed.of_settled(interval(1), 50, 10, exhausted(301)), 50 * MS);
        let counted = coverage(&load, 61, u64::MAX);
        assert_eq!(counted.of_settled(interval(1), 50, 11, exhausted(300)), 55 * MS);
        assert_eq!(counted.of_settled(interval(1), 60, 1, exhausted(251)), 250 * MS);
        assert_eq!(counted.of_settled(interval(2), 61, 0, exhausted(300)), 0);
    }
}

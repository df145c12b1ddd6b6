//! The limits at which a run stops: how far a worker may be behind its schedule, and how many of its queries may be
//! outstanding.
//!
//! The schedule is checked in each pass of the loop, so the check is one comparison. With the first `sent` queries of a
//! worker sent, it is behind by N from the instant on at which its query `sent + N - 1` is due. That instant only moves
//! away as more queries are sent: the one that was computed last holds until it has passed.

use dnsdyno_plan::StopLimits;
use dnsdyno_plan::schedule::Curve;

/// The limits of one worker.
pub(crate) struct WorkerLimits {
    schedule: Option<ScheduleLimit>,
    /// The worker is not behind before this instant.
    not_behind_before_ns: u64,
    /// Queries of the worker that may be outstanding.
    pub(crate) outstanding: Option<u32>,
    pub(crate) workers: u32,
}

/// How far a worker may be behind its schedule.
struct ScheduleLimit {
    curve: Curve,
    /// No query with this number or a higher one is scheduled.
    end: u64,
    /// The difference of the numbers of two consecutive queries of the worker.
    stride: u64,
    /// Queries of the worker that are due and not sent, at which the run stops; at least 1.
    queries: u64,
}

impl WorkerLimits {
    /// None.
    pub(crate) fn none() -> WorkerLimits {
        WorkerLimits { schedule: None, not_behind_before_ns: u64::MAX, outstanding: None, workers: 1 }
    }

    /// The part of one of `workers` workers, with every `stride`-th query of `curve` before number `end`.
    pub(crate) fn of(limits: StopLimits, curve: &Curve, end: u64, stride: u64, workers: u32) -> WorkerLimits {
        let schedule = limits.behind.map(|behind| {
            let queries = u64::from(behind).div_ceil(stride).max(1);
            ScheduleLimit { curve: curve.clone(), end, stride, queries }
        });
        let not_behind_before_ns = if schedule.is_some() { 0 } else { u64::MAX };
        let outstanding = limits.outstanding.map(|limit| limit.div_ceil(workers));
        WorkerLimits { schedule, not_behind_before_ns, outstanding, workers }
    }

    /// How many queries the worker is behind at `now_ns`, if it is behind by its limit or more, over all workers if
    /// each is as this one. `next` is the number of its next query to schedule; `waiting` scheduled ones are not sent.
    #[inline]
    pub(crate) fn behind(&mut self, now_ns: u64, next: u64, waiting: impl FnOnce() -> u32) -> Option<u64> {
        if now_ns < self.not_behind_before_ns {
            return None;
        }
        self.count(now_ns, next, waiting())
    }

    #[cold]
    fn count(&mut self, now_ns: u64, next: u64, waiting: u32) -> Option<u64> {
        let ScheduleLimit { curve, end, stride, queries } = self.schedule.as_ref()?;
        let first = next.saturating_sub(u64::from(waiting) * stride);
        let last = first.saturating_add((queries - 1) * stride);
        self.not_behind_before_ns =
            if last < *end { curve.due_at(last).unwrap_or(u64::MAX) } else { u64::MAX };
        let due = curve.due_by(now_ns).min(*end);
        (now_ns >= self.not_behind_before_ns).then(|| due.saturating_sub(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_plan::schedule::Constant;

    const MS: u64 = 1_000_000;

    fn behind(queries: u32, stride: u64, workers: u32) -> WorkerLimits {
        // One query each millisecond, a thousand of them.
        let curve = Constant { rate_qps: 1_000.0, duration_ns: Some(1_000 * MS) }.curve().unwrap();
        let limits = StopLimits { behind: Some(queries), outstanding: None };
        WorkerLimits::of(limits, &curve, u64::MAX, stride, workers)
    }

    #[test]
    fn a_worker_is_behind_from_the_instant_on_at_which_so_many_queries_are_due_and_not_sent() {
        let mut limits = behind(10, 1, 1);
        // Queries 0 to 8 are due: nine.
        assert_eq!(limits.behind(9 * MS - 1, 0, || 0), None);
        assert_eq!(limits.behind(9 * MS, 0, || 0), Some(10));
        let mut limits = behind(10, 1, 1);
        assert_eq!(limits.behind(9 * MS, 1, || 0), None, "one is sent");
        assert_eq!(limits.behind(9 * MS, 1, || 1), None, "checked again only when it can be behind");
        assert_eq!(limits.behind(30 * MS, 26, || 4), None, "26 are scheduled, 22 sent, 31 due");
        assert_eq!(limits.behind(31 * MS, 26, || 4), Some(10));
        assert_eq!(limits.behind(500 * MS, 26, || 0), Some(475));
    }

    #[test]
    fn a_worker_of_several_has_its_part_of_the_limit_and_speaks_for_all() {
        // Every second query: 10 of 20.
        let mut limits = behind(20, 2, 2);
        assert_eq!(limits.behind(17 * MS, 1, || 0), None);
        assert_eq!(limits.behind(19 * MS, 1, || 0), Some(19));
    }

    #[test]
    fn the_parts_of_a_limit_of_outstanding_queries_are_no_less_than_it() {
        let curve = Constant { rate_qps: 1.0, duration_ns: None }.curve().unwrap();
        let limits = StopLimits { behind: None, outstanding: Some(7) };
        let part = |workers| WorkerLimits::of(limits, &curve, u64::MAX, 1, workers).outstanding;
        assert_eq!([1, 2, 4, 9].map(part), [7, 4, 2, 1].map(Some));
    }

    #[test]
    fn no_worker_is_behind_at_the_end_of_its_schedule_or_without_a_limit() {
        assert_eq!(behind(10, 1, 1).behind(5_000 * MS, 995, || 0), None);
        assert_eq!(behind(5, 1, 1).behind(5_000 * MS, 995, || 0), Some(5));
        assert_eq!(WorkerLimits::none().behind(u64::MAX - 1, 0, || 0), None);
    }
}

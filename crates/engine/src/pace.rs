//! When the next query is due: according to the plan's curve, with or without a window, or to a window alone; or as the
//! chunks of a streamed source say.

use dnsdyno_plan::schedule::Cursor;

use crate::control::StopCause;
use crate::limit::Limit;
use crate::stop_limits::WorkerLimits;
use crate::upcoming::Upcoming;

/// One worker's part of the load.
pub(crate) struct Pace {
    kind: Kind,
    /// The largest number of outstanding queries of this worker; further queries are held back.
    window: u32,
    /// How long a due query may be held back.
    timeout_ns: u64,
    /// A query that was due before this instant and is scheduled later was held back.
    held_before_ns: u64,
    /// No more queries will be scheduled: the load is complete, or the user ended it.
    stopped: bool,
    /// What stops the run.
    limits: WorkerLimits,
    /// A query was due while as many were outstanding as the limits permit.
    is_over_outstanding: bool,
}

enum Kind {
    /// Open loop: queries are due according to the curve.
    Open(Cursor),
    /// Closed loop: the next query is due when one has ended.
    Closed(Numbers),
    /// Closed loop: the same, not before its limit permits it.
    Limited(Numbers, Limit),
    /// Queries of a streamed source, whose next one must be [set](Pace::set_upcoming) after each.
    Fed(Fed),
}

/// The queries of a worker from a streamed source.
struct Fed {
    upcoming: Upcoming,
    /// Whether queries are due at instants of their own (open loop), or when one has ended.
    is_open: bool,
    /// In a closed loop: no query is scheduled at this instant or later.
    end_ns: u64,
}

/// The queries of a worker in a closed loop.
pub(crate) struct Numbers {
    /// The number of the next one.
    pub(crate) next: u64,
    /// The difference of two consecutive numbers: the number of workers.
    pub(crate) stride: u64,
    /// No query with this number or a higher one is scheduled.
    pub(crate) limit: u64,
    /// No query is scheduled at this instant or later.
    pub(crate) end_ns: u64,
}

impl Numbers {
    /// The next query, which is due now; `None` after the last.
    #[inline(always)]
    fn take(&mut self, now_ns: u64) -> Option<Due> {
        if self.next >= self.limit {
            return None;
        }
        let number = self.next;
        self.next += self.stride;
        Some(Due { number, intended_ns: now_ns, is_new: true, free_ns: now_ns })
    }
}

/// A query that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Its number in the run, over all workers.
    pub(crate) number: u64,
    /// The instant at which it should be sent.
    pub(crate) intended_ns: u64,
    /// Whether its sending has not been delayed since it was scheduled.
    pub(crate) is_new: bool,
    /// From when on it could be sent: the intended instant, or later if the window was full.
    pub(crate) free_ns: u64,
}

impl Due {
    /// How long a full window held it back.
    #[inline]
    pub(crate) fn held_back_ns(&self) -> u64 {
        self.free_ns - self.intended_ns
    }
}

impl Pace {
    /// The queries of `cursor`. While `window` queries are outstanding, a due query waits for up to `timeout_ns`; while
    /// as many are as the limits permit, it stops the run.
    pub(crate) fn open(cursor: Cursor, window: Option<u32>, timeout_ns: u64, limits: WorkerLimits) -> Self {
        let window = window.unwrap_or(u32::MAX).min(limits.outstanding.unwrap_or(u32::MAX));
        Pace { timeout_ns, limits, ..Pace::of(Kind::Open(cursor), window) }
    }

    /// As many queries as a window of this size permits.
    pub(crate) fn closed(numbers: Numbers, window: u32) -> Self {
        Pace::of(Kind::Closed(numbers), window)
    }

    /// The same, and not more than `limit` permits.
    pub(crate) fn limited(numbers: Numbers, window: u32, limit: Limit) -> Self {
        Pace::of(Kind::Limited(numbers, limit), window)
    }

    fn of(kind: Kind, window: u32) -> Self {
        let (limits, stopped) = (WorkerLimits::none(), window == 0);
        Pace { kind, window, timeout_ns: 0, held_before_ns: 0, stopped, limits, is_over_outstanding: false }
    }

    /// The limit that this worker has reached, and with how many queries, over all workers. `waiting` of the scheduled
    /// ones are not sent.
    #[inline]
    pub(crate) fn reached(&mut self, now_ns: u64, waiting: impl FnOnce() -> u32) -> Option<(StopCause, u64)> {
        let Kind::Open(cursor) = &self.kind else { return None };
        if self.is_over_outstanding {
            let outstanding = u64::from(self.window) * u64::from(self.limits.workers);
            return Some((StopCause::Outstanding, outstanding));
        }
        let behind = self.limits.behind(now_ns, cursor.n(), waiting)?;
        Some((StopCause::Behind, behind))
    }

    /// The queries of a streamed source, at instants of their own (`is_open`) or as many as the window permits.
    pub(crate) fn fed(is_open: bool, window: Option<u32>, end_ns: u64, timeout_ns: u64) -> Self {
        let kind = Kind::Fed(Fed { upcoming: Upcoming::NotYet { known_to_ns: 0 }, is_open, end_ns });
        Pace { timeout_ns, ..Pace::of(kind, window.unwrap_or(u32::MAX)) }
    }

    /// Sets the next query of a streamed source.
    pub(crate) fn set_upcoming(&mut self, next: Upcoming) {
        if let Kind::Fed(fed) = &mut self.kind {
            fed.upcoming = next;
        }
    }

    /// The next query that is due at `now_ns`, with `outstanding` queries of this worker outstanding or waiting to
    /// be sent. A query that was held back for the timeout is returned even if the window is full.
    #[inline(always)]
    pub(crate) fn take(&mut self, now_ns: u64, outstanding: u32) -> Option<Due> {
        if self.stopped {
            return None;
        }
        match &mut self.kind {
            Kind::Open(cursor) => {
                let intended_ns = cursor.due_ns().filter(|due_ns| *due_ns <= now_ns)?;
                if outstanding >= self.window {
                    self.is_over_outstanding = self.limits.outstanding == Some(self.window);
                    self.held_before_ns = now_ns + 1;
                    if now_ns - intended_ns < self.timeout_ns {
                        return None;
                    }
                }
                let number = cursor.n();
                cursor.advance();
                let free_ns = if intended_ns < self.held_before_ns { now_ns } else { intended_ns };
                Some(Due { number, intended_ns, is_new: true, free_ns })
            }
            Kind::Closed(numbers) => {
                if now_ns >= numbers.end_ns {
                    self.stopped = true;
                    return None;
                }
                if outstanding >= self.window {
                    return None;
                }
                numbers.take(now_ns)
            }
            Kind::Limited(..) | Kind::Fed(_) => self.take_otherwise(now_ns, outstanding),
        }
    }

    /// The same for the kinds that need not be as fast.
    #[cold]
    fn take_otherwise(&mut self, now_ns: u64, outstanding: u32) -> Option<Due> {
        let Kind::Limited(numbers, limit) = &mut self.kind else { return self.take_fed(now_ns, outstanding) };
        if now_ns >= numbers.end_ns {
            self.stopped = true;
            return None;
        }
        if outstanding >= self.window || !limit.permits(now_ns) {
            return None;
        }
        limit.take();
        numbers.take(now_ns)
    }

    /// The same for a streamed source. The next query must then be set.
    fn take_fed(&mut self, now_ns: u64, outstanding: u32) -> Option<Due> {
        let Kind::Fed(fed) = &mut self.kind else { return None };
        if !fed.is_open && now_ns >= fed.end_ns {
            self.stopped = true;
            return None;
        }
        let Upcoming::Query { due_ns, number } = fed.upcoming else { return None };
        let intended_ns = if fed.is_open { due_ns } else { now_ns };
        if intended_ns > now_ns {
            return None;
        }
        if outstanding >= self.window {
            self.held_before_ns = now_ns + 1;
            if !fed.is_open || now_ns - intended_ns < self.timeout_ns {
                return None;
            }
        }
        let is_held = fed.is_open && intended_ns < self.held_before_ns;
        Some(Due { number, intended_ns, is_new: true, free_ns: if is_held { now_ns } else { intended_ns } })
    }

    /// Whether queries are due according to a schedule (open loop).
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Open(_) | Kind::Fed(Fed { is_open: true, .. }))
    }

    /// Whether the window is full.
    pub(crate) fn is_full(&self, outstanding: u32) -> bool {
        outstanding >= self.window
    }

    /// Schedules nothing more.
    pub(crate) fn close(&mut self) {
        self.stopped = true;
    }

    /// After the user has stopped the run: the queries that were due by `now_ns`, one per call.
    pub(crate) fn take_for_stop(&mut self, now_ns: u64) -> Option<Due> {
        // A closed loop has no backlog: a query that was not scheduled was not due.
        let due = if self.is_open() { self.take(now_ns, 0) } else { None };
        self.stopped |= due.is_none();
        due
    }

    /// Whether no query will ever be due again.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.stopped
            || match &self.kind {
                Kind::Open(cursor) => cursor.due_ns().is_none(),
                Kind::Closed(numbers) | Kind::Limited(numbers, _) => numbers.next >= numbers.limit,
                Kind::Fed(fed) => fed.upcoming == Upcoming::Over,
            }
    }

    /// All queries due before this instant have been scheduled at `now_ns`.
    #[inline]
    pub(crate) fn scheduled_up_to_ns(&self, now_ns: u64) -> u64 {
        match &self.kind {
            Kind::Open(cursor) if !self.stopped => {
                cursor.due_ns().map_or(now_ns, |due_ns| due_ns.min(now_ns))
            }
            Kind::Fed(Fed { upcoming, is_open: true, .. }) if !self.stopped => match *upcoming {
                Upcoming::Query { due_ns, .. } => due_ns.min(now_ns),
                Upcoming::NotYet { known_to_ns } => known_to_ns.min(now_ns),
                Upcoming::Over => now_ns,
            },
            _ => now_ns,
        }
    }

    /// When the next query may be due, if no response arrives before.
    pub(crate) fn next_due_ns(&self, now_ns: u64, outstanding: u32) -> Option<u64> {
        if self.stopped {
            return None;
        }
        match &self.kind {
            // A response opens the window, and wakes the worker.
            Kind::Open(cursor) if self.is_full(outstanding) && self.limits.outstanding.is_none() => {
                cursor.due_ns().map(|due_ns| due_ns.saturating_add(self.timeout_ns))
            }
            Kind::Open(cursor) => cursor.due_ns(),
            Kind::Closed(numbers) | Kind::Limited(numbers, _) if numbers.next >= numbers.limit => None,
            Kind::Closed(numbers) | Kind::Limited(numbers, _) if self.is_full(outstanding) => {
                Some(numbers.end_ns)
            }
            Kind::Closed(_) => Some(now_ns),
            Kind::Limited(numbers, limit) => Some(limit.next_ns().min(numbers.end_ns).max(now_ns)),
            Kind::Fed(fed) => match (fed.upcoming, self.is_full(outstanding)) {
                (Upcoming::Over, _) => None,
                (_, true) if !fed.is_open => Some(fed.end_ns),
                (Upcoming::Query { due_ns, .. }, true) => Some(due_ns.saturating_add(self.timeout_ns)),
                (Upcoming::Query { due_ns, .. }, false) => Some(if fed.is_open { due_ns } else { now_ns }),
                (Upcoming::NotYet { known_to_ns }, _) if known_to_ns > now_ns => Some(known_to_ns),
                (Upcoming::NotYet { .. }, _) => Some(now_ns + READER_POLL_NS),
            },
        }
    }
}

/// How often a worker looks for the next chunk of a source whose reader is behind.
const READER_POLL_NS: u64 = 500_000;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_plan::schedule::Constant;

    #[test]
    fn a_limited_closed_loop_sends_when_both_window_and_limit_permit_it() {
        let numbers = Numbers { next: 0, stride: 1, limit: 3, end_ns: 900_000_000 };
        let mut pace = Pace::limited(numbers, 2, Limit::new(10));
        let number = |due: Due| due.number;
        assert_eq!(pace.take(0, 0).map(number), Some(0));
        assert_eq!((pace.take(50_000_000, 1), pace.next_due_ns(50_000_000, 1)), (None, Some(100_000_000)));
        assert_eq!((pace.take(100_000_000, 2), pace.next_due_ns(100_000_000, 2)), (None, Some(900_000_000)));
        assert_eq!(pace.take(150_000_000, 1).map(number), Some(1));
        assert_eq!(pace.take(200_000_000, 0).map(number), Some(2));
        assert_eq!((pace.take(800_000_000, 0), pace.is_exhausted()), (None, true));
    }

    #[test]
    fn a_full_window_holds_queries_back_until_one_ends_or_their_timeout() {
        let curve = Constant { rate_qps: 10.0, duration_ns: Some(1_000_000_000) }.curve().unwrap();
        let mut pace = Pace::open(curve.cursor(0, 1), Some(2), 300_000_000, WorkerLimits::none());
        let ms = |due: Due| (due.intended_ns / 1_000_000, due.held_back_ns() / 1_000_000);
        assert_eq!(pace.take(0, 0).map(ms), Some((0, 0)));
        assert_eq!((pace.take(150_000_000, 2), pace.next_due_ns(150_000_000, 2)), (None, Some(400_000_000)));
        assert_eq!(pace.scheduled_up_to_ns(150_000_000), 100_000_000);
        assert_eq!(pace.take(160_000_000, 1).map(ms), Some((100, 60)));
        // Due after the window was no longer full.
        assert_eq!(pace.take(200_000_000, 1).map(ms), Some((200, 0)));
        assert_eq!(pace.take(599_999_999, 2), None);
        assert_eq!(pace.take(600_000_000, 2).map(ms), Some((300, 300)));
        assert_eq!(pace.take(600_000_000, 2), None);
        assert_eq!(pace.take(600_000_000, 0).map(ms), Some((400, 200)));
    }
}

//! When the next query is due: according to the plan's curve, with or without a window, or to a window alone.

use dnsdyno_plan::schedule::Cursor;

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
}

enum Kind {
    /// Open loop: queries are due according to the curve.
    Open(Cursor),
    /// Closed loop: the next query is due when one has ended.
    Closed(Numbers),
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
    /// The queries of `cursor`. While `window` queries are outstanding, a due query waits for up to `timeout_ns`.
    pub(crate) fn open(cursor: Cursor, window: Option<u32>, timeout_ns: u64) -> Self {
        let window = window.unwrap_or(u32::MAX);
        Pace { kind: Kind::Open(cursor), window, timeout_ns, held_before_ns: 0, stopped: false }
    }

    /// As many queries as a window of this size permits.
    pub(crate) fn closed(numbers: Numbers, window: u32) -> Self {
        let kind = Kind::Closed(numbers);
        Pace { kind, window, timeout_ns: 0, held_before_ns: 0, stopped: window == 0 }
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
                if outstanding >= self.window || numbers.next >= numbers.limit {
                    return None;
                }
                let number = numbers.next;
                numbers.next += numbers.stride;
                Some(Due { number, intended_ns: now_ns, is_new: true, free_ns: now_ns })
            }
        }
    }

    /// Whether queries are due according to a schedule (open loop).
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Open(_))
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
                Kind::Closed(numbers) => numbers.next >= numbers.limit,
            }
    }

    /// All queries due before this instant have been scheduled at `now_ns`.
    #[inline]
    pub(crate) fn scheduled_up_to_ns(&self, now_ns: u64) -> u64 {
        match &self.kind {
            Kind::Open(cursor) if !self.stopped => {
                cursor.due_ns().map_or(now_ns, |due_ns| due_ns.min(now_ns))
            }
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
            Kind::Open(cursor) if self.is_full(outstanding) => {
                cursor.due_ns().map(|due_ns| due_ns.saturating_add(self.timeout_ns))
            }
            Kind::Open(cursor) => cursor.due_ns(),
            Kind::Closed(numbers) if numbers.next >= numbers.limit => None,
            Kind::Closed(numbers) => Some(if self.is_full(outstanding) { numbers.end_ns } else { now_ns }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_plan::schedule::Constant;

    #[test]
    fn a_full_window_holds_queries_back_until_one_ends_or_their_timeout() {
        let curve = Constant { rate_qps: 10.0, duration_ns: Some(1_000_000_000) }.curve().unwrap();
        let mut pace = Pace::open(curve.cursor(0, 1), Some(2), 300_000_000);
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

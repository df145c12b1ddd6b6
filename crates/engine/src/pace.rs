//! When the next query is due: by the curve of the plan, or by a window of outstanding queries.

use dnsdyno_plan::schedule::Cursor;

/// One worker's slice of the load.
pub(crate) struct Pace {
    kind: Kind,
    /// Queries that were due and could not leave; the oldest last.
    held: Vec<Due>,
    /// Nothing more will be taken up: the load is over, or the user ended it.
    stopped: bool,
}

enum Kind {
    /// The schedule says when.
    Open(Cursor),
    /// An answer makes room for the next.
    Closed(Window),
}

/// A worker's part of a closed loop.
pub(crate) struct Window {
    /// Most queries under way at once.
    pub(crate) size: u32,
    /// The number of its next query.
    pub(crate) next: u64,
    /// Distance of its numbers: as many as there are workers.
    pub(crate) stride: u64,
    /// No query with this number or a higher one is asked.
    pub(crate) limit: u64,
    /// No query is asked at this instant or later.
    pub(crate) end_ns: u64,
}

/// A query that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Its number in the run, over all workers.
    pub(crate) number: u64,
    /// The instant at which it should leave.
    pub(crate) intended_ns: u64,
    /// Whether it is taken for the first time.
    pub(crate) is_new: bool,
}

impl Pace {
    /// The slice that `cursor` walks.
    pub(crate) fn open(cursor: Cursor) -> Self {
        Pace { kind: Kind::Open(cursor), held: Vec::new(), stopped: false }
    }

    /// Queries one after the other, as there is room in the window.
    pub(crate) fn closed(window: Window) -> Self {
        Pace { stopped: window.size == 0, kind: Kind::Closed(window), held: Vec::new() }
    }

    /// The next query that is due at `now_ns`, with `under_way` queries of this worker on their
    /// way or about to leave.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64, under_way: u32) -> Option<Due> {
        if let Some(due) = self.held.pop() {
            return Some(Due { is_new: false, ..due });
        }
        if self.stopped {
            return None;
        }
        match &mut self.kind {
            Kind::Open(cursor) => {
                let intended_ns = cursor.due_ns().filter(|due_ns| *due_ns <= now_ns)?;
                let number = cursor.n();
                cursor.advance();
                Some(Due { number, intended_ns, is_new: true })
            }
            Kind::Closed(window) => {
                if now_ns >= window.end_ns {
                    self.stopped = true;
                    return None;
                }
                if under_way >= window.size || window.next >= window.limit {
                    return None;
                }
                let number = window.next;
                window.next += window.stride;
                Some(Due { number, intended_ns: now_ns, is_new: true })
            }
        }
    }

    /// Whether a schedule says when queries are due, and not the answers.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Open(_))
    }

    /// Takes back a query that could not leave. It is the next to be taken, so of several the
    /// newest must be held first.
    pub(crate) fn hold(&mut self, due: Due) {
        self.held.push(due);
    }

    /// Whether queries wait that could not leave.
    pub(crate) fn holds_some(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes up nothing more of the load; what is held stays.
    pub(crate) fn close(&mut self) {
        self.stopped = true;
    }

    /// After the user's wish to stop: the queries that were due by `now_ns`, one a call.
    pub(crate) fn take_for_stop(&mut self, now_ns: u64) -> Option<Due> {
        // A window has no backlog: what it did not take up was never due.
        let due = match self.kind {
            Kind::Open(_) => self.take(now_ns, 0),
            Kind::Closed(_) => self.held.pop().map(|due| Due { is_new: false, ..due }),
        };
        self.stopped |= due.is_none();
        due
    }

    /// Whether no query will ever be due again.
    pub(crate) fn is_exhausted(&self) -> bool {
        let nothing_left = match &self.kind {
            Kind::Open(cursor) => cursor.due_ns().is_none(),
            Kind::Closed(window) => window.next >= window.limit,
        };
        self.held.is_empty() && (self.stopped || nothing_left)
    }

    /// Every query due before this instant was taken up, seen at `now_ns`.
    #[inline]
    pub(crate) fn taken_up_to_ns(&self, now_ns: u64) -> u64 {
        match &self.kind {
            Kind::Open(cursor) if !self.stopped => {
                cursor.due_ns().map_or(now_ns, |due_ns| due_ns.min(now_ns))
            }
            _ => now_ns,
        }
    }

    /// When to look again, if nothing else happens.
    pub(crate) fn next_due_ns(&self, now_ns: u64, under_way: u32) -> Option<u64> {
        if self.stopped {
            return None;
        }
        match &self.kind {
            Kind::Open(cursor) => cursor.due_ns(),
            Kind::Closed(window) if window.next >= window.limit => None,
            Kind::Closed(window) => Some(if under_way < window.size { now_ns } else { window.end_ns }),
        }
    }
}

//! One worker's ledger: a tally for each interval that has not settled, and the arrivals of the
//! wall interval under way.
//!
//! ```text
//!  intended instants:   settled │ open, closed to new queries │ open  │
//!                      ─────────┼──────────────┬──────────────┼───────┤
//!  handed out when      each of its queries ended             │       now
//!  wall clock:          ...one interval at a time, handed out at its end
//! ```
//!
//! Tallies are handed to the collector whole, and come back empty to be used again, so that the
//! worker neither stops nor (once it has run for a timeout) asks for memory.

use std::collections::VecDeque;

use dnsdyno_measure::{Arrivals, Fallback, MemberTally, NotSentReason, Tally};
use dnsdyno_transport::Resources;
use rtrb::{Consumer, Producer};

use crate::inflight::SentQuery;

/// What a worker hands to the collector.
pub(crate) enum Page {
    /// An interval in which each query has ended.
    Settled { index: u64, tally: Box<Tally> },
    /// A wall interval that is over, and what the host has spent on the worker by its end.
    Passed { index: u64, arrivals: Box<Arrivals>, resources: Resources },
    /// The worker has done its part; no page comes after this one.
    Done(Closing),
}

/// What a worker knows at its end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Closing {
    /// When its last query had ended.
    pub(crate) end_ns: u64,
    /// When the last of its queries had been scheduled.
    pub(crate) exhausted_ns: u64,
    /// Responses that were received after their interval had been handed out.
    pub(crate) late_after_settled: u64,
    /// How often a due query found no free ID.
    pub(crate) id_waits: u64,
    /// How often a due query found no client that could send it, in an open loop.
    pub(crate) connection_waits: u64,
    /// Due queries that a full window held back.
    pub(crate) held_back: HeldBack,
    /// Whether the user ended it.
    pub(crate) interrupted: bool,
}

/// Queries that a full window held back past their intended instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldBack {
    /// How many.
    pub queries: u64,
    /// For how long, together, in nanoseconds.
    pub sum_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
}

impl HeldBack {
    /// Adds what `other` holds.
    pub(crate) fn merge(&mut self, other: &HeldBack) {
        self.queries += other.queries;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Empty tallies that came back.
pub(crate) enum Blank {
    Tally(Box<Tally>),
    Arrivals(Box<Arrivals>),
}

/// The ledger of one worker.
pub(crate) struct Ledger {
    interval_ns: u64,
    types: usize,
    /// Members of a mix; 0 where there is no mix.
    members: usize,
    /// Tallies from interval `first_open` on.
    open: VecDeque<Box<Tally>>,
    first_open: u64,
    arrivals: Box<Arrivals>,
    wall_index: u64,
    /// Response time in open loop, service time in closed loop: what `arrivals` keeps.
    headline_is_response: bool,
    late_after_settled: u64,
    held_back: HeldBack,
    pages: Producer<Page>,
    /// Pages that found the ring to the collector full. Empty but when the disk stalls.
    waiting: VecDeque<Page>,
    blanks: Consumer<Blank>,
    #[expect(
        clippy::vec_box,
        reason = "pages travel boxed: half a kilobyte is not copied at each handing over"
    )]
    blank_tallies: Vec<Box<Tally>>,
    #[expect(clippy::vec_box, reason = "as above")]
    blank_arrivals: Vec<Box<Arrivals>>,
}

impl Ledger {
    /// A ledger for a plan with `types` query types, and `members` in its mix; `spare` tallies are made in advance.
    pub(crate) fn new(
        interval_ns: u64,
        types: usize,
        members: usize,
        headline_is_response: bool,
        spare: usize,
        pages: Producer<Page>,
        blanks: Consumer<Blank>,
    ) -> Self {
        Ledger {
            interval_ns,
            types,
            members,
            open: VecDeque::with_capacity(spare + 8),
            first_open: 0,
            arrivals: Box::default(),
            wall_index: 0,
            headline_is_response,
            late_after_settled: 0,
            held_back: HeldBack::default(),
            pages,
            waiting: VecDeque::new(),
            blanks,
            blank_tallies: (0..spare).map(|_| Box::new(Tally::of_mix(types, members))).collect(),
            blank_arrivals: vec![Box::default(), Box::default()],
        }
    }

    /// The present wall interval.
    pub(crate) fn arrivals(&mut self) -> &mut Arrivals {
        &mut self.arrivals
    }

    /// The first instant after the present wall interval.
    pub(crate) fn wall_end_ns(&self) -> u64 {
        (self.wall_index + 1) * self.interval_ns
    }

    /// A query of the load was scheduled.
    #[inline]
    pub(crate) fn scheduled(&mut self, intended_ns: u64, member: u8) {
        let tally = self.tally(intended_ns);
        tally.scheduled += 1;
        of(tally, member, |member| member.scheduled += 1);
    }

    /// A query was sent, which could be from `free_ns` on: it is late by what passed since.
    #[inline]
    pub(crate) fn sent(&mut self, departure: &SentQuery, free_ns: u64, bytes: usize, type_slot: usize) {
        let tally = self.tally(departure.intended_ns);
        tally.requests += 1;
        tally.bytes_sent += bytes as u64;
        tally.lateness.record(departure.sent_ns.saturating_sub(free_ns));
        if let Some(count) = tally.types.get_mut(type_slot) {
            count.sent += 1;
        }
        of(tally, departure.member, |member| member.sent += 1);
        self.arrivals.sent += 1;
    }

    /// A due query was held back by a full window for so long, until it was scheduled. The one place where this is
    /// counted.
    #[cold]
    pub(crate) fn held_back(&mut self, held_ns: u64) {
        self.held_back.merge(&HeldBack { queries: 1, sum_ns: held_ns, max_ns: held_ns });
    }

    /// The counters of transactions that may fall back to TCP, of the interval of this instant.
    pub(crate) fn fallback(&mut self, intended_ns: u64) -> &mut Fallback {
        self.tally(intended_ns).fallback_mut()
    }

    /// A query was sent over TCP, because its response over UDP was truncated.
    pub(crate) fn sent_over_tcp(&mut self, departure: &SentQuery, bytes: usize) {
        let tally = self.tally(departure.intended_ns);
        tally.requests += 1;
        tally.bytes_sent += bytes as u64;
        tally.fallback_mut().tcp_requests += 1;
    }

    /// A query was sent once more, because the connection that it had been sent on was lost.
    pub(crate) fn retried(&mut self, departure: &SentQuery, bytes: usize) {
        let tally = self.tally(departure.intended_ns);
        tally.requests += 1;
        tally.retried += 1;
        tally.bytes_sent += bytes as u64;
    }

    /// A query was sent, and its response is not waited for.
    #[inline]
    pub(crate) fn sent_only(&mut self, intended_ns: u64) {
        self.tally(intended_ns).ends.sent_only += 1;
    }

    /// A query was answered in time.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        departure: &SentQuery,
        at_ns: u64,
        rcode: u16,
        bytes: usize,
        type_slot: usize,
    ) {
        let response_ns = at_ns.saturating_sub(departure.intended_ns);
        let service_ns = at_ns.saturating_sub(departure.sent_ns);
        let headline_ns = if self.headline_is_response { response_ns } else { service_ns };
        let tally = self.tally(departure.intended_ns);
        tally.ends.answered += 1;
        tally.rcodes.add(rcode, 1);
        tally.response.record(response_ns);
        tally.service.record(service_ns);
        tally.bytes_answered += bytes as u64;
        if let Some(count) = tally.types.get_mut(type_slot) {
            count.answered += 1;
        }
        of(tally, departure.member, |member| {
            member.ends.answered += 1;
            member.response.record(response_ns);
            member.service.record(service_ns);
        });
        self.arrivals.answered += 1;
        self.arrivals.latency.record(headline_ns);
    }

    /// A packet was received, in a build that pairs none: it is taken for the response to the oldest query.
    #[inline]
    pub(crate) fn answered_by_anyone(&mut self) {
        if let Some(tally) = self.open.iter_mut().find(|tally| !tally.is_settled()) {
            tally.ends.answered += 1;
            self.arrivals.answered += 1;
        }
    }

    /// Ends what such a build still takes to be outstanding.
    pub(crate) fn interrupt_open(&mut self) {
        for tally in &mut self.open {
            tally.ends.interrupted += tally.scheduled.saturating_sub(tally.ends.total());
        }
    }

    /// A query's timeout passed.
    pub(crate) fn timed_out(&mut self, departure: &SentQuery) {
        let tally = self.tally(departure.intended_ns);
        tally.ends.timed_out += 1;
        of(tally, departure.member, |member| member.ends.timed_out += 1);
        self.arrivals.timed_out += 1;
    }

    /// The response was received of a query that was counted as timed out.
    ///
    /// If its interval was handed out already, only the sum will have it.
    pub(crate) fn late(&mut self, departure: &SentQuery, rcode: u16, bytes: usize) {
        self.arrivals.late += 1;
        if departure.intended_ns / self.interval_ns < self.first_open {
            self.late_after_settled += 1;
            return;
        }
        let tally = self.tally(departure.intended_ns);
        tally.ends.came_late_after_all(1);
        of(tally, departure.member, |member| member.ends.came_late_after_all(1));
        tally.rcodes.add(rcode, 1);
        tally.bytes_answered += bytes as u64;
    }

    /// The network refused a query.
    pub(crate) fn refused(&mut self, departure: &SentQuery) {
        let tally = self.tally(departure.intended_ns);
        tally.ends.refused += 1;
        of(tally, departure.member, |member| member.ends.refused += 1);
        self.arrivals.refused += 1;
    }

    /// A query was given up before it was sent.
    pub(crate) fn not_sent(&mut self, intended_ns: u64, member: u8, reason: NotSentReason) {
        let tally = self.tally(intended_ns);
        tally.ends.not_sent.add(reason, 1);
        of(tally, member, |member| member.ends.not_sent.add(reason, 1));
        self.arrivals.not_sent += 1;
    }

    /// The user ended the run with this query due or outstanding.
    pub(crate) fn interrupted(&mut self, intended_ns: u64, member: u8) {
        let tally = self.tally(intended_ns);
        tally.ends.interrupted += 1;
        of(tally, member, |member| member.ends.interrupted += 1);
    }

    /// Hands out the wall intervals that are over at `now_ns`.
    pub(crate) fn roll(&mut self, now_ns: u64, resources: impl FnOnce() -> Resources) {
        if now_ns < self.wall_end_ns() {
            return;
        }
        self.fetch_blanks();
        let resources = resources();
        while now_ns >= self.wall_end_ns() {
            self.pass(resources);
        }
        self.flush();
    }

    /// Hands out the intervals that have settled, given that every query due before
    /// `scheduled_up_to_ns` was scheduled.
    #[inline]
    pub(crate) fn settle(&mut self, scheduled_up_to_ns: u64) {
        while (self.first_open + 1) * self.interval_ns <= scheduled_up_to_ns
            && self.open.front().is_none_or(|tally| tally.is_settled())
        {
            let tally = self.open.pop_front().unwrap_or_else(|| self.blank_tally());
            self.waiting.push_back(Page::Settled { index: self.first_open, tally });
            self.first_open += 1;
            self.flush();
        }
    }

    /// Closes the ledger, when every query has ended: hands out all that remains.
    pub(crate) fn close(mut self, resources: Resources, closing: Closing) {
        let last = (closing.end_ns / self.interval_ns).max(self.wall_index);
        while self.wall_index <= last {
            self.pass(resources);
        }
        self.settle((last + 1) * self.interval_ns);
        let Ledger { late_after_settled, held_back, .. } = self;
        self.waiting.push_back(Page::Done(Closing { late_after_settled, held_back, ..closing }));
        while !self.waiting.is_empty() && !self.pages.is_abandoned() {
            self.flush();
            std::thread::yield_now();
        }
    }

    /// Hands out the present wall interval and begins the next.
    fn pass(&mut self, resources: Resources) {
        let blank = self.blank_arrivals.pop().unwrap_or_default();
        let arrivals = std::mem::replace(&mut self.arrivals, blank);
        self.waiting.push_back(Page::Passed { index: self.wall_index, arrivals, resources });
        self.wall_index += 1;
    }

    /// The tally that holds this instant. It is open, because a query of it has not ended.
    #[inline]
    fn tally(&mut self, intended_ns: u64) -> &mut Tally {
        let place = (intended_ns / self.interval_ns).saturating_sub(self.first_open) as usize;
        while self.open.len() <= place {
            let blank = self.blank_tally();
            self.open.push_back(blank);
        }
        &mut self.open[place]
    }

    fn blank_tally(&mut self) -> Box<Tally> {
        if self.blank_tallies.is_empty() {
            self.fetch_blanks();
        }
        self.blank_tallies.pop().unwrap_or_else(|| Box::new(Tally::of_mix(self.types, self.members)))
    }

    fn fetch_blanks(&mut self) {
        while let Ok(blank) = self.blanks.pop() {
            match blank {
                Blank::Tally(tally) => self.blank_tallies.push(tally),
                Blank::Arrivals(arrivals) => self.blank_arrivals.push(arrivals),
            }
        }
    }

    fn flush(&mut self) {
        while let Some(page) = self.waiting.pop_front() {
            if let Err(rtrb::PushError::Full(page)) = self.pages.push(page) {
                self.waiting.push_front(page);
                return;
            }
        }
    }
}

/// Books something on a member of the mix; where there is no mix, there is none.
#[inline]
fn of(tally: &mut Tally, member: u8, book: impl FnOnce(&mut MemberTally)) {
    if let Some(member) = tally.members.get_mut(usize::from(member)) {
        book(member);
    }
}

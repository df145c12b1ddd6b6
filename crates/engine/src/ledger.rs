//! One worker's counters: a tally for each interval that has not settled, and the arrivals of the current wall
//! interval.
//!
//! ```text
//!  intended instants:   settled │ open, closed to new queries │ open  │
//!                      ─────────┼──────────────┬──────────────┼───────┤
//!  passed on when       all of its queries have ended         │       now
//!  wall clock:          ...one interval at a time, passed on at its end
//! ```
//!
//! Tallies are passed to the collector and returned empty for reuse, so that the worker neither blocks nor (after the
//! first timeout has passed) allocates memory.

use std::collections::VecDeque;

use dnsdyno_measure::{
    AnswerChecks, Arrivals, BURST_NS, Explanation, Fallback, MemberTally, NotSentReason, OwnDelay,
    ShortDelay, Tally, Truncated,
};
use dnsdyno_transport::Resources;
use rtrb::{Consumer, Producer};

use crate::first_send::FirstSend;
use crate::inflight::SentQuery;
use crate::supply::ReaderWaits;

/// What a worker passes to the collector.
pub(crate) enum Page {
    /// An interval whose queries have all ended, and when the last query of the worker was scheduled if it was by then.
    Settled { index: u64, tally: Box<Tally>, exhausted_ns: Option<u64> },
    /// A wall interval that is over, the resources that the worker had used by its end, and the same instant.
    Passed { index: u64, arrivals: Box<Arrivals>, resources: Resources, exhausted_ns: Option<u64> },
    /// The worker is done; this is its last page.
    Done(Box<Closing>),
}

/// A worker's totals at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closing {
    /// When its last query ended.
    pub(crate) end_ns: u64,
    /// When its last query was scheduled.
    pub(crate) exhausted_ns: u64,
    /// When the last response in time was received.
    pub(crate) last_answer_ns: Option<u64>,
    /// Responses received after their interval was passed on.
    pub(crate) late_after_settled: u64,
    /// Its first query.
    pub(crate) first_send: Option<FirstSend>,
    /// Due queries that found no free ID.
    pub(crate) id_waits: u64,
    /// Due queries in open loop that found no client to send them.
    pub(crate) connection_waits: u64,
    /// How it waited for the reader of a streamed source.
    pub(crate) reader_waits: ReaderWaits,
    /// Whether the user ended the run early.
    pub(crate) interrupted: bool,
    /// Queries sent over each of its channels, without retries.
    pub(crate) sent_by_channel: Vec<u64>,
    /// What was behind its failures.
    pub(crate) explanations: Vec<Explanation>,
    /// The questions that have fallen back to TCP.
    pub(crate) truncated: Option<Truncated>,
    /// The answers that were checked.
    pub(crate) answer_checks: Option<AnswerChecks>,
}

/// An empty page returned for reuse.
pub(crate) enum Blank {
    Tally(Box<Tally>),
    Arrivals(Box<Arrivals>),
}

/// The ledger of one worker.
pub(crate) struct Ledger {
    interval_ns: u64,
    types: usize,
    /// Members of a mix; 0 without a mix.
    members: usize,
    /// Tallies from interval `first_open` on.
    open: VecDeque<Box<Tally>>,
    first_open: u64,
    arrivals: Box<Arrivals>,
    wall_index: u64,
    /// Whether `arrivals` has response times (open loop) or service times (closed loop).
    headline_is_response: bool,
    own_delay: OwnDelay,
    late_after_settled: u64,
    /// When the last query was scheduled; `None` while more may be.
    exhausted_ns: Option<u64>,
    /// When the last response in time was received; 0 = none was.
    last_answer_ns: u64,
    pages: Producer<Page>,
    /// Pages that did not fit into the queue to the collector. Empty unless the disk stalls.
    waiting: VecDeque<Page>,
    blanks: Consumer<Blank>,
    #[expect(clippy::vec_box, reason = "pages are passed on boxed, to avoid copies of half a kilobyte")]
    blank_tallies: Vec<Box<Tally>>,
    #[expect(clippy::vec_box, reason = "as above")]
    blank_arrivals: Vec<Box<Arrivals>>,
}

impl Ledger {
    /// A ledger for a plan with `types` query types and `members` in its mix; `spare` tallies are allocated now.
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
            own_delay: OwnDelay::default(),
            late_after_settled: 0,
            exhausted_ns: None,
            last_answer_ns: 0,
            pages,
            waiting: VecDeque::new(),
            blanks,
            blank_tallies: (0..spare).map(|_| Box::new(Tally::of_mix(types, members))).collect(),
            blank_arrivals: vec![Box::default(), Box::default()],
        }
    }

    /// The current wall interval.
    pub(crate) fn arrivals(&mut self) -> &mut Arrivals {
        &mut self.arrivals
    }

    /// The end of the current wall interval.
    pub(crate) fn wall_end_ns(&self) -> u64 {
        (self.wall_index + 1) * self.interval_ns
    }

    /// A query was scheduled.
    #[inline]
    pub(crate) fn scheduled(&mut self, intended_ns: u64, member: u8) {
        let tally = self.tally(intended_ns);
        tally.scheduled += 1;
        count_member(tally, member, |member| member.scheduled += 1);
    }

    /// A query was sent. Its lateness is counted from `free_ns`, when it could be sent.
    #[inline]
    pub(crate) fn sent(&mut self, sent_query: &SentQuery, free_ns: u64, bytes: usize) {
        let tally = self.tally(sent_query.intended_ns);
        tally.requests += 1;
        count_query_bytes(tally, bytes);
        tally.lateness.record(sent_query.sent_ns.saturating_sub(free_ns));
        if let Some(count) = tally.types.get_mut(usize::from(sent_query.type_slot)) {
            count.sent += 1;
        }
        count_member(tally, sent_query.member, |member| member.sent += 1);
        self.arrivals.sent += 1;
    }

    /// Queries were sent together, the first of them late by `late_ns`; `is_idle`: no other one was outstanding. Counts
    /// what late sends may add to their response times, and returns it.
    #[inline]
    pub(crate) fn sent_together(
        &mut self,
        queries: usize,
        first_due_ns: u64,
        sent_ns: u64,
        late_ns: u64,
        is_idle: bool,
    ) -> ShortDelay {
        if !self.headline_is_response || queries == 0 {
            return ShortDelay::NONE;
        }
        let delay_ns = self.own_delay.at_send(sent_ns, late_ns, is_idle);
        self.tally(first_due_ns).own_delay.record_n(delay_ns, queries as u64);
        ShortDelay::of(delay_ns)
    }

    /// The kernel has stamped when a send left, so long after it; `None`: the stamp did not come.
    #[cold]
    pub(crate) fn departed(&mut self, after_ns: Option<u64>) {
        let stamps = self.arrivals.send_stamps_mut();
        match after_ns {
            Some(after_ns) => stamps.delay.record(after_ns),
            None => stamps.missing += 1,
        }
    }

    /// The fallback counters of the interval of this instant.
    pub(crate) fn fallback(&mut self, intended_ns: u64) -> &mut Fallback {
        self.tally(intended_ns).fallback_mut()
    }

    /// A query was sent over TCP, because its response over UDP was truncated.
    pub(crate) fn sent_over_tcp(&mut self, sent_query: &SentQuery, bytes: usize) {
        let tally = self.tally(sent_query.intended_ns);
        tally.requests += 1;
        count_query_bytes(tally, bytes);
        tally.fallback_mut().tcp_requests += 1;
    }

    /// A query was sent again, because its connection was lost.
    pub(crate) fn retried(&mut self, sent_query: &SentQuery, bytes: usize) {
        let tally = self.tally(sent_query.intended_ns);
        tally.requests += 1;
        tally.retried += 1;
        count_query_bytes(tally, bytes);
    }

    /// The last request of a query was passed to a connection and has not left: the connection was never ready for it.
    /// The query has been sent only where an earlier request of it has left, over UDP or `was_asked_again`.
    #[cold]
    pub(crate) fn request_unsent(
        &mut self,
        sent_query: &SentQuery,
        bytes: usize,
        was_asked_again: bool,
        is_fallback: bool,
    ) {
        let tally = self.tally(sent_query.intended_ns);
        let less = |count: &mut u64| *count = count.saturating_sub(1);
        less(&mut tally.requests);
        tally.bytes_sent = tally.bytes_sent.saturating_sub(bytes as u64);
        if was_asked_again {
            less(&mut tally.retried);
        }
        if is_fallback {
            let fallback = tally.fallback_mut();
            less(&mut fallback.tcp_requests);
            if was_asked_again {
                less(&mut fallback.tcp_retried);
            }
        } else if !was_asked_again {
            if let Some(count) = tally.types.get_mut(usize::from(sent_query.type_slot)) {
                less(&mut count.sent);
            }
            count_member(tally, sent_query.member, |member| member.sent = member.sent.saturating_sub(1));
        }
    }

    /// A query was sent, and its response is not waited for.
    #[inline]
    pub(crate) fn sent_only(&mut self, sent_query: &SentQuery) {
        let tally = self.tally(sent_query.intended_ns);
        tally.ends.sent_only += 1;
        count_member(tally, sent_query.member, |member| member.ends.sent_only += 1);
    }

    /// A query was answered in time.
    #[inline]
    pub(crate) fn answered(&mut self, sent_query: &SentQuery, at_ns: u64, rcode: u16, bytes: usize) {
        let response_ns = at_ns.saturating_sub(sent_query.intended_ns);
        let service_ns = at_ns.saturating_sub(sent_query.sent_ns);
        let is_response = self.headline_is_response;
        let headline_ns = if is_response { response_ns } else { service_ns };
        let tally = self.tally(sent_query.intended_ns);
        tally.ends.answered += 1;
        tally.rcodes.add(rcode, 1);
        tally.response.record(response_ns);
        tally.service.record(service_ns);
        if is_response {
            tally.response_least.record(sent_query.own_delay.less(response_ns));
        }
        count_response_bytes(tally, bytes);
        if let Some(count) = tally.types.get_mut(usize::from(sent_query.type_slot)) {
            count.answered += 1;
        }
        count_member(tally, sent_query.member, |member| {
            member.ends.answered += 1;
            member.response.record(response_ns);
            member.service.record(service_ns);
        });
        self.arrivals.answered += 1;
        self.arrivals.latency.record(headline_ns);
        self.last_answer_ns = at_ns;
    }

    /// A query was answered in time, and wrongly.
    #[cold]
    pub(crate) fn answered_wrong(&mut self, sent_query: &SentQuery, at_ns: u64, rcode: u16, bytes: usize) {
        let tally = self.tally(sent_query.intended_ns);
        tally.ends.answered_wrong += 1;
        tally.rcodes.add(rcode, 1);
        tally.rcodes_late_or_wrong.add(rcode, 1);
        count_response_bytes(tally, bytes);
        count_member(tally, sent_query.member, |member| member.ends.answered_wrong += 1);
        self.arrivals.wrong += 1;
        self.last_answer_ns = at_ns;
    }

    /// A packet was received in a build without pairing: it counts as the response to the oldest query.
    #[inline]
    pub(crate) fn answered_unpaired(&mut self) {
        if let Some(tally) = self.open.iter_mut().find(|tally| !tally.is_settled()) {
            tally.ends.answered += 1;
            self.arrivals.answered += 1;
        }
    }

    /// In such a build, ends the queries that still count as outstanding.
    pub(crate) fn interrupt_open(&mut self) {
        for tally in &mut self.open {
            tally.ends.interrupted += tally.scheduled.saturating_sub(tally.ends.total());
        }
    }

    /// A query's timeout passed.
    pub(crate) fn timed_out(&mut self, sent_query: &SentQuery) {
        let tally = self.tally(sent_query.intended_ns);
        tally.ends.timed_out += 1;
        tally.lost_late += u64::from(sent_query.sent_ns > sent_query.intended_ns.saturating_add(BURST_NS));
        count_member(tally, sent_query.member, |member| member.ends.timed_out += 1);
        self.arrivals.timed_out += 1;
    }

    /// The response to a query that was counted as timed out was received. If its interval has already been passed on,
    /// it is counted only in the sum of the run.
    pub(crate) fn late(&mut self, sent_query: &SentQuery, rcode: u16, bytes: usize) {
        self.arrivals.late += 1;
        if sent_query.intended_ns / self.interval_ns < self.first_open {
            self.late_after_settled += 1;
            return;
        }
        let tally = self.tally(sent_query.intended_ns);
        tally.ends.came_late_after_all(1);
        count_member(tally, sent_query.member, |member| member.ends.came_late_after_all(1));
        tally.rcodes.add(rcode, 1);
        tally.rcodes_late_or_wrong.add(rcode, 1);
        count_response_bytes(tally, bytes);
    }

    /// The network refused a query.
    pub(crate) fn refused(&mut self, sent_query: &SentQuery) {
        let tally = self.tally(sent_query.intended_ns);
        tally.ends.refused += 1;
        count_member(tally, sent_query.member, |member| member.ends.refused += 1);
        self.arrivals.refused += 1;
    }

    /// A query was abandoned before it was sent.
    pub(crate) fn not_sent(&mut self, intended_ns: u64, member: u8, reason: NotSentReason) {
        let tally = self.tally(intended_ns);
        tally.ends.not_sent.add(reason, 1);
        count_member(tally, member, |member| member.ends.not_sent.add(reason, 1));
        self.arrivals.not_sent += 1;
    }

    /// A query that was counted as sent has never left this host. It keeps its lateness: it was passed on in time.
    #[cold]
    pub(crate) fn never_sent(&mut self, sent_query: &SentQuery, reason: NotSentReason, bytes: usize) {
        let tally = self.tally(sent_query.intended_ns);
        tally.requests = tally.requests.saturating_sub(1);
        tally.bytes_sent = tally.bytes_sent.saturating_sub(bytes as u64);
        if let Some(count) = tally.types.get_mut(usize::from(sent_query.type_slot)) {
            count.sent = count.sent.saturating_sub(1);
        }
        count_member(tally, sent_query.member, |member| member.sent = member.sent.saturating_sub(1));
        self.not_sent(sent_query.intended_ns, sent_query.member, reason);
    }

    /// The user ended the run with this query due or outstanding.
    pub(crate) fn interrupted(&mut self, intended_ns: u64, member: u8) {
        let tally = self.tally(intended_ns);
        tally.ends.interrupted += 1;
        count_member(tally, member, |member| member.ends.interrupted += 1);
    }

    /// No query is scheduled at this instant or later. The first call counts.
    pub(crate) fn exhausted(&mut self, now_ns: u64) {
        self.exhausted_ns.get_or_insert(now_ns);
    }

    /// Passes on the wall intervals that are over at `now_ns`.
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

    /// Passes on the intervals that have settled, given that all queries due before `scheduled_up_to_ns` have been
    /// scheduled.
    #[inline]
    pub(crate) fn settle(&mut self, scheduled_up_to_ns: u64) {
        while (self.first_open + 1) * self.interval_ns <= scheduled_up_to_ns
            && self.open.front().is_none_or(|tally| tally.is_settled())
        {
            let tally = self.open.pop_front().unwrap_or_else(|| self.blank_tally());
            let (index, exhausted_ns) = (self.first_open, self.exhausted_ns);
            self.waiting.push_back(Page::Settled { index, tally, exhausted_ns });
            self.first_open += 1;
            self.flush();
        }
    }

    /// Closes the ledger after all queries have ended: passes on the remaining pages.
    pub(crate) fn close(mut self, resources: Resources, closing: Closing) {
        self.exhausted(closing.end_ns);
        let last = (closing.end_ns / self.interval_ns).max(self.wall_index);
        while self.wall_index <= last {
            self.pass(resources);
        }
        self.settle((last + 1) * self.interval_ns);
        debug_assert!(
            self.open.iter().all(|tally| tally.is_settled()),
            "a query has no end, or more than one"
        );
        let late_after_settled = self.late_after_settled;
        let last_answer_ns = Some(self.last_answer_ns).filter(|at_ns| *at_ns > 0);
        let exhausted_ns = self.exhausted_ns.unwrap_or(closing.end_ns);
        let done = Closing { exhausted_ns, late_after_settled, last_answer_ns, ..closing };
        self.waiting.push_back(Page::Done(Box::new(done)));
        while !self.waiting.is_empty() && !self.pages.is_abandoned() {
            self.flush();
            std::thread::yield_now();
        }
    }

    /// Passes on the current wall interval and starts the next.
    fn pass(&mut self, resources: Resources) {
        let blank = self.blank_arrivals.pop().unwrap_or_default();
        let arrivals = std::mem::replace(&mut self.arrivals, blank);
        let (index, exhausted_ns) = (self.wall_index, self.exhausted_ns);
        self.waiting.push_back(Page::Passed { index, arrivals, resources, exhausted_ns });
        self.wall_index += 1;
    }

    /// The tally of this instant. It has not settled, because one of its queries has not ended.
    #[inline]
    pub(crate) fn tally(&mut self, intended_ns: u64) -> &mut Tally {
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

/// Counts the size of a query sent.
#[inline]
fn count_query_bytes(tally: &mut Tally, bytes: usize) {
    tally.bytes_sent += bytes as u64;
    tally.query_bytes_max = tally.query_bytes_max.max(bytes as u64);
}

/// Counts the size of a response that ended a query.
#[inline]
fn count_response_bytes(tally: &mut Tally, bytes: usize) {
    tally.bytes_answered += bytes as u64;
    tally.response_bytes_max = tally.response_bytes_max.max(bytes as u64);
}

/// Counts an event of a member of the mix; without a mix, does nothing.
#[inline]
fn count_member(tally: &mut Tally, member: u8, count: impl FnOnce(&mut MemberTally)) {
    if let Some(member) = tally.members.get_mut(usize::from(member)) {
        count(member);
    }
}

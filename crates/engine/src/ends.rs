//! The end of a query: each query that was taken from the source has exactly one, and it is counted here.
//!
//! ```text
//!  answered · timed out · refused · interrupted ── of an outstanding query ──┐
//!  not sent · timed out · refused · interrupted ── of one that waits ────────┼──► end()
//! ```

use dnsdyno_measure::{FallbackFailure, NotSentReason};
use dnsdyno_transport::{Expired, Group, NeverSent};

use crate::connections::Retry;
use crate::fallback::failure_unsent;
use crate::groups::{Queue, Waiting};
use crate::inflight::SentQuery;
use crate::query_log::How;
use crate::transactions::Transactions;

/// How a query has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End<'a> {
    /// This response came in time.
    Answered { at_ns: u64, rcode: u16, response: &'a [u8] },
    /// It was sent, and its response is not waited for.
    SentOnly,
    /// There was no response within the timeout.
    TimedOut,
    /// The network or the server refused it.
    Refused,
    /// It was outstanding or waiting when the run was ended.
    Interrupted,
    /// It could not be sent.
    NotSent(NotSentReason),
    /// It was counted as sent, but has never left this host.
    NeverSent(NeverSent),
}

/// Where a query is when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// In no channel: its number in the run.
    Queue(u64),
    /// Outstanding over a channel, with this ID.
    Channel(usize, u16),
}

impl Transactions<'_> {
    /// Ends a query, which is there: counts it, logs it, and gives it back to its source.
    ///
    /// `failed` is the part that has failed, of a transaction that has fallen back from UDP to TCP or may do so.
    #[inline(always)]
    pub(crate) fn end(&mut self, query: &SentQuery, at: At, end: End<'_>, failed: Option<FallbackFailure>) {
        match end {
            End::Answered { at_ns, rcode, response } => {
                if self.checker.is_some() && self.is_wrong(query, response) {
                    return self.end_wrong(query, at, (at_ns, rcode), response);
                }
                if self.trace.is_some() {
                    self.trace_end(query, at, How::Answered, Some((at_ns, rcode, response.len())));
                }
                self.ledger.answered(query, at_ns, rcode, response.len());
                if self.plain.is_none() {
                    self.follow_answer(query, (at.id(), rcode), at_ns, response);
                }
            }
            End::SentOnly => {
                self.ledger.sent_only(query);
                if self.plain.is_none() {
                    self.queries.release(query.question);
                }
            }
            _ => self.end_unanswered(query, at, end, failed),
        }
    }

    /// What follows the answer to a query, with this ID and RCODE, beside its counting.
    #[cold]
    fn follow_answer(&mut self, query: &SentQuery, (id, rcode): (u16, u16), at_ns: u64, response: &[u8]) {
        if self.rewriter.checks_responses() {
            self.rewriter.count_found(true, rcode, self.ledger.arrivals());
        }
        self.log.answered(&*self.queries, query, (How::Answered, id, rcode), at_ns, response);
        self.queries.answered(query.question, at_ns, response);
    }

    /// Whether the answer to a query is known to be wrong.
    #[cold]
    fn is_wrong(&mut self, query: &SentQuery, response: &[u8]) -> bool {
        self.checker.as_mut().is_some_and(|checker| checker.is_wrong(query.question, response))
    }

    /// A query was answered wrongly, at this instant and with this RCODE.
    #[cold]
    fn end_wrong(&mut self, query: &SentQuery, at: At, (at_ns, rcode): (u64, u16), response: &[u8]) {
        self.ledger.answered_wrong(query, at_ns, rcode, response.len());
        if self.trace.is_some() {
            self.trace_end(query, at, How::AnsweredWrong, Some((at_ns, rcode, response.len())));
        }
        if self.rewriter.checks_responses() {
            self.rewriter.count_found(true, rcode, self.ledger.arrivals());
        }
        self.log.answered(&*self.queries, query, (How::AnsweredWrong, at.id(), rcode), at_ns, response);
        self.queries.answered(query.question, at_ns, response);
    }

    /// Not inlined: an end without an answer is rare, and must not lengthen the path of the answers.
    #[inline(never)]
    fn end_unanswered(&mut self, query: &SentQuery, at: At, end: End<'_>, failed: Option<FallbackFailure>) {
        let how = match end {
            End::Answered { .. } | End::SentOnly => return,
            End::TimedOut => {
                self.ledger.timed_out(query);
                How::TimedOut
            }
            End::Refused => {
                self.ledger.refused(query);
                How::Refused
            }
            End::Interrupted => {
                self.ledger.interrupted(query.intended_ns, query.member);
                How::Interrupted
            }
            End::NotSent(reason) => {
                self.ledger.not_sent(query.intended_ns, query.member, reason);
                How::NotSent(reason)
            }
            End::NeverSent(NeverSent { why, bytes }) => {
                self.ledger.never_sent(query, why, bytes);
                How::NotSent(why)
            }
        };
        if self.trace.is_some() {
            self.trace_end(query, at, how, None);
        }
        self.log.unanswered(&*self.queries, query, at.id(), how);
        self.queries.release(query.question);
        if let Some(part) = failed {
            self.ledger.fallback(query.intended_ns).add_failed(part, 1);
        }
    }

    /// The part that has failed, of a transaction over this channel: that over UDP, that over TCP, or none.
    pub(crate) fn failed_part(
        &self,
        channel: usize,
        udp: FallbackFailure,
        tcp: FallbackFailure,
    ) -> Option<FallbackFailure> {
        match (self.fallback.udp.contains(&channel), self.fallback.tcp.contains(&channel)) {
            (true, _) => Some(udp),
            (_, true) => Some(tcp),
            _ => None,
        }
    }
}

impl At {
    /// The message ID; 0 of a query that waits.
    fn id(self) -> u16 {
        match self {
            At::Queue(_) => 0,
            At::Channel(_, id) => id,
        }
    }
}

/// Ends of queries that wait in the queue of a group.
impl Transactions<'_> {
    /// Ends a query that was taken from the source, of this member of the mix, before it is put in a queue. It is not
    /// answered, and a copy of the path of the answers here would cost each answer over TCP 3 % more instructions.
    #[cold]
    pub(crate) fn end_unqueued(&mut self, query: &Waiting, member: u8, end: End<'_>) {
        let at = At::Queue(query.due.number);
        self.end_unanswered(&query.sent_query(member, query.due.intended_ns), at, end, None);
    }

    /// Ends the first query of a queue, because it cannot be sent.
    pub(crate) fn fail_first(&mut self, number: usize, reason: NotSentReason) {
        let Some((query, at, is_fallback)) = self.take_first(number) else { return };
        let failed = is_fallback.then_some(FallbackFailure::NotSent);
        self.end(&query, at, if is_fallback { End::Refused } else { End::NotSent(reason) }, failed);
    }

    /// Ends the first query of a queue, because the connections of all its clients fail again and again.
    pub(crate) fn refuse_first(&mut self, number: usize) {
        let Some((query, at, is_fallback)) = self.take_first(number) else { return };
        self.end(&query, at, End::Refused, is_fallback.then_some(FallbackFailure::ConnectFailed));
    }

    /// Ends the first query of a queue, because it has waited too long.
    pub(crate) fn give_up_first(&mut self, number: usize) {
        let blocked_by = self.groups.all[number].blocked_by;
        let Some((query, at, is_fallback)) = self.take_first(number) else { return };
        let reason = blocked_by.unwrap_or(NotSentReason::GeneratorLate);
        let failed = is_fallback.then(|| failure_unsent(blocked_by));
        self.end(&query, at, if is_fallback { End::TimedOut } else { End::NotSent(reason) }, failed);
    }

    /// Ends the queries that wait in the queues of the selected groups, because the user ends the run.
    pub(crate) fn interrupt_waiting(&mut self, is_selected: impl Fn(&Group) -> bool) {
        for number in 0..self.groups.all.len() {
            if !is_selected(&self.groups.all[number].group) {
                continue;
            }
            while let Some((query, at, is_fallback)) = self.take_first(number) {
                let failed = is_fallback.then_some(FallbackFailure::Interrupted);
                self.end(&query, at, End::Interrupted, failed);
            }
        }
    }

    /// Takes the first query of a queue; and whether that is the queue of a fallback, whose queries have been sent.
    fn take_first(&mut self, number: usize) -> Option<(SentQuery, At, bool)> {
        let Queue { group, waiting, .. } = &mut self.groups.all[number];
        let query = waiting.pop_front()?;
        let sent_ns = if group.is_fallback { query.sent_ns } else { query.due.intended_ns };
        let at = At::Queue(query.due.number);
        Some((query.sent_query(group.member, sent_ns), at, group.is_fallback))
    }
}

/// Ends of outstanding queries.
impl Transactions<'_> {
    /// Ends the queries whose timeout has passed. Where channels may be clients, `on_client` says of a channel and an
    /// ID whether the query has left.
    pub(crate) fn expire(&mut self, now_ns: u64, mut on_client: impl FnMut(usize, u16) -> Expired) {
        while let Some((slot, query)) = self.table.expire_oldest(now_ns) {
            let (channel, id) = self.table.channel_and_id(slot);
            let (mut end, mut failed) = (End::TimedOut, None);
            if self.connections.is_used() {
                // One that waits to be retried is on no connection.
                let expired = match self.connections.retries.find(channel, id, query.sent_ns) {
                    Some(Retry { has_left: true, .. }) => Expired::Sent,
                    Some(Retry { has_left: false, .. }) => Expired::Waited,
                    None => on_client(channel, id),
                };
                match expired {
                    Expired::Sent => {}
                    Expired::Waited => self.note_unsent(channel, id, &query),
                    Expired::NeverSent(never_sent) => end = End::NeverSent(never_sent),
                }
                let tcp = match self.connections.is_connected(channel) {
                    true => FallbackFailure::QueryTimedOut,
                    false => FallbackFailure::ConnectTimedOut,
                };
                failed = self.failed_part(channel, FallbackFailure::UdpTimedOut, tcp);
            }
            self.end(&query, At::Channel(channel, id), end, failed);
        }
    }

    /// Ends an outstanding query that will not be answered, because its connection was lost or the network refused it.
    pub(crate) fn refuse(&mut self, channel: usize, id: u16, why: FallbackFailure) {
        if let Some(query) = self.table.refuse(channel, id, |_, _| true) {
            let failed = self.failed_part(channel, why, why);
            self.end(&query, At::Channel(channel, id), End::Refused, failed);
        }
    }

    /// Ends all queries, because the user ends the run at once.
    pub(crate) fn interrupt_all(&mut self) {
        while let Some((slot, query)) = self.table.abandon_oldest() {
            let (channel, id) = self.table.channel_and_id(slot);
            let (udp, tcp) = (FallbackFailure::UdpInterrupted, FallbackFailure::Interrupted);
            let failed = self.failed_part(channel, udp, tcp);
            self.end(&query, At::Channel(channel, id), End::Interrupted, failed);
        }
        self.interrupt_waiting(|_| true);
    }
}

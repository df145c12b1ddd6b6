//! Pairs responses with their queries, and counts every event of a query.
//!
//! A query is outstanding from the instant at which it is sent until it is answered, refused, timed out or interrupted.
//! A query that falls back from UDP to TCP waits for a client, and is then outstanding once more.

use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, FallbackFailure, NotSentReason, ShortDelay, StreamFailure,
};
use dnsdyno_plan::source::{Queries, WorkerShare};
use dnsdyno_transport::{Batch, ConnectionEvent, Group, MessageKind, NeverSent, Resources, Sink};
use dnsdyno_wire::{FLAG_QR, FLAG_TC, HEADER_LEN, peek, peek_id, same_question};

use crate::connections::{Connections, Retry, may_retry};
use crate::fallback::{Fallback, Parts, failure_of_connect, failure_of_end, failure_unsent};
use crate::groups::{BATCH, Groups, Queue, Waiting};
use crate::inflight::{InFlight, Match, Place, SentQuery};
use crate::job::{Job, UNMEASURED};
use crate::ledger::Ledger;
use crate::made::{Made, Received};
use crate::pace::Due;
use crate::query_log::{How, Log, Why};
use crate::question::asks;
use crate::share::Share;
use crate::supply::Supply;

/// The outstanding queries of a worker, those that wait to be sent, and its ledger.
pub(crate) struct Pairing<'a> {
    pub(crate) queries: Supply<'a>,
    pub(crate) table: InFlight,
    pub(crate) ledger: Ledger,
    pub(crate) groups: Groups,
    pub(crate) connections: Connections,
    pub(crate) fallback: Fallback,
    pub(crate) made: Made,
    pub(crate) send_only: bool,
    pub(crate) log: Log,
    /// The queries where they are one block, sent as loaded, and only counted: the fast case.
    pub(crate) plain: Option<&'a Queries>,
    /// Outstanding queries in a build that pairs no responses; otherwise 0.
    unpaired: u32,
}

impl<'a> Pairing<'a> {
    /// For a worker with these groups of channels.
    pub(crate) fn new(
        job: &Job<'a>,
        Share { worker, workers }: Share,
        table: InFlight,
        ledger: Ledger,
        groups: Groups,
        connections: Connections,
    ) -> Self {
        let share = WorkerShare { worker, workers, start_unix_ns: job.start_unix_ns };
        let queries = Supply::new(job.source, worker, table.slots());
        let made = Made::new(&queries, share, table.slots(), table.channels());
        let log = Log(job.query_logs.map(|log_of| log_of(worker)));
        Pairing {
            fallback: Fallback::of(&groups, table.fallback(), job.strips_edns),
            plain: match &queries {
                Supply::Whole(queries) if made.is_empty() && !log.is_some() => Some(queries),
                _ => None,
            },
            made,
            queries,
            log,
            table,
            ledger,
            groups,
            connections,
            send_only: job.send_only,
            unpaired: 0,
        }
    }

    /// Queries that are outstanding, or scheduled and waiting to be sent.
    pub(crate) fn outstanding(&self) -> u32 {
        self.groups.waiting() + if UNMEASURED { self.unpaired } else { self.table.live() }
    }

    /// Whether responses are waited for.
    #[inline]
    pub(crate) fn expects_responses(&self) -> bool {
        !self.send_only && !UNMEASURED
    }

    /// Counts the messages of a batch that were sent over a channel of group `number`. They are the first ones in the
    /// queue of the group, and have these places in the table.
    #[inline]
    pub(crate) fn note_sent(&mut self, number: usize, places: &[Place], batch: &Batch, sent_ns: u64) {
        let Queue { group, waiting, held_before_ns, .. } = &mut self.groups.all[number];
        let falls_back = self.fallback.group == number + 1;
        // The first query of a queue was due first.
        let own_delay = waiting.front().filter(|_| !group.is_fallback).map_or(ShortDelay::NONE, |first| {
            let late_ns = sent_ns.saturating_sub(Queue::free_ns(first, *held_before_ns, sent_ns));
            let (due_ns, is_idle) = (first.due.intended_ns, self.table.live() == 0);
            self.ledger.sent_together(places.len(), due_ns, sent_ns, late_ns, is_idle)
        });
        for ((query, place), message) in waiting.iter().zip(places).zip(batch.iter()) {
            let question = query.question;
            if group.is_fallback {
                let sent_query = query.sent_query(group.member, query.sent_ns);
                let type_slot = self.queries.sent(place.slot(), question);
                if let Some(parts) = self.fallback.parts(place.slot()) {
                    *parts = Parts { truncated_ns: query.truncated_ns, handed_ns: sent_ns };
                }
                self.ledger.sent_over_tcp(&sent_query, message.len());
                self.table.insert_fallback(*place, SentQuery { type_slot, ..sent_query });
                continue;
            }
            let type_slot = match self.plain {
                Some(queries) => queries.type_slot(question as usize) as u8,
                None => self.queries.sent(place.slot(), question),
            };
            let sent_query = SentQuery { type_slot, own_delay, ..query.sent_query(group.member, sent_ns) };
            let free_ns = Queue::free_ns(query, *held_before_ns, sent_ns);
            self.ledger.sent(&sent_query, free_ns, message.len());
            if self.send_only {
                self.ledger.sent_only(&sent_query);
                self.queries.release(question);
            } else if UNMEASURED {
                self.unpaired += 1;
            } else {
                self.table.insert(*place, sent_query);
            }
            if falls_back {
                self.ledger.fallback(sent_query.intended_ns).udp_requests += 1;
            }
        }
        waiting.drain(..places.len());
    }

    /// Ends the first query in the queue of a group, because it cannot be sent.
    pub(crate) fn fail_first(&mut self, number: usize, reason: NotSentReason) {
        let Queue { group, waiting, .. } = &mut self.groups.all[number];
        let Some(query) = waiting.pop_front() else { return };
        if group.is_fallback {
            self.ledger.refused(&query.sent_query(group.member, query.sent_ns));
            self.ledger.fallback(query.due.intended_ns).add_failed(FallbackFailure::NotSent, 1);
            self.log.waiting(&self.queries, &query, How::Refused);
        } else {
            self.ledger.not_sent(query.due.intended_ns, group.member, reason);
            self.log.waiting(&self.queries, &query, How::NotSent(reason));
        }
        self.queries.release(query.question);
    }

    /// Ends the first query in the queue of a group, because the connections of all its clients fail again and again.
    pub(crate) fn refuse_first(&mut self, number: usize) {
        let Queue { group, waiting, .. } = &mut self.groups.all[number];
        let Some(query) = waiting.pop_front() else { return };
        self.ledger.refused(&query.sent_query(group.member, query.sent_ns));
        self.log.waiting(&self.queries, &query, How::Refused);
        self.queries.release(query.question);
        if group.is_fallback {
            self.ledger.fallback(query.due.intended_ns).add_failed(FallbackFailure::ConnectFailed, 1);
        }
    }

    /// Ends the first query in the queue of a group, because it has waited too long.
    pub(crate) fn give_up_first(&mut self, number: usize) {
        let Queue { group, waiting, blocked_by, .. } = &mut self.groups.all[number];
        let Some(query) = waiting.pop_front() else { return };
        if group.is_fallback {
            self.ledger.timed_out(&query.sent_query(group.member, query.sent_ns));
            self.ledger.fallback(query.due.intended_ns).add_failed(failure_unsent(*blocked_by), 1);
            self.log.waiting(&self.queries, &query, How::TimedOut);
        } else {
            let reason = blocked_by.unwrap_or(NotSentReason::GeneratorLate);
            self.ledger.not_sent(query.due.intended_ns, group.member, reason);
            self.log.waiting(&self.queries, &query, How::NotSent(reason));
        }
        self.queries.release(query.question);
    }

    /// Passes the wall intervals that are over to the collector. The next one starts with the present numbers of
    /// queries and connections.
    pub(crate) fn roll(&mut self, now_ns: u64, resources: impl FnOnce() -> Resources) {
        if now_ns >= self.ledger.wall_end_ns() {
            self.count_clients(now_ns, false);
            self.ledger.roll(now_ns, resources);
            self.note_outstanding();
            if self.connections.is_used() {
                self.note_open();
            }
        }
    }

    /// Adds what simulated clients have counted since the last time.
    #[cold]
    pub(crate) fn count_clients(&mut self, now_ns: u64, is_end: bool) {
        if let Supply::Clients(clients) = &mut self.queries {
            clients.count(self.ledger.arrivals().clients_mut(), now_ns, is_end);
        }
    }

    /// Updates the largest number of outstanding queries.
    pub(crate) fn note_outstanding(&mut self) {
        let live = u64::from(self.table.live());
        let arrivals = self.ledger.arrivals();
        arrivals.in_flight_max = arrivals.in_flight_max.max(live);
    }

    /// Ends the queries whose timeout has passed. Where channels may be clients, `on_client` says of a channel and an
    /// ID whether the query has never left.
    pub(crate) fn expire(&mut self, now_ns: u64, mut on_client: impl FnMut(usize, u16) -> Option<NeverSent>) {
        while let Some((slot, sent_query)) = self.table.expire_oldest(now_ns) {
            let mut never_sent = None;
            if self.connections.is_used() {
                let (channel, id) = self.table.channel_and_id(slot);
                never_sent = on_client(channel, id);
                let is_connected = self.connections.is_connected(channel);
                let tcp = if is_connected {
                    FallbackFailure::QueryTimedOut
                } else {
                    FallbackFailure::ConnectTimedOut
                };
                self.fail_part(channel, &sent_query, FallbackFailure::UdpTimedOut, tcp);
            }
            let how = match never_sent {
                None => {
                    self.ledger.timed_out(&sent_query);
                    How::TimedOut
                }
                Some(NeverSent { why, bytes }) => {
                    self.ledger.never_sent(&sent_query, why, bytes);
                    How::NotSent(why)
                }
            };
            if self.log.is_some() {
                let (_, id) = self.table.channel_and_id(slot);
                self.log.unanswered(&self.queries, &sent_query, id, how);
            }
            self.queries.release(sent_query.question);
        }
    }

    /// Ends all queries, because the user ends the run at once.
    pub(crate) fn interrupt_all(&mut self) {
        while let Some((slot, sent_query)) = self.table.abandon_oldest() {
            self.ledger.interrupted(sent_query.intended_ns, sent_query.member);
            let (channel, id) = self.table.channel_and_id(slot);
            self.log.unanswered(&self.queries, &sent_query, id, How::Interrupted);
            self.queries.release(sent_query.question);
            let [udp, tcp] = [FallbackFailure::UdpInterrupted, FallbackFailure::Interrupted];
            self.fail_part(channel, &sent_query, udp, tcp);
        }
        self.interrupt_waiting(|_| true);
    }

    /// Ends the queries that wait in the queues of the selected groups.
    pub(crate) fn interrupt_waiting(&mut self, is_selected: impl Fn(&Group) -> bool) {
        for Queue { group, waiting, .. } in
            self.groups.all.iter_mut().filter(|queue| is_selected(&queue.group))
        {
            for query in waiting.drain(..) {
                self.ledger.interrupted(query.due.intended_ns, group.member);
                self.log.waiting(&self.queries, &query, How::Interrupted);
                self.queries.release(query.question);
                if group.is_fallback {
                    self.ledger.fallback(query.due.intended_ns).add_failed(FallbackFailure::Interrupted, 1);
                }
            }
        }
    }
}

/// Whether a message may be the response to a query, in other than the fast case.
#[cold]
fn may_answer(
    queries: &Supply<'_>,
    made: &mut Made,
    (slot, question): (u32, u32),
    received: &Received<'_>,
) -> bool {
    let has_question = made.changes_question() || queries.may_answer(slot, question, &received.peek);
    has_question && (made.is_empty() || made.is_response(slot, queries.question(question as usize), received))
}

/// What a received message was.
enum Outcome {
    /// The response to this query, with this ID.
    Paired(SentQuery, u16),
    /// The response to an outstanding query, after its timeout.
    Overdue,
    /// A response that ended no query.
    Unmatched,
    /// Not a response.
    Malformed,
}

impl Pairing<'_> {
    /// Pairs a message with its query, and counts it.
    #[inline(always)]
    fn pair(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) -> Outcome {
        if UNMEASURED {
            self.unpaired = self.unpaired.saturating_sub(1);
            self.ledger.answered_unpaired();
            return Outcome::Overdue;
        }
        let Some(response) = peek(bytes).ok().filter(|message| message.flags & FLAG_QR != 0) else {
            return self.note_malformed(bytes);
        };
        let (plain, queries, made) = (self.plain, &self.queries, &mut self.made);
        let is_response = |slot: u32, question: u32| match plain {
            Some(queries) => asks(&response, queries.question(question as usize)),
            None => {
                let received = Received { channel, at_ns, peek: response, bytes };
                may_answer(queries, made, (slot, question), &received)
            }
        };
        let is_truncated = response.flags & FLAG_TC != 0;
        match self.table.pair(channel, response.id, at_ns, is_response) {
            Match::Response(sent_query) => {
                if is_truncated {
                    self.ledger.arrivals().anomalies.truncated += 1;
                    if self.fallback.udp.contains(&channel) {
                        self.fall_back(channel, (response.id, response.rcode), &sent_query, at_ns);
                        return Outcome::Unmatched;
                    }
                }
                self.ledger.answered(&sent_query, at_ns, response.rcode, bytes.len());
                if self.plain.is_none() {
                    self.follow_answer(&sent_query, (response.id, response.rcode), at_ns, bytes);
                }
                Outcome::Paired(sent_query, response.id)
            }
            other => self.note_other(channel, other, is_truncated, response.rcode, bytes),
        }
    }

    /// Counts a message that is not a DNS response.
    #[cold]
    fn note_malformed(&mut self, bytes: &[u8]) -> Outcome {
        self.ledger.arrivals().anomalies.malformed += 1;
        self.log.unpaired(Why::Malformed, bytes);
        Outcome::Malformed
    }

    /// What follows the answer to a query, with this ID and RCODE, beside its counting.
    #[cold]
    fn follow_answer(&mut self, sent_query: &SentQuery, (id, rcode): (u16, u16), at_ns: u64, bytes: &[u8]) {
        if self.made.checks_responses() {
            self.made.count_found(true, rcode, self.ledger.arrivals());
        }
        self.log.answered(&self.queries, sent_query, (id, rcode), at_ns, bytes);
        self.queries.answered(sent_query.question, at_ns, bytes);
    }

    /// Counts a response that does not answer a query in time.
    #[cold]
    fn note_other(
        &mut self,
        channel: usize,
        found: Match,
        is_truncated: bool,
        rcode: u16,
        bytes: &[u8],
    ) -> Outcome {
        let is_rejected = self.made.has_rejected();
        if self.made.checks_responses() {
            let has_ended_query = matches!(found, Match::Overdue(_) | Match::Late(_));
            self.made.count_found(has_ended_query, rcode, self.ledger.arrivals());
        }
        let is_after_reuse = matches!(found, Match::WrongQuestion | Match::Unexpected)
            && self.is_of_query_before(channel, bytes);
        match found {
            Match::Response(_) => {}
            _ if is_rejected => {
                self.log.unpaired(Why::Rejected, bytes);
                return Outcome::Unmatched;
            }
            Match::WrongQuestion if !is_after_reuse => self.log.unpaired(Why::WrongQuestion, bytes),
            _ => self.log.unpaired(Why::Unexpected, bytes),
        }
        match found {
            Match::Response(_) => {}
            Match::Overdue(sent_query) | Match::Late(sent_query) => {
                if let Match::Overdue(_) = found {
                    self.ledger.timed_out(&sent_query);
                    let id = bytes.get(..2).map_or(0, |id| u16::from_be_bytes([id[0], id[1]]));
                    self.log.unanswered(&self.queries, &sent_query, id, How::TimedOut);
                    self.queries.release(sent_query.question);
                    let (udp, tcp) = (FallbackFailure::UdpTimedOut, FallbackFailure::QueryTimedOut);
                    self.fail_part(channel, &sent_query, udp, tcp);
                }
                // The truncated response of a fallback does not answer its transaction, even late.
                if is_truncated && self.fallback.udp.contains(&channel) {
                    self.ledger.arrivals().late += 1;
                } else {
                    self.ledger.late(&sent_query, rcode, bytes.len());
                }
            }
            Match::Duplicate => self.ledger.arrivals().anomalies.duplicates += 1,
            Match::WrongQuestion | Match::Unexpected if is_after_reuse => {
                self.ledger.arrivals().anomalies.after_reuse += 1;
            }
            Match::WrongQuestion => self.ledger.arrivals().anomalies.wrong_question += 1,
            Match::Unexpected => self.ledger.arrivals().anomalies.unexpected += 1,
        }
        if let Match::Overdue(_) = found { Outcome::Overdue } else { Outcome::Unmatched }
    }

    /// Whether a response is that to the query that had its ID before, and has timed out. Only where questions stay
    /// what they are: those that are made anew for each query are not kept.
    ///
    /// Reads the question where it begins: a second call of `peek` would take the first one out of the hot path's code.
    fn is_of_query_before(&mut self, channel: usize, bytes: &[u8]) -> bool {
        let (Some(queries), Some(id)) = (self.plain, peek_id(bytes)) else { return false };
        let is_question = |question: u32| {
            let sent = queries.question(question as usize);
            let received = bytes.get(HEADER_LEN..HEADER_LEN + sent.len());
            received.is_some_and(|received| same_question(received, sent))
        };
        self.table.is_of_query_before(channel, id, is_question)
    }

    /// A truncated response ends the UDP part of a transaction: the query waits for a TCP client.
    #[cold]
    fn fall_back(&mut self, channel: usize, (id, rcode): (u16, u16), sent_query: &SentQuery, at_ns: u64) {
        if self.made.checks_responses() {
            self.made.count_found(true, rcode, self.ledger.arrivals());
        }
        let number = self.table.slot_of(channel, id).map_or(0, |slot| self.made.number(slot));
        let SentQuery { intended_ns, sent_ns, question, own_delay, .. } = *sent_query;
        let due = Due { number, intended_ns, is_new: true, free_ns: intended_ns };
        let waiting = &mut self.groups.all[self.fallback.group].waiting;
        // Ordered by first sending, and so by timeout. Only a query whose response the network has delayed is inserted
        // before others.
        let passed = waiting.iter().rev().take_while(|other| other.sent_ns > sent_ns).count();
        let place = waiting.len() - passed;
        waiting.insert(place, Waiting { due, question, sent_ns, truncated_ns: at_ns, own_delay });
        self.ledger.fallback(intended_ns).started += 1;
    }

    /// Counts the parts of an answered transaction that fell back. Returns when the query was passed to its client.
    #[cold]
    fn end_fallback(
        &mut self,
        channel: usize,
        id: u16,
        sent_query: &SentQuery,
        at_ns: u64,
        ready_ns: u64,
    ) -> u64 {
        let parts = self.table.slot_of(channel, id).and_then(|slot| self.fallback.parts(slot).copied());
        let Some(Parts { truncated_ns, handed_ns }) = parts else { return sent_query.sent_ns };
        let connected_ns = ready_ns.max(handed_ns);
        let fallback = self.ledger.fallback(sent_query.intended_ns);
        fallback.answered += 1;
        fallback.udp.record(truncated_ns.saturating_sub(sent_query.sent_ns));
        fallback.waiting.record(handed_ns.saturating_sub(truncated_ns));
        fallback.connect.record(connected_ns - handed_ns);
        fallback.query.record(at_ns.saturating_sub(connected_ns));
        handed_ns
    }

    /// Counts in which part a transaction failed, if it may fall back or has fallen back.
    fn fail_part(
        &mut self,
        channel: usize,
        sent_query: &SentQuery,
        udp: FallbackFailure,
        tcp: FallbackFailure,
    ) {
        if self.fallback.udp.contains(&channel) {
            self.ledger.fallback(sent_query.intended_ns).add_failed(udp, 1);
        } else if self.fallback.tcp.contains(&channel) {
            self.ledger.fallback(sent_query.intended_ns).add_failed(tcp, 1);
        }
    }
}

/// Connections and their queries.
impl Pairing<'_> {
    /// The query to retry, if it is still outstanding.
    pub(crate) fn still_outstanding(&self, channel: usize, retry: Retry) -> Option<SentQuery> {
        self.table.live_at(channel, retry.id).filter(|sent_query| sent_query.sent_ns == retry.sent_ns)
    }

    /// Counts a query that was sent again, in a message of `bytes` octets.
    pub(crate) fn note_retried(&mut self, channel: usize, sent_query: &SentQuery, bytes: usize) {
        self.ledger.retried(sent_query, bytes);
        if self.fallback.tcp.contains(&channel) {
            let fallback = self.ledger.fallback(sent_query.intended_ns);
            fallback.tcp_requests += 1;
            fallback.tcp_retried += 1;
        }
    }

    /// Ends an outstanding query that will not be answered, because its connection was lost.
    pub(crate) fn refuse(&mut self, channel: usize, id: u16, why: FallbackFailure) {
        if let Some(sent_query) = self.table.refuse(channel, id, |_, _| true) {
            self.ledger.refused(&sent_query);
            self.log.unanswered(&self.queries, &sent_query, id, How::Refused);
            self.queries.release(sent_query.question);
            self.fail_part(channel, &sent_query, why, why);
        }
    }

    /// Schedules the outstanding queries of a lost connection for a retry, or ends them as refused.
    fn settle_lost(&mut self, channel: usize, may_retry: bool, why: FallbackFailure) {
        if !self.connections.is_used() {
            return;
        }
        let mut lost = self.connections.retries.take(channel);
        lost.clear();
        self.table
            .each_since_last(channel, |id, sent_query| lost.push(Retry { id, sent_ns: sent_query.sent_ns }));
        if !may_retry {
            lost.drain(..).for_each(|retry| self.refuse(channel, retry.id, why));
        }
        self.connections.retry_later(channel, lost);
    }

    fn not_established(&mut self, channel: usize, at_ns: u64, why: ConnectFailure) {
        // Neither is the server's doing.
        if matches!(why, ConnectFailure::NoLocalPort | ConnectFailure::Abandoned) {
            return self.settle_lost(channel, false, failure_of_connect(why));
        }
        let failures = self.note_failure(channel, at_ns);
        let may_retry = match why {
            // The next attempt may succeed.
            ConnectFailure::TimedOut => true,
            // QUIC only: with other transports a failed handshake ends an established connection.
            ConnectFailure::Handshake => may_retry(failures),
            _ => false,
        };
        self.settle_lost(channel, may_retry, failure_of_connect(why));
    }

    /// An established connection has ended.
    fn note_ended(&mut self, channel: usize, at_ns: u64, end: ConnectionEnd, answers: u64) {
        self.connections.note_ended(channel);
        let may_retry = if answers > 0 || end == ConnectionEnd::ByUs {
            self.connections.pauses.note_success(channel);
            true
        } else {
            may_retry(self.note_failure(channel, at_ns))
        };
        self.settle_lost(channel, may_retry, failure_of_end(end));
    }

    /// Counts a failure of a client's connection and the pause that follows it. Returns how many there were in a row.
    fn note_failure(&mut self, channel: usize, at_ns: u64) -> u32 {
        let (failures, pause_ns) = self.connections.pauses.note_failure(channel, at_ns);
        if let Some(pause_ns) = pause_ns {
            let counts = self.ledger.arrivals().connections_mut();
            counts.pauses += 1;
            counts.paused_ns += pause_ns;
        }
        failures
    }

    /// Updates the largest number of open connections in the interval.
    fn note_open(&mut self) {
        let open = self.connections.open;
        let counts = self.ledger.arrivals().connections_mut();
        counts.open_max = counts.open_max.max(open);
    }
}

impl Sink for Pairing<'_> {
    #[inline]
    fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) {
        self.pair(channel, at_ns, bytes);
    }

    #[cold]
    fn departed(&mut self, after_ns: Option<u64>) {
        self.ledger.departed(after_ns);
    }

    fn answer(&mut self, channel: usize, at_ns: u64, ready_ns: u64, bytes: &[u8]) -> MessageKind {
        match self.pair(channel, at_ns, bytes) {
            Outcome::Paired(sent_query, id) => {
                let handed_ns = match self.fallback.tcp.contains(&channel) {
                    true => self.end_fallback(channel, id, &sent_query, at_ns, ready_ns),
                    false => sent_query.sent_ns,
                };
                if self.connections.pauses.is_any() {
                    self.connections.pauses.note_response(channel, at_ns);
                }
                let query_ns = at_ns.saturating_sub(handed_ns.max(ready_ns));
                self.ledger.arrivals().connections_mut().query.record(query_ns);
                MessageKind::Answer
            }
            Outcome::Overdue => MessageKind::Answer,
            Outcome::Unmatched => MessageKind::Unmatched,
            Outcome::Malformed => MessageKind::Malformed,
        }
    }

    fn connection(&mut self, channel: usize, at_ns: u64, event: ConnectionEvent) {
        let counts = self.ledger.arrivals().connections_mut();
        match event {
            ConnectionEvent::Opened => {
                counts.opened += 1;
                self.connections.pauses.note_begun(channel, at_ns);
            }
            ConnectionEvent::NotOpened(why) => {
                counts.opened += 1;
                counts.add_failed(why, 1);
            }
            ConnectionEvent::Established { opened_ns } => {
                counts.established += 1;
                counts.connect.record(at_ns.saturating_sub(opened_ns));
                self.connections.note_established(channel);
                self.note_open();
            }
            ConnectionEvent::FirstByte { opened_ns } => {
                counts.first_byte.record(at_ns.saturating_sub(opened_ns));
            }
            ConnectionEvent::Handshaken { kind, begun_ns } => {
                counts.encrypted_mut().add_handshake(kind, at_ns.saturating_sub(begun_ns));
            }
            ConnectionEvent::HandshakeFailed(why) => counts.encrypted_mut().add_failed(why, 1),
            ConnectionEvent::EarlyRejected => counts.encrypted_mut().early_rejected += 1,
            ConnectionEvent::Failed(why) => {
                counts.add_failed(why, 1);
                self.not_established(channel, at_ns, why);
            }
            ConnectionEvent::Ended { end, answers } => {
                counts.add_ended(end, 1);
                self.note_ended(channel, at_ns, end, answers);
            }
        }
    }

    fn reused(&mut self, queries: u64) {
        self.ledger.arrivals().connections_mut().reused += queries;
    }

    fn status(&mut self, status: u16) {
        self.ledger.arrivals().connections_mut().encrypted_mut().statuses.add(status, 1);
    }

    /// Retries the query if the server has reported that it did not process it; otherwise the query ends as refused.
    fn stream_failed(&mut self, channel: usize, id: u16, sent_ns: u64, why: StreamFailure) -> bool {
        let arrivals = self.ledger.arrivals();
        arrivals.connections_mut().encrypted_mut().add_stream(why, 1);
        arrivals.anomalies.unexpected += u64::from(why == StreamFailure::WrongId);
        // A later query may have the same ID by now.
        let query = self.table.live_at(channel, id).filter(|sent_query| sent_query.sent_ns <= sent_ns);
        let Some(SentQuery { sent_ns, .. }) = query else { return false };
        if why.is_safe_to_ask_again() {
            self.connections.retries.push(channel, Retry { id, sent_ns });
            self.connections.retries.refuses_streams |= why == StreamFailure::Refused;
        } else if let Some(sent_query) = self.table.refuse(channel, id, |_, _| true) {
            self.ledger.refused(&sent_query);
            self.log.unanswered(&self.queries, &sent_query, id, How::Refused);
            self.queries.release(sent_query.question);
        }
        true
    }

    fn refused(&mut self, channel: usize, _at_ns: u64, quoted: &[u8]) {
        let (queries, made) = (&self.queries, &self.made);
        let Some(id) = quoted.get(..2).map(|id| u16::from_be_bytes([id[0], id[1]])) else { return };
        // ICMP quotes at least eight bytes of the packet; the quoted part of the question must match.
        let is_question = |slot: u32, question: u32| {
            if !made.is_empty() {
                // Of a changed query only the whole question can be compared.
                let asked = queries.question(question as usize);
                return peek(quoted).map_or(true, |query| made.is_question(slot, asked, query.question));
            }
            let sent = queries.question(question as usize);
            let quoted = quoted.get(HEADER_LEN..).unwrap_or_default();
            let length = quoted.len().min(sent.len());
            quoted[..length] == sent[..length]
        };
        let Some(first) = self.table.refuse(channel, id, is_question) else { return };
        self.ledger.refused(&first);
        self.log.unanswered(&self.queries, &first, id, How::Refused);
        self.fail_part(channel, &first, FallbackFailure::UdpRefused, FallbackFailure::UdpRefused);
        // On loopback, consecutive messages of equal length travel as one packet (GSO), and one error applies to all of
        // them. The error then quotes more than the first message. The length of a changed query is not known.
        let length = self.queries.message(first.question as usize).len();
        self.queries.release(first.question);
        if quoted.len() <= length || !self.made.is_empty() {
            return;
        }
        let mut id = id;
        for _ in 0..MOST_IDS_OF_A_PACKET {
            id = self.table.id_after(channel, id);
            match self.table.live_at(channel, id) {
                // An older query, whose ID was skipped when the batch was made.
                Some(other) if other.sent_ns != first.sent_ns => {}
                Some(next) if self.queries.message(next.question as usize).len() == length => {
                    self.refuse(channel, id, FallbackFailure::UdpRefused);
                }
                _ => return,
            }
        }
    }
}

/// IDs that the messages of one packet can span, skipped ones included.
const MOST_IDS_OF_A_PACKET: usize = 2 * BATCH;

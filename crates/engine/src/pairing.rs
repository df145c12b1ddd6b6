//! Where responses are paired with their queries, and where everything that happens to a query is counted.
//!
//! A query is outstanding from the instant at which it was sent until it is paired, refused, expired or interrupted.
//! In the TCP part of a fallback it is outstanding a second time, and waits in between for a client.

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, FallbackFailure, NotSentReason, StreamFailure};
use dnsdyno_plan::source::Queries;
use dnsdyno_transport::{Batch, ConnectionEvent, Group, MessageKind, Resources, Sink};
use dnsdyno_wire::{FLAG_QR, FLAG_TC, HEADER_LEN, peek, same_question};

use crate::connections::{Connections, Retry};
use crate::fallback::{Fallback, Parts, failure_of_connect, failure_of_end, failure_unsent};
use crate::groups::{BATCH, Groups, Queue, Waiting};
use crate::inflight::{InFlight, Match, Place, SentQuery};
use crate::ledger::Ledger;
use crate::made::Made;
use crate::pace::Due;

/// The outstanding queries of a worker, those that wait to be sent, and its ledger.
pub(crate) struct Pairing<'a> {
    pub(crate) queries: &'a Queries,
    pub(crate) table: InFlight,
    pub(crate) ledger: Ledger,
    pub(crate) groups: Groups,
    pub(crate) connections: Connections,
    pub(crate) fallback: Fallback,
    pub(crate) made: Made,
    pub(crate) send_only: bool,
    /// Outstanding queries of a build that pairs no responses; else 0.
    unpaired: u32,
}

impl<'a> Pairing<'a> {
    /// Of a worker whose channels are these groups.
    pub(crate) fn new(
        queries: &'a Queries,
        table: InFlight,
        ledger: Ledger,
        groups: Groups,
        connections: Connections,
        (send_only, strips_edns): (bool, bool),
    ) -> Self {
        Pairing {
            queries,
            fallback: Fallback::of(&groups, table.fallback(), strips_edns),
            made: Made::new(queries, table.slots()),
            table,
            ledger,
            groups,
            connections,
            send_only,
            unpaired: 0,
        }
    }

    /// Queries that are outstanding, or scheduled and waiting to be sent.
    pub(crate) fn outstanding(&self) -> u32 {
        self.groups.waiting() + if UNMEASURED { self.unpaired } else { self.table.live() }
    }

    /// Whether the responses are waited for.
    #[inline]
    pub(crate) fn expects_responses(&self) -> bool {
        !self.send_only && !UNMEASURED
    }

    /// Counts the messages of a batch that were sent over a channel of group `number`: the first ones that waited
    /// there, at these places.
    #[inline]
    pub(crate) fn note_sent(&mut self, number: usize, places: &[Place], batch: &Batch, sent_ns: u64) {
        let Queue { group, waiting, .. } = &mut self.groups.all[number];
        let falls_back = self.fallback.group == number + 1;
        for ((query, place), message) in waiting.iter().zip(places).zip(batch.iter()) {
            if group.is_fallback {
                let departure = query.departure(group.member, query.sent_ns);
                if let Some(parts) = self.fallback.parts(place.slot()) {
                    *parts = Parts { truncated_ns: query.truncated_ns, handed_ns: sent_ns };
                }
                self.ledger.sent_over_tcp(&departure, message.len());
                self.table.depart_in_fallback(*place, departure);
                continue;
            }
            let departure = query.departure(group.member, sent_ns);
            let type_slot = self.queries.type_slot(query.question as usize);
            self.ledger.sent(&departure, query.due.free_ns, message.len(), type_slot);
            if self.send_only {
                self.ledger.sent_only(departure.intended_ns);
            } else if UNMEASURED {
                self.unpaired += 1;
            } else {
                self.table.depart(*place, departure);
            }
            if falls_back {
                self.ledger.fallback(departure.intended_ns).udp_requests += 1;
            }
        }
        waiting.drain(..places.len());
    }

    /// Ends the first of the queries that wait for a group, because it cannot be sent at all.
    pub(crate) fn fail_first(&mut self, number: usize, reason: NotSentReason) {
        let Queue { group, waiting, .. } = &mut self.groups.all[number];
        let Some(query) = waiting.pop_front() else { return };
        if group.is_fallback {
            self.ledger.refused(&query.departure(group.member, query.sent_ns));
            self.ledger.fallback(query.due.intended_ns).add_failed(FallbackFailure::NotSent, 1);
        } else {
            self.ledger.not_sent(query.due.intended_ns, group.member, reason);
        }
    }

    /// The same, because it has waited for too long.
    pub(crate) fn give_up_first(&mut self, number: usize) {
        let Queue { group, waiting, held_up_by, .. } = &mut self.groups.all[number];
        let Some(query) = waiting.pop_front() else { return };
        if group.is_fallback {
            self.ledger.timed_out(&query.departure(group.member, query.sent_ns));
            self.ledger.fallback(query.due.intended_ns).add_failed(failure_unsent(*held_up_by), 1);
        } else {
            let reason = held_up_by.unwrap_or(NotSentReason::GeneratorLate);
            self.ledger.not_sent(query.due.intended_ns, group.member, reason);
        }
    }

    /// Hands out the wall intervals that are over; the next one begins with what is outstanding.
    pub(crate) fn roll(&mut self, now_ns: u64, resources: impl FnOnce() -> Resources) {
        if now_ns >= self.ledger.wall_end_ns() {
            self.ledger.roll(now_ns, resources);
            self.note_outstanding();
            if self.connections.is_used() {
                self.note_open();
            }
        }
    }

    /// Notes how many queries are outstanding.
    pub(crate) fn note_outstanding(&mut self) {
        let live = u64::from(self.table.live());
        let arrivals = self.ledger.arrivals();
        arrivals.in_flight_max = arrivals.in_flight_max.max(live);
    }

    /// Ends the queries whose timeout has passed, and names the clients of these.
    pub(crate) fn expire(&mut self, now_ns: u64, mut name: impl FnMut(usize)) {
        while let Some((slot, departure)) = self.table.expire_oldest(now_ns) {
            self.ledger.timed_out(&departure);
            if self.connections.is_used() {
                let channel = self.table.channel_of(slot);
                let is_connected = self.connections.is_connected(channel);
                let tcp = if is_connected {
                    FallbackFailure::QueryTimedOut
                } else {
                    FallbackFailure::ConnectTimedOut
                };
                self.fail_part(channel, &departure, FallbackFailure::UdpTimedOut, tcp);
                name(channel);
            }
        }
    }

    /// Ends every query, because the user will not wait.
    pub(crate) fn interrupt_all(&mut self) {
        while let Some((slot, departure)) = self.table.abandon_oldest() {
            self.ledger.interrupted(departure.intended_ns, departure.member);
            let channel = self.table.channel_of(slot);
            self.fail_part(
                channel,
                &departure,
                FallbackFailure::UdpInterrupted,
                FallbackFailure::Interrupted,
            );
        }
        self.interrupt_waiting(|_| true);
    }

    /// Ends the queries that wait to be sent over the groups that are `meant`.
    pub(crate) fn interrupt_waiting(&mut self, meant: impl Fn(&Group) -> bool) {
        for Queue { group, waiting, .. } in self.groups.all.iter_mut().filter(|queue| meant(&queue.group)) {
            for query in waiting.drain(..) {
                self.ledger.interrupted(query.due.intended_ns, group.member);
                if group.is_fallback {
                    self.ledger.fallback(query.due.intended_ns).add_failed(FallbackFailure::Interrupted, 1);
                }
            }
        }
    }
}

/// What a message did.
enum Outcome {
    /// It is the response to a query, with this ID.
    Paired(SentQuery, u16),
    /// It ended a query, too late.
    Overdue,
    /// It ended none.
    Stray,
    /// It is no response at all.
    Malformed,
}

impl Pairing<'_> {
    /// Pairs a message with its query, and counts what it is.
    #[inline(always)]
    fn pair(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) -> Outcome {
        if UNMEASURED {
            self.unpaired = self.unpaired.saturating_sub(1);
            self.ledger.answered_by_anyone();
            return Outcome::Overdue;
        }
        let Some(response) = peek(bytes).ok().filter(|message| message.flags & FLAG_QR != 0) else {
            self.ledger.arrivals().anomalies.malformed += 1;
            return Outcome::Malformed;
        };
        let (queries, made) = (self.queries, &self.made);
        // A server that cannot read a query may answer with an error and no question at all, and a query may have
        // none: the ID is then all there is to pair by.
        let asks = |slot: u32, question: u32| {
            if !made.is_empty() {
                return made.is_question(slot, response.question);
            }
            let asked = queries.question(question as usize);
            same_question(response.question, asked)
                || asked.is_empty()
                || (response.question.is_empty() && response.rcode != 0)
        };
        let is_truncated = response.flags & FLAG_TC != 0;
        match self.table.pair(channel, response.id, at_ns, asks) {
            Match::Response(departure) => {
                if is_truncated {
                    self.ledger.arrivals().anomalies.truncated += 1;
                    if self.fallback.udp.contains(&channel) {
                        self.fall_back(channel, response.id, &departure, at_ns);
                        return Outcome::Stray;
                    }
                }
                let type_slot = queries.type_slot(departure.question as usize);
                self.ledger.answered(&departure, at_ns, response.rcode, bytes.len(), type_slot);
                Outcome::Paired(departure, response.id)
            }
            other => self.note_other(channel, other, is_truncated, response.rcode, bytes.len()),
        }
    }

    /// Counts a response that answers no query in time.
    #[cold]
    fn note_other(
        &mut self,
        channel: usize,
        found: Match,
        is_truncated: bool,
        rcode: u16,
        bytes: usize,
    ) -> Outcome {
        match found {
            Match::Response(_) => {}
            Match::Overdue(departure) | Match::Late(departure) => {
                if let Match::Overdue(_) = found {
                    self.ledger.timed_out(&departure);
                    let (udp, tcp) = (FallbackFailure::UdpTimedOut, FallbackFailure::QueryTimedOut);
                    self.fail_part(channel, &departure, udp, tcp);
                }
                // Late, and not the final response either: its transaction stays without one.
                if is_truncated && self.fallback.udp.contains(&channel) {
                    self.ledger.arrivals().late += 1;
                } else {
                    self.ledger.late(&departure, rcode, bytes);
                }
            }
            Match::Duplicate => self.ledger.arrivals().anomalies.duplicates += 1,
            Match::WrongQuestion => self.ledger.arrivals().anomalies.wrong_question += 1,
            Match::Unexpected => self.ledger.arrivals().anomalies.unexpected += 1,
        }
        if let Match::Overdue(_) = found { Outcome::Overdue } else { Outcome::Stray }
    }

    /// A truncated response ended the UDP part of a transaction: the TCP part waits for a client.
    #[cold]
    fn fall_back(&mut self, channel: usize, id: u16, departure: &SentQuery, at_ns: u64) {
        let number = self.table.slot_of(channel, id).map_or(0, |slot| self.made.number(slot));
        let SentQuery { intended_ns, sent_ns, question, .. } = *departure;
        let due = Due { number, intended_ns, is_new: true, free_ns: intended_ns };
        let waiting = &mut self.groups.all[self.fallback.group].waiting;
        // First those whose timeout is next; a network that reorders is the exception.
        let passed = waiting.iter().rev().take_while(|other| other.sent_ns > sent_ns).count();
        let place = waiting.len() - passed;
        waiting.insert(place, Waiting { due, question, sent_ns, truncated_ns: at_ns });
        self.ledger.fallback(intended_ns).started += 1;
    }

    /// Counts the parts of a transaction that fell back and is answered. Gives the instant at which the client was
    /// given the query.
    #[cold]
    fn end_fallback(
        &mut self,
        channel: usize,
        id: u16,
        departure: &SentQuery,
        at_ns: u64,
        since_ns: u64,
    ) -> u64 {
        let parts = self.table.slot_of(channel, id).and_then(|slot| self.fallback.parts(slot).copied());
        let Some(Parts { truncated_ns, handed_ns }) = parts else { return departure.sent_ns };
        let connected_ns = since_ns.max(handed_ns);
        let fallback = self.ledger.fallback(departure.intended_ns);
        fallback.answered += 1;
        fallback.udp.record(truncated_ns.saturating_sub(departure.sent_ns));
        fallback.waiting.record(handed_ns.saturating_sub(truncated_ns));
        fallback.connect.record(connected_ns - handed_ns);
        fallback.query.record(at_ns.saturating_sub(connected_ns));
        handed_ns
    }

    /// A transaction that may fall back, or did, failed on this channel: counts in which of its parts.
    fn fail_part(
        &mut self,
        channel: usize,
        departure: &SentQuery,
        udp: FallbackFailure,
        tcp: FallbackFailure,
    ) {
        if self.fallback.udp.contains(&channel) {
            self.ledger.fallback(departure.intended_ns).add_failed(udp, 1);
        } else if self.fallback.tcp.contains(&channel) {
            self.ledger.fallback(departure.intended_ns).add_failed(tcp, 1);
        }
    }
}

/// What happens to connections and their queries.
impl Pairing<'_> {
    /// The query to be retried, if it is still outstanding.
    pub(crate) fn still_outstanding(&self, channel: usize, retry: Retry) -> Option<SentQuery> {
        self.table.live_at(channel, retry.id).filter(|departure| departure.sent_ns == retry.sent_ns)
    }

    /// A query was sent once more, in a message of so many octets.
    pub(crate) fn note_retried(&mut self, channel: usize, departure: &SentQuery, bytes: usize) {
        self.ledger.retried(departure, bytes);
        if self.fallback.tcp.contains(&channel) {
            let fallback = self.ledger.fallback(departure.intended_ns);
            fallback.tcp_requests += 1;
            fallback.tcp_retried += 1;
        }
    }

    /// An outstanding query whose connection is lost will not be answered.
    pub(crate) fn refuse(&mut self, channel: usize, id: u16, why: FallbackFailure) {
        if let Some(departure) = self.table.refuse(channel, id, |_, _| true) {
            self.ledger.refused(&departure);
            self.fail_part(channel, &departure, why, why);
        }
    }

    /// What was outstanding on a connection is to be retried, or is refused.
    fn settle_lost(&mut self, channel: usize, may_retry: bool, why: FallbackFailure) {
        if !self.connections.is_used() {
            return;
        }
        let mut lost = self.connections.retries.take(channel);
        lost.clear();
        self.table
            .each_since_last(channel, |id, departure| lost.push(Retry { id, sent_ns: departure.sent_ns }));
        if !may_retry {
            lost.drain(..).for_each(|retry| self.refuse(channel, retry.id, why));
        }
        self.connections.retries.put_back(channel, lost);
    }

    fn not_established(&mut self, channel: usize, why: ConnectFailure) {
        self.connections.is_turned_away |= self.connections.open == 0;
        let may_retry = match why {
            // One that took too long says nothing on the next.
            ConnectFailure::TimedOut => true,
            // Over QUIC; of other transports it ends a connection.
            ConnectFailure::Handshake => self.connections.may_retry(channel, ConnectionEnd::Handshake, 0),
            _ => false,
        };
        self.settle_lost(channel, may_retry, failure_of_connect(why));
    }

    /// Notes how many connections there are; an interval begins with those of the one before.
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

    fn answer(&mut self, channel: usize, at_ns: u64, since_ns: u64, bytes: &[u8]) -> MessageKind {
        match self.pair(channel, at_ns, bytes) {
            Outcome::Paired(departure, id) => {
                let handed_ns = match self.fallback.tcp.contains(&channel) {
                    true => self.end_fallback(channel, id, &departure, at_ns, since_ns),
                    false => departure.sent_ns,
                };
                let query_ns = at_ns.saturating_sub(handed_ns.max(since_ns));
                self.ledger.arrivals().connections_mut().query.record(query_ns);
                MessageKind::Answer
            }
            Outcome::Overdue => MessageKind::Answer,
            Outcome::Stray => MessageKind::Unmatched,
            Outcome::Malformed => MessageKind::Malformed,
        }
    }

    fn connection(&mut self, channel: usize, at_ns: u64, news: ConnectionEvent) {
        let counts = self.ledger.arrivals().connections_mut();
        match news {
            ConnectionEvent::Opened => counts.opened += 1,
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
                self.not_established(channel, why);
            }
            ConnectionEvent::Ended { end, answers } => {
                counts.add_ended(end, 1);
                self.connections.note_ended(channel);
                let may_retry = self.connections.may_retry(channel, end, answers);
                self.connections.is_turned_away |= end == ConnectionEnd::Handshake && !may_retry;
                self.settle_lost(channel, may_retry, failure_of_end(end));
            }
        }
    }

    fn reused(&mut self, queries: u64) {
        self.ledger.arrivals().connections_mut().reused += queries;
    }

    fn status(&mut self, status: u16) {
        self.ledger.arrivals().connections_mut().encrypted_mut().statuses.add(status, 1);
    }

    /// The query is retried where the server has said that it did nothing about it, and is refused otherwise.
    fn stream_failed(&mut self, channel: usize, id: u16, asked_ns: u64, why: StreamFailure) -> bool {
        self.ledger.arrivals().connections_mut().encrypted_mut().add_stream(why, 1);
        // A later query may have got the ID since.
        let query = self.table.live_at(channel, id).filter(|departure| departure.sent_ns <= asked_ns);
        let Some(SentQuery { sent_ns, .. }) = query else { return false };
        if why.is_safe_to_ask_again() {
            self.connections.retries.push(channel, Retry { id, sent_ns });
            self.connections.retries.refuses_streams |= why == StreamFailure::Refused;
        } else if let Some(departure) = self.table.refuse(channel, id, |_, _| true) {
            self.ledger.refused(&departure);
        }
        true
    }

    fn refused(&mut self, channel: usize, _at_ns: u64, quoted: &[u8]) {
        let (queries, made) = (self.queries, &self.made);
        let Some(id) = quoted.get(..2).map(|id| u16::from_be_bytes([id[0], id[1]])) else { return };
        // ICMP quotes at least eight bytes of the packet; what it quotes of the question must fit.
        let asks = |slot: u32, question: u32| {
            if !made.is_empty() {
                // Of a question that was made, only the whole is known.
                return peek(quoted).map_or(true, |query| made.is_question(slot, query.question));
            }
            let asked = queries.question(question as usize);
            let quoted = quoted.get(HEADER_LEN..).unwrap_or_default();
            let length = quoted.len().min(asked.len());
            quoted[..length] == asked[..length]
        };
        let Some(first) = self.table.refuse(channel, id, asks) else { return };
        self.ledger.refused(&first);
        self.fail_part(channel, &first, FallbackFailure::UdpRefused, FallbackFailure::UdpRefused);
        // On the loopback a run of equal messages travels as one packet, and one error is for all of it. It shows:
        // the error quotes more than the first message. How long one is that was made is not known.
        let length = queries.message(first.question as usize).len();
        if quoted.len() <= length || !self.made.is_empty() {
            return;
        }
        let mut id = id;
        for _ in 0..LONGEST_RUN {
            id = self.table.id_after(channel, id);
            match self.table.live_at(channel, id) {
                // An older query that had the ID when the run was made: passed over then, and now.
                Some(other) if other.sent_ns != first.sent_ns => {}
                Some(next) if queries.message(next.question as usize).len() == length => {
                    self.refuse(channel, id, FallbackFailure::UdpRefused);
                }
                _ => return,
            }
        }
    }
}

/// A build to show what pairing and measuring cost: it does neither. Its packets have to be counted on the wire.
pub(crate) const UNMEASURED: bool = cfg!(feature = "unmeasured");

/// IDs that a run sent as one packet can span, those passed over included.
const LONGEST_RUN: usize = 2 * BATCH;

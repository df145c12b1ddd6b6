//! Pairs responses with their queries, and counts every event of a query.

use dnsdyno_measure::{FallbackFailure, StreamFailure};
use dnsdyno_transport::{Batch, ConnectionEvent, Departure, MessageKind, Sink};
use dnsdyno_wire::{FLAG_QR, FLAG_TC, HEADER_LEN, peek, peek_id, same_question};

use crate::connections::Retry;
use crate::ends::{At, End};
use crate::fallback::Parts;
use crate::groups::Waiting;
use crate::inflight::{Match, SentQuery};
use crate::job::UNMEASURED;
use crate::pace::Due;
use crate::query_log::Why;
use crate::question::asks;
use crate::rewriter::{Received, Rewriter};
use crate::supply::Supply;
use crate::transactions::Transactions;

/// Whether a message may be the response to a query, in other than the fast case.
#[cold]
fn may_answer(
    queries: &dyn Supply,
    rewriter: &mut Rewriter,
    (slot, question): (u32, u32),
    received: &Received<'_>,
) -> bool {
    let has_question = rewriter.changes_question() || queries.may_answer(slot, question, &received.peek);
    has_question && (rewriter.is_empty() || rewriter.is_response(slot, queries.question(question), received))
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

impl Transactions<'_> {
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
        let (plain, queries, rewriter) = (self.plain, &self.queries, &mut self.rewriter);
        let is_response = |slot: u32, question: u32| match plain {
            Some(queries) => asks(&response, queries.question(question as usize)),
            None => {
                let received = Received { channel, at_ns, peek: response, bytes };
                may_answer(&**queries, rewriter, (slot, question), &received)
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
                let end = End::Answered { at_ns, rcode: response.rcode, response: bytes };
                self.end(&sent_query, At::Channel(channel, response.id), end, None);
                Outcome::Paired(sent_query, response.id)
            }
            other => self.note_other(channel, other, is_truncated, response.rcode, bytes),
        }
    }

    /// Counts the response to a query that had its ID before, and has timed out.
    #[cold]
    fn note_answer_before(&mut self, bytes: &[u8]) -> MessageKind {
        if peek(bytes).ok().is_none_or(|message| message.flags & FLAG_QR == 0) {
            self.note_malformed(bytes);
            return MessageKind::Malformed;
        }
        self.ledger.arrivals().anomalies.after_reuse += 1;
        self.log.unpaired(Why::Unexpected, bytes);
        MessageKind::Unmatched
    }

    /// Counts a message that is not a DNS response.
    #[cold]
    fn note_malformed(&mut self, bytes: &[u8]) -> Outcome {
        self.ledger.arrivals().anomalies.malformed += 1;
        self.log.unpaired(Why::Malformed, bytes);
        Outcome::Malformed
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
        let is_rejected = self.rewriter.has_rejected();
        if self.rewriter.checks_responses() {
            let has_ended_query = matches!(found, Match::Overdue(_) | Match::Late(_));
            self.rewriter.count_found(has_ended_query, rcode, self.ledger.arrivals());
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
                    let id = peek_id(bytes).unwrap_or_default();
                    let (udp, tcp) = (FallbackFailure::UdpTimedOut, FallbackFailure::QueryTimedOut);
                    let failed = self.failed_part(channel, udp, tcp);
                    self.end(&sent_query, At::Channel(channel, id), End::TimedOut, failed);
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
        if self.rewriter.checks_responses() {
            self.rewriter.count_found(true, rcode, self.ledger.arrivals());
        }
        let number = self.number_of_fallback(channel, id, at_ns);
        let SentQuery { intended_ns, sent_ns, question, own_delay, .. } = *sent_query;
        let due = Due { number, intended_ns, is_new: true, free_ns: intended_ns };
        let waiting = &mut self.groups.all[self.fallback.group].waiting;
        // Ordered by first sending, and so by timeout. Only a query whose response the network has delayed is inserted
        // before others.
        let passed = waiting.iter().rev().take_while(|other| other.sent_ns > sent_ns).count();
        let place = waiting.len() - passed;
        waiting.insert(place, Waiting { due, question, sent_ns, truncated_ns: at_ns, own_delay });
        self.ledger.fallback(intended_ns).started += 1;
        self.fallback.truncated.note(self.queries.question(question));
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
}

impl Sink for Transactions<'_> {
    #[inline]
    fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) {
        self.pair(channel, at_ns, bytes);
    }

    #[cold]
    fn departed(&mut self, departure: Departure) {
        self.ledger.departed(departure.after_ns);
        if let (Some(trace), Some(number), Some(after_ns)) =
            (&mut self.trace, departure.mark, departure.after_ns)
        {
            trace.departed(number, departure.sent_ns + after_ns);
        }
    }

    fn answer(
        &mut self,
        channel: usize,
        at_ns: u64,
        ready_ns: u64,
        asked_ns: Option<u64>,
        bytes: &[u8],
    ) -> MessageKind {
        // A stream outlives the timeout of its query, whose ID may be that of a later one by then.
        if let (Some(asked_ns), Some(id)) = (asked_ns, peek_id(bytes))
            && self.table.is_used_since(channel, id, asked_ns)
        {
            return self.note_answer_before(bytes);
        }
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
        if let Some(trace) = &mut self.trace {
            trace.connection(channel, at_ns, event);
        }
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
            ConnectionEvent::NothingSent => self.connections.nothing_sent = true,
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
            self.connections.retries.push(channel, Retry { id, sent_ns, has_left: true });
            self.connections.retries.refuses_streams |= why == StreamFailure::Refused;
        } else {
            self.refuse(channel, id, FallbackFailure::Closed);
        }
        true
    }

    fn refused(&mut self, channel: usize, _at_ns: u64, quoted: &[u8]) {
        let (queries, rewriter) = (&self.queries, &self.rewriter);
        let Some(id) = quoted.get(..2).map(|id| u16::from_be_bytes([id[0], id[1]])) else { return };
        // ICMP quotes at least eight bytes of the packet; the quoted part of the question must match.
        let is_question = |slot: u32, question: u32| {
            if !rewriter.is_empty() {
                // Of a changed query only the whole question can be compared.
                let asked = queries.question(question);
                return peek(quoted).map_or(true, |query| rewriter.is_question(slot, asked, query.question));
            }
            let sent = queries.question(question);
            let quoted = quoted.get(HEADER_LEN..).unwrap_or_default();
            let length = quoted.len().min(sent.len());
            quoted[..length] == sent[..length]
        };
        let Some(first) = self.table.refuse(channel, id, is_question) else { return };
        let length = self.queries.message(first.question).len();
        let why = FallbackFailure::UdpRefused;
        let failed = self.failed_part(channel, why, why);
        self.end(&first, At::Channel(channel, id), End::Refused, failed);
        // On loopback, consecutive messages of equal length travel as one packet (GSO), and one error applies to all of
        // them. The error then quotes more than the first message. The length of a changed query is not known.
        if quoted.len() <= length || !self.rewriter.is_empty() {
            return;
        }
        let mut id = id;
        for _ in 0..MOST_IDS_OF_A_PACKET {
            id = self.table.id_after(channel, id);
            match self.table.live_at(channel, id) {
                // An older query, whose ID was skipped when the batch was made.
                Some(other) if other.sent_ns != first.sent_ns => {}
                Some(next) if self.queries.message(next.question).len() == length => {
                    self.refuse(channel, id, FallbackFailure::UdpRefused);
                }
                _ => return,
            }
        }
    }
}

/// IDs that the messages of one packet can span, skipped ones included.
const MOST_IDS_OF_A_PACKET: usize = 2 * Batch::USUAL;

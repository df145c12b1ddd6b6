//! One worker: the same few lines for every transport.
//!
//! ```text
//!  take what is due ──► send a batch ──► receive a batch ──► pair, count ──► expire ──► settle
//!        ▲                                                                               │
//!        └───────────────── wait until something is due, comes, or expires ◄─────────────┘
//! ```
//!
//! Nothing in the loop takes a lock, writes a log or, once it has run for a timeout, asks for
//! memory.

use dnsdyno_measure::{HalfFailure, NotSentReason, StreamFailure};
use dnsdyno_plan::source::Questions;
use dnsdyno_transport::{Batch, Came, ConnectionNews, Resources, Sink, Stopped, Transport, Turn, Wake};
use dnsdyno_wire::{FLAG_QR, FLAG_TC, HEADER_LEN, patch_id, peek, same_question};

use crate::book::{Book, Closing};
use crate::connections::Connected;
use crate::control::{Asked, Control};
use crate::inflight::{Departure, InFlight, Pairing, Place};
use crate::mix::Mix;
use crate::pace::{Due, Pace};

/// A worker with its way to the server, its slice of the load and its books.
pub(crate) struct Worker<'a, T> {
    pub(crate) transport: T,
    pub(crate) pace: Pace,
    pub(crate) desk: Desk<'a>,
    pub(crate) control: &'a Control,
    pub(crate) patience: Patience,
    pub(crate) batch: Batch,
    pub(crate) pending: Vec<Pending>,
    /// The channel that sends next: each batch goes to the next one.
    channel: usize,
    /// How many messages the client takes whose channel that is; of transports that connect.
    room: usize,
    /// When it last took up what was due.
    pub(crate) launched_ns: u64,
    /// The intended instant of the query that it took up last.
    pub(crate) last_due_ns: u64,
    /// Why due queries could not leave the last time, if they could not.
    held_up_by: Option<NotSentReason>,
    /// Until then nothing leaves, because nothing could.
    pub(crate) no_way_until_ns: u64,
    pub(crate) id_waits: u64,
    pub(crate) connection_waits: u64,
    interrupted: bool,
    /// When the last of its queries had been taken up.
    exhausted_ns: Option<u64>,
}

/// How long a query that is due may wait to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// After its intended instant.
    pub(crate) timeout_ns: u64,
    /// From this instant on no query leaves.
    pub(crate) over_ns: u64,
}

impl Patience {
    pub(crate) fn is_at_an_end(&self, now_ns: u64, intended_ns: u64) -> bool {
        now_ns >= self.over_ns || now_ns.saturating_sub(intended_ns) >= self.timeout_ns
    }
}

/// A message in the batch, about to leave.
pub(crate) struct Pending {
    pub(crate) due: Due,
    pub(crate) place: Place,
    pub(crate) question: u32,
    /// Of a mix.
    pub(crate) member: u8,
}

impl<'a, T: Transport> Worker<'a, T> {
    pub(crate) fn new(
        transport: T,
        pace: Pace,
        desk: Desk<'a>,
        control: &'a Control,
        patience: Patience,
    ) -> Self {
        Worker {
            transport,
            pace,
            desk,
            control,
            patience,
            batch: Batch::new(BATCH, USUAL_MESSAGE),
            pending: Vec::with_capacity(BATCH),
            channel: 0,
            room: 0,
            launched_ns: 0,
            last_due_ns: 0,
            held_up_by: None,
            no_way_until_ns: 0,
            id_waits: 0,
            connection_waits: 0,
            interrupted: false,
            exhausted_ns: None,
        }
    }

    /// Does the worker's part of the run, and closes its books. Gives the transport back: answers
    /// of other workers may still come over it.
    pub(crate) fn run(mut self) -> T {
        loop {
            let now_ns = self.transport.now_ns();
            self.desk.roll(now_ns, || self.transport.resources());
            match self.control.asked() {
                Asked::Nothing => self.launch_due(now_ns),
                Asked::StopSending => self.stop_sending(now_ns),
                Asked::EndNow => {
                    self.end_now();
                    break;
                }
            }
            self.transport.receive(&mut self.desk);
            if T::MIXED {
                self.ask_over_tcp();
            }
            // What came in time may not have been read yet, and counts as having come then.
            let expired_ns = self.transport.now_ns().saturating_sub(SLEPT_THROUGH_NS);
            if T::CONNECTS {
                self.mind_closed_door();
                self.ask_again();
                self.expire_of_clients(expired_ns);
            } else {
                self.desk.expire(expired_ns);
            }
            self.desk.book.settle(self.pace.taken_up_to_ns(now_ns));
            if self.pace.is_exhausted() {
                self.exhausted_ns.get_or_insert(now_ns);
                if self.desk.live() == 0 || UNMEASURED {
                    break;
                }
            }
            self.rest();
        }
        self.close()
    }

    fn close(mut self) -> T {
        if UNMEASURED {
            self.desk.book.interrupt_open();
        }
        self.transport.finish(&mut self.desk);
        let resources = self.transport.resources();
        let end_ns = self.transport.now_ns();
        let closing = Closing {
            end_ns,
            exhausted_ns: self.exhausted_ns.unwrap_or(end_ns),
            late_after_settled: 0,
            id_waits: self.id_waits,
            connection_waits: self.connection_waits,
            interrupted: self.interrupted,
        };
        self.desk.book.close(resources, closing);
        self.transport
    }

    /// Takes what is due and sends it: a batch over one channel, or, where each client takes only
    /// some, as many messages over several.
    fn launch_due(&mut self, now_ns: u64) {
        if T::MIXED {
            return self.launch_mixed(now_ns);
        }
        let mut left = BATCH;
        loop {
            self.launch(now_ns);
            left = left.saturating_sub(self.batch.len());
            if !T::CONNECTS || self.batch.is_empty() || self.pace.holds_some() || left == 0 {
                return;
            }
        }
    }

    /// Takes what is due and sends it: at most one batch, over one channel.
    fn launch(&mut self, now_ns: u64) {
        self.batch.clear();
        self.pending.clear();
        if now_ns < self.no_way_until_ns {
            return;
        }
        self.launched_ns = now_ns;
        let mut given_up = 0;
        while !self.batch.is_full() && given_up < GIVEN_UP_AT_ONCE {
            if T::CONNECTS && !self.batch.is_empty() && self.batch.len() >= self.room {
                break;
            }
            let under_way = self.desk.live() + self.pending.len() as u32;
            let Some(due) = self.pace.take(now_ns, under_way) else { break };
            if due.is_new {
                self.desk.book.scheduled(due.intended_ns, 0);
                self.last_due_ns = due.intended_ns;
            }
            if self.patience.is_at_an_end(now_ns, due.intended_ns) {
                let reason = self.held_up_by.unwrap_or(NotSentReason::GeneratorLate);
                self.desk.book.not_sent(due.intended_ns, 0, reason);
                given_up += 1;
                continue;
            }
            let Some(place) = self.find_place(due) else {
                self.pace.hold(due);
                break;
            };
            let question = (due.number % self.desk.questions.len() as u64) as usize;
            let message = self.desk.questions.message(question);
            patch_id(self.batch.push(message), place.id);
            self.pending.push(Pending { due, place, question: question as u32, member: 0 });
        }
        if !self.batch.is_empty() {
            self.send();
        }
    }

    /// A free ID on the channel that sends next; on an empty batch another channel will do.
    fn find_place(&mut self, due: Due) -> Option<Place> {
        if self.desk.send_only || UNMEASURED {
            return Some(Place::of_nobody(due.number));
        }
        if T::CONNECTS {
            return self.find_client(due);
        }
        let tries = if self.batch.is_empty() { self.transport.channels() } else { 1 };
        for _ in 0..tries {
            if let Some(place) = self.desk.table.take_free(self.channel) {
                return Some(place);
            }
            if self.batch.is_empty() {
                self.turn_channel();
            }
        }
        if self.batch.is_empty() {
            self.held_up_by = Some(NotSentReason::NoFreeId);
            // A query waits once, however often it is tried; and a search that ends in a long
            // stretch of live slots, with free ones behind it, is no want of IDs.
            self.id_waits += u64::from(due.is_new && self.desk.table.is_nearly_full());
        }
        None
    }

    /// A place of the client whose turn it is; one whose IDs are all in use is passed over.
    fn find_client(&mut self, due: Due) -> Option<Place> {
        if !self.batch.is_empty() {
            return self.desk.table.take_free(self.channel);
        }
        for _ in 0..CLIENTS_ASKED {
            match self.transport.turn() {
                Ok(Turn { channel, room }) => (self.channel, self.room) = (channel, room),
                Err(reason) => {
                    self.held_up_by = Some(reason);
                    let waits =
                        due.is_new && self.pace.is_open() && reason == NotSentReason::NoFreeConnection;
                    self.connection_waits += u64::from(waits);
                    return None;
                }
            }
            if let Some(place) = self.desk.table.take_free(self.channel) {
                return Some(place);
            }
            self.transport.pass(self.channel);
        }
        self.held_up_by = Some(NotSentReason::NoFreeId);
        self.id_waits += u64::from(due.is_new);
        None
    }

    /// Sends the batch and books what left; the rest is held for the next turn.
    fn send(&mut self) {
        let sent_ns = self.transport.now_ns();
        let sent = self.transport.send(self.channel, &self.batch);
        for pending in &self.pending[..sent.accepted] {
            self.desk.depart(pending, sent_ns);
        }
        self.held_up_by = None;
        let mut left = sent.accepted;
        match sent.stopped {
            Some(Stopped::Failed(reason)) => {
                self.desk.book.not_sent(self.pending[left].due.intended_ns, 0, reason);
                left += 1;
                // A window asks for the next query at once, so how many never leave would be how
                // fast we count them. One that is too long says nothing of the others.
                if !self.pace.is_open() && reason != NotSentReason::TooLong {
                    self.no_way_until_ns = sent_ns + NO_WAY_NS;
                }
            }
            Some(Stopped::Full) => self.held_up_by = Some(NotSentReason::SendBufferFull),
            Some(Stopped::Later(reason)) => self.held_up_by = Some(reason),
            None => {}
        }
        if !self.desk.send_only && !UNMEASURED {
            for pending in self.pending[sent.accepted..].iter().rev() {
                self.desk.table.give_back(self.channel, pending.place);
            }
        }
        // The newest is held first, so that the oldest is taken first.
        self.pending[left..].iter().rev().for_each(|pending| self.pace.hold(pending.due));
        self.desk.note_in_flight();
        if !T::CONNECTS {
            self.turn_channel();
        }
    }

    /// A window asks for the next query at once, so how many are refused would be how fast we count
    /// them: where nobody lets us in, it waits a little.
    fn mind_closed_door(&mut self) {
        let is_turned_away = std::mem::take(&mut self.desk.connected.is_turned_away);
        if is_turned_away && !self.pace.is_open() {
            self.no_way_until_ns = self.transport.now_ns() + NO_WAY_NS;
        }
    }

    fn turn_channel(&mut self) {
        self.channel = if self.channel + 1 == self.transport.channels() { 0 } else { self.channel + 1 };
    }

    /// Obeys the user: what was due and has not left is interrupted, what is under way is waited
    /// for. A long backlog takes several turns.
    fn stop_sending(&mut self, now_ns: u64) {
        self.interrupted |= !self.pace.is_exhausted();
        for _ in 0..GIVEN_UP_AT_ONCE {
            let Some(due) = self.pace.take_for_stop(now_ns) else { break };
            // Nobody has drawn yet whose it would have been, in a mix.
            let member = if T::MIXED { self.transport.next_member() } else { 0 };
            if due.is_new {
                self.desk.book.scheduled(due.intended_ns, member);
            }
            self.desk.book.interrupted(due.intended_ns, member);
        }
        if T::MIXED {
            self.stop_mixed(now_ns);
        }
    }

    /// Obeys the user who will not wait: what is held or under way is interrupted. What was due
    /// and had not been taken up counts as never scheduled.
    fn end_now(&mut self) {
        self.interrupted |= !self.pace.is_exhausted() || self.desk.live() > 0;
        while self.pace.holds_some() {
            let Some(due) = self.pace.take(0, 0) else { break };
            self.desk.book.interrupted(due.intended_ns, 0);
        }
        self.pace.close();
        self.desk.interrupt_all();
    }

    /// Waits for the next thing to do.
    fn rest(&mut self) {
        let now_ns = self.transport.now_ns();
        let mut until_ns = self.desk.book.wall_end_ns().min(now_ns + CONTROL_NS);
        let mut wake = Wake::OnArrival;
        if let Some(expiry_ns) = self.desk.table.next_expiry_ns() {
            until_ns = until_ns.min(expiry_ns + SLEPT_THROUGH_NS);
        }
        if now_ns < self.no_way_until_ns {
            until_ns = until_ns.min(self.no_way_until_ns);
        } else if self.pace.holds_some() {
            // A full socket is tried again soon; after a failure of one message the next at once.
            until_ns = match self.held_up_by {
                None => now_ns,
                // What frees a client wakes the worker.
                Some(NotSentReason::NoFreeConnection) => until_ns,
                Some(NotSentReason::NoLocalPort) => until_ns.min(now_ns + PORT_RETRY_NS),
                Some(_) => until_ns.min(now_ns + RETRY_NS),
            };
        } else if let Some(due_ns) = self.pace.next_due_ns(now_ns, self.desk.live()) {
            let leaves_ns = if self.pace.is_open() { self.joined_with_next(due_ns) } else { due_ns };
            until_ns = until_ns.min(leaves_ns);
            if self.pace.is_open() && leaves_ns <= now_ns + SLEPT_THROUGH_NS {
                wake = if leaves_ns == due_ns { Wake::AtTime } else { Wake::AboutTime };
            }
        }
        if T::MIXED {
            until_ns = until_ns.min(self.mix_looks_again_ns(now_ns));
        }
        if T::CONNECTS && self.desk.connected.has_more_to_ask() {
            until_ns = until_ns.min(now_ns + PORT_RETRY_NS);
        }
        if until_ns > now_ns {
            self.transport.wait(until_ns, wake);
        }
    }

    /// When a query that is due at `due_ns` leaves: at that instant, unless the one before was due
    /// so shortly before it that a wake-up for each would cost more than the queries. It then
    /// leaves with those that are due soon after it, and its lateness is booked as any other.
    fn joined_with_next(&self, due_ns: u64) -> u64 {
        if due_ns >= self.last_due_ns + LONE_GAP_NS {
            return due_ns;
        }
        let distance_ns = (4 * self.transport.oversleep_ns()).clamp(SHORTEST_JOINED_NS, LONGEST_JOINED_NS);
        due_ns.max(self.launched_ns + distance_ns)
    }
}

/// Where answers are paired and everything is counted.
pub(crate) struct Desk<'a> {
    pub(crate) questions: &'a Questions,
    pub(crate) table: InFlight,
    pub(crate) book: Book,
    /// Of transports that connect.
    pub(crate) connected: Connected,
    /// Of transports of several kinds.
    pub(crate) mix: Option<Box<Mix>>,
    pub(crate) send_only: bool,
    /// Queries under way of a build that pairs no answers; else 0.
    pub(crate) unpaired: u32,
}

impl Desk<'_> {
    pub(crate) fn live(&self) -> u32 {
        let waiting = self.mix.as_ref().map_or(0, |mix| mix.waiting());
        waiting + if UNMEASURED { self.unpaired } else { self.table.live() }
    }

    /// Books a message that left.
    #[inline]
    pub(crate) fn depart(&mut self, pending: &Pending, sent_ns: u64) {
        let Pending { due, question, member, .. } = *pending;
        let departure = Departure { intended_ns: due.intended_ns, sent_ns, question, member };
        let question = pending.question as usize;
        let bytes = self.questions.message(question).len();
        self.book.sent(&departure, bytes, self.questions.type_slot(question));
        if self.send_only {
            self.book.sent_only(departure.intended_ns);
        } else if UNMEASURED {
            self.unpaired += 1;
        } else {
            self.table.depart(pending.place, departure);
        }
    }

    /// Hands out the wall intervals that are over; the next one begins with what is under way.
    fn roll(&mut self, now_ns: u64, resources: impl FnOnce() -> Resources) {
        if now_ns >= self.book.wall_end_ns() {
            self.book.roll(now_ns, resources);
            self.note_in_flight();
            if self.connected.is_used() {
                self.note_open();
            }
        }
    }

    pub(crate) fn note_in_flight(&mut self) {
        let live = u64::from(self.table.live());
        let arrivals = self.book.arrivals();
        arrivals.in_flight_max = arrivals.in_flight_max.max(live);
    }

    /// Ends the queries whose timeout has passed.
    fn expire(&mut self, now_ns: u64) {
        while let Some(departure) = self.table.expire_oldest(now_ns) {
            self.book.timed_out(&departure);
        }
    }

    /// Ends every query under way, because the user will not wait.
    fn interrupt_all(&mut self) {
        while let Some((slot, departure)) = self.table.abandon_oldest() {
            self.book.interrupted(departure.intended_ns, departure.member);
            self.fail_half_of(slot, &departure, HalfFailure::UdpInterrupted, HalfFailure::Interrupted);
        }
        self.interrupt_waiting(|_| true);
    }
}

/// What a message did.
enum Paired {
    /// It answered a query; the ID.
    Answered(Departure, u16),
    /// It ended a query, too late.
    Overdue,
    /// It ended none.
    Beside,
    /// It is no answer at all.
    Malformed,
}

impl Desk<'_> {
    /// Pairs a message with its query, and books what it is.
    #[inline(always)]
    fn pair(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) -> Paired {
        if UNMEASURED {
            self.unpaired = self.unpaired.saturating_sub(1);
            self.book.answered_by_anyone();
            return Paired::Overdue;
        }
        let Ok(answer) = peek(bytes) else {
            self.book.arrivals().beside.malformed += 1;
            return Paired::Malformed;
        };
        if answer.flags & FLAG_QR == 0 {
            self.book.arrivals().beside.malformed += 1;
            return Paired::Malformed;
        }
        let questions = self.questions;
        // A server that cannot read a query may answer with an error and no question at all:
        // the ID is then all there is to pair by.
        let asks = |question: u32| {
            same_question(answer.question, questions.question(question as usize))
                || (answer.question.is_empty() && answer.rcode != 0)
        };
        let is_truncated = answer.flags & FLAG_TC != 0;
        match self.table.pair(channel, answer.id, at_ns, asks) {
            Pairing::Answer(departure) => {
                if is_truncated {
                    self.book.arrivals().beside.truncated += 1;
                    if self.falls_back(channel) {
                        self.begin_second(channel, &departure, at_ns);
                        return Paired::Beside;
                    }
                }
                let type_slot = questions.type_slot(departure.question as usize);
                self.book.answered(&departure, at_ns, answer.rcode, bytes.len(), type_slot);
                return Paired::Answered(departure, answer.id);
            }
            Pairing::Overdue(departure) => {
                self.book.timed_out(&departure);
                if let Some(slot) = self.table.slot_of(channel, answer.id) {
                    let (udp, tcp) = (HalfFailure::UdpTimedOut, HalfFailure::QueryTimedOut);
                    self.fail_half_of(slot, &departure, udp, tcp);
                }
                self.came_late(channel, &departure, is_truncated, answer.rcode, bytes.len());
                return Paired::Overdue;
            }
            Pairing::Late(departure) => {
                self.came_late(channel, &departure, is_truncated, answer.rcode, bytes.len());
            }
            Pairing::Duplicate => self.book.arrivals().beside.duplicates += 1,
            Pairing::WrongQuestion => self.book.arrivals().beside.wrong_question += 1,
            Pairing::Unexpected => self.book.arrivals().beside.unexpected += 1,
        }
        Paired::Beside
    }

    fn came_late(
        &mut self,
        channel: usize,
        departure: &Departure,
        is_truncated: bool,
        rcode: u16,
        bytes: usize,
    ) {
        // Late, and not the answer either: its transaction stays without one.
        if is_truncated && self.falls_back(channel) {
            self.book.arrivals().late += 1;
        } else {
            self.book.late(departure, rcode, bytes);
        }
    }
}

impl Sink for Desk<'_> {
    #[inline]
    fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]) {
        self.pair(channel, at_ns, bytes);
    }

    fn answer(&mut self, channel: usize, at_ns: u64, since_ns: u64, bytes: &[u8]) -> Came {
        match self.pair(channel, at_ns, bytes) {
            Paired::Answered(departure, id) => {
                let left_ns = self.end_second(channel, id, &departure, at_ns, since_ns);
                let query_ns = at_ns.saturating_sub(left_ns.max(since_ns));
                self.book.arrivals().connections_mut().query.record(query_ns);
                Came::Answer
            }
            Paired::Overdue => Came::Answer,
            Paired::Beside => Came::Beside,
            Paired::Malformed => Came::Garbage,
        }
    }

    fn connection(&mut self, channel: usize, at_ns: u64, news: ConnectionNews) {
        self.hear(channel, at_ns, news);
    }

    fn reused(&mut self, queries: u64) {
        self.book.arrivals().connections_mut().reused += queries;
    }

    fn status(&mut self, status: u16) {
        self.book.arrivals().connections_mut().encrypted_mut().statuses.add(status, 1);
    }

    fn stream_failed(&mut self, channel: usize, id: u16, asked_ns: u64, why: StreamFailure) -> bool {
        self.lose_stream(channel, id, asked_ns, why)
    }

    fn refused(&mut self, channel: usize, _at_ns: u64, quoted: &[u8]) {
        let questions = self.questions;
        let Some(id) = quoted.get(..2).map(|id| u16::from_be_bytes([id[0], id[1]])) else { return };
        // ICMP quotes at least eight bytes of the packet; what it quotes of the question must fit.
        let asks = |question: u32| {
            let asked = questions.question(question as usize);
            let quoted = quoted.get(HEADER_LEN..).unwrap_or_default();
            let length = quoted.len().min(asked.len());
            quoted[..length] == asked[..length]
        };
        let Some(first) = self.table.refuse(channel, id, asks) else { return };
        self.book.refused(&first);
        self.fail_udp(channel, &first, HalfFailure::UdpRefused);
        // On the loopback a run of equal messages travels as one packet, and one error speaks
        // for all of it. It shows: the error quotes more than the first message.
        let length = questions.message(first.question as usize).len();
        if quoted.len() <= length {
            return;
        }
        let mut id = id;
        for _ in 0..LONGEST_RUN {
            id = self.table.id_after(channel, id);
            match self.table.live_at(channel, id) {
                // An older query that had the ID when the run was made: passed over then, and now.
                Some(other) if other.sent_ns != first.sent_ns => {}
                Some(next) if questions.message(next.question as usize).len() == length => {
                    self.table.refuse(channel, id, |_| true);
                    self.book.refused(&next);
                    self.fail_udp(channel, &next, HalfFailure::UdpRefused);
                }
                _ => return,
            }
        }
    }
}

/// A build to show what pairing and measuring cost: it does neither. Its packets have to be
/// counted on the wire.
pub(crate) const UNMEASURED: bool = cfg!(feature = "unmeasured");

/// Messages that leave at once: what one system call moves well.
pub(crate) const BATCH: usize = 64;

/// Queries that are given up, or interrupted, in one turn: the worker must come round to its
/// sockets and to the user.
pub(crate) const GIVEN_UP_AT_ONCE: usize = 4_096;

/// IDs that a run sent as one packet can span, those passed over included.
const LONGEST_RUN: usize = 2 * BATCH;

/// Bytes to set aside for a message: the longest name, and EDNS. A batch of longer ones grows once.
const USUAL_MESSAGE: usize = 320;

/// Queries of one worker that are at least this far apart leave one by one: up to 40,000 a second.
const LONE_GAP_NS: u64 = 25_000;

/// Queries that are closer together leave at a distance of four times what the host's timer errs
/// by, within these bounds, as many as are due by then.
const SHORTEST_JOINED_NS: u64 = 25_000;
const LONGEST_JOINED_NS: u64 = 100_000;

/// Answers may wait in the kernel, which notes when they came, if the next query leaves this soon.
const SLEPT_THROUGH_NS: u64 = 1_000_000;

/// How long a user's wish may go unheard while nothing happens.
const CONTROL_NS: u64 = 50_000_000;

/// When a closed loop asks again, after the host could not send a query.
pub(crate) const NO_WAY_NS: u64 = 1_000_000;

/// Clients whose turn it is that are asked for a free ID, one after the other.
pub(crate) const CLIENTS_ASKED: usize = 64;

/// When a connection is tried again for which there was no local port.
pub(crate) const PORT_RETRY_NS: u64 = 1_000_000;

/// When a full socket, or a table without a free ID, is tried again.
pub(crate) const RETRY_NS: u64 = 50_000;

//! Queries that leave by several transports, and those that are asked twice.
//!
//! ```text
//!   due ──► whose? ──► queue of its group ──► a channel of it ──► answer
//!                                                   │ with TC, where the member falls back
//!                                                   ▼
//!                                    queue of the group behind ──► a client ──► answer
//! ```
//!
//! A group is the channels of one kind: the sockets of a UDP member, the clients of a TCP member. A
//! query that finds no room in its group waits there, and holds up nobody but those behind it: the
//! shares of a mix are those of the schedule, whatever a server does.

use std::collections::VecDeque;

use dnsdyno_measure::{HalfFailure, NotSentReason};
use dnsdyno_transport::{Batch, Group, Stopped, Transport};
use dnsdyno_wire::{HEADER_LEN, patch_id};

use crate::inflight::{Departure, InFlight, Place};
use crate::pace::Due;
use crate::worker::{
    BATCH, CLIENTS_ASKED, Desk, GIVEN_UP_AT_ONCE, NO_WAY_NS, PORT_RETRY_NS, Pending, RETRY_NS, UNMEASURED,
    Worker,
};

/// The groups of a worker, and what waits for them.
pub(crate) struct Mix {
    queues: Vec<Queue>,
    /// The group of each member, where its queries leave first.
    group_of: Vec<usize>,
    /// Of the queries that are asked a second time, by slot.
    halves: Box<[Half]>,
    /// The slot of the first of them.
    first_half: u32,
    /// Whether the OPT record is left out of what is asked over TCP.
    strips_edns: bool,
}

/// A group, and the queries that wait for it.
struct Queue {
    group: Group,
    first_channel: usize,
    /// Those due first at the front; of second halves those that left first.
    waiting: VecDeque<Waiting>,
    /// Why the first of them could not leave the last time.
    held_up_by: Option<NotSentReason>,
}

/// A query that is to leave.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    due: Due,
    question: u32,
    /// Of a second half: when its query first left, and when the truncated answer came.
    sent_ns: u64,
    truncated_ns: u64,
}

/// What a slot does not hold of a query that is asked a second time.
#[derive(Clone, Copy, Debug, Default)]
struct Half {
    truncated_ns: u64,
    /// When its client was given it.
    handed_ns: u64,
}

impl Mix {
    /// The mix of a transport with these groups, whose queries stand in `table`.
    pub(crate) fn new(groups: &[Group], table: &InFlight, strips_edns: bool) -> Self {
        let mut first_channel = 0;
        let mut queues = Vec::with_capacity(groups.len());
        for group in groups {
            queues.push(Queue {
                group: *group,
                first_channel,
                waiting: VecDeque::with_capacity(BATCH),
                held_up_by: None,
            });
            first_channel += group.channels;
        }
        let firsts = groups.iter().enumerate().filter(|(_, group)| !group.is_second);
        let halves = table.second();
        Mix {
            queues,
            group_of: firsts.map(|(number, _)| number).collect(),
            halves: vec![Half::default(); halves.len()].into(),
            first_half: halves.start,
            strips_edns,
        }
    }

    /// Queries that are due, or between their halves, and on no channel.
    pub(crate) fn waiting(&self) -> u32 {
        self.queues.iter().map(|queue| queue.waiting.len() as u32).sum()
    }

    /// The group of a channel.
    fn number_of(&self, channel: usize) -> usize {
        self.queues.iter().rposition(|queue| queue.first_channel <= channel).unwrap_or(0)
    }

    /// The group in which the queries of this one are asked again.
    fn behind(&self, number: usize) -> Option<usize> {
        self.queues.get(number + 1).filter(|queue| queue.group.is_second).map(|_| number + 1)
    }

    fn half(&mut self, slot: u32) -> Option<&mut Half> {
        self.halves.get_mut(slot.checked_sub(self.first_half)? as usize)
    }
}

impl Waiting {
    fn departure(&self, member: u8) -> Departure {
        Departure {
            intended_ns: self.due.intended_ns,
            sent_ns: self.sent_ns,
            question: self.question,
            member,
        }
    }
}

/// What a transaction is made of.
impl Desk<'_> {
    /// Whether a truncated answer on this channel is asked again over TCP.
    pub(crate) fn falls_back(&self, channel: usize) -> bool {
        self.mix.as_ref().is_some_and(|mix| mix.behind(mix.number_of(channel)).is_some())
    }

    /// Whether what is asked on this channel was asked before over UDP.
    pub(crate) fn is_second(&self, channel: usize) -> bool {
        self.mix.as_ref().is_some_and(|mix| mix.queues[mix.number_of(channel)].group.is_second)
    }

    /// Puts a question into the batch, as it is asked on this channel.
    pub(crate) fn put(&self, batch: &mut Batch, question: u32, id: u16, channel: usize) {
        let message = self.questions.message(question as usize);
        let length = self.length_of(question, channel);
        let copy = batch.push(&message[..length]);
        patch_id(copy, id);
        if length < message.len() {
            copy[ADDITIONAL_COUNT..HEADER_LEN].fill(0);
        }
    }

    /// Bytes of the message that asks this question on this channel: the OPT record is its end.
    pub(crate) fn length_of(&self, question: u32, channel: usize) -> usize {
        let strips_edns = self.mix.as_ref().is_some_and(|mix| mix.strips_edns) && self.is_second(channel);
        match strips_edns {
            true => HEADER_LEN + self.questions.question(question as usize).len(),
            false => self.questions.message(question as usize).len(),
        }
    }

    /// A truncated answer ended the first half of a transaction: the second waits for a client.
    #[cold]
    pub(crate) fn begin_second(&mut self, channel: usize, departure: &Departure, at_ns: u64) {
        let Some(mix) = &mut self.mix else { return };
        let number = mix.number_of(channel);
        let Some(behind) = mix.behind(number) else { return };
        let waiting = &mut mix.queues[behind].waiting;
        let due = Due { number: 0, intended_ns: departure.intended_ns, is_new: true };
        let Departure { sent_ns, question, .. } = *departure;
        // First come those whose timeout is next; a network that overtakes is the exception.
        let passed = waiting.iter().rev().take_while(|other| other.sent_ns > sent_ns).count();
        let place = waiting.len() - passed;
        waiting.insert(place, Waiting { due, question, sent_ns, truncated_ns: at_ns });
        self.book.fallback(departure.intended_ns).begun += 1;
    }

    /// An answer over a connection: books the parts of its transaction, if it ends the second half of
    /// one. Gives the instant at which the client was given the query.
    pub(crate) fn end_second(
        &mut self,
        channel: usize,
        id: u16,
        departure: &Departure,
        at_ns: u64,
        since_ns: u64,
    ) -> u64 {
        let slot = if self.is_second(channel) { self.table.slot_of(channel, id) } else { None };
        let half = self.mix.as_mut().zip(slot).and_then(|(mix, slot)| mix.half(slot).copied());
        let Some(Half { truncated_ns, handed_ns }) = half else { return departure.sent_ns };
        let connected_ns = since_ns.max(handed_ns);
        let fallback = self.book.fallback(departure.intended_ns);
        fallback.answered += 1;
        fallback.udp.record(truncated_ns.saturating_sub(departure.sent_ns));
        fallback.waiting.record(handed_ns.saturating_sub(truncated_ns));
        fallback.connect.record(connected_ns - handed_ns);
        fallback.query.record(at_ns.saturating_sub(connected_ns));
        handed_ns
    }

    /// A transaction failed over UDP, if this is a channel whose queries could fall back.
    pub(crate) fn fail_udp(&mut self, channel: usize, departure: &Departure, why: HalfFailure) {
        if self.falls_back(channel) {
            self.book.fallback(departure.intended_ns).add_failed(why, 1);
        }
    }

    /// A transaction failed over TCP, if this is a channel of second halves.
    pub(crate) fn fail_tcp(&mut self, channel: usize, departure: &Departure, why: HalfFailure) {
        if self.is_second(channel) {
            self.book.fallback(departure.intended_ns).add_failed(why, 1);
        }
    }

    /// One of both, by the slot of the query.
    pub(crate) fn fail_half_of(
        &mut self,
        slot: u32,
        departure: &Departure,
        udp: HalfFailure,
        tcp: HalfFailure,
    ) {
        if self.mix.is_some() {
            let channel = self.table.channel_of(slot);
            self.fail_udp(channel, departure, udp);
            self.fail_tcp(channel, departure, tcp);
        }
    }

    /// Ends what waits in the groups that are `meant`, because the user will not wait.
    pub(crate) fn interrupt_waiting(&mut self, meant: impl Fn(&Group) -> bool) {
        let Some(mix) = &mut self.mix else { return };
        for Queue { group, waiting, .. } in mix.queues.iter_mut().filter(|queue| meant(&queue.group)) {
            for query in waiting.drain(..) {
                self.book.interrupted(query.due.intended_ns, group.member);
                if group.is_second {
                    self.book.fallback(query.due.intended_ns).add_failed(HalfFailure::Interrupted, 1);
                }
            }
        }
    }
}

/// What leaves.
impl<T: Transport> Worker<'_, T> {
    /// Takes up what is due, deals it out to the groups, and sends what each of them takes.
    pub(crate) fn launch_mixed(&mut self, now_ns: u64) {
        self.deal_out(now_ns);
        self.serve_queues(now_ns, |_| true);
    }

    /// Asks again what came truncated just now.
    pub(crate) fn ask_over_tcp(&mut self) {
        let is_wanted = |queue: &Queue| queue.group.is_second && !queue.waiting.is_empty();
        if self.desk.mix.as_ref().is_some_and(|mix| mix.queues.iter().any(is_wanted)) {
            let now_ns = self.transport.now_ns();
            self.serve_queues(now_ns, |group| group.is_second);
        }
    }

    /// After the user's wish to stop: what has never left is interrupted, what is between its halves
    /// goes on.
    pub(crate) fn stop_mixed(&mut self, now_ns: u64) {
        self.desk.interrupt_waiting(|group| !group.is_second);
        self.serve_queues(now_ns, |group| group.is_second);
    }

    /// When to look again for those that wait, if nothing else happens.
    pub(crate) fn mix_looks_again_ns(&self, now_ns: u64) -> u64 {
        let Some(mix) = &self.desk.mix else { return u64::MAX };
        let looks_again_ns = |queue: &Queue| {
            let Some(first) = queue.waiting.front() else { return u64::MAX };
            let retry_ns = match queue.held_up_by {
                None => now_ns,
                // What frees a client wakes the worker.
                Some(NotSentReason::NoFreeConnection) => u64::MAX,
                Some(NotSentReason::NoLocalPort) => now_ns + PORT_RETRY_NS,
                Some(_) => now_ns + RETRY_NS,
            };
            retry_ns.max(self.no_way_until_ns).min(self.given_up_ns(&queue.group, first))
        };
        mix.queues.iter().map(looks_again_ns).min().unwrap_or(u64::MAX)
    }

    /// When a query that waits is given up.
    fn given_up_ns(&self, group: &Group, query: &Waiting) -> u64 {
        let since_ns = if group.is_second { query.sent_ns } else { query.due.intended_ns };
        since_ns.saturating_add(self.patience.timeout_ns)
    }

    fn deal_out(&mut self, now_ns: u64) {
        if now_ns < self.no_way_until_ns {
            return;
        }
        self.launched_ns = now_ns;
        let (mut dealt, mut given_up) = (0, 0);
        while dealt < BATCH && given_up < GIVEN_UP_AT_ONCE {
            let Some(due) = self.pace.take(now_ns, self.desk.live()) else { return };
            let member = self.transport.next_member();
            self.desk.book.scheduled(due.intended_ns, member);
            self.last_due_ns = due.intended_ns;
            if self.patience.is_at_an_end(now_ns, due.intended_ns) {
                self.desk.book.not_sent(due.intended_ns, member, NotSentReason::GeneratorLate);
                given_up += 1;
                continue;
            }
            let question = (due.number % self.desk.questions.len() as u64) as u32;
            if let Some(mix) = &mut self.desk.mix {
                let group = mix.group_of[usize::from(member)];
                mix.queues[group].waiting.push_back(Waiting { due, question, sent_ns: 0, truncated_ns: 0 });
            }
            dealt += 1;
        }
    }

    fn serve_queues(&mut self, now_ns: u64, meant: impl Fn(&Group) -> bool) {
        let groups = self.desk.mix.as_ref().map_or(0, |mix| mix.queues.len());
        for number in 0..groups {
            if let Some(queue) = self.queue(number)
                && !queue.waiting.is_empty()
                && meant(&queue.group)
            {
                self.serve(number, now_ns);
            }
        }
        self.desk.note_in_flight();
    }

    fn queue(&mut self, number: usize) -> Option<&mut Queue> {
        self.desk.mix.as_mut().map(|mix| &mut mix.queues[number])
    }

    /// Sends what waits for a group, as far as it takes it and the others get their turn.
    fn serve(&mut self, number: usize, now_ns: u64) {
        self.give_up(number, now_ns);
        let Some(queue) = self.queue(number) else { return };
        let group = queue.group;
        queue.held_up_by = None;
        let is_short_lived = group.connects && group.most_under_way.is_some();
        let (mut left, mut tries) = (if is_short_lived { SERVED_AT_ONCE } else { BATCH }, 0);
        while left > 0 && self.queue(number).is_some_and(|queue| !queue.waiting.is_empty()) {
            let turn = match self.transport.turn_of(number) {
                Ok(turn) => turn,
                Err(reason) => return self.hold_up(number, reason),
            };
            self.fill(number, turn.channel, turn.room.min(left));
            if self.batch.is_empty() {
                self.transport.pass(turn.channel);
                tries += 1;
                if tries == CLIENTS_ASKED.min(group.channels) {
                    return self.hold_up(number, NotSentReason::NoFreeId);
                }
                continue;
            }
            left -= self.batch.len();
            if let Some(reason) = self.send_of(number, turn.channel) {
                return self.hold_up(number, reason);
            }
        }
    }

    /// What waits for this group has to wait on.
    fn hold_up(&mut self, number: usize, reason: NotSentReason) {
        let is_open = self.pace.is_open();
        let Some(queue) = self.queue(number) else { return };
        queue.held_up_by = Some(reason);
        // A query waits once, however often it is tried.
        let Some(first) = queue.waiting.front_mut() else { return };
        let is_new = std::mem::replace(&mut first.due.is_new, false);
        match reason {
            NotSentReason::NoFreeConnection => self.connection_waits += u64::from(is_new && is_open),
            NotSentReason::NoFreeId => {
                self.id_waits += u64::from(is_new && self.desk.table.is_nearly_full());
            }
            _ => {}
        }
    }

    /// Ends those that have waited for too long.
    fn give_up(&mut self, number: usize, now_ns: u64) {
        for _ in 0..GIVEN_UP_AT_ONCE {
            let Some(queue) = self.queue(number) else { return };
            let (group, reason) = (queue.group, queue.held_up_by);
            let Some(query) = queue.waiting.front().copied() else { return };
            if now_ns < self.given_up_ns(&group, &query) {
                return;
            }
            if let Some(queue) = self.queue(number) {
                queue.waiting.pop_front();
            }
            if group.is_second {
                self.desk.book.timed_out(&query.departure(group.member));
                self.desk.book.fallback(query.due.intended_ns).add_failed(half_never_sent(reason), 1);
            } else {
                let reason = reason.unwrap_or(NotSentReason::GeneratorLate);
                self.desk.book.not_sent(query.due.intended_ns, group.member, reason);
            }
        }
    }

    /// Puts what waits for a group into the batch, up to `most`, as long as the channel has IDs.
    fn fill(&mut self, number: usize, channel: usize, most: usize) {
        self.batch.clear();
        self.pending.clear();
        let Some(mix) = &self.desk.mix else { return };
        let (queue, member) = (&mix.queues[number], mix.queues[number].group.member);
        for query in queue.waiting.iter().take(most.min(BATCH)) {
            let place = match UNMEASURED {
                true => Some(Place::of_nobody(query.due.number)),
                false => self.desk.table.take_free(channel),
            };
            let Some(place) = place else { break };
            self.pending.push(Pending { due: query.due, place, question: query.question, member });
        }
        for pending in &self.pending {
            self.desk.put(&mut self.batch, pending.question, pending.place.id, channel);
        }
    }

    /// Sends the batch and books what left; the rest waits on. Says what holds it up.
    fn send_of(&mut self, number: usize, channel: usize) -> Option<NotSentReason> {
        let sent_ns = self.transport.now_ns();
        let sent = self.transport.send(channel, &self.batch);
        for i in 0..sent.accepted {
            let query = self.queue(number).and_then(|queue| queue.waiting.pop_front());
            if let Some(query) = query {
                self.depart_of(number, channel, i, &query, sent_ns);
            }
        }
        if !UNMEASURED {
            for pending in self.pending[sent.accepted..].iter().rev() {
                self.desk.table.give_back(channel, pending.place);
            }
        }
        match sent.stopped? {
            Stopped::Full => Some(NotSentReason::SendBufferFull),
            Stopped::Later(reason) => Some(reason),
            Stopped::Failed(reason) => {
                self.fail_first(number, reason);
                // A window asks for the next at once, so how many never leave would be how fast we
                // count them. One that is too long says nothing of the others.
                if !self.pace.is_open() && reason != NotSentReason::TooLong {
                    self.no_way_until_ns = sent_ns + NO_WAY_NS;
                    return Some(reason);
                }
                None
            }
        }
    }

    /// Books number `i` of the batch, which left.
    fn depart_of(&mut self, number: usize, channel: usize, i: usize, query: &Waiting, sent_ns: u64) {
        let Some(mix) = &mut self.desk.mix else { return };
        let (group, falls_back) = (mix.queues[number].group, mix.behind(number).is_some());
        let pending = &self.pending[i];
        if group.is_second {
            let departure = query.departure(group.member);
            if let Some(half) = mix.half(pending.place.slot()) {
                *half = Half { truncated_ns: query.truncated_ns, handed_ns: sent_ns };
            }
            let bytes = self.desk.length_of(query.question, channel);
            self.desk.book.asked_over_tcp(&departure, bytes);
            self.desk.table.depart_again(pending.place, departure);
            return;
        }
        self.desk.depart(pending, sent_ns);
        if falls_back {
            self.desk.book.fallback(query.due.intended_ns).udp_requests += 1;
        }
    }

    /// The first of those that wait for a group cannot leave at all.
    fn fail_first(&mut self, number: usize, reason: NotSentReason) {
        let Some(queue) = self.queue(number) else { return };
        let group = queue.group;
        let Some(query) = queue.waiting.pop_front() else { return };
        if group.is_second {
            self.desk.book.refused(&query.departure(group.member));
            self.desk.book.fallback(query.due.intended_ns).add_failed(HalfFailure::NotSent, 1);
        } else {
            self.desk.book.not_sent(query.due.intended_ns, group.member, reason);
        }
    }
}

/// What the second half of a transaction failed of, if it never left.
fn half_never_sent(held_up_by: Option<NotSentReason>) -> HalfFailure {
    match held_up_by {
        Some(NotSentReason::NoFreeConnection | NotSentReason::NoFreeId) => HalfFailure::NoClient,
        Some(NotSentReason::NoLocalPort) => HalfFailure::NoLocalPort,
        _ => HalfFailure::NotSent,
    }
}

/// Queries over connections of a few each that leave in one turn: each may open one, which takes some
/// 20 µs, and what is due meanwhile must not wait for long.
const SERVED_AT_ONCE: usize = 16;

/// Where a header counts the records of its additional section.
const ADDITIONAL_COUNT: usize = 10;

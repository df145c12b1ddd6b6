//! How queries are sent: what is due is dealt to the groups, and each group sends what waits for it.
//!
//! ```text
//!   due ──► whose? ──► queue of its group ──► batch over a channel ──► outstanding
//!                        │          ▲
//!                        ▼          └─ what the channel did not take
//!                     given up, after its timeout
//! ```
//!
//! A plain transport is a mix of one member: its queries are dealt to the one group there is.

use dnsdyno_measure::{FallbackFailure, NotSentReason};
use dnsdyno_transport::{Batch, Group, NextClient, Stopped, Transport};
use dnsdyno_wire::patch_id;

use crate::connections::Retry;
use crate::groups::{BATCH, Queue, Waiting};
use crate::inflight::Place;
use crate::made::Copied;
use crate::pace::Pace;
use crate::pairing::Pairing;

/// What a worker sends with.
pub(crate) struct Sending {
    batch: Batch,
    /// Of the messages in the batch.
    places: Vec<Place>,
    patience: Patience,
    share: Share,
    /// When it last scheduled what was due.
    scheduled_at_ns: u64,
    /// The intended instant of the query that it scheduled last.
    last_due_ns: u64,
    /// Until then nothing is scheduled or sent, because nothing could be.
    pub(crate) paused_until_ns: u64,
    pub(crate) id_waits: u64,
    pub(crate) connection_waits: u64,
}

/// How long a query that is due may wait to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// After its intended instant.
    pub(crate) timeout_ns: u64,
    /// From this instant on no query is sent.
    pub(crate) over_ns: u64,
}

/// Which of the clients of a source are a worker's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Number of the worker.
    pub(crate) worker: u32,
    /// How many workers there are.
    pub(crate) workers: u32,
}

impl Share {
    /// Whether the queries of this client are this worker's.
    pub(crate) fn holds(&self, client: Option<u32>) -> bool {
        client.is_some_and(|client| client % self.workers == self.worker)
    }
}

impl Patience {
    #[inline]
    fn is_over(&self, now_ns: u64, since_ns: u64) -> bool {
        now_ns >= self.over_ns || now_ns.saturating_sub(since_ns) >= self.timeout_ns
    }
}

impl Sending {
    pub(crate) fn new(patience: Patience, share: Share) -> Self {
        Sending {
            batch: Batch::new(BATCH, USUAL_MESSAGE),
            places: Vec::with_capacity(BATCH),
            patience,
            share,
            scheduled_at_ns: 0,
            last_due_ns: 0,
            paused_until_ns: 0,
            id_waits: 0,
            connection_waits: 0,
        }
    }

    /// Schedules what is due, and sends what waits.
    pub(crate) fn send_due<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &mut Pace,
        pairing: &mut Pairing<'_>,
        now_ns: u64,
    ) {
        if now_ns >= self.paused_until_ns {
            self.deal(transport, pace, pairing, now_ns);
            self.serve_all(transport, pace, pairing, now_ns, |_| true);
        }
    }

    /// Sends what waits for a TCP part of a fallback, and what is to be retried.
    pub(crate) fn send_again<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &Pace,
        pairing: &mut Pairing<'_>,
    ) {
        let is_wanted = |queue: &Queue| queue.group.is_fallback && !queue.waiting.is_empty();
        if pairing.groups.all.iter().any(is_wanted) {
            let now_ns = transport.now_ns();
            self.serve_all(transport, pace, pairing, now_ns, |group| group.is_fallback);
        }
        // A closed loop schedules the next query at once, so how many are refused would be how fast they are counted.
        if std::mem::take(&mut pairing.connections.is_turned_away) && !pace.is_open() {
            self.paused_until_ns = transport.now_ns() + PAUSE_NS;
        }
        if !pairing.connections.retries.is_empty() {
            self.retry(transport, pairing);
        }
    }

    /// Schedules what is due and deals it to the groups.
    fn deal<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &mut Pace,
        pairing: &mut Pairing<'_>,
        now_ns: u64,
    ) {
        self.scheduled_at_ns = now_ns;
        let (queries, is_mix) = (pairing.queries, pairing.groups.members() > 1);
        let has_clients = queries.client(0).is_some();
        let mut outstanding = pairing.outstanding();
        let (mut capacity, mut given_up) = (pairing.groups.capacity(), 0);
        let (mut member, mut queue) = (0, pairing.groups.of_member(0));
        while capacity > 0 && given_up < GIVEN_UP_AT_ONCE {
            let Some(due) = pace.take(now_ns, outstanding) else { return };
            let question = (due.number % queries.len() as u64) as u32;
            if has_clients && !self.share.holds(queries.client(question as usize)) {
                given_up += 1;
                continue;
            }
            if is_mix {
                member = transport.next_member();
                queue = pairing.groups.of_member(member);
            }
            pairing.ledger.scheduled(due.intended_ns, member);
            self.last_due_ns = due.intended_ns;
            let held_back_ns = due.held_back_ns();
            if held_back_ns > 0 {
                pairing.ledger.held_back(held_back_ns);
            }
            if self.patience.is_over(now_ns, due.intended_ns) {
                let held_up_by = queue.held_up_by.unwrap_or(NotSentReason::GeneratorLate);
                let reason = if held_back_ns > 0 { NotSentReason::WindowFull } else { held_up_by };
                pairing.ledger.not_sent(due.intended_ns, member, reason);
                given_up += 1;
                continue;
            }
            queue.waiting.push_back(Waiting { due, question, sent_ns: 0, truncated_ns: 0 });
            outstanding += 1;
            capacity -= 1;
        }
    }

    /// Sends what waits for the groups that are `meant`.
    pub(crate) fn serve_all<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &Pace,
        pairing: &mut Pairing<'_>,
        now_ns: u64,
        meant: impl Fn(&Group) -> bool,
    ) {
        for number in 0..pairing.groups.all.len() {
            let queue = &pairing.groups.all[number];
            if !queue.waiting.is_empty() && meant(&queue.group) {
                self.give_up(pairing, number, now_ns);
                pairing.groups.all[number].held_up_by = None;
                if let Some(reason) = self.serve(transport, pace, pairing, number) {
                    self.note_held_up(pace, pairing, number, reason);
                }
            }
        }
        pairing.note_outstanding();
    }

    /// Sends what waits for a group, as far as its channels take it and the others get their turn. Says what holds
    /// up the rest.
    fn serve<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &Pace,
        pairing: &mut Pairing<'_>,
        number: usize,
    ) -> Option<NotSentReason> {
        let group = pairing.groups.all[number].group;
        let is_short_lived =
            group.connects && group.most_outstanding.is_some() && pairing.groups.all.len() > 1;
        let (mut left, mut tries) = (if is_short_lived { SERVED_AT_ONCE } else { BATCH }, 0);
        while left > 0 {
            let queue = &mut pairing.groups.all[number];
            let first = queue.waiting.front()?.question as usize;
            let turn = match pairing.queries.client(first) {
                Some(client) => self.turn_of_client(transport, pairing, number, client),
                None if group.connects => transport.next_client_of(number),
                None => Ok(NextClient { channel: queue.next_channel(), capacity: usize::MAX }),
            };
            let NextClient { channel, capacity } = match turn {
                Ok(turn) => turn,
                Err(reason) => return Some(reason),
            };
            self.fill(pairing, number, channel, capacity.min(left));
            if self.batch.is_empty() {
                transport.pass(channel);
                tries += 1;
                if tries >= CHANNELS_TRIED.min(group.channels) {
                    return Some(NotSentReason::NoFreeId);
                }
                continue;
            }
            left -= self.batch.len();
            let sent_ns = transport.now_ns();
            let sent = transport.send(channel, &self.batch);
            let (accepted, rest) = self.places.split_at(sent.accepted);
            pairing.note_sent(number, accepted, &self.batch, sent_ns);
            if pairing.expects_responses() {
                rest.iter().rev().for_each(|place| pairing.table.give_back(channel, *place));
            }
            match sent.stopped {
                None => {}
                Some(Stopped::Full) => return Some(NotSentReason::SendBufferFull),
                Some(Stopped::Later(reason)) => return Some(reason),
                Some(Stopped::Failed(reason)) => {
                    pairing.fail_first(number, reason);
                    // A closed loop schedules the next at once, so how many are not sent would be how fast they are
                    // counted. One that is too long says nothing of the others.
                    if !pace.is_open() && reason != NotSentReason::TooLong {
                        self.paused_until_ns = sent_ns + PAUSE_NS;
                        return Some(reason);
                    }
                }
            }
        }
        None
    }

    /// The channel of a client of the source, and how many of the queries that wait first are its; or why it can
    /// send none.
    fn turn_of_client<T: Transport>(
        &self,
        transport: &mut T,
        pairing: &Pairing<'_>,
        number: usize,
        client: u32,
    ) -> Result<NextClient, NotSentReason> {
        let queue = &pairing.groups.all[number];
        let number = (client / self.share.workers) as usize % queue.group.channels;
        let is_its = |query: &&Waiting| pairing.queries.client(query.question as usize) == Some(client);
        let channel = queue.first_channel + number;
        let capacity = transport.capacity_of(channel)?;
        Ok(NextClient { channel, capacity: queue.waiting.iter().take(capacity).take_while(is_its).count() })
    }

    /// Puts what waits for a group into the batch, up to `most`, as long as the channel has IDs.
    #[inline]
    fn fill(&mut self, pairing: &mut Pairing<'_>, number: usize, channel: usize, most: usize) {
        self.batch.clear();
        self.places.clear();
        let expects_responses = pairing.expects_responses();
        let Queue { group, waiting, .. } = &pairing.groups.all[number];
        let is_bare = group.is_fallback && pairing.fallback.strips_edns;
        let is_as_loaded = !is_bare && pairing.queries.maker().is_none();
        for query in waiting.iter().take(most) {
            let place = match expects_responses {
                true => pairing.table.take_free(channel),
                false => Some(Place::none(query.due.number)),
            };
            let Some(place) = place else { break };
            self.places.push(place);
            if is_as_loaded {
                let message = pairing.queries.message(query.question as usize);
                patch_id(self.batch.push(message), place.id);
                continue;
            }
            let (number, question) = (query.due.number, query.question);
            let copied = Copied { number, question, id: place.id, slot: place.slot(), is_bare };
            pairing.made.put(pairing.queries, &mut self.batch, copied);
        }
    }

    /// The first of those that wait for a group has to wait on.
    fn note_held_up(&mut self, pace: &Pace, pairing: &mut Pairing<'_>, number: usize, reason: NotSentReason) {
        let is_nearly_full = pairing.table.is_nearly_full();
        let queue = &mut pairing.groups.all[number];
        queue.held_up_by = Some(reason);
        // A query waits once, however often it is tried.
        let Some(first) = queue.waiting.front_mut() else { return };
        let is_new = std::mem::replace(&mut first.due.is_new, false);
        match reason {
            NotSentReason::NoFreeConnection => self.connection_waits += u64::from(is_new && pace.is_open()),
            // A search that ends in a long stretch of live slots, with free ones behind it, is no want of IDs.
            NotSentReason::NoFreeId => self.id_waits += u64::from(is_new && is_nearly_full),
            _ => {}
        }
    }

    /// Ends those that have waited for too long.
    fn give_up(&self, pairing: &mut Pairing<'_>, number: usize, now_ns: u64) {
        for _ in 0..GIVEN_UP_AT_ONCE {
            let queue = &pairing.groups.all[number];
            let is_over = |first: &Waiting| self.patience.is_over(now_ns, queue.since_ns(first));
            if !queue.waiting.front().is_some_and(is_over) {
                return;
            }
            pairing.give_up_first(number);
        }
    }

    /// Retries what was on connections that were lost, each client's on its next one. What cannot be sent now waits;
    /// its timeout goes on.
    fn retry<T: Transport>(&mut self, transport: &mut T, pairing: &mut Pairing<'_>) {
        // A server that refuses streams is not asked for the same at once: it would be as often as possible.
        let now_ns = transport.now_ns();
        let retries = &mut pairing.connections.retries;
        if std::mem::take(&mut retries.refuses_streams) {
            retries.paused_until_ns = now_ns + REFUSED_PAUSE_NS;
        }
        if now_ns < retries.paused_until_ns {
            return;
        }
        for _ in 0..retries.clients() {
            let Some((channel, mut waiting)) = pairing.connections.retries.take_next() else { return };
            let (mut at, mut kept) = (0, 0);
            while at < waiting.len() {
                let end = waiting.len().min(at + BATCH);
                let held = self.retry_some(transport, pairing, channel, &mut waiting[at..end]);
                waiting.copy_within(at..at + held, kept);
                (at, kept) = (end, kept + held);
            }
            waiting.truncate(kept);
            pairing.connections.retries.put_back(channel, waiting);
        }
    }

    /// Retries some queries of one client. Moves those that have to wait on to the front, and says how many they are.
    fn retry_some<T: Transport>(
        &mut self,
        transport: &mut T,
        pairing: &mut Pairing<'_>,
        channel: usize,
        waiting: &mut [Retry],
    ) -> usize {
        self.batch.clear();
        let is_bare = pairing.fallback.strips_edns && pairing.fallback.tcp.contains(&channel);
        for retry in &*waiting {
            let slot = pairing.table.slot_of(channel, retry.id);
            if let (Some(query), Some(slot)) = (pairing.still_outstanding(channel, *retry), slot) {
                let number = pairing.made.number(slot);
                let copied = Copied { number, question: query.question, id: retry.id, slot, is_bare };
                pairing.made.put(pairing.queries, &mut self.batch, copied);
            }
        }
        if self.batch.is_empty() {
            return 0;
        }
        let sent = transport.send(channel, &self.batch);
        let (mut number, mut held) = (0, 0);
        for i in 0..waiting.len() {
            let retry = waiting[i];
            let Some(query) = pairing.still_outstanding(channel, retry) else { continue };
            if number < sent.accepted {
                pairing.note_retried(channel, &query, self.batch.messages().get(number).len());
                number += 1;
            } else if let Some(Stopped::Failed(_)) = sent.stopped {
                pairing.refuse(channel, retry.id, FallbackFailure::NotSent);
            } else {
                waiting[held] = retry;
                held += 1;
            }
        }
        held
    }

    /// When to look again for those that wait to be sent, if nothing else happens.
    pub(crate) fn looks_again_ns(&self, pairing: &Pairing<'_>, now_ns: u64) -> u64 {
        let looks_again_ns = |queue: &Queue| {
            let Some(first) = queue.waiting.front() else { return u64::MAX };
            // A full socket is tried again soon; after a failure of one message the next at once.
            let retry_ns = match queue.held_up_by {
                None => now_ns,
                // What frees a client wakes the worker.
                Some(NotSentReason::NoFreeConnection) => u64::MAX,
                Some(NotSentReason::NoLocalPort) => now_ns + PORT_RETRY_NS,
                Some(_) => now_ns + RETRY_NS,
            };
            let given_up_ns = queue.since_ns(first).saturating_add(self.patience.timeout_ns);
            retry_ns.min(given_up_ns).max(self.paused_until_ns)
        };
        let queues = pairing.groups.all.iter().map(looks_again_ns).min().unwrap_or(u64::MAX);
        if pairing.connections.retries.is_empty() { queues } else { queues.min(now_ns + PORT_RETRY_NS) }
    }

    /// When a query that is due at `due_ns` is sent: at that instant, unless the one before was due
    /// so shortly before it that a wakeup for each would cost more than the queries. It is then
    /// sent with those that are due soon after it, and its lateness is counted as any other.
    pub(crate) fn joined_with_next(&self, due_ns: u64, oversleep_ns: u64) -> u64 {
        if due_ns >= self.last_due_ns + LONE_GAP_NS {
            return due_ns;
        }
        let distance_ns = (4 * oversleep_ns).clamp(SHORTEST_JOINED_NS, LONGEST_JOINED_NS);
        due_ns.max(self.scheduled_at_ns + distance_ns)
    }
}

/// Queries that are given up, or interrupted, in one turn: the worker must come round to its
/// sockets and to the user.
pub(crate) const GIVEN_UP_AT_ONCE: usize = 4_096;

/// Octets to set aside for a message: the longest name, and EDNS. A batch of longer ones grows once.
const USUAL_MESSAGE: usize = 320;

/// Queries of a mix over connections of a few each that are sent in one turn: each may open one, which takes some
/// 20 µs, and what is due meanwhile must not wait for long.
const SERVED_AT_ONCE: usize = 16;

/// Queries of one worker that are at least this far apart are sent one by one: up to 40,000 a second.
const LONE_GAP_NS: u64 = 25_000;

/// Queries that are closer together are sent at a distance of four times what the host's timer errs
/// by, within these bounds, as many as are due by then.
const SHORTEST_JOINED_NS: u64 = 25_000;
const LONGEST_JOINED_NS: u64 = 100_000;

/// When a closed loop sends again, after the host could not send a query.
const PAUSE_NS: u64 = 1_000_000;

/// Channels that are searched for a free ID, one after the other.
const CHANNELS_TRIED: usize = 64;

/// How long nothing is retried after a server has refused a stream.
const REFUSED_PAUSE_NS: u64 = 10_000_000;

/// When a connection is tried again for which there was no local port.
const PORT_RETRY_NS: u64 = 1_000_000;

/// When a full socket, or a table without a free ID, is tried again.
const RETRY_NS: u64 = 50_000;

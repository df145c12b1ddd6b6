//! Sends queries: due queries are added to the queues of their groups, and each group sends its queue.
//!
//! ```text
//!   due ──► member ──► queue of its group ──► batch over a channel ──► outstanding
//!                        │          ▲
//!                        ▼          └─ messages that could not be sent
//!                     not sent, after the timeout
//! ```
//!
//! A single transport is a mix of one member with one group.

use dnsdyno_measure::{FallbackFailure, NotSentReason, Tally};
use dnsdyno_queries::Picker;
use dnsdyno_transport::{Batch, Group, NextClient, Stopped, Transport};
use dnsdyno_wire::patch_id;

use crate::connections::{Connections, Retry};
use crate::ends::End;
use crate::first_send::FirstSend;
use crate::groups::{Queue, Waiting};
use crate::inflight::Place;
use crate::job::SendLimits;
use crate::pace::Pace;
use crate::passing::{PASSED_RETRY_NS, Passed, channel_of_source, pass_paused};
use crate::rewriter::Copied;
use crate::share::Share;
use crate::supply::Supply;
use crate::transactions::Transactions;

/// The state of a worker's sending.
pub(crate) struct Sender {
    batch: Batch,
    /// The slots of the messages in the batch.
    places: Vec<Place>,
    limits: SendLimits,
    share: Share,
    /// Chooses the next query.
    picker: Picker,
    /// When due queries were last scheduled.
    scheduled_at_ns: u64,
    /// The intended instant of the last scheduled query.
    last_due_ns: u64,
    /// No query is scheduled or sent before this instant, because the host could not send.
    pub(crate) paused_until_ns: u64,
    pub(crate) id_waits: u64,
    pub(crate) connection_waits: u64,
    /// Queries sent over each channel, without retries.
    pub(crate) sent_by_channel: Vec<u64>,
    /// The first query that was sent.
    pub(crate) first_send: Option<FirstSend>,
}

impl Sender {
    /// A sender for so many channels, with batches of at most so many messages.
    pub(crate) fn new(
        limits: SendLimits,
        share: Share,
        picker: Picker,
        (channels, at_once): (usize, usize),
    ) -> Self {
        Sender {
            batch: Batch::new(at_once, USUAL_MESSAGE),
            places: Vec::with_capacity(at_once),
            limits,
            share,
            picker,
            scheduled_at_ns: 0,
            last_due_ns: 0,
            paused_until_ns: 0,
            id_waits: 0,
            connection_waits: 0,
            sent_by_channel: vec![0; channels],
            first_send: None,
        }
    }

    /// Schedules due queries, and sends the queues.
    pub(crate) fn send_due<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &mut Pace,
        transactions: &mut Transactions<'_>,
        now_ns: u64,
    ) {
        if now_ns >= self.paused_until_ns {
            self.schedule(transport, pace, transactions, now_ns);
            self.send_waiting(transport, pace, transactions, now_ns, |_| true);
        }
    }

    /// Sends queries that fall back to TCP, and queries to retry.
    pub(crate) fn send_retries<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &Pace,
        transactions: &mut Transactions<'_>,
    ) {
        if transactions.connections.pauses.is_any() {
            transactions.connections.end_pauses(transport.now_ns());
        }
        let is_wanted = |queue: &Queue| queue.group.is_fallback && !queue.waiting.is_empty();
        if transactions.groups.all.iter().any(is_wanted) {
            let now_ns = transport.now_ns();
            self.send_waiting(transport, pace, transactions, now_ns, |group| group.is_fallback);
        }
        if !transactions.connections.retries.is_empty() {
            self.retry(transport, transactions);
        }
    }

    /// Schedules due queries and adds them to the queues of their groups.
    fn schedule<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &mut Pace,
        transactions: &mut Transactions<'_>,
        now_ns: u64,
    ) {
        self.scheduled_at_ns = now_ns;
        let is_mix = transactions.groups.members() > 1;
        let mut outstanding = transactions.outstanding();
        let has_clients = match transactions.whole {
            Some(queries) => queries.client(0).is_some(),
            None => {
                set_upcoming(&mut *transactions.queries, pace, now_ns, outstanding);
                false
            }
        };
        let (mut capacity, mut given_up) = (transactions.groups.capacity(), 0);
        let (mut member, mut group) = (0, transactions.groups.of_member(0));
        // The member of the mix that the client of the query is.
        let mut drawn = None;
        while capacity > 0 && given_up < GIVEN_UP_AT_ONCE {
            let Some(due) = pace.take(now_ns, outstanding) else { return };
            let question = match transactions.whole {
                Some(_) => self.picker.pick(due.number, now_ns),
                None => {
                    let question;
                    (question, drawn) = transactions.queries.take_next();
                    set_upcoming(&mut *transactions.queries, pace, now_ns, outstanding + 1);
                    question
                }
            };
            if has_clients && !self.share.contains(transactions.client_of(question)) {
                given_up += 1;
                continue;
            }
            if is_mix {
                member = drawn.unwrap_or_else(|| transport.next_member());
                group = transactions.groups.of_member(member);
            }
            transactions.ledger.scheduled(due.intended_ns, member);
            self.last_due_ns = due.intended_ns;
            let held_back_ns = due.held_back_ns();
            if held_back_ns > 0 {
                count_held_back(transactions.ledger.tally(due.intended_ns), held_back_ns);
            }
            let query = Waiting::new(due, question);
            let queue = &mut transactions.groups.all[group];
            if self.limits.is_over(now_ns, due.intended_ns) {
                let blocked_by = queue.blocked_by.unwrap_or(NotSentReason::GeneratorLate);
                let reason = if held_back_ns > 0 { NotSentReason::WindowFull } else { blocked_by };
                transactions.end_unqueued(&query, member, End::NotSent(reason));
                given_up += 1;
                continue;
            }
            queue.waiting.push_back(query);
            outstanding += 1;
            capacity -= 1;
        }
    }

    /// Sends the queues of the selected groups.
    pub(crate) fn send_waiting<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &Pace,
        transactions: &mut Transactions<'_>,
        now_ns: u64,
        is_selected: impl Fn(&Group) -> bool,
    ) {
        for number in 0..transactions.groups.all.len() {
            let queue = &transactions.groups.all[number];
            if !queue.waiting.is_empty() && is_selected(&queue.group) {
                self.give_up(transactions, number, now_ns);
                transactions.groups.all[number].blocked_by = None;
                if let Some(reason) = self.send_queue(transport, pace, transactions, number) {
                    self.note_blocked(pace, transactions, number, reason, now_ns);
                }
            }
        }
        transactions.note_outstanding();
    }

    /// Sends the queue of a group, as far as its channels have capacity, and not so many that other groups have to
    /// wait. Returns what blocks the rest.
    fn send_queue<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &Pace,
        transactions: &mut Transactions<'_>,
        number: usize,
    ) -> Option<NotSentReason> {
        let group = transactions.groups.all[number].group;
        let is_short_lived =
            group.connects && group.most_outstanding.is_some() && transactions.groups.all.len() > 1;
        let (mut remaining, mut tries) =
            (if is_short_lived { MOST_CONNECTING_AT_ONCE } else { group.at_once }, 0);
        while remaining > 0 {
            let first = transactions.groups.all[number].waiting.front()?.question;
            if group.connects && transactions.connections.pauses.is_any() {
                match pass_paused(transport, transactions, number, self.share.workers, pace.is_open()) {
                    Passed::ToOther => {}
                    Passed::Refused => {
                        remaining -= 1;
                        continue;
                    }
                    Passed::All => return Some(NotSentReason::NoFreeConnection),
                }
            }
            let next = self.next_client(transport, transactions, number, first);
            let NextClient { channel, capacity } = match next {
                Ok(next) => next,
                Err(reason) => return Some(reason),
            };
            self.fill(transactions, number, channel, capacity.min(remaining));
            if self.batch.is_empty() {
                transport.pass(channel);
                tries += 1;
                if tries >= CHANNELS_TRIED.min(group.channels) {
                    return Some(NotSentReason::NoFreeId);
                }
                continue;
            }
            remaining -= self.batch.len();
            let (sent_ns, stopped) = self.send_batch(transport, pace, transactions, number, channel);
            match stopped {
                None => {}
                Some(Stopped::Full) => return Some(NotSentReason::SendBufferFull),
                Some(Stopped::Later(reason)) => return Some(reason),
                Some(Stopped::Failed(reason)) => {
                    transactions.fail_first(number, reason);
                    // A closed loop schedules the next query at once: without a pause, the number of queries not sent
                    // would only depend on the speed of this host. A message that is too long does not affect others.
                    if !pace.is_open() && reason != NotSentReason::TooLong {
                        self.paused_until_ns = sent_ns + PAUSE_NS;
                        return Some(reason);
                    }
                }
            }
        }
        None
    }

    /// Sends the batch over a channel, and notes what was sent. Returns when that was, and what stopped the rest.
    #[inline]
    fn send_batch<T: Transport>(
        &mut self,
        transport: &mut T,
        pace: &Pace,
        transactions: &mut Transactions<'_>,
        number: usize,
        channel: usize,
    ) -> (u64, Option<Stopped>) {
        if transactions.trace.is_some() {
            transactions.mark_traced(number, &mut self.batch);
        }
        let sent_ns = transport.now_ns();
        let sent = transport.send(channel, &self.batch);
        let (accepted, rest) = self.places.split_at(sent.accepted);
        if let Some(count) = self.sent_by_channel.get_mut(channel) {
            *count += accepted.len() as u64;
        }
        if self.first_send.is_none() && sent.accepted > 0 {
            let first = transactions.groups.all[number].waiting.front().filter(|_| pace.is_open());
            self.first_send =
                Some(FirstSend { due_ns: first.map_or(0, |query| query.due.intended_ns), sent_ns });
        }
        if transactions.trace.is_some() {
            transactions.trace_sent(number, channel, accepted, &self.batch, sent_ns);
        }
        transactions.note_sent(number, accepted, &self.batch, sent_ns);
        if transactions.expects_responses() {
            rest.iter().rev().for_each(|place| transactions.table.give_back(channel, *place));
        }
        (sent_ns, sent.stopped)
    }

    /// The channel that sends the first query of a queue, and how many queries it can send; or why none can.
    #[inline]
    fn next_client<T: Transport>(
        &self,
        transport: &mut T,
        transactions: &mut Transactions<'_>,
        number: usize,
        first: u32,
    ) -> Result<NextClient, NotSentReason> {
        if let Some(client) = transactions.client_of(first) {
            return self.client_of_source(transport, transactions, number, client);
        }
        let queue = &mut transactions.groups.all[number];
        match queue.group.connects {
            true => transport.next_client_of(number),
            false => Ok(NextClient { channel: queue.next_channel(), capacity: usize::MAX }),
        }
    }

    /// The channel of a client of the source, and how many queries at the front of the queue it can send; or why it can
    /// send none.
    fn client_of_source<T: Transport>(
        &self,
        transport: &mut T,
        transactions: &Transactions<'_>,
        number: usize,
        client: u32,
    ) -> Result<NextClient, NotSentReason> {
        let queue = &transactions.groups.all[number];
        let is_its = |query: &&Waiting| transactions.client_of(query.question) == Some(client);
        let channel = channel_of_source(queue, client, self.share.workers);
        let capacity = transport.capacity_of(channel)?;
        Ok(NextClient { channel, capacity: queue.waiting.iter().take(capacity).take_while(is_its).count() })
    }

    /// Copies up to `most` queries of a queue into the batch, as long as the channel has free IDs.
    #[inline]
    fn fill(&mut self, transactions: &mut Transactions<'_>, number: usize, channel: usize, most: usize) {
        self.batch.clear();
        self.places.clear();
        let expects_responses = transactions.expects_responses();
        let Queue { group, waiting, .. } = &transactions.groups.all[number];
        let is_bare = group.is_fallback && transactions.fallback.strips_edns;
        if let (Some(queries), true) = (transactions.plain, !is_bare && expects_responses) {
            for query in waiting.iter().take(most) {
                let Some(place) = transactions.table.take_free(channel) else { break };
                self.places.push(place);
                patch_id(self.batch.push(queries.message(query.question as usize)), place.id);
            }
            return;
        }
        let is_as_loaded = !is_bare && transactions.queries.maker().is_none();
        for query in waiting.iter().take(most) {
            let place = match expects_responses {
                true => transactions.table.take_free(channel),
                false => Some(Place::none(query.due.number)),
            };
            let Some(place) = place else { break };
            self.places.push(place);
            if is_as_loaded {
                let message = transactions.queries.message(query.question);
                patch_id(self.batch.push(message), place.id);
                continue;
            }
            let copied = Copied {
                number: query.due.number,
                question: query.question,
                id: place.id,
                channel,
                slot: place.slot(),
                due_ns: query.due.intended_ns,
                at_ns: self.scheduled_at_ns,
                is_bare,
            };
            transactions.rewriter.put(&*transactions.queries, &mut self.batch, copied);
        }
    }

    /// Records why the first query of a queue has to wait.
    fn note_blocked(
        &mut self,
        pace: &Pace,
        transactions: &mut Transactions<'_>,
        number: usize,
        reason: NotSentReason,
        now_ns: u64,
    ) {
        let is_nearly_full = transactions.table.is_nearly_full();
        let queue = &mut transactions.groups.all[number];
        queue.blocked_by = Some(reason);
        if matches!(
            reason,
            NotSentReason::NoFreeConnection | NotSentReason::NoFreeId | NotSentReason::NoLocalPort
        ) {
            queue.held_before_ns = now_ns + 1;
        }
        // A query that waits is counted once, even after several attempts.
        let Some(first) = queue.waiting.front_mut() else { return };
        let is_new = std::mem::replace(&mut first.due.is_new, false);
        match reason {
            NotSentReason::NoFreeConnection => self.connection_waits += u64::from(is_new && pace.is_open()),
            // Unless the table is nearly full, the search only met many live slots in a row: there are free IDs.
            NotSentReason::NoFreeId => self.id_waits += u64::from(is_new && is_nearly_full),
            _ => {}
        }
    }

    /// Ends queries that have waited too long.
    fn give_up(&self, transactions: &mut Transactions<'_>, number: usize, now_ns: u64) {
        for _ in 0..GIVEN_UP_AT_ONCE {
            let queue = &transactions.groups.all[number];
            let is_over = |first: &Waiting| self.limits.is_over(now_ns, queue.since_ns(first));
            if !queue.waiting.front().is_some_and(is_over) {
                return;
            }
            // It waited for the server and not for a client. A query that falls back has been sent, and times out.
            let Connections { open, pauses, .. } = &transactions.connections;
            if *open == 0 && pauses.paused_in(number) > 0 && !queue.group.is_fallback {
                transactions.refuse_first(number);
            } else {
                transactions.give_up_first(number);
            }
        }
    }

    /// Retries the queries of lost connections, each on the next connection of its client. Queries that cannot be sent
    /// now wait, and their timeout continues.
    fn retry<T: Transport>(&mut self, transport: &mut T, transactions: &mut Transactions<'_>) {
        // After a server has refused streams, queries are retried after a pause, not as fast as possible.
        let now_ns = transport.now_ns();
        let retries = &mut transactions.connections.retries;
        if std::mem::take(&mut retries.refuses_streams) {
            retries.paused_until_ns = now_ns + REFUSED_PAUSE_NS;
        }
        if now_ns < retries.paused_until_ns {
            return;
        }
        for _ in 0..retries.clients() {
            let Some((channel, mut waiting)) = transactions.connections.retries.take_next() else { return };
            if transactions.connections.pauses.is_paused(channel) {
                transactions.connections.retry_later(channel, waiting);
                continue;
            }
            let (mut at, mut kept) = (0, 0);
            while at < waiting.len() {
                let end = waiting.len().min(at + Batch::USUAL);
                let held = self.retry_some(transport, transactions, channel, &mut waiting[at..end]);
                waiting.copy_within(at..at + held, kept);
                (at, kept) = (end, kept + held);
            }
            waiting.truncate(kept);
            transactions.connections.retries.put_back(channel, waiting);
        }
    }

    /// Retries some queries of one client. Moves those that have to wait to the front, and returns their number.
    fn retry_some<T: Transport>(
        &mut self,
        transport: &mut T,
        transactions: &mut Transactions<'_>,
        channel: usize,
        waiting: &mut [Retry],
    ) -> usize {
        self.batch.clear();
        let is_bare = transactions.fallback.strips_edns && transactions.fallback.tcp.contains(&channel);
        for retry in &*waiting {
            let slot = transactions.table.slot_of(channel, retry.id);
            if let (Some(query), Some(slot)) = (transactions.still_outstanding(channel, *retry), slot) {
                let copied = Copied {
                    number: transactions.rewriter.number(slot),
                    question: query.question,
                    id: retry.id,
                    channel,
                    slot,
                    due_ns: query.intended_ns,
                    at_ns: self.scheduled_at_ns,
                    is_bare,
                };
                transactions.rewriter.put(&*transactions.queries, &mut self.batch, copied);
            }
        }
        if self.batch.is_empty() {
            return 0;
        }
        let sent_ns = transport.now_ns();
        let sent = transport.send(channel, &self.batch);
        let (mut number, mut held) = (0, 0);
        for i in 0..waiting.len() {
            let retry = waiting[i];
            let Some(query) = transactions.still_outstanding(channel, retry) else { continue };
            if number < sent.accepted {
                transactions.note_retried(channel, retry, &query, self.batch.messages().get(number).len());
                transactions.trace_retry(channel, retry.id, sent_ns);
                number += 1;
            } else if let Some(Stopped::Failed(_)) = sent.stopped {
                transactions.refuse(channel, retry.id, FallbackFailure::NotSent);
            } else {
                waiting[held] = retry;
                held += 1;
            }
        }
        held
    }

    /// When to try again to send the queues, if nothing else happens.
    pub(crate) fn next_attempt_ns(&self, transactions: &Transactions<'_>, now_ns: u64) -> u64 {
        let pauses = &transactions.connections.pauses;
        let next_attempt_ns = |queue: &Queue| {
            let Some(first) = queue.waiting.front() else { return u64::MAX };
            // A full socket is tried again soon; after one message has failed, the next is sent at once.
            let retry_ns = match queue.blocked_by {
                None => now_ns,
                // The worker is woken when a client is free.
                Some(NotSentReason::NoFreeConnection) if !pauses.is_any() => u64::MAX,
                Some(NotSentReason::NoStream) => u64::MAX,
                Some(NotSentReason::NoFreeConnection) => now_ns + PASSED_RETRY_NS,
                Some(NotSentReason::NoLocalPort) => now_ns + PORT_RETRY_NS,
                Some(_) => now_ns + RETRY_NS,
            };
            let given_up_ns = queue.since_ns(first).saturating_add(self.limits.timeout_ns);
            retry_ns.min(given_up_ns).max(self.paused_until_ns)
        };
        let queues = transactions.groups.all.iter().map(next_attempt_ns).min().unwrap_or(u64::MAX);
        let queues = queues.min(pauses.next_end_ns().unwrap_or(u64::MAX));
        if transactions.connections.retries.is_empty() { queues } else { queues.min(now_ns + PORT_RETRY_NS) }
    }

    /// When to send a query that is due at `due_ns`: at that instant, unless the query before was due so shortly before
    /// that a wakeup for each would cost more than the queries. It is then sent together with queries due soon after
    /// it, and its lateness is counted.
    pub(crate) fn batched_send_ns(&self, due_ns: u64, oversleep_ns: u64) -> u64 {
        if due_ns >= self.last_due_ns + LONE_GAP_NS {
            return due_ns;
        }
        let distance_ns = (4 * oversleep_ns).clamp(SHORTEST_DISTANCE_NS, LONGEST_DISTANCE_NS);
        due_ns.max(self.scheduled_at_ns + distance_ns)
    }
}

/// Tells the pace what is next of a source whose queries are not all known.
#[cold]
fn set_upcoming(queries: &mut dyn Supply, pace: &mut Pace, now_ns: u64, outstanding: u32) {
    if let Some(next) = queries.upcoming(now_ns, !pace.is_full(outstanding)) {
        pace.set_upcoming(next);
    }
}

/// Rare beside the queries that no window delays: it must not lengthen their path.
#[cold]
fn count_held_back(tally: &mut Tally, held_back_ns: u64) {
    tally.held_back += 1;
    tally.held_back_ns += held_back_ns;
}

/// Queries that are ended unsent in one pass of the loop, at most: the worker must also read its sockets and check for
/// signals.
pub(crate) const GIVEN_UP_AT_ONCE: usize = 4_096;

/// Capacity for a message in octets: the longest name, and EDNS. With longer messages the batch grows once.
const USUAL_MESSAGE: usize = 320;

/// Queries of a group in a mix that are sent in one pass if each may open a connection: this takes about 20 µs, and
/// queries of other groups must not wait long.
const MOST_CONNECTING_AT_ONCE: usize = 16;

/// Queries of one worker that are due at least this far apart are sent one by one: up to 40,000 per second.
const LONE_GAP_NS: u64 = 25_000;

/// Queries that are closer together are sent in bursts. The distance of the bursts is four times the error of the
/// host's timer, within these bounds.
const SHORTEST_DISTANCE_NS: u64 = 25_000;
const LONGEST_DISTANCE_NS: u64 = 100_000;

/// How long a closed loop pauses after the host could not send a query.
const PAUSE_NS: u64 = 1_000_000;

/// Channels that are searched for a free ID, at most.
const CHANNELS_TRIED: usize = 64;

/// How long no query is retried after a server has refused a stream.
const REFUSED_PAUSE_NS: u64 = 10_000_000;

/// After this time, a connection is tried again for which there was no local port.
const PORT_RETRY_NS: u64 = 1_000_000;

/// After this time, a full socket or a table without a free ID is tried again.
const RETRY_NS: u64 = 50_000;

//! One worker: the same loop for every transport.
//!
//! ```text
//!  schedule what is due ──► send it ──► receive ──► pair, count ──► retry ──► expire ──► settle
//!        ▲                                                                                 │
//!        └────────── wait until a query is due, a response arrives, or a query expires ◄───┘
//! ```
//!
//! The loop takes no lock, writes no log and, after the first timeout has passed, allocates no memory.

use dnsdyno_transport::{Transport, Wake};

use crate::control::{Asked, Reached, Signals};
use crate::ends::End;
use crate::groups::Waiting;
use crate::job::UNMEASURED;
use crate::ledger::Closing;
use crate::pace::Pace;
use crate::sender::{GIVEN_UP_AT_ONCE, Sender};
use crate::transactions::Transactions;

/// A worker with its transport, its slice of the load and its queries.
pub(crate) struct Worker<'a, T> {
    transport: T,
    pace: Pace,
    sender: Sender,
    transactions: Transactions<'a>,
    signals: Signals<'a>,
    interrupted: bool,
}

impl<'a, T: Transport> Worker<'a, T> {
    pub(crate) fn new(
        transport: T,
        pace: Pace,
        sender: Sender,
        transactions: Transactions<'a>,
        signals: Signals<'a>,
    ) -> Self {
        Worker { transport, pace, sender, transactions, signals, interrupted: false }
    }

    /// Runs the worker's part of the load, and closes its ledger. Returns the transport, which may still receive
    /// responses of other workers.
    pub(crate) fn run(mut self) -> T {
        loop {
            let Worker { transport, pace, sender, transactions, signals, .. } = &mut self;
            let now_ns = transport.now_ns();
            transactions.roll(now_ns, || transport.resources());
            match signals.asked() {
                Asked::Nothing => match pace.reached(now_ns, || transactions.groups.waiting()) {
                    None => sender.send_due(transport, pace, transactions, now_ns),
                    Some((cause, queries)) => signals.reach(cause, Reached { at_ns: now_ns, queries }),
                },
                Asked::StopSending => self.stop_sending(now_ns),
                Asked::EndNow => {
                    self.end_now();
                    break;
                }
            }
            let Worker { transport, pace, sender, transactions, .. } = &mut self;
            transport.receive(transactions);
            transactions.hand_over_traced(|| transport.now_ns());
            if T::CONNECTS {
                sender.send_retries(transport, pace, transactions);
            }
            // A response may have arrived in time without having been read yet.
            let expired_ns = transport.now_ns().saturating_sub(SLEPT_THROUGH_NS);
            transactions.expire(expired_ns, |channel, id| transport.expired(channel, id));
            transactions.ledger.settle(pace.scheduled_up_to_ns(now_ns));
            if pace.is_exhausted() {
                transactions.ledger.exhausted(now_ns);
                if transactions.outstanding() == 0 || (UNMEASURED && transactions.groups.waiting() == 0) {
                    break;
                }
            }
            self.wait();
        }
        self.close()
    }

    fn close(mut self) -> T {
        #[cfg(debug_assertions)]
        debug_assert_eq!(self.transactions.table.live(), self.transactions.table.live_slots());
        if UNMEASURED {
            self.transactions.ledger.interrupt_open();
        }
        self.transport.finish(&mut self.transactions);
        let resources = self.transport.resources();
        let end_ns = self.transport.now_ns();
        self.transactions.hand_over_traced(|| end_ns);
        self.transactions.count_clients(end_ns, true);
        let closing = Closing {
            end_ns,
            first_send: self.sender.first_send,
            id_waits: self.sender.id_waits,
            connection_waits: self.sender.connection_waits,
            reader_waits: self.transactions.queries.reader_waits(),
            interrupted: self.interrupted,
            sent_by_channel: self.sender.sent_by_channel,
            explanations: self.transport.explanations(),
            truncated: self.transactions.fallback.truncated.counted(),
            answer_checks: self.transactions.checker.as_ref().map(|checker| checker.checks),
            ..Closing::default()
        };
        self.transactions.ledger.close(resources, closing);
        self.transport
    }

    /// The user stops the run: queries that were due but not sent are interrupted, outstanding ones are waited for. A
    /// long backlog takes several passes.
    fn stop_sending(&mut self, now_ns: u64) {
        let Worker { transport, pace, sender, transactions, .. } = self;
        self.interrupted |= !pace.is_exhausted() || transactions.groups.waiting() > 0;
        for _ in 0..GIVEN_UP_AT_ONCE {
            if let Some(next) = transactions.queries.upcoming(now_ns, false) {
                pace.set_upcoming(next);
            }
            let Some(due) = pace.take_for_stop(now_ns) else { break };
            // In a mix, the member of this query has not been drawn yet.
            let member = if transactions.groups.members() > 1 { transport.next_member() } else { 0 };
            if transactions.whole.is_some() {
                // Counted only: no query was taken from the block, so that there is no message to log.
                transactions.ledger.scheduled(due.intended_ns, member);
                transactions.ledger.interrupted(due.intended_ns, member);
                transactions.trace_untaken(due, member);
            } else {
                let (question, of_client) = transactions.queries.take_next();
                let member = of_client.unwrap_or(member);
                transactions.ledger.scheduled(due.intended_ns, member);
                transactions.end_unqueued(&Waiting::new(due, question), member, End::Interrupted);
            }
        }
        transactions.interrupt_waiting(|group| !group.is_fallback);
        sender.send_waiting(transport, pace, transactions, now_ns, |group| group.is_fallback);
    }

    /// The user ends the run at once: outstanding and waiting queries are interrupted. Queries that were due but not
    /// scheduled are not counted.
    fn end_now(&mut self) {
        self.interrupted |= !self.pace.is_exhausted() || self.transactions.outstanding() > 0;
        self.pace.close();
        self.transactions.interrupt_all();
    }

    /// Waits until there is something to do.
    fn wait(&mut self) {
        let Worker { transport, pace, sender, transactions, .. } = self;
        let now_ns = transport.now_ns();
        // A response may have made a query due.
        let follows_responses = transactions.whole.is_none() && transactions.queries.follows_responses();
        if follows_responses && let Some(next) = transactions.queries.upcoming(now_ns, false) {
            pace.set_upcoming(next);
        }
        let mut until_ns = transactions.ledger.wall_end_ns().min(now_ns + CONTROL_NS);
        let mut wake = Wake::ON_ARRIVAL;
        if let Some(expiry_ns) = transactions.table.next_expiry_ns() {
            until_ns = until_ns.min(expiry_ns + SLEPT_THROUGH_NS);
        }
        until_ns = until_ns.min(sender.next_attempt_ns(transactions, now_ns));
        if now_ns < sender.paused_until_ns {
            until_ns = until_ns.min(sender.paused_until_ns);
        } else if transactions.groups.takes_next() {
            let outstanding = transactions.outstanding();
            if let Some(due_ns) = pace.next_due_ns(now_ns, outstanding) {
                let is_timed = pace.is_open() && !pace.is_full(outstanding);
                let send_ns =
                    if is_timed { sender.batched_send_ns(due_ns, transport.oversleep_ns()) } else { due_ns };
                // What a client asks next may depend on a response that is waiting.
                let may_sleep = is_timed && !follows_responses;
                wake.on_arrival = !(may_sleep && send_ns <= now_ns + SLEPT_THROUGH_NS);
                // Queries that are sent together need no precision.
                wake.exactly = is_timed && send_ns == due_ns && send_ns <= until_ns;
                until_ns = until_ns.min(send_ns);
            }
        }
        if until_ns > now_ns {
            transport.wait(until_ns, wake);
        }
    }
}

/// If the next query is due within this time, responses may wait in the kernel, which records when they arrived.
const SLEPT_THROUGH_NS: u64 = 1_000_000;

/// How often an idle worker checks whether the user has stopped the run.
const CONTROL_NS: u64 = 50_000_000;

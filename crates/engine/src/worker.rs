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
use crate::job::UNMEASURED;
use crate::ledger::Closing;
use crate::pace::Pace;
use crate::pairing::Pairing;
use crate::sending::{GIVEN_UP_AT_ONCE, Sending};
use crate::supply::{ReaderWaits, Supply};

/// A worker with its transport, its slice of the load and its queries.
pub(crate) struct Worker<'a, T> {
    transport: T,
    pace: Pace,
    sending: Sending,
    pairing: Pairing<'a>,
    signals: Signals<'a>,
    interrupted: bool,
}

impl<'a, T: Transport> Worker<'a, T> {
    pub(crate) fn new(
        transport: T,
        pace: Pace,
        sending: Sending,
        pairing: Pairing<'a>,
        signals: Signals<'a>,
    ) -> Self {
        Worker { transport, pace, sending, pairing, signals, interrupted: false }
    }

    /// Runs the worker's part of the load, and closes its ledger. Returns the transport, which may still receive
    /// responses of other workers.
    pub(crate) fn run(mut self) -> T {
        loop {
            let Worker { transport, pace, sending, pairing, signals, .. } = &mut self;
            let now_ns = transport.now_ns();
            pairing.roll(now_ns, || transport.resources());
            match signals.asked() {
                Asked::Nothing => match pace.reached(now_ns, || pairing.groups.waiting()) {
                    None => sending.send_due(transport, pace, pairing, now_ns),
                    Some((cause, queries)) => signals.reach(cause, Reached { at_ns: now_ns, queries }),
                },
                Asked::StopSending => self.stop_sending(now_ns),
                Asked::EndNow => {
                    self.end_now();
                    break;
                }
            }
            let Worker { transport, pace, sending, pairing, .. } = &mut self;
            transport.receive(pairing);
            if T::CONNECTS {
                sending.send_retries(transport, pace, pairing);
            }
            // A response may have arrived in time without having been read yet.
            let expired_ns = transport.now_ns().saturating_sub(SLEPT_THROUGH_NS);
            pairing.expire(expired_ns, |channel, id| transport.expired(channel, id));
            pairing.ledger.settle(pace.scheduled_up_to_ns(now_ns));
            if pace.is_exhausted() {
                pairing.ledger.exhausted(now_ns);
                if pairing.outstanding() == 0 || (UNMEASURED && pairing.groups.waiting() == 0) {
                    break;
                }
            }
            self.wait();
        }
        self.close()
    }

    fn close(mut self) -> T {
        if UNMEASURED {
            self.pairing.ledger.interrupt_open();
        }
        self.transport.finish(&mut self.pairing);
        let resources = self.transport.resources();
        let end_ns = self.transport.now_ns();
        self.pairing.count_clients(end_ns, true);
        let closing = Closing {
            end_ns,
            id_waits: self.sending.id_waits,
            connection_waits: self.sending.connection_waits,
            reader_waits: match &self.pairing.queries {
                Supply::Whole(_) | Supply::Clients(_) => ReaderWaits::default(),
                Supply::Fed(fed) => fed.waits,
            },
            interrupted: self.interrupted,
            sent_by_channel: self.sending.sent_by_channel,
            explanations: self.transport.explanations(),
            ..Closing::default()
        };
        self.pairing.ledger.close(resources, closing);
        self.transport
    }

    /// The user stops the run: queries that were due but not sent are interrupted, outstanding ones are waited for. A
    /// long backlog takes several passes.
    fn stop_sending(&mut self, now_ns: u64) {
        let Worker { transport, pace, sending, pairing, .. } = self;
        self.interrupted |= !pace.is_exhausted() || pairing.groups.waiting() > 0;
        for _ in 0..GIVEN_UP_AT_ONCE {
            if let Some(next) = pairing.queries.upcoming(now_ns, false) {
                pace.set_upcoming(next);
            }
            let Some(due) = pace.take_for_stop(now_ns) else { break };
            // In a mix, the member of this query has not been drawn yet.
            let mut member = if pairing.groups.members() > 1 { transport.next_member() } else { 0 };
            if !matches!(pairing.queries, Supply::Whole(_)) {
                let (query, of_client) = pairing.queries.take_next();
                member = of_client.unwrap_or(member);
                pairing.queries.release(query);
            }
            pairing.ledger.scheduled(due.intended_ns, member);
            pairing.ledger.interrupted(due.intended_ns, member);
        }
        pairing.interrupt_waiting(|group| !group.is_fallback);
        sending.send_waiting(transport, pace, pairing, now_ns, |group| group.is_fallback);
    }

    /// The user ends the run at once: outstanding and waiting queries are interrupted. Queries that were due but not
    /// scheduled are not counted.
    fn end_now(&mut self) {
        self.interrupted |= !self.pace.is_exhausted() || self.pairing.outstanding() > 0;
        self.pace.close();
        self.pairing.interrupt_all();
    }

    /// Waits until there is something to do.
    fn wait(&mut self) {
        let Worker { transport, pace, sending, pairing, .. } = self;
        let now_ns = transport.now_ns();
        if let Supply::Clients(clients) = &mut pairing.queries {
            // A response may have made a query due.
            pace.set_upcoming(clients.upcoming(now_ns));
        }
        let mut until_ns = pairing.ledger.wall_end_ns().min(now_ns + CONTROL_NS);
        let mut wake = Wake::ON_ARRIVAL;
        if let Some(expiry_ns) = pairing.table.next_expiry_ns() {
            until_ns = until_ns.min(expiry_ns + SLEPT_THROUGH_NS);
        }
        until_ns = until_ns.min(sending.next_attempt_ns(pairing, now_ns));
        if now_ns < sending.paused_until_ns {
            until_ns = until_ns.min(sending.paused_until_ns);
        } else if pairing.groups.takes_next() {
            let outstanding = pairing.outstanding();
            if let Some(due_ns) = pace.next_due_ns(now_ns, outstanding) {
                let is_timed = pace.is_open() && !pace.is_full(outstanding);
                let send_ns =
                    if is_timed { sending.batched_send_ns(due_ns, transport.oversleep_ns()) } else { due_ns };
                // What a client asks next may depend on a response that is waiting.
                let may_sleep = is_timed && !matches!(pairing.queries, Supply::Clients(_));
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

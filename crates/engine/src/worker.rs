//! One worker: the same few lines for every transport.
//!
//! ```text
//!  schedule what is due ──► send it ──► receive ──► pair, count ──► send again ──► expire ──► settle
//!        ▲                                                                                      │
//!        └───────────────── wait until something is due, is received, or expires ◄──────────────┘
//! ```
//!
//! Nothing in the loop takes a lock, writes a log or, once it has run for a timeout, asks for
//! memory.

use dnsdyno_transport::{Transport, Wake};

use crate::control::{Asked, Signals};
use crate::ledger::Closing;
use crate::pace::Pace;
use crate::pairing::{Pairing, UNMEASURED};
use crate::sending::{GIVEN_UP_AT_ONCE, Sending};

/// A worker with its transport, its slice of the load and its queries.
pub(crate) struct Worker<'a, T> {
    transport: T,
    pace: Pace,
    sending: Sending,
    pairing: Pairing<'a>,
    signals: Signals<'a>,
    interrupted: bool,
    /// When the last of its queries had been scheduled.
    exhausted_ns: Option<u64>,
}

impl<'a, T: Transport> Worker<'a, T> {
    pub(crate) fn new(
        transport: T,
        pace: Pace,
        sending: Sending,
        pairing: Pairing<'a>,
        signals: Signals<'a>,
    ) -> Self {
        Worker { transport, pace, sending, pairing, signals, interrupted: false, exhausted_ns: None }
    }

    /// Does the worker's part of the run, and closes its ledger. Gives the transport back: responses
    /// for other workers may still be received over it.
    pub(crate) fn run(mut self) -> T {
        loop {
            let Worker { transport, pace, sending, pairing, signals, .. } = &mut self;
            let now_ns = transport.now_ns();
            pairing.roll(now_ns, || transport.resources());
            match signals.asked() {
                Asked::Nothing => sending.send_due(transport, pace, pairing, now_ns),
                Asked::StopSending => self.stop_sending(now_ns),
                Asked::EndNow => {
                    self.end_now();
                    break;
                }
            }
            let Worker { transport, pace, sending, pairing, exhausted_ns, .. } = &mut self;
            transport.receive(pairing);
            if T::CONNECTS {
                sending.send_again(transport, pace, pairing);
            }
            // What was received in time may not have been read yet, and counts as received then.
            let expired_ns = transport.now_ns().saturating_sub(SLEPT_THROUGH_NS);
            pairing.expire(expired_ns, |channel| transport.expired(channel));
            pairing.ledger.settle(pace.scheduled_up_to_ns(now_ns));
            if pace.is_exhausted() {
                exhausted_ns.get_or_insert(now_ns);
                if pairing.outstanding() == 0 || (UNMEASURED && pairing.groups.waiting() == 0) {
                    break;
                }
            }
            self.rest();
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
        let closing = Closing {
            end_ns,
            exhausted_ns: self.exhausted_ns.unwrap_or(end_ns),
            id_waits: self.sending.id_waits,
            connection_waits: self.sending.connection_waits,
            interrupted: self.interrupted,
            ..Closing::default()
        };
        self.pairing.ledger.close(resources, closing);
        self.transport
    }

    /// Obeys the user: what was due and has not been sent is interrupted, what is outstanding is waited
    /// for. A long backlog takes several turns.
    fn stop_sending(&mut self, now_ns: u64) {
        let Worker { transport, pace, sending, pairing, .. } = self;
        self.interrupted |= !pace.is_exhausted() || pairing.groups.waiting() > 0;
        for _ in 0..GIVEN_UP_AT_ONCE {
            let Some(due) = pace.take_for_stop(now_ns) else { break };
            // It has not been drawn yet whose it would have been, in a mix.
            let member = if pairing.groups.members() > 1 { transport.next_member() } else { 0 };
            pairing.ledger.scheduled(due.intended_ns, member);
            pairing.ledger.interrupted(due.intended_ns, member);
        }
        pairing.interrupt_waiting(|group| !group.is_fallback);
        sending.serve_all(transport, pace, pairing, now_ns, |group| group.is_fallback);
    }

    /// Obeys the user who will not wait: what is outstanding or waits is interrupted. What was due
    /// and had not been scheduled counts as never scheduled.
    fn end_now(&mut self) {
        self.interrupted |= !self.pace.is_exhausted() || self.pairing.outstanding() > 0;
        self.pace.close();
        self.pairing.interrupt_all();
    }

    /// Waits for the next thing to do.
    fn rest(&mut self) {
        let Worker { transport, pace, sending, pairing, .. } = self;
        let now_ns = transport.now_ns();
        let mut until_ns = pairing.ledger.wall_end_ns().min(now_ns + CONTROL_NS);
        let mut wake = Wake::OnArrival;
        if let Some(expiry_ns) = pairing.table.next_expiry_ns() {
            until_ns = until_ns.min(expiry_ns + SLEPT_THROUGH_NS);
        }
        until_ns = until_ns.min(sending.looks_again_ns(pairing, now_ns));
        if now_ns < sending.paused_until_ns {
            until_ns = until_ns.min(sending.paused_until_ns);
        } else if pairing.groups.takes_next() {
            let outstanding = pairing.outstanding();
            if let Some(due_ns) = pace.next_due_ns(now_ns, outstanding) {
                let is_timed = pace.is_open() && !pace.is_full(outstanding);
                let send_ns = if is_timed {
                    sending.joined_with_next(due_ns, transport.oversleep_ns())
                } else {
                    due_ns
                };
                until_ns = until_ns.min(send_ns);
                if is_timed && send_ns <= now_ns + SLEPT_THROUGH_NS {
                    wake = if send_ns == due_ns { Wake::AtTime } else { Wake::AboutTime };
                }
            }
        }
        if until_ns > now_ns {
            transport.wait(until_ns, wake);
        }
    }
}

/// Responses may wait in the kernel, which notes when they were received, if the next query is sent this soon.
const SLEPT_THROUGH_NS: u64 = 1_000_000;

/// How long a user's wish may go unnoticed while nothing happens.
const CONTROL_NS: u64 = 50_000_000;

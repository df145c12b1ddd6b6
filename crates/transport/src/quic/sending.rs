//! Sending: the packets of all connections, with a system call for each socket; and the timers of
//! connections.

use std::time::Instant;

use dnsdyno_measure::NotSentReason;

use super::client::{Acknowledgements, Phase};
use super::connection::Protocol;
use super::state::QuicTransport;
use super::timers::Entry;
use super::words;
use crate::NeverSent;

impl<P: Protocol> QuicTransport<P> {
    /// Forgets a query that has waited for a stream until its timeout; `None` where it was sent.
    pub(super) fn forget_waiting(&mut self, channel: usize, id: u16) -> Option<NeverSent> {
        let client = &mut self.clients[channel];
        let bytes = client.forget_waiting(id);
        let has_had_streams = client.connection.as_ref().is_some_and(|open| open.has_had_streams());
        self.enqueue(channel);
        let why = NotSentReason::NoStream;
        let bytes = bytes?;
        self.explained.not_sent(why, || words::of_no_stream(has_had_streams));
        Some(NeverSent { why, bytes })
    }

    /// Sends all packets of the connections, as far as the kernel accepts them.
    pub(super) fn flush(&mut self) {
        for sending in self.sockets.iter_mut().filter(|sending| sending.is_full) {
            sending.send(&mut self.sender);
        }
        let now = self.instant();
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|channel| {
            let has_more = self.take_packets(*channel as usize, now);
            self.clients[*channel as usize].is_touched = has_more;
            has_more
        });
        self.touched = touched;
        for sending in
            self.sockets.iter_mut().filter(|sending| !sending.outbox.is_empty() && !sending.is_full)
        {
            sending.send(&mut self.sender);
        }
    }

    /// Takes the packets of one connection, and sets its timer; true where it may have more.
    fn take_packets(&mut self, channel: usize, now: Instant) -> bool {
        let client = &mut self.clients[channel];
        let Some(connection) = &mut client.connection else { return false };
        let socket = channel % self.sockets.len();
        let sending = &mut self.sockets[socket];
        if sending.is_full {
            return true;
        }
        if client.acknowledgements.may_wait(self.clock.now_ns(), client.phase == Phase::Open) {
            self.set_next_timer(channel);
            return false;
        }
        let has_more = sending.outbox.take_packets(&mut connection.quic, now);
        client.acknowledgements = Acknowledgements::default();
        while let Some(event) = connection.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(connection.handle, event) {
                connection.quic.handle_event(event);
            }
        }
        self.set_next_timer(channel);
        has_more
    }

    /// Sets the timer of a connection: for QUIC, for delayed acknowledgements, or for its own end.
    fn set_next_timer(&mut self, channel: usize) {
        let client = &mut self.clients[channel];
        let Some(connection) = &mut client.connection else { return };
        let quic = connection.quic.poll_timeout();
        let ours = [client.lingers_until_ns, client.acknowledgements.wait_until_ns];
        let due_ns = quic.map(|at| self.ns_of(at)).into_iter().chain(ours.into_iter().flatten()).min();
        let client = &mut self.clients[channel];
        let (Some(connection), Some(due_ns)) = (&mut client.connection, due_ns) else { return };
        // Timers move a little with each packet; without rounding each move would be a new entry.
        let due_ns = due_ns | (GRAIN_NS - 1);
        if connection.timer_ns.is_none_or(|known_ns| known_ns > due_ns) {
            connection.timer_ns = Some(due_ns);
            self.timers.add(Entry { due_ns, channel: channel as u32, generation: client.generation });
        }
    }

    /// Processes every connection whose timer is due.
    pub(super) fn do_due(&mut self) {
        let now_ns = self.clock.now_ns();
        while let Some(Entry { due_ns, channel, generation }) = self.timers.pop_due(now_ns) {
            let channel = channel as usize;
            let now = self.instant();
            let client = &mut self.clients[channel];
            let Some(connection) = &mut client.connection else { continue };
            // A timer that was set anew has another entry.
            if client.generation != generation || connection.timer_ns != Some(due_ns) {
                continue;
            }
            connection.timer_ns = None;
            if connection.quic.poll_timeout().is_some_and(|at| at <= now) {
                connection.quic.handle_timeout(now);
            }
            self.touch(channel);
        }
    }
}

/// Timers are rounded up to a multiple of this power of two: a quarter of the millisecond that is the
/// timer granularity of QUIC (RFC 9002, 6.1.2).
const GRAIN_NS: u64 = 1 << 18;

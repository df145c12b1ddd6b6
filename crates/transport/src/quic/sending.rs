//! What leaves: the packets of all connections, a call for each socket; and when a connection goes on by
//! the clock.

use std::time::Instant;

use super::client::{Acknowledgements, Phase};
use super::state::QuicTransport;
use super::timers::Entry;

impl QuicTransport {
    /// Gives the kernel all packets that connections have to send, as far as it takes them.
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

    /// Sees that the connection gets its turn when QUIC wants it, or when we do.
    fn set_next_timer(&mut self, channel: usize) {
        let client = &mut self.clients[channel];
        let Some(connection) = &mut client.connection else { return };
        let quic = connection.quic.poll_timeout();
        let ours = [client.lingers_until_ns, client.acknowledgements.wait_until_ns];
        let due_ns = quic.map(|at| self.ns_of(at)).into_iter().chain(ours.into_iter().flatten()).min();
        let client = &mut self.clients[channel];
        let (Some(connection), Some(due_ns)) = (&mut client.connection, due_ns) else { return };
        // Timers move a little with each packet; without grains each move would be an entry.
        let due_ns = due_ns | (GRAIN_NS - 1);
        if connection.timer_ns.is_none_or(|known_ns| known_ns > due_ns) {
            connection.timer_ns = Some(due_ns);
            self.timers.add(Entry { due_ns, channel: channel as u32, generation: client.generation });
        }
    }

    /// Has every connection go on whose timer is due.
    pub(super) fn do_due(&mut self) {
        let now_ns = self.clock.now_ns();
        while let Some(Entry { due_ns, channel, generation }) = self.timers.pop_due(now_ns) {
            let channel = channel as usize;
            let now = self.instant();
            let client = &mut self.clients[channel];
            let Some(connection) = &mut client.connection else { continue };
            // One that was entered anew meanwhile has an entry of its own.
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

/// To what timers are rounded up: a power of two, a quarter of the millisecond that QUIC reckons with
/// (RFC 9002, 6.1.2).
const GRAIN_NS: u64 = 1 << 18;

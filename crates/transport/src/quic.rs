//! DNS over QUIC (RFC 9250) and over HTTP/3 (RFC 8484, RFC 9114): clients with one QUIC connection each, a stream for
//! each query, responses in any order, none of which waits for another.
//!
//! ```text
//!   send ──► streams ──► QUIC ──► packets of all clients ──► sendmmsg ──► a few sockets
//!                         │ ▲                                                  │
//!   sink ◄── streams ◄────┘ └─ timers      the client's, by connection ID ◄── recvmmsg
//! ```
//!
//! `quinn-proto` makes and reads packets and says when it wants to be called again; sockets and clocks
//! are ours, and there is no async runtime. A worker has one endpoint and up to 64 sockets, all connected
//! to the server; the connection ID shows which client a packet is for. Packets are taken from the
//! connections at the next receiving or waiting, not at each sending, so that acknowledgements travel
//! with queries and one system call carries what several clients send.
//!
//! What is on a stream is a `Protocol`, for each of which all of this is compiled: a message behind its length (`doq`),
//! or frames of HTTP/3 (`doh3`).
//!
//! Of ours nothing allocates memory for a query or a packet over a kept connection; `quinn-proto` itself
//! allocates about three times for each stream (`tests/quic_allocations.rs`).

mod client;
mod close;
mod close_reason;
mod config;
mod connection;
mod doh3;
mod doq;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod handshake;
mod open;
mod outbox;
mod peer;
mod receiving;
mod reporting;
mod sending;
mod state;
mod timers;
mod words;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, Explanation, HandshakeFailure, NotSentReason};
use dnsdyno_sys::socket;

use crate::mixed::InMix;
use crate::queued::capacity_of_next;
use crate::{Batch, Expired, NextClient, Peer, Resources, Sent, Sink, Stopped, Transport, Wake};
use client::{Phase, Waiting};
pub use config::QuicOpenError;
use connection::Protocol;
use doh3::Doh3;
use doq::Doq;
use receiving::keep_ready;
pub use state::QuicTransport;

/// Clients of DNS over QUIC.
pub type DoqTransport = QuicTransport<Doq>;

/// Clients of DNS over HTTP/3.
pub type Doh3Transport = QuicTransport<Doh3>;

impl<P: Protocol> Transport for QuicTransport<P> {
    const CONNECTS: bool = true;

    fn begin(&mut self, epoch_ns: u64) {
        self.clock.begin(epoch_ns);
        self.epoch = (Instant::now(), self.clock.now_ns());
    }

    fn channels(&self) -> usize {
        self.clients.len()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn next_client(&mut self) -> Result<NextClient, NotSentReason> {
        while let Some(channel) = self.queue.front().map(|channel| *channel as usize) {
            let client = &mut self.clients[channel];
            if client.can_send(self.limit) {
                let (is_new, capacity) =
                    (client.phase == Phase::Vacant, (self.limit - client.queries) as usize);
                let capacity = capacity_of_next(is_new, self.queue.len(), capacity);
                return Ok(NextClient { channel, capacity });
            }
            client.is_queued = false;
            self.blocked_by = client.blocked_by();
            self.queue.pop_front();
        }
        Err(self.blocked_by)
    }

    fn pass(&mut self, channel: usize) {
        self.move_to_back(channel);
    }

    fn most_outstanding(&self) -> Option<u32> {
        (self.limit < u32::MAX).then_some(self.limit)
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        let now_ns = self.clock.now_ns();
        // Queries that must use this client wait for its next connection.
        if self.clients[channel].closing.is_some() || self.clients[channel].queries >= self.limit {
            return Sent { accepted: 0, stopped: Some(Stopped::Later(NotSentReason::NoFreeConnection)) };
        }
        if self.clients[channel].phase == Phase::Vacant
            && let Err(stopped) = self.begin_connection(channel, now_ns)
        {
            return Sent { accepted: 0, stopped: Some(stopped) };
        }
        P::frame(&mut self.shared, batch, &mut self.framed, &mut self.outgoing);
        let count = batch.len() as u32;
        let client = &mut self.clients[channel];
        if client.phase == Phase::Open {
            self.reused += u64::from(count - u32::from(client.queries == 0));
        }
        client.queries = client.queries.saturating_add(count);
        if client.outstanding == 0 {
            client.note_asked(now_ns);
        }
        client.outstanding += count;
        for framed in self.framed.drain(..) {
            let result = match &mut client.connection {
                // Queries that wait already are sent first.
                Some(connection) if client.waiting.is_empty() => connection.open_stream(framed, now_ns),
                _ => Err(framed),
            };
            if let Err(framed) = result {
                client.waiting.push_back(Waiting { was_sent: false, framed });
            }
        }
        self.touch(channel);
        self.move_to_back(channel);
        Sent { accepted: batch.len(), stopped: None }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        self.sweep();
        self.do_due();
        self.progress_touched(sink);
        self.flush();
        self.report(sink);
        if !self.has_waited {
            keep_ready(&mut self.poller, 0, &mut self.ready);
        }
        self.has_waited = false;
        let mut ready = std::mem::take(&mut self.ready);
        for socket in ready.drain(..) {
            self.receive_from(socket as usize);
        }
        self.ready = ready;
        self.progress_touched(sink);
        for socket in 0..self.sockets.len() {
            if self.sockets[socket].has_error {
                self.take_refusals(socket);
            }
        }
        self.report(sink);
    }

    fn wait(&mut self, until_ns: u64, wake: Wake) {
        self.flush();
        if !self.news.is_empty() || !self.failed.is_empty() {
            return;
        }
        let turn_ns = self.next_turn_ns().unwrap_or(u64::MAX);
        let exactly = wake.exactly && until_ns <= turn_ns;
        let QuicTransport { clock, poller, ready, has_waited, .. } = self;
        clock.wait_until_ns(until_ns.min(turn_ns), exactly, |timeout_ns| {
            *has_waited = true;
            keep_ready(poller, timeout_ns, ready)
        });
    }

    fn oversleep_ns(&self) -> u64 {
        self.clock.oversleep_ns()
    }

    fn expired(&mut self, channel: usize, id: u16) -> Expired {
        let has_waited = self.clients[channel].has_sent_nothing();
        let waited = if has_waited { Expired::Waited } else { Expired::Sent };
        let expired = self.forget_waiting(channel, id).map_or(waited, Expired::NeverSent);
        let now_ns = self.now_ns();
        let client = &mut self.clients[channel];
        client.outstanding = client.outstanding.saturating_sub(1);
        let is_spent = client.is_spent(self.limit);
        if client.phase == Phase::Opening && is_spent {
            // No query waits for it any more.
            self.fail(channel, ConnectFailure::TimedOut, Some(HandshakeFailure::TimedOut));
            return expired;
        }
        if client.phase != Phase::Open {
            return expired;
        }
        if now_ns.saturating_sub(client.quiet_since_ns()) >= SILENT_TIMEOUTS * self.config.timeout_ns {
            self.end(channel, ConnectionEnd::Silent, Some(P::NO_ERROR));
        } else if is_spent {
            let end = client.spent_end();
            self.end(channel, end, Some(P::NO_ERROR));
        }
        expired
    }

    fn explanations(&mut self) -> Vec<Explanation> {
        self.explained.take()
    }

    fn peer(&self) -> Option<Peer> {
        self.peer.clone()
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        for channel in 0..self.clients.len() {
            match self.clients[channel].phase {
                Phase::Opening => {
                    self.fail(channel, ConnectFailure::Abandoned, Some(HandshakeFailure::Abandoned));
                }
                Phase::Open => self.end(channel, ConnectionEnd::ByUs, Some(P::NO_ERROR)),
                Phase::Vacant | Phase::Ending => {}
            }
        }
        self.flush();
        self.report(sink);
    }

    fn resources(&mut self) -> Resources {
        let used = self.clock.used();
        let socket_drops =
            self.sockets.iter().map(|sending| socket::drops(&sending.socket).unwrap_or(0)).sum();
        Resources { cpu_ns: used.cpu_ns, cpu_wait_ns: used.cpu_wait_ns, socket_drops, fragments: 0 }
    }
}

impl<P: Protocol> InMix for QuicTransport<P> {
    fn events(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }

    fn has_more(&self) -> bool {
        !self.news.is_empty() || !self.failed.is_empty()
    }

    fn before_wait(&mut self) -> Option<u64> {
        self.flush();
        self.next_turn_ns()
    }

    fn note_quiet(&mut self) {
        self.has_waited = true;
    }
}

/// A connection is closed when nothing was received over it for twice the timeout, without the time in which nothing
/// was asked: not after one timeout, because late responses are counted.
const SILENT_TIMEOUTS: u64 = 2;

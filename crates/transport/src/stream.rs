//! Transports over TCP: clients with one connection each, any number of outstanding queries, responses in
//! any order. The [`Session`] knows how a message looks on the connection: TCP itself (RFC 7766), TLS
//! (RFC 7858), or HTTP/2 over TLS (RFC 8484).
//!
//! ```text
//!   queue: client 7, client 2, client 9 ...     which client sends next
//!   client ── session ── outbox ──► connection ──► session ── whole messages ──► sink
//! ```
//!
//! A channel is a client, not a connection: connections follow one another on it while its message IDs
//! continue, so a query keeps its slot, its timeout and its ID when it is retried on the next connection.
//! A client opens a connection when it has a query to send and none is open; until it is established its
//! queries wait in the outbox. Queries on a lost connection are not retried here: the sink is informed,
//! and the engine decides.

mod client;
mod config;
mod connecting;
mod dial;
mod doh;
mod dot;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod http;
mod open;
mod plain;
mod pool;
mod ports;
mod reading;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod tls_session;

use std::os::fd::{AsFd, BorrowedFd};

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, Explanation, HandshakeFailure, NotSentReason};
use dnsdyno_sys::poll::Ready;

use crate::mixed::InMix;
use crate::queued::capacity_of_next;
use crate::{
    Batch, ConnectionEvent, Expired, NextClient, Peer, Resources, Sent, Sink, Stopped, Transport, Wake,
};
use client::{Phase, write};
pub use config::StreamOpenError;
pub(crate) use config::usable_addresses;
use doh::Doh;
pub use doh::DohSetup;
use dot::Dot;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use dot::fuzzing as dot_fuzzing;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use http::fuzzing as http_fuzzing;
use plain::Plain;
use session::Reader;
pub use session::Session;
pub use state::Streams;
use state::keep_ready;

/// Clients over TCP.
pub type TcpTransport = Streams<Plain>;

/// Clients over TLS.
pub type DotTransport = Streams<Dot>;

/// Clients over HTTP/2 over TLS.
pub type DohTransport = Streams<Doh>;

impl<S: Session> Streams<S> {
    fn serve(&mut self, ready: Ready, sink: &mut impl Sink) {
        let (channel, generation) =
            ((ready.token & u64::from(u32::MAX)) as usize, (ready.token >> 32) as u32);
        let client = &self.clients[channel];
        if client.generation != generation {
            return;
        }
        if client.phase == Phase::Opening {
            self.finish_opening(channel, ready);
        }
        if self.clients[channel].phase == Phase::Open && ready.writable && self.clients[channel].waiting() > 0
        {
            self.flush(channel);
        }
        if self.clients[channel].phase == Phase::Open && (ready.readable || ready.closing) {
            self.read(channel, ready.closing, sink);
        }
    }

    /// Closes connections that took too long to open, and those that were idle for too long.
    fn sweep(&mut self, sink: &mut impl Sink) {
        let now_ns = self.clock.now_ns();
        if now_ns < self.next_sweep_ns {
            return;
        }
        self.next_sweep_ns = now_ns + self.sweep_ns;
        if S::NEEDS_TIME {
            self.cancel_old_streams(now_ns, sink);
        }
        let idle_ns = self.idle_timeout_ns.unwrap_or(u64::MAX);
        let opening_ns = self.timeout_ns + OPENING_GRACE_NS;
        for channel in 0..self.clients.len() {
            let client = &self.clients[channel];
            let since = |instant_ns: u64| now_ns.saturating_sub(instant_ns);
            if client.phase == Phase::Opening && since(client.opened_ns) >= opening_ns {
                self.end_connection(channel, ConnectionEvent::Failed(ConnectFailure::TimedOut));
            } else if client.is_handshaking() {
                if since(client.established_ns) >= self.handshake_timeout_ns {
                    self.fail_handshake(channel, HandshakeFailure::TimedOut);
                }
            } else if client.is_idle() && since(client.read_ns.max(client.since_ns)) >= idle_ns {
                self.end_open(channel, ConnectionEnd::ByUs);
            }
        }
    }

    /// Cancels the streams of queries that have timed out so long ago that a response is not even
    /// counted as late.
    fn cancel_old_streams(&mut self, now_ns: u64, sink: &mut impl Sink) {
        let sent_ns = now_ns.saturating_sub(SILENT_TIMEOUTS * self.timeout_ns);
        for channel in 0..self.clients.len() {
            let client = &mut self.clients[channel];
            let Some(session) = &mut client.session else { continue };
            let times = (client.since_ns, client.established_ns);
            let mut reader = Reader::new(sink, &mut self.news, channel, now_ns, times);
            self.frames.clear();
            session.cancel_before(&mut self.shared, &mut self.pool, sent_ns, &mut self.frames, &mut reader);
            if !self.frames.is_empty() {
                self.write_frames(channel);
                self.after_reading(channel);
            }
        }
    }
}

impl<S: Session> Transport for Streams<S> {
    const CONNECTS: bool = true;

    fn begin(&mut self, epoch_ns: u64) {
        self.clock.begin(epoch_ns);
    }

    fn channels(&self) -> usize {
        self.clients.len()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn next_client(&mut self) -> Result<NextClient, NotSentReason> {
        let mut without_port = 0;
        while let Some(channel) = self.queue.front().map(|channel| *channel as usize) {
            let client = &mut self.clients[channel];
            let capacity = client.capacity(self.limit);
            if capacity == 0 {
                self.queue.pop_front();
                self.clients[channel].is_queued = false;
                self.note_blocked(channel);
            } else if client.phase == Phase::Vacant
                && self.no_port_until_ns > 0
                && self.no_port_until_ns > self.clock.now_ns()
            {
                // Another client may have an open connection.
                without_port += 1;
                if without_port > LINE_LOOKED_AT.min(self.queue.len()) {
                    return Err(NotSentReason::NoLocalPort);
                }
                self.queue.rotate_left(1);
            } else {
                let is_new = client.phase == Phase::Vacant;
                let capacity = capacity_of_next(is_new, self.queue.len(), capacity);
                return Ok(NextClient { channel, capacity });
            }
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
        let is_new = self.clients[channel].phase == Phase::Vacant;
        if self.clients[channel].is_broken || self.clients[channel].queries >= self.limit {
            return Sent { accepted: 0, stopped: Some(Stopped::Later(NotSentReason::NoFreeConnection)) };
        }
        self.frames.clear();
        if is_new && let Err(stopped) = self.begin_connection(channel) {
            return Sent { accepted: 0, stopped: Some(stopped) };
        }
        let now_ns = if is_new || S::NEEDS_TIME { self.clock.now_ns() } else { 0 };
        let client = &mut self.clients[channel];
        let count = client
            .session
            .as_mut()
            .map(|session| session.encode(&mut self.shared, batch, now_ns, &mut self.frames));
        // Without a session the connection is lost already, and the queries with it; they are
        // reported as such.
        let count = count.unwrap_or(batch.len()) as u32;
        if client.phase == Phase::Open {
            self.reused += u64::from(count - u32::from(client.queries == 0 && count > 0));
        }
        client.queries = client.queries.saturating_add(count);
        if client.outstanding == 0 && !is_new {
            client.note_asked(self.clock.now_ns());
        }
        client.outstanding += count;
        let may_write = client.phase == Phase::Open || (is_new && client.phase == Phase::Opening);
        let mut written = Ok(0);
        if may_write && client.outbox.is_empty() && !self.frames.is_empty() {
            written = client.stream.as_ref().map_or(Ok(0), |stream| write(stream, &self.frames));
        }
        match written {
            Ok(length) => {
                if length < self.frames.len() {
                    client.queue(&self.frames[length..], &mut self.pool);
                }
                // A connection to this host is established when the call that started it
                // returns.
                if length > 0 && client.phase == Phase::Opening && !self.fast_open {
                    self.establish(channel, now_ns);
                }
            }
            Err(error) => self.fail_on_write(channel, &error),
        }
        if is_new {
            self.watch(channel);
        }
        self.move_to_back(channel);
        let is_short = (count as usize) < batch.len();
        let blocked_by =
            || self.clients[channel].session.as_ref().map_or(self.blocked_by, Session::blocked_by);
        let stopped = is_short.then(|| Stopped::Later(blocked_by()));
        Sent { accepted: count as usize, stopped }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        self.sweep(sink);
        self.report(sink);
        self.read_left_over(sink);
        if !self.has_waited {
            keep_ready(&mut self.poller, 0, &mut self.ready);
        }
        self.has_waited = false;
        for i in 0..self.ready.len() {
            self.serve(self.ready[i], sink);
        }
        self.ready.clear();
        self.report(sink);
    }

    fn wait(&mut self, until_ns: u64, wake: Wake) {
        if !self.news.is_empty() || !self.unread.is_empty() {
            return;
        }
        let Streams { clock, poller, ready, has_waited, .. } = self;
        clock.wait_until_ns(until_ns, wake.exactly, |timeout_ns| {
            *has_waited = true;
            keep_ready(poller, timeout_ns, ready)
        });
    }

    fn oversleep_ns(&self) -> u64 {
        self.clock.oversleep_ns()
    }

    fn expired(&mut self, channel: usize, _id: u16) -> Expired {
        let now_ns = self.now_ns();
        // One that waits leaves once the connection is open, although it has timed out: only its end decides.
        let has_sent_nothing = self.has_sent_nothing(channel);
        let client = &mut self.clients[channel];
        client.outstanding = client.outstanding.saturating_sub(1);
        let (is_spent, drained) = (client.is_spent(self.limit), client.drained());
        if client.phase == Phase::Opening && is_spent {
            // No query waits for it any more.
            self.end_connection(channel, ConnectionEvent::Failed(ConnectFailure::TimedOut));
        } else if client.phase == Phase::Open {
            let quiet_ns = now_ns.saturating_sub(client.quiet_since_ns());
            if quiet_ns >= SILENT_TIMEOUTS * self.timeout_ns {
                self.end_open(channel, ConnectionEnd::Silent);
            } else if is_spent {
                self.end_open(channel, ConnectionEnd::ByUs);
            } else if let Some(end) = drained {
                self.end_open(channel, end);
            }
        }
        let has_ended = self.clients[channel].phase == Phase::Ending;
        if has_sent_nothing && has_ended { Expired::Waited } else { Expired::Sent }
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        for channel in 0..self.clients.len() {
            match self.clients[channel].phase {
                Phase::Opening => {
                    self.end_connection(channel, ConnectionEvent::Failed(ConnectFailure::Abandoned))
                }
                Phase::Open if self.clients[channel].is_handshaking() => {
                    self.fail_handshake(channel, HandshakeFailure::Abandoned);
                }
                Phase::Open => self.end_open(channel, ConnectionEnd::ByUs),
                Phase::Vacant | Phase::Ending => {}
            }
        }
        self.report(sink);
    }

    fn explanations(&mut self) -> Vec<Explanation> {
        S::explanations(&mut self.shared)
    }

    fn peer(&self) -> Option<Peer> {
        S::peer(&self.shared)
    }

    fn resources(&mut self) -> Resources {
        let used = self.clock.used();
        Resources { cpu_ns: used.cpu_ns, cpu_wait_ns: used.cpu_wait_ns, ..Resources::default() }
    }
}

impl<S: Session> InMix for Streams<S> {
    fn events(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }

    /// That a connection was established may be reported later; the end of one frees its client.
    fn has_more(&self) -> bool {
        let is_over = |news: &ConnectionEvent| {
            !matches!(news, ConnectionEvent::Opened | ConnectionEvent::Established { .. })
        };
        self.news.iter().any(|(_, _, news)| is_over(news)) || !self.unread.is_empty()
    }

    fn note_quiet(&mut self) {
        self.has_waited = true;
    }
}

/// Clients that are examined for one with a connection while no local port is free.
const LINE_LOOKED_AT: usize = 64;

/// The queries on a connection time out before its opening does; otherwise they would be retried for the
/// rest of a millisecond.
const OPENING_GRACE_NS: u64 = 5_000_000;

/// A connection is closed when nothing was received over it for twice the timeout, without the time in which nothing
/// was asked: not after one timeout, because late responses are counted.
const SILENT_TIMEOUTS: u64 = 2;

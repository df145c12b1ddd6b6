//! How a client's connection ends: closed by the server or by us, or timed out.

use std::time::Duration;

use bytes::Bytes;
use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HandshakeFailure, StreamFailure};
use quinn_proto::{EndpointEvent, VarInt};

use super::client::Phase;
use super::connection::{Protocol, StreamQuery};
use super::state::QuicTransport;
use super::words;
use crate::ConnectionEvent;

impl<P: Protocol> QuicTransport<P> {
    /// Takes a connection out of use, and keeps the event for the sink. With a `code` the server is
    /// sent a CONNECTION_CLOSE.
    ///
    /// The connection is dropped once its last packet is made, instead of being drained for three
    /// probe timeouts. Packets that arrive for it later are ignored, and get no stateless reset.
    fn end_connection(&mut self, channel: usize, event: ConnectionEvent, code: Option<VarInt>) {
        let now = self.instant();
        let client = &mut self.clients[channel];
        if matches!(client.phase, Phase::Vacant | Phase::Ending) {
            return;
        }
        let has_sent_nothing = client.queries > 0 && client.has_sent_nothing();
        client.phase = Phase::Ending;
        if let Some(mut connection) = client.connection.take() {
            connection.release(&mut self.unfinished);
            if let Some(code) = code {
                let socket = channel % self.sockets.len();
                let outbox = &mut self.sockets[socket].outbox;
                if client.awaits_ticket {
                    // The server has to receive our part of the handshake, too.
                    outbox.take_packets(&mut connection.quic, now);
                }
                connection.quic.close(now, code, Bytes::new());
                outbox.take_packets(&mut connection.quic, now);
            }
            self.endpoint.handle_event(connection.handle, EndpointEvent::drained());
        }
        let now_ns = self.clock.now_ns();
        if has_sent_nothing {
            self.news.push((channel as u32, now_ns, ConnectionEvent::NothingSent));
        }
        self.news.push((channel as u32, now_ns, event));
    }

    /// Ends a handshake that failed.
    pub(super) fn fail(&mut self, channel: usize, why: ConnectFailure, handshake: Option<HandshakeFailure>) {
        if self.clients[channel].phase != Phase::Opening {
            return;
        }
        if let Some(handshake) = handshake {
            if handshake == HandshakeFailure::TimedOut {
                let quic = self.clients[channel].connection.as_ref().map(|open| &open.quic);
                let has_read = quic.is_some_and(|quic| quic.stats().udp_rx.datagrams > 0);
                self.explained.handshake(handshake, || words::of_timeout(has_read));
            }
            let now_ns = self.clock.now_ns();
            self.news.push((channel as u32, now_ns, ConnectionEvent::HandshakeFailed(handshake)));
        }
        let is_ours = matches!(handshake, Some(HandshakeFailure::TimedOut | HandshakeFailure::Abandoned));
        self.end_connection(channel, ConnectionEvent::Failed(why), is_ours.then_some(P::NO_ERROR));
    }

    pub(super) fn end(&mut self, channel: usize, end: ConnectionEnd, code: Option<VarInt>) {
        let answers = u64::from(self.clients[channel].answers);
        self.end_connection(channel, ConnectionEvent::Ended { end, answers }, code);
    }

    /// Closes a connection whose queries were all answered. One with early data is kept open for the
    /// session tickets that the server sends after the handshake: without them the next connection
    /// could not send early data.
    pub(super) fn close_complete(&mut self, channel: usize) {
        let now_ns = self.clock.now_ns();
        let client = &mut self.clients[channel];
        match &client.connection {
            Some(connection) if client.awaits_ticket => {
                let patience = (3 * connection.quic.rtt() + LINGER).as_nanos() as u64;
                client.lingers_until_ns = Some(now_ns + patience);
                self.touch(channel);
            }
            _ => {
                let end = client.spent_end();
                self.end(channel, end, Some(P::NO_ERROR));
            }
        }
    }

    /// The server takes no more queries over this connection, and has not processed those of streams from `number` on.
    pub(super) fn go_away(&mut self, channel: usize, number: u64, at_ns: u64) {
        let client = &mut self.clients[channel];
        let Some(connection) = &mut client.connection else { return };
        client.closing = Some(ConnectionEnd::GoneAway);
        let mut lost = connection.cancel_from(number, &mut self.unfinished);
        lost.reverse();
        let unsent = client.waiting.drain(..).map(|waiting| StreamQuery { id: waiting.framed.id, at_ns });
        lost.extend(unsent);
        let why = StreamFailure::GoneAway;
        if !lost.is_empty() {
            self.explained.stream(why, || words::GONE_AWAY.to_owned());
        }
        self.failed.extend(lost.into_iter().map(|query| (channel as u32, query, why)));
        self.touch(channel);
        self.close_if_gone(channel);
    }

    /// Closes a connection over which the server takes no more queries, once none is outstanding.
    pub(super) fn close_if_gone(&mut self, channel: usize) {
        let client = &self.clients[channel];
        if client.closing.is_some() && client.phase == Phase::Open && client.is_spent(self.limit) {
            self.close_complete(channel);
        }
    }

    /// Closes connections that took too long to open or were idle for too long; cancels streams of
    /// queries that have timed out long ago.
    pub(super) fn sweep(&mut self) {
        let now_ns = self.clock.now_ns();
        if now_ns < self.next_sweep_ns {
            return;
        }
        self.next_sweep_ns = now_ns + self.sweep_ns;
        let idle_ns = self.config.idle_timeout_ns.unwrap_or(u64::MAX);
        let given_up_ns = now_ns.saturating_sub(GIVEN_UP_TIMEOUTS * self.config.timeout_ns);
        for channel in 0..self.clients.len() {
            let client = &mut self.clients[channel];
            match client.phase {
                Phase::Opening
                    if now_ns.saturating_sub(client.opened_ns) >= self.config.handshake_timeout_ns =>
                {
                    self.fail(channel, ConnectFailure::TimedOut, Some(HandshakeFailure::TimedOut));
                }
                Phase::Open => {
                    if client.is_idle() && now_ns.saturating_sub(client.quiet_since_ns()) >= idle_ns {
                        self.end(channel, ConnectionEnd::ByUs, Some(P::NO_ERROR));
                        continue;
                    }
                    let Some(connection) = &mut client.connection else { continue };
                    let mut has_given_up = false;
                    while let Some(query) = connection.cancel_oldest(given_up_ns, &mut self.unfinished) {
                        self.failed.push((channel as u32, query, StreamFailure::GivenUp));
                        has_given_up = true;
                    }
                    if has_given_up {
                        self.touch(channel);
                    }
                }
                _ => {}
            }
        }
    }
}

/// How long a connection is kept open for session tickets beyond three round trips: as long as a server
/// may delay an acknowledgement (RFC 9000, 18.2).
const LINGER: Duration = Duration::from_millis(25);

/// A stream without a response is cancelled after so many timeouts, so that a server that allows few
/// streams can be sent further queries.
const GIVEN_UP_TIMEOUTS: u64 = 2;

//! How a client's connection is opened and its handshake ends.

use dnsdyno_measure::{ConnectFailure, HandshakeKind, NotSentReason};

use super::client::{Phase, Waiting};
use super::connection::{Connection, Protocol};
use super::peer::peer_of;
use super::state::QuicTransport;
use crate::{ConnectionEvent, Stopped};

impl<P: Protocol> QuicTransport<P> {
    /// Starts a connection of this client.
    pub(super) fn begin_connection(&mut self, channel: usize, opened_ns: u64) -> Result<(), Stopped> {
        let (config, server) = (self.quic.clone(), self.config.server);
        let now = self.instant();
        let Ok((handle, quic)) = self.endpoint.connect(now, config, server, &self.server_name) else {
            let news = ConnectionEvent::NotOpened(ConnectFailure::OtherError);
            self.news.push((channel as u32, opened_ns, news));
            return Err(Stopped::Failed(NotSentReason::OtherError));
        };
        if self.owners.len() <= handle.0 {
            self.owners.resize(handle.0 + 1, 0);
        }
        self.owners[handle.0] = channel as u32;
        let client = &mut self.clients[channel];
        let may_ask_now = quic.has_0rtt();
        let mut connection = Box::new(Connection::new(quic, handle));
        if may_ask_now {
            connection.begin();
        }
        client.connection = Some(connection);
        client.phase = Phase::Opening;
        (client.opened_ns, client.read_ns) = (opened_ns, opened_ns);
        client.since_ns = if may_ask_now { opened_ns } else { u64::MAX };
        self.news.push((channel as u32, opened_ns, ConnectionEvent::Opened));
        self.touch(channel);
        Ok(())
    }

    /// Handles the end of the handshake of this client's connection.
    pub(super) fn establish(&mut self, channel: usize, at_ns: u64) {
        let client = &mut self.clients[channel];
        let Some(connection) = client.connection.as_mut().filter(|_| client.phase == Phase::Opening) else {
            return;
        };
        self.peer.get_or_insert_with(|| peer_of(&connection.quic));
        let was_early = client.since_ns != u64::MAX;
        let is_taken = connection.quic.accepted_0rtt();
        if is_taken {
            connection.forget_early();
        } else {
            // Before the waiting queries: these were sent first.
            for early in connection.forget_streams(&mut self.unfinished).into_iter().rev() {
                client.waiting.push_front(Waiting { was_sent: true, framed: early });
            }
            connection.begin();
            client.since_ns = at_ns;
        }
        let kind = match (client.verification.is_some(), is_taken) {
            (true, _) => HandshakeKind::Full,
            (false, true) => HandshakeKind::Early,
            (false, false) => HandshakeKind::Resumed,
        };
        client.phase = Phase::Open;
        // Those that waited for it.
        self.reused += u64::from(client.queries.saturating_sub(1));
        client.awaits_ticket = is_taken;
        let opened_ns = client.opened_ns;
        self.news.push((channel as u32, at_ns, ConnectionEvent::Established { opened_ns }));
        let news = ConnectionEvent::Handshaken { kind, begun_ns: opened_ns };
        self.news.push((channel as u32, at_ns, news));
        if was_early && !is_taken {
            self.news.push((channel as u32, at_ns, ConnectionEvent::EarlyRejected));
        }
        // Its queries may have timed out meanwhile.
        if self.clients[channel].is_spent(self.limit) {
            let end = self.clients[channel].spent_end();
            return self.end(channel, end, Some(P::NO_ERROR));
        }
        self.send_waiting(channel);
    }

    /// Opens streams for the waiting queries, as far as the server allows it.
    pub(super) fn send_waiting(&mut self, channel: usize) {
        let now_ns = self.clock.now_ns();
        let client = &mut self.clients[channel];
        let Some(connection) = &mut client.connection else { return };
        while client.closing.is_none()
            && let Some(Waiting { was_sent, framed }) = client.waiting.pop_front()
        {
            if let Err(framed) = connection.open_stream(framed, now_ns) {
                client.waiting.push_front(Waiting { was_sent, framed });
                break;
            }
        }
        self.touch(channel);
        self.enqueue(channel);
    }
}

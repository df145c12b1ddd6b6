//! How a client's connection is established, or fails to be.

use std::io;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, NotSentReason};
use dnsdyno_sys::poll::Ready;

use super::client::Phase;
use super::dial::{Begun, Progress, failure_of, not_begun};
use super::session::Session;
use super::state::Streams;
use crate::{ConnectionEvent, Stopped};

impl<S: Session> Streams<S> {
    /// Starts a connection of this client; the first bytes to be sent over it are then in `frames`.
    pub(super) fn begin_connection(&mut self, channel: usize) -> Result<(), Stopped> {
        if self.no_port_until_ns > self.clock.now_ns() {
            return Err(Stopped::Later(NotSentReason::NoLocalPort));
        }
        let opened_ns = self.clock.now_ns();
        let Begun { stream, local, outcome } =
            self.dialer.begin(opened_ns).map_err(|error| self.could_not_begin(channel, opened_ns, &error))?;
        self.without_port = 0;
        if let Some(proxied) = &self.proxied {
            proxied.put_header(channel, &mut self.frames);
        }
        let session = S::begin(&mut self.shared, &mut self.frames);
        let client = &mut self.clients[channel];
        client.stream = Some(stream);
        client.local = Some(local);
        client.session = session;
        client.phase = Phase::Opening;
        (client.opened_ns, client.read_ns) = (opened_ns, opened_ns);
        self.news.push((channel as u32, opened_ns, ConnectionEvent::Opened));
        if self.clients[channel].session.is_none() {
            self.end_connection(channel, ConnectionEvent::Failed(ConnectFailure::OtherError));
            return Ok(());
        }
        match outcome {
            // With Fast Open it can be written to before the server has responded.
            Ok(Progress::Writable) if !self.fast_open => self.establish(channel, self.clock.now_ns()),
            Ok(_) => {}
            Err(error) => self.end_connection(channel, ConnectionEvent::Failed(failure_of(&error))),
        }
        Ok(())
    }

    /// Registers a new connection for events, once its first bytes were written.
    pub(super) fn watch(&mut self, channel: usize) {
        let client = &self.clients[channel];
        let (Some(stream), true) = (&client.stream, client.phase != Phase::Ending) else { return };
        let token = u64::from(client.generation) << 32 | channel as u64;
        // That it is writable would be reported at once, and is of no interest.
        let is_written = self.limit == 1
            && client.phase == Phase::Open
            && client.outbox.is_empty()
            && !client.is_handshaking();
        let watched = match is_written {
            true => self.poller.add_written_stream(stream, token),
            false => self.poller.add_stream(stream, token),
        };
        if let Err(error) = watched {
            self.fail_on_error(channel, &error);
        }
    }

    #[cold]
    fn could_not_begin(&mut self, channel: usize, at_ns: u64, error: &io::Error) -> Stopped {
        let (why, stopped) = not_begun(error)
            .unwrap_or((ConnectFailure::OtherError, Stopped::Failed(NotSentReason::OtherError)));
        self.news.push((channel as u32, at_ns, ConnectionEvent::NotOpened(why)));
        if why == ConnectFailure::NoLocalPort {
            self.without_port += 1;
            // Each address has its own ports.
            if self.without_port >= self.dialer.addresses() {
                self.no_port_until_ns = at_ns + NO_PORT_PAUSE_NS;
                self.without_port = 0;
            }
        }
        stopped
    }

    pub(super) fn establish(&mut self, channel: usize, at_ns: u64) {
        let client = &mut self.clients[channel];
        (client.phase, client.established_ns, client.since_ns) = (Phase::Open, at_ns, at_ns);
        let opened_ns = client.opened_ns;
        // Those that waited for it.
        self.reused += u64::from(client.queries.saturating_sub(1));
        self.news.push((channel as u32, at_ns, ConnectionEvent::Established { opened_ns }));
        // Its queries may have timed out meanwhile.
        if self.clients[channel].is_spent(self.limit) {
            self.end_open(channel, ConnectionEnd::ByUs);
        }
    }

    /// Checks whether a connection was established.
    pub(super) fn finish_opening(&mut self, channel: usize, ready: Ready) {
        let Some(stream) = &self.clients[channel].stream else { return };
        match stream.take_error() {
            Ok(Some(error)) | Err(error) => return self.fail_on_error(channel, &error),
            Ok(None) => {}
        }
        // With Fast Open a connection is writable before it is established.
        let has_peer = !self.fast_open || stream.peer_addr().is_ok();
        if (ready.writable || ready.readable) && has_peer {
            self.establish(channel, self.clock.now_ns());
        }
    }
}

/// How long no connection is started after none of the local addresses had a free port.
const NO_PORT_PAUSE_NS: u64 = 10_000_000;

//! How a client's connection comes to be, or does not.

use std::io;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, NotSentReason};
use dnsdyno_sys::poll::Ready;

use super::client::Phase;
use super::dial::{Begun, Progress, failure_of, not_begun};
use super::session::Session;
use super::state::Streams;
use crate::{ConnectionNews, Stopped};

impl<S: Session> Streams<S> {
    /// Begins a connection of this client; what is to be said first over it is then in `frames`.
    pub(super) fn begin_connection(&mut self, channel: usize) -> Result<(), Stopped> {
        if self.no_port_until_ns > self.clock.now_ns() {
            return Err(Stopped::Later(NotSentReason::NoLocalPort));
        }
        let opened_ns = self.clock.now_ns();
        let Begun { stream, outcome } =
            self.dialer.begin().map_err(|error| self.could_not_begin(channel, opened_ns, &error))?;
        self.without_port = 0;
        let session = S::begin(&mut self.shared, &mut self.frames);
        let client = &mut self.clients[channel];
        client.stream = Some(stream);
        client.session = session;
        client.phase = Phase::Opening;
        (client.opened_ns, client.read_ns) = (opened_ns, opened_ns);
        self.news.push((channel as u32, opened_ns, ConnectionNews::Opened));
        if self.clients[channel].session.is_none() {
            self.end_connection(channel, ConnectionNews::Failed(ConnectFailure::OtherError));
            return Ok(());
        }
        match outcome {
            // With Fast Open it may be written to, and nobody has answered.
            Ok(Progress::Writable) if !self.fast_open => self.establish(channel, self.clock.now_ns()),
            Ok(_) => {}
            Err(error) => self.end_connection(channel, ConnectionNews::Failed(failure_of(&error))),
        }
        Ok(())
    }

    /// Waits for what will happen on a new connection, once the first of it was written.
    pub(super) fn watch(&mut self, channel: usize) {
        let client = &self.clients[channel];
        let (Some(stream), true) = (&client.stream, client.phase != Phase::Ending) else { return };
        let token = u64::from(client.generation) << 32 | channel as u64;
        // That it can be written to would be told at once, and is of no interest.
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
        self.news.push((channel as u32, at_ns, ConnectionNews::NotOpened(why)));
        if why == ConnectFailure::NoLocalPort {
            self.without_port += 1;
            // Each address has ports of its own; looking for a free one among all takes long.
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
        self.news.push((channel as u32, at_ns, ConnectionNews::Established { opened_ns }));
        // What was to be asked may have timed out meanwhile.
        if self.clients[channel].is_spent(self.limit) {
            self.end_open(channel, ConnectionEnd::ByUs);
        }
    }

    /// Looks whether a connection that was begun has come to be.
    pub(super) fn finish_opening(&mut self, channel: usize, ready: Ready) {
        let Some(stream) = &self.clients[channel].stream else { return };
        match stream.take_error() {
            Ok(Some(error)) | Err(error) => return self.fail_on_error(channel, &error),
            Ok(None) => {}
        }
        // With Fast Open a connection is writable before it is one.
        let has_peer = !self.fast_open || stream.peer_addr().is_ok();
        if (ready.writable || ready.readable) && has_peer {
            self.establish(channel, self.clock.now_ns());
        }
    }
}

/// How long no connection is begun after none of the local addresses had a port: a search through
/// all ports of an address takes the kernel a millisecond.
const NO_PORT_PAUSE_NS: u64 = 10_000_000;

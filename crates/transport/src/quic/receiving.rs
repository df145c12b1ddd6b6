//! Receiving from the server: packets, which QUIC turns into events of connections and bytes of streams.

use std::io;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, StreamFailure};
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::udp::Queued;
use quinn_proto::{DatagramEvent, Dir, Event, StreamEvent, StreamId};

use super::client::Phase;
use super::close_reason::{end_of, failure_of};
use super::connection::{Arrival, Break, Protocol, StreamQuery, Turn};
use super::state::QuicTransport;
use super::words;
use crate::{ConnectionEvent, MessageKind, Sink};

/// Waits for sockets that have packets, and keeps their numbers. Returns whether there are any.
pub(super) fn keep_ready(poller: &mut Poller, timeout_ns: u64, kept: &mut Vec<u32>) -> bool {
    // After a failed wait (no cause is known) the worker polls again.
    let Ok(ready) = poller.wait(Some(timeout_ns)) else { return true };
    kept.extend(ready.map(|socket| socket as u32));
    !kept.is_empty()
}

impl<P: Protocol> QuicTransport<P> {
    /// Passes the packets of a socket to their connections, up to the bound of a round.
    pub(super) fn receive_from(&mut self, socket: usize) {
        for _ in 0..ROUNDS {
            match self.receiver.receive(&self.sockets[socket].socket) {
                Ok(0) => return,
                Ok(_) => self.dispatch(),
                Err(error) => {
                    // An ICMP error; responses may follow it.
                    self.sockets[socket].has_error |= error.kind() != io::ErrorKind::WouldBlock;
                    continue;
                }
            }
            if !self.receiver.is_full() {
                return;
            }
        }
    }

    /// Passes each received packet to its connection.
    fn dispatch(&mut self) {
        let now = self.instant();
        let QuicTransport { receiver, endpoint, clients, owners, touched, verifier_result, sessions, .. } =
            self;
        for (_, packet) in receiver.packets() {
            self.incoming.extend_from_slice(packet);
            let packet = self.incoming.split();
            // A reply would be about a connection that has ended; it is not sent.
            self.reply.clear();
            let event = endpoint.handle(now, self.config.server, None, None, packet, &mut self.reply);
            let Some(DatagramEvent::ConnectionEvent(handle, event)) = event else { continue };
            let Some(channel) = owners.get(handle.0).copied() else { continue };
            let client = &mut clients[channel as usize];
            let Some(connection) = client.connection.as_mut().filter(|open| open.handle == handle) else {
                continue;
            };
            let stored = sessions.stored();
            connection.quic.handle_event(event);
            client.awaits_ticket &= sessions.stored() == stored;
            if client.phase == Phase::Opening {
                client.verification = verifier_result.take().or(client.verification);
            }
            client.acknowledgements.packets += 1;
            if !std::mem::replace(&mut client.is_touched, true) {
                touched.push(channel);
            }
        }
    }

    /// Processes the events of every connection that something was received for.
    pub(super) fn progress_touched(&mut self, sink: &mut impl Sink) {
        // The same instant for all: they were received with the same call.
        let at_ns = self.clock.now_ns();
        for i in 0..self.touched.len() {
            self.progress(self.touched[i] as usize, at_ns, sink);
        }
    }

    fn progress(&mut self, channel: usize, at_ns: u64, sink: &mut impl Sink) {
        while let Some(connection) = &mut self.clients[channel].connection {
            let Some(event) = connection.quic.poll() else { break };
            self.take_event(channel, event, at_ns, sink);
        }
        let client = &self.clients[channel];
        if let Some(until_ns) = client.lingers_until_ns
            && (!client.awaits_ticket || at_ns >= until_ns)
        {
            let end = client.spent_end();
            self.end(channel, end, Some(P::NO_ERROR));
        }
    }

    fn take_event(&mut self, channel: usize, event: Event, at_ns: u64, sink: &mut impl Sink) {
        match event {
            Event::Stream(StreamEvent::Readable { id }) => self.read(channel, id, at_ns, sink),
            Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => self.send_waiting(channel),
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => self.accept(channel, at_ns, sink),
            Event::Stream(StreamEvent::Stopped { id, .. }) => {
                // A server may stop reading a query (some do once they have read it); its response may still follow.
                if let Some(connection) = &mut self.clients[channel].connection {
                    let arrival = P::take_stop(connection, id);
                    self.take_arrival(channel, arrival, at_ns, sink);
                }
            }
            Event::Stream(StreamEvent::Writable { .. } | StreamEvent::Available { dir: Dir::Uni }) => {
                if let Some(connection) = &mut self.clients[channel].connection {
                    connection.write_rest();
                    self.touch(channel);
                }
            }
            Event::Connected => self.establish(channel, at_ns),
            Event::ConnectionLost { reason } => {
                let client = &self.clients[channel];
                if client.phase == Phase::Opening {
                    let (why, handshake) = failure_of(&reason, client.verification);
                    if let Some(handshake) = handshake {
                        let rejected = self.verifier_result.take_words();
                        self.explained
                            .handshake(handshake, || rejected.unwrap_or_else(|| words::of::<P>(&reason)));
                    }
                    self.fail(channel, why, handshake);
                } else {
                    let end = match end_of::<P>(&reason, client.is_idle()) {
                        ConnectionEnd::ByServer => client.closing.unwrap_or(ConnectionEnd::ByServer),
                        other => other,
                    };
                    if !matches!(end, ConnectionEnd::ByServer | ConnectionEnd::ByUs | ConnectionEnd::GoneAway)
                    {
                        self.explained.end(end, || words::of::<P>(&reason));
                    }
                    self.end(channel, end, None);
                }
            }
            _ => {}
        }
    }

    /// Reads the streams that the server has opened.
    fn accept(&mut self, channel: usize, at_ns: u64, sink: &mut impl Sink) {
        while let Some(connection) = &mut self.clients[channel].connection
            && let Some(stream) = connection.quic.streams().accept(Dir::Uni)
        {
            self.read(channel, stream, at_ns, sink);
        }
    }

    /// Reads a stream, and hands over its response when it is complete.
    fn read(&mut self, channel: usize, stream: StreamId, at_ns: u64, sink: &mut impl Sink) {
        let client = &mut self.clients[channel];
        let Some(connection) = &mut client.connection else { return };
        let mut turn = Turn {
            shared: &mut self.shared,
            message: &mut self.message,
            unfinished: &mut self.unfinished,
            explained: &mut self.explained,
            sink,
            at_ns,
        };
        let arrival = P::read(connection, stream, &mut turn);
        self.take_arrival(channel, arrival, at_ns, sink);
    }

    /// What was received on a stream.
    fn take_arrival(&mut self, channel: usize, arrival: Arrival, at_ns: u64, sink: &mut impl Sink) {
        let client = &mut self.clients[channel];
        let is_of_response =
            matches!(arrival, Arrival::Message(_) | Arrival::Failed(..) | Arrival::Part | Arrival::Broken(_));
        if is_of_response {
            client.read_ns = at_ns;
            if !std::mem::replace(&mut client.has_read, true) {
                let opened_ns = client.opened_ns;
                self.news.push((channel as u32, at_ns, ConnectionEvent::FirstByte { opened_ns }));
            }
        }
        let client = &mut self.clients[channel];
        match arrival {
            Arrival::Message(query) => {
                match sink.answer(channel, at_ns, client.since_ns, Some(query.at_ns), &self.message) {
                    MessageKind::Answer => {
                        client.answers = client.answers.saturating_add(1);
                        client.outstanding = client.outstanding.saturating_sub(1);
                        if client.is_spent(self.limit) {
                            self.close_complete(channel);
                        }
                    }
                    MessageKind::Unmatched => self.close_if_gone(channel),
                    MessageKind::Malformed => match P::garbage_words(&self.shared) {
                        Some(words) => {
                            let why = StreamFailure::NoMessage;
                            self.explained.stream(why, || words);
                            self.fail_stream(channel, query, why);
                        }
                        None => self.end(channel, ConnectionEnd::Garbled, Some(P::PROTOCOL_ERROR)),
                    },
                }
            }
            Arrival::Reset(query, code) => {
                let why = P::reset_failure(code);
                self.explained.stream(why, || words::of_reset::<P>(code));
                self.fail_stream(channel, query, why);
            }
            Arrival::Failed(query, why) => self.fail_stream(channel, query, why),
            Arrival::Broken(Break { code, end, words }) => {
                self.explained.end(end, || words);
                self.end(channel, end, Some(code));
            }
            Arrival::GoneFrom(number) => self.go_away(channel, number, at_ns),
            Arrival::TooMuch => {
                self.explained.end(ConnectionEnd::Excess, || TOO_MUCH_UNFINISHED.to_owned());
                self.end(channel, ConnectionEnd::Excess, Some(P::EXCESSIVE_LOAD));
            }
            Arrival::Part | Arrival::Nothing => {}
        }
    }

    /// The stream of this query ended without a response.
    fn fail_stream(&mut self, channel: usize, query: StreamQuery, why: StreamFailure) {
        self.failed.push((channel as u32, query, why));
        // Something may have to be told to the server.
        self.touch(channel);
    }

    /// Reads the ICMP errors of a socket: where the server's port is closed, all its connections have
    /// ended.
    pub(super) fn take_refusals(&mut self, socket: usize) {
        self.sockets[socket].has_error = false;
        let mut why = None;
        for _ in 0..REFUSALS_AT_ONCE {
            let Some(queued) = self.errors.next(&self.sockets[socket].socket) else { break };
            let Queued::Refusal(refusal) = queued else { continue };
            why = why.or(match refusal.errno {
                libc::ECONNREFUSED => Some(ConnectFailure::Refused),
                libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EACCES | libc::EPROTO => {
                    Some(ConnectFailure::Unreachable)
                }
                _ => None,
            });
        }
        let Some(why) = why else { return };
        for channel in (socket..self.clients.len()).step_by(self.sockets.len()) {
            match self.clients[channel].phase {
                Phase::Opening => self.fail(channel, why, None),
                Phase::Open => self.end(channel, ConnectionEnd::Reset, None),
                Phase::Vacant | Phase::Ending => {}
            }
        }
    }
}

const TOO_MUCH_UNFINISHED: &str = "the server sent more than 32 MiB of responses without ending them";

/// Full batches of one socket before the others are served.
const ROUNDS: usize = 4;

/// ICMP errors that are read at once; a closed port sends one for each packet.
const REFUSALS_AT_ONCE: usize = 64;

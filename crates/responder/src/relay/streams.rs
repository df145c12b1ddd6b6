//! The TCP side: each connection of a client has one to the server, and the octets of both pass through transit.
//!
//! ```text
//!  client ══ accept, read ──► transit to the server ──► write ══ connect ══ server
//!         ══ write ◄── transit to the client ◄── read ═════════
//! ```
//!
//! Nothing of a stream is lost, doubled or overtaken: TCP would not let it be. Its octets have the delay and share the
//! rate; where the queue of the rate or the relay's memory is full, the connection is not read, and its sender waits.
//! The handshake of the client is answered by this host at once, so the round trip that it would have taken is added
//! before the first octets of the client.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;

use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::{Poller, Ready};
use mio::net::{TcpListener, TcpStream};

use crate::relay::connection::{Connection, Step};
use crate::relay::counts::RelayCounts;
use crate::relay::tokens::STREAM;
use crate::relay::toward::Toward;
use crate::relay::transit::{Due, Transit};

/// All connections.
pub(crate) struct Streams {
    listener: TcpListener,
    server: SocketAddr,
    most: usize,
    /// By a number that is never used again, so that what is due late cannot reach another connection.
    connections: HashMap<u64, Connection>,
    next_number: u64,
    /// When to accept again after an error: no event reports that.
    accept_again_ns: Option<u64>,
    scratch: Box<[u8]>,
}

impl Streams {
    pub(crate) fn new(listener: TcpListener, server: SocketAddr, most: usize) -> Streams {
        Streams {
            listener,
            server,
            most,
            connections: HashMap::new(),
            next_number: 0,
            accept_again_ns: None,
            scratch: vec![0; READ_OCTETS].into(),
        }
    }

    pub(crate) fn listener(&self) -> &TcpListener {
        &self.listener
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> u64 {
        self.connections.len() as u64
    }

    /// Accepts all that wait.
    pub(crate) fn accept(&mut self, poller: &Poller, transit: &mut Transit, counts: &mut RelayCounts) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    counts.connections.accepted += 1;
                    self.connect(stream, poller, transit, counts);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    counts.connections.accept_errors += 1;
                    self.accept_again_ns = Some(monotonic_ns() + ACCEPT_PAUSE_NS);
                    return;
                }
            }
        }
    }

    /// The same after a pause, where accepting has failed.
    pub(crate) fn accept_again(
        &mut self,
        now_ns: u64,
        poller: &Poller,
        transit: &mut Transit,
        counts: &mut RelayCounts,
    ) {
        if self.accept_again_ns.is_some_and(|again_ns| again_ns <= now_ns) {
            self.accept_again_ns = None;
            self.accept(poller, transit, counts);
        }
    }

    /// Does what an event asks for; `token` is that of a socket of ours.
    pub(crate) fn serve(
        &mut self,
        token: u64,
        ready: Ready,
        transit: &mut Transit,
        counts: &mut RelayCounts,
    ) {
        let number = token >> 1;
        let from_client = token & 1 == 0;
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if !from_client && connection.connects(ready) == Step::Broken {
            counts.connections.refused += 1;
            let due_ns = connection.reset_due_ns(transit, Toward::Client);
            transit.push(due_ns, Due::End { toward: Toward::Client, connection: number, is_reset: true });
            return;
        }
        let (into, out_of) = match from_client {
            true => (Toward::Server, Toward::Client),
            false => (Toward::Client, Toward::Server),
        };
        if ready.readable || ready.closing {
            connection.may_read(into);
            self.read(number, into, transit);
        }
        if ready.writable {
            self.write(number, out_of, transit, counts);
        }
    }

    /// Passes on what is due.
    pub(crate) fn pass_on(&mut self, due: Due, due_ns: u64, transit: &mut Transit, counts: &mut RelayCounts) {
        match due {
            Due::Octets { toward, connection: number, place } => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    let bytes = transit.store().get(place);
                    connection.release(toward, bytes);
                    let way = counts.way_mut(toward);
                    way.stream_octets += bytes.len() as u64;
                    way.stream_late.record(monotonic_ns().saturating_sub(due_ns));
                    self.write(number, toward, transit, counts);
                }
                transit.store().free(place);
            }
            Due::End { connection: number, is_reset: true, .. } => self.reset(number, counts),
            Due::End { toward, connection: number, .. } => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.end(toward);
                    self.write(number, toward, transit, counts);
                }
            }
            Due::Read { toward, connection: number } => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.waits_for_room[toward.index()] = false;
                    self.read(number, toward, transit);
                }
            }
            Due::Datagram { .. } => {}
        }
    }

    /// Connects to the server for a client.
    fn connect(
        &mut self,
        client: TcpStream,
        poller: &Poller,
        transit: &mut Transit,
        counts: &mut RelayCounts,
    ) {
        if self.connections.len() >= self.most {
            counts.connections.turned_away += 1;
            return;
        }
        let Ok(server) = TcpStream::connect(self.server) else {
            counts.connections.refused += 1;
            return;
        };
        let number = self.next_number;
        self.next_number += 1;
        let token = STREAM | number << 1;
        if poller.add_stream(&client, token).and(poller.add_stream(&server, token | 1)).is_err() {
            counts.connections.refused += 1;
            return;
        }
        let handshake_ns = transit.link(Toward::Server).delay_ns() + transit.link(Toward::Client).delay_ns();
        let connection = Connection::new(client, server, monotonic_ns().saturating_add(handshake_ns));
        self.connections.insert(number, connection);
    }

    /// Reads what there is in one direction, as far as there is room for it.
    fn read(&mut self, number: u64, toward: Toward, transit: &mut Transit) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        for _ in 0..READS {
            if !connection.wants_to_read(toward) {
                return;
            }
            let now_ns = monotonic_ns();
            let most = transit.link(toward).stream_octets(self.scratch.len());
            let room_ns = match transit.store().has_room(most) {
                true => transit.link(toward).room_ns(),
                false => now_ns + MEMORY_PAUSE_NS,
            };
            if room_ns > now_ns {
                connection.waits_for_room[toward.index()] = true;
                transit.push(room_ns, Due::Read { toward, connection: number });
                return;
            }
            let buffer = self.scratch.get_mut(..most).unwrap_or_default();
            let step = connection.read(toward, buffer);
            match step {
                Step::Octets(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    let due_ns = connection.due_ns(toward, now_ns, with_headers(count), transit);
                    let Some(place) = transit.store().put(bytes) else { return };
                    transit.push(due_ns, Due::Octets { toward, connection: number, place });
                }
                Step::Later => return,
                Step::End | Step::Broken => {
                    let due_ns = connection.due_ns(toward, now_ns, with_headers(0), transit);
                    let is_reset = step == Step::Broken;
                    transit.push(due_ns, Due::End { toward, connection: number, is_reset });
                    return;
                }
            }
        }
        // There may be more: after what others wait for.
        connection.waits_for_room[toward.index()] = true;
        transit.push(monotonic_ns(), Due::Read { toward, connection: number });
    }

    /// Writes what is due, and reads on where there is room now; closes what has ended in both directions.
    fn write(&mut self, number: u64, toward: Toward, transit: &mut Transit, counts: &mut RelayCounts) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if connection.write(toward) == Step::Broken && !connection.is_resetting {
            // The receiver has reset it. The sender learns of it after the delay of the way back.
            connection.is_resetting = true;
            let back = toward.opposite();
            let due_ns = connection.reset_due_ns(transit, back);
            transit.push(due_ns, Due::End { toward: back, connection: number, is_reset: true });
        } else if connection.has_ended() {
            counts.connections.closed += 1;
            self.connections.remove(&number);
        } else {
            self.read(number, toward, transit);
        }
    }

    /// Resets both sides.
    fn reset(&mut self, number: u64, counts: &mut RelayCounts) {
        let Some(connection) = self.connections.remove(&number) else { return };
        // One that the server has refused was counted as that.
        counts.connections.reset += u64::from(connection.is_connected());
        connection.reset();
    }
}

/// Octets of a stream with the headers of its segments, as they take their share of the rate.
fn with_headers(octets: usize) -> usize {
    octets + octets.div_ceil(SEGMENT).max(1) * SEGMENT_HEADERS
}

/// Octets that are read at a time.
const READ_OCTETS: usize = 16_384;

/// Reads of a connection before others have their turn.
const READS: usize = 4;

/// A full segment of Ethernet, and the headers of IP and TCP that it has.
const SEGMENT: usize = 1_448;
const SEGMENT_HEADERS: usize = 52;

/// After a failed `accept` (for example without a free file descriptor), time for connections to be closed.
const ACCEPT_PAUSE_NS: u64 = 50_000_000;

/// How long to wait for room in the memory.
const MEMORY_PAUSE_NS: u64 = 1_000_000;

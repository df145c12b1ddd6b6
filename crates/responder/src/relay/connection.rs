//! One TCP connection through the relay: the socket of the client and the one to the server.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Ready;
use mio::net::TcpStream;
use socket2::SockRef;

use crate::relay::toward::Toward;
use crate::relay::transit::Transit;

/// Both sockets, and what is between them.
pub(crate) struct Connection {
    client: TcpStream,
    server: TcpStream,
    is_connected: bool,
    /// When the client would have known that it is connected: before that it could send nothing.
    ready_ns: u64,
    ways: [Half; 2],
    /// A read is in the schedule, by direction.
    pub(crate) waits_for_room: [bool; 2],
    /// A reset is on its way.
    pub(crate) is_resetting: bool,
}

/// One direction of it.
#[derive(Default)]
struct Half {
    may_read: bool,
    /// The sender sends no more: its end is on its way.
    is_read_to_end: bool,
    /// Octets on their way.
    held: usize,
    /// When the last of them are due.
    last_due_ns: u64,
    /// What is due and the receiver has not accepted.
    outbox: BytesMut,
    /// The end is due.
    ends: bool,
    /// The receiver was told of the end.
    is_shut: bool,
}

/// What became of a read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// So many octets were read.
    Octets(usize),
    /// Nothing more is possible now; also that all is well.
    Later,
    /// The sender sends no more.
    End,
    /// The connection is reset, or was not accepted.
    Broken,
}

impl Connection {
    pub(crate) fn new(client: TcpStream, server: TcpStream, ready_ns: u64) -> Connection {
        for stream in [&client, &server] {
            // What is due is sent, however little it is.
            let _ = stream.set_nodelay(true);
        }
        Connection {
            client,
            server,
            is_connected: false,
            ready_ns,
            ways: [Half::default(), Half::default()],
            waits_for_room: [false; 2],
            is_resetting: false,
        }
    }

    /// Notes that the server has accepted the connection, or has not.
    pub(crate) fn connects(&mut self, ready: Ready) -> Step {
        if self.is_connected || self.is_resetting || !(ready.writable || ready.closing) {
            return Step::Later;
        }
        if self.server.take_error().is_ok_and(|error| error.is_none()) && self.server.peer_addr().is_ok() {
            self.is_connected = true;
            return Step::Later;
        }
        self.is_resetting = true;
        Step::Broken
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Something can be read in this direction.
    pub(crate) fn may_read(&mut self, toward: Toward) {
        self.ways[toward.index()].may_read = true;
    }

    pub(crate) fn wants_to_read(&self, toward: Toward) -> bool {
        let way = &self.ways[toward.index()];
        let is_open = way.may_read && !way.is_read_to_end && !self.is_resetting;
        is_open && !self.waits_for_room[toward.index()] && way.held + way.outbox.len() < MOST_HELD
    }

    /// Reads from the sender of this direction.
    pub(crate) fn read(&mut self, toward: Toward, buffer: &mut [u8]) -> Step {
        let sender = if toward == Toward::Server { &mut self.client } else { &mut self.server };
        let way = &mut self.ways[toward.index()];
        loop {
            match sender.read(buffer) {
                Ok(0) => {
                    way.is_read_to_end = true;
                    return Step::End;
                }
                Ok(count) => {
                    way.held += count;
                    return Step::Octets(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    way.may_read = false;
                    return Step::Later;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    way.is_read_to_end = true;
                    self.is_resetting = true;
                    return Step::Broken;
                }
            }
        }
    }

    /// When octets are due that were read at `now_ns`.
    pub(crate) fn due_ns(
        &mut self,
        toward: Toward,
        now_ns: u64,
        octets: usize,
        transit: &mut Transit,
    ) -> u64 {
        let arrival_ns = if toward == Toward::Server { now_ns.max(self.ready_ns) } else { now_ns };
        let way = &mut self.ways[toward.index()];
        way.last_due_ns = transit.link(toward).stream(arrival_ns, octets, way.last_due_ns);
        way.last_due_ns
    }

    /// When a reset is due at the end of this direction.
    pub(crate) fn reset_due_ns(&self, transit: &mut Transit, toward: Toward) -> u64 {
        let due_ns = monotonic_ns().saturating_add(transit.link(toward).delay_ns());
        // It does not overtake what was sent before it.
        due_ns.max(self.ways[toward.index()].last_due_ns)
    }

    /// Octets are due.
    pub(crate) fn release(&mut self, toward: Toward, bytes: &[u8]) {
        let way = &mut self.ways[toward.index()];
        way.held = way.held.saturating_sub(bytes.len());
        way.outbox.extend_from_slice(bytes);
    }

    /// The end of a direction is due.
    pub(crate) fn end(&mut self, toward: Toward) {
        self.ways[toward.index()].ends = true;
    }

    /// Writes what is due to the receiver of this direction.
    pub(crate) fn write(&mut self, toward: Toward) -> Step {
        if toward == Toward::Server && !self.is_connected {
            return Step::Later;
        }
        let receiver = if toward == Toward::Server { &mut self.server } else { &mut self.client };
        let way = &mut self.ways[toward.index()];
        while !way.outbox.is_empty() {
            match receiver.write(&way.outbox) {
                Ok(count) => way.outbox.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Step::Later,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    way.outbox.clear();
                    return Step::Broken;
                }
            }
        }
        if way.ends && !way.is_shut {
            way.is_shut = true;
            let _ = receiver.shutdown(Shutdown::Write);
        }
        Step::Later
    }

    /// Whether both sides were told of the end of the other.
    pub(crate) fn has_ended(&self) -> bool {
        self.ways.iter().all(|way| way.is_shut)
    }

    /// Closes both sockets with RST instead of FIN.
    pub(crate) fn reset(self) {
        for stream in [&self.client, &self.server] {
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }
}

/// Octets of one direction of a connection that are on their way, or wait for the receiver: what a window of TCP has.
const MOST_HELD: usize = 4 << 20;

//! One client: its connection, if it has one, and what waits on either side of it.
//!
//! ```text
//!   Vacant ──► Opening ──► Open ──► Ending ──► Vacant
//!                 └──────────────────^
//! ```
//!
//! Buffers are there only while something is in them: fifty thousand idle clients hold none.

use std::io::{self, Write};
use std::net::TcpStream;

use super::pool::BufferPool;
use super::session::Session;

/// A client and its connection.
pub(crate) struct Client<S> {
    pub(crate) stream: Option<TcpStream>,
    /// What is between its bytes and messages; there from its first byte on.
    pub(crate) session: Option<S>,
    pub(crate) phase: Phase,
    /// Whether it stands in the line of those that can ask.
    pub(crate) is_queued: bool,
    /// Whether anything came over this connection.
    pub(crate) has_read: bool,
    /// Number of its connections so far: tells an event of this one from one of an earlier one.
    pub(crate) generation: u32,
    /// Queries handed over for this connection.
    pub(crate) queries: u32,
    /// Those of them that have not ended.
    pub(crate) outstanding: u32,
    /// Those of them that were answered over it.
    pub(crate) answers: u32,
    /// When this connection was begun.
    pub(crate) opened_ns: u64,
    /// When it came to be.
    pub(crate) established_ns: u64,
    /// When queries could first leave over it.
    pub(crate) since_ns: u64,
    /// When something whole last came over it; at first, when it was begun.
    pub(crate) read_ns: u64,
    /// What the kernel has not taken, of which the first `outbox_at` bytes have left.
    pub(crate) outbox: Vec<u8>,
    pub(crate) outbox_at: usize,
}

/// How far the connection of a client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There is none.
    #[default]
    Vacant,
    /// A SYN is on its way.
    Opening,
    /// It is established.
    Open,
    /// It is over, and the worker has not been told yet.
    Ending,
}

impl<S> Default for Client<S> {
    fn default() -> Self {
        Client {
            stream: None,
            session: None,
            phase: Phase::Vacant,
            is_queued: false,
            has_read: false,
            generation: 0,
            queries: 0,
            outstanding: 0,
            answers: 0,
            opened_ns: 0,
            established_ns: 0,
            since_ns: 0,
            read_ns: 0,
            outbox: Vec::new(),
            outbox_at: 0,
        }
    }
}

impl<S: Session> Client<S> {
    /// How many queries the client could be handed now, given how many a connection carries.
    #[inline]
    pub(crate) fn capacity(&self, limit: u32) -> usize {
        if self.phase == Phase::Ending || self.queries >= limit || self.waiting() >= OUTBOX_BOUND {
            return 0;
        }
        let of_session = self.session.as_ref().map_or(usize::MAX, S::capacity);
        of_session.min((limit - self.queries) as usize)
    }

    /// Whether the handshake of the open connection is not done.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.phase == Phase::Open && self.session.as_ref().is_some_and(S::is_handshaking)
    }

    /// What the open connection ends of, because it takes no more queries and nothing is under way.
    pub(crate) fn drained(&self) -> Option<dnsdyno_measure::ConnectionEnd> {
        if self.outstanding > 0 { None } else { self.session.as_ref().and_then(S::closing) }
    }

    /// Whether the connection has carried all that it is to carry.
    pub(crate) fn is_spent(&self, limit: u32) -> bool {
        self.queries >= limit && self.outstanding == 0
    }

    /// Whether nothing is under way on the open connection.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.outstanding == 0 && self.outbox.is_empty()
    }

    /// Bytes that the kernel, or the session, has not taken.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.len() - self.outbox_at + self.session.as_ref().map_or(0, S::held_back)
    }

    /// Puts `frames` behind what waits.
    pub(crate) fn queue(&mut self, frames: &[u8], pool: &mut BufferPool) {
        if self.outbox.capacity() == 0 {
            self.outbox = pool.take();
        } else if self.outbox_at > OUTBOX_BOUND {
            self.outbox.drain(..self.outbox_at);
            self.outbox_at = 0;
        }
        self.outbox.extend_from_slice(frames);
    }

    /// Writes what waits, as far as the kernel takes it.
    pub(crate) fn flush(&mut self, pool: &mut BufferPool) -> io::Result<()> {
        let Some(stream) = &self.stream else { return Ok(()) };
        while self.outbox_at < self.outbox.len() {
            match write(stream, &self.outbox[self.outbox_at..])? {
                0 => return Ok(()),
                written => self.outbox_at += written,
            }
        }
        pool.give_back(std::mem::take(&mut self.outbox));
        self.outbox_at = 0;
        Ok(())
    }

    /// Forgets the connection; the next one is of the next generation.
    pub(crate) fn vacate(&mut self, pool: &mut BufferPool) {
        if let Some(session) = self.session.take() {
            session.end(pool);
        }
        pool.give_back(std::mem::take(&mut self.outbox));
        *self = Client {
            is_queued: self.is_queued,
            generation: self.generation.wrapping_add(1),
            ..Client::default()
        };
    }
}

/// Writes without waiting; 0 where the kernel takes nothing now.
pub(crate) fn write(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match stream.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            written => return written,
        }
    }
}

/// A client with so many bytes of queries that its server does not take asks nothing more.
const OUTBOX_BOUND: usize = 64 << 10;

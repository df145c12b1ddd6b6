//! One client: its connection, if it has one, and the bytes that wait to be sent or read.
//!
//! ```text
//!   Vacant ──► Opening ──► Open ──► Ending ──► Vacant
//!                 └──────────────────^
//! ```
//!
//! Buffers are allocated only while they hold something: fifty thousand idle clients hold none.

use std::io::{self, Write};
use std::net::TcpStream;

use super::pool::BufferPool;
use super::ports::LocalPort;
use super::session::Session;

/// A client and its connection.
pub(crate) struct Client<S> {
    pub(crate) stream: Option<TcpStream>,
    /// The port that it starts from.
    pub(crate) local: Option<LocalPort>,
    /// Converts between bytes and messages; exists as long as the connection.
    pub(crate) session: Option<S>,
    pub(crate) phase: Phase,
    /// Whether it is in the queue of clients that can send.
    pub(crate) is_queued: bool,
    /// Whether anything was received over this connection.
    pub(crate) has_read: bool,
    /// Number of its connections so far; it distinguishes events of this connection from those of an
    /// earlier one.
    pub(crate) generation: u32,
    /// Queries handed over for this connection.
    pub(crate) queries: u32,
    /// Those of them that have not ended.
    pub(crate) outstanding: u32,
    /// Those of them that were answered over it.
    pub(crate) answers: u32,
    /// When this connection was started.
    pub(crate) opened_ns: u64,
    /// When it was established.
    pub(crate) established_ns: u64,
    /// From when on queries could be sent over it.
    pub(crate) since_ns: u64,
    /// When a whole message or handshake was last received over it; at first, when it was started.
    pub(crate) read_ns: u64,
    /// What the kernel has not accepted yet; its first `outbox_at` bytes have been sent.
    pub(crate) outbox: Vec<u8>,
    pub(crate) outbox_at: usize,
    /// Bytes of replies among them since it was last empty.
    pub(crate) replies: usize,
    /// Whether this turn has read its share of it, and there is more.
    pub(crate) is_unread: bool,
    /// Whether nothing can be written any more: what was received before the reset is still read.
    pub(crate) is_broken: bool,
    /// Whether no query had left over the connection when it ended.
    pub(crate) has_sent_nothing: bool,
    /// When a query was sent that nothing has followed, where none was outstanding before it.
    pub(crate) asked_ns: u64,
}

/// The state of a client's connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There is none.
    #[default]
    Vacant,
    /// A SYN was sent.
    Opening,
    /// It is established.
    Open,
    /// It has ended, and the worker has not been informed yet.
    Ending,
}

impl<S> Default for Client<S> {
    fn default() -> Self {
        Client {
            stream: None,
            local: None,
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
            replies: 0,
            is_unread: false,
            is_broken: false,
            has_sent_nothing: false,
            asked_ns: 0,
        }
    }
}

impl<S: Session> Client<S> {
    /// How many queries the client can be given now; a connection carries `limit`.
    #[inline]
    pub(crate) fn capacity(&self, limit: u32) -> usize {
        if self.phase == Phase::Ending
            || self.is_broken
            || self.queries >= limit
            || self.waiting() >= OUTBOX_BOUND
        {
            return 0;
        }
        let of_session = self.session.as_ref().map_or(usize::MAX, S::capacity);
        of_session.min((limit - self.queries) as usize)
    }

    /// Whether the open connection is still in its handshake.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.phase == Phase::Open && self.session.as_ref().is_some_and(S::is_handshaking)
    }

    /// Since when nothing was received over it, though a query was to be answered.
    pub(crate) fn quiet_since_ns(&self) -> u64 {
        self.read_ns.max(self.since_ns).max(self.asked_ns)
    }

    /// Notes the first query after a time in which none was outstanding and nothing was missed.
    pub(crate) fn note_asked(&mut self, now_ns: u64) {
        if self.asked_ns <= self.read_ns.max(self.since_ns) {
            self.asked_ns = now_ns;
        }
    }

    /// Why the open connection is to be closed: it takes no more queries and none is outstanding.
    pub(crate) fn drained(&self) -> Option<dnsdyno_measure::ConnectionEnd> {
        if self.outstanding > 0 { None } else { self.session.as_ref().and_then(S::closing) }
    }

    /// Whether the connection has carried all its queries and none is outstanding.
    pub(crate) fn is_spent(&self, limit: u32) -> bool {
        self.queries >= limit && self.outstanding == 0
    }

    /// Whether no query is outstanding on the open connection.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.outstanding == 0 && self.outbox.is_empty()
    }

    /// Bytes that the kernel, or the session, has not accepted yet.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.len() - self.outbox_at + self.session.as_ref().map_or(0, S::held_back)
    }

    /// Appends `frames` to the outbox.
    pub(crate) fn queue(&mut self, frames: &[u8], pool: &mut BufferPool) {
        if self.outbox.capacity() == 0 {
            self.outbox = pool.take();
        } else if self.outbox_at > OUTBOX_BOUND {
            self.outbox.drain(..self.outbox_at);
            self.outbox_at = 0;
        }
        self.outbox.extend_from_slice(frames);
    }

    /// Writes the outbox, as far as the kernel accepts it.
    pub(crate) fn flush(&mut self, pool: &mut BufferPool) -> io::Result<()> {
        let Some(stream) = &self.stream else { return Ok(()) };
        while self.outbox_at < self.outbox.len() {
            match write(stream, &self.outbox[self.outbox_at..])? {
                0 => return Ok(()),
                written => self.outbox_at += written,
            }
        }
        pool.give_back(std::mem::take(&mut self.outbox));
        (self.outbox_at, self.replies) = (0, 0);
        Ok(())
    }

    /// Drops the connection, and gives its port back; the next one is of the next generation.
    pub(crate) fn vacate(&mut self, pool: &mut BufferPool) -> Option<LocalPort> {
        if let Some(session) = self.session.take() {
            session.end(pool);
        }
        pool.give_back(std::mem::take(&mut self.outbox));
        let local = self.local;
        *self = Client {
            is_queued: self.is_queued,
            generation: self.generation.wrapping_add(1),
            ..Client::default()
        };
        local
    }
}

/// Writes without waiting; 0 where the kernel accepts nothing now.
pub(crate) fn write(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match stream.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            written => return written,
        }
    }
}

/// A client with so many unsent bytes of queries is given no more queries.
const OUTBOX_BOUND: usize = 64 << 10;

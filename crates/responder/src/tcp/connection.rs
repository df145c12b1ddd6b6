//! One TCP connection: bytes in, messages out of them; answers in, bytes out of them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Duration;

use dnsdyno_sys::clock::monotonic_ns;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::SockRef;

use crate::book::{Side, Ticket};
use crate::faults::Fault;

/// A connection, and what is under way on it.
pub(crate) struct Connection {
    stream: TcpStream,
    /// What was read, of which the first `inbox_at` bytes have been answered.
    inbox: Vec<u8>,
    inbox_at: usize,
    /// Answers, of which the first `outbox_at` bytes are written.
    outbox: Vec<u8>,
    outbox_at: usize,
    /// Where each unwritten answer ends, counted over the whole connection; no ticket for the
    /// second copy of a duplicate.
    marks: VecDeque<(u64, Option<Ticket>)>,
    pushed: u64,
    written: u64,
    /// Its answers in the delay queue.
    pub(crate) held: usize,
    /// When something was last read or written.
    pub(crate) active_ns: u64,
    /// Taking messages stopped because too much waits to be written.
    is_paused: bool,
    /// The client sends no more.
    is_ended: bool,
}

/// What reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing is left for now, or nothing more may be read for now.
    Drained,
    /// More waits, and no event will tell.
    More,
    /// The connection is of no use any more.
    Broken,
}

impl Connection {
    pub(crate) fn open(
        mut stream: TcpStream,
        registry: &Registry,
        token: Token,
        now_ns: u64,
    ) -> io::Result<Connection> {
        // An answer is whole when written: there is nothing to wait for.
        stream.set_nodelay(true)?;
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Connection {
            stream,
            inbox: Vec::new(),
            inbox_at: 0,
            outbox: Vec::new(),
            outbox_at: 0,
            marks: VecDeque::new(),
            pushed: 0,
            written: 0,
            held: 0,
            active_ns: now_ns,
            is_paused: false,
            is_ended: false,
        })
    }

    /// Reads what there is, up to the bounds of a round.
    pub(crate) fn read(&mut self, now_ns: u64) -> Input {
        self.is_paused = false;
        if self.is_ended || self.is_backed_up() {
            return Input::Drained;
        }
        let begin = self.inbox.len();
        loop {
            let at = self.inbox.len();
            if at - begin >= ROUND_BYTES {
                break Input::More;
            }
            self.inbox.resize(at + READ_BYTES, 0);
            let read = self.stream.read(&mut self.inbox[at..]);
            self.inbox.truncate(at + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => {
                    self.is_ended = true;
                    break Input::Drained;
                }
                Ok(_) => self.active_ns = now_ns,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Input::Drained,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break Input::Broken,
            }
        }
    }

    /// The next whole message of what was read; none while too much waits to be written.
    pub(crate) fn next_message(&mut self) -> Option<&[u8]> {
        if self.is_backed_up() {
            self.is_paused = true;
            return None;
        }
        let rest = &self.inbox[self.inbox_at..];
        let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
        let message = rest.get(2..2 + length)?;
        self.inbox_at += 2 + length;
        Some(message)
    }

    /// Gives back the room of the messages that were taken.
    pub(crate) fn forget_read(&mut self) {
        self.inbox.drain(..self.inbox_at);
        self.inbox_at = 0;
    }

    /// Appends an answer with its length before it (two of them for a duplicate).
    pub(crate) fn push(&mut self, frame: &[u8], ticket: Ticket) {
        let copies = if ticket.fault == Some(Fault::Duplicate) { 2 } else { 1 };
        for copy in 0..copies {
            self.outbox.extend_from_slice(frame);
            self.pushed += frame.len() as u64;
            self.marks.push_back((self.pushed, (copy == 0).then_some(ticket)));
        }
    }

    /// Writes what the connection takes, and books what has left whole.
    pub(crate) fn write(&mut self, side: &mut Side) -> io::Result<()> {
        while self.outbox_at < self.outbox.len() {
            let now_ns = monotonic_ns();
            match self.stream.write(&self.outbox[self.outbox_at..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.outbox_at += count;
                    self.written += count as u64;
                    self.active_ns = now_ns;
                    self.book_written(now_ns, side);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.outbox_at == self.outbox.len() || self.outbox_at >= ROUND_BYTES {
            self.outbox.drain(..self.outbox_at);
            self.outbox_at = 0;
        }
        Ok(())
    }

    fn book_written(&mut self, now_ns: u64, side: &mut Side) {
        while let Some((end, ticket)) = self.marks.front() {
            if *end > self.written {
                break;
            }
            match ticket {
                Some(ticket) => side.book_sent(ticket, now_ns),
                None => side.counts.duplicated += 1,
            }
            self.marks.pop_front();
        }
    }

    /// Queries whose answer is not wholly written.
    pub(crate) fn unsent(&self) -> usize {
        self.marks.iter().filter(|(_, ticket)| ticket.is_some()).count()
    }

    /// Whether taking messages stopped for a reason that has gone: no event will tell.
    pub(crate) fn has_unread(&self) -> bool {
        self.is_paused && !self.is_backed_up()
    }

    /// Whether the client sends no more and has been given all.
    pub(crate) fn is_done(&self) -> bool {
        self.is_ended && !self.is_paused && self.held == 0 && self.marks.is_empty()
    }

    /// Closes the connection with RST instead of FIN; what is unwritten is lost.
    pub(crate) fn reset(self) -> io::Result<()> {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))
    }

    fn is_backed_up(&self) -> bool {
        self.outbox.len() - self.outbox_at > BACKLOG_BYTES || self.held > BACKLOG_QUERIES
    }
}

const READ_BYTES: usize = 16 * 1024;

/// What one connection may do in a round, before others have their turn.
const ROUND_BYTES: usize = 256 * 1024;

/// Answers that wait to be written before a connection is read no further.
const BACKLOG_BYTES: usize = 4 << 20;

/// Answers that are held before a connection is read no further.
const BACKLOG_QUERIES: usize = 1 << 20;

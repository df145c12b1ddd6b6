//! The TCP side of a world: one thread, many connections, pipelined queries, answers in the order in which they are
//! due.
//!
//! A connection is made by the kernel at once. What the handshake would have taken is added to the first answer: it is
//! due two round trips after the connection was accepted, and each other one a round trip after its query.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dnsdyno_responder::{DelayQueue, Shared};
use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::thread::set_timer_slack_ns;

use crate::book::Book;
use crate::world::{Effect, World};
use crate::{Transport, WorldError};

/// Serves one listening socket and its connections.
pub(crate) struct TcpWorker {
    listener: TcpListener,
    world: Arc<World>,
    book: Arc<Shared<Book>>,
    stop: Arc<AtomicBool>,
    start_ns: u64,
    poller: Poller,
    /// By token; a token is never used again, so that a late answer cannot reach another connection.
    connections: HashMap<u64, Connection>,
    next_token: u64,
    queue: DelayQueue<(u64, Vec<u8>)>,
    held_bytes: usize,
    next_sweep_ns: u64,
}

/// A connection of a client.
struct Connection {
    stream: TcpStream,
    local: IpAddr,
    peer_port: u16,
    accepted_ns: u64,
    active_ns: u64,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Octets of it that were written.
    outbox_at: usize,
    /// Answers in the outbox, and those that wait for their instant.
    unwritten: u64,
    waiting: u64,
    has_ended: bool,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    ByClient,
    Lost,
    Idle,
}

impl TcpWorker {
    pub(crate) fn new(
        listener: TcpListener,
        world: Arc<World>,
        book: Arc<Shared<Book>>,
        stop: Arc<AtomicBool>,
        start_ns: u64,
    ) -> Result<TcpWorker, WorldError> {
        let poller = Poller::new(EVENTS).map_err(WorldError::Start)?;
        poller.add(&listener, LISTENER).map_err(WorldError::Start)?;
        Ok(TcpWorker {
            listener,
            world,
            book,
            stop,
            start_ns,
            poller,
            connections: HashMap::new(),
            next_token: LISTENER + 1,
            queue: DelayQueue::new(),
            held_bytes: 0,
            next_sweep_ns: 0,
        })
    }

    /// Serves until it is stopped.
    pub(crate) fn run(mut self) {
        let _ = set_timer_slack_ns(1);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.round() {
                self.book.write().failures.push(format!("waiting for TCP connections failed: {error}"));
                break;
            }
        }
        let unwritten: u64 = self.connections.values().map(|connection| connection.unwritten).sum();
        let waiting: u64 = self.connections.values().map(|connection| connection.waiting).sum();
        self.book.write().ends.held += unwritten + waiting;
    }

    fn round(&mut self) -> io::Result<()> {
        let wait_ns = self.queue.next_due_ns().map_or(STOP_CHECK_NS, |due_ns| {
            due_ns.saturating_sub(monotonic_ns()).saturating_sub(SPIN_NS).min(STOP_CHECK_NS)
        });
        let tokens: Vec<u64> = self.poller.wait(Some(wait_ns))?.collect();
        let shared = Arc::clone(&self.book);
        let mut book = shared.write();
        let now_ns = monotonic_ns();
        for token in tokens {
            if token == LISTENER {
                self.accept_all(now_ns, &mut book);
            } else {
                self.serve(token, now_ns, &mut book);
            }
        }
        while let Some((token, frame)) = self.queue.pop_due(monotonic_ns()) {
            self.held_bytes -= frame.len();
            if let Some(connection) = self.connections.get_mut(&token) {
                connection.outbox.extend_from_slice(&frame);
                connection.waiting -= 1;
                connection.unwritten += 1;
                let end = connection.write(&mut book);
                // A client that does not read.
                let is_full = connection.outbox.len() - connection.outbox_at > MOST_UNREAD;
                let end = if is_full { Some(End::Lost) } else { end };
                self.close_if(token, end, &mut book);
            }
        }
        if now_ns >= self.next_sweep_ns {
            self.next_sweep_ns = now_ns + SWEEP_NS;
            let is_idle = |connection: &Connection| {
                connection.waiting == 0 && now_ns.saturating_sub(connection.active_ns) > IDLE_NS
            };
            let idle: Vec<u64> = self
                .connections
                .iter()
                .filter(|(_, connection)| is_idle(connection))
                .map(|(token, _)| *token)
                .collect();
            idle.into_iter().for_each(|token| self.close_if(token, Some(End::Idle), &mut book));
        }
        Ok(())
    }

    fn accept_all(&mut self, now_ns: u64, book: &mut Book) {
        // WouldBlock: all were accepted. Another error, such as too many descriptors, may pass.
        while let Ok((stream, peer)) = self.listener.accept() {
            book.connections.accepted += 1;
            if self.connections.len() >= MOST_CONNECTIONS {
                book.connections.turned_away += 1;
                continue;
            }
            let local = stream.local_addr().map(|address| address.ip());
            let set_up = local.and_then(|local| {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                self.poller.add_stream(&stream, self.next_token)?;
                Ok(local)
            });
            let Ok(local) = set_up else {
                book.connections.lost += 1;
                continue;
            };
            let connection = Connection {
                stream,
                local,
                peer_port: peer.port(),
                accepted_ns: now_ns,
                active_ns: now_ns,
                inbox: Vec::new(),
                outbox: Vec::new(),
                outbox_at: 0,
                unwritten: 0,
                waiting: 0,
                has_ended: false,
            };
            self.connections.insert(self.next_token, connection);
            self.next_token += 1;
        }
    }

    /// Reads from a connection, handles its queries, and writes.
    fn serve(&mut self, token: u64, now_ns: u64, book: &mut Book) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        let read = connection.read();
        connection.active_ns = now_ns;
        let second = (now_ns.saturating_sub(self.start_ns) / 1_000_000_000) as u32;
        let mut at = 0;
        while let Some((length, rest)) = connection.inbox[at..].split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some(query) = rest.get(..length) else { break };
            let mut frame = vec![0, 0];
            let (local, port) = (connection.local, connection.peer_port);
            let handled = self.world.handle(query, local, port, Transport::Tcp, &mut frame);
            at += 2 + length;
            book.note(&handled, Transport::Tcp, second);
            if !matches!(handled.effect, Effect::Answered { .. }) {
                continue;
            }
            if self.held_bytes + frame.len() > HELD_BYTES {
                book.ends.over_bound += 1;
                continue;
            }
            let answer_octets = (frame.len() - 2) as u16;
            frame[..2].copy_from_slice(&answer_octets.to_be_bytes());
            let delay_ns = handled.delay.as_nanos() as u64;
            let due_ns = (now_ns + delay_ns).max(connection.accepted_ns + 2 * delay_ns);
            self.held_bytes += frame.len();
            connection.waiting += 1;
            self.queue.push(due_ns, (token, frame));
        }
        connection.inbox.drain(..at);
        let end = read.or_else(|| connection.write(book));
        self.close_if(token, end, book);
    }

    /// Closes a connection that has ended; one whose client sends no more, once it has its answers.
    fn close_if(&mut self, token: u64, end: Option<End>, book: &mut Book) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        connection.has_ended |= end == Some(End::ByClient);
        let has_answers = connection.waiting > 0 || connection.unwritten > 0;
        let end = match end {
            Some(End::ByClient) | None if connection.has_ended && !has_answers => End::ByClient,
            Some(End::ByClient) | None => return,
            Some(end) => end,
        };
        match end {
            End::ByClient => book.connections.closed_by_client += 1,
            End::Lost => book.connections.lost += 1,
            End::Idle => book.connections.closed_idle += 1,
        }
        // Those in the queue find no connection any more.
        book.ends.unsent += connection.waiting + connection.unwritten;
        self.connections.remove(&token);
    }
}

impl Connection {
    /// Appends what has come to the inbox.
    fn read(&mut self) -> Option<End> {
        let mut part = [0; 16 * 1024];
        loop {
            if self.inbox.len() > MOST_UNREAD {
                return Some(End::Lost);
            }
            match self.stream.read(&mut part) {
                Ok(0) => return Some(End::ByClient),
                Ok(count) => self.inbox.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Some(End::Lost),
            }
        }
    }

    /// Writes what the kernel takes; books answers once all is written.
    fn write(&mut self, book: &mut Book) -> Option<End> {
        while self.outbox_at < self.outbox.len() {
            match self.stream.write(&self.outbox[self.outbox_at..]) {
                Ok(0) => return Some(End::Lost),
                Ok(count) => self.outbox_at += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Some(End::Lost),
            }
        }
        self.outbox.clear();
        self.outbox_at = 0;
        book.ends.sent += std::mem::take(&mut self.unwritten);
        None
    }
}

const LISTENER: u64 = 0;
const EVENTS: usize = 1_024;

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 60_000;

/// Octets that a client may send ahead of being handled, all that comes in one turn; and of answers that it does not
/// read.
const MOST_UNREAD: usize = 4 << 20;

/// A connection without a query for this time is closed; RFC 7766 asks for a few seconds at least.
const IDLE_NS: u64 = 10_000_000_000;
const SWEEP_NS: u64 = 1_000_000_000;

/// Octets of answers that wait for their distance.
const HELD_BYTES: usize = 64 << 20;

const SPIN_NS: u64 = 20_000;
const STOP_CHECK_NS: u64 = 20_000_000;

//! The TCP side: one thread, many connections, queries pipelined, answers as they fall due.
//!
//! Each message has its length before it, in two bytes (RFC 1035 §4.2.2). Faults and delays are
//! decided for each query, so answers may leave in another order than their queries came
//! (RFC 7766 §7). A reset takes the connection and all that is under way on it.
//!
//! A connection that takes no answers is not read any further until it does.

mod connection;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::thread::set_timer_slack_ns;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use crate::book::{Book, Ticket};
use crate::faults::Fault;
use crate::intake::Intake;
use crate::queue::DelayQueue;
use crate::shared::SharedBook;
use connection::{Connection, Input};

/// Serves one listening socket and all its connections.
pub(crate) struct TcpServer {
    listener: TcpListener,
    intake: Intake,
    book: Arc<SharedBook>,
    stop: Arc<AtomicBool>,
    settings: TcpSettings,
    poll: Poll,
    /// Waits for `poll` to the microsecond (its own waits are whole milliseconds).
    poller: Poller,
    /// By token; a token is never used again, so that a late answer finds no stranger.
    connections: HashMap<usize, Connection>,
    next_token: usize,
    queue: DelayQueue<Held>,
    held_bytes: usize,
    /// Connections that had more to read than one round takes.
    unread: Vec<usize>,
    /// When to accept again after an error: no event tells that.
    accept_again_ns: Option<u64>,
    next_sweep_ns: u64,
    frame: Vec<u8>,
}

/// Bounds of the TCP side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSettings {
    pub(crate) idle: Duration,
    pub(crate) connections_max: usize,
}

/// An answer in the queue, its length before it.
struct Held {
    token: usize,
    ticket: Ticket,
    frame: Vec<u8>,
}

impl TcpServer {
    pub(crate) fn new(
        mut listener: TcpListener,
        intake: Intake,
        book: Arc<SharedBook>,
        stop: Arc<AtomicBool>,
        settings: TcpSettings,
    ) -> io::Result<TcpServer> {
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let poller = Poller::new(1)?;
        poller.add(poll.registry(), 0)?;
        Ok(TcpServer {
            listener,
            intake,
            book,
            stop,
            settings,
            poll,
            poller,
            connections: HashMap::new(),
            next_token: LISTENER.0 + 1,
            queue: DelayQueue::new(),
            held_bytes: 0,
            unread: Vec::new(),
            accept_again_ns: None,
            next_sweep_ns: 0,
            frame: Vec::new(),
        })
    }

    /// Serves until told to stop.
    pub(crate) fn run(mut self) {
        // Only a matter of precision: without it, answers leave up to 50 µs later.
        let _ = set_timer_slack_ns(1);
        let mut events = Events::with_capacity(EVENTS);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.round(&mut events) {
                self.book.write().failures.push(format!("waiting for TCP connections failed: {error}"));
                break;
            }
        }
        let unsent: usize = self.connections.values().map(Connection::unsent).sum();
        self.book.write().tcp.counts.held_at_stop += (self.queue.len() + unsent) as u64;
    }

    fn round(&mut self, events: &mut Events) -> io::Result<()> {
        self.wait()?;
        match self.poll.poll(events, Some(Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let shared = Arc::clone(&self.book);
        let mut book = shared.write();
        let now_ns = monotonic_ns();
        let mut accept = self.accept_again_ns.is_some_and(|again_ns| again_ns <= now_ns);
        for token in std::mem::take(&mut self.unread) {
            self.serve(token, &mut book);
        }
        for event in &*events {
            match event.token() {
                LISTENER => accept = true,
                Token(token) => self.serve(token, &mut book),
            }
        }
        if accept {
            self.accept_all(now_ns, &mut book);
        }
        self.release_due(&mut book);
        if now_ns >= self.next_sweep_ns {
            self.close_idle(now_ns, &mut book);
        }
        Ok(())
    }

    /// Waits for an event, the next answer that is due, or the next look around.
    fn wait(&mut self) -> io::Result<()> {
        if !self.unread.is_empty() {
            return Ok(());
        }
        let now_ns = monotonic_ns();
        let instants = [self.queue.next_due_ns(), self.accept_again_ns, Some(self.next_sweep_ns)];
        let next_ns = instants.into_iter().flatten().min().unwrap_or(now_ns);
        let wait_ns = next_ns.saturating_sub(now_ns).min(STOP_CHECK_NS);
        if wait_ns > SPIN_NS {
            let _ready = self.poller.wait(Some(wait_ns - SPIN_NS))?;
        }
        Ok(())
    }

    fn accept_all(&mut self, now_ns: u64, book: &mut Book) {
        self.accept_again_ns = None;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    book.connections.accepted += 1;
                    if self.connections.len() >= self.settings.connections_max {
                        book.connections.turned_away += 1;
                        continue;
                    }
                    let token = self.next_token;
                    self.next_token += 1;
                    match Connection::open(stream, self.poll.registry(), Token(token), now_ns) {
                        Ok(connection) => drop(self.connections.insert(token, connection)),
                        Err(_) => book.connections.accept_errors += 1,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    book.connections.accept_errors += 1;
                    self.accept_again_ns = Some(now_ns + ACCEPT_PAUSE_NS);
                    return;
                }
            }
        }
    }

    /// Reads what a connection has, answers it, and writes what it takes.
    fn serve(&mut self, token: usize, book: &mut Book) {
        // Out of the map while it is served, so that it and the rest can be changed.
        let Some(mut connection) = self.connections.remove(&token) else { return };
        let mut input = connection.read(monotonic_ns());
        let now_ns = monotonic_ns();
        while let Some(message) = connection.next_message() {
            self.frame.clear();
            self.frame.extend_from_slice(&[0, 0]);
            let Some(taken) = self.intake.take(message, now_ns, &mut book.tcp, &mut self.frame) else {
                continue;
            };
            set_length(&mut self.frame);
            if taken.due_ns > now_ns {
                self.hold(token, taken.ticket, taken.due_ns, &mut connection, book);
            } else if taken.ticket.fault == Some(Fault::Reset) {
                return reset(connection, &taken.ticket, now_ns, book);
            } else {
                connection.push(&self.frame, taken.ticket);
            }
        }
        connection.forget_read();
        if connection.write(&mut book.tcp).is_err() {
            input = Input::Broken;
        }
        if input == Input::More || connection.has_unread() {
            self.unread.push(token);
        }
        self.keep_or_close(token, connection, input == Input::Broken, book);
    }

    fn hold(
        &mut self,
        token: usize,
        ticket: Ticket,
        due_ns: u64,
        connection: &mut Connection,
        book: &mut Book,
    ) {
        if self.held_bytes + self.frame.len() > HELD_BYTES {
            book.tcp.counts.over_bound += 1;
            return;
        }
        self.held_bytes += self.frame.len();
        connection.held += 1;
        self.queue.push(due_ns, Held { token, ticket, frame: self.frame.clone() });
    }

    fn release_due(&mut self, book: &mut Book) {
        let now_ns = monotonic_ns();
        while let Some(held) = self.queue.pop_due(now_ns) {
            self.held_bytes -= held.frame.len();
            let Some(mut connection) = self.connections.remove(&held.token) else {
                book.tcp.counts.lost_with_connection += 1;
                continue;
            };
            connection.held -= 1;
            if held.ticket.fault == Some(Fault::Reset) {
                reset(connection, &held.ticket, now_ns, book);
                continue;
            }
            connection.push(&held.frame, held.ticket);
            let broken = connection.write(&mut book.tcp).is_err();
            if connection.has_unread() {
                self.unread.push(held.token);
            }
            self.keep_or_close(held.token, connection, broken, book);
        }
    }

    /// Closes connections on which nothing has moved and nothing is held.
    fn close_idle(&mut self, now_ns: u64, book: &mut Book) {
        let idle_ns = u64::try_from(self.settings.idle.as_nanos()).unwrap_or(u64::MAX);
        self.next_sweep_ns = now_ns + (idle_ns / 4).clamp(1_000_000, MOST_SWEEP_NS);
        self.connections.retain(|_, connection| {
            let is_idle = connection.held == 0 && now_ns.saturating_sub(connection.active_ns) >= idle_ns;
            if is_idle {
                book.connections.closed_idle += 1;
                book.tcp.counts.lost_with_connection += connection.unsent() as u64;
            }
            !is_idle
        });
    }

    fn keep_or_close(&mut self, token: usize, connection: Connection, broken: bool, book: &mut Book) {
        if broken {
            book.tcp.counts.lost_with_connection += connection.unsent() as u64;
        } else if !connection.is_done() {
            self.connections.insert(token, connection);
        }
    }
}

/// Resets a connection, with all that is under way on it (what is held is booked when due).
fn reset(connection: Connection, ticket: &Ticket, now_ns: u64, book: &mut Book) {
    book.tcp.counts.lost_with_connection += connection.unsent() as u64;
    match connection.reset() {
        Ok(()) => book.tcp.book_sent(ticket, now_ns),
        Err(_) => book.tcp.counts.send_errors += 1,
    }
}

/// Writes the length of a message into the two bytes before it.
fn set_length(frame: &mut [u8]) {
    // The answer side keeps messages to 65,535 bytes.
    let length = (frame.len() - 2) as u16;
    frame[..2].copy_from_slice(&length.to_be_bytes());
}

const LISTENER: Token = Token(0);

const EVENTS: usize = 1024;

/// Bytes of held answers before further ones are given up.
const HELD_BYTES: usize = 1 << 30;

/// The last stretch before an answer is due is not slept. Waking takes about this long.
const SPIN_NS: u64 = 20_000;

/// How often the thread looks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

/// Time between two looks for idle connections, at most.
const MOST_SWEEP_NS: u64 = 1_000_000_000;

/// After a failed `accept` (no file descriptor left, say), time for connections to be closed.
const ACCEPT_PAUSE_NS: u64 = 50_000_000;

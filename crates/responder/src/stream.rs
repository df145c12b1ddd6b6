//! Serves byte streams: TCP, TLS (DoT) and HTTP/2 (DoH). One thread, many connections, pipelined queries,
//! responses in the order in which they are due.
//!
//! ```text
//!  socket ──► pipe (as it is, or TLS) ──► messages by length, or HTTP ──► intake ──► due now ──► outbox
//!                                                                           │                     ▲
//!                                                                           └──► due later ──► queue
//! ```
//!
//! Over TCP and TLS each message has its length before it, in two bytes (RFC 1035 §4.2.2). Faults and
//! delays are decided for each query, so responses may be sent in another order than their queries (RFC
//! 7766 §7). A reset ends the connection with all its outstanding queries.
//!
//! A connection that does not accept responses is not read until it does. One that is closed on command
//! is first closed for writing, and what it sends is discarded until the client closes it: if it were
//! closed with unread bytes the kernel would send a reset instead.

mod connection;
mod http;
mod pipe;
mod room;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::thread::{is_out_of_files, set_timer_slack_ns};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use rustls::{ServerConfig, ServerConnection};

use crate::book::{Book, Connections, ResponseInfo, Side};
use crate::faults::{ConnectionFault, Fault};
use crate::intake::{Intake, Unanswered};
use crate::kind::Transport;
use crate::queue::DelayQueue;
use crate::shared::SharedBook;
use connection::{Buffers, Connection, Input};
use http::Http;
use pipe::{Broken, Handshake, Pipe};
use room::Place;
pub(crate) use room::Room;

/// Serves one listening socket and all its connections.
pub(crate) struct StreamServer {
    listener: TcpListener,
    intake: Intake,
    book: Arc<SharedBook>,
    stop: Arc<AtomicBool>,
    settings: StreamSettings,
    poll: Poll,
    /// Waits for `poll` to the microsecond (its own waits are whole milliseconds).
    poller: Poller,
    /// By token; a token is never used again, so that a late response cannot reach another
    /// connection.
    connections: HashMap<usize, Connection>,
    next_token: usize,
    queue: DelayQueue<Due>,
    held_bytes: usize,
    /// Connections that had more to read than one round allows.
    unread: Vec<usize>,
    /// When to accept again after an error: no event reports that.
    accept_again_ns: Option<u64>,
    next_sweep_ns: u64,
    frame: Vec<u8>,
    buffers: Buffers,
}

/// The transport of a stream server, and its limits.
#[derive(Clone, Debug)]
pub(crate) struct StreamSettings {
    pub(crate) transport: Transport,
    /// Where the transport has a handshake.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) idle: Duration,
    /// For the connections of all threads of its address and transport.
    pub(crate) room: Arc<Room>,
    /// Set where a thread had no file left for a connection.
    pub(crate) is_out_of_files: Arc<AtomicBool>,
    pub(crate) close_after: Option<u64>,
}

/// What is due at an instant.
enum Due {
    /// A response with its length before it.
    Answer { token: usize, stream: u64, info: ResponseInfo, frame: Vec<u8> },
    /// A timer of a connection.
    Timer { token: usize },
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    ByClient,
    Lost,
    Rules,
    OnCommand,
    ResetOnCommand,
    Alert,
}

impl StreamServer {
    pub(crate) fn new(
        mut listener: TcpListener,
        intake: Intake,
        book: Arc<SharedBook>,
        stop: Arc<AtomicBool>,
        settings: StreamSettings,
    ) -> io::Result<StreamServer> {
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let poller = Poller::new(1)?;
        poller.add(poll.registry(), 0)?;
        Ok(StreamServer {
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
            buffers: Buffers::default(),
        })
    }

    /// Serves until it is stopped.
    pub(crate) fn run(mut self) {
        // Without it, responses are sent up to 50 µs later.
        let _ = set_timer_slack_ns(1);
        let mut events = Events::with_capacity(EVENTS);
        let transport = self.settings.transport;
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.round(&mut events) {
                let failure = format!("waiting for {transport} connections failed: {error}");
                self.book.write().failures.push(failure);
                break;
            }
        }
        let mut book = self.book.write();
        let side = book.side_mut(transport);
        let unsent: usize = self.connections.values().map(Connection::unsent).sum();
        let held = std::iter::from_fn(|| self.queue.pop_due(u64::MAX));
        let held = held.filter(|due| matches!(due, Due::Answer { .. })).count();
        side.counts.held_at_stop += (held + unsent) as u64;
        let open = self.connections.values().filter(|connection| !connection.is_closing).count();
        side.connections.open_at_stop += open as u64;
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

    /// Waits for an event, the next response that is due, or the next check for idle connections.
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
        let connections = &mut book.side_mut(self.settings.transport).connections;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    connections.accepted += 1;
                    match self.settings.room.take().map(|place| self.open(stream, place, connections)) {
                        None => connections.turned_away += 1,
                        // The client has closed already, or no memory is left for it.
                        Some(Err(_)) => connections.lost += 1,
                        Some(Ok(())) => {}
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    connections.accept_errors += 1;
                    if is_out_of_files(&error) {
                        connections.out_of_files += 1;
                        self.settings.is_out_of_files.store(true, Ordering::Relaxed);
                    }
                    self.accept_again_ns = Some(now_ns + ACCEPT_PAUSE_NS);
                    return;
                }
            }
        }
    }

    fn open(&mut self, stream: TcpStream, place: Place, book: &mut Connections) -> io::Result<()> {
        // A response is complete when written: there is nothing to wait for.
        stream.set_nodelay(true)?;
        let tls = self.settings.tls.clone().map(ServerConnection::new).transpose();
        let mut pipe = Pipe::new(stream, tls.map_err(io::Error::other)?);
        let token = self.next_token;
        self.next_token += 1;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(pipe.socket(), Token(token), interest)?;
        let http = (self.settings.transport == Transport::Doh).then(|| Box::new(Http::new()));
        let mut connection = Connection::new(pipe, http, place, monotonic_ns());
        connection.fault = self.intake.decide_connection();
        book.silent += u64::from(connection.fault == Some(ConnectionFault::Silent));
        book.handshakes_withheld += u64::from(connection.fault == Some(ConnectionFault::NoHandshake));
        self.connections.insert(token, connection);
        Ok(())
    }

    /// Reads from a connection, answers its queries, and writes.
    fn serve(&mut self, token: usize, book: &mut Book) {
        // Taken out of the map while it is served, so that both can be changed.
        let Some(mut connection) = self.connections.remove(&token) else { return };
        let side = book.side_mut(self.settings.transport);
        connection.borrow_buffers(&mut self.buffers);
        let end = self.serve_round(token, &mut connection, side);
        // The handshake may have ended just before an error.
        note_handshake(&mut connection, side);
        self.keep_or_close(token, connection, end, side);
    }

    /// One round of a connection; returns how it ends, if it does.
    fn serve_round(
        &mut self,
        token: usize,
        connection: &mut Connection,
        side: &mut Side,
    ) -> Result<Option<End>, Broken> {
        if connection.is_closing {
            return connection.pipe.discard().map(|_| None);
        }
        match connection.fault {
            // Open until the client gives up.
            Some(ConnectionFault::NoHandshake) => return connection.pipe.discard().map(|_| None),
            Some(ConnectionFault::TlsAlert) => {
                return connection.pipe.discard().map(|has_hello| has_hello.then_some(End::Alert));
            }
            Some(ConnectionFault::Silent) | None => {}
        }
        let was_handshaking = connection.pipe.is_handshaking();
        let input = connection.read(monotonic_ns())?;
        note_handshake(connection, side);
        let is_early = was_handshaking && connection.pipe.is_handshaking();
        if let Some(end) = self.answer_all(token, connection, is_early, side) {
            return Ok(Some(end));
        }
        connection.forget_read();
        let end = self.finish(token, connection, side)?;
        if input == Input::More || connection.has_unread() {
            self.unread.push(token);
        }
        Ok(end)
    }

    /// Answers all received messages, or puts their responses into the queue.
    fn answer_all(
        &mut self,
        token: usize,
        connection: &mut Connection,
        is_early: bool,
        side: &mut Side,
    ) -> Option<End> {
        let now_ns = monotonic_ns();
        let is_silent = connection.fault == Some(ConnectionFault::Silent);
        let mut is_first = !connection.is_asked;
        while !self.has_answered_enough(connection) {
            let accepted_ns = connection.accepted_ns;
            let Some((stream, message)) = connection.next_message() else { break };
            if std::mem::take(&mut is_first) {
                side.first_query.record(now_ns.saturating_sub(accepted_ns));
            }
            side.counts.early += u64::from(is_early);
            if is_silent {
                side.counts.received += 1;
                side.counts.silenced += 1;
                continue;
            }
            self.frame.clear();
            self.frame.extend_from_slice(&[0, 0]);
            let taken = self.intake.process(&message, now_ns, side, &mut self.frame);
            drop(message);
            match taken {
                Err(Unanswered::NotAQuery) => connection.refuse(stream),
                Err(Unanswered::Dropped) => {}
                Ok(taken) => {
                    set_length(&mut self.frame);
                    if taken.due_ns > now_ns {
                        self.hold(token, stream, taken.info, taken.due_ns, connection, side);
                    } else if let Some(end) = self.push(connection, stream, taken.info, now_ns, side) {
                        return Some(end);
                    }
                }
            }
        }
        connection.is_asked = !is_first;
        None
    }

    /// Appends the response in `frame` to the outbox; returns how that ends the connection, if it
    /// does.
    fn push(
        &mut self,
        connection: &mut Connection,
        stream: u64,
        info: ResponseInfo,
        now_ns: u64,
        side: &mut Side,
    ) -> Option<End> {
        match info.fault {
            Some(Fault::Reset) => {}
            Some(Fault::Cut) => {
                connection.push(stream, &mut self.frame, info, now_ns, side);
                // Of this half only what the socket accepts at once is sent.
                let _ = connection.write(side);
            }
            _ => {
                connection.push(stream, &mut self.frame, info, now_ns, side);
                return None;
            }
        }
        side.book_sent(&info, now_ns);
        Some(End::ResetOnCommand)
    }

    fn hold(
        &mut self,
        token: usize,
        stream: u64,
        info: ResponseInfo,
        due_ns: u64,
        connection: &mut Connection,
        side: &mut Side,
    ) {
        if self.held_bytes + self.frame.len() > HELD_BYTES {
            side.counts.over_bound += 1;
            return;
        }
        self.held_bytes += self.frame.len();
        connection.held += 1;
        self.queue.push(due_ns, Due::Answer { token, stream, info, frame: self.frame.clone() });
    }

    /// Sends all that is due. Responses that are sent on one connection share one write.
    fn release_due(&mut self, book: &mut Book) {
        let now_ns = monotonic_ns();
        let side = book.side_mut(self.settings.transport);
        let mut touched = Vec::new();
        while let Some(due) = self.queue.pop_due(now_ns) {
            match due {
                Due::Timer { token } => touched.push(token),
                Due::Answer { token, stream, info, frame } => {
                    self.held_bytes -= frame.len();
                    self.frame = frame;
                    self.release(token, stream, info, now_ns, side);
                    touched.push(token);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for token in touched {
            let Some(mut connection) = self.connections.remove(&token) else { continue };
            connection.timer_ns = connection.timer_ns.filter(|timer_ns| *timer_ns > now_ns);
            connection.borrow_buffers(&mut self.buffers);
            let end =
                if connection.is_closing { Ok(None) } else { self.finish(token, &mut connection, side) };
            if connection.has_unread() {
                self.unread.push(token);
            }
            self.keep_or_close(token, connection, end, side);
        }
    }

    /// Appends the response in `frame`, which was held.
    fn release(&mut self, token: usize, stream: u64, info: ResponseInfo, now_ns: u64, side: &mut Side) {
        let Some(mut connection) = self.connections.remove(&token) else {
            side.counts.lost_with_connection += 1;
            return;
        };
        connection.held -= 1;
        if connection.is_closing || self.has_answered_enough(&connection) {
            side.counts.lost_with_connection += 1;
            self.connections.insert(token, connection);
            return;
        }
        let end = self.push(&mut connection, stream, info, now_ns, side);
        self.keep_or_close(token, connection, Ok(end), side);
    }

    /// Writes the outbox of a connection, and returns how it ends, if it does.
    fn finish(
        &mut self,
        token: usize,
        connection: &mut Connection,
        side: &mut Side,
    ) -> Result<Option<End>, Broken> {
        connection.release_kept_back(monotonic_ns(), side);
        connection.work(side);
        connection.write(side)?;
        if let Some(timer_ns) = connection.next_timer_ns()
            && connection.timer_ns.is_none_or(|known_ns| known_ns > timer_ns)
        {
            connection.timer_ns = Some(timer_ns);
            self.queue.push(timer_ns, Due::Timer { token });
        }
        let is_written = connection.is_written();
        Ok(match connection.http_over() {
            Some(false) if !connection.sent_goaway => Some(End::Rules),
            Some(_) if is_written => {
                Some(if connection.sent_goaway { End::OnCommand } else { End::ByClient })
            }
            _ if is_written && self.has_answered_enough(connection) => Some(End::OnCommand),
            _ => connection.is_done().then_some(End::ByClient),
        })
    }

    fn has_answered_enough(&self, connection: &Connection) -> bool {
        self.settings.close_after.is_some_and(|most| connection.answers >= most)
    }

    fn keep_or_close(
        &mut self,
        token: usize,
        mut connection: Connection,
        end: Result<Option<End>, Broken>,
        side: &mut Side,
    ) {
        connection.return_buffers(&mut self.buffers);
        let end = match end {
            Ok(None) => {
                self.connections.insert(token, connection);
                return;
            }
            Ok(Some(end)) => end,
            Err(Broken::Lost) => End::Lost,
            Err(Broken::Ended) => End::ByClient,
            Err(Broken::Rules) => End::Rules,
        };
        if connection.is_closing {
            return;
        }
        self.book_end(&connection, end, &mut side.connections);
        connection.book_lost(side);
        match end {
            End::OnCommand => {
                // If it were closed with unread bytes, it would be reset instead.
                if connection.close_for_writing().is_ok() {
                    self.connections.insert(token, connection);
                }
            }
            End::ResetOnCommand => drop(connection.pipe.reset()),
            End::Alert => connection.pipe.alert(),
            End::ByClient | End::Rules | End::Lost => drop(connection.pipe.end()),
        }
    }

    fn book_end(&self, connection: &Connection, end: End, book: &mut Connections) {
        let is_by_us = matches!(end, End::OnCommand | End::ResetOnCommand | End::Alert);
        let has_handshake = self.settings.transport.has_handshake();
        let count = match end {
            _ if has_handshake && !connection.is_handshake_booked && !is_by_us => &mut book.handshakes_failed,
            End::OnCommand => &mut book.closed_on_command,
            _ if connection.sent_goaway => &mut book.closed_on_command,
            End::ResetOnCommand => &mut book.reset_on_command,
            End::Alert => &mut book.tls_alerts,
            End::ByClient => &mut book.closed_by_client,
            End::Rules => &mut book.closed_for_error,
            End::Lost => &mut book.lost,
        };
        *count += 1;
    }

    /// Closes connections without traffic and without held responses.
    fn close_idle(&mut self, now_ns: u64, book: &mut Book) {
        let idle_ns = u64::try_from(self.settings.idle.as_nanos()).unwrap_or(u64::MAX);
        self.next_sweep_ns = now_ns + (idle_ns / 4).clamp(1_000_000, MOST_SWEEP_NS);
        let side = book.side_mut(self.settings.transport);
        self.connections.retain(|_, connection| {
            let is_quiet = connection.held == 0 && now_ns.saturating_sub(connection.active_ns) >= idle_ns;
            // A connection that is silent on command stays open as long as the client keeps
            // it.
            let is_idle = is_quiet && connection.fault.is_none();
            if is_idle && !connection.is_closing {
                side.connections.closed_idle += 1;
                connection.book_lost(side);
                let _ = connection.pipe.end();
            }
            !is_idle
        });
    }
}

/// Books the end of a handshake, once.
fn note_handshake(connection: &mut Connection, side: &mut Side) {
    let Some(handshake) = connection.new_handshake() else { return };
    side.handshake.record(monotonic_ns().saturating_sub(connection.accepted_ns));
    let connections = &mut side.connections;
    match handshake {
        Handshake::Full => connections.handshakes_full += 1,
        Handshake::Resumed => connections.handshakes_resumed += 1,
        Handshake::Early => connections.handshakes_early += 1,
    }
}

/// Writes the length of a message into the two bytes before it.
fn set_length(frame: &mut [u8]) {
    // Messages are at most 65,535 bytes long.
    let length = (frame.len() - 2) as u16;
    frame[..2].copy_from_slice(&length.to_be_bytes());
}

const LISTENER: Token = Token(0);

const EVENTS: usize = 1024;

/// Bytes of held responses; further ones are dropped.
const HELD_BYTES: usize = 1 << 30;

/// The last microseconds before a response is due are spent polling: waking takes about this long.
const SPIN_NS: u64 = 20_000;

/// How often the thread checks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

/// Longest time between two checks for idle connections.
const MOST_SWEEP_NS: u64 = 1_000_000_000;

/// After a failed `accept` (for example without a free file descriptor), time for connections to be
/// closed.
const ACCEPT_PAUSE_NS: u64 = 50_000_000;

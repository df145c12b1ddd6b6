//! The clients of one worker: what opening, reading and sending have in common.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;

use dnsdyno_measure::{ConnectionEnd, HandshakeFailure, NotSentReason};
use dnsdyno_sys::poll::{Poller, Ready};

use super::client::{Client, Phase, write};
use super::config::{StreamOpenError, open_error};
use super::dial::{Dialer, failure_of};
use super::pool::BufferPool;
use super::session::Session;
use crate::bounds::{CHUNK_BYTES, REPLY_BYTES};
use crate::description::Description;
use crate::proxy::ProxiedConnections;
use crate::worker_clock::WorkerClock;
use crate::{ConnectionEvent, Sink};

/// One worker's clients, each of whose connections has a session of this kind.
pub struct Streams<S: Session> {
    pub(super) clients: Vec<Client<S>>,
    pub(super) shared: S::Shared,
    /// Clients that may send next, in order. Some may turn out to be unable to.
    pub(super) queue: VecDeque<u32>,
    /// Why the last client that could not send could not.
    pub(super) blocked_by: NotSentReason,
    pub(super) dialer: Dialer,
    /// The headers of the PROXY protocol, where the run has any.
    pub(super) proxied: Option<ProxiedConnections>,
    pub(super) poller: Poller,
    /// Events of the last wait that were not processed yet.
    pub(super) ready: Vec<Ready>,
    pub(super) has_waited: bool,
    /// Clients whose connection had more data than a turn may read, and those of the turn before.
    pub(super) unread: Vec<u32>,
    pub(super) left_over: Vec<u32>,
    /// Events of connections, to be reported to the sink.
    pub(super) news: Vec<(u32, u64, ConnectionEvent)>,
    pub(super) reused: u64,
    /// Bytes to be written.
    pub(super) frames: Vec<u8>,
    pub(super) chunk: Box<[u8]>,
    pub(super) pool: BufferPool,
    pub(super) clock: WorkerClock,
    /// Queries that a connection carries at most.
    pub(super) limit: u32,
    pub(super) timeout_ns: u64,
    pub(super) idle_timeout_ns: Option<u64>,
    pub(super) handshake_timeout_ns: u64,
    pub(super) fast_open: bool,
    pub(super) next_sweep_ns: u64,
    pub(super) sweep_ns: u64,
    /// No connection is started before this instant, because no local port was free.
    pub(super) no_port_until_ns: u64,
    /// Connection attempts in a row that found no port.
    pub(super) without_port: usize,
}

impl<S: Session> Streams<S> {
    /// The clients of worker number `worker`, whose connections start from these addresses in turn (none: the
    /// kernel chooses); none has a connection yet.
    ///
    /// # Errors
    /// Where the host provides no epoll set, or TLS cannot be set up.
    pub(super) fn open(
        config: &Description,
        session: &S::Setup,
        local_addresses: &[IpAddr],
        worker: usize,
    ) -> Result<Self, StreamOpenError> {
        let clients = config.clients_of(worker);
        let poller = Poller::new(EVENTS.min(clients)).map_err(|source| open_error(config.server, source))?;
        let limit = config.queries_each.unwrap_or(u32::MAX);
        let shortest_ns = config.timeout_ns.min(config.idle_timeout_ns.unwrap_or(u64::MAX));
        let shortest_ns = shortest_ns.min(config.handshake_timeout_ns);
        Ok(Streams {
            shared: S::shared(session, clients)?,
            clients: (0..clients).map(|_| Client { is_queued: true, ..Client::default() }).collect(),
            queue: (0..clients as u32).collect(),
            blocked_by: NotSentReason::NoFreeConnection,
            dialer: Dialer::new(config, local_addresses, worker, limit > 1),
            proxied: config
                .proxy
                .map(|source| ProxiedConnections::new(source, config.server, worker, config.workers)),
            poller,
            ready: Vec::with_capacity(EVENTS),
            has_waited: false,
            unread: Vec::new(),
            left_over: Vec::new(),
            news: Vec::new(),
            reused: 0,
            frames: Vec::new(),
            chunk: vec![0; CHUNK_BYTES].into(),
            pool: BufferPool::default(),
            clock: WorkerClock::default(),
            limit,
            timeout_ns: config.timeout_ns,
            idle_timeout_ns: config.idle_timeout_ns,
            handshake_timeout_ns: config.handshake_timeout_ns,
            fast_open: config.fast_open,
            next_sweep_ns: 0,
            sweep_ns: (shortest_ns / 20).clamp(SHORTEST_SWEEP_NS, LONGEST_SWEEP_NS),
            no_port_until_ns: 0,
            without_port: 0,
        })
    }

    /// Takes a connection out of use, and keeps the event for the sink.
    pub(super) fn end_connection(&mut self, channel: usize, event: ConnectionEvent) {
        let client = &self.clients[channel];
        if matches!(client.phase, Phase::Vacant | Phase::Ending) {
            return;
        }
        let now_ns = self.clock.now_ns();
        let has_sent_nothing = client.queries > 0 && self.has_sent_nothing(channel);
        if has_sent_nothing {
            self.news.push((channel as u32, now_ns, ConnectionEvent::NothingSent));
        }
        let client = &mut self.clients[channel];
        (client.phase, client.has_sent_nothing) = (Phase::Ending, has_sent_nothing);
        self.news.push((channel as u32, now_ns, event));
    }

    /// Whether no query has left over the connection, which is still being opened, or was when it ended.
    pub(super) fn has_sent_nothing(&self, channel: usize) -> bool {
        let client = &self.clients[channel];
        match client.phase {
            // With Fast Open queries leave with the first packet.
            Phase::Opening => !self.fast_open,
            Phase::Open => client
                .session
                .as_ref()
                .is_some_and(|session| session.is_handshaking() && !session.has_sent_early()),
            Phase::Ending => client.has_sent_nothing,
            Phase::Vacant => false,
        }
    }

    /// Takes an open connection out of use. During its handshake that is a failed handshake.
    pub(super) fn end_open(&mut self, channel: usize, end: ConnectionEnd) {
        let client = &self.clients[channel];
        if client.is_handshaking() {
            let has_read = client.has_read;
            let why = match end {
                ConnectionEnd::ByServer | ConnectionEnd::Reset => HandshakeFailure::Closed,
                ConnectionEnd::ByUs | ConnectionEnd::Silent => HandshakeFailure::TimedOut,
                _ => HandshakeFailure::Protocol,
            };
            if why == HandshakeFailure::Closed
                && let Some(explained) = S::explained(&mut self.shared)
            {
                explained.handshake(why, || closed_words(end, has_read));
            }
            return self.fail_handshake(channel, why);
        }
        let answers = u64::from(client.answers);
        // A server that closes the connection may have given the reason before.
        let closing = client.session.as_ref().and_then(S::closing);
        let end = closing.filter(|_| end == ConnectionEnd::ByServer).unwrap_or(end);
        if matches!(end, ConnectionEnd::ByUs | ConnectionEnd::GoneAway) {
            self.close_session(channel);
        }
        self.end_connection(channel, ConnectionEvent::Ended { end, answers });
    }

    #[cold]
    pub(super) fn fail_handshake(&mut self, channel: usize, why: HandshakeFailure) {
        if self.clients[channel].phase == Phase::Open {
            let has_read = self.clients[channel].has_read;
            if why == HandshakeFailure::TimedOut
                && let Some(explained) = S::explained(&mut self.shared)
            {
                explained.handshake(why, || timed_out_words(has_read));
            }
            self.news.push((channel as u32, self.clock.now_ns(), ConnectionEvent::HandshakeFailed(why)));
            self.end_connection(
                channel,
                ConnectionEvent::Ended { end: ConnectionEnd::Handshake, answers: 0 },
            );
        }
    }

    /// Sends the last bytes of a session.
    pub(super) fn close_session(&mut self, channel: usize) {
        self.frames.clear();
        if let Some(session) = &mut self.clients[channel].session {
            session.close(&mut self.frames);
        }
        self.write_last(channel);
    }

    /// Writes `frames` if the kernel accepts them: whether they arrive does not matter for a
    /// connection that ends.
    pub(super) fn write_last(&mut self, channel: usize) {
        let client = &self.clients[channel];
        if let (Some(stream), false, true) =
            (&client.stream, self.frames.is_empty(), client.outbox.is_empty())
        {
            let _ = write(stream, &self.frames);
        }
    }

    /// A write over an open connection has failed: the next turn reads what was received before, and ends it.
    #[cold]
    pub(super) fn fail_on_write(&mut self, channel: usize, error: &io::Error) {
        let client = &mut self.clients[channel];
        if client.phase != Phase::Open {
            return self.fail_on_error(channel, error);
        }
        client.is_broken = true;
        self.pool.give_back(std::mem::take(&mut client.outbox));
        client.outbox_at = 0;
        if !std::mem::replace(&mut client.is_unread, true) {
            self.unread.push(channel as u32);
        }
    }

    /// Ends a connection on which a call failed.
    #[cold]
    pub(super) fn fail_on_error(&mut self, channel: usize, error: &io::Error) {
        match self.clients[channel].phase {
            Phase::Opening => self.end_connection(channel, ConnectionEvent::Failed(failure_of(error))),
            _ => self.end_open(channel, ConnectionEnd::Reset),
        }
    }

    /// Reports events, in order. A client whose connection has ended can send again from here on.
    pub(super) fn report(&mut self, sink: &mut impl Sink) {
        if self.reused > 0 {
            sink.reused(std::mem::take(&mut self.reused));
        }
        for i in 0..self.news.len() {
            let (channel, at_ns, news) = self.news[i];
            if matches!(news, ConnectionEvent::Failed(_) | ConnectionEvent::Ended { .. }) {
                if let Some(local) = self.clients[channel as usize].vacate(&mut self.pool) {
                    self.dialer.give_back(local, self.clock.now_ns());
                }
                self.enqueue(channel as usize);
            }
            sink.connection(channel as usize, at_ns, news);
        }
        self.news.clear();
    }

    pub(super) fn enqueue(&mut self, channel: usize) {
        let client = &mut self.clients[channel];
        if client.is_queued {
            return;
        }
        if client.capacity(self.limit) > 0 {
            client.is_queued = true;
            self.queue.push_back(channel as u32);
        } else {
            self.note_blocked(channel);
        }
    }

    /// Notes why a client cannot send.
    pub(super) fn note_blocked(&mut self, channel: usize) {
        if let Some(session) = &self.clients[channel].session {
            self.blocked_by = session.blocked_by();
        }
    }

    /// Moves the client to the end of the queue, if it is at the front.
    pub(super) fn move_to_back(&mut self, channel: usize) {
        if self.queue.front() == Some(&(channel as u32)) {
            self.queue.pop_front();
            self.clients[channel].is_queued = false;
            self.enqueue(channel);
        }
    }

    pub(super) fn flush(&mut self, channel: usize) {
        match self.clients[channel].flush(&mut self.pool) {
            Ok(()) => self.enqueue(channel),
            Err(error) => self.fail_on_write(channel, &error),
        }
    }

    /// Writes `frames`, after what waits in the outbox.
    pub(super) fn write_frames(&mut self, channel: usize) {
        let client = &mut self.clients[channel];
        if client.is_broken {
            return;
        }
        let mut written = Ok(0);
        if client.outbox.is_empty() {
            written = client.stream.as_ref().map_or(Ok(0), |stream| write(stream, &self.frames));
        }
        match written {
            Ok(length) if length < self.frames.len() => {
                let rest = &self.frames[length..];
                client.replies += rest.len();
                client.queue(rest, &mut self.pool);
                if client.replies > REPLY_BYTES {
                    self.end_excess(channel);
                }
            }
            Ok(_) => {}
            Err(error) => self.fail_on_write(channel, &error),
        }
    }

    /// Closes a connection whose server has us reply and does not read the replies.
    #[cold]
    fn end_excess(&mut self, channel: usize) {
        if let Some(explained) = S::explained(&mut self.shared) {
            explained.end(ConnectionEnd::Excess, || {
                format!("the server did not read {} kB of replies to its messages", REPLY_BYTES >> 10)
            });
        }
        self.end_open(channel, ConnectionEnd::Excess);
    }
}

/// What is said of a connection that the server ended during its handshake.
fn closed_words(end: ConnectionEnd, has_read: bool) -> String {
    let how = if end == ConnectionEnd::Reset { "reset" } else { "closed" };
    match has_read {
        true => {
            format!("the server {how} the connection in the middle of the handshake, without a TLS alert")
        }
        false => format!(
            "the server {how} the connection without an answer to our ClientHello: it may not speak TLS on this port"
        ),
    }
}

/// What is said of a handshake that did not end in its time.
fn timed_out_words(has_read: bool) -> String {
    match has_read {
        true => "the server did not complete the handshake in time (see --handshake-timeout)",
        false => "the server did not answer our ClientHello in time: it may not speak TLS on this port",
    }
    .to_owned()
}

/// Waits for connections with events, and keeps the events. Returns whether there are any.
pub(super) fn keep_ready(poller: &mut Poller, timeout_ns: u64, kept: &mut Vec<Ready>) -> bool {
    // After a failed wait (no cause is known) the worker polls again.
    let Ok(ready) = poller.wait_ready(Some(timeout_ns)) else { return true };
    kept.extend(ready);
    !kept.is_empty()
}

/// Connections reported by one wait; the others are reported by the next.
const EVENTS: usize = 1_024;

/// How often connections are checked for timeouts: twenty times within the shortest of them, within
/// bounds.
const SHORTEST_SWEEP_NS: u64 = 1_000_000;
const LONGEST_SWEEP_NS: u64 = 100_000_000;

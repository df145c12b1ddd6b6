//! DNS over QUIC (RFC 9250): clients with one connection each, a stream for each query, answers in any
//! order, and none of them held up by another.
//!
//! ```text
//!  send ──► streams ──► QUIC ──► packets of all clients ──► sendmmsg ──► a few sockets
//!                        │ ▲                                                  │
//!  sink ◄── streams ◄────┘ └─ timers      the client's, by connection ID ◄── recvmmsg
//! ```
//!
//! The library makes and reads packets and says when it wants to be called again; sockets and clocks are
//! ours. Clients share sockets where there are many: a connection ID tells whose a packet is.

mod client;
mod config;
mod connection;
mod fate;
mod leaving;
mod open;
mod opening;
mod outbox;
mod parting;
mod reading;
mod timers;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HandshakeFailure, NotSentReason, StreamFailure};
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket;
use dnsdyno_sys::udp::{ErrorQueue, Receiver, Sender};
use quinn_proto::{ClientConfig, Endpoint, EndpointConfig};

use crate::mixed::InMix;
use crate::tls::Sessions;
use crate::udp::{self, UdpConfig};
use crate::worker_clock::WorkerClock;
use crate::{Batch, ConnectionNews, Resources, Sent, Sink, Transport, Turn, Wake};
use client::{Client, Phase, Waiting};
use config::Notice;
pub use config::{QuicConfig, QuicOpenError};
use connection::{Asked, NO_ERROR, frame};
use leaving::Line;
use outbox::Outbox;
use timers::Timers;

/// One worker's clients.
pub struct QuicTransport {
    clients: Vec<Client>,
    /// Clients that may be asked next, the next one first. Some may turn out not to.
    line: VecDeque<u32>,
    endpoint: Endpoint,
    /// Whose connection each of the endpoint's is.
    owners: Vec<u32>,
    /// Client `i` has socket `i` modulo their number.
    sockets: Vec<Line>,
    poller: Poller,
    /// What the last wait named and nobody has looked at.
    ready: Vec<u32>,
    has_waited: bool,
    sender: Sender,
    receiver: Receiver,
    errors: ErrorQueue,
    timers: Timers,
    /// Clients whose connections may have packets to send.
    touched: Vec<u32>,
    /// What happened while no sink was at hand.
    news: Vec<(u32, u64, ConnectionNews)>,
    /// Queries whose stream brought no answer, to be told of.
    failed: Vec<(u32, Asked, StreamFailure)>,
    reused: u64,
    quic: ClientConfig,
    /// What a look at a server's certificate came to.
    notice: Arc<Notice>,
    sessions: Arc<Sessions>,
    config: QuicConfig,
    server_name: String,
    /// Queries that a connection carries.
    limit: u32,
    clock: WorkerClock,
    /// One instant on the library's clock and on ours.
    epoch: (Instant, u64),
    next_sweep_ns: u64,
    sweep_ns: u64,
    /// A batch as it travels, and where its bytes are: the library keeps them until they are acknowledged.
    framed: Vec<(u16, Bytes)>,
    outgoing: BytesMut,
    /// Where received packets are copied to, because the library takes them to keep. Like `outgoing` it is one
    /// long block of which each packet is a part, so that memory is allocated once for a thousand of them, or
    /// used again.
    incoming: BytesMut,
    /// What the endpoint would reply to a packet that belongs to no connection.
    reply: Vec<u8>,
    message: Vec<u8>,
}

impl QuicTransport {
    /// `clients` clients of worker number `worker`; none has a connection yet.
    ///
    /// # Errors
    /// Where a socket or an epoll set cannot be had, or where TLS lacks what QUIC needs.
    pub fn open(config: &QuicConfig, clients: usize, worker: usize) -> Result<Self, QuicOpenError> {
        let (quic, notice, sessions) = config::client_config(config, clients)?;
        let sockets = open_sockets(config, sockets_of(clients), worker)?;
        let other = |source| QuicOpenError::Other { server: config.server, source };
        let poller = Poller::new(sockets.len()).map_err(other)?;
        for (i, line) in sockets.iter().enumerate() {
            poller.add(&line.socket, i as u64).map_err(other)?;
        }
        let segment = sockets.first().is_some_and(|line| socket::can_segment(&line.socket));
        let shortest_ns = config.timeout_ns.min(config.handshake_timeout_ns);
        let shortest_ns = shortest_ns.min(config.idle_timeout_ns.unwrap_or(u64::MAX));
        Ok(QuicTransport {
            clients: (0..clients).map(|_| Client { in_line: true, ..Client::default() }).collect(),
            line: (0..clients as u32).collect(),
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None),
            owners: Vec::new(),
            ready: Vec::with_capacity(sockets.len()),
            sockets,
            poller,
            has_waited: false,
            sender: Sender::new(outbox::SEND_BATCH, segment),
            receiver: Receiver::new(RECEIVE_BATCH),
            errors: ErrorQueue::new(),
            timers: Timers::default(),
            touched: Vec::new(),
            news: Vec::new(),
            failed: Vec::new(),
            reused: 0,
            quic,
            notice,
            sessions,
            server_name: config.tls.server_name().to_str().into_owned(),
            limit: config.queries_each.unwrap_or(u32::MAX),
            clock: WorkerClock::default(),
            epoch: (Instant::now(), 0),
            next_sweep_ns: 0,
            sweep_ns: (shortest_ns / 20).clamp(SHORTEST_SWEEP_NS, LONGEST_SWEEP_NS),
            framed: Vec::new(),
            outgoing: BytesMut::with_capacity(BLOCK_BYTES),
            incoming: BytesMut::with_capacity(BLOCK_BYTES),
            reply: Vec::new(),
            message: Vec::new(),
            config: config.clone(),
        })
    }

    /// When this wants its next turn, whatever comes: a timer of a connection, or packets that wait for
    /// room.
    pub fn next_turn_ns(&self) -> Option<u64> {
        // Where one call had no room for all, the rest is asked for as soon.
        let has_more = !self.touched.is_empty() || self.sockets.iter().any(|line| line.is_full);
        let retry_ns = has_more.then(|| self.clock.now_ns() + RETRY_NS);
        [self.timers.next_ns(), retry_ns].into_iter().flatten().min()
    }

    /// Tells what happened, in order. A client whose connection is over can ask again from here on.
    fn tell(&mut self, sink: &mut impl Sink) {
        if self.reused > 0 {
            sink.reused(std::mem::take(&mut self.reused));
        }
        for i in 0..self.failed.len() {
            let (channel, Asked { id, at_ns }, why) = self.failed[i];
            sink.stream_failed(channel as usize, id, at_ns, why);
        }
        self.failed.clear();
        for i in 0..self.news.len() {
            let (channel, at_ns, news) = self.news[i];
            if matches!(news, ConnectionNews::Failed(_) | ConnectionNews::Ended { .. }) {
                self.clients[channel as usize].vacate();
                self.join_line(channel as usize);
            }
            sink.connection(channel as usize, at_ns, news);
        }
        self.news.clear();
    }

    fn join_line(&mut self, channel: usize) {
        let client = &mut self.clients[channel];
        if !client.in_line && client.can_ask(self.limit) {
            client.in_line = true;
            self.line.push_back(channel as u32);
        }
    }

    /// Puts the client behind the others, if it was its turn.
    fn leave_front(&mut self, channel: usize) {
        if self.line.front() == Some(&(channel as u32)) {
            self.line.pop_front();
            self.clients[channel].in_line = false;
            self.join_line(channel);
        }
    }

    /// Notes that the client's connection may have packets to send, or another timer.
    fn touch(&mut self, channel: usize) {
        self.clients[channel].acknowledgements.has_company = true;
        if !std::mem::replace(&mut self.clients[channel].is_touched, true) {
            self.touched.push(channel as u32);
        }
    }

    /// Now, on the library's clock.
    fn instant(&self) -> Instant {
        self.epoch.0 + Duration::from_nanos(self.clock.now_ns().saturating_sub(self.epoch.1))
    }

    /// An instant of the library on our clock.
    fn ns_of(&self, at: Instant) -> u64 {
        let after = at.saturating_duration_since(self.epoch.0).as_nanos();
        self.epoch.1.saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }
}

impl Transport for QuicTransport {
    const CONNECTS: bool = true;

    fn begin(&mut self, epoch_ns: u64) {
        self.clock.begin(epoch_ns);
        self.epoch = (Instant::now(), self.clock.now_ns());
    }

    fn channels(&self) -> usize {
        self.clients.len()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn turn(&mut self) -> Result<Turn, NotSentReason> {
        while let Some(channel) = self.line.front().map(|channel| *channel as usize) {
            let client = &mut self.clients[channel];
            if client.can_ask(self.limit) {
                return Ok(Turn { channel, room: (self.limit - client.asked) as usize });
            }
            client.in_line = false;
            self.line.pop_front();
        }
        Err(NotSentReason::NoFreeConnection)
    }

    fn pass(&mut self, channel: usize) {
        self.leave_front(channel);
    }

    fn most_under_way(&self) -> Option<u32> {
        (self.limit < u32::MAX).then_some(self.limit)
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        let now_ns = self.clock.now_ns();
        if self.clients[channel].phase == Phase::Vacant
            && let Err(stopped) = self.begin_connection(channel, now_ns)
        {
            return Sent { accepted: 0, stopped: Some(stopped) };
        }
        frame(batch.iter(), &mut self.framed, &mut self.outgoing);
        let count = batch.len() as u32;
        let client = &mut self.clients[channel];
        self.reused += u64::from(count - u32::from(client.asked == 0));
        client.asked = client.asked.saturating_add(count);
        client.under_way += count;
        for (id, framed) in self.framed.drain(..) {
            let asked = match &mut client.connection {
                // What waits already was asked first.
                Some(connection) if client.waiting.is_empty() => connection.ask(id, framed, now_ns),
                _ => Err(framed),
            };
            if let Err(framed) = asked {
                client.waiting.push_back(Waiting { id, since_ns: now_ns, framed });
            }
        }
        self.touch(channel);
        self.leave_front(channel);
        Sent { accepted: batch.len(), stopped: None }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        self.sweep();
        self.do_due();
        self.progress_touched(sink);
        self.flush();
        self.tell(sink);
        if !self.has_waited {
            self.look(0);
        }
        self.has_waited = false;
        let mut ready = std::mem::take(&mut self.ready);
        for socket in ready.drain(..) {
            self.receive_from(socket as usize);
        }
        self.ready = ready;
        self.progress_touched(sink);
        for socket in 0..self.sockets.len() {
            if self.sockets[socket].in_doubt {
                self.take_refusals(socket);
            }
        }
        self.tell(sink);
    }

    fn wait(&mut self, until_ns: u64, _wake: Wake) {
        self.flush();
        let now_ns = self.now_ns();
        let until_ns = self.next_turn_ns().map_or(until_ns, |turn_ns| turn_ns.min(until_ns));
        if until_ns > now_ns + SPIN_NS && self.news.is_empty() && self.failed.is_empty() {
            self.look(until_ns - now_ns);
        }
    }

    fn expired(&mut self, channel: usize) {
        let now_ns = self.now_ns();
        let client = &mut self.clients[channel];
        client.under_way = client.under_way.saturating_sub(1);
        let is_spent = client.is_spent(self.limit);
        if client.phase == Phase::Opening && is_spent {
            // Nobody waits for it any more.
            return self.fail(channel, ConnectFailure::TimedOut, Some(HandshakeFailure::TimedOut));
        }
        if client.phase != Phase::Open {
            return;
        }
        if now_ns.saturating_sub(client.quiet_since_ns()) >= SILENT_TIMEOUTS * self.config.timeout_ns {
            self.end(channel, ConnectionEnd::Silent, Some(NO_ERROR));
        } else if is_spent {
            self.end(channel, ConnectionEnd::ByUs, Some(NO_ERROR));
        }
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        for channel in 0..self.clients.len() {
            match self.clients[channel].phase {
                Phase::Opening => {
                    self.fail(channel, ConnectFailure::Abandoned, Some(HandshakeFailure::Abandoned));
                }
                Phase::Open => self.end(channel, ConnectionEnd::ByUs, Some(NO_ERROR)),
                Phase::Vacant | Phase::Ending => {}
            }
        }
        self.flush();
        self.tell(sink);
    }

    fn resources(&mut self) -> Resources {
        let used = self.clock.used();
        let socket_drops = self.sockets.iter().map(|line| socket::drops(&line.socket).unwrap_or(0)).sum();
        Resources { cpu_ns: used.cpu_ns, cpu_wait_ns: used.cpu_wait_ns, socket_drops, fragments: 0 }
    }
}

impl InMix for QuicTransport {
    fn events(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }

    fn has_more(&self) -> bool {
        !self.news.is_empty() || !self.failed.is_empty()
    }

    fn before_wait(&mut self) -> Option<u64> {
        self.flush();
        self.next_turn_ns()
    }

    fn note_quiet(&mut self) {
        self.has_waited = true;
    }
}

/// How many sockets so many clients of a worker share.
fn sockets_of(clients: usize) -> usize {
    clients.clamp(1, MOST_SOCKETS)
}

fn open_sockets(config: &QuicConfig, count: usize, worker: usize) -> Result<Vec<Line>, QuicOpenError> {
    let addresses = &config.local_addresses;
    // Workers begin with different addresses, so that a few sockets have different ones.
    let first = worker * addresses.len() / 2;
    let local = |i: usize| -> Option<IpAddr> { addresses.get((first + i) % addresses.len().max(1)).copied() };
    let open = |i| -> Result<Line, QuicOpenError> {
        let udp = UdpConfig {
            server: config.server,
            local_address: local(i),
            receive_buffer: config.receive_buffer,
            send_only: false,
        };
        let socket = udp::connect(&udp, 0)?;
        Ok(Line { socket, outbox: Outbox::default(), is_full: false, in_doubt: false })
    };
    (0..count).map(open).collect()
}

/// Sockets of a worker. A client of its own port each is what a server sees of real clients, and what
/// spreads them over its threads; past this number more ports would spread no better, and each costs
/// a system call a round.
const MOST_SOCKETS: usize = 64;

/// Packets, or joined packets, a receive call.
const RECEIVE_BATCH: usize = 32;

/// Bytes of a block of which messages and packets are parts; the most that `bytes` allocates anew as large.
const BLOCK_BYTES: usize = 64 << 10;

/// A wait this short costs more than it gives back: the thread looks again instead.
const SPIN_NS: u64 = 4_000;

/// When a full socket is tried again.
const RETRY_NS: u64 = 50_000;

/// How often connections are looked through for those whose time is over: twenty times within the
/// shortest of these times, within bounds.
const SHORTEST_SWEEP_NS: u64 = 1_000_000;
const LONGEST_SWEEP_NS: u64 = 100_000_000;

/// A connection over which nothing came for twice as long as anybody waits for an answer is of no
/// use: once is not enough, for late answers are worth counting.
const SILENT_TIMEOUTS: u64 = 2;

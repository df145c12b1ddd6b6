//! The clients of one worker: what opening, reading, sending and closing have in common.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use dnsdyno_measure::{NotSentReason, StreamFailure};
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket;
use dnsdyno_sys::udp::{ErrorQueue, Receiver, Sender};
use quinn_proto::{ClientConfig, Endpoint, EndpointConfig};

use super::client::Client;
use super::config::{self, QuicOpenError, VerifierResult};
use super::connection::{Framed, Protocol, StreamQuery};
use super::outbox::{self, Outbox, SendSocket};
use super::timers::Timers;
use crate::bounds::{QUIC_BLOCK_BYTES, Unfinished};
use crate::description::Description;
use crate::explained::Explained;
use crate::tls::{Sessions, Tls};
use crate::udp::{self, UdpConfig};
use crate::worker_clock::WorkerClock;
use crate::{ConnectionEvent, Peer};

/// One worker's clients.
pub struct QuicTransport<P: Protocol> {
    pub(super) clients: Vec<Client<P>>,
    /// Clients that may send next, in order. Some may turn out to be unable to.
    pub(super) queue: VecDeque<u32>,
    pub(super) endpoint: Endpoint,
    /// The client of each connection of the endpoint.
    pub(super) owners: Vec<u32>,
    /// Client `i` has socket `i` modulo their number.
    pub(super) sockets: Vec<SendSocket>,
    pub(super) poller: Poller,
    /// Sockets reported by the last wait that were not read yet.
    pub(super) ready: Vec<u32>,
    pub(super) has_waited: bool,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) errors: ErrorQueue,
    pub(super) timers: Timers,
    /// Clients whose connections may have packets to send.
    pub(super) touched: Vec<u32>,
    /// Events of connections, to be reported to the sink.
    pub(super) news: Vec<(u32, u64, ConnectionEvent)>,
    /// Queries whose stream ended without a response, to be reported.
    pub(super) failed: Vec<(u32, StreamQuery, StreamFailure)>,
    /// What was behind the failures.
    pub(super) explained: Explained,
    /// What the server has shown of itself in the first handshake.
    pub(super) peer: Option<Peer>,
    /// Responses that were received in part.
    pub(super) unfinished: Unfinished,
    /// Why the last client that could not send could not.
    pub(super) blocked_by: NotSentReason,
    pub(super) reused: u64,
    pub(super) quic: ClientConfig,
    /// The result of verifying the server's certificate.
    pub(super) verifier_result: Arc<VerifierResult>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) config: Description,
    pub(super) server_name: String,
    /// Queries that a connection carries at most.
    pub(super) limit: u32,
    pub(super) clock: WorkerClock,
    /// The same instant on the library's clock and on ours.
    pub(super) epoch: (Instant, u64),
    pub(super) next_sweep_ns: u64,
    pub(super) sweep_ns: u64,
    /// What the protocol of all connections has in common.
    pub(super) shared: P::Shared,
    /// A batch as it is sent, and its bytes: the library keeps them until they are acknowledged.
    pub(super) framed: Vec<Framed>,
    pub(super) outgoing: BytesMut,
    /// Where received packets are copied to, because the library takes ownership of them. Like
    /// `outgoing` it is a block of which each packet is a part, so that memory is not allocated for each.
    pub(super) incoming: BytesMut,
    /// What the endpoint would reply to a packet that belongs to no connection.
    pub(super) reply: Vec<u8>,
    pub(super) message: Vec<u8>,
}

impl<P: Protocol> QuicTransport<P> {
    /// The clients of worker number `worker`, whose sockets are bound to these addresses in turn (none: the
    /// kernel chooses); none has a connection yet.
    ///
    /// # Errors
    /// Where a socket or an epoll set cannot be opened, or where TLS lacks what QUIC needs.
    pub(super) fn open(
        config: &Description,
        tls: &Tls,
        addresses: &[IpAddr],
        worker: usize,
    ) -> Result<Self, QuicOpenError> {
        let clients = config.clients_of(worker);
        let (quic, verifier_result, sessions) =
            config::client_config::<P>(config.queries_each, tls, clients)?;
        let sockets = open_sockets(config, addresses, sockets_of(clients), worker)?;
        let other = |source| QuicOpenError::Other { server: config.server, source };
        let poller = Poller::new(sockets.len()).map_err(other)?;
        for (i, sending) in sockets.iter().enumerate() {
            poller.add(&sending.socket, i as u64).map_err(other)?;
        }
        let segment = sockets.first().is_some_and(|sending| socket::can_segment(&sending.socket));
        let shortest_ns = config.timeout_ns.min(config.handshake_timeout_ns);
        let shortest_ns = shortest_ns.min(config.idle_timeout_ns.unwrap_or(u64::MAX));
        Ok(QuicTransport {
            clients: (0..clients).map(|_| Client { is_queued: true, ..Client::default() }).collect(),
            queue: (0..clients as u32).collect(),
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
            explained: Explained::default(),
            peer: None,
            unfinished: Unfinished::default(),
            blocked_by: NotSentReason::NoFreeConnection,
            reused: 0,
            quic,
            verifier_result,
            sessions,
            server_name: tls.server_name().to_str().into_owned(),
            limit: config.queries_each.unwrap_or(u32::MAX),
            clock: WorkerClock::default(),
            epoch: (Instant::now(), 0),
            next_sweep_ns: 0,
            sweep_ns: (shortest_ns / 20).clamp(SHORTEST_SWEEP_NS, LONGEST_SWEEP_NS),
            shared: P::shared(config, tls),
            framed: Vec::new(),
            outgoing: BytesMut::with_capacity(BLOCK_BYTES),
            incoming: BytesMut::with_capacity(QUIC_BLOCK_BYTES),
            reply: Vec::new(),
            message: Vec::new(),
            config: config.clone(),
        })
    }

    /// When this has to be called next: for a timer of a connection, or for packets that could not be
    /// sent.
    pub fn next_turn_ns(&self) -> Option<u64> {
        // Where one call could not send all packets, the next one follows as soon.
        let has_more = !self.touched.is_empty() || self.sockets.iter().any(|sending| sending.is_full);
        let retry_ns = has_more.then(|| self.clock.now_ns() + RETRY_NS);
        [self.timers.next_ns(), retry_ns].into_iter().flatten().min()
    }

    pub(super) fn enqueue(&mut self, channel: usize) {
        let client = &mut self.clients[channel];
        if client.is_queued {
            return;
        }
        if client.can_send(self.limit) {
            client.is_queued = true;
            self.queue.push_back(channel as u32);
        } else {
            self.blocked_by = client.blocked_by();
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

    /// Notes that the client's connection may have packets to send, or another timer.
    pub(super) fn touch(&mut self, channel: usize) {
        self.clients[channel].acknowledgements.has_data = true;
        if !std::mem::replace(&mut self.clients[channel].is_touched, true) {
            self.touched.push(channel as u32);
        }
    }

    /// The current time on the library's clock.
    pub(super) fn instant(&self) -> Instant {
        self.epoch.0 + Duration::from_nanos(self.clock.now_ns().saturating_sub(self.epoch.1))
    }

    /// An instant of the library's clock on ours.
    pub(super) fn ns_of(&self, at: Instant) -> u64 {
        let after = at.saturating_duration_since(self.epoch.0).as_nanos();
        self.epoch.1.saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }
}

/// How many sockets so many clients of a worker share.
pub(super) fn sockets_of(clients: usize) -> usize {
    clients.clamp(1, MOST_SOCKETS)
}

fn open_sockets(
    config: &Description,
    addresses: &[IpAddr],
    count: usize,
    worker: usize,
) -> Result<Vec<SendSocket>, QuicOpenError> {
    // Workers start with different addresses, so that a few sockets have different ones.
    let first = worker * addresses.len() / 2;
    let local = |i: usize| -> Option<IpAddr> { addresses.get((first + i) % addresses.len().max(1)).copied() };
    let open = |i| -> Result<SendSocket, QuicOpenError> {
        let udp = UdpConfig {
            server: config.server,
            local_address: local(i),
            receive_buffer: config.receive_buffer,
            send_buffer: config.send_buffer,
            send_only: false,
            any_source: false,
        };
        let socket = udp::connect(&udp, 0)?;
        Ok(SendSocket { socket, outbox: Outbox::default(), is_full: false, has_error: false })
    };
    (0..count).map(open).collect()
}

/// Sockets of a worker. Real clients have a port each, and different ports spread the clients over the
/// server's threads; more ports than this would not improve that, and each costs a system call in every
/// round.
const MOST_SOCKETS: usize = 64;

/// Packets, or joined packets, in one receive call.
const RECEIVE_BATCH: usize = 32;

/// Bytes of a block that messages to be sent are parts of; the largest that the library `bytes`
/// allocates again at the same size.
const BLOCK_BYTES: usize = 64 << 10;

/// When a full socket is tried again.
const RETRY_NS: u64 = 50_000;

/// How often connections are checked for timeouts: twenty times within the shortest of them, within
/// bounds.
const SHORTEST_SWEEP_NS: u64 = 1_000_000;
const LONGEST_SWEEP_NS: u64 = 100_000_000;

//! TCP (RFC 7766): clients with one connection each, messages behind a length of two bytes, as many
//! under way as one likes, answers in any order.
//!
//! ```text
//!   line:  client 7, client 2, client 9 ...     whose turn it is to ask
//!   client ── outbox ──► connection ──► inbox ── whole messages ──► sink
//! ```
//!
//! A client opens its connection when it has something to ask and has none, and what it asks
//! meanwhile waits in its outbox. What is on a connection that is lost is not asked again here: the
//! sink is told, and whoever counts queries decides.

mod client;
mod dial;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, NotSentReason};
use dnsdyno_sys::poll::{Poller, Ready};
use dnsdyno_sys::thread;

use crate::worker_clock::WorkerClock;
use crate::{Batch, Came, ConnectionNews, Resources, Sent, Sink, Stopped, Transport, Turn, Wake};
use client::{Client, Phase, Spare, write};
use dial::{Begun, Dialer, Progress, failure_of, not_begun};

/// What the clients of a run have in common.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// The server.
    pub server: SocketAddr,
    /// The addresses that connections start from, in turn; none of them lets the kernel choose.
    pub local_addresses: Vec<IpAddr>,
    /// After how many queries a connection is closed; `None` keeps it.
    pub queries_each: Option<u32>,
    /// How long a connection without a query under way is kept; `None` = for ever.
    pub idle_timeout_ns: Option<u64>,
    /// How long the opening of a connection may take, and how long a query is waited for.
    pub timeout_ns: u64,
    /// Whether the first query may travel with the SYN.
    pub fast_open: bool,
}

/// Why clients cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TcpOpenError {
    /// None of the local addresses is this host's.
    #[error(
        "cannot connect from {first} or what follows it: none is an address of this host; see `ip address`"
    )]
    NoUsableAddress {
        /// The first address asked for.
        first: IpAddr,
    },
    /// Too many open files.
    #[error(
        "this process may not open enough files (limit {soft}): ask for fewer clients with --clients, or raise it \
         with `ulimit -n`"
    )]
    TooManyFiles {
        /// The soft limit of open files.
        soft: u64,
    },
    /// Anything else.
    #[error("cannot prepare connections to {server}: {source}")]
    Other {
        /// The server.
        server: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Those of `candidates` that connections can start from on this host; at least one.
///
/// # Errors
/// Where there is none.
pub fn usable_addresses(
    server: SocketAddr,
    candidates: impl Iterator<Item = IpAddr>,
) -> Result<Vec<IpAddr>, TcpOpenError> {
    let mut candidates = candidates.peekable();
    let Some(first) = candidates.peek().copied() else { return Ok(Vec::new()) };
    match dial::usable(candidates) {
        Ok(addresses) if addresses.is_empty() => Err(TcpOpenError::NoUsableAddress { first }),
        Ok(addresses) => Ok(addresses),
        Err(source) => Err(open_error(server, source)),
    }
}

/// One worker's clients.
pub struct TcpTransport {
    clients: Vec<Client>,
    /// Clients that may be asked next, the next one first. Some may turn out not to.
    line: VecDeque<u32>,
    dialer: Dialer,
    poller: Poller,
    /// What the last wait named and nobody has looked at.
    ready: Vec<Ready>,
    has_waited: bool,
    /// Clients whose connection had more than one round may take.
    unread: Vec<u32>,
    /// What happened while no sink was at hand.
    news: Vec<(u32, u64, ConnectionNews)>,
    reused: u64,
    /// A batch as it travels: each message behind its length.
    frames: Vec<u8>,
    chunk: Box<[u8]>,
    spare: Spare,
    clock: WorkerClock,
    /// Queries that a connection carries.
    limit: u32,
    timeout_ns: u64,
    idle_timeout_ns: Option<u64>,
    fast_open: bool,
    next_sweep_ns: u64,
    sweep_ns: u64,
    /// No connection is begun before this instant, because no local port was free.
    no_port_until_ns: u64,
    /// Connections in a row that found no port.
    without_port: usize,
}

impl TcpTransport {
    /// `clients` clients of worker number `worker`; none has a connection yet.
    ///
    /// # Errors
    /// Where the host gives no epoll set.
    pub fn open(config: &TcpConfig, clients: usize, worker: usize) -> Result<Self, TcpOpenError> {
        let poller = Poller::new(EVENTS.min(clients)).map_err(|source| open_error(config.server, source))?;
        let limit = config.queries_each.unwrap_or(u32::MAX);
        // Workers begin with different addresses, so that a few connections have different ones.
        let first = worker * config.local_addresses.len() / 2;
        let shortest_ns = config.timeout_ns.min(config.idle_timeout_ns.unwrap_or(u64::MAX));
        Ok(TcpTransport {
            clients: (0..clients).map(|_| Client { in_line: true, ..Client::default() }).collect(),
            line: (0..clients as u32).collect(),
            dialer: Dialer::new(
                config.server,
                config.local_addresses.clone(),
                first,
                config.fast_open,
                limit > 1,
            ),
            poller,
            ready: Vec::with_capacity(EVENTS),
            has_waited: false,
            unread: Vec::new(),
            news: Vec::new(),
            reused: 0,
            frames: Vec::new(),
            chunk: vec![0; CHUNK].into(),
            spare: Spare::default(),
            clock: WorkerClock::default(),
            limit,
            timeout_ns: config.timeout_ns,
            idle_timeout_ns: config.idle_timeout_ns,
            fast_open: config.fast_open,
            next_sweep_ns: 0,
            sweep_ns: (shortest_ns / 20).clamp(SHORTEST_SWEEP_NS, LONGEST_SWEEP_NS),
            no_port_until_ns: 0,
            without_port: 0,
        })
    }

    /// Begins a connection of this client, and says when the call came back.
    fn begin_connection(&mut self, channel: usize) -> Result<(), Stopped> {
        if self.no_port_until_ns > self.clock.now_ns() {
            return Err(Stopped::Later(NotSentReason::NoLocalPort));
        }
        let opened_ns = self.clock.now_ns();
        let Begun { stream, outcome } =
            self.dialer.begin().map_err(|error| self.could_not_begin(channel, opened_ns, &error))?;
        self.without_port = 0;
        let client = &mut self.clients[channel];
        let token = u64::from(client.generation) << 32 | channel as u64;
        let watched = self.poller.add_stream(&stream, token);
        client.stream = Some(stream);
        client.phase = Phase::Opening;
        (client.opened_ns, client.read_ns) = (opened_ns, opened_ns);
        self.news.push((channel as u32, opened_ns, ConnectionNews::Opened));
        match outcome.and_then(|progress| watched.map(|()| progress)) {
            // With Fast Open it may be written to, and nobody has answered.
            Ok(Progress::Writable) if !self.fast_open => self.establish(channel, self.clock.now_ns()),
            Ok(_) => {}
            Err(error) => self.doom(channel, ConnectionNews::Failed(failure_of(&error))),
        }
        Ok(())
    }

    #[cold]
    fn could_not_begin(&mut self, channel: usize, at_ns: u64, error: &io::Error) -> Stopped {
        let (why, stopped) = not_begun(error)
            .unwrap_or((ConnectFailure::OtherError, Stopped::Failed(NotSentReason::OtherError)));
        self.news.push((channel as u32, at_ns, ConnectionNews::NotOpened(why)));
        if why == ConnectFailure::NoLocalPort {
            self.without_port += 1;
            // Each address has ports of its own; looking for a free one among all takes long.
            if self.without_port >= self.dialer.addresses() {
                self.no_port_until_ns = at_ns + NO_PORT_PAUSE_NS;
                self.without_port = 0;
            }
        }
        stopped
    }

    fn establish(&mut self, channel: usize, at_ns: u64) {
        let client = &mut self.clients[channel];
        (client.phase, client.since_ns) = (Phase::Open, at_ns);
        let opened_ns = client.opened_ns;
        self.news.push((channel as u32, at_ns, ConnectionNews::Established { opened_ns }));
        // What was to be asked may have timed out meanwhile.
        if self.clients[channel].is_spent(self.limit) {
            self.doom(channel, self.end_of(channel, ConnectionEnd::ByUs));
        }
    }

    /// Takes a connection out of use; the sink hears of it when it next can.
    fn doom(&mut self, channel: usize, fate: ConnectionNews) {
        let client = &mut self.clients[channel];
        if matches!(client.phase, Phase::Vacant | Phase::Ending) {
            return;
        }
        client.phase = Phase::Ending;
        self.news.push((channel as u32, self.clock.now_ns(), fate));
    }

    fn end_of(&self, channel: usize, end: ConnectionEnd) -> ConnectionNews {
        ConnectionNews::Ended { end, answers: u64::from(self.clients[channel].answers) }
    }

    /// Dooms a connection on which a call failed.
    #[cold]
    fn break_off(&mut self, channel: usize, error: &io::Error) {
        let fate = match self.clients[channel].phase {
            Phase::Opening => ConnectionNews::Failed(failure_of(error)),
            _ => self.end_of(channel, ConnectionEnd::Reset),
        };
        self.doom(channel, fate);
    }

    /// Tells what happened, in order. A client whose connection is over can ask again from here on.
    fn tell(&mut self, sink: &mut impl Sink) {
        if self.reused > 0 {
            sink.reused(std::mem::take(&mut self.reused));
        }
        for i in 0..self.news.len() {
            let (channel, at_ns, news) = self.news[i];
            if matches!(news, ConnectionNews::Failed(_) | ConnectionNews::Ended { .. }) {
                self.clients[channel as usize].vacate(&mut self.spare);
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

    /// Waits for connections that something happened to, and notes them.
    fn look(&mut self, timeout_ns: u64) {
        // A failed wait (it has no cause here) only means that we look again.
        if let Ok(ready) = self.poller.wait_ready(Some(timeout_ns)) {
            self.ready.extend(ready);
        }
        self.has_waited = true;
    }

    fn serve(&mut self, ready: Ready, sink: &mut impl Sink) {
        let (channel, generation) =
            ((ready.token & u64::from(u32::MAX)) as usize, (ready.token >> 32) as u32);
        let client = &self.clients[channel];
        if client.generation != generation {
            return;
        }
        if client.phase == Phase::Opening {
            self.finish_opening(channel, ready);
        }
        if self.clients[channel].phase == Phase::Open && ready.writable && self.clients[channel].waiting() > 0
        {
            self.flush(channel);
        }
        if self.clients[channel].phase == Phase::Open && (ready.readable || ready.closing) {
            self.read(channel, ready.closing, sink);
        }
    }

    /// Looks whether a connection that was begun has come to be.
    fn finish_opening(&mut self, channel: usize, ready: Ready) {
        let Some(stream) = &self.clients[channel].stream else { return };
        match stream.take_error() {
            Ok(Some(error)) | Err(error) => return self.break_off(channel, &error),
            Ok(None) => {}
        }
        // With Fast Open a connection is writable before it is one.
        let has_peer = !self.fast_open || stream.peer_addr().is_ok();
        if (ready.writable || ready.readable) && has_peer {
            self.establish(channel, self.clock.now_ns());
        }
    }

    fn flush(&mut self, channel: usize) {
        match self.clients[channel].flush(&mut self.spare) {
            Ok(()) => self.join_line(channel),
            Err(error) => self.break_off(channel, &error),
        }
    }

    /// Reads what there is, up to the bound of a round.
    fn read(&mut self, channel: usize, is_closing: bool, sink: &mut impl Sink) {
        for _ in 0..ROUNDS {
            let Some(mut stream) = self.clients[channel].stream.as_ref() else { return };
            match stream.read(&mut self.chunk) {
                Ok(0) => {
                    let fate = self.end_of(channel, ConnectionEnd::ByServer);
                    return self.doom(channel, fate);
                }
                Ok(length) => {
                    self.take_in(channel, length, sink);
                    let is_emptied = length < self.chunk.len() && !is_closing;
                    if is_emptied || self.clients[channel].phase != Phase::Open {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.break_off(channel, &error),
            }
        }
        // No event will tell of what is left.
        self.unread.push(channel as u32);
    }

    /// Hands over the whole messages among what was read, and keeps the beginning of the next.
    fn take_in(&mut self, channel: usize, length: usize, sink: &mut impl Sink) {
        let at_ns = self.clock.now_ns();
        let client = &mut self.clients[channel];
        client.read_ns = at_ns;
        if !std::mem::replace(&mut client.has_read, true) {
            let opened_ns = client.opened_ns;
            self.news.push((channel as u32, at_ns, ConnectionNews::FirstByte { opened_ns }));
        }
        let mut inbox = std::mem::take(&mut client.inbox);
        let is_fresh = inbox.is_empty();
        if !is_fresh {
            inbox.extend_from_slice(&self.chunk[..length]);
        }
        let bytes = if is_fresh { &self.chunk[..length] } else { &inbox[..] };
        let (mut at, mut is_garbled) = (0, false);
        while let Some(message) = first_message(&bytes[at..]) {
            at += LENGTH_BYTES + message.len();
            match sink.answer(channel, at_ns, client.since_ns, message) {
                Came::Answer => {
                    client.answers = client.answers.saturating_add(1);
                    client.under_way = client.under_way.saturating_sub(1);
                }
                Came::Beside => {}
                Came::Garbage => {
                    is_garbled = true;
                    break;
                }
            }
        }
        if is_fresh && at < length {
            inbox = self.spare.take();
            inbox.extend_from_slice(&self.chunk[at..length]);
        } else if !is_fresh {
            inbox.drain(..at);
        }
        if inbox.is_empty() {
            self.spare.give_back(inbox);
        } else {
            client.inbox = inbox;
        }
        if is_garbled {
            self.doom(channel, self.end_of(channel, ConnectionEnd::Garbled));
        } else if self.clients[channel].is_spent(self.limit) {
            self.doom(channel, self.end_of(channel, ConnectionEnd::ByUs));
        }
    }

    /// Ends what has taken too long to open, and what nobody has used for too long.
    fn sweep(&mut self) {
        let now_ns = self.clock.now_ns();
        if now_ns < self.next_sweep_ns {
            return;
        }
        self.next_sweep_ns = now_ns + self.sweep_ns;
        let idle_ns = self.idle_timeout_ns.unwrap_or(u64::MAX);
        let opening_ns = self.timeout_ns + OPENING_GRACE_NS;
        for channel in 0..self.clients.len() {
            let client = &self.clients[channel];
            if client.phase == Phase::Opening && now_ns.saturating_sub(client.opened_ns) >= opening_ns {
                self.doom(channel, ConnectionNews::Failed(ConnectFailure::TimedOut));
            } else if client.is_idle()
                && now_ns.saturating_sub(client.read_ns.max(client.since_ns)) >= idle_ns
            {
                self.doom(channel, self.end_of(channel, ConnectionEnd::ByUs));
            }
        }
    }
}

impl Transport for TcpTransport {
    const CONNECTS: bool = true;

    fn begin(&mut self, epoch_ns: u64) {
        self.clock.begin(epoch_ns);
    }

    fn channels(&self) -> usize {
        self.clients.len()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn turn(&mut self) -> Result<Turn, NotSentReason> {
        let mut without_port = 0;
        while let Some(channel) = self.line.front().map(|channel| *channel as usize) {
            let client = &mut self.clients[channel];
            if !client.can_ask(self.limit) {
                client.in_line = false;
                self.line.pop_front();
            } else if client.phase == Phase::Vacant
                && self.no_port_until_ns > 0
                && self.no_port_until_ns > self.clock.now_ns()
            {
                // One that has a connection can still ask.
                without_port += 1;
                if without_port > LINE_LOOKED_AT.min(self.line.len()) {
                    return Err(NotSentReason::NoLocalPort);
                }
                self.line.rotate_left(1);
            } else {
                return Ok(Turn { channel, room: (self.limit - client.asked) as usize });
            }
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
        let is_new = self.clients[channel].phase == Phase::Vacant;
        if is_new && let Err(stopped) = self.begin_connection(channel) {
            return Sent { accepted: 0, stopped: Some(stopped) };
        }
        frame(batch, &mut self.frames);
        let connected_ns = if is_new { self.clock.now_ns() } else { 0 };
        let count = batch.len() as u32;
        let client = &mut self.clients[channel];
        self.reused += u64::from(count - u32::from(client.asked == 0));
        client.asked = client.asked.saturating_add(count);
        client.under_way += count;
        let may_write = client.phase == Phase::Open || (is_new && client.phase == Phase::Opening);
        let mut written = Ok(0);
        if may_write && client.outbox.is_empty() {
            written = client.stream.as_ref().map_or(Ok(0), |stream| write(stream, &self.frames));
        }
        match written {
            Ok(length) => {
                if length < self.frames.len() {
                    client.queue(&self.frames[length..], &mut self.spare);
                }
                // On this host a connection is there when the call comes back that began it.
                if length > 0 && client.phase == Phase::Opening && !self.fast_open {
                    self.establish(channel, connected_ns);
                }
            }
            Err(error) => self.break_off(channel, &error),
        }
        self.leave_front(channel);
        Sent { accepted: batch.len(), stopped: None }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        self.sweep();
        self.tell(sink);
        if !self.has_waited {
            self.look(0);
        }
        self.has_waited = false;
        for i in 0..self.ready.len() {
            self.serve(self.ready[i], sink);
        }
        self.ready.clear();
        for channel in std::mem::take(&mut self.unread) {
            if self.clients[channel as usize].phase == Phase::Open {
                self.read(channel as usize, true, sink);
            }
        }
        self.tell(sink);
    }

    fn wait(&mut self, until_ns: u64, _wake: Wake) {
        let now_ns = self.now_ns();
        if until_ns > now_ns + SPIN_NS && self.news.is_empty() && self.unread.is_empty() {
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
            return self.doom(channel, ConnectionNews::Failed(ConnectFailure::TimedOut));
        }
        if client.phase != Phase::Open {
            return;
        }
        if now_ns.saturating_sub(client.read_ns.max(client.since_ns)) >= SILENT_TIMEOUTS * self.timeout_ns {
            self.doom(channel, self.end_of(channel, ConnectionEnd::Silent));
        } else if is_spent {
            self.doom(channel, self.end_of(channel, ConnectionEnd::ByUs));
        }
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        for channel in 0..self.clients.len() {
            match self.clients[channel].phase {
                Phase::Opening => self.doom(channel, ConnectionNews::Failed(ConnectFailure::Abandoned)),
                Phase::Open => self.doom(channel, self.end_of(channel, ConnectionEnd::ByUs)),
                Phase::Vacant | Phase::Ending => {}
            }
        }
        self.tell(sink);
    }

    fn resources(&mut self) -> Resources {
        let used = self.clock.used();
        Resources { cpu_ns: used.cpu_ns, cpu_wait_ns: used.cpu_wait_ns, socket_drops: 0 }
    }
}

/// Puts each message of the batch behind its length.
fn frame(batch: &Batch, frames: &mut Vec<u8>) {
    frames.clear();
    for message in batch.iter() {
        frames.extend_from_slice(&(message.len() as u16).to_be_bytes());
        frames.extend_from_slice(message);
    }
}

/// The whole message that `bytes` begin with.
#[inline]
fn first_message(bytes: &[u8]) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes(*bytes.first_chunk()?));
    bytes.get(LENGTH_BYTES..LENGTH_BYTES + length)
}

fn open_error(server: SocketAddr, source: io::Error) -> TcpOpenError {
    match source.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            let soft = thread::open_files_limit().map_or(0, |(soft, _)| soft);
            TcpOpenError::TooManyFiles { soft }
        }
        _ => TcpOpenError::Other { server, source },
    }
}

/// A message travels behind its length (RFC 1035, 4.2.2).
const LENGTH_BYTES: usize = 2;

/// Connections that one wait names: the others are named by the next.
const EVENTS: usize = 1_024;

/// Bytes that one call reads: the longest message, and more of short ones than a batch.
const CHUNK: usize = 64 << 10;

/// Full reads of one connection before the others get their turn.
const ROUNDS: usize = 4;

/// Clients of the line that are looked at for one with a connection, while no port is free.
const LINE_LOOKED_AT: usize = 64;

/// How long no connection is begun after none of the local addresses had a port: a search through
/// all ports of an address takes the kernel a millisecond.
const NO_PORT_PAUSE_NS: u64 = 10_000_000;

/// A wait this short costs more than it gives back: the thread looks again instead.
const SPIN_NS: u64 = 4_000;

/// How often connections are looked through for those whose time is over: twenty times within the
/// shortest of these times, within bounds.
const SHORTEST_SWEEP_NS: u64 = 1_000_000;
const LONGEST_SWEEP_NS: u64 = 100_000_000;

/// What waits for a connection times out before the connection does, or it would be asked again for
/// the rest of a millisecond.
const OPENING_GRACE_NS: u64 = 5_000_000;

/// A connection over which nothing came for twice as long as anybody waits for an answer is of no
/// use: once is not enough, for late answers are worth counting.
const SILENT_TIMEOUTS: u64 = 2;

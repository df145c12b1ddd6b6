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
mod config;
mod dial;
mod opening;
mod reading;

use std::collections::VecDeque;
use std::io;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, NotSentReason};
use dnsdyno_sys::poll::{Poller, Ready};

use crate::worker_clock::WorkerClock;
use crate::{Batch, ConnectionNews, Resources, Sent, Sink, Transport, Turn, Wake};
use client::{Client, Phase, Spare, write};
use config::open_error;
pub use config::{TcpConfig, TcpOpenError, usable_addresses};
use dial::{Dialer, failure_of};
use reading::CHUNK;

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

    fn flush(&mut self, channel: usize) {
        match self.clients[channel].flush(&mut self.spare) {
            Ok(()) => self.join_line(channel),
            Err(error) => self.break_off(channel, &error),
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

/// Connections that one wait names: the others are named by the next.
const EVENTS: usize = 1_024;

/// Clients of the line that are looked at for one with a connection, while no port is free.
const LINE_LOOKED_AT: usize = 64;

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

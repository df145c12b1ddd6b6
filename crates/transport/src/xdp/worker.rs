//! One worker's queues as a [`Transport`].

use std::io;
use std::sync::Arc;

use dnsdyno_measure::NotSentReason;
use dnsdyno_sys::interface::{Interface, LinkState};
use dnsdyno_sys::packet::PacketSender;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::xdp::{Flushed, Injector, Socket};

use super::addressing::Addressing;
use super::forwarding::Forwarding;
use super::frame::{Header, read};
use super::injection::{INJECTED_FROM, Injection};
use super::line::{Line, XdpFacts};
use crate::worker_clock::WorkerClock;
use crate::{Batch, Resources, Sent, Sink, Stopped, Transport, Wake};

/// One worker's sockets and channels.
pub struct XdpTransport {
    parts: Parts,
    poller: Poller,
    /// Where the driver has to copy, queries are sent through the kernel's stack, many at once.
    packets: Option<PacketSender>,
    /// The state of the link when it was last checked, and when that was.
    link: (LinkState, u64),
    /// The socket that sends next: each batch is sent by the next one.
    turn: usize,
    clock: WorkerClock,
    /// Whether the last packet carried the instant at which it was received.
    stamped: bool,
}

/// What a worker consists of.
pub(super) struct Parts {
    pub(super) number: usize,
    /// At least one.
    pub(super) sockets: Vec<Socket>,
    /// One for each channel.
    pub(super) headers: Vec<Header>,
    pub(super) addressing: Addressing,
    pub(super) forwarding: Forwarding,
    /// For long batches.
    pub(super) injection: Option<Injection>,
    pub(super) interface: Interface,
    pub(super) mtu: usize,
    pub(super) send_only: bool,
    /// Keeps the program attached while the worker runs.
    pub(super) line: Arc<Line>,
}

impl XdpTransport {
    pub(super) fn new(parts: Parts) -> io::Result<Self> {
        let poller = Poller::new(parts.sockets.len() + 1)?;
        for socket in parts.sockets.iter().filter(|_| !parts.send_only) {
            poller.add(socket, SOCKET)?;
        }
        poller.add(parts.forwarding.wakeup(), WAKEUP)?;
        let must_copy = !parts.sockets.iter().all(Socket::is_zero_copy);
        let packets = must_copy.then(|| PacketSender::open(&parts.interface, Batch::USUAL)).transpose()?;
        let link = (LinkState::Up, 0);
        Ok(XdpTransport {
            parts,
            poller,
            packets,
            link,
            turn: 0,
            clock: WorkerClock::default(),
            stamped: false,
        })
    }

    /// IP fragments of responses on the whole interface, so far. They are not paired: the response was larger
    /// than a packet of the path.
    pub fn fragments(&self) -> u64 {
        self.parts.line.redirect.fragments()
    }

    /// What was found about the interface.
    pub fn facts(&self) -> &XdpFacts {
        &self.parts.line.facts
    }

    /// Writes packets into a socket's ring.
    fn send_by_ring(&mut self, channel: usize, batch: &Batch) -> Sent {
        let messages = batch.messages();
        let header = &self.parts.headers[channel];
        let socket = &mut self.parts.sockets[self.turn];
        let mut written = 0;
        let mut stopped = None;
        while written < messages.len() {
            let message = messages.get(written);
            if header.ip_length(message.len()) > self.parts.mtu {
                stopped = Some(Stopped::Failed(NotSentReason::TooLong));
                break;
            }
            if !socket.write(|frame| header.write(message, frame)) {
                stopped = Some(Stopped::Full);
                break;
            }
            written += 1;
        }
        let Flushed { accepted, error } = socket.flush();
        self.turn = if self.turn + 1 == self.parts.sockets.len() { 0 } else { self.turn + 1 };
        match error {
            Some(error) => Sent { accepted, stopped: Some(self.stopped_by(&error)) },
            None => Sent { accepted, stopped },
        }
    }

    /// Passes the messages to the kernel: to its stack, which segments them behind it, or, if there are very many, to
    /// the driver beside it.
    fn send_by_kernel(&mut self, channel: usize, batch: &Batch) -> Sent {
        let messages = batch.messages();
        let all = messages.len();
        let header = &self.parts.headers[channel];
        // The stack accepts packets for a link that is down, and drops them silently.
        let now_ns = self.clock.now_ns();
        if self.link.0 != LinkState::Up || now_ns >= self.link.1 + LINK_ASKED_NS {
            self.link = (self.parts.interface.link_state(), now_ns);
        }
        if self.link.0 != LinkState::Up && !messages.is_empty() {
            return Sent { accepted: 0, stopped: Some(Stopped::Failed(NotSentReason::NoRoute)) };
        }
        let fits = |i: &usize| header.ip_length(messages.get(*i).len()) <= self.parts.mtu;
        let fitting = (0..all).take_while(fits).count();
        let injection = &mut self.parts.injection;
        if fitting >= INJECTED_FROM
            && injection.as_mut().is_some_and(|injection| !injection.is_possible(now_ns))
        {
            *injection = None;
        }
        let messages = messages.take(fitting);
        let sent = match (injection, &mut self.packets) {
            (Some(injection), _) if fitting >= INJECTED_FROM => {
                injection.injector.inject(messages, |message, frame| header.write(message, frame))
            }
            (_, Some(packets)) => packets.send(messages, |payload, frame| header.write_ahead(payload, frame)),
            _ => return Sent { accepted: 0, stopped: None },
        };
        let stopped = match sent.error {
            Some(error) => Some(self.stopped_by(&error)),
            None if fitting < all => Some(Stopped::Failed(NotSentReason::TooLong)),
            None => None,
        };
        Sent { accepted: sent.accepted, stopped }
    }

    /// What an incomplete flush means for the message that it stopped at.
    fn stopped_by(&self, error: &io::Error) -> Stopped {
        match error.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => Stopped::Failed(NotSentReason::NoRoute),
            // The interface has dropped a packet: is its queue full, or its link down?
            Some(libc::EBUSY) if self.parts.interface.link_state() != LinkState::Up => {
                Stopped::Failed(NotSentReason::NoRoute)
            }
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => Stopped::Full,
            Some(libc::EMSGSIZE) => Stopped::Failed(NotSentReason::TooLong),
            Some(libc::EPERM | libc::EACCES) => Stopped::Failed(NotSentReason::Forbidden),
            _ => Stopped::Failed(NotSentReason::OtherError),
        }
    }
}

impl Transport for XdpTransport {
    const HAS_PROGRAM: bool = true;

    fn begin(&mut self, epoch_ns: u64) {
        self.clock.begin(epoch_ns);
    }

    fn channels(&self) -> usize {
        self.parts.headers.len()
    }

    fn messages_at_once(&self) -> usize {
        match &self.parts.injection {
            None => Batch::USUAL,
            Some(_) if self.parts.send_only => Injector::MOST,
            Some(_) => LONGEST_ANSWERED,
        }
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        if self.packets.is_some() {
            self.send_by_kernel(channel, batch)
        } else {
            self.send_by_ring(channel, batch)
        }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        let Parts { sockets, addressing, forwarding, number, send_only, .. } = &mut self.parts;
        if *send_only {
            return;
        }
        for socket in sockets {
            for _ in 0..ROUNDS {
                let count = socket.arrived(BATCH);
                if count == 0 {
                    break;
                }
                let now_ns = self.clock.now_ns();
                socket.receive_stamped(count, |frame, stamp_ns| {
                    // The program passes nothing else; a broken packet belongs to no
                    // channel, and its query times out.
                    let Some(packet) = read(frame) else { return };
                    if !addressing.is_server(packet.source) {
                        return;
                    }
                    // A stamp outside this run is not valid.
                    let received_ns =
                        self.clock.of_run(stamp_ns).filter(|received_ns| *received_ns <= now_ns);
                    self.stamped = received_ns.is_some();
                    let at_ns = received_ns.unwrap_or(now_ns);
                    match addressing.channel_of(packet.target) {
                        Some((worker, channel)) if worker == *number => {
                            sink.packet(channel as usize, at_ns, packet.payload);
                        }
                        Some((worker, channel)) => forwarding.send(worker, channel, at_ns, packet.payload),
                        None => {}
                    }
                });
                if count < BATCH {
                    break;
                }
            }
        }
        forwarding.receive(|channel, at_ns, bytes| sink.packet(channel as usize, at_ns, bytes));
    }

    fn wait(&mut self, until_ns: u64, wake: Wake) {
        if !wake.on_arrival && (self.stamped || self.parts.send_only) {
            return self.clock.sleep_until_ns(until_ns, wake.exactly);
        }
        let XdpTransport { clock, poller, parts, .. } = self;
        clock.wait_until_ns(until_ns, wake.exactly, |timeout_ns| {
            if !parts.forwarding.fall_asleep() {
                return true;
            }
            let (mut any, mut rang) = (false, false);
            match poller.wait(Some(timeout_ns)) {
                Ok(ready) => ready.for_each(|token| (any, rang) = (true, rang || token == WAKEUP)),
                // No cause is known. The worker polls again.
                Err(_) => any = true,
            }
            parts.forwarding.wake_up(rang);
            any
        });
    }

    fn oversleep_ns(&self) -> u64 {
        self.clock.oversleep_ns()
    }

    fn serves_others(&self) -> bool {
        !self.parts.forwarding.is_alone()
    }

    fn resources(&mut self) -> Resources {
        let statistics = self.parts.sockets.iter().filter_map(|socket| socket.statistics().ok());
        let drops: u64 = statistics.map(|counts| counts.rx_dropped + counts.rx_ring_full).sum();
        let used = self.clock.used();
        Resources {
            cpu_ns: used.cpu_ns,
            cpu_wait_ns: used.cpu_wait_ns,
            socket_drops: if self.parts.send_only { 0 } else { drops + self.parts.forwarding.lost() },
            fragments: self.fragments(),
        }
    }
}

/// How long the link is assumed to be up without a check: its two calls take a microsecond.
const LINK_ASKED_NS: u64 = 1_000_000;

/// Messages in a batch at most where there are responses: they wait until the batch has been sent.
const LONGEST_ANSWERED: usize = 256;

/// The tokens of the sockets and of the wake-up socket.
const SOCKET: u64 = 0;
const WAKEUP: u64 = 1;

/// Packets that share one timestamp.
const BATCH: u32 = 64;

/// Full batches that are received from a queue before it is time to send again.
const ROUNDS: usize = 4;

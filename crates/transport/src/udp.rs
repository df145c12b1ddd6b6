//! Plain UDP sockets, connected to the server unless responses from any address are wanted.
//!
//! Connected, because the kernel then accepts packets from the server only, looks up no route for each
//! packet, and reports ICMP errors to the socket whose packet caused them. The errors are read from the
//! socket's error queue, each with the packet it quotes, so a refusal ends the query it belongs to. Where
//! several messages of one length were sent as one packet (on the loopback interface), one error stands
//! for all of them: it quotes more than the first.
//!
//! The kernel stamps received packets (SO_TIMESTAMPNS), so a worker of an open loop need not wake up for
//! each response: it sleeps until the next query is due and reads then. The departures of a sample of the sends are
//! stamped too ([`stamps`]); these stamps come through the error queue, and are read after the send.

mod stamps;

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use dnsdyno_measure::NotSentReason;
use dnsdyno_sys::netlink::route::is_taken_here;
use dnsdyno_sys::udp::{ErrorQueue, Messages, Queued, Receiver, Sender};
use dnsdyno_sys::{clock, poll::Poller, socket, thread};
use socket2::{Domain, Protocol, Socket, Type};

use crate::description::{self, Description, Open, SourceEnds, SourceLimit};
use crate::mixed::InMix;
use crate::proxy::ProxiedDatagrams;
use crate::worker_clock::WorkerClock;
use crate::{Batch, Departure, Resources, Sent, Sink, Stopped, Transport, Wake};
use stamps::StampSampler;

/// What the sockets of a run have in common.
#[derive(Clone, Copy, Debug)]
pub struct UdpConfig {
    /// The server.
    pub server: SocketAddr,
    /// The address to send from; `None` lets the kernel choose.
    pub local_address: Option<IpAddr>,
    /// Bytes of receive buffer to ask for, for each socket.
    pub receive_buffer: usize,
    /// The same of the send buffer.
    pub send_buffer: usize,
    /// Whether responses are of interest; a send-only run leaves them to the kernel.
    pub send_only: bool,
    /// Whether responses are taken from any address; the sockets are not connected then.
    pub any_source: bool,
}

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Too many open files.
    #[error(
        "this process may not open enough sockets (limit {soft} open files): use fewer --clients, or raise the \
         limit with `ulimit -n`"
    )]
    TooManyFiles {
        /// The soft limit of open files.
        soft: u64,
    },
    /// The local address does not belong to this host.
    #[error("cannot send from {ip}: it is not an address of this host; see `ip address`", ip = address.ip())]
    NotOurAddress {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The host takes no packets to an address that is to be sent from.
    #[error(
        "cannot send from {address}: this host takes no packets to it, so no response would arrive. Route the network \
         to this host: `ip {family}route add local {network}/{length} dev lo` (and at the server's side, a route to \
         it)",
        family = if address.is_ipv6() { "-6 " } else { "" }
    )]
    NotRouted {
        /// The address.
        address: IpAddr,
        /// The first address of its network.
        network: IpAddr,
        /// The length of the prefix.
        length: u8,
    },
    /// The local port is in use.
    #[error("cannot send from port {port}: another program uses it; choose other ports with --local-ports")]
    PortTaken {
        /// The port asked for.
        port: u16,
    },
    /// No route leads to the server.
    #[error("no route to {server}: is the interface up? See `ip route get {ip}`", ip = server.ip())]
    NoRoute {
        /// The server.
        server: SocketAddr,
    },
    /// Anything else.
    #[error("cannot open a UDP socket to {server}: {source}")]
    Other {
        /// The server.
        server: SocketAddr,
        /// What the kernel reported.
        source: io::Error,
    },
}

/// One worker's sockets.
pub struct UdpTransport {
    sockets: Vec<UdpSocket>,
    /// Sockets whose error queue must be read, because a call on them failed.
    has_error: Vec<bool>,
    /// Sockets that may have packets: all of them, but after a wait only those that it named.
    may_have_data: Vec<bool>,
    /// At this instant each socket was empty; what is read later was received later.
    emptied_ns: Vec<u64>,
    /// Whether the kernel reports when it received a packet.
    stamped: bool,
    /// Whether a wait has filled `may_have_data` since the sockets were last read.
    has_waited: bool,
    poller: Poller,
    sender: Sender,
    /// The headers of the PROXY protocol, where the run has any.
    proxied: Option<ProxiedDatagrams>,
    receiver: Receiver,
    errors: ErrorQueue,
    /// Which sends the kernel stamps; `None` where it stamps none.
    stamps: Option<StampSampler>,
    send_only: bool,
    clock: WorkerClock,
    /// Receive calls on one socket in one round; then it is time to send again.
    rounds: usize,
}

impl UdpTransport {
    /// Opens one socket for each of `local_ports`; port 0 lets the kernel choose.
    pub fn open(config: &UdpConfig, local_ports: &[u16]) -> Result<Self, OpenError> {
        let sockets = local_ports.iter().map(|port| connect(config, *port)).collect::<Result<Vec<_>, _>>()?;
        Self::over(config, sockets)
    }

    /// Opens one socket for each of `ends`, addresses and ports that need not be configured on this host.
    fn open_from(config: &UdpConfig, ends: impl Iterator<Item = (IpAddr, u16)>) -> Result<Self, OpenError> {
        let open = |(address, port)| {
            let config = UdpConfig { local_address: Some(address), ..*config };
            opened(&config, port, socket::bind_any_address)
        };
        Self::over(config, ends.map(open).collect::<Result<Vec<_>, _>>()?)
    }

    fn over(config: &UdpConfig, sockets: Vec<UdpSocket>) -> Result<Self, OpenError> {
        let other = |source| OpenError::Other { server: config.server, source };
        let poller = Poller::new(sockets.len()).map_err(other)?;
        for (i, socket) in sockets.iter().enumerate().filter(|_| !config.send_only) {
            poller.add(socket, i as u64).map_err(other)?;
        }
        let stamped = !config.send_only && sockets.iter().all(socket::stamp_arrivals);
        let stamps_departures = !config.send_only && sockets.iter().all(socket::stamp_departures);
        let segment = sockets.first().is_some_and(socket::can_segment);
        let sender = Sender::new(BATCH, segment);
        Ok(UdpTransport {
            has_error: vec![false; sockets.len()],
            may_have_data: vec![true; sockets.len()],
            emptied_ns: vec![0; sockets.len()],
            stamped,
            has_waited: false,
            poller,
            sender: if config.any_source { sender.to(config.server) } else { sender },
            proxied: None,
            receiver: Receiver::new(BATCH),
            errors: ErrorQueue::new(),
            stamps: stamps_departures.then(|| StampSampler::new(sockets.len(), clock::monotonic_ns())),
            send_only: config.send_only,
            clock: WorkerClock::default(),
            rounds: ROUNDS.div_ceil(sockets.len()),
            sockets,
        })
    }

    /// Hands over the received packets, each with the instant at which the kernel received it.
    ///
    /// The kernel's stamps are taken from the wall clock, so only their age is used. A step of that
    /// clock could make it wrong; the result is kept within the known bounds.
    #[inline]
    fn deliver(&self, channel: usize, sink: &mut impl Sink) {
        let (looked_ns, looked_wall_ns) =
            if self.stamped { self.clock.now_and_wall_ns() } else { (self.clock.now_ns(), 0) };
        let (mut piece, mut at_ns) = (usize::MAX, looked_ns);
        for (i, bytes) in self.receiver.packets() {
            if i != piece && self.stamped {
                piece = i;
                let age_ns =
                    self.receiver.arrival_wall_ns(i).and_then(|wall_ns| looked_wall_ns.checked_sub(wall_ns));
                at_ns = looked_ns.saturating_sub(age_ns.unwrap_or(0)).max(self.emptied_ns[channel]);
            }
            sink.packet(channel, at_ns, bytes);
        }
    }

    /// Reads the error queue of a socket: ICMP errors, and the awaited stamp.
    fn take_queued(&mut self, channel: usize, sink: &mut impl Sink) {
        let UdpTransport { errors, sockets, clock, proxied, stamps, .. } = self;
        let has_error = std::mem::replace(&mut self.has_error[channel], false);
        for _ in 0..REFUSALS_AT_ONCE {
            match errors.next(&sockets[channel]) {
                None => return,
                Some(Queued::Refusal(refusal)) if is_refusal(refusal.errno) => {
                    let at_ns = clock.now_ns();
                    let quoted = match proxied {
                        Some(proxied) => proxied.without_header(channel, refusal.quoted),
                        None => refusal.quoted,
                    };
                    sink.refused(channel, at_ns, quoted);
                }
                Some(Queued::Refusal(_)) => {}
                Some(Queued::Departure(departure)) => {
                    let came = stamps.as_mut().and_then(|stamps| stamps.came(channel, departure.number));
                    let Some((sent_ns, mark)) = came else { continue };
                    let (looked_ns, looked_wall_ns) = clock.now_and_wall_ns();
                    let age_ns = looked_wall_ns.saturating_sub(departure.wall_ns);
                    let after_ns = Some(looked_ns.saturating_sub(age_ns).saturating_sub(sent_ns));
                    sink.departed(Departure { sent_ns, after_ns, mark });
                    // Where an error follows, the kernel tells it by the next call.
                    if !has_error {
                        return;
                    }
                }
            }
        }
        self.has_error[channel] = true;
    }

    /// Looks for the awaited stamp, if the channel has `named` it in the last wait or it is time to.
    #[cold]
    fn look_for_stamp(&mut self, is_named: bool, sink: &mut impl Sink) {
        let now_ns = self.clock.now_ns();
        let has_something = |channel: usize| is_named && self.may_have_data[channel];
        let looked_at = self.stamps.as_mut().and_then(|stamps| stamps.look(now_ns, has_something));
        if let Some(channel) = looked_at {
            self.take_queued(channel, sink);
        }
        if let Some((sent_ns, mark)) = self.stamps.as_mut().and_then(|stamps| stamps.missing(now_ns)) {
            sink.departed(Departure { sent_ns, after_ns: None, mark });
        }
        self.stamps.take_if(|stamps| stamps.is_in_vain());
    }
}

impl Transport for UdpTransport {
    fn begin(&mut self, epoch_ns: u64) {
        self.clock.begin(epoch_ns);
    }

    fn channels(&self) -> usize {
        self.sockets.len()
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        let UdpTransport { sockets, has_error, sender, proxied, stamps, clock, .. } = self;
        let mut chosen = stamps.as_mut().and_then(|stamps| stamps.choose(batch.len(), batch.marked()));
        let mark = batch.marked().filter(|(message, _)| chosen == Some(*message)).map(|(_, mark)| mark);
        let chosen_ns = chosen.map(|_| clock.now_ns());
        let messages = match proxied {
            Some(proxied) => proxied.with_headers(channel, batch),
            None => batch.messages(),
        };
        let sent = send_messages(sender, &sockets[channel], messages, &mut chosen, &mut has_error[channel]);
        match (stamps.as_mut(), chosen, chosen_ns) {
            (Some(sampler), Some(chosen), Some(sent_ns)) if chosen < sent.accepted => {
                sampler.sent_chosen(channel, sent.accepted, sent_ns, mark);
            }
            // Refused: none is asked for again.
            (Some(_), None, Some(_)) => *stamps = None,
            (Some(sampler), ..) => sampler.sent(sent.accepted),
            (None, ..) => {}
        }
        sent
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        if self.send_only {
            return;
        }
        if !self.has_waited && self.sockets.len() > SWEPT_SOCKETS {
            note_ready(&mut self.poller, 0, &mut self.may_have_data);
        }
        let is_named = self.has_waited || self.sockets.len() > SWEPT_SOCKETS;
        self.has_waited = false;
        if self.stamps.as_ref().is_some_and(StampSampler::is_awaiting) {
            self.look_for_stamp(is_named, sink);
        }
        for channel in 0..self.sockets.len() {
            // A worker that does not wait reads all sockets in the next round.
            if !std::mem::replace(&mut self.may_have_data[channel], true) && !self.has_error[channel] {
                continue;
            }
            for _ in 0..self.rounds {
                let asked_ns = self.clock.now_ns();
                match self.receiver.receive(&self.sockets[channel]) {
                    Ok(0) => {
                        self.emptied_ns[channel] = asked_ns;
                        break;
                    }
                    Ok(_) => {}
                    Err(_) => {
                        // An ICMP error; the packet it quotes is in the error
                        // queue, and responses may follow it.
                        self.has_error[channel] = true;
                        continue;
                    }
                }
                self.deliver(channel, sink);
                if !self.receiver.is_full() {
                    self.emptied_ns[channel] = asked_ns;
                    break;
                }
            }
            if self.has_error[channel] {
                self.take_queued(channel, sink);
            }
        }
    }

    fn wait(&mut self, until_ns: u64, wake: Wake) {
        if self.send_only || (self.stamped && !wake.on_arrival) {
            return self.clock.sleep_until_ns(until_ns, wake.exactly);
        }
        let UdpTransport { clock, poller, may_have_data, has_waited, .. } = self;
        clock.wait_until_ns(until_ns, wake.exactly, |timeout_ns| {
            *has_waited = true;
            note_ready(poller, timeout_ns, may_have_data)
        });
    }

    fn oversleep_ns(&self) -> u64 {
        self.clock.oversleep_ns()
    }

    fn resources(&mut self) -> Resources {
        let used = self.clock.used();
        let drops = |socket: &UdpSocket| socket::drops(socket).unwrap_or(0);
        Resources {
            cpu_ns: used.cpu_ns,
            cpu_wait_ns: used.cpu_wait_ns,
            socket_drops: if self.send_only { 0 } else { self.sockets.iter().map(drops).sum() },
            fragments: 0,
        }
    }
}

impl Open for UdpTransport {
    fn open_all(description: &Description) -> Result<Vec<Self>, description::OpenError> {
        let config = UdpConfig {
            server: description.server,
            local_address: description.local_address,
            receive_buffer: description.receive_buffer,
            send_buffer: description.send_buffer,
            send_only: description.send_only,
            any_source: description.any_source,
        };
        let mut ports = description.local_ports.map(|(first, last)| first..=last);
        let mut port = |_| ports.as_mut().and_then(Iterator::next).unwrap_or(0);
        let mut open = |worker| {
            let sockets = description.clients_of(worker);
            let opened = match &description.sources {
                None => UdpTransport::open(&config, &(0..sockets).map(&mut port).collect::<Vec<u16>>()),
                Some(sources) => {
                    let end = |i: usize| sources.ends.get(i * description.workers + worker).copied();
                    UdpTransport::open_from(&config, (0..sockets).filter_map(end))
                }
            };
            let mut opened = opened.map_err(description::OpenError::refused)?;
            opened.proxied = description.proxy.map(|source| {
                let clients = (0..sockets).map(|i| i * description.workers + worker);
                ProxiedDatagrams::new(&source, description.server, clients)
            });
            Ok(opened)
        };
        description.sources.iter().try_for_each(check_routes).map_err(description::OpenError::refused)?;
        (0..description.workers).map(&mut open).collect()
    }
}

impl InMix for UdpTransport {
    fn events(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }

    fn note_quiet(&mut self) {
        self.may_have_data.fill(false);
        self.has_waited = true;
    }
}

/// Sends messages over a socket, the `chosen` one with a stamp unless the kernel refuses to make any.
fn send_messages(
    sender: &mut Sender,
    socket: &UdpSocket,
    mut messages: Messages<'_>,
    chosen: &mut Option<usize>,
    has_error: &mut bool,
) -> Sent {
    let mut accepted = 0;
    let mut last_error = None;
    // The ICMP error of an earlier message makes one later call fail, which then sends
    // nothing; the next call sends, or reports the next such error. The same error twice
    // without a message sent in between is about this message, unless it is that of the closed
    // port.
    for _ in 0..REFUSALS_AT_ONCE {
        let sent = match chosen.and_then(|chosen| chosen.checked_sub(accepted)) {
            None => sender.send(socket, messages),
            Some(chosen) => sender.send_stamped(socket, messages, chosen),
        };
        accepted += sent.accepted;
        let Some(error) = sent.error else { return Sent { accepted, stopped: None } };
        let errno = error.raw_os_error().unwrap_or(0);
        let again = sent.accepted == 0 && last_error == Some(errno);
        match may_be_icmp(errno) {
            true if errno == libc::ECONNREFUSED || !again => *has_error = true,
            // A kernel that knows the option of the socket, and not the request of one message.
            _ if errno == libc::EINVAL && chosen.is_some() => *chosen = None,
            _ => return Sent { accepted, stopped: Some(stopped_by(errno)) },
        }
        last_error = Some(errno);
        messages = messages.skip(sent.accepted);
    }
    Sent { accepted, stopped: Some(Stopped::Full) }
}

/// Waits for sockets that have packets, and notes which: the others are not called. Returns whether any has.
fn note_ready(poller: &mut Poller, timeout_ns: u64, may_have_data: &mut [bool]) -> bool {
    let Ok(ready) = poller.wait(Some(timeout_ns)) else {
        // No cause is known. All sockets are read.
        may_have_data.fill(true);
        return true;
    };
    may_have_data.fill(false);
    let mut any = false;
    for channel in ready {
        may_have_data[channel as usize] = true;
        any = true;
    }
    any
}

/// Opens one non-blocking socket, connected unless it takes responses from any address.
pub(crate) fn connect(config: &UdpConfig, local_port: u16) -> Result<UdpSocket, OpenError> {
    opened(config, local_port, |_| Ok(()))
}

/// The same, after `prepare` has set options before the socket is bound.
fn opened(
    config: &UdpConfig,
    local_port: u16,
    prepare: impl FnOnce(&Socket) -> io::Result<()>,
) -> Result<UdpSocket, OpenError> {
    let server = config.server;
    let any = |source: io::Error| open_error(source, config, local_port);
    let socket = Socket::new(Domain::for_address(server), Type::DGRAM, Some(Protocol::UDP)).map_err(any)?;
    socket.set_nonblocking(true).map_err(any)?;
    let buffer = if config.send_only { SEND_ONLY_RECEIVE_BUFFER } else { config.receive_buffer };
    socket::set_receive_buffer(&socket, buffer).map_err(any)?;
    socket::set_send_buffer(&socket, config.send_buffer).map_err(any)?;
    let wildcard: IpAddr = match server {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let local = local_end(config.local_address.unwrap_or(wildcard), local_port, server);
    prepare(&socket).map_err(any)?;
    socket.bind(&local.into()).map_err(any)?;
    if !config.any_source {
        socket.connect(&server.into()).map_err(any)?;
    }
    if !config.send_only {
        socket::report_icmp_errors(&socket, server.is_ipv6()).map_err(any)?;
        socket::join_received(&socket);
    }
    Ok(socket.into())
}

/// Refuses networks that this host takes no packets to: their addresses can be bound to, and get no response.
fn check_routes(sources: &SourceEnds) -> Result<(), OpenError> {
    for &SourceLimit { address, network, length } in &*sources.limits {
        if !is_taken_here(address) {
            return Err(OpenError::NotRouted { address, network, length });
        }
    }
    Ok(())
}

/// The local end of a socket. A link-local address is that of the server's interface: it has no meaning without one.
pub(crate) fn local_end(address: IpAddr, port: u16, server: SocketAddr) -> SocketAddr {
    match (address, server) {
        (IpAddr::V6(address), SocketAddr::V6(server)) if address.is_unicast_link_local() => {
            SocketAddrV6::new(address, port, 0, server.scope_id()).into()
        }
        _ => SocketAddr::new(address, port),
    }
}

/// Says what the user can do about a socket that could not be opened.
fn open_error(source: io::Error, config: &UdpConfig, local_port: u16) -> OpenError {
    let server = config.server;
    match source.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            let soft = thread::open_files_limit().map_or(0, |(soft, _)| soft);
            OpenError::TooManyFiles { soft }
        }
        Some(libc::EADDRNOTAVAIL) if config.local_address.is_some() => {
            let ip = config.local_address.unwrap_or(server.ip());
            OpenError::NotOurAddress { address: SocketAddr::new(ip, local_port) }
        }
        Some(libc::EADDRINUSE) => OpenError::PortTaken { port: local_port },
        // The kernel found no address of ours from which a route leads there (IPv6 loopback, when it is down).
        Some(libc::EADDRNOTAVAIL) => OpenError::NoRoute { server },
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN) => OpenError::NoRoute { server },
        _ => OpenError::Other { server, source },
    }
}

/// What an error of the system call means for the message.
fn stopped_by(errno: i32) -> Stopped {
    match errno {
        libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM => Stopped::Full,
        libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN | libc::ENODEV => {
            Stopped::Failed(NotSentReason::NoRoute)
        }
        libc::EMSGSIZE => Stopped::Failed(NotSentReason::TooLong),
        libc::EPERM | libc::EACCES => Stopped::Failed(NotSentReason::Forbidden),
        _ => Stopped::Failed(NotSentReason::OtherError),
    }
}

/// Whether the error may be an ICMP error about an earlier message.
fn may_be_icmp(errno: i32) -> bool {
    is_refusal(errno) || errno == libc::EMSGSIZE
}

/// Errors of the error queue that mean: this query will not be answered.
fn is_refusal(errno: i32) -> bool {
    matches!(errno, libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EACCES | libc::EPROTO)
}

/// Packets in one system call: beyond 64 the cost of the call no longer matters.
pub const BATCH: usize = 64;

/// Full batches that are received before it is time to send again.
const ROUNDS: usize = 4;

/// ICMP errors that are read at once; a closed port sends one for each query.
const REFUSALS_AT_ONCE: usize = 64;

/// With more sockets than this, asking the kernel which are ready costs less than calling each.
const SWEPT_SOCKETS: usize = 4;

/// The kernel drops the responses of a send-only run at once instead of storing them.
const SEND_ONLY_RECEIVE_BUFFER: usize = 1;

//! Opening connections: from which address, and what a failure means.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};

use dnsdyno_measure::{ConnectFailure, NotSentReason};
use dnsdyno_sys::{clock, socket};
use socket2::{Domain, Protocol, Socket, Type};

use super::ports::{LocalPort, LocalPorts};
use crate::Stopped;
use crate::description::Description;
use crate::udp::local_end;

/// Opens connections to one server, from each local address in turn.
pub(crate) struct Dialer {
    server: SocketAddr,
    /// Where connections start from; one unspecified address where the kernel chooses.
    locals: Vec<(IpAddr, LocalPorts)>,
    next: usize,
    fast_open: bool,
    /// Whether a query is sent at once even if another one is outstanding (TCP_NODELAY).
    at_once: bool,
}

/// A connection that was started.
pub(crate) struct Begun {
    pub(crate) stream: TcpStream,
    /// Where it starts from; to be given back when it has ended.
    pub(crate) local: LocalPort,
    /// What the kernel reported, where it knew at once.
    pub(crate) outcome: io::Result<Progress>,
}

/// How far a connection was established within the call that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is established, or, with Fast Open, can be written to as if it were.
    Writable,
    /// The SYN was sent.
    UnderWay,
}

impl Dialer {
    /// Connections of worker number `worker` from `locals` in turn; where there are none the kernel chooses.
    pub(crate) fn new(config: &Description, locals: &[IpAddr], worker: usize, at_once: bool) -> Self {
        let server = config.server;
        let any: IpAddr =
            if server.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let locals = if locals.is_empty() { &[any] } else { locals };
        let ports = LocalPorts::new(socket::local_ports(), worker, config.workers, clock::monotonic_ns());
        let locals: Vec<_> = locals.iter().map(|address| (*address, ports.clone())).collect();
        // Workers start with different addresses, so that a few connections have different ones.
        let next = worker * locals.len() / 2 % locals.len();
        Dialer { server, locals, next, fast_open: config.fast_open, at_once }
    }

    /// Starts a connection. An error is caused by this host, not by the server.
    pub(crate) fn begin(&mut self, now_ns: u64) -> io::Result<Begun> {
        let place = self.next;
        self.next = if self.next + 1 == self.locals.len() { 0 } else { self.next + 1 };
        for _ in 0..MOST_TRIES {
            let (address, ports) = &mut self.locals[place];
            let address = *address;
            let Some((port, since_ns)) = ports.take() else { break };
            let local = LocalPort { address: place as u32, port };
            // A connection on a host from the server's port to the server's port would be one to itself.
            let begun = match port == self.server.port() {
                true => Err(io::Error::from_raw_os_error(libc::EADDRINUSE)),
                false => self.begin_from(local_end(address, port, self.server), local),
            };
            let Err(error) = begun else { return begun };
            let ports = &mut self.locals[place].1;
            match since_ns {
                _ if !is_taken(&error) => {
                    ports.give_back(port, now_ns);
                    return Err(error);
                }
                Some(since_ns) if now_ns.saturating_sub(since_ns) < LONGEST_REST_NS => {
                    ports.let_rest(port, since_ns);
                    return Err(error);
                }
                _ => ports.leave(port),
            }
        }
        Err(io::Error::from_raw_os_error(libc::EADDRNOTAVAIL))
    }

    /// Takes the port of a connection back that has ended.
    pub(crate) fn give_back(&mut self, local: LocalPort, now_ns: u64) {
        self.locals[local.address as usize].1.give_back(local.port, now_ns);
    }

    fn begin_from(&self, from: SocketAddr, local: LocalPort) -> io::Result<Begun> {
        // The standard library's sockets block; this call makes a non-blocking one.
        let kind = Type::STREAM.nonblocking();
        let socket = Socket::new(Domain::for_address(self.server), kind, Some(Protocol::TCP))?;
        if self.at_once {
            socket.set_tcp_nodelay(true)?;
        }
        if self.fast_open {
            socket::write_before_connected(&socket);
        }
        // Our last connection from this port may be in TIME_WAIT: whether it may be used says the connection.
        socket.set_reuse_address(true)?;
        socket.bind(&from.into())?;
        let outcome = match socket.connect(&self.server.into()) {
            Ok(()) => Ok(Progress::Writable),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(Progress::UnderWay),
            Err(error) if not_begun(&error).is_some() => return Err(error),
            Err(error) => Err(error),
        };
        Ok(Begun { stream: socket.into(), local, outcome })
    }

    /// How many local addresses there are to choose from; the kernel's choice counts as one.
    pub(crate) fn addresses(&self) -> usize {
        self.locals.len()
    }
}

/// Whether an error means that the port cannot be used now.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE))
}

/// Those of `candidates` that connections can start from on this host.
pub(crate) fn usable(candidates: impl Iterator<Item = IpAddr>) -> io::Result<Vec<IpAddr>> {
    let mut usable = Vec::new();
    for address in candidates {
        let local = SocketAddr::new(address, 0);
        let socket = Socket::new(Domain::for_address(local), Type::STREAM, Some(Protocol::TCP))?;
        match socket.bind(&local.into()) {
            Ok(()) => usable.push(address),
            // Not of this host, or the broadcast address of a network.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EADDRNOTAVAIL | libc::EACCES)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(usable)
}

/// What an error means that occurs before any packet was sent: why there is no connection, and what
/// happens to the query. `None` where the server caused the error.
pub(crate) fn not_begun(error: &io::Error) -> Option<(ConnectFailure, Stopped)> {
    let failed = |reason| Stopped::Failed(reason);
    Some(match error.raw_os_error() {
        Some(libc::ECONNREFUSED | libc::ECONNRESET | libc::ETIMEDOUT) => return None,
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => {
            (ConnectFailure::NoLocalPort, Stopped::Later(NotSentReason::NoLocalPort))
        }
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN | libc::ENODEV) => {
            (ConnectFailure::Unreachable, failed(NotSentReason::NoRoute))
        }
        Some(libc::EPERM | libc::EACCES) => (ConnectFailure::OtherError, failed(NotSentReason::Forbidden)),
        Some(libc::ENOBUFS | libc::ENOMEM | libc::EAGAIN) => (ConnectFailure::OtherError, Stopped::Full),
        _ => (ConnectFailure::OtherError, failed(NotSentReason::OtherError)),
    })
}

/// What an error of a started connection means.
pub(crate) fn failure_of(error: &io::Error) -> ConnectFailure {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => ConnectFailure::Refused,
        Some(libc::ETIMEDOUT) => ConnectFailure::TimedOut,
        Some(libc::ECONNRESET | libc::EPIPE) => ConnectFailure::Reset,
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN | libc::EACCES | libc::EPROTO) => {
            ConnectFailure::Unreachable
        }
        _ => ConnectFailure::OtherError,
    }
}

/// How many ports that others have one connection passes over, some microseconds each.
const MOST_TRIES: u32 = 256;

/// How long a port rests (RFC 9293 §3.6.1, with Linux' 60 s for twice the lifetime of a segment), and some more.
const LONGEST_REST_NS: u64 = 65_000_000_000;

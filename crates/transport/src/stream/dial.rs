//! Opening connections: from which address, and what a failure means.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use dnsdyno_measure::{ConnectFailure, NotSentReason};
use dnsdyno_sys::socket;
use socket2::{Domain, Protocol, Socket, Type};

use crate::Stopped;

/// Opens connections to one server, from each local address in turn.
pub(crate) struct Dialer {
    server: SocketAddr,
    locals: Vec<IpAddr>,
    next: usize,
    fast_open: bool,
    /// Whether a query is sent at once even if another one is outstanding (TCP_NODELAY).
    at_once: bool,
}

/// A connection that was started.
pub(crate) struct Begun {
    pub(crate) stream: TcpStream,
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
    /// Connections to `server` from `locals` in turn, starting with number `first`; where there are
    /// none the kernel chooses.
    pub(crate) fn new(
        server: SocketAddr,
        locals: Vec<IpAddr>,
        first: usize,
        fast_open: bool,
        at_once: bool,
    ) -> Self {
        let next = first % locals.len().max(1);
        Dialer { server, locals, next, fast_open, at_once }
    }

    /// Starts a connection. An error is caused by this host, not by the server.
    pub(crate) fn begin(&mut self) -> io::Result<Begun> {
        // The standard library's sockets block; this call makes a non-blocking one.
        let kind = Type::STREAM.nonblocking();
        let socket = Socket::new(Domain::for_address(self.server), kind, Some(Protocol::TCP))?;
        if self.at_once {
            socket.set_tcp_nodelay(true)?;
        }
        if self.fast_open {
            socket::write_before_connected(&socket);
        }
        if let Some(local) = self.locals.get(self.next) {
            self.next = if self.next + 1 == self.locals.len() { 0 } else { self.next + 1 };
            socket::choose_port_on_connect(&socket);
            socket.bind(&SocketAddr::new(*local, 0).into())?;
        }
        let outcome = match socket.connect(&self.server.into()) {
            Ok(()) => Ok(Progress::Writable),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(Progress::UnderWay),
            Err(error) if not_begun(&error).is_some() => return Err(error),
            Err(error) => Err(error),
        };
        Ok(Begun { stream: socket.into(), outcome })
    }

    /// How many local addresses there are to choose from; the kernel's choice counts as one.
    pub(crate) fn addresses(&self) -> usize {
        self.locals.len().max(1)
    }
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

//! What a responder is to be, and why it does not start.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::answer::Rule;
use crate::faults::{Faults, FaultsError};
use crate::kind::Transport;
use crate::tls::{TlsError, TlsSettings};

/// The configuration of a responder. [`Config::default`] answers every name on a free port of 127.0.0.1.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address and port of both UDP and TCP; port 0 selects one that is free for both. On a wildcard
    /// address the kernel chooses the source address of UDP responses.
    pub listen: SocketAddr,
    /// Further addresses; port 0 selects a free one.
    pub listen_also: Vec<SocketAddr>,
    /// How queries are answered.
    pub rule: Rule,
    /// What to do wrong.
    pub faults: Faults,
    /// Threads on each port of UDP, TCP, DoT and DoH, 1 to 1024, each with a socket of its own (SO_REUSEPORT): the
    /// kernel distributes clients. Each has its own random stream. The threads of connections after the first also
    /// have tables of open files of their own, so that the limit of open files holds for each.
    pub threads: usize,
    /// Whether other responders may serve the same ports of UDP, TCP, DoT and DoH; the kernel
    /// distributes clients between them (SO_REUSEPORT).
    pub share_port: bool,
    /// Whether to serve TCP too.
    pub tcp: bool,
    /// Addresses of DNS over TLS; port 0 selects a free one.
    pub dot: Vec<SocketAddr>,
    /// Addresses of DNS over HTTP/2, at the path `/dns-query`; port 0 selects a free one.
    pub doh: Vec<SocketAddr>,
    /// Addresses of DNS over QUIC; port 0 selects a free one. One thread each.
    pub doq: Vec<SocketAddr>,
    /// Addresses of DNS over HTTP/3, at the path `/dns-query`; port 0 selects a free one. One
    /// thread each.
    pub doh3: Vec<SocketAddr>,
    /// Certificate, versions and tickets of these.
    pub tls: TlsSettings,
    /// A connection without outstanding queries is closed after this long.
    pub idle: Duration,
    /// Connections open at once on one address and transport; further ones are closed when accepted.
    pub connections_max: usize,
    /// Receive buffer of each UDP socket, in bytes (beyond the host's limit only as root).
    pub receive_buffer_bytes: usize,
    /// Send buffer of each UDP socket, in bytes.
    pub send_buffer_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            listen_also: Vec::new(),
            rule: Rule::default(),
            faults: Faults::default(),
            threads: 1,
            share_port: false,
            tcp: true,
            dot: Vec::new(),
            doh: Vec::new(),
            doq: Vec::new(),
            doh3: Vec::new(),
            tls: TlsSettings::default(),
            idle: Duration::from_secs(10),
            connections_max: 65_536,
            receive_buffer_bytes: 16 << 20,
            send_buffer_bytes: 4 << 20,
        }
    }
}

/// Why a responder does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The port is in use.
    #[error(
        "{transport} port {address} is in use; stop the program that listens there, or choose another port (0 = any \
         free one)"
    )]
    PortInUse {
        /// What it was for.
        transport: Transport,
        /// What was asked for.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {transport} {address}: {source}{advice}")]
    Listen {
        /// What it was for.
        transport: Transport,
        /// What was asked for.
        address: SocketAddr,
        /// What the system reported.
        source: io::Error,
        /// What to do, where the reason has a known cure.
        advice: &'static str,
    },
    /// No port is free for both UDP and TCP.
    #[error("found no port free for both UDP and TCP on {address} in {tries} tries; give one")]
    NoFreePort {
        /// What was asked for.
        address: SocketAddr,
        /// How often it was tried.
        tries: usize,
    },
    /// TLS cannot be served.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The faults are impossible.
    #[error(transparent)]
    Faults(#[from] FaultsError),
    /// The number of threads is impossible.
    #[error("{threads} threads; use 1 to 1024")]
    Threads {
        /// What was asked for.
        threads: usize,
    },
    /// The system gives no thread or no poll descriptor.
    #[error(
        "cannot start serving: {0}; look at the limits of processes and open files (ulimit -u, ulimit -n)"
    )]
    Start(#[source] io::Error),
}

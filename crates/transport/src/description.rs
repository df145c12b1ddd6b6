//! The description of the transports of a run, from which each kind of transport is opened.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dnsdyno_sys::xdp::{Attach, CopyMode};

use crate::Transport;
use crate::proxy::ProxySource;
use crate::table::transports;
use crate::tls::TlsConfig;

/// A kind of transport that can be opened from a description.
pub trait Open: Transport + Send + Sized {
    /// Opens one transport per worker.
    ///
    /// # Errors
    /// If the description cannot be used, or the host does not allow it.
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError>;

    /// The number of files that this opens, over all workers.
    fn files(description: &Description) -> usize {
        description.clients
    }
}

/// Why the transports of a run cannot be opened, with the error of the kind of transport.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The description is not usable on any host: a file without certificates, an invalid name.
    #[error(transparent)]
    Unusable(Box<dyn Error + Send + Sync>),
    /// This host does not allow it.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
}

impl OpenError {
    pub(crate) fn unusable(error: impl Error + Send + Sync + 'static) -> Self {
        OpenError::Unusable(Box::new(error))
    }

    pub(crate) fn refused(error: impl Error + Send + Sync + 'static) -> Self {
        OpenError::Refused(Box::new(error))
    }
}

/// The settings of all transports of a run. Each kind reads those that apply to it.
#[derive(Clone, Debug)]
pub struct Description {
    /// The server.
    pub server: SocketAddr,
    /// The number of workers; each has one transport.
    pub workers: usize,
    /// Sockets, source ports, or clients with one connection each, over all workers; at least one per worker.
    pub clients: usize,
    /// The address to send from; `None` lets the kernel choose.
    pub local_address: Option<IpAddr>,
    /// Connections also use the addresses after it, up to the end of its prefix of this length in bits.
    pub local_prefix: Option<u8>,
    /// Where each UDP socket sends from, by its number over all workers; `None`: from `local_address`.
    pub sources: Option<SourceEnds>,
    /// The ports to send from, first and last; `None` lets the kernel choose.
    pub local_ports: Option<(u16, u16)>,
    /// The source addresses that the PROXY protocol announces; `None` sends no such header. Not for QUIC and AF_XDP.
    pub proxy: Option<ProxySource>,
    /// The receive buffer size to request for each UDP socket, in bytes.
    pub receive_buffer: usize,
    /// The same of the send buffer.
    pub send_buffer: usize,
    /// Whether responses are ignored.
    pub send_only: bool,
    /// Whether responses over UDP are taken from any address; otherwise only from the server's.
    pub any_source: bool,
    /// How long to wait for a response.
    pub timeout_ns: u64,
    /// A connection is closed after this many queries; `None` = never.
    pub queries_each: Option<u32>,
    /// A connection without outstanding queries is closed after this time; `None` = never.
    pub idle_timeout_ns: Option<u64>,
    /// Whether the first query may be sent with the SYN (TCP Fast Open).
    pub fast_open: bool,
    /// The timeout of a handshake.
    pub handshake_timeout_ns: u64,
    /// The TLS settings of encrypted transports.
    pub tls: TlsConfig,
    /// The path of the DoH resource, which starts with `/`.
    pub http_path: String,
    /// Whether a DoH query is sent in the path (GET), not in the body (POST).
    pub http_get: bool,
    /// The members of a mix, for [`Kind::Mixed`].
    pub members: Vec<MemberDescription>,
    /// For [`Kind::Xdp`].
    pub xdp: XdpDescription,
    /// The simulated server, for [`Kind::Sim`].
    pub sim: SimConfig,
    /// Stops the time of [`Kind::Sim`] while it is set.
    pub sim_pause: Pause,
    /// The random seed.
    pub seed: u64,
}

/// Where each of many UDP sockets sends from.
#[derive(Clone, Debug, Default)]
pub struct SourceEnds {
    /// Address and port of each; port 0 lets the kernel choose.
    pub ends: Arc<[(IpAddr, u16)]>,
    /// The first and the last address that is used of each network.
    pub limits: Arc<[SourceLimit]>,
}

/// An address that is sent from. Where it is not configured, its network needs a route of type `local`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLimit {
    /// The address.
    pub address: IpAddr,
    /// The first address of its network.
    pub network: IpAddr,
    /// The length of the prefix of the network.
    pub length: u8,
}

/// One member of a mix.
#[derive(Clone, Debug)]
pub struct MemberDescription {
    /// Its share of the queries, relative to the weights of the others; above 0.
    pub weight: f64,
    /// Sends its queries.
    pub first: PartDescription,
    /// Sends the queries again whose responses were truncated.
    pub fallback: Option<PartDescription>,
}

/// One part of a mix.
#[derive(Clone, Debug)]
pub struct PartDescription {
    /// The kind of transport.
    pub kind: PartKind,
    /// Its settings.
    pub description: Description,
}

/// Additional settings of AF_XDP.
#[derive(Clone, Debug, Default)]
pub struct XdpDescription {
    /// The interface; `None` uses that of the route to the server.
    pub interface: Option<String>,
    /// The first address to send from and the length of its prefix, which is routed to the interface; `None`
    /// uses the local address.
    pub source_prefix: Option<(IpAddr, u8)>,
    /// The Ethernet address of the next hop; `None` uses the neighbour table.
    pub next_hop: Option<[u8; 6]>,
    /// The VLAN ID (802.1Q) of the queries.
    pub vlan: Option<u16>,
    /// Where the XDP program runs.
    pub attach: Attach,
    /// Whether packets are copied.
    pub copy: CopyMode,
    /// Whether the number of workers may be reduced to the number of queues.
    pub fits_workers: bool,
    /// The longest query in bytes, to check against the interface's MTU.
    pub longest_message: usize,
}

/// The behaviour of the simulated server and of the link to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimConfig {
    /// The random seed; the same seed gives the same run.
    pub seed: u64,
    /// The shortest round-trip time.
    pub delay_ns: u64,
    /// The mean of a random addition to it, exponentially distributed.
    pub jitter_ns: u64,
    /// Share of responses that are slow, 0 to 1.
    pub slow: f64,
    /// Mean of what is added to those, exponentially distributed.
    pub slow_ns: u64,
    /// Mean by which the worker wakes up late, exponentially distributed.
    pub oversleep_ns: u64,
    /// Time that the server needs for each query, one at a time: its capacity is the inverse. 0 = unlimited.
    pub service_ns: u64,
    /// The longest queue of the server; further queries are lost.
    pub queue: usize,
    /// Share of queries that are lost, 0 to 1.
    pub loss: f64,
    /// Share of responses that arrive twice.
    pub duplicates: f64,
    /// Share of responses that carry another question.
    pub wrong_questions: f64,
    /// Share of queries that the network refuses.
    pub refused: f64,
    /// From when to when the server stalls; responses due in that time are received at its end.
    pub stall_ns: Option<(u64, u64)>,
    /// Messages that the link carries at once; further ones get [`Stopped::Full`](crate::Stopped::Full).
    pub capacity: usize,
}

/// Stops simulated time, which is faster than the disk that the record is written to.
#[derive(Clone, Debug, Default)]
pub struct Pause(Arc<AtomicBool>);

impl Pause {
    /// Stops time, or lets it continue.
    pub fn set(&self, is_paused: bool) {
        self.0.store(is_paused, Ordering::Release);
    }

    /// Returns when time may continue.
    #[inline]
    pub(crate) fn wait(&self) {
        while self.0.load(Ordering::Acquire) {
            std::thread::sleep(PAUSE_CHECK_INTERVAL);
        }
    }
}

impl Default for SimConfig {
    /// A local network without load (about 200 µs), and a server with unlimited capacity.
    fn default() -> Self {
        SimConfig {
            seed: 1,
            delay_ns: 200_000,
            jitter_ns: 20_000,
            slow: 0.0,
            slow_ns: 0,
            oversleep_ns: 0,
            service_ns: 0,
            queue: usize::MAX,
            loss: 0.0,
            duplicates: 0.0,
            wrong_questions: 0.0,
            refused: 0.0,
            stall_ns: None,
            capacity: usize::MAX,
        }
    }
}

macro_rules! kinds {
    (
        parts { $($(#[$part_doc:meta])* $part:ident: $($part_type:ident)::+,)+ }
        alone { $($(#[$doc:meta])* $kind:ident: $($type:ident)::+,)+ }
    ) => {
        /// The kinds of transport that can be part of a mix.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PartKind { $($(#[$part_doc])* $part,)+ }

        /// The kinds of transport.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            /// A kind that can also be part of a mix.
            Part(PartKind),
            $($(#[$doc])* $kind,)+
        }
    };
}

transports!(kinds);

impl Description {
    /// The number of sockets or clients of one worker.
    pub fn clients_of(&self, worker: usize) -> usize {
        self.clients / self.workers + usize::from(worker < self.clients % self.workers)
    }

    /// The addresses that connections may use: none if the kernel chooses.
    pub(crate) fn local_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let first = self.local_address.map(|address| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        });
        let is_v4 = self.local_address.is_some_and(|address| address.is_ipv4());
        let host_bits = self.local_prefix.map_or(0, |length| if is_v4 { 32 - length } else { 128 - length });
        let hosts = 1u128.checked_shl(u32::from(host_bits)).unwrap_or(0).wrapping_sub(1);
        let last = first.map(|first| (first | hosts).min(first.saturating_add(MOST_ADDRESSES - 1)));
        first.into_iter().zip(last).flat_map(|(first, last)| first..=last).map(move |bits| match is_v4 {
            true => IpAddr::V4((bits as u32).into()),
            false => IpAddr::V6(bits.into()),
        })
    }
}

/// Addresses of a prefix that are used at most: each has tens of thousands of ports.
const MOST_ADDRESSES: u128 = 1 << 12;

const PAUSE_CHECK_INTERVAL: Duration = Duration::from_millis(1);

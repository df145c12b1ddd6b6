//! What a run wants of its transports: one description, from which each kind of transport opens itself.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};

use dnsdyno_sys::xdp::{Attach, CopyMode};

use crate::Transport;
use crate::table::transports;
use crate::tls::TlsConfig;

/// A kind of transport that opens itself.
pub trait Open: Transport + Send + Sized {
    /// Opens the transport of each worker.
    ///
    /// # Errors
    /// Where the host, or what the description names, does not allow it.
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError>;

    /// How many files this opens, over all workers.
    fn files(description: &Description) -> usize {
        description.clients
    }
}

/// Why the transports of a run cannot be opened; the kind of transport says it in its own words.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What the description names is not usable on any host: a file without certificates, an impossible name.
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

/// What all transports of a run are to be like. Each kind reads what concerns it.
#[derive(Clone, Debug)]
pub struct Description {
    /// The server.
    pub server: SocketAddr,
    /// How many workers there are: each has a transport of its own.
    pub workers: usize,
    /// Sockets, source ports, or clients with a connection each, over all workers; at least one a worker.
    pub clients: usize,
    /// The address to send from; `None` lets the kernel choose.
    pub local_address: Option<IpAddr>,
    /// Connections also start from the addresses after it, up to the end of its prefix of so many bits.
    pub local_prefix: Option<u8>,
    /// The ports to send from, first and last; `None` lets the kernel choose.
    pub local_ports: Option<(u16, u16)>,
    /// Bytes of receive buffer to ask for, for each UDP socket.
    pub receive_buffer: usize,
    /// Whether responses are of no interest.
    pub send_only: bool,
    /// How long a query is waited for.
    pub timeout_ns: u64,
    /// After how many queries a connection is closed; `None` keeps it.
    pub queries_each: Option<u32>,
    /// How long a connection without an outstanding query is kept; `None` = as long as the server keeps it.
    pub idle_timeout_ns: Option<u64>,
    /// Whether the first query may travel with the SYN.
    pub fast_open: bool,
    /// How long a handshake may take.
    pub handshake_timeout_ns: u64,
    /// The TLS of what is encrypted.
    pub tls: TlsConfig,
    /// The path of the DoH resource, which starts with `/`.
    pub http_path: String,
    /// Whether a DoH query travels in the path (GET), not in a body (POST).
    pub http_get: bool,
    /// The members of a mix, for [`Kind::Mixed`].
    pub members: Vec<MemberDescription>,
    /// For [`Kind::Xdp`].
    pub xdp: XdpDescription,
    /// The imaginary server, for [`Kind::Sim`].
    pub sim: SimConfig,
    /// What chance starts from.
    pub seed: u64,
}

/// One member of a mix.
#[derive(Clone, Debug)]
pub struct MemberDescription {
    /// How many of the queries are its, against the weights of the others; above 0.
    pub weight: f64,
    /// What carries its queries.
    pub first: PartDescription,
    /// What carries those again whose responses were truncated.
    pub fallback: Option<PartDescription>,
}

/// One part of a mix.
#[derive(Clone, Debug)]
pub struct PartDescription {
    /// Its kind.
    pub kind: PartKind,
    /// The part as if it were alone.
    pub description: Description,
}

/// What AF_XDP is asked for beyond what every transport is.
#[derive(Clone, Debug, Default)]
pub struct XdpDescription {
    /// The interface; `None` takes the one that the route leads over.
    pub interface: Option<String>,
    /// The first address to send from and the length of its prefix, which is routed to the interface; `None`
    /// takes the local address.
    pub source_prefix: Option<(IpAddr, u8)>,
    /// The Ethernet address of the next hop; `None` looks it up.
    pub next_hop: Option<[u8; 6]>,
    /// The 802.1Q tag of the queries.
    pub vlan: Option<u16>,
    /// Where the program is to run.
    pub attach: Attach,
    /// Whether to copy packets.
    pub copy: CopyMode,
    /// Whether there may be fewer workers, where there are fewer queues.
    pub fits_workers: bool,
    /// The longest query in bytes, to be held against the interface's MTU.
    pub longest_message: usize,
}

/// How the imaginary server and the link to it behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimConfig {
    /// What makes two runs different; the same for the same.
    pub seed: u64,
    /// Shortest round trip.
    pub delay_ns: u64,
    /// Mean of what chance adds to it, exponentially distributed.
    pub jitter_ns: u64,
    /// Time that the server works on a query before it takes the next: its capacity is one over it. 0 = none.
    pub service_ns: u64,
    /// Queries that wait for the server at most; it loses further ones.
    pub queue: usize,
    /// Share of queries that are lost, 0 to 1.
    pub loss: f64,
    /// Share of responses that arrive twice.
    pub duplicates: f64,
    /// Share of responses that carry another question.
    pub wrong_questions: f64,
    /// Share of queries that the network refuses.
    pub refused: f64,
    /// From when to when the server stands still; responses due then arrive at its end.
    pub stall_ns: Option<(u64, u64)>,
    /// Messages that the link holds at once; a further one finds it full.
    pub capacity: usize,
}

impl Default for SimConfig {
    /// A quiet local network, 200 µs and a little, and a server without a limit.
    fn default() -> Self {
        SimConfig {
            seed: 1,
            delay_ns: 200_000,
            jitter_ns: 20_000,
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
            /// One that could also be part of a mix.
            Part(PartKind),
            $($(#[$doc])* $kind,)+
        }
    };
}

transports!(kinds);

impl Description {
    /// Sockets, or clients, of one worker.
    pub fn clients_of(&self, worker: usize) -> usize {
        self.clients / self.workers + usize::from(worker < self.clients % self.workers)
    }

    /// The addresses that connections may start from: none where the kernel chooses.
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

/// Addresses of a prefix that are looked at: each has tens of thousands of ports.
const MOST_ADDRESSES: u128 = 1 << 12;

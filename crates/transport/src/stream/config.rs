//! What the clients of a run have in common, and why they cannot be opened.

use std::io;
use std::net::{IpAddr, SocketAddr};

use dnsdyno_sys::thread;

use super::dial;
use crate::tls::TlsSetupError;

/// What the clients of a run have in common.
#[derive(Clone, Debug)]
pub struct StreamConfig<U> {
    /// The server.
    pub server: SocketAddr,
    /// The addresses that connections start from, in turn; none of them lets the kernel choose.
    pub local_addresses: Vec<IpAddr>,
    /// After how many queries a connection is closed; `None` keeps it.
    pub queries_each: Option<u32>,
    /// How long a connection without an outstanding query is kept; `None` = for ever.
    pub idle_timeout_ns: Option<u64>,
    /// How long the opening of a connection may take, and after how long a query times out.
    pub timeout_ns: u64,
    /// Whether the first query may be sent with the SYN.
    pub fast_open: bool,
    /// How long a handshake may take, where there is one.
    pub handshake_timeout_ns: u64,
    /// The configuration of its sessions.
    pub session: U,
}

/// Why clients cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StreamOpenError {
    /// None of the local addresses belongs to this host.
    #[error(
        "cannot connect from {first} or the addresses after it: none is an address of this host; see `ip address`"
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
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
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
) -> Result<Vec<IpAddr>, StreamOpenError> {
    let mut candidates = candidates.peekable();
    let Some(first) = candidates.peek().copied() else { return Ok(Vec::new()) };
    match dial::usable(candidates) {
        Ok(addresses) if addresses.is_empty() => Err(StreamOpenError::NoUsableAddress { first }),
        Ok(addresses) => Ok(addresses),
        Err(source) => Err(open_error(server, source)),
    }
}

pub(super) fn open_error(server: SocketAddr, source: io::Error) -> StreamOpenError {
    match source.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            let soft = thread::open_files_limit().map_or(0, |(soft, _)| soft);
            StreamOpenError::TooManyFiles { soft }
        }
        _ => StreamOpenError::Other { server, source },
    }
}

//! The local addresses of the clients of a run, and why clients cannot be opened.

use std::io;
use std::net::{IpAddr, SocketAddr};

use dnsdyno_sys::thread;

use super::dial;
use crate::tls::TlsSetupError;

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
        "this process may not open enough files (limit {soft}): use fewer --clients, or raise the limit with \
         `ulimit -n`"
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
        /// What the kernel reported.
        source: io::Error,
    },
}

/// Those of `candidates` that connections can start from on this host; at least one.
///
/// # Errors
/// Where there is none.
pub(crate) fn usable_addresses(
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

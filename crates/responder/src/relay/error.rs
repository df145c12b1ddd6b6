//! Why a relay does not start, or does not change its path.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::Error;

/// Why a relay does not start, or does not change its path.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// An option of a direction is impossible.
    #[error("the path is not possible: {reason}")]
    Way {
        /// What is wrong with it.
        reason: String,
    },
    /// A file of latencies cannot be used.
    #[error("the file of latencies {}: {reason}", path.display())]
    Latencies {
        /// Its name.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The server's address is that of the relay.
    #[error("{server} is the relay itself: give the server's address with --to, or listen elsewhere")]
    Itself {
        /// The server's address.
        server: SocketAddr,
    },
    /// The server's address is no destination.
    #[error("{server} is no address of a server: it needs an address of a host, and a port above 0")]
    NoServer {
        /// The server's address.
        server: SocketAddr,
    },
    /// A number is out of its bounds.
    #[error("{what} is {value}; use {from} {}", up_to(*to))]
    Bound {
        /// Of what.
        what: &'static str,
        /// What was asked for.
        value: usize,
        /// The smallest.
        from: usize,
        /// The largest.
        to: usize,
    },
    /// The server cannot be reached at all, such as without a route.
    #[error("cannot send to {server}: {source}; is there a route to it (ip route get)?")]
    Unreachable {
        /// The server's address.
        server: SocketAddr,
        /// What the system reported.
        source: std::io::Error,
    },
    /// It has ended, and changes nothing any more.
    #[error("the relay has ended")]
    Ended,
    /// It cannot listen, or has no thread.
    #[error(transparent)]
    Start(#[from] Error),
}

impl RelayError {
    /// Whether it was asked for something impossible, as opposed to a host that refuses.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, RelayError::Start(_) | RelayError::Unreachable { .. } | RelayError::Ended)
    }
}

/// How a bound is written that may be none.
fn up_to(bound: usize) -> String {
    if bound == usize::MAX { "or more".to_string() } else { format!("to {bound}") }
}

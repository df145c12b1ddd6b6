//! The tokens of the relay's sockets in its poller. Those of UDP clients are below all of these.

/// The socket of all UDP clients.
pub(crate) const UDP_LISTENER: u64 = 1 << 63;

/// The socket that accepts connections.
pub(crate) const TCP_LISTENER: u64 = UDP_LISTENER + 1;

/// What marks the tokens of connections.
pub(crate) const STREAM: u64 = 1 << 62;

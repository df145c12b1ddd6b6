//! What a server of QUIC is to be.

use crate::kind::Transport;

/// Limits of the QUIC server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuicSettings {
    /// [`Transport::Doq`] or [`Transport::Doh3`].
    pub(crate) transport: Transport,
    pub(crate) connections_max: usize,
    pub(crate) close_after: Option<u64>,
}

/// The name of the protocol in the handshake (ALPN), and how many unidirectional streams a client may open: over DoQ
/// none (RFC 9250 §4.2), over HTTP/3 three, and some of types that nobody knows.
pub(crate) fn protocol_of(transport: Transport) -> (&'static [u8], u32) {
    if transport == Transport::Doh3 { (b"h3", 8) } else { (b"doq", 0) }
}

//! What a server shows of itself in a QUIC handshake.

use quinn_proto::crypto::rustls::HandshakeData;
use rustls::pki_types::CertificateDer;

use crate::Peer;

/// What the server of this connection has shown of itself; its handshake is done.
pub(super) fn peer_of(quic: &quinn_proto::Connection) -> Peer {
    let session = quic.crypto_session();
    let data = session.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
    let protocol = data.and_then(|data| data.protocol);
    let identity = session.peer_identity().and_then(|known| known.downcast::<Vec<CertificateDer<'_>>>().ok());
    Peer {
        // QUIC has no other (RFC 9001, 4.2).
        tls_version: Some("TLS 1.3".to_owned()),
        // The library does not tell.
        cipher_suite: None,
        alpn: protocol.map(|name| String::from_utf8_lossy(&name).into_owned()),
        certificates: identity
            .map(|chain| chain.iter().map(|der| der.to_vec()).collect())
            .unwrap_or_default(),
    }
}

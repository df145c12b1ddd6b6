//! What a server shows of itself in a completed handshake.

use rustls::{ClientConnection, ProtocolVersion};

use crate::Peer;

/// What the server of this connection has shown of itself; its handshake is done.
pub(crate) fn peer_of(tls: &ClientConnection) -> Peer {
    let suite = tls.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
    Peer {
        tls_version: tls.protocol_version().and_then(version_of).map(str::to_owned),
        // The library's names of the suites of TLS 1.3 have the version, those of IANA do not.
        cipher_suite: suite.map(|name| name.replacen("TLS13_", "TLS_", 1)),
        alpn: tls.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
        certificates: tls.peer_certificates().unwrap_or_default().iter().map(|der| der.to_vec()).collect(),
    }
}

fn version_of(version: ProtocolVersion) -> Option<&'static str> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("TLS 1.2"),
        ProtocolVersion::TLSv1_3 => Some("TLS 1.3"),
        _ => None,
    }
}

//! The configuration of `quinn-proto` for the clients of a run over QUIC, and why they cannot be opened.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use dnsdyno_measure::HandshakeFailure;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ClientConfig, TransportConfig, VarInt};
use rustls::pki_types::CertificateDer;

use super::connection::Protocol;
use crate::bounds::{QUIC_HANDSHAKE_BYTES, quic_connection_window};
use crate::tls::{self, Facts, NoteVerification, NotedVerifier, Sessions, Tls, TlsSetupError};
use crate::udp;

/// Why clients cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum QuicOpenError {
    /// A socket could not be opened.
    #[error(transparent)]
    Socket(#[from] udp::OpenError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// TLS lacks what QUIC needs.
    #[error("QUIC needs TLS 1.3 with AES-128-GCM, which this TLS configuration lacks: remove --tls-version")]
    NoSuite,
    /// The host provides no epoll set.
    #[error("cannot prepare connections to {server}: {source}")]
    Other {
        /// The server.
        server: SocketAddr,
        /// What the kernel reported.
        source: std::io::Error,
    },
}

/// The configuration of QUIC for so many clients, the result of its verifier, and its session store.
pub(super) fn client_config<P: Protocol>(
    queries_each: Option<u32>,
    tls: &Tls,
    clients: usize,
) -> Result<(ClientConfig, Arc<VerifierResult>, Arc<Sessions>), QuicOpenError> {
    let (mut client, sessions) = tls.client_config(&[P::ALPN], clients)?;
    let verifier_result = Arc::<VerifierResult>::default();
    let verifier = NotedVerifier { verifier: tls.verifier(), notes: Arc::clone(&verifier_result) };
    client.dangerous().set_certificate_verifier(Arc::new(verifier));
    let crypto = QuicClientConfig::try_from(client).map_err(|_| QuicOpenError::NoSuite)?;
    let mut quic = ClientConfig::new(Arc::new(crypto));
    quic.transport_config(Arc::new(transport::<P>(queries_each, clients)));
    Ok((quic, verifier_result, sessions))
}

fn transport<P: Protocol>(queries_each: Option<u32>, clients: usize) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // A server must not open streams for queries (RFC 9250, 4.2; RFC 9114, 6.1).
    transport.max_concurrent_bidi_streams(VarInt::from_u32(0));
    transport.max_concurrent_uni_streams(VarInt::from_u32(P::SERVER_STREAMS));
    transport.stream_receive_window(VarInt::from_u32(P::STREAM_WINDOW));
    transport.receive_window(VarInt::from_u32(quic_connection_window(clients)));
    transport.crypto_buffer_size(QUIC_HANDSHAKE_BYTES);
    transport.datagram_receive_buffer_size(None);
    // Idle connections are closed by our own idle timeout and by the server's.
    transport.max_idle_timeout(None);
    if queries_each.is_some_and(|most| most <= TOO_FEW_TO_PROBE) {
        // Path MTU discovery sends packets of its own.
        transport.mtu_discovery_config(None);
    }
    transport
}

/// The result of the last verification of a certificate. Only full handshakes verify one, and the library
/// reports neither the kind of a handshake nor what is wrong with a certificate: without this, only the
/// alert would be known.
#[derive(Debug, Default)]
pub(super) struct VerifierResult {
    verification: Mutex<Option<Verification>>,
    /// What is wrong with a certificate, in words.
    words: Mutex<Option<String>>,
}

/// The result of verifying a certificate.
pub(super) type Verification = Result<(), HandshakeFailure>;

impl VerifierResult {
    /// Takes the result. Only the worker's thread uses it, so the lock is never contended.
    pub(super) fn take(&self) -> Option<Verification> {
        self.verification.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Takes what was wrong with the last certificate that was rejected.
    pub(super) fn take_words(&self) -> Option<String> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl NoteVerification for VerifierResult {
    fn note(&self, error: Option<&rustls::Error>, certificate: &CertificateDer<'_>) {
        let verification = error.map_or(Ok(()), |error| Err(tls::failure_of(error)));
        *self.verification.lock().unwrap_or_else(PoisonError::into_inner) = Some(verification);
        let facts = Facts { certificate: Some(certificate), ..Facts::default() };
        let words = error.map(|error| tls::words_of(error, &facts));
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }
}

/// Path MTU discovery is off for connections with so few queries.
const TOO_FEW_TO_PROBE: u32 = 100;

//! Verifiers of certificates: one that accepts any, and one that tells the results of another.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

/// Accepts any certificate; the server still has to prove that it holds the certificate's key.
#[derive(Debug)]
pub(super) struct NoVerification(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The server's own certificate of the last handshake in which it was rejected. The library does not keep it, and
/// without it only "unknown issuer" could be said, and not which.
#[derive(Debug, Default)]
pub(crate) struct Rejected {
    certificate: Mutex<Option<Vec<u8>>>,
}

impl Rejected {
    /// Takes it. Only the worker's thread uses it, so the lock is never contended.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        self.certificate.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl NoteVerification for Rejected {
    fn note(&self, error: Option<&rustls::Error>, certificate: &CertificateDer<'_>) {
        if error.is_some() {
            *self.certificate.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate.to_vec());
        }
    }
}

/// Is told the result of each verification of a certificate.
pub(crate) trait NoteVerification: Debug + Send + Sync {
    /// `certificate` was verified, or rejected for the reason in `error`.
    fn note(&self, error: Option<&rustls::Error>, certificate: &CertificateDer<'_>);
}

/// A verifier that tells its results.
#[derive(Debug)]
pub(crate) struct NotedVerifier<N> {
    pub(crate) verifier: Arc<dyn ServerCertVerifier>,
    pub(crate) notes: Arc<N>,
}

impl<N: NoteVerification> ServerCertVerifier for NotedVerifier<N> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified =
            self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        self.notes.note(verified.as_ref().err(), end_entity);
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

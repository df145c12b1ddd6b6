//! Verifiers of certificates: one that accepts any, and one that keeps what another has rejected.

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

    fn set(&self, certificate: &CertificateDer<'_>) {
        *self.certificate.lock().unwrap_or_else(PoisonError::into_inner) = Some(certificate.to_vec());
    }
}

/// A verifier that keeps the certificate that another has rejected.
#[derive(Debug)]
pub(crate) struct KeepingRejected {
    pub(crate) verifier: Arc<dyn ServerCertVerifier>,
    pub(crate) rejected: Arc<Rejected>,
}

impl ServerCertVerifier for KeepingRejected {
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
        if verified.is_err() {
            self.rejected.set(end_entity);
        }
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

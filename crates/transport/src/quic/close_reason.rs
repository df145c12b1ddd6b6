//! What the end of a QUIC connection is counted as.

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HandshakeFailure};
use quinn_proto::{ConnectionError, TransportErrorCode};

use super::config::Verification;
use super::connection::NO_ERROR;

/// Why a handshake failed, given the result of verifying the server's certificate. No handshake failure
/// where the connection failed before it.
pub(crate) fn failure_of(
    error: &ConnectionError,
    verification: Option<Verification>,
) -> (ConnectFailure, Option<HandshakeFailure>) {
    let handshake = |why| (ConnectFailure::Handshake, Some(why));
    match error {
        ConnectionError::TransportError(_) => {
            handshake(verification.and_then(Result::err).unwrap_or(HandshakeFailure::Protocol))
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            (ConnectFailure::Refused, None)
        }
        ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
            handshake(HandshakeFailure::Alert)
        }
        ConnectionError::Reset => (ConnectFailure::Reset, None),
        ConnectionError::TimedOut => (ConnectFailure::TimedOut, Some(HandshakeFailure::TimedOut)),
        ConnectionError::VersionMismatch => handshake(HandshakeFailure::Protocol),
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => (ConnectFailure::OtherError, None),
    }
}

/// Why a connection ended whose handshake was done; `is_idle` = no query was outstanding.
pub(crate) fn end_of(error: &ConnectionError, is_idle: bool) -> ConnectionEnd {
    match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == NO_ERROR => ConnectionEnd::ByServer,
        ConnectionError::ConnectionClosed(close) if close.error_code == TransportErrorCode::NO_ERROR => {
            ConnectionEnd::ByServer
        }
        ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => ConnectionEnd::Error,
        ConnectionError::Reset => ConnectionEnd::Reset,
        // It is the server's idle timeout: we do not announce one.
        ConnectionError::TimedOut if is_idle => ConnectionEnd::ByServer,
        ConnectionError::TimedOut => ConnectionEnd::Silent,
        ConnectionError::TransportError(_) | ConnectionError::VersionMismatch => ConnectionEnd::Protocol,
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => ConnectionEnd::ByUs,
    }
}

//! What the end of a QUIC connection is counted as.

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HandshakeFailure};
use quinn_proto::{ConnectionError, TransportErrorCode};
use rustls::AlertDescription;

use super::config::Verification;
use super::connection::Protocol;
use crate::tls;

/// Why a handshake failed, given the result of verifying the server's certificate. No handshake failure
/// where the connection failed before it.
pub(crate) fn failure_of(
    error: &ConnectionError,
    verification: Option<Verification>,
) -> (ConnectFailure, Option<HandshakeFailure>) {
    let handshake = |why| (ConnectFailure::Handshake, Some(why));
    match error {
        ConnectionError::TransportError(error) => {
            let of_library = match alert_of(error.code) {
                Some(AlertDescription::NoApplicationProtocol) => HandshakeFailure::Alpn,
                _ => HandshakeFailure::Protocol,
            };
            handshake(verification.and_then(Result::err).unwrap_or(of_library))
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            (ConnectFailure::Refused, None)
        }
        ConnectionError::ConnectionClosed(close) => {
            handshake(alert_of(close.error_code).map_or(HandshakeFailure::Alert, |alert| {
                tls::failure_of(&rustls::Error::AlertReceived(alert))
            }))
        }
        ConnectionError::ApplicationClosed(_) => handshake(HandshakeFailure::Alert),
        ConnectionError::Reset => (ConnectFailure::Reset, None),
        ConnectionError::TimedOut => (ConnectFailure::TimedOut, Some(HandshakeFailure::TimedOut)),
        ConnectionError::VersionMismatch => handshake(HandshakeFailure::Protocol),
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => (ConnectFailure::OtherError, None),
    }
}

/// Why a connection ended whose handshake was done; `is_idle` = no query was outstanding.
pub(crate) fn end_of<P: Protocol>(error: &ConnectionError, is_idle: bool) -> ConnectionEnd {
    match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == P::NO_ERROR => {
            ConnectionEnd::ByServer
        }
        ConnectionError::ConnectionClosed(close) if close.error_code == TransportErrorCode::NO_ERROR => {
            ConnectionEnd::ByServer
        }
        ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => ConnectionEnd::Error,
        ConnectionError::Reset => ConnectionEnd::Reset,
        // It is the server's idle timeout: we do not announce one.
        ConnectionError::TimedOut if is_idle => ConnectionEnd::ByServer,
        ConnectionError::TimedOut => ConnectionEnd::Silent,
        ConnectionError::TransportError(error) if is_excess(error.code) => ConnectionEnd::Excess,
        ConnectionError::TransportError(_) | ConnectionError::VersionMismatch => ConnectionEnd::Protocol,
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => ConnectionEnd::ByUs,
    }
}

/// Whether the library has closed the connection with this code because too much waits behind gaps.
fn is_excess(code: TransportErrorCode) -> bool {
    [TransportErrorCode::CRYPTO_BUFFER_EXCEEDED, TransportErrorCode::INTERNAL_ERROR].contains(&code)
}

/// The alert of TLS that an error code of QUIC stands for (RFC 9001, 4.8).
pub(crate) fn alert_of(code: TransportErrorCode) -> Option<AlertDescription> {
    let code = u64::from(code).checked_sub(FIRST_ALERT)?;
    u8::try_from(code).ok().map(AlertDescription::from)
}

const FIRST_ALERT: u64 = 0x100;

//! What the end of a connection says, in the words of the books.

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HandshakeFailure};
use quinn_proto::{ConnectionError, TransportErrorCode};

use super::config::Verification;
use super::connection::NO_ERROR;

/// Why a handshake did not come to its end, where a look at the server's certificate came to `verification`; no reason of
/// the handshake's own where there was none.
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

/// What ended a connection whose handshake was done; `is_idle` says that nothing was under way on it.
pub(crate) fn end_of(error: &ConnectionError, is_idle: bool) -> ConnectionEnd {
    match error {
        ConnectionError::ApplicationClosed(close) if close.error_code == NO_ERROR => ConnectionEnd::ByServer,
        ConnectionError::ConnectionClosed(close) if close.error_code == TransportErrorCode::NO_ERROR => {
            ConnectionEnd::ByServer
        }
        ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => ConnectionEnd::Error,
        ConnectionError::Reset => ConnectionEnd::Reset,
        // The idle timeout is the server's: ours is not told to it.
        ConnectionError::TimedOut if is_idle => ConnectionEnd::ByServer,
        ConnectionError::TimedOut => ConnectionEnd::Silent,
        ConnectionError::TransportError(_) | ConnectionError::VersionMismatch => ConnectionEnd::Protocol,
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => ConnectionEnd::ByUs,
    }
}

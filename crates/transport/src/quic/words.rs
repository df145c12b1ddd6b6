//! Why a QUIC connection or a stream ended, in words for a user.

use dnsdyno_text::shown;
use quinn_proto::{ConnectionError, TransportErrorCode, VarInt};

use super::close_reason::alert_of;
use super::connection::Protocol;
use crate::bounds::SHOWN_CHARACTERS;
use crate::tls::words_of_alert;

/// Of a connection that ended with this error.
pub(super) fn of<P: Protocol>(error: &ConnectionError) -> String {
    match error {
        ConnectionError::VersionMismatch => {
            "the server does not support QUIC version 1: it answered with Version Negotiation".to_owned()
        }
        // Found by us. The reason is the library's, about what the server sent.
        ConnectionError::TransportError(error) => match alert_of(error.code) {
            Some(rustls::AlertDescription::NoApplicationProtocol) => {
                let offered = String::from_utf8_lossy(P::ALPN);
                format!(
                    "no common ALPN: we offered {offered}, and the server selected nothing: it may speak another \
                     protocol"
                )
            }
            Some(_) => with_reason("the server violated TLS".to_owned(), error.reason.as_bytes()),
            None => {
                with_reason(format!("the server violated QUIC ({:?})", error.code), error.reason.as_bytes())
            }
        },
        ConnectionError::ConnectionClosed(close) => {
            let words = match alert_of(close.error_code) {
                Some(alert) => words_of_alert(alert, &[P::ALPN.to_vec()]),
                None => of_transport_code(close.error_code),
            };
            with_reason(words, &close.reason)
        }
        ConnectionError::ApplicationClosed(close) => {
            let words = format!("the server closed the connection with {}", P::name_of(close.error_code));
            with_reason(words, &close.reason)
        }
        ConnectionError::Reset => {
            "the server does not know the connection any more (stateless reset): it may have restarted"
                .to_owned()
        }
        ConnectionError::TimedOut => "the server sent nothing any more".to_owned(),
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            "we closed the connection".to_owned()
        }
    }
}

/// Of a handshake that was not done in its time.
pub(super) fn of_timeout(has_read: bool) -> String {
    match has_read {
        true => "the server did not complete the handshake in time (see --handshake-timeout)",
        false => {
            "the server did not answer our first packets: it may not speak QUIC on this port, or a firewall drops them"
        }
    }
    .to_owned()
}

/// Of a stream that the server reset.
pub(super) fn of_reset<P: Protocol>(code: VarInt) -> String {
    format!("the server reset a stream with {}", P::name_of(code))
}

/// Of queries that the server has not processed.
pub(super) const GONE_AWAY: &str =
    "the server ended the connection with GOAWAY, and has not processed the queries of its last streams";

/// Of queries that waited for a stream until their timeout.
pub(super) fn of_no_stream(has_had_streams: bool) -> String {
    match has_had_streams {
        false => {
            "the server allows no QUIC stream (initial_max_streams_bidi is 0, and it sent no MAX_STREAMS)"
        }
        true => "the server allowed no further QUIC stream (MAX_STREAMS) while queries waited for one",
    }
    .to_owned()
}

fn of_transport_code(code: TransportErrorCode) -> String {
    match code {
        TransportErrorCode::CONNECTION_REFUSED => {
            "the server refuses connections (CONNECTION_REFUSED): it may be overloaded".to_owned()
        }
        // Named by the standard, or by its number.
        other => format!("the server closed the connection with {other:?}"),
    }
}

fn with_reason(words: String, reason: &[u8]) -> String {
    if reason.is_empty() {
        return words;
    }
    let reason = String::from_utf8_lossy(&reason[..reason.len().min(4 * SHOWN_CHARACTERS)]);
    format!("{words}: {}", shown(&reason, SHOWN_CHARACTERS))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use quinn_proto::{ApplicationClose, ConnectionClose};

    use super::super::doq::Doq;
    use super::*;

    #[test]
    fn closes_of_the_server_are_named_with_the_reason_that_it_gave() {
        let application = |code: u64, reason: &'static [u8]| {
            let error_code = VarInt::from_u64(code).expect("a code");
            of::<Doq>(&ConnectionError::ApplicationClosed(ApplicationClose {
                error_code,
                reason: Bytes::from_static(reason),
            }))
        };
        assert_eq!(
            application(4, b"too\x1b[2J busy"),
            "the server closed the connection with DOQ_EXCESSIVE_LOAD (0x4): too\\u{1b}[2J busy"
        );
        assert!(application(0x102, b"").contains("HTTP/3"));
        assert!(application(0x7777, b"").ends_with("error code 0x7777"));
        assert!(application(1, &[b'x'; 4_000]).len() < 600);
        let transport = |error_code: TransportErrorCode| {
            let reason = Bytes::from_static(b"why");
            of::<Doq>(&ConnectionError::ConnectionClosed(ConnectionClose {
                error_code,
                frame_type: None,
                reason,
            }))
        };
        assert!(transport(TransportErrorCode::crypto(120)).contains("no common ALPN"));
        assert!(transport(TransportErrorCode::CONNECTION_REFUSED).contains("overloaded: why"));
        assert!(transport(TransportErrorCode::FLOW_CONTROL_ERROR).contains("FLOW_CONTROL_ERROR: why"));
        assert!(of_reset::<Doq>(VarInt::from_u32(1)).contains("DOQ_INTERNAL_ERROR"));
    }
}

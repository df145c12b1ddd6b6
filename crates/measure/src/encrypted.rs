//! Counters of handshakes and streams: the part of [`Connections`](crate::Connections) for encrypted transports.
//!
//! ```text
//!   TCP established ──► handshake: full, resumed, early
//!                  └──► failed: untrusted, alert, timed out, ...
//!   stream opened ──► answered
//!                └──► failed: status, refused, reset, ...
//! ```

use crate::by::keys;
use crate::counter::counters;
use crate::{By, ByCode, Histogram};

keys! {
    /// How a handshake was done.
    pub enum HandshakeKind {
        /// A full handshake, with the server's certificate.
        Full = "full", "full";
        /// Resumed from an earlier session.
        Resumed = "resumed", "resumed";
        /// Resumed, and the server accepted the queries in its first flight (0-RTT).
        Early = "early", "early";
    }
}

keys! {
    /// Why a handshake failed.
    pub enum HandshakeFailure {
        /// The server's certificate is not signed by a trusted CA.
        Untrusted = "untrusted", "certificate not trusted (see --ca)";
        /// The certificate is for another name.
        WrongName = "wrong_name", "certificate for another name (see --sni)";
        /// The certificate has expired, or is not valid yet.
        Expired = "expired", "certificate outside its dates (see the clock, --insecure)";
        /// The certificate is invalid for another reason: a CA's instead of a server's, unreadable, none at all.
        Certificate = "certificate", "certificate not valid (see --insecure)";
        /// The server ended the handshake with an alert, or with a QUIC error code.
        Alert = "alert", "alert from the server";
        /// It was not done within its timeout, or while queries waited for it.
        TimedOut = "timed_out", "timed out";
        /// The server closed or reset the connection without a TLS message.
        Closed = "closed", "closed by the server";
        /// There is no common version of TLS.
        Version = "version", "no common TLS version (see --tls-version)";
        /// There is no common protocol (ALPN), or the server selected none where the transport needs one.
        Alpn = "alpn", "no common ALPN (see --transport)";
        /// The server answered with something that is not TLS.
        NotTls = "not_tls", "not TLS (see the port)";
        /// The server sent more than a handshake may have, without an end.
        TooLong = "too_long", "longer than a handshake may be";
        /// There are no common parameters, or the server violated the protocol.
        Protocol = "protocol", "no common TLS parameters, or a protocol error";
        /// The run ended first.
        Abandoned = "abandoned", "abandoned at the end of the run";
    }
}

keys! {
    /// Why an HTTP/2 or QUIC stream had no response.
    pub enum StreamFailure {
        /// An HTTP status other than 200.
        Status = "status", "status other than 200";
        /// A body with another content type, or without a DNS message.
        NoMessage = "no_message", "no DNS message";
        /// The server refused it without processing it (`REFUSED_STREAM`): it may be retried.
        Refused = "refused", "refused by the server";
        /// The server reset it for any other reason.
        Reset = "reset", "reset by the server";
        /// The server did not process it (GOAWAY): it may be retried.
        GoneAway = "gone_away", "not processed (GOAWAY)";
        /// A protocol violation on the stream, such as a wrong content length or an early end.
        Protocol = "protocol", "protocol error";
        /// A response with another ID than the query on its stream.
        WrongId = "wrong_id", "response with another ID";
        /// We cancelled it, long after its query had timed out.
        GivenUp = "given_up", "cancelled after a timeout";
    }
}

impl StreamFailure {
    /// Whether the server has announced that it did not process the query.
    pub const fn is_safe_to_ask_again(self) -> bool {
        matches!(self, StreamFailure::Refused | StreamFailure::GoneAway)
    }
}

counters! {
    /// Handshakes and streams of one wall interval.
    ///
    /// At the end of a run, each established TCP connection has one handshake: done or failed.
    pub struct Encrypted {
        /// Duration of successful handshakes by kind, from the TCP connection (QUIC: from the first packet) to our
        /// Finished.
        pub handshakes: By<HandshakeKind, Histogram, { HandshakeKind::ALL.len() }>,
        /// Failed handshakes, by reason.
        pub failed: By<HandshakeFailure, u64, { HandshakeFailure::ALL.len() }>,
        /// Handshakes whose early data (0-RTT) the server rejected; it was sent again after the handshake.
        pub early_rejected: u64,
        /// HTTP responses by status.
        pub statuses: Statuses,
        /// Streams without a response, by reason.
        pub streams: By<StreamFailure, u64, { StreamFailure::ALL.len() }>,
    }
}

impl Encrypted {
    /// Counts a successful handshake and its duration.
    pub fn add_handshake(&mut self, kind: HandshakeKind, took_ns: u64) {
        self.handshakes.get_mut(kind).record(took_ns);
    }

    /// Counts `count` handshakes that failed.
    pub fn add_failed(&mut self, why: HandshakeFailure, count: u64) {
        self.failed.add(why, count);
    }

    /// Counts `count` streams without a response.
    pub fn add_stream(&mut self, why: StreamFailure, count: u64) {
        self.streams.add(why, count);
    }

    /// Durations of handshakes of this kind.
    pub fn handshake(&self, kind: HandshakeKind) -> &Histogram {
        self.handshakes.get(kind)
    }

    /// Handshakes that failed for this reason.
    pub fn failed(&self, why: HandshakeFailure) -> u64 {
        self.failed.of(why)
    }

    /// Streams that failed for this reason.
    pub fn stream(&self, why: StreamFailure) -> u64 {
        self.streams.of(why)
    }

    /// All successful handshakes.
    pub fn done_total(&self) -> u64 {
        self.handshakes.iter().map(|(_, histogram)| histogram.count()).sum()
    }

    /// All handshakes that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.total()
    }

    /// All streams without a response.
    pub fn streams_total(&self) -> u64 {
        self.streams.total()
    }
}

/// HTTP responses by status (100 to 999).
pub type Statuses = ByCode<200>;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_and_failure_has_its_own_index_and_key() {
        HandshakeKind::ALL.into_iter().enumerate().for_each(|(i, kind)| assert_eq!(kind as usize, i));
        HandshakeFailure::ALL.into_iter().enumerate().for_each(|(i, why)| assert_eq!(why as usize, i));
        StreamFailure::ALL.into_iter().enumerate().for_each(|(i, why)| assert_eq!(why as usize, i));
        let keys = [
            HandshakeKind::ALL.map(HandshakeKind::key).to_vec(),
            HandshakeFailure::ALL.map(HandshakeFailure::key).to_vec(),
            StreamFailure::ALL.map(StreamFailure::key).to_vec(),
        ];
        for keys in keys {
            assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{keys:?}");
        }
    }

    #[test]
    fn merging_adds_and_clearing_resets() {
        let mut one = Encrypted { early_rejected: 1, ..Encrypted::default() };
        one.add_handshake(HandshakeKind::Full, 3_000_000);
        one.add_handshake(HandshakeKind::Early, 1_000_000);
        one.add_failed(HandshakeFailure::Alert, 4);
        one.add_stream(StreamFailure::Reset, 5);
        [(500, 2), (200, 9), (103, 1), (404, 1)].iter().for_each(|(status, n)| one.statuses.add(*status, *n));
        let mut both = one.clone();
        both.merge(&one);
        assert_eq!((both.done_total(), both.failed_total(), both.streams_total()), (4, 8, 10));
        assert_eq!(both.handshake(HandshakeKind::Full).count(), 2);
        assert_eq!((both.failed(HandshakeFailure::Alert), both.stream(StreamFailure::Reset)), (8, 10));
        assert_eq!(both.statuses.iter().collect::<Vec<_>>(), [(103, 2), (200, 18), (404, 2), (500, 4)]);
        assert_eq!((both.statuses.of(500), both.statuses.of(501)), (4, 0));
        both.clear();
        assert_eq!(both, Encrypted::default());
    }
}

//! What became of handshakes and of streams: the part of [`Connections`](crate::Connections) that
//! only encrypted transports have.
//!
//! ```text
//!   TCP connection there ──► handshake: full, resumed, early
//!                       └──► failed: untrusted, alert, timed out, ...
//!   stream opened ──► answered
//!                └──► failed: status, refused, reset, ...
//! ```

use crate::by::keys;
use crate::counter::counters;
use crate::{By, ByCode, Histogram};

keys! {
    /// How a handshake was done.
    pub enum HandshakeKind {
        /// In full, with the server's certificate.
        Full = "full", "full";
        /// By what was kept of an earlier session.
        Resumed = "resumed", "resumed";
        /// The same, and the queries that travelled with its first flight (0-RTT) were taken.
        Early = "early", "early";
    }
}

keys! {
    /// Why a handshake did not come to its end.
    pub enum HandshakeFailure {
        /// The server's certificate leads to nobody that we trust.
        Untrusted = "untrusted", "certificate not trusted (--ca says whom to trust)";
        /// It is for another name.
        WrongName = "wrong_name", "certificate for another name (--sni says which)";
        /// It is not valid for another reason, such as its age.
        Certificate = "certificate", "certificate not valid";
        /// The server ended it with an alert, or with an error code of QUIC.
        Alert = "alert", "ended by the server's alert";
        /// It was not over within its timeout, or while anybody waited for it.
        TimedOut = "timed_out", "timed out";
        /// The server closed or reset the connection without a word of TLS.
        Closed = "closed", "closed by the server";
        /// What the server said is no TLS, or nothing that we can agree to.
        Protocol = "protocol", "no TLS that we can agree to";
        /// The run ended first.
        Abandoned = "abandoned", "abandoned at the end of the run";
    }
}

keys! {
    /// Why a stream (of HTTP/2 or QUIC) brought no answer.
    pub enum StreamFailure {
        /// An HTTP status other than 200.
        Status = "status", "with another status than 200";
        /// A body that says to be something else than a DNS message, or is none.
        NoMessage = "no_message", "with no DNS message";
        /// The server would not take it, and has done nothing about it (`REFUSED_STREAM`): it may be
        /// asked again.
        Refused = "refused", "refused by the server";
        /// The server reset it for any other reason.
        Reset = "reset", "reset by the server";
        /// The server had said that it takes no more streams of this connection (GOAWAY): it may be
        /// asked again.
        GoneAway = "gone_away", "turned away by GOAWAY";
        /// The server broke a rule on it, such as a wrong content length, or ended it half-way.
        Protocol = "protocol", "against the rules";
        /// We gave it up, long after its query had timed out.
        GivenUp = "given_up", "given up as silent";
    }
}

impl StreamFailure {
    /// Whether the server has said that it did nothing about the query.
    pub const fn is_safe_to_ask_again(self) -> bool {
        matches!(self, StreamFailure::Refused | StreamFailure::GoneAway)
    }
}

counters! {
    /// Handshakes and streams of some time by the clock.
    ///
    /// At the end of a run, over TCP each connection that was established had one handshake: done or failed.
    pub struct Encrypted {
        /// Handshakes that were done, by kind: how long each took,
        /// from the connection (of QUIC: from its first packet) to our Finished.
        pub handshakes: By<HandshakeKind, Histogram, { HandshakeKind::ALL.len() }>,
        /// Those that failed, by reason.
        pub failed: By<HandshakeFailure, u64, { HandshakeFailure::ALL.len() }>,
        /// Handshakes whose early data (0-RTT) the server did not take: it was sent again after them.
        pub early_rejected: u64,
        /// HTTP responses by status.
        pub statuses: Statuses,
        /// Streams that brought no answer, by reason.
        pub streams: By<StreamFailure, u64, { StreamFailure::ALL.len() }>,
    }
}

impl Encrypted {
    /// Counts a handshake that took so long.
    pub fn add_handshake(&mut self, kind: HandshakeKind, took_ns: u64) {
        self.handshakes.get_mut(kind).record(took_ns);
    }

    /// Counts `count` handshakes that failed.
    pub fn add_failed(&mut self, why: HandshakeFailure, count: u64) {
        self.failed.add(why, count);
    }

    /// Counts `count` streams that brought no answer.
    pub fn add_stream(&mut self, why: StreamFailure, count: u64) {
        self.streams.add(why, count);
    }

    /// How long handshakes of this kind took.
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

    /// All handshakes that were done.
    pub fn done_total(&self) -> u64 {
        self.handshakes.iter().map(|(_, histogram)| histogram.count()).sum()
    }

    /// All handshakes that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.total()
    }

    /// All streams that brought no answer.
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
    fn every_kind_and_failure_has_a_place_and_a_key_of_its_own() {
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
    fn what_is_cleared_is_as_new_and_what_is_merged_adds_up() {
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

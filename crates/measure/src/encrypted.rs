//! What became of handshakes and of streams: the part of [`Connections`](crate::Connections) that
//! only encrypted transports have.
//!
//! ```text
//!   TCP connection there ──► handshake: full, resumed, early
//!                       └──► failed: untrusted, alert, timed out, ...
//!   stream opened ──► answered
//!                └──► failed: status, refused, reset, ...
//! ```

use crate::Histogram;

/// How a handshake was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeKind {
    /// In full, with the server's certificate.
    Full,
    /// By what was kept of an earlier session.
    Resumed,
    /// The same, and the queries that travelled with its first flight (0-RTT) were taken.
    Early,
}

impl HandshakeKind {
    /// All kinds, in the order of the record.
    pub const ALL: [HandshakeKind; 3] = [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Early];

    /// The key in the record.
    pub const fn key(self) -> &'static str {
        match self {
            HandshakeKind::Full => "full",
            HandshakeKind::Resumed => "resumed",
            HandshakeKind::Early => "early",
        }
    }
}

/// Why a handshake did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// The server's certificate leads to nobody that we trust.
    Untrusted,
    /// It is for another name.
    WrongName,
    /// It is not valid for another reason, such as its age.
    Certificate,
    /// The server ended it with an alert, or with an error code of QUIC.
    Alert,
    /// It was not over within its timeout, or while anybody waited for it.
    TimedOut,
    /// The server closed or reset the connection without a word of TLS.
    Closed,
    /// What the server said is no TLS, or nothing that we can agree to.
    Protocol,
    /// The run ended first.
    Abandoned,
}

impl HandshakeFailure {
    /// All failures, in the order of the record.
    pub const ALL: [HandshakeFailure; 8] = [
        HandshakeFailure::Untrusted,
        HandshakeFailure::WrongName,
        HandshakeFailure::Certificate,
        HandshakeFailure::Alert,
        HandshakeFailure::TimedOut,
        HandshakeFailure::Closed,
        HandshakeFailure::Protocol,
        HandshakeFailure::Abandoned,
    ];

    /// The key in the record.
    pub const fn key(self) -> &'static str {
        match self {
            HandshakeFailure::Untrusted => "untrusted",
            HandshakeFailure::WrongName => "wrong_name",
            HandshakeFailure::Certificate => "certificate",
            HandshakeFailure::Alert => "alert",
            HandshakeFailure::TimedOut => "timed_out",
            HandshakeFailure::Closed => "closed",
            HandshakeFailure::Protocol => "protocol",
            HandshakeFailure::Abandoned => "abandoned",
        }
    }

    /// The words in a summary.
    pub const fn words(self) -> &'static str {
        match self {
            HandshakeFailure::Untrusted => "certificate not trusted (--ca says whom to trust)",
            HandshakeFailure::WrongName => "certificate for another name (--sni says which)",
            HandshakeFailure::Certificate => "certificate not valid",
            HandshakeFailure::Alert => "ended by the server's alert",
            HandshakeFailure::TimedOut => "timed out",
            HandshakeFailure::Closed => "closed by the server",
            HandshakeFailure::Protocol => "no TLS that we can agree to",
            HandshakeFailure::Abandoned => "abandoned at the end of the run",
        }
    }
}

/// Why a stream (of HTTP/2 or QUIC) brought no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFailure {
    /// An HTTP status other than 200.
    Status,
    /// A body that says to be something else than a DNS message, or is none.
    NoMessage,
    /// The server would not take it, and has done nothing about it (`REFUSED_STREAM`): it may be
    /// asked again.
    Refused,
    /// The server reset it for any other reason.
    Reset,
    /// The server had said that it takes no more streams of this connection (GOAWAY): it may be
    /// asked again.
    GoneAway,
    /// The server broke a rule on it, such as a wrong content length, or ended it half-way.
    Protocol,
    /// We gave it up, long after its query had timed out.
    GivenUp,
}

impl StreamFailure {
    /// All failures, in the order of the record.
    pub const ALL: [StreamFailure; 7] = [
        StreamFailure::Status,
        StreamFailure::NoMessage,
        StreamFailure::Refused,
        StreamFailure::Reset,
        StreamFailure::GoneAway,
        StreamFailure::Protocol,
        StreamFailure::GivenUp,
    ];

    /// Whether the server has said that it did nothing about the query.
    pub const fn is_safe_to_ask_again(self) -> bool {
        matches!(self, StreamFailure::Refused | StreamFailure::GoneAway)
    }

    /// The key in the record.
    pub const fn key(self) -> &'static str {
        match self {
            StreamFailure::Status => "status",
            StreamFailure::NoMessage => "no_message",
            StreamFailure::Refused => "refused",
            StreamFailure::Reset => "reset",
            StreamFailure::GoneAway => "gone_away",
            StreamFailure::Protocol => "protocol",
            StreamFailure::GivenUp => "given_up",
        }
    }

    /// The words in a summary.
    pub const fn words(self) -> &'static str {
        match self {
            StreamFailure::Status => "with another status than 200",
            StreamFailure::NoMessage => "with no DNS message",
            StreamFailure::Refused => "refused by the server",
            StreamFailure::Reset => "reset by the server",
            StreamFailure::GoneAway => "turned away by GOAWAY",
            StreamFailure::Protocol => "against the rules",
            StreamFailure::GivenUp => "given up as silent",
        }
    }
}

/// Handshakes and streams of some time by the clock.
///
/// At the end of a run, over TCP each connection that was established had one handshake: done or failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encrypted {
    /// Handshakes that were done, by kind, in the order of [`HandshakeKind::ALL`]: how long each took,
    /// from the connection (of QUIC: from its first packet) to our Finished.
    pub handshakes: [Histogram; HandshakeKind::ALL.len()],
    /// Those that failed, by reason, in the order of [`HandshakeFailure::ALL`].
    pub failed: [u64; HandshakeFailure::ALL.len()],
    /// Handshakes whose early data (0-RTT) the server did not take: it was sent again after them.
    pub early_rejected: u64,
    /// HTTP responses by status.
    pub statuses: Statuses,
    /// Streams that brought no answer, by reason, in the order of [`StreamFailure::ALL`].
    pub streams: [u64; StreamFailure::ALL.len()],
}

impl Encrypted {
    /// Counts a handshake that took so long.
    pub fn add_handshake(&mut self, kind: HandshakeKind, took_ns: u64) {
        self.handshakes[kind as usize].record(took_ns);
    }

    /// Counts `count` handshakes that failed.
    pub fn add_failed(&mut self, why: HandshakeFailure, count: u64) {
        self.failed[why as usize] += count;
    }

    /// Counts `count` streams that brought no answer.
    pub fn add_stream(&mut self, why: StreamFailure, count: u64) {
        self.streams[why as usize] += count;
    }

    /// How long handshakes of this kind took.
    pub fn handshake(&self, kind: HandshakeKind) -> &Histogram {
        &self.handshakes[kind as usize]
    }

    /// Handshakes that failed for this reason.
    pub fn failed(&self, why: HandshakeFailure) -> u64 {
        self.failed[why as usize]
    }

    /// Streams that failed for this reason.
    pub fn stream(&self, why: StreamFailure) -> u64 {
        self.streams[why as usize]
    }

    /// All handshakes that were done.
    pub fn done_total(&self) -> u64 {
        self.handshakes.iter().map(Histogram::count).sum()
    }

    /// All handshakes that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// All streams that brought no answer.
    pub fn streams_total(&self) -> u64 {
        self.streams.iter().sum()
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Encrypted) {
        self.handshakes.iter_mut().zip(&other.handshakes).for_each(|(mine, theirs)| mine.merge(theirs));
        self.failed.iter_mut().zip(other.failed).for_each(|(mine, theirs)| *mine += theirs);
        self.early_rejected += other.early_rejected;
        self.statuses.merge(&other.statuses);
        self.streams.iter_mut().zip(other.streams).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.handshakes.iter_mut().for_each(Histogram::clear);
        self.failed = Default::default();
        self.early_rejected = 0;
        self.statuses.clear();
        self.streams = Default::default();
    }
}

/// HTTP responses by status (100 to 999).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statuses {
    /// By far the most, counted in place.
    ok: u64,
    /// Any other than 200, in order of status.
    others: Vec<(u16, u64)>,
}

impl Statuses {
    /// Counts `count` responses with `status`.
    #[inline]
    pub fn add(&mut self, status: u16, count: u64) {
        if status == OK {
            self.ok += count;
        } else {
            self.add_other(status, count);
        }
    }

    /// The statuses that occurred, lowest first, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let below = self.others.iter().copied().take_while(|(status, _)| *status < OK);
        let above = self.others.iter().copied().skip_while(|(status, _)| *status < OK);
        below.chain((self.ok > 0).then_some((OK, self.ok))).chain(above)
    }

    /// Responses with `status`.
    pub fn of(&self, status: u16) -> u64 {
        self.iter().find(|(known, _)| *known == status).map_or(0, |(_, count)| count)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Statuses) {
        other.iter().for_each(|(status, count)| self.add(status, count));
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.ok = 0;
        self.others.clear();
    }

    #[cold]
    fn add_other(&mut self, status: u16, count: u64) {
        match self.others.binary_search_by_key(&status, |(known, _)| *known) {
            Ok(found) => self.others[found].1 += count,
            Err(place) => self.others.insert(place, (status, count)),
        }
    }
}

const OK: u16 = 200;

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

//! What became of connections: how many were opened, how each ended, and how long opening took.
//!
//! ```text
//!   opened ──► established ──► ended: by the server, by us, reset, ...
//!      └─────► failed: refused, timed out, ...
//! ```
//!
//! At the end of a run both sums hold: `opened = established + failed`, `established = ended`. Over TLS
//! a connection is established when TCP is; what follows is counted in [`Encrypted`]. QUIC has one handshake
//! for both, and a connection of QUIC is established with it.

use crate::{Encrypted, Histogram};

/// Why a connection was never established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFailure {
    /// The server's host said that nobody listens (RST).
    Refused,
    /// No answer came to the SYN within the timeout, or while anybody waited for the connection.
    TimedOut,
    /// It was reset while it was being opened.
    Reset,
    /// Every local port towards the server was in use.
    NoLocalPort,
    /// No route, or an ICMP error on the way.
    Unreachable,
    /// Its handshake failed, which is counted by reason apart; of QUIC.
    Handshake,
    /// The run ended first.
    Abandoned,
    /// Any other error of a system call.
    OtherError,
}

impl ConnectFailure {
    /// All failures, in the order of the record.
    pub const ALL: [ConnectFailure; 8] = [
        ConnectFailure::Refused,
        ConnectFailure::TimedOut,
        ConnectFailure::Reset,
        ConnectFailure::NoLocalPort,
        ConnectFailure::Unreachable,
        ConnectFailure::Handshake,
        ConnectFailure::Abandoned,
        ConnectFailure::OtherError,
    ];

    /// The key in the record.
    pub const fn key(self) -> &'static str {
        match self {
            ConnectFailure::Refused => "refused",
            ConnectFailure::TimedOut => "timed_out",
            ConnectFailure::Reset => "reset",
            ConnectFailure::NoLocalPort => "no_local_port",
            ConnectFailure::Unreachable => "unreachable",
            ConnectFailure::Handshake => "handshake",
            ConnectFailure::Abandoned => "abandoned",
            ConnectFailure::OtherError => "other_error",
        }
    }

    /// The words in a summary.
    pub const fn words(self) -> &'static str {
        match self {
            ConnectFailure::Refused => "refused",
            ConnectFailure::TimedOut => "timed out",
            ConnectFailure::Reset => "reset",
            ConnectFailure::NoLocalPort => "no local port",
            ConnectFailure::Unreachable => "unreachable",
            ConnectFailure::Handshake => "handshake",
            ConnectFailure::Abandoned => "abandoned at the end of the run",
            ConnectFailure::OtherError => "other error",
        }
    }
}

/// What ended a connection that had been established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The server closed it in order (FIN).
    ByServer,
    /// We closed it: it had carried what it was to carry, had been idle, or the run ended.
    ByUs,
    /// It was reset, or the network gave it up.
    Reset,
    /// We closed it, because it brought something that is no DNS message.
    Garbled,
    /// We closed it, because a query timed out on it and nothing else had come for as long.
    Silent,
    /// Its handshake failed, which is counted by reason apart.
    Handshake,
    /// The server had said that it takes no more on it (GOAWAY).
    GoneAway,
    /// The server ended it with an alert of TLS, or with an error code of HTTP or QUIC.
    Error,
    /// We closed it, because the server broke a rule of TLS, HTTP or QUIC.
    Protocol,
}

impl ConnectionEnd {
    /// All ends, in the order of the record.
    pub const ALL: [ConnectionEnd; 9] = [
        ConnectionEnd::ByServer,
        ConnectionEnd::ByUs,
        ConnectionEnd::Reset,
        ConnectionEnd::Garbled,
        ConnectionEnd::Silent,
        ConnectionEnd::Handshake,
        ConnectionEnd::GoneAway,
        ConnectionEnd::Error,
        ConnectionEnd::Protocol,
    ];

    /// The key in the record.
    pub const fn key(self) -> &'static str {
        match self {
            ConnectionEnd::ByServer => "by_server",
            ConnectionEnd::ByUs => "by_us",
            ConnectionEnd::Reset => "reset",
            ConnectionEnd::Garbled => "garbled",
            ConnectionEnd::Silent => "silent",
            ConnectionEnd::Handshake => "handshake",
            ConnectionEnd::GoneAway => "gone_away",
            ConnectionEnd::Error => "error",
            ConnectionEnd::Protocol => "protocol",
        }
    }

    /// The words in a summary.
    pub const fn words(self) -> &'static str {
        match self {
            ConnectionEnd::ByServer => "closed by the server",
            ConnectionEnd::ByUs => "closed by us",
            ConnectionEnd::Reset => "reset",
            ConnectionEnd::Garbled => "given up after a message that is none",
            ConnectionEnd::Silent => "given up as silent",
            ConnectionEnd::Handshake => "without a handshake",
            ConnectionEnd::GoneAway => "ended by GOAWAY",
            ConnectionEnd::Error => "ended by the server with an error",
            ConnectionEnd::Protocol => "given up after a breach of the rules",
        }
    }
}

/// The connections of some time by the clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connections {
    /// Connections that were begun (a SYN was sent, or could not be).
    pub opened: u64,
    /// Connections that came to be.
    pub established: u64,
    /// Those that did not, by reason, in the order of [`ConnectFailure::ALL`].
    pub failed: [u64; ConnectFailure::ALL.len()],
    /// Those that ended, by what ended them, in the order of [`ConnectionEnd::ALL`].
    pub ended: [u64; ConnectionEnd::ALL.len()],
    /// Queries that left over a connection which had carried one before.
    pub reused: u64,
    /// Most connections established at once, added over workers.
    pub open_max: u64,
    /// From the SYN to the connection.
    pub connect: Histogram,
    /// From the SYN to the first byte from the server.
    pub first_byte: Histogram,
    /// From the query's leaving over its connection to its answer, of those answered in time.
    pub query: Histogram,
    /// Handshakes and streams; `None` where connections are not encrypted.
    pub encrypted: Option<Box<Encrypted>>,
}

impl Connections {
    /// The books of handshakes and streams, made when they are first needed.
    #[inline]
    pub fn encrypted_mut(&mut self) -> &mut Encrypted {
        self.encrypted.get_or_insert_default()
    }

    /// Counts `count` connections that could not be had.
    pub fn add_failed(&mut self, why: ConnectFailure, count: u64) {
        self.failed[why as usize] += count;
    }

    /// Counts `count` connections that ended.
    pub fn add_ended(&mut self, end: ConnectionEnd, count: u64) {
        self.ended[end as usize] += count;
    }

    /// Connections that failed for this reason.
    pub fn failed(&self, why: ConnectFailure) -> u64 {
        self.failed[why as usize]
    }

    /// Connections that ended so.
    pub fn ended(&self, end: ConnectionEnd) -> u64 {
        self.ended[end as usize]
    }

    /// All that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// All that ended after they had been established.
    pub fn ended_total(&self) -> u64 {
        self.ended.iter().sum()
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Connections) {
        self.opened += other.opened;
        self.established += other.established;
        self.failed.iter_mut().zip(other.failed).for_each(|(mine, theirs)| *mine += theirs);
        self.ended.iter_mut().zip(other.ended).for_each(|(mine, theirs)| *mine += theirs);
        self.reused += other.reused;
        self.open_max += other.open_max;
        self.connect.merge(&other.connect);
        self.first_byte.merge(&other.first_byte);
        self.query.merge(&other.query);
        if let Some(encrypted) = &other.encrypted {
            self.encrypted_mut().merge(encrypted);
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        let mut histograms = [&mut self.connect, &mut self.first_byte, &mut self.query].map(std::mem::take);
        histograms.iter_mut().for_each(Histogram::clear);
        let [connect, first_byte, query] = histograms;
        let mut encrypted = self.encrypted.take();
        if let Some(encrypted) = &mut encrypted {
            encrypted.clear();
        }
        *self = Connections { connect, first_byte, query, encrypted, ..Connections::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_and_end_has_a_place_and_a_key_of_its_own() {
        for (i, why) in ConnectFailure::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, i);
        }
        for (i, end) in ConnectionEnd::ALL.into_iter().enumerate() {
            assert_eq!(end as usize, i);
        }
        let keys: std::collections::BTreeSet<_> = ConnectFailure::ALL.map(ConnectFailure::key).into();
        assert_eq!(keys.len(), ConnectFailure::ALL.len());
        let keys: std::collections::BTreeSet<_> = ConnectionEnd::ALL.map(ConnectionEnd::key).into();
        assert_eq!(keys.len(), ConnectionEnd::ALL.len());
    }

    #[test]
    fn what_is_cleared_is_as_new_and_what_is_merged_adds_up() {
        let mut one =
            Connections { opened: 3, established: 2, reused: 5, open_max: 2, ..Connections::default() };
        one.add_failed(ConnectFailure::Refused, 1);
        one.add_ended(ConnectionEnd::ByServer, 2);
        one.connect.record(40_000);
        let mut both = one.clone();
        both.merge(&one);
        assert_eq!((both.opened, both.failed_total(), both.ended_total(), both.open_max), (6, 2, 4, 4));
        assert_eq!((both.failed(ConnectFailure::Refused), both.ended(ConnectionEnd::ByServer)), (2, 4));
        assert_eq!(both.connect.count(), 2);
        both.clear();
        assert_eq!(both, Connections::default());
    }
}

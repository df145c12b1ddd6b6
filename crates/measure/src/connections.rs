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

use crate::by::keys;
use crate::counter::counters;
use crate::{By, Encrypted, Histogram};

keys! {
    /// Why a connection was never established.
    pub enum ConnectFailure {
        /// The server's host said that nobody listens (RST).
        Refused = "refused", "refused";
        /// No answer came to the SYN within the timeout, or while anybody waited for the connection.
        TimedOut = "timed_out", "timed out";
        /// It was reset while it was being opened.
        Reset = "reset", "reset";
        /// Every local port towards the server was in use.
        NoLocalPort = "no_local_port", "no local port";
        /// No route, or an ICMP error on the way.
        Unreachable = "unreachable", "unreachable";
        /// Its handshake failed, which is counted by reason apart; of QUIC.
        Handshake = "handshake", "handshake";
        /// The run ended first.
        Abandoned = "abandoned", "abandoned at the end of the run";
        /// Any other error of a system call.
        OtherError = "other_error", "other error";
    }
}

keys! {
    /// What ended a connection that had been established.
    pub enum ConnectionEnd {
        /// The server closed it in order (FIN).
        ByServer = "by_server", "closed by the server";
        /// We closed it: it had carried what it was to carry, had been idle, or the run ended.
        ByUs = "by_us", "closed by us";
        /// It was reset, or the network gave it up.
        Reset = "reset", "reset";
        /// We closed it, because it brought something that is no DNS message.
        Garbled = "garbled", "given up after a message that is none";
        /// We closed it, because a query timed out on it and nothing else had come for as long.
        Silent = "silent", "given up as silent";
        /// Its handshake failed, which is counted by reason apart.
        Handshake = "handshake", "without a handshake";
        /// The server had said that it takes no more on it (GOAWAY).
        GoneAway = "gone_away", "ended by GOAWAY";
        /// The server ended it with an alert of TLS, or with an error code of HTTP or QUIC.
        Error = "error", "ended by the server with an error";
        /// We closed it, because the server broke a rule of TLS, HTTP or QUIC.
        Protocol = "protocol", "given up after a breach of the rules";
    }
}

counters! {
    /// The connections of some time by the clock.
    pub struct Connections {
        /// Connections that were begun (a SYN was sent, or could not be).
        pub opened: u64,
        /// Connections that came to be.
        pub established: u64,
        /// Those that did not, by reason.
        pub failed: By<ConnectFailure, u64, { ConnectFailure::ALL.len() }>,
        /// Those that ended, by what ended them.
        pub ended: By<ConnectionEnd, u64, { ConnectionEnd::ALL.len() }>,
        /// Queries that left over a connection which had carried one before.
        pub reused: u64,
        /// Most connections established at once, added over workers.
        pub open_max: u64 = peak,
        /// From the SYN to the connection.
        pub connect: Histogram,
        /// From the SYN to the first byte from the server.
        pub first_byte: Histogram,
        /// From the query's leaving over its connection to its answer, of those answered in time.
        pub query: Histogram,
        /// Handshakes and streams; `None` where connections are not encrypted.
        pub encrypted: Option<Box<Encrypted>>,
    }
}

impl Connections {
    /// The books of handshakes and streams, made when they are first needed.
    #[inline]
    pub fn encrypted_mut(&mut self) -> &mut Encrypted {
        self.encrypted.get_or_insert_default()
    }

    /// Counts `count` connections that could not be had.
    pub fn add_failed(&mut self, why: ConnectFailure, count: u64) {
        self.failed.add(why, count);
    }

    /// Counts `count` connections that ended.
    pub fn add_ended(&mut self, end: ConnectionEnd, count: u64) {
        self.ended.add(end, count);
    }

    /// Connections that failed for this reason.
    pub fn failed(&self, why: ConnectFailure) -> u64 {
        self.failed.of(why)
    }

    /// Connections that ended so.
    pub fn ended(&self, end: ConnectionEnd) -> u64 {
        self.ended.of(end)
    }

    /// All that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.total()
    }

    /// All that ended after they had been established.
    pub fn ended_total(&self) -> u64 {
        self.ended.total()
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

//! Counters of connections: how many were opened, how each ended, and how long opening took.
//!
//! ```text
//!   opened ──► established ──► ended: by the server, by us, reset, ...
//!      └─────► failed: refused, timed out, ...
//! ```
//!
//! At the end of a run, `opened = established + failed` and `established = ended`. With TLS a connection is
//! established when its TCP connection is; its TLS handshake is counted in [`Encrypted`]. QUIC has one handshake
//! for both, and a QUIC connection is established when it is done.

use crate::by::keys;
use crate::counter::counters;
use crate::{By, Encrypted, Histogram};

keys! {
    /// Why a connection was never established.
    pub enum ConnectFailure {
        /// The server's host refused the connection (RST).
        Refused = "refused", "refused";
        /// No response to the SYN within the timeout, or while queries waited for the connection.
        TimedOut = "timed_out", "timed out";
        /// It was reset while it was being opened.
        Reset = "reset", "reset";
        /// All local ports for this server were in use.
        NoLocalPort = "no_local_port", "no local port";
        /// No route, or an ICMP error.
        Unreachable = "unreachable", "unreachable";
        /// The QUIC handshake failed; `encrypted.failed` has the reason.
        Handshake = "handshake", "handshake";
        /// The run ended first.
        Abandoned = "abandoned", "abandoned at the end of the run";
        /// Any other error of a system call.
        OtherError = "other_error", "other error";
    }
}

keys! {
    /// What ended an established connection.
    pub enum ConnectionEnd {
        /// The server closed it (FIN).
        ByServer = "by_server", "closed by the server";
        /// We closed it: it had reached its limit of queries, was idle, or the run ended.
        ByUs = "by_us", "closed by us";
        /// It was reset, or failed with a network error.
        Reset = "reset", "reset";
        /// We closed it, because the server sent something that is not a DNS message.
        Garbled = "garbled", "closed by us after a malformed message";
        /// We closed it, because a query timed out on it and nothing else was received during that time.
        Silent = "silent", "closed by us after a timeout";
        /// The TLS handshake failed; `encrypted.failed` has the reason.
        Handshake = "handshake", "handshake failed";
        /// The server announced that it accepts no more queries on it (GOAWAY).
        GoneAway = "gone_away", "ended by GOAWAY";
        /// The server ended it with a TLS alert, or with an HTTP or QUIC error code.
        Error = "error", "closed by the server with an error";
        /// We closed it, because the server violated the TLS, HTTP or QUIC protocol.
        Protocol = "protocol", "closed by us after a protocol error";
        /// We closed it, because the server sent more than is kept or replied to: control frames, unfinished responses.
        Excess = "excess", "closed by us after too much of what is no response";
    }
}

counters! {
    /// The connections of one wall interval.
    pub struct Connections {
        /// Connections that were started (a SYN was sent, or could not be sent).
        pub opened: u64,
        /// Connections that were established.
        pub established: u64,
        /// Connections that were not established, by reason.
        pub failed: By<ConnectFailure, u64, { ConnectFailure::ALL.len() }>,
        /// Established connections that ended, by reason.
        pub ended: By<ConnectionEnd, u64, { ConnectionEnd::ALL.len() }>,
        /// Queries sent over a connection that had carried another query before.
        pub reused: u64,
        /// Pauses of clients whose connections failed again and again, before the next attempt.
        pub pauses: u64,
        /// Length of these pauses, added up, in nanoseconds.
        pub paused_ns: u64,
        /// Largest number of connections established at the same time, added over workers.
        pub open_max: u64 = peak,
        /// From the SYN to the established connection.
        pub connect: Histogram,
        /// From the SYN to the first byte from the server.
        pub first_byte: Histogram,
        /// From sending the query over its connection to its response, of those answered in time.
        pub query: Histogram,
        /// Handshakes and streams; `None` where connections are not encrypted.
        pub encrypted: Option<Box<Encrypted>>,
    }
}

impl Connections {
    /// The counters of handshakes and streams, created when first needed.
    #[inline]
    pub fn encrypted_mut(&mut self) -> &mut Encrypted {
        self.encrypted.get_or_insert_default()
    }

    /// Counts `count` connections that could not be established.
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

    /// Connections that ended for this reason.
    pub fn ended(&self, end: ConnectionEnd) -> u64 {
        self.ended.of(end)
    }

    /// All connections that failed.
    pub fn failed_total(&self) -> u64 {
        self.failed.total()
    }

    /// All established connections that ended.
    pub fn ended_total(&self) -> u64 {
        self.ended.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_and_end_has_its_own_index_and_key() {
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
    fn merging_adds_and_clearing_resets() {
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

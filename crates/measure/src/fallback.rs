//! Transactions whose UDP response was truncated and that were retried over TCP: their number, the parts of their
//! duration, and why they failed.
//!
//! ```text
//!   query ─── response with TC ─── given to a client ─── connected ─── response
//!     │◄────── udp ──────►│◄────── waiting ──────►│◄─ connect ─►│◄── query ──►│
//!     │◄─────────────────────────── service time ──────────────────────────►│
//! ```
//!
//! The four parts add up to the service time of the transaction, to the nanosecond.

use crate::by::keys;
use crate::counter::counters;
use crate::{By, Histogram};

/// A part of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The query over UDP.
    Udp,
    /// The retry over TCP.
    Tcp,
}

keys! {
    /// In which part a transaction failed, and why.
    pub enum FallbackFailure {
        /// No response over UDP.
        UdpTimedOut = "udp_timed_out", "timed out";
        /// The network refused the query over UDP (ICMP).
        UdpRefused = "udp_refused", "refused";
        /// The user ended the run before a response arrived over UDP.
        UdpInterrupted = "udp_interrupted", "interrupted";
        /// No client was free for the TCP query until the timeout.
        NoClient = "no_client", "no free client";
        /// No local port was free for a connection until the timeout.
        NoLocalPort = "no_local_port", "no local port";
        /// The connection was refused (RST).
        ConnectRefused = "connect_refused", "connect refused";
        /// The connection was not established within the timeout.
        ConnectTimedOut = "connect_timed_out", "connect timed out";
        /// The connection failed for another reason: reset while opening, unreachable.
        ConnectFailed = "connect_failed", "connect failed";
        /// Connections were reset before the response arrived.
        Reset = "reset", "reset";
        /// The server closed connections before the response.
        Closed = "closed", "closed by the server";
        /// Something that is not a DNS message arrived over connections.
        Garbled = "garbled", "malformed message";
        /// The connection was established, and no response arrived over it.
        QueryTimedOut = "query_timed_out", "query timed out";
        /// This host could not send the query over TCP.
        NotSent = "not_sent", "not sent";
        /// The user ended the run during the TCP part.
        Interrupted = "interrupted", "interrupted";
    }
}

impl FallbackFailure {
    /// The part that failed.
    pub const fn half(self) -> Half {
        match self {
            FallbackFailure::UdpTimedOut | FallbackFailure::UdpRefused | FallbackFailure::UdpInterrupted => {
                Half::Udp
            }
            _ => Half::Tcp,
        }
    }
}

counters! {
    /// The transactions of an interval that could fall back to TCP.
    pub struct Fallback {
        /// Transactions whose UDP response was truncated: they were retried over TCP. When all have ended, this is
        /// [`answered`](Self::answered) plus the failures of the TCP part.
        pub started: u64,
        /// Transactions answered over TCP in time.
        pub answered: u64,
        /// Queries sent over UDP.
        pub udp_requests: u64,
        /// Queries sent over TCP.
        pub tcp_requests: u64,
        /// Queries sent over TCP again, because a connection was lost.
        pub tcp_retried: u64,
        /// Transactions that failed after the UDP query was sent, by part and reason.
        pub failed: By<FallbackFailure, u64, { FallbackFailure::ALL.len() }>,
        /// From the UDP query to its truncated response; as the next three, of those answered over TCP in time.
        pub udp: Histogram,
        /// From the truncated response until a client has the query.
        pub waiting: Histogram,
        /// From there until the client has a connection; 0 where it had one.
        pub connect: Histogram,
        /// From there to the response.
        pub query: Histogram,
    }
}

impl Fallback {
    /// Counts `count` transactions that failed.
    pub fn add_failed(&mut self, why: FallbackFailure, count: u64) {
        self.failed.add(why, count);
    }

    /// Transactions that failed for this reason.
    pub fn failed(&self, why: FallbackFailure) -> u64 {
        self.failed.of(why)
    }

    /// All transactions that failed in this part.
    pub fn failed_in(&self, half: Half) -> u64 {
        self.failures_of(half).map(|(_, count)| count).sum()
    }

    /// All reasons of this part, with their counts.
    pub fn failures_of(&self, half: Half) -> impl Iterator<Item = (FallbackFailure, u64)> + '_ {
        FallbackFailure::ALL
            .into_iter()
            .filter(move |why| why.half() == half)
            .map(|why| (why, self.failed(why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_its_own_index_and_key() {
        for (i, why) in FallbackFailure::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, i);
        }
        let keys: std::collections::BTreeSet<_> =
            FallbackFailure::ALL.map(|why| (why.half() == Half::Udp, why.key())).into();
        assert_eq!(keys.len(), FallbackFailure::ALL.len());
    }

    #[test]
    fn merging_adds_by_part_and_clearing_resets() {
        let mut one = Fallback { started: 5, answered: 3, tcp_requests: 6, ..Fallback::default() };
        one.add_failed(FallbackFailure::UdpTimedOut, 4);
        one.add_failed(FallbackFailure::Reset, 1);
        one.add_failed(FallbackFailure::NoClient, 1);
        one.query.record(5_000);
        let mut both = one.clone();
        both.merge(&one);
        assert_eq!((both.started, both.answered, both.tcp_requests), (10, 6, 12));
        assert_eq!((both.failed_in(Half::Udp), both.failed_in(Half::Tcp)), (8, 4));
        assert_eq!(both.started, both.answered + both.failed_in(Half::Tcp));
        assert_eq!(both.query.count(), 2);
        both.clear();
        assert_eq!(both, Fallback::default());
    }
}

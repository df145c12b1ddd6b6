//! Transactions whose answer over UDP was truncated and that were asked again over TCP: how many,
//! what their time was made of, and where those failed that failed.
//!
//! ```text
//!   query ──── answer with TC ···· handed to a client ──── connected ──── answer
//!     │◄────── udp ──────►│◄────── waiting ──────►│◄─ connect ─►│◄── query ──►│
//!     │◄─────────────────────────── service time ──────────────────────────►│
//! ```
//!
//! The four parts of a transaction add up to its service time, to the nanosecond.

use crate::by::keys;
use crate::counter::counters;
use crate::{By, Histogram};

/// Which of the two questions of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first, over UDP.
    Udp,
    /// The second, over TCP.
    Tcp,
}

keys! {
    /// Where a transaction failed, and why.
    pub enum FallbackFailure {
        /// No answer came over UDP.
        UdpTimedOut = "udp_timed_out", "timed out";
        /// The network refused the query over UDP (ICMP).
        UdpRefused = "udp_refused", "refused";
        /// The user ended the run before an answer came over UDP.
        UdpInterrupted = "udp_interrupted", "interrupted";
        /// No client was free to ask over TCP until the timeout.
        NoClient = "no_client", "no free client";
        /// No local port was free for a connection until the timeout.
        NoLocalPort = "no_local_port", "no local port";
        /// The connection was refused (RST).
        ConnectRefused = "connect_refused", "connect refused";
        /// The connection was not there when the timeout came.
        ConnectTimedOut = "connect_timed_out", "connect timed out";
        /// The connection was not to be had for another reason: reset while it was opened, unreachable.
        ConnectFailed = "connect_failed", "connect failed";
        /// Connections were reset before they brought the answer.
        Reset = "reset", "reset";
        /// The server closed connections before they brought the answer.
        Closed = "closed", "closed by the server";
        /// Connections brought something that is no DNS message instead of the answer.
        Garbled = "garbled", "no DNS message";
        /// The connection was there, and no answer came over it.
        QueryTimedOut = "query_timed_out", "query timed out";
        /// This host would not send the query over TCP.
        NotSent = "not_sent", "not sent";
        /// The user ended the run during the second half.
        Interrupted = "interrupted", "interrupted";
    }
}

impl FallbackFailure {
    /// The half that failed.
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
    /// The transactions of some time that could fall back to TCP.
    pub struct Fallback {
        /// Transactions whose answer over UDP was truncated: they went on over TCP. Once they have
        /// ended, this is [`answered`](Self::answered) and the failures of the half over TCP.
        pub started: u64,
        /// Those of them that were answered over TCP in time.
        pub answered: u64,
        /// Messages that left over UDP.
        pub udp_requests: u64,
        /// Messages that left over TCP.
        pub tcp_requests: u64,
        /// Of those the ones that asked once more, because a connection was lost.
        pub tcp_retried: u64,
        /// Transactions that failed after they had left, by half and reason.
        pub failed: By<FallbackFailure, u64, { FallbackFailure::ALL.len() }>,
        /// From the query over UDP to its truncated answer; as the next three, of those answered over TCP in time.
        pub udp: Histogram,
        /// From the truncated answer to the instant at which a client had the question.
        pub waiting: Histogram,
        /// From there until the client had a connection for it; nothing where it had one.
        pub connect: Histogram,
        /// From there to the answer.
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

    /// All that failed in this half.
    pub fn failed_in(&self, half: Half) -> u64 {
        self.failures_of(half).map(|(_, count)| count).sum()
    }

    /// The reasons of this half, with their counts, none left out.
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
    fn every_failure_has_a_place_and_a_key_of_its_own_in_its_half() {
        for (i, why) in FallbackFailure::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, i);
        }
        let keys: std::collections::BTreeSet<_> =
            FallbackFailure::ALL.map(|why| (why.half() == Half::Udp, why.key())).into();
        assert_eq!(keys.len(), FallbackFailure::ALL.len());
    }

    #[test]
    fn what_is_merged_adds_up_by_half_and_what_is_cleared_is_as_new() {
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

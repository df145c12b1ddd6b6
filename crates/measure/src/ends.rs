//! How queries end (each in exactly one way), and the response anomalies.

use crate::By;
use crate::by::keys;
use crate::counter::counters;

counters! {
    /// How the queries of an interval ended. The sum is the number of queries scheduled.
    #[derive(Copy, Eq)]
    pub struct Ends {
        /// A response arrived within the timeout.
        pub answered: u64,
        /// A response arrived after the timeout.
        pub answered_late: u64,
        /// A response arrived within the timeout that says other than the server said before the load.
        pub answered_wrong: u64,
        /// No response arrived.
        pub timed_out: u64,
        /// The network refused the query (ICMP unreachable, RST).
        pub refused: u64,
        /// The generator did not send the query.
        pub not_sent: NotSent,
        /// The user ended the run while the query was due or outstanding.
        pub interrupted: u64,
        /// Sent in a send-only run, which does not wait for responses.
        pub sent_only: u64,
    }
}

impl Ends {
    /// All queries that ended.
    pub fn total(&self) -> u64 {
        self.answered
            + self.answered_late
            + self.answered_wrong
            + self.timed_out
            + self.refused
            + self.not_sent.total()
            + self.interrupted
            + self.sent_only
    }

    /// Queries that count for the server: all but the interrupted ones and those of a send-only run.
    pub fn judged(&self) -> u64 {
        self.total().saturating_sub(self.interrupted).saturating_sub(self.sent_only)
    }

    /// Those of them without a right response in time, for any reason.
    pub fn lost(&self) -> u64 {
        self.judged().saturating_sub(self.answered)
    }

    /// Queries that rank as "at least the timeout" in the service time: sent, and not answered rightly in time.
    /// Interrupted queries are excluded: they say nothing about the server.
    pub fn unanswered_after_sending(&self) -> u64 {
        self.answered_late + self.answered_wrong + self.timed_out + self.refused
    }

    /// Queries that rank as "at least the timeout" in the response time: those, and the queries not sent.
    pub fn unanswered(&self) -> u64 {
        self.unanswered_after_sending() + self.not_sent.total()
    }

    /// Moves `count` queries from timed out to answered late.
    ///
    /// A response that arrives after its interval has settled is counted only in the sum of the run. At most all
    /// timed out queries are moved, so the total stays the same.
    pub fn came_late_after_all(&mut self, count: u64) {
        let moved = count.min(self.timed_out);
        self.timed_out -= moved;
        self.answered_late += moved;
    }
}

keys! {
    /// Why a query was not sent.
    pub enum NotSentReason {
        /// All IDs of all sockets were in use until the query was late by the timeout.
        NoFreeId = "no_free_id", "no free ID";
        /// The socket accepted no packet until the query was late by the timeout.
        SendBufferFull = "send_buffer_full", "send buffer full";
        /// The generator itself was late by the timeout (it was stopped, or had no CPU).
        GeneratorLate = "generator_late", "generator late";
        /// The kernel has no route to the server, or the interface is down.
        NoRoute = "no_route", "no route";
        /// The message is larger than the path MTU allows.
        TooLong = "too_long", "message too long";
        /// A firewall on this host blocks it.
        Forbidden = "forbidden", "forbidden by a firewall";
        /// Every client's connection was full until the query was late by the timeout.
        NoFreeConnection = "no_free_connection", "no free connection";
        /// The server allowed no stream for the query (HTTP/2, QUIC), or no byte of a request, until its timeout.
        NoStream = "no_stream", "no stream allowed by the server";
        /// No local port was free for a connection until the query was late by the timeout.
        NoLocalPort = "no_local_port", "no local port";
        /// The window of outstanding queries was full until the query was late by the timeout.
        WindowFull = "window_full", "window full";
        /// Any other error of the system call.
        OtherError = "other_error", "other socket error";
    }
}

/// Queries not sent, by reason.
pub type NotSent = By<NotSentReason, u64, { NotSentReason::ALL.len() }>;

counters! {
    /// Response anomalies: packets that ended no query, and truncated responses.
    #[derive(Copy, Eq)]
    pub struct Anomalies {
        /// Further responses to an answered query.
        pub duplicates: u64,
        /// Responses with an ID that no outstanding query of the socket has.
        pub unexpected: u64,
        /// Responses with the ID of an outstanding query and another question.
        pub wrong_question: u64,
        /// Responses to a query that had timed out, so late that its ID was that of another query already. Told from
        /// `wrong_question` where questions are not made anew for each query.
        pub after_reuse: u64,
        /// Packets that are not a DNS message, or are a query (QR = 0).
        pub malformed: u64,
        /// Responses with the TC bit: they count as answered, unless the query is retried over TCP.
        pub truncated: u64,
    }
}

impl Anomalies {
    /// Packets that ended no query, with their words in a summary, in the order of the record.
    pub fn unpaired(&self) -> [(&'static str, u64); 5] {
        let Anomalies { duplicates, unexpected, wrong_question, after_reuse, malformed, truncated: _ } =
            *self;
        [
            ("duplicates", duplicates),
            ("unexpected ID", unexpected),
            ("wrong question", wrong_question),
            ("later than their ID was used again", after_reuse),
            ("malformed", malformed),
        ]
    }

    /// All of [`unpaired`](Self::unpaired).
    pub fn unpaired_total(&self) -> u64 {
        self.unpaired().iter().fold(0, |total: u64, (_, count)| total.saturating_add(*count))
    }

    /// Each anomaly, with its words in a summary.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.unpaired().into_iter().chain([("truncated", self.truncated)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_index_and_key() {
        let mut not_sent = NotSent::default();
        for (i, reason) in NotSentReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, i);
            not_sent.add(reason, i as u64 + 1);
        }
        assert_eq!(not_sent.total(), (1..=NotSentReason::ALL.len() as u64).sum::<u64>());
        let keys: std::collections::BTreeSet<_> = NotSentReason::ALL.map(NotSentReason::key).into();
        assert_eq!(keys.len(), NotSentReason::ALL.len());
    }

    #[test]
    fn a_late_response_moves_its_query_and_keeps_the_sum() {
        let mut ends = Ends { timed_out: 3, answered: 4, ..Ends::default() };
        ends.came_late_after_all(2);
        assert_eq!((ends.timed_out, ends.answered_late, ends.total()), (1, 2, 7));
    }
}

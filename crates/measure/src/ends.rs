//! How queries end, each as exactly one thing, and what is counted beside.

use crate::By;
use crate::by::keys;
use crate::counter::counters;

counters! {
    /// The ends of the queries of some interval. Their sum is the number of queries scheduled.
    #[derive(Copy, Eq)]
    pub struct Ends {
        /// The answer came within the timeout.
        pub answered: u64,
        /// The answer came, but after the timeout.
        pub answered_late: u64,
        /// No answer came.
        pub timed_out: u64,
        /// The network refused the query (ICMP unreachable, RST).
        pub refused: u64,
        /// The generator never got it out of the door.
        pub not_sent: NotSent,
        /// The user ended the run while the query was due or under way.
        pub interrupted: u64,
        /// It left, in a send-only run: nobody waited for an answer.
        pub sent_only: u64,
    }
}

impl Ends {
    /// All queries that ended.
    pub fn total(&self) -> u64 {
        self.answered
            + self.answered_late
            + self.timed_out
            + self.refused
            + self.not_sent.total()
            + self.interrupted
            + self.sent_only
    }

    /// Queries that rank as "at least the timeout" in the service time: they left, and no
    /// answer came in time. What the user interrupted says nothing about the server.
    pub fn unanswered_after_sending(&self) -> u64 {
        self.answered_late + self.timed_out + self.refused
    }

    /// Queries that rank as "at least the timeout" in the response time: those, and the ones
    /// that never left.
    pub fn unanswered(&self) -> u64 {
        self.unanswered_after_sending() + self.not_sent.total()
    }

    /// Turns `count` queries that were booked as timed out into late answers.
    ///
    /// Answers that come after their interval was settled are known only to the sum. No more can
    /// move than are there: the sum of the ends stays.
    pub fn came_late_after_all(&mut self, count: u64) {
        let moved = count.min(self.timed_out);
        self.timed_out -= moved;
        self.answered_late += moved;
    }
}

keys! {
    /// Why a query never left.
    pub enum NotSentReason {
        /// All IDs of all sockets were in use until the query was a timeout late.
        NoFreeId = "no_free_id", "no free ID";
        /// The socket took no packet until the query was a timeout late.
        SendBufferFull = "send_buffer_full", "send buffer full";
        /// The generator itself was a timeout late (it was stopped, or got no CPU).
        GeneratorLate = "generator_late", "generator late";
        /// The kernel has no route to the server, or the interface is down.
        NoRoute = "no_route", "no route";
        /// The message does not fit in a packet of this path.
        TooLong = "too_long", "message too long";
        /// A firewall of this host forbids it.
        Forbidden = "forbidden", "forbidden by a firewall";
        /// Every client's connection had all it may carry, until the query was a timeout late.
        NoFreeConnection = "no_free_connection", "no free connection";
        /// No local port was free for a connection until the query was a timeout late.
        NoLocalPort = "no_local_port", "no local port";
        /// As many queries as the window allows were outstanding until the query was a timeout late.
        WindowFull = "window_full", "window full";
        /// Any other error of the system call.
        OtherError = "other_error", "other socket error";
    }
}

/// Queries never sent, by reason.
pub type NotSent = By<NotSentReason, u64, { NotSentReason::ALL.len() }>;

counters! {
    /// Packets that ended no query, and properties of those that did.
    #[derive(Copy, Eq)]
    pub struct Anomalies {
        /// A further answer to a query that had been answered.
        pub duplicates: u64,
        /// An ID that nobody asked with on that socket.
        pub unexpected: u64,
        /// The ID of a query under way, with another question.
        pub wrong_question: u64,
        /// No DNS message, or a query (QR = 0) where a response was due.
        pub malformed: u64,
        /// Answers with the TC bit: they count as answered, but where they are asked again over TCP.
        pub truncated: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_place_and_a_key_of_its_own() {
        let mut not_sent = NotSent::default();
        for (i, reason) in NotSentReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, i);
            not_sent.add(reason, i as u64 + 1);
        }
        assert_eq!(not_sent.total(), 55);
        let keys: std::collections::BTreeSet<_> = NotSentReason::ALL.map(NotSentReason::key).into();
        assert_eq!(keys.len(), NotSentReason::ALL.len());
    }

    #[test]
    fn a_late_answer_moves_its_query_and_keeps_the_sum() {
        let mut ends = Ends { timed_out: 3, answered: 4, ..Ends::default() };
        ends.came_late_after_all(2);
        assert_eq!((ends.timed_out, ends.answered_late, ends.total()), (1, 2, 7));
    }
}

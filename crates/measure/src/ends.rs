//! How queries end, each as exactly one thing, and what is counted beside.

/// The ends of the queries of some interval. Their sum is the number of queries scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Ends) {
        self.answered += other.answered;
        self.answered_late += other.answered_late;
        self.timed_out += other.timed_out;
        self.refused += other.refused;
        self.not_sent.merge(&other.not_sent);
        self.interrupted += other.interrupted;
        self.sent_only += other.sent_only;
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

/// Why a query never left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSentReason {
    /// All IDs of all sockets were in use until the query was a timeout late.
    NoFreeId,
    /// The socket took no packet until the query was a timeout late.
    SendBufferFull,
    /// The generator itself was a timeout late (it was stopped, or got no CPU).
    GeneratorLate,
    /// The kernel has no route to the server, or the interface is down.
    NoRoute,
    /// The message does not fit in a packet of this path.
    TooLong,
    /// A firewall of this host forbids it.
    Forbidden,
    /// Every client's connection had all it may carry, until the query was a timeout late.
    NoFreeConnection,
    /// No local port was free for a connection until the query was a timeout late.
    NoLocalPort,
    /// As many queries as the window allows were outstanding until the query was a timeout late.
    WindowFull,
    /// Any other error of the system call.
    OtherError,
}

/// Queries never sent, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotSent {
    counts: [u64; NotSentReason::ALL.len()],
}

impl NotSentReason {
    /// All reasons, in the order of the record.
    pub const ALL: [NotSentReason; 10] = [
        NotSentReason::NoFreeId,
        NotSentReason::SendBufferFull,
        NotSentReason::GeneratorLate,
        NotSentReason::NoRoute,
        NotSentReason::TooLong,
        NotSentReason::Forbidden,
        NotSentReason::NoFreeConnection,
        NotSentReason::NoLocalPort,
        NotSentReason::WindowFull,
        NotSentReason::OtherError,
    ];

    /// The key in the record.
    pub const fn key(self) -> &'static str {
        match self {
            NotSentReason::NoFreeId => "no_free_id",
            NotSentReason::SendBufferFull => "send_buffer_full",
            NotSentReason::GeneratorLate => "generator_late",
            NotSentReason::NoRoute => "no_route",
            NotSentReason::TooLong => "too_long",
            NotSentReason::Forbidden => "forbidden",
            NotSentReason::NoFreeConnection => "no_free_connection",
            NotSentReason::NoLocalPort => "no_local_port",
            NotSentReason::WindowFull => "window_full",
            NotSentReason::OtherError => "other_error",
        }
    }

    /// The words in a summary.
    pub const fn words(self) -> &'static str {
        match self {
            NotSentReason::NoFreeId => "no free ID",
            NotSentReason::SendBufferFull => "send buffer full",
            NotSentReason::GeneratorLate => "generator late",
            NotSentReason::NoRoute => "no route",
            NotSentReason::TooLong => "message too long",
            NotSentReason::Forbidden => "forbidden by a firewall",
            NotSentReason::NoFreeConnection => "no free connection",
            NotSentReason::NoLocalPort => "no local port",
            NotSentReason::WindowFull => "window full",
            NotSentReason::OtherError => "other socket error",
        }
    }
}

impl NotSent {
    /// Counts `count` queries not sent for `reason`.
    pub fn add(&mut self, reason: NotSentReason, count: u64) {
        self.counts[reason as usize] += count;
    }

    /// How many were not sent for `reason`.
    pub fn of(&self, reason: NotSentReason) -> u64 {
        self.counts[reason as usize]
    }

    /// All queries not sent.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The reasons that occurred, with their counts.
    pub fn by_reason(&self) -> impl Iterator<Item = (NotSentReason, u64)> + '_ {
        NotSentReason::ALL.into_iter().map(|reason| (reason, self.of(reason))).filter(|(_, count)| *count > 0)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &NotSent) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Packets that ended no query, and properties of those that did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
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

impl Beside {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Beside) {
        self.duplicates += other.duplicates;
        self.unexpected += other.unexpected;
        self.wrong_question += other.wrong_question;
        self.malformed += other.malformed;
        self.truncated += other.truncated;
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

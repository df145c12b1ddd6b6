//! The two books of a worker: what became of the queries due in an interval ([`Tally`]), and
//! what passed the socket in an interval ([`Arrivals`]).
//!
//! They are two because they answer two questions. "Of the 5,000 queries due in second 7, how
//! many were answered, and how late?" can only be said when the last of them has ended. "How
//! many answers came in second 7?" is known at its end, and is what a live screen shows.

use crate::counter::counters;
use crate::{Anomalies, ByCode, Connections, Ends, Fallback, Histogram, Latency};

counters! {
    /// What became of the queries whose intended instant lies in one interval.
    pub struct Tally {
        /// Queries that the schedule put in this interval.
        pub scheduled: u64,
        /// Requests that left (a query may be more than one, where it falls back to TCP).
        pub requests: u64,
        /// Of the requests those that asked a query again, because its connection was lost.
        pub retried: u64,
        /// How they ended; the sum is `scheduled` once the interval has settled.
        pub ends: Ends,
        /// Answered and late queries by extended RCODE.
        pub rcodes: Rcodes,
        /// By query type, in the order of the plan's table of types.
        pub types: Vec<TypeCount>,
        /// Answer − intended instant, of the answered.
        pub response: Histogram,
        /// Answer − actual send, of the answered.
        pub service: Histogram,
        /// Actual send − intended instant, of all that left.
        pub lateness: Histogram,
        /// Bytes of DNS message sent.
        pub bytes_sent: u64,
        /// Bytes of DNS message in the answers that ended a query.
        pub bytes_answered: u64,
        /// Transactions that could fall back to TCP; `None` where none can.
        pub fallback: Option<Box<Fallback>>,
        /// The queries of each member of a mix, in the order of the plan; none where all go one way.
        pub members: Vec<MemberTally>,
    }
}

counters! {
    /// What became of the queries of one member of a mix of transports.
    pub struct MemberTally {
        /// Queries that the schedule put here and that were this member's to ask.
        pub scheduled: u64,
        /// Queries that left.
        pub sent: u64,
        /// How they ended.
        pub ends: Ends,
        /// Answer − intended instant, of the answered.
        pub response: Histogram,
        /// Answer − actual send, of the answered.
        pub service: Histogram,
    }
}

impl MemberTally {
    /// Response time with the unanswered queries in it.
    pub fn response_latency(&self) -> Latency<'_> {
        Latency { answered: &self.response, unanswered: self.ends.unanswered() }
    }

    /// Service time with the unanswered queries in it.
    pub fn service_latency(&self) -> Latency<'_> {
        Latency { answered: &self.service, unanswered: self.ends.unanswered_after_sending() }
    }
}

counters! {
    /// Queries of one type.
    #[derive(Copy, Eq)]
    pub struct TypeCount {
        /// Queries that left.
        pub sent: u64,
        /// Queries answered in time.
        pub answered: u64,
    }
}

impl Tally {
    /// An empty tally for a plan with `types` different query types.
    pub fn new(types: usize) -> Self {
        Tally { types: vec![TypeCount::default(); types], ..Tally::default() }
    }

    /// The same for a mix of so many members.
    pub fn of_mix(types: usize, members: usize) -> Self {
        Tally { members: vec![MemberTally::default(); members], ..Tally::new(types) }
    }

    /// The books of the fallback to TCP, made when they are first needed.
    #[inline]
    pub fn fallback_mut(&mut self) -> &mut Fallback {
        self.fallback.get_or_insert_default()
    }

    /// Whether each query has ended.
    pub fn is_settled(&self) -> bool {
        self.ends.total() == self.scheduled
    }

    /// Response time with the unanswered queries in it.
    pub fn response_latency(&self) -> Latency<'_> {
        Latency { answered: &self.response, unanswered: self.ends.unanswered() }
    }

    /// Service time with the unanswered queries in it.
    pub fn service_latency(&self) -> Latency<'_> {
        Latency { answered: &self.service, unanswered: self.ends.unanswered_after_sending() }
    }
}

counters! {
    /// What passed the sockets in one wall interval.
    pub struct Arrivals {
        /// Queries that left.
        pub sent: u64,
        /// Answers that ended a query in time.
        pub answered: u64,
        /// Answers that came after their query's timeout.
        pub late: u64,
        /// Queries whose timeout passed.
        pub timed_out: u64,
        /// Queries refused by the network.
        pub refused: u64,
        /// Queries given up before they left.
        pub not_sent: u64,
        /// Headline latency of the answers that came: response time in open loop, service time in
        /// closed loop.
        pub latency: Histogram,
        /// Packets that ended no query.
        pub anomalies: Anomalies,
        /// Packets that the kernel dropped at our sockets because we did not read fast enough.
        pub socket_drops: u64,
        /// Most queries under way at once, added over workers.
        pub in_flight_max: u64 = peak,
        /// CPU time of the workers, user and system, in nanoseconds.
        pub cpu_ns: u64,
        /// Time that the workers were ready to run and had no CPU, in nanoseconds.
        pub cpu_wait_ns: u64,
        /// What became of connections; `None` where the transport has none.
        pub connections: Option<Box<Connections>>,
    }
}

impl Arrivals {
    /// The books of connections, made when they are first needed.
    #[inline]
    pub fn connections_mut(&mut self) -> &mut Connections {
        self.connections.get_or_insert_default()
    }
}

counters! {
    /// What one worker did and used.
    #[derive(Copy, Eq)]
    pub struct WorkerUse {
        /// CPU time, user and system, in nanoseconds.
        pub cpu_ns: u64,
        /// Time it was ready to run and had no CPU, in nanoseconds.
        pub cpu_wait_ns: u64,
        /// Queries that left.
        pub sent: u64,
        /// Answers that ended a query in time.
        pub answered: u64,
    }
}

/// Answers by extended RCODE (0 to 4095).
pub type Rcodes = ByCode<0>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_of_two_tallies_holds_the_sum_of_both_and_a_cleared_one_nothing() {
        let mut a = Tally::new(2);
        a.scheduled = 3;
        a.ends.answered = 2;
        a.ends.timed_out = 1;
        a.types[1] = TypeCount { sent: 3, answered: 2 };
        a.response.record(1_000_000);
        a.rcodes.add(3, 2);
        let mut b = a.clone();
        b.merge(&a);
        assert_eq!((b.scheduled, b.ends.total(), b.types[1].answered, b.rcodes.of(3)), (6, 6, 4, 4));
        assert_eq!((b.response.count(), b.is_settled()), (2, true));
        b.clear();
        assert_eq!(b, Tally::new(2));
    }

    #[test]
    fn peaks_add_over_workers_and_not_over_time() {
        let one = Arrivals { in_flight_max: 5, sent: 1, ..Arrivals::default() };
        let two = Arrivals { in_flight_max: 7, sent: 1, ..Arrivals::default() };
        let mut workers = one.clone();
        workers.merge(&two);
        let mut time = one;
        time.merge_in_time(&two);
        assert_eq!((workers.in_flight_max, time.in_flight_max, time.sent), (12, 7, 2));
    }
}

//! The two sets of counters of a worker: how the queries due in an interval ended ([`Tally`]), and what passed the
//! sockets in an interval ([`Arrivals`]).
//!
//! How many of the 5,000 queries due in second 7 were answered, and how late, is known when the last of them has
//! ended. How many responses arrived in second 7 is known at its end, and is what the live screen shows.

use crate::counter::counters;
use crate::{
    Anomalies, ByCode, CachingClients, Connections, Cookies, Ends, Fallback, Histogram, Latency, SendStamps,
    TestBed, Tsig,
};

counters! {
    /// How the queries ended whose intended instant is in one interval.
    pub struct Tally {
        /// Queries due in this interval.
        pub scheduled: u64,
        /// Requests sent (a query may be more than one: a retry, or the TCP part of a fallback).
        pub requests: u64,
        /// Requests that were retries of a query whose connection was lost.
        pub retried: u64,
        /// Queries that a full window held back past their intended instant.
        pub held_back: u64,
        /// For how long together, in nanoseconds.
        pub held_back_ns: u64,
        /// How the queries ended; the sum is `scheduled` when the interval has settled.
        pub ends: Ends,
        /// Queries answered, in time or late, rightly or wrongly, by extended RCODE.
        pub rcodes: Rcodes,
        /// Those of them that were late or wrong.
        pub rcodes_late_or_wrong: Rcodes,
        /// By query type, in the order of the plan's table of types.
        #[serde(deserialize_with = "crate::bounded::list::<_, _, MOST_TYPES>")]
        pub types: Vec<TypeCount>,
        /// Response − intended instant, of queries answered in time.
        pub response: Histogram,
        /// Response − actual send, of queries answered in time.
        pub service: Histogram,
        /// Actual send − intended instant, of all queries sent.
        pub lateness: Histogram,
        /// What late sends may have added to the response time of each query, at the most: its own lateness, or what is
        /// left of that of the queries before it, which a server that is loaded to less than 95 % has made up for after
        /// 24 times as long, and each server once no query is outstanding. Open loop only; counted per batch, in the
        /// interval of its first query.
        pub own_delay: Histogram,
        /// The response time of each query answered in time, less what late sends may have added to it at the most.
        /// Open loop only.
        pub response_least: Histogram,
        /// Queries without a response in time that were sent more than 1 ms after they were due.
        pub lost_late: u64,
        /// Bytes of DNS messages sent.
        pub bytes_sent: u64,
        /// Bytes of DNS messages in the responses that ended a query.
        pub bytes_answered: u64,
        /// Size of the largest query sent, in bytes.
        pub query_bytes_max: u64 = largest,
        /// Size of the largest response that ended a query, in bytes.
        pub response_bytes_max: u64 = largest,
        /// Transactions that could fall back to TCP; `None` where no transport does.
        pub fallback: Option<Box<Fallback>>,
        /// The queries of each member of a mix, in the order of the plan; empty without a mix.
        #[serde(deserialize_with = "crate::bounded::list::<_, _, MOST_MEMBERS>")]
        pub members: Vec<MemberTally>,
    }
}

counters! {
    /// How the queries of one member of a mix of transports ended.
    pub struct MemberTally {
        /// Queries due in this interval over this member.
        pub scheduled: u64,
        /// Queries sent.
        pub sent: u64,
        /// How the queries ended.
        pub ends: Ends,
        /// Response − intended instant, of queries answered in time.
        pub response: Histogram,
        /// Response − actual send, of queries answered in time.
        pub service: Histogram,
    }
}

impl MemberTally {
    /// Response time, including the unanswered queries.
    pub fn response_latency(&self) -> Latency<'_> {
        Latency { answered: &self.response, unanswered: self.ends.unanswered() }
    }

    /// Service time, including the unanswered queries.
    pub fn service_latency(&self) -> Latency<'_> {
        Latency { answered: &self.service, unanswered: self.ends.unanswered_after_sending() }
    }
}

counters! {
    /// Queries of one type.
    #[derive(Copy, Eq)]
    pub struct TypeCount {
        /// Queries sent.
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

    /// The same for a mix of `members` transports.
    pub fn of_mix(types: usize, members: usize) -> Self {
        Tally { members: vec![MemberTally::default(); members], ..Tally::new(types) }
    }

    /// Queries answered in time and rightly, by extended RCODE.
    pub fn rcodes_in_time(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let left =
            |(code, count): (u16, u64)| (code, count.saturating_sub(self.rcodes_late_or_wrong.of(code)));
        self.rcodes.iter().map(left)
    }

    /// The counters of the fallback to TCP, created when first needed.
    #[inline]
    pub fn fallback_mut(&mut self) -> &mut Fallback {
        self.fallback.get_or_insert_default()
    }

    /// Whether all queries have ended.
    pub fn is_settled(&self) -> bool {
        self.ends.total() == self.scheduled
    }

    /// Response time, including the unanswered queries.
    pub fn response_latency(&self) -> Latency<'_> {
        Latency { answered: &self.response, unanswered: self.ends.unanswered() }
    }

    /// Service time, including the unanswered queries.
    pub fn service_latency(&self) -> Latency<'_> {
        Latency { answered: &self.service, unanswered: self.ends.unanswered_after_sending() }
    }
}

counters! {
    /// What passed the sockets in one wall interval.
    pub struct Arrivals {
        /// Queries sent.
        pub sent: u64,
        /// Responses that ended a query in time.
        pub answered: u64,
        /// Responses after the timeout of their query.
        pub late: u64,
        /// Responses in time that say other than before the load.
        pub wrong: u64,
        /// Queries that timed out.
        pub timed_out: u64,
        /// Queries refused by the network.
        pub refused: u64,
        /// Queries not sent.
        pub not_sent: u64,
        /// Headline latency of the responses: response time in open loop, service time in closed loop.
        pub latency: Histogram,
        /// Response anomalies.
        pub anomalies: Anomalies,
        /// Packets that the kernel dropped at our sockets, because we did not read them fast enough.
        pub socket_drops: u64,
        /// Largest number of outstanding queries, added over workers.
        pub in_flight_max: u64 = peak,
        /// CPU time of the workers, user and system, in nanoseconds.
        pub cpu_ns: u64,
        /// Time that the workers waited for a CPU, in nanoseconds.
        pub cpu_wait_ns: u64,
        /// The kernel's stamps of sending; `None` where it was not asked for any, or refused.
        pub send_stamps: Option<Box<SendStamps>>,
        /// CPU time on the generator's host; `None` in a simulation and where it was not read.
        pub bed: Option<Box<TestBed>>,
        /// Connections; `None` where the transport has none.
        pub connections: Option<Box<Connections>>,
        /// Signatures of responses; `None` where queries are not signed.
        pub tsig: Option<Box<Tsig>>,
        /// DNS cookies of responses; `None` where queries have none.
        pub cookies: Option<Box<Cookies>>,
        /// Simulated clients with caches; `None` where the queries have another source.
        pub clients: Option<Box<CachingClients>>,
        /// The same by kind of client, in the order of `client_kinds` of the header; empty where there is only one.
        #[serde(deserialize_with = "crate::bounded::list::<_, _, MOST_KINDS>")]
        pub client_kinds: Vec<CachingClients>,
    }
}

impl Arrivals {
    /// The counters of connections, created when first needed.
    #[inline]
    pub fn connections_mut(&mut self) -> &mut Connections {
        self.connections.get_or_insert_default()
    }

    /// The kernel's stamps of sending, created when first needed.
    #[inline]
    pub fn send_stamps_mut(&mut self) -> &mut SendStamps {
        self.send_stamps.get_or_insert_default()
    }

    /// Responses that ended no query because of their signature or their cookie.
    pub fn rejected(&self) -> u64 {
        self.tsig.as_ref().map_or(0, |tsig| tsig.failed.total())
            + self.cookies.as_ref().map_or(0, |cookies| cookies.wrong_client_cookie)
    }

    /// The counters of signatures, created when first needed.
    #[inline]
    pub fn tsig_mut(&mut self) -> &mut Tsig {
        self.tsig.get_or_insert_default()
    }

    /// The counters of cookies, created when first needed.
    #[inline]
    pub fn cookies_mut(&mut self) -> &mut Cookies {
        self.cookies.get_or_insert_default()
    }

    /// The counters of each of so many kinds of simulated clients, created when first needed.
    pub fn client_kinds_mut(&mut self, kinds: usize) -> &mut [CachingClients] {
        if self.client_kinds.len() < kinds {
            self.client_kinds.resize(kinds, CachingClients::default());
        }
        &mut self.client_kinds
    }

    /// The counters of simulated clients, created when first needed.
    #[inline]
    pub fn clients_mut(&mut self) -> &mut CachingClients {
        self.clients.get_or_insert_default()
    }
}

counters! {
    /// Queries and CPU time of one worker.
    #[derive(Copy, Eq)]
    pub struct WorkerUse {
        /// CPU time, user and system, in nanoseconds.
        pub cpu_ns: u64,
        /// Time that it waited for a CPU, in nanoseconds.
        pub cpu_wait_ns: u64,
        /// Queries sent.
        pub sent: u64,
        /// Responses that ended a query in time.
        pub answered: u64,
    }
}

/// Responses by extended RCODE (0 to 4095).
pub type Rcodes = ByCode<0>;

/// Each query type once.
pub const MOST_TYPES: usize = 1 << 16;

/// The most members of a mix. Each has histograms in each tally, of which a worker has many: a hundred kilobytes a
/// second of the timeout, for each member.
pub const MOST_MEMBERS: usize = 32;

/// The most kinds of simulated clients in a run.
pub const MOST_KINDS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_two_tallies_adds_and_clearing_resets() {
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
    fn the_largest_sizes_are_kept_over_workers_and_over_time() {
        let one = Tally { query_bytes_max: 40, response_bytes_max: 1_232, ..Tally::new(0) };
        let two = Tally { query_bytes_max: 52, response_bytes_max: 100, ..Tally::new(0) };
        let (mut workers, mut time) = (one.clone(), one);
        workers.merge(&two);
        time.merge_in_time(&two);
        assert_eq!((workers.query_bytes_max, workers.response_bytes_max), (52, 1_232));
        assert_eq!((time.query_bytes_max, time.response_bytes_max), (52, 1_232));
    }

    #[test]
    fn a_sum_that_does_not_fit_stays_at_the_largest_number() {
        let mut a = Tally { held_back_ns: u64::MAX - 1, ..Tally::default() };
        a.merge(&Tally { held_back_ns: 5, ..Tally::default() });
        assert_eq!(a.held_back_ns, u64::MAX);
    }

    #[test]
    fn peaks_are_added_over_workers_and_not_over_time() {
        let one = Arrivals { in_flight_max: 5, sent: 1, ..Arrivals::default() };
        let two = Arrivals { in_flight_max: 7, sent: 1, ..Arrivals::default() };
        let mut workers = one.clone();
        workers.merge(&two);
        let mut time = one;
        time.merge_in_time(&two);
        assert_eq!((workers.in_flight_max, time.in_flight_max, time.sent), (12, 7, 2));
    }
}

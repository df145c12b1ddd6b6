//! The two books of a worker: what became of the queries due in an interval ([`Tally`]), and
//! what passed the socket in an interval ([`Arrivals`]).
//!
//! They are two because they answer two questions. "Of the 5,000 queries due in second 7, how
//! many were answered, and how late?" can only be said when the last of them has ended. "How
//! many answers came in second 7?" is known at its end, and is what a live screen shows.

use crate::{Beside, Connections, Ends, Fallback, Histogram, Latency};

/// What became of the queries whose intended instant lies in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Queries that the schedule put in this interval.
    pub scheduled: u64,
    /// Requests that left (a query may be more than one, where it falls back to TCP).
    pub requests: u64,
    /// Of the requests those that asked a query again, because its connection was lost.
    pub asked_again: u64,
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

/// What became of the queries of one member of a mix of transports.
#[derive(Clone, Debug, Default, PartialEq)]
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

impl MemberTally {
    /// Response time with the unanswered queries in it.
    pub fn response_latency(&self) -> Latency<'_> {
        Latency { answered: &self.response, unanswered: self.ends.unanswered() }
    }

    /// Service time with the unanswered queries in it.
    pub fn service_latency(&self) -> Latency<'_> {
        Latency { answered: &self.service, unanswered: self.ends.unanswered_after_sending() }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &MemberTally) {
        self.scheduled += other.scheduled;
        self.sent += other.sent;
        self.ends.merge(&other.ends);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        (self.scheduled, self.sent, self.ends) = (0, 0, Ends::default());
        self.response.clear();
        self.service.clear();
    }
}

/// Queries of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeCount {
    /// Queries that left.
    pub sent: u64,
    /// Queries answered in time.
    pub answered: u64,
}

impl Tally {
    /// An empty tally for a plan with `types` different query types.
    pub fn new(types: usize) -> Self {
        Tally {
            scheduled: 0,
            requests: 0,
            asked_again: 0,
            ends: Ends::default(),
            rcodes: Rcodes::default(),
            types: vec![TypeCount::default(); types],
            response: Histogram::new(),
            service: Histogram::new(),
            lateness: Histogram::new(),
            bytes_sent: 0,
            bytes_answered: 0,
            fallback: None,
            members: Vec::new(),
        }
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

    /// Adds all that `other` holds; both count the same types.
    pub fn merge(&mut self, other: &Tally) {
        self.scheduled += other.scheduled;
        self.requests += other.requests;
        self.asked_again += other.asked_again;
        self.ends.merge(&other.ends);
        self.rcodes.merge(&other.rcodes);
        if self.types.len() < other.types.len() {
            self.types.resize(other.types.len(), TypeCount::default());
        }
        for (mine, theirs) in self.types.iter_mut().zip(&other.types) {
            mine.sent += theirs.sent;
            mine.answered += theirs.answered;
        }
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lateness.merge(&other.lateness);
        self.bytes_sent += other.bytes_sent;
        self.bytes_answered += other.bytes_answered;
        if let Some(fallback) = &other.fallback {
            self.fallback_mut().merge(fallback);
        }
        if self.members.len() < other.members.len() {
            self.members.resize(other.members.len(), MemberTally::default());
        }
        self.members.iter_mut().zip(&other.members).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.scheduled = 0;
        self.requests = 0;
        self.asked_again = 0;
        self.ends = Ends::default();
        self.rcodes.clear();
        self.types.fill(TypeCount::default());
        self.response.clear();
        self.service.clear();
        self.lateness.clear();
        self.bytes_sent = 0;
        self.bytes_answered = 0;
        if let Some(fallback) = &mut self.fallback {
            fallback.clear();
        }
        self.members.iter_mut().for_each(MemberTally::clear);
    }
}

/// What passed the sockets in one wall interval.
#[derive(Clone, Debug, Default, PartialEq)]
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
    pub beside: Beside,
    /// Packets that the kernel dropped at our sockets because we did not read fast enough.
    pub socket_drops: u64,
    /// Most queries under way at once, added over workers.
    pub in_flight_max: u64,
    /// CPU time of the workers, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Time that the workers were ready to run and had no CPU, in nanoseconds.
    pub cpu_wait_ns: u64,
    /// What became of connections; `None` where the transport has none.
    pub connections: Option<Box<Connections>>,
}

impl Arrivals {
    /// The books of connections, made when they are first needed.
    #[inline]
    pub fn connections_mut(&mut self) -> &mut Connections {
        self.connections.get_or_insert_default()
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Arrivals) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.late += other.late;
        self.timed_out += other.timed_out;
        self.refused += other.refused;
        self.not_sent += other.not_sent;
        self.latency.merge(&other.latency);
        self.beside.merge(&other.beside);
        self.socket_drops += other.socket_drops;
        self.in_flight_max += other.in_flight_max;
        self.cpu_ns += other.cpu_ns;
        self.cpu_wait_ns += other.cpu_wait_ns;
        if let Some(connections) = &other.connections {
            self.connections_mut().merge(connections);
        }
    }

    /// Adds a later interval: as [`merge`](Self::merge), but peaks are no sums over time.
    pub fn merge_in_time(&mut self, later: &Arrivals) {
        let peak = self.in_flight_max.max(later.in_flight_max);
        let open = |arrivals: &Arrivals| arrivals.connections.as_ref().map_or(0, |c| c.open_max);
        let open_peak = open(self).max(open(later));
        self.merge(later);
        self.in_flight_max = peak;
        if let Some(connections) = &mut self.connections {
            connections.open_max = open_peak;
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        let mut latency = std::mem::take(&mut self.latency);
        latency.clear();
        let mut connections = self.connections.take();
        if let Some(connections) = &mut connections {
            connections.clear();
        }
        *self = Arrivals { latency, connections, ..Arrivals::default() };
    }
}

/// Answers by extended RCODE (0 to 4095).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rcodes {
    /// The codes that servers use, 0 to 31, counted in place.
    common: [u64; 32],
    /// Any other, in order of code.
    rare: Vec<(u16, u64)>,
}

impl Rcodes {
    /// Counts `count` answers with `rcode`.
    #[inline]
    pub fn add(&mut self, rcode: u16, count: u64) {
        match self.common.get_mut(usize::from(rcode)) {
            Some(slot) => *slot += count,
            None => self.add_rare(rcode, count),
        }
    }

    /// The codes that occurred, lowest first, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let common = self.common.iter().enumerate().map(|(code, count)| (code as u16, *count));
        common.filter(|(_, count)| *count > 0).chain(self.rare.iter().copied())
    }

    /// Answers with `rcode`.
    pub fn of(&self, rcode: u16) -> u64 {
        self.iter().find(|(code, _)| *code == rcode).map_or(0, |(_, count)| count)
    }

    /// All answers counted.
    pub fn total(&self) -> u64 {
        self.iter().map(|(_, count)| count).sum()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Rcodes) {
        other.iter().for_each(|(code, count)| self.add(code, count));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.common = [0; 32];
        self.rare.clear();
    }

    /// A server that answers with unassigned codes is rare enough for a sorted list.
    #[cold]
    fn add_rare(&mut self, rcode: u16, count: u64) {
        match self.rare.binary_search_by_key(&rcode, |(code, _)| *code) {
            Ok(found) => self.rare[found].1 += count,
            Err(place) => self.rare.insert(place, (rcode, count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rcodes_are_counted_up_to_the_last_extended_one() {
        let mut rcodes = Rcodes::default();
        for code in [0, 3, 16, 23, 31, 32, 4095, 4095, 33] {
            rcodes.add(code, 1);
        }
        let listed: Vec<_> = rcodes.iter().collect();
        assert_eq!(listed, [(0, 1), (3, 1), (16, 1), (23, 1), (31, 1), (32, 1), (33, 1), (4095, 2)]);
        assert_eq!((rcodes.total(), rcodes.of(4095), rcodes.of(5)), (9, 2, 0));
    }

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

//! What the responder truly did, to hold a generator's counters against.
//!
//! Each message that came ends as exactly one of [`Counts::ended`]; a message still held is the
//! difference to [`Counts::received`]. The hold time is the time from the instant at which the
//! process took the query from the kernel to the instant at which it began to hand the answer
//! back (over TCP: to the write that took its last byte), both on the monotonic clock. What a client
//! measures is that, and the way there and back.

use dnsdyno_measure::{Histogram, Rcodes};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::NXDOMAIN;
use crate::faults::Fault;

/// All that one responder did, up to some instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Book {
    /// Over UDP.
    pub udp: Side,
    /// Over TCP; a query's end is that its whole answer was taken by the kernel.
    pub tcp: Side,
    /// Packets that the kernel dropped at the UDP sockets because they were not read in time: a
    /// generator sees them as timeouts. 32 bits in the kernel; counted since the start.
    pub kernel_drops: u64,
    /// What happened to TCP connections.
    pub connections: Connections,
    /// What the program in the kernel did, where there is one. What it answered is in `udp` too,
    /// without a hold time: nobody has measured it.
    pub in_kernel: Option<InKernel>,
    /// Why a thread gave up, if one did.
    pub failures: Vec<String>,
}

/// Queries that met the program in the kernel, by what became of them. Each is in one of
/// `found`, `nodata`, `nxdomain` (answered) and the three of `passed_`; what was passed up is
/// received and booked by the sockets like any other query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InKernel {
    /// Answered NOERROR, with answer records or with TC=1.
    pub found: u64,
    /// Answered NOERROR without an answer record.
    pub nodata: u64,
    /// Answered NXDOMAIN.
    pub nxdomain: u64,
    /// Beside: answered with TC=1.
    pub truncated: u64,
    /// Passed up: more than one plain question, and perhaps EDNS.
    pub passed_form: u64,
    /// Passed up: a name or type that is not in the map, such as one outside the zone.
    pub passed_name: u64,
    /// Passed up: the answer is too long for the map, or for the room behind the packet.
    pub passed_size: u64,
}

impl InKernel {
    /// Queries that it answered.
    pub fn answered(&self) -> u64 {
        self.found + self.nodata + self.nxdomain
    }

    /// Queries that it passed up.
    pub fn passed(&self) -> u64 {
        self.passed_form + self.passed_name + self.passed_size
    }

    fn merge(&mut self, other: &InKernel) {
        self.found += other.found;
        self.nodata += other.nodata;
        self.nxdomain += other.nxdomain;
        self.truncated += other.truncated;
        self.passed_form += other.passed_form;
        self.passed_name += other.passed_name;
        self.passed_size += other.passed_size;
    }
}

/// What was done over one transport.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// How many of what.
    pub counts: Counts,
    /// Extended RCODEs of the proper answers.
    pub rcodes: Rcodes,
    /// Hold times of the proper answers (the first copy, where there were two).
    pub hold: Histogram,
}

/// Messages, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Messages that came, whatever they were.
    pub received: u64,
    /// End: the proper answer was sent (once or twice).
    pub answered: u64,
    /// End: not answered, on command.
    pub dropped: u64,
    /// End: answered with a wrong ID, on command.
    pub wrong_ids: u64,
    /// End: answered with a wrong question, on command.
    pub wrong_questions: u64,
    /// End: answered with garbage, on command.
    pub garbage: u64,
    /// End: the connection was reset on this query, on command.
    pub resets: u64,
    /// End: shorter than a DNS header.
    pub ignored_short: u64,
    /// End: an answer itself (QR=1).
    pub ignored_responses: u64,
    /// End: the kernel would not take the answer.
    pub send_errors: u64,
    /// End: the connection was gone before its answer (closed by the client, or reset on command
    /// by another query).
    pub lost_with_connection: u64,
    /// End: held too many bytes of answers to hold this one too.
    pub over_bound: u64,
    /// End: still held when the responder stopped.
    pub held_at_stop: u64,
    /// Beside: answers sent a second time, on command.
    pub duplicated: u64,
    /// Beside: queries held by the stall.
    pub stalled: u64,
    /// Beside: proper answers with TC=1.
    pub truncated: u64,
    /// Beside: queries that were answered FORMERR.
    pub malformed: u64,
}

/// What happened to TCP connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// Taken from the kernel.
    pub accepted: u64,
    /// Of these, closed at once because too many were open.
    pub turned_away: u64,
    /// Of these, closed by us after they had been idle.
    pub closed_idle: u64,
    /// Calls of `accept` that failed (most often for want of file descriptors).
    pub accept_errors: u64,
}

/// Whether a histogram is written with all its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buckets {
    /// Only count, average, percentiles and extremes.
    Without,
    /// `[from_ns, to_ns, count]` of each bucket too.
    With,
}

/// What is known of an answer that is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) received_ns: u64,
    pub(crate) fault: Option<Fault>,
    pub(crate) rcode: u16,
    pub(crate) truncated: bool,
}

impl Book {
    /// UDP and TCP together.
    pub fn total(&self) -> Side {
        let mut total = self.udp.clone();
        total.merge(&self.tcp);
        total
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Book) {
        self.udp.merge(&other.udp);
        self.tcp.merge(&other.tcp);
        self.kernel_drops += other.kernel_drops;
        self.connections.accepted += other.connections.accepted;
        self.connections.turned_away += other.connections.turned_away;
        self.connections.closed_idle += other.connections.closed_idle;
        self.connections.accept_errors += other.connections.accept_errors;
        if let Some(other) = &other.in_kernel {
            self.in_kernel.get_or_insert_default().merge(other);
        }
        self.failures.extend_from_slice(&other.failures);
    }

    /// Books what the program in the kernel did.
    pub(crate) fn add_in_kernel(&mut self, did: InKernel) {
        self.in_kernel.get_or_insert_default().merge(&did);
        let counts = &mut self.udp.counts;
        counts.received += did.answered();
        counts.answered += did.answered();
        counts.truncated += did.truncated;
        for (rcode, count) in [(0, did.found + did.nodata), (u16::from(NXDOMAIN), did.nxdomain)] {
            if count > 0 {
                self.udp.rcodes.add(rcode, count);
            }
        }
    }

    /// The book as JSON: `udp` and `tcp` with their counters, `rcodes` by name and `hold`
    /// (`p50_ns`, ...; percentiles are `null` where nothing was answered), `kernel_drops`,
    /// `connections`, `failures`, and `in_kernel` where a program in the kernel answers.
    pub fn to_json(&self, buckets: Buckets) -> Value {
        let mut book = json!({
            "udp": self.udp.to_json(buckets),
            "tcp": self.tcp.to_json(buckets),
            "kernel_drops": self.kernel_drops,
            "connections": self.connections,
            "failures": self.failures,
        });
        if let Some(in_kernel) = &self.in_kernel {
            book["in_kernel"] = json!(in_kernel);
        }
        book
    }
}

impl Side {
    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Side) {
        self.counts.merge(&other.counts);
        self.rcodes.merge(&other.rcodes);
        self.hold.merge(&other.hold);
    }

    /// The hold time that `quantile` (0 to 1) of the proper answers kept to, in nanoseconds;
    /// `None` where there was none.
    pub fn hold_ns(&self, quantile: f64) -> Option<u64> {
        let rank = (quantile.clamp(0.0, 1.0) * self.hold.count() as f64).ceil() as u64;
        self.hold.at_rank(rank.max(1))
    }

    fn to_json(&self, buckets: Buckets) -> Value {
        let rcodes =
            self.rcodes.iter().map(|(code, count)| (dnsdyno_wire::rcode_name(code).into(), count.into()));
        let exact = self.hold.exact();
        let mut hold = json!({
            "count": self.hold.count(),
            "min_ns": exact.map(|exact| exact.min_ns),
            "mean_ns": self.hold.mean_ns(),
            "stddev_ns": exact.map(|exact| exact.stddev_ns),
            "p50_ns": self.hold_ns(0.5),
            "p90_ns": self.hold_ns(0.9),
            "p95_ns": self.hold_ns(0.95),
            "p99_ns": self.hold_ns(0.99),
            "p99_9_ns": self.hold_ns(0.999),
            "max_ns": exact.map(|exact| exact.max_ns),
        });
        if buckets == Buckets::With {
            let rows = self.hold.buckets().map(|bucket| json!([bucket.from_ns, bucket.to_ns, bucket.count]));
            hold["buckets_ns"] = Value::Array(rows.collect());
        }
        json!({
            "counts": self.counts,
            "rcodes": Value::Object(rcodes.collect()),
            "hold": hold,
        })
    }

    /// Books an answer that began to leave at `sent_ns`.
    pub(crate) fn book_sent(&mut self, ticket: &Ticket, sent_ns: u64) {
        match ticket.fault {
            Some(Fault::WrongId) => self.counts.wrong_ids += 1,
            Some(Fault::WrongQuestion) => self.counts.wrong_questions += 1,
            Some(Fault::Garbage) => self.counts.garbage += 1,
            Some(Fault::Reset) => self.counts.resets += 1,
            // A loss is never sent; it was booked when it was decided.
            None | Some(Fault::Duplicate | Fault::Loss) => {
                self.counts.answered += 1;
                self.counts.truncated += u64::from(ticket.truncated);
                self.rcodes.add(ticket.rcode, 1);
                self.hold.record(sent_ns.saturating_sub(ticket.received_ns));
            }
        }
    }
}

impl Counts {
    /// Messages that have come to an end. `received` less this are held.
    pub fn ended(&self) -> u64 {
        self.answered
            + self.dropped
            + self.wrong_ids
            + self.wrong_questions
            + self.garbage
            + self.resets
            + self.ignored_short
            + self.ignored_responses
            + self.send_errors
            + self.lost_with_connection
            + self.over_bound
            + self.held_at_stop
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Counts) {
        self.received += other.received;
        self.answered += other.answered;
        self.dropped += other.dropped;
        self.wrong_ids += other.wrong_ids;
        self.wrong_questions += other.wrong_questions;
        self.garbage += other.garbage;
        self.resets += other.resets;
        self.ignored_short += other.ignored_short;
        self.ignored_responses += other.ignored_responses;
        self.send_errors += other.send_errors;
        self.lost_with_connection += other.lost_with_connection;
        self.over_bound += other.over_bound;
        self.held_at_stop += other.held_at_stop;
        self.duplicated += other.duplicated;
        self.stalled += other.stalled;
        self.truncated += other.truncated;
        self.malformed += other.malformed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(fault: Option<Fault>) -> Ticket {
        Ticket { received_ns: 1_000, fault, rcode: 0, truncated: false }
    }

    #[test]
    fn only_proper_answers_have_a_hold_time() {
        let mut side = Side::default();
        for fault in [None, Some(Fault::Duplicate), Some(Fault::WrongId), Some(Fault::Garbage)] {
            side.book_sent(&ticket(fault), 5_001_000);
        }
        assert_eq!((side.hold.count(), side.counts.answered, side.counts.ended()), (2, 2, 4));
        assert_eq!(side.hold_ns(0.99), Some(5_000_000));
        assert_eq!(Side::default().hold_ns(0.5), None);
    }

    #[test]
    fn merging_adds_every_field() {
        // Each field its own value: a field left out, or mixed up, shows.
        let names = serde_json::to_value(Counts::default()).unwrap();
        let mut sum = Counts::default();
        let one = Counts {
            received: 1,
            answered: 2,
            dropped: 3,
            wrong_ids: 4,
            wrong_questions: 5,
            garbage: 6,
            resets: 7,
            ignored_short: 8,
            ignored_responses: 9,
            send_errors: 10,
            lost_with_connection: 11,
            over_bound: 12,
            held_at_stop: 13,
            duplicated: 14,
            stalled: 15,
            truncated: 16,
            malformed: 17,
        };
        sum.merge(&one);
        assert_eq!(sum, one);
        sum.merge(&one);
        let doubled = serde_json::to_value(sum).unwrap();
        let single = serde_json::to_value(one).unwrap();
        for name in names.as_object().unwrap().keys() {
            assert_eq!(doubled[name].as_u64(), single[name].as_u64().map(|n| 2 * n), "{name}");
        }
    }

    #[test]
    fn what_the_kernel_answered_is_booked_as_answered_and_what_it_passed_up_is_not() {
        let did = InKernel {
            found: 1,
            nodata: 2,
            nxdomain: 4,
            truncated: 1,
            passed_form: 8,
            passed_name: 16,
            passed_size: 32,
        };
        let mut book = Book::default();
        assert!(book.to_json(Buckets::Without).get("in_kernel").is_none());
        book.add_in_kernel(did);
        let counts = book.udp.counts;
        assert_eq!((counts.received, counts.answered, counts.truncated, counts.ended()), (7, 7, 1, 7));
        assert_eq!(book.udp.rcodes.iter().collect::<Vec<_>>(), [(0, 3), (3, 4)]);
        assert_eq!((did.answered(), did.passed()), (7, 56));
        let mut twice = book.clone();
        twice.merge(&book);
        let doubled = twice.to_json(Buckets::Without);
        for (name, count) in serde_json::to_value(did).unwrap().as_object().unwrap() {
            assert_eq!(doubled["in_kernel"][name].as_u64(), count.as_u64().map(|n| 2 * n), "{name}");
        }
    }

    #[test]
    fn json_tells_counts_rcodes_percentiles_and_buckets_where_asked() {
        let mut book = Book::default();
        book.udp.book_sent(&ticket(None), 2_001_000);
        let json = book.to_json(Buckets::With);
        assert_eq!(json["udp"]["counts"]["answered"], 1);
        assert_eq!(json["udp"]["rcodes"]["NOERROR"], 1);
        assert_eq!(json["udp"]["hold"]["p99_ns"], 2_000_000);
        assert_eq!(json["udp"]["hold"]["buckets_ns"][0][2], 1);
        assert!(json["tcp"]["hold"]["p50_ns"].is_null());
        assert!(book.to_json(Buckets::Without)["udp"]["hold"].get("buckets_ns").is_none());
    }
}

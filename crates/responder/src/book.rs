//! What the responder did, to be compared with a generator's counters.
//!
//! Each received message ends as exactly one of [`Counts::ended`]; messages still held are the difference
//! to [`Counts::received`]. The hold time runs from the instant at which the process read the query from
//! the kernel to the instant at which it began to send the response (over TCP: to the write that accepted
//! its last byte), both on the monotonic clock. A client measures that, and the round trip.

mod counts;
mod times;

use std::collections::BTreeMap;

use dnsdyno_measure::{Counter, Rcodes};
use serde::Serialize;
use serde_json::{Value, json};

use crate::faults::Fault;
use crate::kind::Transport;
use crate::message::NXDOMAIN;

pub use counts::{Connections, Counts};
pub use times::{Buckets, Times};

/// All that one responder did, up to some instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Book {
    /// Over UDP.
    pub udp: Side,
    /// Over TCP; a query ends when the kernel has accepted its whole response.
    pub tcp: Side,
    /// Over TLS; the same.
    pub dot: Side,
    /// Over HTTP/2; the same.
    pub doh: Side,
    /// Over QUIC; a query ends when its whole response was put into packets.
    pub doq: Side,
    /// Over HTTP/3; the same.
    pub doh3: Side,
    /// Packets that the kernel dropped at the UDP sockets because they were not read in time: a
    /// generator sees them as timeouts. 32 bits in the kernel; counted since the start.
    pub kernel_drops: u64,
    /// What the program in the kernel did, where there is one. Its responses are in `udp` too,
    /// without a hold time, which is not measured there.
    pub in_kernel: Option<InKernel>,
    /// Why a thread ended early, if one did.
    pub failures: Vec<String>,
}

/// Queries received by the program in the kernel, by what it did with them. Each is in one of `found`,
/// `nodata`, `nxdomain` (answered) and the three of `passed_`; those passed up are received and booked by
/// the sockets like any other query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InKernel {
    /// Answered NOERROR, with answer records or with TC=1.
    pub found: u64,
    /// Answered NOERROR without an answer record.
    pub nodata: u64,
    /// Answered NXDOMAIN.
    pub nxdomain: u64,
    /// Of these: with TC=1.
    pub truncated: u64,
    /// Passed up: more than one plain question, and perhaps EDNS.
    pub passed_form: u64,
    /// Passed up: a name or type that is not in the map, such as one outside the zone.
    pub passed_name: u64,
    /// Passed up: the response is too long for the map, or for the space around the packet.
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
    /// Extended RCODEs of the regular responses.
    pub rcodes: Rcodes,
    /// Hold times of the regular responses (the first copy, where there were two).
    pub hold: Times,
    /// The connections; none over UDP.
    pub connections: Connections,
    /// From the instant at which a connection was accepted to its first complete query.
    pub first_query: Times,
    /// From that instant to the end of its handshake.
    pub handshake: Times,
    /// Over HTTP: the responses by their status, 200 included.
    pub statuses: BTreeMap<u16, u64>,
}

/// What is known of a response that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseInfo {
    pub(crate) received_ns: u64,
    pub(crate) fault: Option<Fault>,
    pub(crate) rcode: u16,
    pub(crate) truncated: bool,
}

impl Book {
    /// All transports together.
    pub fn total(&self) -> Side {
        let mut total = Side::default();
        Transport::ALL.into_iter().for_each(|transport| total.merge(self.side(transport)));
        total
    }

    /// What was done over `transport`.
    pub fn side(&self, transport: Transport) -> &Side {
        match transport {
            Transport::Udp => &self.udp,
            Transport::Tcp => &self.tcp,
            Transport::Dot => &self.dot,
            Transport::Doh => &self.doh,
            Transport::Doq => &self.doq,
            Transport::Doh3 => &self.doh3,
        }
    }

    pub(crate) fn side_mut(&mut self, transport: Transport) -> &mut Side {
        match transport {
            Transport::Udp => &mut self.udp,
            Transport::Tcp => &mut self.tcp,
            Transport::Dot => &mut self.dot,
            Transport::Doh => &mut self.doh,
            Transport::Doq => &mut self.doq,
            Transport::Doh3 => &mut self.doh3,
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Book) {
        for transport in Transport::ALL {
            self.side_mut(transport).merge(other.side(transport));
        }
        self.kernel_drops += other.kernel_drops;
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

    /// The book as JSON: `udp`, `tcp`, `dot`, `doh`, `doq` and `doh3`, each with its counters, `rcodes` by
    /// name and `hold` (`p50_ns`, ...; percentiles are `null` where nothing was answered), those of
    /// connections with `connections`, `first_query` and `handshake` too, and DoH with `statuses`;
    /// then `kernel_drops`, `failures`, and `in_kernel` where a program in the kernel answers.
    pub fn to_json(&self, buckets: Buckets) -> Value {
        let mut book = json!({ "kernel_drops": self.kernel_drops, "failures": self.failures });
        for transport in Transport::ALL {
            book[transport.key()] = self.side(transport).to_json(transport, buckets);
        }
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
        self.connections.merge(&other.connections);
        self.first_query.merge(&other.first_query);
        self.handshake.merge(&other.handshake);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
    }

    /// The hold time that `quantile` (0 to 1) of the regular responses did not exceed, in
    /// nanoseconds; `None` where there was none.
    pub fn hold_ns(&self, quantile: f64) -> Option<u64> {
        self.hold.quantile_ns(quantile)
    }

    fn to_json(&self, transport: Transport, buckets: Buckets) -> Value {
        let rcodes =
            self.rcodes.iter().map(|(code, count)| (dnsdyno_wire::rcode_name(code).into(), count.into()));
        let mut side = json!({
            "counts": self.counts,
            "rcodes": Value::Object(rcodes.collect()),
            "hold": self.hold.to_json(buckets),
        });
        if transport != Transport::Udp {
            side["connections"] = json!(self.connections);
            side["first_query"] = self.first_query.to_json(buckets);
        }
        if transport.has_handshake() {
            side["handshake"] = self.handshake.to_json(buckets);
        }
        if transport == Transport::Doh {
            let statuses = self.statuses.iter().map(|(status, count)| (status.to_string(), (*count).into()));
            side["statuses"] = Value::Object(statuses.collect());
        }
        side
    }

    /// Books a response that is being sent from `sent_ns` on.
    pub(crate) fn book_sent(&mut self, info: &ResponseInfo, sent_ns: u64) {
        match info.fault {
            Some(Fault::WrongId) => self.counts.wrong_ids += 1,
            Some(Fault::WrongQuestion) => self.counts.wrong_questions += 1,
            Some(Fault::WrongAnswer) => self.counts.wrong_answers += 1,
            Some(Fault::Garbage) => self.counts.garbage += 1,
            Some(Fault::Reset) => self.counts.resets += 1,
            Some(Fault::Cut) => self.counts.cuts += 1,
            Some(Fault::WrongLength) => self.counts.wrong_lengths += 1,
            Some(Fault::ServerError) => self.counts.server_errors += 1,
            Some(Fault::StreamReset) => self.counts.stream_resets += 1,
            // A loss is never sent; it is booked when it is decided. Reordering and GOAWAY are
            // booked where they are done.
            None | Some(Fault::Duplicate | Fault::Loss | Fault::Dribble | Fault::Reorder | Fault::GoAway) => {
                self.counts.dribbled += u64::from(info.fault == Some(Fault::Dribble));
                self.counts.answered += 1;
                self.counts.truncated += u64::from(info.truncated);
                self.rcodes.add(info.rcode, 1);
                self.hold.record(sent_ns.saturating_sub(info.received_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(fault: Option<Fault>) -> ResponseInfo {
        ResponseInfo { received_ns: 1_000, fault, rcode: 0, truncated: false }
    }

    #[test]
    fn only_regular_responses_have_a_hold_time() {
        let mut side = Side::default();
        for fault in [None, Some(Fault::Duplicate), Some(Fault::WrongId), Some(Fault::Garbage)] {
            side.book_sent(&info(fault), 5_001_000);
        }
        assert_eq!((side.hold.count(), side.counts.answered, side.counts.ended()), (2, 2, 4));
        assert_eq!(side.hold_ns(0.99), Some(5_000_000));
        assert_eq!(Side::default().hold_ns(0.5), None);
    }

    #[test]
    fn queries_answered_in_the_kernel_are_booked_as_answered_and_those_passed_up_are_not() {
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
    fn json_has_counts_rcodes_percentiles_and_buckets_on_request() {
        let mut book = Book::default();
        book.udp.book_sent(&info(None), 2_001_000);
        let json = book.to_json(Buckets::With);
        assert_eq!(json["udp"]["counts"]["answered"], 1);
        assert_eq!(json["udp"]["rcodes"]["NOERROR"], 1);
        assert_eq!(json["udp"]["hold"]["p99_ns"], 2_000_000);
        assert_eq!(json["udp"]["hold"]["buckets_ns"][0][2], 1);
        assert!(json["tcp"]["hold"]["p50_ns"].is_null());
        assert!(json["udp"].get("connections").is_none());
        assert_eq!(json["doq"]["connections"]["accepted"], 0);
        assert!(book.to_json(Buckets::Without)["udp"]["hold"].get("buckets_ns").is_none());
    }
}

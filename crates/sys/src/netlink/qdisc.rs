//! Queueing disciplines of network interfaces: what waits before it is sent, and what was dropped there.

use std::io;

use netlink_sys::protocols::NETLINK_ROUTE;

use super::{Extent, Netlink, attribute, text, u32_at, u64_at};

/// The queueing disciplines of the network namespace in which this was opened.
#[derive(Debug)]
pub struct QdiscTable(Netlink);

/// The queueing discipline of an interface, with what those below it count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// The index of the interface.
    pub interface: u32,
    /// `fq_codel`, `tbf`, …
    pub kind: String,
    /// It is that of packets that arrive.
    pub is_ingress: bool,
    /// Octets and packets that were sent.
    pub bytes: u64,
    /// See `bytes`.
    pub packets: u64,
    /// Packets that were dropped.
    pub drops: u64,
    /// How often a packet had to wait because of a limit.
    pub overlimits: u64,
    /// How often a packet was put back because the driver did not take it.
    pub requeues: u64,
    /// Octets that wait now.
    pub backlog_bytes: u64,
    /// The most that it lets pass, where it shapes (TBF).
    pub rate_bytes_per_second: Option<u64>,
}

impl QdiscTable {
    /// Opens it; needs no privilege.
    pub fn open() -> io::Result<QdiscTable> {
        Netlink::open(NETLINK_ROUTE).map(QdiscTable)
    }

    /// The outermost queueing discipline of each interface and direction that has one.
    pub fn read(&mut self) -> io::Result<Vec<Qdisc>> {
        let mut found = Vec::new();
        self.0.ask(RTM_GETQDISC, Extent::All, &[0; MESSAGE], |message| found.extend(qdisc_in(message)))?;
        Ok(found)
    }

    /// The highest rate that the outermost classes of an interface let pass (HTB).
    pub fn class_rate_bytes_per_second(&mut self, interface: u32) -> io::Result<Option<u64>> {
        let mut request = [0; MESSAGE];
        request[INTERFACE..INTERFACE + 4].copy_from_slice(&interface.to_ne_bytes());
        let mut highest = None;
        self.0.ask(RTM_GETTCLASS, Extent::All, &request, |message| {
            highest = highest.max(class_rate(message))
        })?;
        Ok(highest)
    }
}

/// `struct tcmsg` with its attributes; that of a queueing discipline below another one is left out.
fn qdisc_in(message: &[u8]) -> Option<Qdisc> {
    let parent = u32_at(message, PARENT)?;
    if parent != ROOT && parent != INGRESS {
        return None;
    }
    let attributes = message.get(MESSAGE..)?;
    let kind = text(attribute(attributes, TCA_KIND));
    let statistics = attribute(attributes, TCA_STATS2);
    let basic = attribute(statistics, TCA_STATS_BASIC);
    let queue = attribute(statistics, TCA_STATS_QUEUE);
    let of_queue = |field: usize| u32_at(queue, field * 4).map_or(0, u64::from);
    let packets = u64_at(attribute(statistics, TCA_STATS_PACKETS_64), 0);
    let options = attribute(attributes, TCA_OPTIONS);
    let rate = rate(options, TCA_TBF_RATE_64, TCA_TBF_PARAMETERS, 0).filter(|_| kind == "tbf");
    Some(Qdisc {
        interface: u32_at(message, INTERFACE)?,
        is_ingress: parent == INGRESS,
        bytes: u64_at(basic, 0).unwrap_or(0),
        packets: packets.or_else(|| u32_at(basic, 8).map(u64::from)).unwrap_or(0),
        backlog_bytes: of_queue(1),
        drops: of_queue(2),
        requeues: of_queue(3),
        overlimits: of_queue(4),
        rate_bytes_per_second: rate,
        kind,
    })
}

/// The ceiling of an outermost class of HTB.
fn class_rate(message: &[u8]) -> Option<u64> {
    let attributes = message.get(MESSAGE..)?;
    let is_htb = text(attribute(attributes, TCA_KIND)) == "htb" && u32_at(message, PARENT)? == ROOT;
    let options = attribute(attributes, TCA_OPTIONS);
    rate(options, TCA_HTB_CEILING_64, TCA_HTB_PARAMETERS, RATE).filter(|_| is_htb)
}

/// A rate: an attribute of its own where 32 bits are not enough, else in a `struct tc_ratespec` of the parameters.
fn rate(options: &[u8], long: u16, parameters: u16, before: usize) -> Option<u64> {
    let rate = u64_at(attribute(options, long), 0);
    rate.or_else(|| u32_at(attribute(options, parameters), before + RATE - 4).map(u64::from))
}

const RTM_GETQDISC: u16 = 38;
const RTM_GETTCLASS: u16 = 42;

/// Octets of `struct tcmsg`, with the places of its fields.
const MESSAGE: usize = 20;
const INTERFACE: usize = 4;
const PARENT: usize = 12;

/// Parents of the outermost ones (`linux/pkt_sched.h`).
const ROOT: u32 = 0xFFFF_FFFF;
const INGRESS: u32 = 0xFFFF_FFF1;

/// Octets of `struct tc_ratespec`, which ends with the rate.
const RATE: usize = 12;

/// Attributes (`linux/rtnetlink.h`, `linux/gen_stats.h`, `linux/pkt_sched.h`).
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PACKETS_64: u16 = 8;
const TCA_TBF_PARAMETERS: u16 = 1;
const TCA_TBF_RATE_64: u16 = 4;
const TCA_HTB_PARAMETERS: u16 = 1;
const TCA_HTB_CEILING_64: u16 = 7;

#[cfg(test)]
mod tests {
    use super::super::encoded;
    use super::*;

    fn message(parent: u32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE];
        bytes[INTERFACE] = 7;
        bytes[PARENT..PARENT + 4].copy_from_slice(&parent.to_ne_bytes());
        [bytes, attributes.concat()].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn the_counters_and_the_rate_of_a_token_bucket_are_read() {
        let statistics = [
            encoded(TCA_STATS_BASIC, &[1_000_u64.to_ne_bytes().to_vec(), words(&[10])].concat()),
            encoded(TCA_STATS_QUEUE, &words(&[1, 2, 3, 4, 5])),
        ];
        let options = encoded(TCA_TBF_PARAMETERS, &words(&[0, 0, 125_000, 0, 0, 0]));
        let bytes = message(
            ROOT,
            &[
                encoded(TCA_KIND, b"tbf\0"),
                encoded(TCA_OPTIONS, &options),
                encoded(TCA_STATS2, &statistics.concat()),
            ],
        );
        let expected = Qdisc {
            interface: 7,
            kind: "tbf".into(),
            bytes: 1_000,
            packets: 10,
            backlog_bytes: 2,
            drops: 3,
            requeues: 4,
            overlimits: 5,
            rate_bytes_per_second: Some(125_000),
            ..Qdisc::default()
        };
        assert_eq!(qdisc_in(&bytes), Some(expected));
        assert_eq!(qdisc_in(&message(0x10001, &[])), None);
        assert!((0..MESSAGE).all(|length| qdisc_in(&bytes[..length]).is_none()));
    }

    #[test]
    fn the_ceiling_of_an_outermost_class_is_its_rate() {
        let class = |parent, options: Vec<u8>| {
            class_rate(&message(parent, &[encoded(TCA_KIND, b"htb\0"), encoded(TCA_OPTIONS, &options)]))
        };
        let parameters = encoded(TCA_HTB_PARAMETERS, &words(&[0, 0, 1, 0, 0, 250_000]));
        let long = encoded(TCA_HTB_CEILING_64, &5_000_000_000_u64.to_ne_bytes());
        assert_eq!(class(ROOT, parameters.clone()), Some(250_000));
        assert_eq!(class(ROOT, [parameters.clone(), long].concat()), Some(5_000_000_000));
        assert_eq!(class(0x10001, parameters), None);
    }
}

//! pcap and pcapng: each message as an Ethernet frame with IP and UDP or TCP around it.
//!
//! Addresses, ports and instants are those of the message; everything else of the frame is made up. A TCP connection
//! begins with a SYN in each direction, so that readers know where the first messages begin.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use dnsdyno_measure::WrittenCounts;
use etherparse::{IpHeaders, PacketBuilder, PacketBuilderStep};

use crate::message::{DnsMessage, Protocol};

/// Encodes messages as packets.
pub(super) struct Packets {
    wrapping: Wrapping,
    /// The next sequence number of each direction of a connection.
    streams: HashMap<(SocketAddr, SocketAddr), u32>,
    started: u32,
    frame: Vec<u8>,
    prefixed: Vec<u8>,
}

/// What is around a frame.
#[derive(Clone, Copy)]
pub(super) enum Wrapping {
    Pcap,
    Pcapng,
}

/// Writes the header of a pcap file: nanoseconds, Ethernet.
pub(super) fn begin_pcap(out: &mut Vec<u8>) {
    out.extend(0xa1b2_3c4du32.to_le_bytes());
    for half in [2u16, 4] {
        out.extend(half.to_le_bytes());
    }
    for word in [0, 0, SNAP_LEN, ETHERNET.into()] {
        out.extend(word.to_le_bytes());
    }
}

/// Writes a section header and an interface of pcapng: Ethernet, with instants in nanoseconds.
pub(super) fn begin_pcapng(out: &mut Vec<u8>) {
    let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28u32];
    section.iter().for_each(|word| out.extend(word.to_le_bytes()));
    // Type, length, link type, snapshot length; if_tsresol (9) of one octet: 10^-9; the end of the options; length.
    let interface = [1, 32, u32::from(ETHERNET), SNAP_LEN, 9 | 1 << 16, 9, 0, 32u32];
    interface.iter().for_each(|word| out.extend(word.to_le_bytes()));
}

impl Packets {
    pub(super) fn new(wrapping: Wrapping) -> Self {
        Packets { wrapping, streams: HashMap::new(), started: 0, frame: Vec::new(), prefixed: Vec::new() }
    }

    pub(super) fn encode(
        &mut self,
        message: &DnsMessage<'_>,
        out: &mut Vec<u8>,
        counts: &mut WrittenCounts,
    ) -> bool {
        let (mut source, mut destination) = same_family(message.source, message.destination);
        if message.protocol == Protocol::Udp {
            if message.bytes.len() > MAX_DATAGRAM {
                counts.unsuitable_left_out += 1;
                return false;
            }
            let packet = ip(source, destination).udp(source.port(), destination.port());
            self.frame.clear();
            // A vector has room for any frame.
            if packet.write(&mut self.frame, message.bytes).is_err() {
                return false;
            }
            self.wrap(message.at_unix_ns, out);
            return true;
        }
        if message.protocol != Protocol::Tcp {
            // On its own port it would be taken for encrypted.
            counts.transport_lost += 1;
            let server = if message.is_response() { &mut source } else { &mut destination };
            server.set_port(53);
        }
        self.stream(message, source, destination, out)
    }

    fn stream(
        &mut self,
        message: &DnsMessage<'_>,
        source: SocketAddr,
        destination: SocketAddr,
        out: &mut Vec<u8>,
    ) -> bool {
        let Ok(len) = u16::try_from(message.bytes.len()) else { return false };
        if self.streams.len() >= MAX_STREAMS {
            // Each of them begins again.
            self.streams.clear();
        }
        let (there, back) = ((source, destination), (destination, source));
        let is_open = self.streams.contains_key(&there);
        if !is_open && !self.open(there, message.at_unix_ns, out) {
            return false;
        }
        let next = |streams: &HashMap<_, _>, direction| streams.get(&direction).copied().unwrap_or(0);
        let (mut sequence, acknowledged) = (next(&self.streams, there), next(&self.streams, back));
        let mut prefixed = std::mem::take(&mut self.prefixed);
        prefixed.clear();
        prefixed.extend(len.to_be_bytes());
        prefixed.extend_from_slice(message.bytes);
        for payload in prefixed.chunks(MAX_SEGMENT) {
            let packet = ip(source, destination)
                .tcp(source.port(), destination.port(), sequence, WINDOW)
                .psh()
                .ack(acknowledged);
            self.frame.clear();
            if packet.write(&mut self.frame, payload).is_err() {
                return false;
            }
            sequence = sequence.wrapping_add(payload.len() as u32);
            self.wrap(message.at_unix_ns, out);
        }
        self.prefixed = prefixed;
        self.streams.insert(there, sequence);
        true
    }

    /// Opens a connection: a SYN, and the one of the other direction that acknowledges it.
    fn open(&mut self, there: (SocketAddr, SocketAddr), at_unix_ns: u64, out: &mut Vec<u8>) -> bool {
        // Far from all others: a connection that begins again is another one.
        let mut first = || {
            self.started = self.started.wrapping_add(1);
            self.started.wrapping_mul(0x9e37_79b1)
        };
        let (mine, other) = (first(), first());
        let (source, destination) = there;
        let syn = ip(source, destination).tcp(source.port(), destination.port(), mine, WINDOW).syn();
        let answer = ip(destination, source)
            .tcp(destination.port(), source.port(), other, WINDOW)
            .syn()
            .ack(mine.wrapping_add(1));
        for packet in [syn, answer] {
            self.frame.clear();
            if packet.write(&mut self.frame, &[]).is_err() {
                return false;
            }
            self.wrap(at_unix_ns, out);
        }
        self.streams.insert(there, mine.wrapping_add(1));
        self.streams.insert((destination, source), other.wrapping_add(1));
        true
    }

    /// Appends the frame as a packet of its format.
    fn wrap(&self, at_unix_ns: u64, out: &mut Vec<u8>) {
        let len = self.frame.len() as u32;
        match self.wrapping {
            Wrapping::Pcap => {
                let seconds = u32::try_from(at_unix_ns / 1_000_000_000).unwrap_or(u32::MAX);
                let words = [seconds, (at_unix_ns % 1_000_000_000) as u32, len, len];
                words.iter().for_each(|word| out.extend(word.to_le_bytes()));
                out.extend_from_slice(&self.frame);
            }
            Wrapping::Pcapng => {
                let padding = len.next_multiple_of(4) - len;
                let block_len = 32 + len + padding;
                let instant = [(at_unix_ns >> 32) as u32, at_unix_ns as u32];
                let words = [6, block_len, 0, instant[0], instant[1], len, len];
                words.iter().for_each(|word| out.extend(word.to_le_bytes()));
                out.extend_from_slice(&self.frame);
                out.extend(std::iter::repeat_n(0, padding as usize));
                out.extend(block_len.to_le_bytes());
            }
        }
    }
}

fn ip(source: SocketAddr, destination: SocketAddr) -> PacketBuilderStep<IpHeaders> {
    let ethernet = PacketBuilder::ethernet2(MAC_OF_SOURCE, MAC_OF_DESTINATION);
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ethernet.ipv4(source.octets(), destination.octets(), HOPS)
        }
        (source, destination) => ethernet.ipv6(octets(source), octets(destination), HOPS),
    }
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The two addresses in one family: where one of them is not known, it is the unspecified one of the other's.
fn same_family(mut source: SocketAddr, mut destination: SocketAddr) -> (SocketAddr, SocketAddr) {
    let has_v6 = source.is_ipv6() || destination.is_ipv6();
    for address in [&mut source, &mut destination] {
        if has_v6 && address.ip().is_unspecified() {
            address.set_ip(Ipv6Addr::UNSPECIFIED.into());
        }
    }
    (source, destination)
}

/// Locally administered addresses.
const MAC_OF_SOURCE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const MAC_OF_DESTINATION: [u8; 6] = [2, 0, 0, 0, 0, 2];

const HOPS: u8 = 64;
const WINDOW: u16 = u16::MAX;
const ETHERNET: u16 = 1;
const SNAP_LEN: u32 = 262_144;

/// The longest payload of UDP over IPv4.
const MAX_DATAGRAM: usize = 65_507;

/// A message with its length may be longer than a packet of IPv4 with its headers.
const MAX_SEGMENT: usize = 32_768;

/// Connections whose sequence numbers are kept: some megabytes.
const MAX_STREAMS: usize = 1 << 16;

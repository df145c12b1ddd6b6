//! Ethernet frames: headers that are made once for each channel, and reading of received frames.
//!
//! ```text
//!  0          12         14/18            34/54 (+4)      42/62 (+4)
//!  +----------+----------+----------------+---------------+-----------------+
//!  | MACs     | VLAN tag?| IPv4 or IPv6   | UDP           | DNS message     |
//!  |          | type     | length*, sum*  | length*, sum* |                 |
//!  +----------+----------+----------------+---------------+-----------------+
//!                          * depends on the message
//! ```
//!
//! Checksums are sums of 16-bit words (RFC 1071), so everything but the message and its length is added
//! up in advance, and a packet needs one pass over the message.

use std::net::{IpAddr, SocketAddr};

use dnsdyno_sys::packet::HEADER_ROOM;

/// The Ethernet addresses, and the VLAN tag.
#[derive(Clone, Copy, Debug)]
pub struct Ethernet {
    /// That of our interface.
    pub ours: [u8; 6],
    /// That of the next hop.
    pub next_hop: [u8; 6],
    /// The 802.1Q tag, where there is one.
    pub vlan: Option<u16>,
}

/// The headers of one channel, except what depends on the message.
pub struct Header {
    bytes: [u8; LONGEST],
    length: usize,
    /// Where the IP header starts.
    ip: usize,
    is_ipv6: bool,
    /// Sum of the IPv4 header without its length.
    ip_sum: u64,
    /// Sum of the addresses, the protocol and the ports, without the length.
    udp_sum: u64,
    /// The same without the ports.
    pseudo_sum: u64,
}

impl Header {
    /// The headers of packets from `source` to `server`, two addresses of the same family.
    pub fn new(ethernet: &Ethernet, source: SocketAddr, server: SocketAddr) -> Self {
        let mut bytes = Vec::with_capacity(LONGEST);
        bytes.extend(ethernet.next_hop);
        bytes.extend(ethernet.ours);
        if let Some(vlan) = ethernet.vlan {
            bytes.extend(TYPE_VLAN.to_be_bytes());
            bytes.extend((vlan & 0x0FFF).to_be_bytes());
        }
        let is_ipv6 = server.is_ipv6();
        bytes.extend(if is_ipv6 { TYPE_IPV6 } else { TYPE_IPV4 }.to_be_bytes());
        let ip = bytes.len();
        if is_ipv6 {
            bytes.extend([0x60, 0, 0, 0, 0, 0, PROTOCOL_UDP, HOPS]);
        } else {
            // "Don't fragment", and therefore no ID (RFC 6864).
            bytes.extend([0x45, 0, 0, 0, 0, 0, 0x40, 0, HOPS, PROTOCOL_UDP, 0, 0]);
        }
        let addresses = bytes.len();
        for end in [source, server] {
            match end.ip() {
                IpAddr::V4(ip) => bytes.extend(ip.octets()),
                IpAddr::V6(ip) => bytes.extend(ip.octets()),
            }
        }
        let ip_sum = sum(&bytes[ip..]);
        let pseudo_sum = sum(&bytes[addresses..]) + u64::from(u16::from(PROTOCOL_UDP).to_be());
        bytes.extend(source.port().to_be_bytes());
        bytes.extend(server.port().to_be_bytes());
        let udp_sum = sum(&bytes[addresses..]) + u64::from(u16::from(PROTOCOL_UDP).to_be());
        bytes.extend([0; 4]);
        let length = bytes.len();
        let mut header = Header { bytes: [0; LONGEST], length, ip, is_ipv6, ip_sum, udp_sum, pseudo_sum };
        header.bytes[..bytes.len()].copy_from_slice(&bytes);
        header
    }

    /// Writes the packet with this message into `frame` and gives its length; 0 where it is too
    /// long for the frame.
    #[inline]
    pub fn write(&self, message: &[u8], frame: &mut [u8]) -> usize {
        let length = self.length + message.len();
        if frame.len() < length.max(LONGEST) {
            return 0;
        }
        // The whole array, because its length is a constant; the message then overwrites the part
        // that is not header.
        frame[..LONGEST].copy_from_slice(&self.bytes);
        frame[self.length..length].copy_from_slice(message);
        let udp_length = ((UDP_LEN + message.len()) as u16).to_be();
        if self.is_ipv6 {
            put(frame, self.ip + 4, udp_length);
        } else {
            let total = ((length - self.ip) as u16).to_be();
            put(frame, self.ip + 2, total);
            put(frame, self.ip + 10, !fold(self.ip_sum + u64::from(total)));
        }
        // The length is part of the pseudo header and of the UDP header.
        let checksum = !fold(self.udp_sum + 2 * u64::from(udp_length) + sum(message));
        put(frame, self.length - 4, udp_length);
        // 0 would mean that there is no checksum.
        put(frame, self.length - 2, if checksum == 0 { 0xFFFF } else { checksum });
        length
    }

    /// Writes the headers of a packet with so many bytes of payload and gives their length; the
    /// UDP checksum is the sum of the pseudo header, to which the kernel adds the rest.
    #[inline]
    pub fn write_ahead(&self, payload: usize, frame: &mut [u8; HEADER_ROOM]) -> usize {
        frame[..LONGEST].copy_from_slice(&self.bytes);
        let udp_length = ((UDP_LEN + payload) as u16).to_be();
        if self.is_ipv6 {
            put(frame, self.ip + 4, udp_length);
        } else {
            let total = ((self.length - self.ip + payload) as u16).to_be();
            put(frame, self.ip + 2, total);
            put(frame, self.ip + 10, !fold(self.ip_sum + u64::from(total)));
        }
        put(frame, self.length - 4, udp_length);
        put(frame, self.length - 2, fold(self.pseudo_sum + u64::from(udp_length)));
        self.length
    }

    /// Bytes of the IP packet around a message of this length.
    pub fn ip_length(&self, message: usize) -> usize {
        self.length - self.ip + message
    }
}

/// A received UDP packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Where it was sent from.
    pub source: SocketAddr,
    /// Where it was sent to.
    pub target: SocketAddr,
    /// The DNS message.
    pub payload: &'a [u8],
}

/// Reads a frame; `None` where it is not a complete UDP packet. Checksums are not verified: the network
/// card has done so, or they are not filled in where the sender is on this host.
#[inline]
pub fn read(frame: &[u8]) -> Option<Received<'_>> {
    let mut rest = frame.get(12..)?;
    let mut kind = word(rest, 0)?;
    if kind == TYPE_VLAN {
        rest = rest.get(4..)?;
        kind = word(rest, 0)?;
    }
    let ip = rest.get(2..)?;
    let (source, target, udp): (IpAddr, IpAddr, &[u8]) = match kind {
        TYPE_IPV4 => {
            let head = ip.first_chunk::<20>()?;
            let (header, total) = (usize::from(head[0] & 0xF) * 4, usize::from(word(ip, 2)?));
            let is_fragment = word(ip, 6)? & 0x3FFF != 0;
            if head[0] >> 4 != 4 || header < 20 || head[9] != PROTOCOL_UDP || is_fragment {
                return None;
            }
            let (source, target) = (ip[12..16].first_chunk::<4>()?, ip[16..20].first_chunk::<4>()?);
            ((*source).into(), (*target).into(), ip.get(header..total)?)
        }
        TYPE_IPV6 => {
            let head = ip.first_chunk::<40>()?;
            if head[0] >> 4 != 6 || head[6] != PROTOCOL_UDP {
                return None;
            }
            let (source, target) = (ip[8..24].first_chunk::<16>()?, ip[24..40].first_chunk::<16>()?);
            ((*source).into(), (*target).into(), ip.get(40..40 + usize::from(word(ip, 4)?))?)
        }
        _ => return None,
    };
    Some(Received {
        source: SocketAddr::new(source, word(udp, 0)?),
        target: SocketAddr::new(target, word(udp, 2)?),
        payload: udp.get(UDP_LEN..usize::from(word(udp, 4)?))?,
    })
}

/// Adds 16-bit words in the host's byte order, four at a time; the sum of swapped bytes is the swapped
/// sum, so the order does not matter before the end.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let mut sum = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_ne_bytes(*word);
        sum += (word & 0xFFFF_FFFF) + (word >> 32);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = u64::from_ne_bytes(last);
    sum + (last & 0xFFFF_FFFF) + (last >> 32)
}

/// Reduces a sum to 16 bits, adding the carries.
#[inline]
fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xFFFF_FFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum as u16
}

/// Writes a word that is in network order already.
#[inline]
fn put(frame: &mut [u8], at: usize, word: u16) {
    frame[at..at + 2].copy_from_slice(&word.to_ne_bytes());
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|word| u16::from_be_bytes(*word))
}

const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86DD;
const TYPE_VLAN: u16 = 0x8100;
const PROTOCOL_UDP: u8 = 17;
const UDP_LEN: usize = 8;

/// The hop limit of Linux.
const HOPS: u8 = 64;

/// Ethernet with a VLAN tag, IPv6, UDP.
const LONGEST: usize = 18 + 40 + UDP_LEN;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(ipv6: bool, vlan: Option<u16>) -> (Header, SocketAddr, SocketAddr) {
        let ethernet = Ethernet { ours: [2, 0, 0, 0, 0, 1], next_hop: [2, 0, 0, 0, 0, 2], vlan };
        let (source, server) = if ipv6 {
            ("[fd77::1]:20000".parse().unwrap(), "[fd77::ffff:2]:53".parse().unwrap())
        } else {
            ("10.77.0.1:20000".parse().unwrap(), "10.77.255.2:53".parse().unwrap())
        };
        (Header::new(&ethernet, source, server), source, server)
    }

    /// The checksum as RFC 1071 words it: of everything summed, a correct packet gives 0xFFFF.
    fn plain_sum(words: &[&[u8]]) -> u16 {
        let mut sum = 0u32;
        for bytes in words {
            for pair in bytes.chunks(2) {
                sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
                sum = (sum & 0xFFFF) + (sum >> 16);
            }
        }
        sum as u16
    }

    proptest! {
        #[test]
        fn every_packet_is_read_as_it_was_written_and_its_checksums_hold(
            message in proptest::collection::vec(any::<u8>(), 0..1400),
            ipv6 in any::<bool>(),
            vlan in proptest::option::of(0u16..4096),
        ) {
            let (header, source, server) = header(ipv6, vlan);
            let mut frame = [0xAA; 2048];
            let length = header.write(&message, &mut frame);
            let received = read(&frame[..length]).unwrap();
            prop_assert_eq!(received, Received { source, target: server, payload: &message });
            let ip = if vlan.is_some() { 18 } else { 14 };
            let udp = ip + if ipv6 { 40 } else { 20 };
            prop_assert_eq!(length, udp + 8 + message.len());
            prop_assert_eq!(header.ip_length(message.len()), length - ip);
            let addresses = if ipv6 { &frame[ip + 8..udp] } else { &frame[ip + 12..udp] };
            let udp_length = ((8 + message.len()) as u16).to_be_bytes();
            let pseudo = [addresses, &udp_length, &[0, 17], &frame[udp..length]];
            prop_assert_eq!(plain_sum(&pseudo), 0xFFFF);
            prop_assert_ne!(&frame[udp + 6..udp + 8], &[0, 0]);
            if !ipv6 {
                prop_assert_eq!(plain_sum(&[&frame[ip..udp]]), 0xFFFF);
            }
            if let Some(vlan) = vlan {
                prop_assert_eq!(word(&frame, 14).unwrap(), vlan);
            }
        }

        /// What the kernel does with what is left to it: it adds up everything from the UDP header
        /// on, the partial sum included, and puts the complement in its place.
        #[test]
        fn a_header_for_the_kernel_gives_the_same_packet(
            message in proptest::collection::vec(any::<u8>(), 0..1400),
            ipv6 in any::<bool>(),
            vlan in proptest::option::of(0u16..4096),
        ) {
            let header = header(ipv6, vlan).0;
            let (mut whole, mut ahead) = ([0xAA; 2048], [0xAA; HEADER_ROOM]);
            let length = header.write(&message, &mut whole);
            let headers = header.write_ahead(message.len(), &mut ahead);
            let mut completed = [&ahead[..headers], &message].concat();
            let checksum = !plain_sum(&[&completed[headers - UDP_LEN..]]);
            completed[headers - 2..headers].copy_from_slice(&checksum.to_be_bytes());
            if checksum != 0 {
                prop_assert_eq!(&completed[..], &whole[..length]);
            }
        }

        #[test]
        fn random_and_cut_frames_never_panic(
            noise in proptest::collection::vec(any::<u8>(), 0..200), ipv6 in any::<bool>(), cut in 0usize..100,
        ) {
            let _ = read(&noise);
            let mut frame = [0; 2048];
            let length = header(ipv6, None).0.write(&noise, &mut frame);
            prop_assert_eq!(read(&frame[..length - cut.min(length)]).is_some(), cut == 0);
        }
    }

    #[test]
    fn padding_of_a_short_frame_is_not_part_of_the_message() {
        let mut frame = [0xAA; 2048];
        header(false, None).0.write(b"short", &mut frame);
        assert_eq!(read(&frame[..60]).unwrap().payload, b"short");
    }

    #[test]
    fn a_message_that_is_too_long_for_the_frame_is_not_written() {
        assert_eq!(header(true, None).0.write(&[0; 100], &mut [0; 128]), 0);
    }
}

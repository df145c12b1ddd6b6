//! From a frame to the UDP datagram or TCP segment in it: link headers, VLAN tags, IP.

use std::net::IpAddr;

use dnsdyno_measure::SkipReason;
use etherparse::{
    EtherType, IpNumber, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket, LenSource, TcpSlice,
    TransportSlice, UdpSlice,
};
use pcap_parser::Linktype;

use crate::frame::Frame;

/// What is in a frame, borrowed from it.
pub(crate) struct Packet<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) content: Content<'a>,
    /// Whether IP says that there was more than was captured.
    pub(crate) is_cut: bool,
}

/// What an IP packet carries.
pub(crate) enum Content<'a> {
    Udp(UdpSlice<'a>),
    Tcp(TcpSlice<'a>),
    Fragment(Fragment<'a>),
}

/// A part of an IP datagram.
pub(crate) struct Fragment<'a> {
    pub(crate) identification: u32,
    pub(crate) protocol: IpNumber,
    pub(crate) offset: etherparse::IpFragOffset,
    pub(crate) more_follow: bool,
    pub(crate) payload: &'a [u8],
}

/// Whether frames of this link type can be read.
pub(crate) fn is_supported(link: Linktype) -> bool {
    strip(link, &[0; LONGEST_HEADER]).is_ok_and(|stripped| stripped.is_some())
}

/// The number of a link type, and its name where it is known.
pub(crate) fn name(link: i32) -> String {
    let known = LINK_NAMES.iter().find(|(number, _)| *number == link);
    known.map_or_else(|| link.to_string(), |(number, name)| format!("{number} ({name})"))
}

/// Finds the UDP datagram, TCP segment or fragment in a frame, of which `octets` are captured.
pub(crate) fn packet<'a>(frame: &Frame, octets: &'a [u8]) -> Result<Packet<'a>, SkipReason> {
    let found = find(frame, octets);
    // A header that is not whole is no wrong header.
    found.map_err(|reason| match reason {
        SkipReason::BadHeader if frame.is_cut => SkipReason::CutShort,
        reason => reason,
    })
}

fn find<'a>(frame: &Frame, octets: &'a [u8]) -> Result<Packet<'a>, SkipReason> {
    let sliced = match strip(frame.link, octets)?.ok_or(SkipReason::LinkType)? {
        Stripped::Ethernet(frame) => {
            LaxSlicedPacket::from_ethernet(frame).map_err(|_| SkipReason::BadHeader)?
        }
        Stripped::EtherType(kind, rest) => LaxSlicedPacket::from_ether_type(EtherType(kind), rest),
        Stripped::Ip(rest) => LaxSlicedPacket::from_ip(rest).map_err(|_| SkipReason::BadHeader)?,
    };
    let has_stopped = sliced.stop_err.is_some();
    let bad_or = |reason| if has_stopped { SkipReason::BadHeader } else { reason };
    let (source, destination, payload) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), ip.payload())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), ip.payload())
        }
        _ => return Err(bad_or(SkipReason::NotIp)),
    };
    let content = match sliced.transport {
        Some(TransportSlice::Udp(udp)) => Content::Udp(udp),
        Some(TransportSlice::Tcp(tcp)) => Content::Tcp(tcp),
        None if payload.fragmented => Content::Fragment(fragment(&sliced).ok_or(SkipReason::BadHeader)?),
        _ => return Err(bad_or(SkipReason::NotUdpOrTcp)),
    };
    // The length is that of the frame where the IP header has none, as with segmentation offload.
    let is_cut = payload.incomplete || (frame.is_cut && payload.len_source == LenSource::Slice);
    Ok(Packet { source, destination, content, is_cut })
}

/// A frame without what its link type adds.
enum Stripped<'a> {
    Ethernet(&'a [u8]),
    EtherType(u16, &'a [u8]),
    Ip(&'a [u8]),
}

/// `None` of a link type that is not supported.
fn strip(link: Linktype, frame: &[u8]) -> Result<Option<Stripped<'_>>, SkipReason> {
    let after = |len: usize| frame.get(len..).ok_or(SkipReason::BadHeader);
    let ether_type = |at: usize, header_len: usize| {
        let rest = after(header_len)?;
        Ok(Stripped::EtherType(u16::from_be_bytes([frame[at], frame[at + 1]]), rest))
    };
    Ok(Some(match link {
        Linktype::ETHERNET => Stripped::Ethernet(frame),
        // Packet type 2, hardware type 2, address length 2, address 8, protocol 2.
        Linktype::LINUX_SLL => ether_type(14, 16)?,
        // Protocol 2, reserved 2, interface 4, hardware type 2, packet type 1, address length 1, address 8.
        Linktype::LINUX_SLL2 => ether_type(0, 20)?,
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | RAW_OF_BSD | RAW_OF_OPENBSD => Stripped::Ip(frame),
        // The address family, whose number for IPv6 depends on the system: IP says its version itself.
        Linktype::NULL | Linktype::LOOP => Stripped::Ip(after(4)?),
        _ => return Ok(None),
    }))
}

fn fragment<'a>(sliced: &LaxSlicedPacket<'a>) -> Option<Fragment<'a>> {
    match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            Some(Fragment {
                identification: header.identification().into(),
                protocol: ip.payload().ip_number,
                offset: header.fragments_offset(),
                more_follow: header.more_fragments(),
                payload: ip.payload().payload,
            })
        }
        LaxNetSlice::Ipv6(ip) => {
            let of_fragment = |extension| match extension {
                Ipv6ExtensionSlice::Fragment(fragment) => Some(fragment.to_header()),
                _ => None,
            };
            let header = ip.extensions().clone().into_iter().find_map(of_fragment)?;
            Some(Fragment {
                identification: header.identification,
                protocol: ip.payload().ip_number,
                offset: header.fragment_offset,
                more_follow: header.more_fragments,
                payload: ip.payload().payload,
            })
        }
        LaxNetSlice::Arp(_) => None,
    }
}

/// The longest header that [`strip`] removes.
const LONGEST_HEADER: usize = 20;

/// Raw IP as BSD systems number it in files.
const RAW_OF_BSD: Linktype = Linktype(12);
const RAW_OF_OPENBSD: Linktype = Linktype(14);

/// Link types that are met and not supported, as tcpdump.org names them.
const LINK_NAMES: &[(i32, &str)] = &[
    (6, "IEEE802_5"),
    (9, "PPP"),
    (10, "FDDI"),
    (50, "PPP_HDLC"),
    (51, "PPP_ETHER"),
    (104, "C_HDLC"),
    (105, "IEEE802_11"),
    (107, "FRELAY"),
    (117, "PFLOG"),
    (119, "IEEE802_11_PRISM"),
    (127, "IEEE802_11_RADIOTAP"),
    (147, "USER0"),
    (187, "BLUETOOTH_HCI_H4"),
    (189, "USB_LINUX"),
    (192, "PPI"),
    (195, "IEEE802_15_4_WITHFCS"),
    (201, "BLUETOOTH_HCI_H4_WITH_PHDR"),
    (220, "USB_LINUX_MMAPPED"),
    (227, "CAN_SOCKETCAN"),
    (239, "NFLOG"),
    (247, "INFINIBAND"),
    (249, "USBPCAP"),
    (252, "WIRESHARK_UPPER_PDU"),
    (253, "NETLINK"),
    (258, "PKTAP"),
];

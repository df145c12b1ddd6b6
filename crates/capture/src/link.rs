//! From a frame to the UDP datagram or TCP segment in it: link headers, IP, and tunnels in IP.

use std::net::IpAddr;

use dnsdyno_measure::SkipReason;
use etherparse::{
    IpNumber, Ipv6ExtensionSlice, LaxNetSlice, LaxSlicedPacket, LenSource, TcpSlice, TransportSlice, UdpSlice,
};
use pcap_parser::Linktype;

use crate::frame::Frame;
use crate::tunnel::{self, Layer, after, word};

/// What is in a frame, borrowed from it.
pub(crate) struct Packet<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) content: Content<'a>,
    /// Whether IP says that there was more than was captured.
    pub(crate) is_cut: bool,
    /// That of IPv4.
    pub(crate) identification: Option<u16>,
    /// The length of what is before the first IP header of the frame.
    pub(crate) link_header_len: usize,
    /// In how many others it was.
    pub(crate) tunnels: usize,
}

impl Packet<'_> {
    /// Its ports; a fragment may have none.
    pub(crate) fn ports(&self) -> Option<(u16, u16)> {
        match &self.content {
            Content::Udp(udp) => Some((udp.source_port(), udp.destination_port())),
            Content::Tcp(tcp) => Some((tcp.source_port(), tcp.destination_port())),
            Content::Fragment(_) => None,
        }
    }
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
    !matches!(strip(link, &[]), Ok(None))
}

/// The number of a link type, and its name where it is known.
pub(crate) fn name(link: i32) -> String {
    let known = LINK_NAMES.iter().find(|(number, _)| *number == link);
    known.map_or_else(|| link.to_string(), |(number, name)| format!("{number} ({name})"))
}

/// Finds the UDP datagram, TCP segment or fragment in a frame, of which `octets` are captured. UDP of `ports` is no
/// tunnel.
pub(crate) fn packet<'a>(frame: &Frame, octets: &'a [u8], ports: &[u16]) -> Result<Packet<'a>, SkipReason> {
    let layer = strip(frame.link, octets).and_then(|layer| layer.ok_or(SkipReason::LinkType));
    let found = layer.and_then(|layer| {
        let link_header_len = offset_in(octets, layer.ip()?);
        let packet = find(layer, frame.is_cut, ports)?;
        Ok(Packet { link_header_len, ..packet })
    });
    // A header that is not whole is no wrong header.
    found.map_err(|reason| match reason {
        SkipReason::BadHeader if frame.is_cut => SkipReason::CutShort,
        reason => reason,
    })
}

/// The same in an IP datagram that was put together of fragments.
pub(crate) fn packet_of_fragments<'a>(
    addresses: (IpAddr, IpAddr),
    protocol: IpNumber,
    whole: &'a [u8],
    ports: &[u16],
) -> Result<Packet<'a>, SkipReason> {
    let content = match protocol {
        IpNumber::TCP => Content::Tcp(TcpSlice::from_slice(whole).map_err(|_| SkipReason::BadHeader)?),
        IpNumber::UDP => {
            let udp = UdpSlice::from_slice_lax(whole).map_err(|_| SkipReason::BadHeader)?;
            if let Some(layer) = inner_of_udp(&udp, ports)? {
                return find(layer, false, ports);
            }
            Content::Udp(udp)
        }
        _ => {
            let layer = tunnel::in_ip(protocol, whole)?.ok_or(SkipReason::NotUdpOrTcp)?;
            return find(layer, false, ports);
        }
    };
    let (source, destination) = addresses;
    // Each of its fragments was looked at for itself.
    let (identification, link_header_len, tunnels) = (None, 0, 0);
    Ok(Packet { source, destination, content, is_cut: false, identification, link_header_len, tunnels })
}

fn find<'a>(mut layer: Layer<'a>, mut is_cut: bool, ports: &[u16]) -> Result<Packet<'a>, SkipReason> {
    for tunnels in 0..MOST_TUNNELS {
        let sliced = LaxSlicedPacket::from_ip(layer.ip()?).map_err(|_| SkipReason::BadHeader)?;
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
        // The length is that of the frame where the IP header has none, as with segmentation offload.
        let is_packet_cut = payload.incomplete || (is_cut && payload.len_source == LenSource::Slice);
        let (inner, content) = match &sliced.transport {
            Some(TransportSlice::Udp(udp)) => (inner_of_udp(udp, ports)?, Some(Content::Udp(udp.clone()))),
            Some(TransportSlice::Tcp(tcp)) => (None, Some(Content::Tcp(tcp.clone()))),
            None if payload.fragmented => {
                (None, Some(Content::Fragment(fragment(&sliced).ok_or(SkipReason::BadHeader)?)))
            }
            _ => (tunnel::in_ip(payload.ip_number, payload.payload)?, None),
        };
        match (inner, content) {
            (Some(inner), _) => layer = inner,
            (None, Some(content)) => {
                let (is_cut, link_header_len) = (is_packet_cut, 0);
                let identification = identification_of(&sliced);
                return Ok(Packet {
                    source,
                    destination,
                    content,
                    is_cut,
                    identification,
                    link_header_len,
                    tunnels,
                });
            }
            (None, None) => return Err(bad_or(SkipReason::NotUdpOrTcp)),
        }
        is_cut |= is_packet_cut;
    }
    Err(SkipReason::Tunnel)
}

fn identification_of(sliced: &LaxSlicedPacket<'_>) -> Option<u16> {
    match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => Some(ip.header().identification()),
        _ => None,
    }
}

/// Whether frames of this link type come of all interfaces, and do not say of which.
pub(crate) fn has_no_interface(link: Linktype) -> bool {
    link == Linktype::LINUX_SLL
}

/// Where `inner`, which is a part of `outer`, begins in it.
pub(crate) fn offset_in(outer: &[u8], inner: &[u8]) -> usize {
    inner.as_ptr().addr().saturating_sub(outer.as_ptr().addr())
}

/// What UDP carries as a tunnel, where neither of its ports is one of DNS: a client may have that of a tunnel.
fn inner_of_udp<'a>(udp: &UdpSlice<'a>, ports: &[u16]) -> Result<Option<Layer<'a>>, SkipReason> {
    match ports.contains(&udp.source_port()) || ports.contains(&udp.destination_port()) {
        true => Ok(None),
        false => tunnel::in_udp(udp),
    }
}

/// A frame without what its link type adds; `None` of a link type that is not supported.
fn strip(link: Linktype, frame: &[u8]) -> Result<Option<Layer<'_>>, SkipReason> {
    let ether_type = |at: usize, header_len: usize| {
        let rest = after(frame, header_len)?;
        Ok(Layer::EtherType(word(frame, at)?, rest))
    };
    Ok(Some(match link {
        Linktype::ETHERNET => Layer::Ethernet(frame),
        // Packet type 2, hardware type 2, address length 2, address 8, protocol 2.
        Linktype::LINUX_SLL => ether_type(14, 16)?,
        // Protocol 2, reserved 2, interface 4, hardware type 2, packet type 1, address length 1, address 8.
        Linktype::LINUX_SLL2 => ether_type(0, 20)?,
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | RAW_OF_BSD | RAW_OF_OPENBSD => Layer::Ip(frame),
        // The address family, whose number for IPv6 depends on the system: IP says its version itself.
        Linktype::NULL | Linktype::LOOP => Layer::Ip(after(frame, 4)?),
        // Cisco's framing has an EtherType after address and control; PPP has its own address there.
        C_HDLC | PPP_HDLC if matches!(frame, [0x0f | 0x8f, ..]) => ether_type(2, 4)?,
        C_HDLC => return Err(SkipReason::BadHeader),
        PPP | PPP_HDLC => Layer::Ppp(frame),
        // The direction, as another first octet.
        PPP_OF_PPPD | PPP_WITH_DIRECTION => Layer::Ppp(after_direction(frame)?),
        PPP_ETHER => Layer::EtherType(PPPOE_SESSION, frame),
        NFLOG => Layer::Ip(in_nflog(frame)?),
        _ => return Ok(None),
    }))
}

/// PPP behind an octet that says the direction; pppd puts it in the place of the address.
fn after_direction(frame: &[u8]) -> Result<&[u8], SkipReason> {
    let rest = after(frame, 1)?;
    Ok(rest.strip_prefix(&[3]).unwrap_or(rest))
}

/// The packet in a message of the kernel's log: family, version, resource 2, and then attributes, each with its length
/// and its type in the byte order of its host. No type is above 255, so that one of its two octets is 0.
fn in_nflog(frame: &[u8]) -> Result<&[u8], SkipReason> {
    let mut rest = after(frame, 4)?;
    while let Some([first, second, third, fourth]) = rest.first_chunk::<4>() {
        let (len, kind) = match fourth {
            0 => (u16::from_le_bytes([*first, *second]), third),
            _ => (u16::from_be_bytes([*first, *second]), fourth),
        };
        let len = usize::from(len);
        if *kind == NFLOG_PAYLOAD {
            // A capture may have cut it.
            return rest.get(4..len.min(rest.len())).ok_or(SkipReason::BadHeader);
        }
        if len < 4 {
            return Err(SkipReason::BadHeader);
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Err(SkipReason::NotIp)
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

/// Packets within packets.
const MOST_TUNNELS: usize = 8;

/// Raw IP as BSD systems number it in files.
const RAW_OF_BSD: Linktype = Linktype(12);
const RAW_OF_OPENBSD: Linktype = Linktype(14);

/// Link types that have no name in `pcap_parser`, or another one.
const PPP: Linktype = Linktype(9);
const PPP_HDLC: Linktype = Linktype(50);
const PPP_ETHER: Linktype = Linktype(51);
const C_HDLC: Linktype = Linktype(104);
const PPP_OF_PPPD: Linktype = Linktype(166);
const PPP_WITH_DIRECTION: Linktype = Linktype(204);
const NFLOG: Linktype = Linktype(239);

/// The EtherType of a session of PPPoE.
const PPPOE_SESSION: u16 = 0x8864;

/// The type of the attribute that has the packet.
const NFLOG_PAYLOAD: u8 = 9;

/// Link types that are met and not supported, as tcpdump.org names them.
const LINK_NAMES: &[(i32, &str)] = &[
    (6, "IEEE802_5"),
    (10, "FDDI"),
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
    (247, "INFINIBAND"),
    (249, "USBPCAP"),
    (252, "WIRESHARK_UPPER_PDU"),
    (253, "NETLINK"),
    (258, "PKTAP"),
];

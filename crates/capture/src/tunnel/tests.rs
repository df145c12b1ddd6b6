//! One query, within each kind of tunnel.

use etherparse::{IpNumber, Ipv4Header, PacketBuilder};
use proptest::prelude::*;

use super::*;
use crate::sample::{Message, query_octets, read};

/// An IPv4 packet with a query.
fn plain() -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([192, 0, 2, 1], [192, 0, 2, 2], 9).udp(4000, 53);
    builder.write(&mut packet, &query_octets("www.example.com")).unwrap();
    packet
}

/// The same with IPv6.
fn plain_v6() -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 9).udp(4000, 53);
    builder.write(&mut packet, &query_octets("www.example.com")).unwrap();
    packet
}

fn ethernet(kind: u16, rest: &[u8]) -> Vec<u8> {
    [&[2; 6][..], &[4; 6], &kind.to_be_bytes(), rest].concat()
}

fn ip(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header =
        Ipv4Header::new(payload.len() as u16, 64, IpNumber(protocol), [198, 51, 100, 1], [198, 51, 100, 2]);
    let mut packet = Vec::new();
    header.unwrap().write(&mut packet).unwrap();
    [packet, payload.to_vec()].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4([198, 51, 100, 1], [198, 51, 100, 2], 9)
        .udp(50_000, port)
        .write(&mut packet, payload)
        .unwrap();
    packet
}

/// A pcap file of frames of a link type.
fn pcap(link: u8, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file =
        [&0xa1b2_c3d4u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[255, 255, 0, 0, link, 0, 0, 0]]
            .concat();
    for frame in frames {
        let len = (frame.len() as u32).to_le_bytes();
        file.extend([&[1u8, 0, 0, 0, 0, 0, 0, 0][..], &len, &len, frame].concat());
    }
    file
}

fn only(link: u8, frame: Vec<u8>, what: &str) -> Message {
    let (mut messages, counts, error) = read(pcap(link, &[frame]));
    assert!(error.is_none() && messages.len() == 1, "{what}: {counts:?} {error:?}");
    assert_eq!(messages[0].bytes, query_octets("www.example.com"), "{what}");
    messages.remove(0)
}

const RAW: u8 = 101;

#[test]
fn a_query_is_found_in_each_tunnel() {
    let (packet, frame) = (plain(), ethernet(0x0800, &plain()));
    let with = |head: &[u8], rest: &[u8]| [head, rest].concat();
    let erspan_3 = |last: u8, more: usize| {
        [&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0x20; 10], &[0, last], &vec![0; more]].concat()
    };
    for (what, outer) in [
        ("IPv4 in IPv4", ip(4, &packet)),
        ("IPv6 in IPv4", ip(41, &plain_v6())),
        ("GRE", ip(47, &with(&[0, 0, 8, 0], &packet))),
        (
            "GRE with checksum, key and number",
            ip(47, &with(&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9], &packet)),
        ),
        ("GRE with Ethernet", ip(47, &with(&[0, 0, 0x65, 0x58], &frame))),
        (
            "GRE with PPP",
            ip(
                47,
                &with(
                    &[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 3, 0, 0x21],
                    &packet,
                ),
            ),
        ),
        ("ERSPAN I", ip(47, &with(&[0, 0, 0x88, 0xbe], &frame))),
        ("ERSPAN II", ip(47, &with(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 7, 0, 0, 0, 0, 0, 0], &frame))),
        ("ERSPAN III", ip(47, &with(&erspan_3(0, 0), &frame))),
        ("ERSPAN III with a platform's header", ip(47, &with(&erspan_3(1, 8), &frame))),
        ("EtherIP", ip(97, &with(&[0x30, 0], &frame))),
        ("MPLS in IP", ip(137, &with(&[0, 6, 0x41, 64], &packet))),
        ("VXLAN", udp(4789, &with(&[8, 0, 0, 0, 0, 0, 5, 0], &frame))),
        ("VXLAN of Linux", udp(8472, &with(&[8, 0, 0, 0, 0, 0, 5, 0], &frame))),
        ("VXLAN with IP", udp(4790, &with(&[0x0c, 0, 0, 1, 0, 0, 5, 0], &packet))),
        ("Geneve", udp(6081, &with(&[1, 0, 0x65, 0x58, 0, 0, 5, 0, 9, 9, 9, 9], &frame))),
        ("GTP-U", udp(2152, &with(&[0x30, 0xff, 0, 60, 0, 0, 0, 1], &packet))),
        (
            "GTP-U with extensions",
            udp(
                2152,
                &with(&[0x34, 0xff, 0, 60, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0x40, 1, 0, 0, 0], &packet),
            ),
        ),
        ("seven within each other", (0..7).fold(packet.clone(), |packet, _| ip(4, &packet))),
    ] {
        assert_eq!(only(RAW, outer.clone(), what).destination.port(), 53);
        only(1, ethernet(0x0800, &outer), what);
    }
    let mut in_v6 = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 9).write(&mut in_v6, IpNumber(4), &packet).unwrap();
    only(RAW, in_v6, "IPv4 in IPv6");
}

#[test]
fn a_query_is_found_behind_each_header_of_a_link() {
    let packet = plain();
    let with = |head: &[u8]| [head, &packet].concat();
    for (what, kind, rest) in [
        ("MPLS, two labels", 0x8847, with(&[0, 6, 0x40, 64, 0, 7, 0x41, 64])),
        ("MPLS with Ethernet", 0x8848, [&[0, 6, 0x41, 64][..], &ethernet(0x0800, &packet)].concat()),
        (
            "MPLS with a control word",
            0x8847,
            [&[0, 6, 0x41, 64, 0, 0, 0, 9][..], &ethernet(0x0800, &packet)].concat(),
        ),
        ("PPPoE", 0x8864, with(&[0x11, 0, 0, 5, 0, 57, 0, 0x21])),
        (
            "three tags and PPPoE",
            0x9100,
            with(&[0, 1, 0x88, 0xa8, 0, 2, 0x81, 0, 0, 3, 0x88, 0x64, 0x11, 0, 0, 5, 0, 57, 0x21]),
        ),
        ("LLC", 60, with(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0])),
        ("a backbone bridge", 0x88e7, [&[0, 0, 0, 1][..], &ethernet(0x0800, &packet)].concat()),
    ] {
        only(1, ethernet(kind, &rest), what);
    }
    let len = packet.len() as u8 + 4;
    for (what, link, frame) in [
        ("PPP", 9, with(&[0, 0x21])),
        ("PPP with its address", 9, with(&[0xff, 3, 0, 0x21])),
        ("PPP with an octet", 9, with(&[0x21])),
        ("PPP in HDLC", 50, with(&[0xff, 3, 0, 0x21])),
        ("Cisco in HDLC", 50, with(&[0x0f, 0, 8, 0])),
        ("Cisco", 104, with(&[0x8f, 0, 8, 0])),
        ("a session of PPPoE", 51, with(&[0x11, 0, 0, 5, 0, 57, 0, 0x21])),
        ("pppd", 166, with(&[1, 3, 0, 0x21])),
        ("PPP with its direction", 204, with(&[0, 0xff, 3, 0, 0x21])),
        ("NFLOG", 239, with(&[2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 1, 0, 5, 0, 10, 0, b'x', 0, 0, 0, len, 0, 9, 0])),
        ("NFLOG, big-endian", 239, with(&[2, 0, 0, 0, 0, 8, 0, 1, 8, 0, 1, 0, 0, len, 0, 9])),
    ] {
        only(link, frame, what);
    }
}

#[test]
fn tunnels_that_are_not_read_are_counted_as_such() {
    let deep = (0..9).fold(plain(), |packet, _| ip(4, &packet));
    let tags = ethernet(0x8100, &[&[0, 1, 0x81, 0].repeat(20)[..], &[8, 0], &plain()].concat());
    let frames = [
        ethernet(0x0800, &deep),
        tags,
        ethernet(0x0800, &ip(50, &[9; 60])),
        ethernet(0x0800, &ip(47, &[0x40, 0, 8, 0, 1, 1])),
        ethernet(0x0800, &udp(1701, &[9; 60])),
        ethernet(0x88e5, &[9; 60]),
    ];
    let (messages, counts, _) = read(pcap(1, &frames));
    assert_eq!((messages.len(), counts.skipped.of(SkipReason::Tunnel)), (0, frames.len() as u64));
    // What only has the port of a tunnel is a datagram of another port.
    let (_, counts, _) = read(pcap(RAW, &[udp(4789, &[0; 60]), udp(6081, &[0xff; 60]), udp(2152, b"short")]));
    assert_eq!(counts.skipped.of(SkipReason::OtherPort), 3);
}

#[test]
fn a_client_with_the_port_of_a_tunnel_is_a_client() {
    let mut packet = Vec::new();
    let mut response = query_octets("www.example.com");
    response[2] |= 0x80;
    PacketBuilder::ipv4([192, 0, 2, 2], [192, 0, 2, 1], 9)
        .udp(53, 4789)
        .write(&mut packet, &response)
        .unwrap();
    let (messages, ..) = read(pcap(RAW, &[packet]));
    assert_eq!(messages[0].borrowed().client().port(), 4789);
}

#[test]
fn a_tunnel_in_fragments_is_put_together() {
    let inner = [&[8, 0, 0, 0, 0, 0, 5, 0][..], &ethernet(0x0800, &plain())].concat();
    for (protocol, whole) in
        [(47, [&[0, 0, 8, 0][..], &plain()].concat()), (17, udp(4789, &inner)[20..].to_vec())]
    {
        let fragment = |from: usize, to: usize| {
            let part = &whole[from..to];
            let mut header = Ipv4Header::new(
                part.len() as u16,
                64,
                IpNumber(protocol),
                [198, 51, 100, 1],
                [198, 51, 100, 2],
            )
            .unwrap();
            (header.identification, header.dont_fragment) = (7, false);
            header.fragment_offset = ((from / 8) as u16).try_into().unwrap();
            header.more_fragments = to < whole.len();
            let mut packet = Vec::new();
            header.write(&mut packet).unwrap();
            [packet, part.to_vec()].concat()
        };
        let (messages, counts, _) = read(pcap(RAW, &[fragment(0, 32), fragment(32, whole.len())]));
        assert_eq!((messages.len(), counts.skipped.total()), (1, 0), "{protocol}");
        assert_eq!(messages[0].bytes, query_octets("www.example.com"));
    }
}

proptest! {
    #[test]
    fn any_octets_in_any_tunnel_are_read_without_a_panic(
        link in prop::sample::select(vec![1u8, 9, 50, 51, 101, 104, 113, 166, 204, 239]),
        head in prop::sample::select(vec![
            vec![], ip(47, &[0; 8]), udp(4789, &[8; 8]), udp(6081, &[0x3f; 8]), udp(2152, &[0x37, 0xff]),
            ethernet(0x8847, &[]), ethernet(0x8864, &[]),
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..120)
    ) {
        read(pcap(link, &[[head, rest].concat()]));
    }
}

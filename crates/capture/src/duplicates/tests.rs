//! The same packet at several places, and packets that are only alike.

use dnsdyno_measure::{CaptureCounts, SkipReason};
use etherparse::Ipv4Header;

use crate::sample::{query_octets, read};

/// An IPv4 packet with a query of this ID, behind this identification.
fn packet(identification: u16, id: u8, hops: u8) -> Vec<u8> {
    let mut query = query_octets("www.example.com");
    query[1] = id;
    let mut udp =
        [&4000u16.to_be_bytes()[..], &53u16.to_be_bytes(), &[0, query.len() as u8 + 8, hops, hops]].concat();
    udp.extend(query);
    let mut header =
        Ipv4Header::new(udp.len() as u16, hops, etherparse::IpNumber::UDP, [192, 0, 2, 1], [192, 0, 2, 2])
            .unwrap();
    header.identification = identification;
    let mut packet = Vec::new();
    header.write(&mut packet).unwrap();
    [packet, udp].concat()
}

/// A pcap file of frames, each after so many microseconds.
fn pcap(link: u16, frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let head = [&0xa1b2_c3d4u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[255, 255, 0, 0]].concat();
    let mut file = [&head[..], &u32::from(link).to_le_bytes()].concat();
    for (us, frame) in frames {
        let len = frame.len() as u32;
        file.extend([1, *us, len, len].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

/// Messages and duplicates.
fn counts(file: Vec<u8>) -> (u64, u64) {
    let (_, counts, error): (_, CaptureCounts, _) = read(file);
    assert!(error.is_none());
    (counts.messages, counts.skipped.of(SkipReason::Duplicate))
}

fn ethernet(from: u8, packet: &[u8]) -> Vec<u8> {
    [&[2; 6][..], &[from; 6], &[8, 0], packet].concat()
}

/// Linux cooked, of a direction.
fn cooked(direction: u8, packet: &[u8]) -> Vec<u8> {
    [&[0, direction, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0, 8, 0][..], packet].concat()
}

/// Its second version, of an interface.
fn cooked2(interface: u8, packet: &[u8]) -> Vec<u8> {
    [&[8, 0, 0, 0, 0, 0, 0, interface, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0][..], packet].concat()
}

#[test]
fn a_packet_at_two_places_is_one_message() {
    let (query, routed) = (packet(7, 1, 64), packet(7, 1, 63));
    for (what, link, frames) in [
        ("two interfaces", 276, [cooked2(3, &query), cooked2(4, &query)]),
        ("in and out", 113, [cooked(0, &query), cooked(4, &routed)]),
        ("some interfaces", 113, [cooked(0, &query), cooked(0, &query)]),
        ("two networks", 1, [ethernet(4, &query), ethernet(5, &routed)]),
    ] {
        let [first, second] = frames;
        assert_eq!(counts(pcap(link, &[(0, first), (900, second)])), (1, 1), "{what}");
    }
    let without_number = packet(0, 1, 64);
    let three = [3, 4, 5].map(|n| (u32::from(n) * 100, cooked2(n, &without_number)));
    assert_eq!(counts(pcap(276, &three)), (1, 2));
    let in_tunnel =
        [&[0x45, 0, 0, query.len() as u8 + 20, 0, 1, 0, 0, 64, 4, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2][..], &query];
    let frames = [(0, ethernet(4, &in_tunnel.concat())), (50, ethernet(4, &query))];
    assert_eq!(counts(pcap(1, &frames)), (1, 1), "in a tunnel and out of it");
}

#[test]
fn what_a_client_sends_again_is_another_message() {
    let query = packet(7, 1, 64);
    for (what, link, frames) in [
        ("another identification", 276, [(0, cooked2(3, &query)), (900, cooked2(4, &packet(8, 1, 64)))]),
        ("later", 276, [(0, cooked2(3, &query)), (30_000, cooked2(4, &query))]),
        ("at the same interface", 276, [(0, cooked2(3, &query)), (900, cooked2(3, &query))]),
        ("at the same port", 1, [(0, ethernet(4, &query)), (900, ethernet(4, &query))]),
        ("without a number, in one direction", 113, {
            let query = packet(0, 1, 64);
            [(0, cooked(0, &query)), (900, cooked(0, &query))]
        }),
        ("another query", 276, [(0, cooked2(3, &query)), (900, cooked2(4, &packet(7, 2, 64)))]),
    ] {
        assert_eq!(counts(pcap(link, &frames)), (2, 0), "{what}");
    }
}

#[test]
fn a_query_sent_twice_and_captured_at_two_places_each_time_is_two_messages() {
    let query = packet(7, 1, 64);
    let frames = [(0, 3), (100, 4), (5_000, 3), (5_100, 4)];
    let frames = frames.map(|(us, interface)| (us, cooked2(interface, &query)));
    assert_eq!(counts(pcap(276, &frames)), (2, 2));
}

#[test]
fn what_is_remembered_is_bounded() {
    let frames: Vec<_> = (0..super::MAX_SEEN as u32 + 50)
        .map(|n| (n / 10_000, cooked2(3, &packet(n as u16, (n >> 16) as u8, 64))))
        .collect();
    let many = frames.len() as u64;
    assert_eq!(counts(pcap(276, &frames)), (many, 0));
}

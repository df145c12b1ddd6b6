//! Captures of every format, made here: what they give, and what they count.

use std::io::Write;

use dnsdyno_measure::SkipReason;
use etherparse::{IpNumber, Ipv4Header, PacketBuilder};
use proptest::prelude::*;

use crate::sample::{Message, START_NS, query, query_octets, read, read_with, response, some, written};
use crate::{CaptureError, OutputFormat, Protocol, ReadSettings};

#[test]
fn every_format_of_captures_gives_back_the_messages_written() {
    for format in [OutputFormat::Pcap, OutputFormat::Pcapng, OutputFormat::Dnstap] {
        let (messages, counts, error) = read(written(format, &some()));
        assert!(error.is_none(), "{format:?}: {error:?}");
        assert_eq!(messages, some(), "{format:?}");
        assert_eq!((counts.messages, counts.skipped.total(), counts.out_of_order), (40, 0, 0), "{format:?}");
    }
}

#[test]
fn a_compressed_capture_is_read_as_the_plain_one() {
    let plain = written(OutputFormat::Pcap, &some());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&plain).unwrap();
    for file in [gzip.finish().unwrap(), xz.finish().unwrap(), zstd::encode_all(&plain[..], 1).unwrap()] {
        assert_eq!(read(file).0, some());
    }
}

/// A pcap file of frames with their instants in seconds and parts of them.
fn pcap(magic: [u8; 4], link: u32, frames: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let is_little = magic[0] != 0xa1;
    let word = |word: u32| if is_little { word.to_le_bytes() } else { word.to_be_bytes() };
    let half = |half: u16| if is_little { half.to_le_bytes() } else { half.to_be_bytes() };
    let mut file = magic.to_vec();
    file.extend([half(2), half(4)].concat());
    file.extend([word(0), word(0), word(65_535), word(link)].concat());
    for (seconds, part, frame) in frames {
        let len = frame.len() as u32;
        file.extend([word(*seconds), word(*part), word(len), word(len)].concat());
        file.extend(frame);
    }
    file
}

const MICROSECONDS: [u8; 4] = 0xa1b2_c3d4u32.to_le_bytes();

fn udp() -> Vec<u8> {
    let mut frame = Vec::new();
    let packet =
        PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([192, 0, 2, 1], [192, 0, 2, 2], 9).udp(4000, 53);
    packet.write(&mut frame, &query_octets("www.example.com")).unwrap();
    frame
}

fn only(file: Vec<u8>) -> Message {
    let (mut messages, counts, error) = read(file);
    assert!(error.is_none() && messages.len() == 1, "{} messages, {counts:?}, {error:?}", messages.len());
    messages.remove(0)
}

#[test]
fn both_byte_orders_and_both_resolutions_of_pcap_are_read() {
    let nanoseconds = 0xa1b2_3c4du32;
    let microseconds = 0xa1b2_c3d4u32;
    for (magic, want_ns) in [
        (microseconds.to_le_bytes(), 7_000_005_000),
        (microseconds.to_be_bytes(), 7_000_005_000),
        (nanoseconds.to_le_bytes(), 7_000_000_005),
        (nanoseconds.to_be_bytes(), 7_000_000_005),
    ] {
        let message = only(pcap(magic, 1, &[(7, 5, udp())]));
        assert_eq!(message.at_unix_ns, want_ns, "{magic:x?}");
        assert_eq!(message.source.to_string(), "192.0.2.1:4000");
        assert_eq!(message.bytes, query_octets("www.example.com"));
    }
}

#[test]
fn the_same_packet_is_found_behind_each_link_header() {
    let ethernet = udp();
    let ip = ethernet[14..].to_vec();
    let after = |head: &[u8]| [head, &ip].concat();
    let vlan = [&ethernet[..12], &[0x81, 0, 0, 7, 8, 0], &ip].concat();
    let double_vlan = [&ethernet[..12], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0], &ip].concat();
    let cooked = [&[0u8; 14][..], &[8, 0]].concat();
    let cooked2 = [&[8u8, 0][..], &[0; 18]].concat();
    for (link, frame) in [
        (1, ethernet.clone()),
        (1, vlan),
        (1, double_vlan),
        (113, after(&cooked)),
        (276, after(&cooked2)),
        (101, ip.clone()),
        (12, ip.clone()),
        (228, ip.clone()),
        (0, after(&[2, 0, 0, 0])),
        (108, after(&[0, 0, 0, 2])),
        // The length of the frame check sequence is in the upper bits.
        (1 | 1 << 26 | 4 << 28, ethernet),
    ] {
        let message = only(pcap(MICROSECONDS, link, &[(1, 0, frame)]));
        assert_eq!(message.bytes, query_octets("www.example.com"), "link type {link}");
    }
}

#[test]
fn a_link_type_that_is_not_supported_is_named() {
    let error = read(pcap(MICROSECONDS, 105, &[(1, 0, udp())])).2.unwrap();
    assert!(error.to_string().contains("link type 105 (IEEE802_11), which is not supported"), "{error}");
    let mut file = written(OutputFormat::Pcapng, &some());
    // The link type of its interface, after the section header.
    file[36] = 189;
    let (messages, counts, error) = read(file);
    assert_eq!((messages.len(), counts.skipped.of(SkipReason::LinkType)), (0, counts.frames));
    assert!(error.unwrap().to_string().contains("189 (USB_LINUX)"));
}

#[test]
fn frames_that_carry_no_dns_are_counted_by_reason() {
    let packet = |to: u16, payload: &[u8]| {
        let mut frame = Vec::new();
        let packet = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([192, 0, 2, 1], [192, 0, 2, 2], 9);
        packet.udp(4000, to).write(&mut frame, payload).unwrap();
        frame
    };
    let mut icmp = Vec::new();
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([192, 0, 2, 1], [192, 0, 2, 2], 9);
    builder.icmpv4_echo_request(1, 2).write(&mut icmp, &[]).unwrap();
    let arp = [&[1u8; 12][..], &[8, 6], &[0; 28]].concat();
    let mut bad = udp();
    bad[14] = 0x41;
    let frames = [arp, icmp, packet(123, &[0; 48]), packet(853, &[0; 99]), packet(53, b"short"), bad];
    let frames: Vec<_> = frames.into_iter().map(|frame| (1, 0, frame)).collect();
    let (messages, counts, error) = read(pcap(MICROSECONDS, 1, &frames));
    assert!(messages.is_empty() && error.is_none());
    for reason in [
        SkipReason::NotIp,
        SkipReason::NotUdpOrTcp,
        SkipReason::OtherPort,
        SkipReason::Encrypted,
        SkipReason::TooShort,
        SkipReason::BadHeader,
    ] {
        assert_eq!(counts.skipped.of(reason), 1, "{reason:?}");
    }
    assert_eq!(counts.skipped.total(), counts.frames);
}

#[test]
fn packets_cut_by_the_snapshot_length_are_counted() {
    for kept in [10, 30, 38, 50] {
        let mut frame = udp();
        let whole = frame.len() as u32;
        frame.truncate(kept);
        let mut file = pcap(MICROSECONDS, 1, &[(1, 0, frame)]);
        file[24 + 12..24 + 16].copy_from_slice(&whole.to_le_bytes());
        let (messages, counts, _) = read(file);
        assert_eq!((messages.len(), counts.skipped.of(SkipReason::CutShort)), (0, 1), "{kept} octets kept");
    }
}

#[test]
fn other_ports_are_read_when_they_are_asked_for() {
    let mut moved = query(1, 1, Protocol::Udp);
    moved.destination.set_port(5353);
    let file = written(OutputFormat::Pcap, &[moved.clone(), query(2, 1, Protocol::Udp)]);
    let settings = ReadSettings { ports: vec![5353], ..ReadSettings::default() };
    let (messages, counts, _) = read_with(file, &settings);
    assert_eq!((messages, counts.skipped.of(SkipReason::OtherPort)), (vec![moved], 1));
}

#[test]
fn fragments_are_put_together_in_any_order() {
    let payload = [&query_octets("www.example.com")[..], &[7; 3000]].concat();
    let mut datagram = [4000u16.to_be_bytes(), 53u16.to_be_bytes()].concat();
    datagram.extend([(payload.len() as u16 + 8).to_be_bytes(), [0, 0]].concat());
    datagram.extend(&payload);
    let fragment = |from: usize, to: usize| {
        let part = &datagram[from..to];
        let mut header =
            Ipv4Header::new(part.len() as u16, 64, IpNumber::UDP, [192, 0, 2, 1], [192, 0, 2, 2]).unwrap();
        header.identification = 77;
        header.fragment_offset = ((from / 8) as u16).try_into().unwrap();
        header.more_fragments = to < datagram.len();
        header.dont_fragment = false;
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend(part);
        (1, 0, packet)
    };
    let parts = [fragment(0, 1480), fragment(1480, 2960), fragment(2960, datagram.len())];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let message = only(pcap(MICROSECONDS, 101, &order.map(|n: usize| parts[n].clone())));
        assert_eq!(message.bytes, payload, "{order:?}");
    }
    let (messages, counts, _) = read(pcap(MICROSECONDS, 101, &parts[..2]));
    assert_eq!((messages.len(), counts.skipped.of(SkipReason::Fragment)), (0, 2));
}

#[test]
fn many_datagrams_that_are_never_completed_take_bounded_memory() {
    let first = |n: u16| {
        let header = Ipv4Header {
            identification: n,
            more_fragments: true,
            dont_fragment: false,
            ..Ipv4Header::new(8, 64, IpNumber::UDP, [192, 0, 2, 1], [192, 0, 2, 2]).unwrap()
        };
        let mut packet = Vec::new();
        header.write(&mut packet).unwrap();
        packet.extend([0; 8]);
        (1, 0, packet)
    };
    let frames: Vec<_> = (0..1_000).map(first).collect();
    let (_, counts, _) = read(pcap(MICROSECONDS, 101, &frames));
    assert_eq!((counts.skipped.of(SkipReason::Fragment), counts.forgotten), (1_000, 1_000 - 256));
}

#[test]
fn a_capture_that_is_cut_short_gives_what_is_before_and_says_where() {
    for format in [OutputFormat::Pcap, OutputFormat::Pcapng, OutputFormat::Dnstap] {
        let file = written(format, &some()[..9]);
        let cut = file.len() - if format == OutputFormat::Dnstap { 12 + 5 } else { 5 };
        let (messages, counts, error) = read(file[..cut].to_vec());
        assert_eq!(messages, some()[..8], "{format:?}");
        let error = error.unwrap();
        let CaptureError::Cut { packet, begins_at, ends_at, .. } = &error else { panic!("{error}") };
        assert_eq!((*packet, *ends_at), (counts.frames + 1, cut as u64), "{format:?}");
        assert!(*begins_at < *ends_at && *begins_at > *ends_at - 150, "{format:?}: {error}");
    }
}

#[test]
fn a_length_that_cannot_be_is_damage_and_takes_no_memory() {
    let mut file = pcap(MICROSECONDS, 1, &[(1, 0, udp()), (1, 0, udp())]);
    let second = 24 + 16 + udp().len();
    file[second + 8..second + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (messages, _, error) = read(file);
    assert_eq!(messages.len(), 1);
    let error = error.unwrap().to_string();
    assert!(error.contains(&format!("at byte {second} ")) && error.contains("16 MiB"), "{error}");
}

#[test]
fn what_is_no_capture_is_refused_with_what_it_is() {
    for (start, words) in [
        (&b""[..], "is empty"),
        (b"www.example.com A\n", "neither pcap, pcapng nor dnstap"),
        (b"\x83\x65C-DNS\xa2", "C-DNS: convert it"),
        (b"BZh91AY&SY", "bzip2"),
        (b"PK\x03\x04abcdefghij", "ZIP"),
    ] {
        let error = read(start.to_vec()).2.unwrap().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_pcapng_file_may_have_several_sections_each_with_its_own_interfaces() {
    let first = written(OutputFormat::Pcapng, &some()[..3]);
    let second = written(OutputFormat::Pcapng, &some()[4..6]);
    let (messages, _, error) = read([first, second].concat());
    assert!(error.is_none());
    assert_eq!(messages.len(), 5);
}

#[test]
fn a_big_endian_section_of_two_interfaces_with_simple_packets_is_read() {
    let block = |kind: u32, body: &[u8]| {
        let len = (body.len() as u32 + 12).to_be_bytes();
        [&kind.to_be_bytes()[..], &len, body, &len].concat()
    };
    let section = block(0x0a0d_0d0a, &[&[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..], &[0xff; 8]].concat());
    // if_tsoffset (14) of 8 octets: 1000 s. if_tsresol (9): 2^-10 s.
    let offset =
        [&[0u8, 14, 0, 8][..], &1000u64.to_be_bytes(), &[0, 9, 0, 1, 0x8a, 0, 0, 0], &[0; 4]].concat();
    let ethernet = block(1, &[&[0u8, 1, 0, 0, 0, 0, 0, 0][..], &offset].concat());
    let raw = block(1, &[0, 101, 0, 0, 0, 0, 0, 0]);
    let mut frame = udp();
    let len = frame.len() as u32;
    let ip = frame[14..].to_vec();
    frame.resize(frame.len().next_multiple_of(4), 0);
    let enhanced = |interface: u32, units: u64, frame: &[u8], len: u32| {
        let head = [interface, (units >> 32) as u32, units as u32, len, len].map(u32::to_be_bytes).concat();
        let padding = vec![0; frame.len().next_multiple_of(4) - frame.len()];
        block(6, &[&head, frame, &padding].concat())
    };
    let file = [
        section,
        ethernet,
        raw,
        enhanced(0, 2560, &frame, len),
        block(3, &[&len.to_be_bytes()[..], &frame].concat()),
        // Name resolution, which tells nothing here.
        block(4, &[0, 0, 0, 0]),
        enhanced(1, 5_000_000, &ip, ip.len() as u32),
        // An obsolete packet of interface 1, with 3 drops before it.
        block(
            2,
            &[
                &[0, 1, 0, 3, 0, 0, 0, 0][..],
                &[6_000_000, len - 14, len - 14].map(u32::to_be_bytes).concat(),
                &ip,
                &[0; 3],
            ]
            .concat(),
        ),
        // One whose header is not whole, and a block of a type that nobody knows.
        block(2, &[0, 1, 0, 3]),
        block(0x7777, &[1, 2, 3, 4]),
    ];
    let (messages, counts, error) = read(file.concat());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(
        messages.iter().map(|message| message.at_unix_ns).collect::<Vec<_>>(),
        [1_002_500_000_000, 1_002_500_000_000, 5_000_000_000, 6_000_000_000]
    );
    assert!(messages.iter().all(|message| message.bytes == query_octets("www.example.com")));
    assert_eq!((counts.without_instant, counts.unknown_blocks), (1, 2));
}

#[test]
fn a_message_of_65535_octets_over_tcp_is_written_and_read() {
    let mut long = query(1, 1, Protocol::Tcp);
    long.bytes.resize(65_535, 7);
    for format in [OutputFormat::Pcap, OutputFormat::Dnstap] {
        assert_eq!(read(written(format, &[long.clone()])).0, [long.clone()]);
    }
}

#[test]
fn messages_of_encrypted_transports_become_tcp_in_a_packet_capture() {
    let mut dot = query(1, 1, Protocol::Dot);
    dot.destination.set_port(853);
    let doh = response(&query(2, 1, Protocol::Doh), 1, 0);
    let (messages, ..) = read(written(OutputFormat::Pcap, &[dot.clone(), doh.clone()]));
    assert_eq!(messages.len(), 2);
    assert!(messages.iter().all(|message| message.protocol == Protocol::Tcp));
    assert_eq!((messages[0].destination.port(), messages[1].source.port()), (53, 53));
    assert_eq!(read(written(OutputFormat::Dnstap, &[dot.clone(), doh.clone()])).0, [dot, doh]);
}

#[test]
fn a_capture_with_instants_at_its_limits_is_read() {
    let message = only(pcap(MICROSECONDS, 1, &[(u32::MAX, u32::MAX, udp())]));
    assert!(message.at_unix_ns > START_NS);
}

proptest! {
    #[test]
    fn a_capture_damaged_anywhere_is_read_without_a_panic(
        place in 0usize..4_000, octet in any::<u8>(), cut in 0usize..4_000, format in 0usize..3
    ) {
        let mut file = written(OutputFormat::ALL[format], &some());
        let len = file.len();
        file[place % len] = octet;
        file.truncate(len - cut.min(len));
        let (messages, counts, _) = read(file);
        prop_assert_eq!(counts.messages, messages.len() as u64);
    }

    #[test]
    fn any_octets_behind_a_mark_are_read_without_a_panic(
        mark in 0usize..3, octets in prop::collection::vec(any::<u8>(), 0..600)
    ) {
        let len = [24, 60, 42][mark];
        let mut file = written(OutputFormat::ALL[mark], &[]);
        file.truncate(len);
        file.extend(octets);
        read(file);
    }
}

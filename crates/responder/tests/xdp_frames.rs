//! The frames that the responder in the kernel sends: addresses, tag, lengths and checksums, seen at
//! the other end of the cable before any stack has touched them; and what it leaves alone.

mod cable;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use cable::{PORT, by_sockets, config, start, zone_with_wildcard};
use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_responder::Running;
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::xdp::{Attach, CopyMode, Filter, Redirect, Socket, SocketConfig};
use dnsdyno_wire::{QueryForm, encode_name};

const OUR_PORT: u16 = 20_000;

/// A responder in the kernel, and a socket at the near end for frames of our own making.
struct Bench {
    running: Running,
    socket: Socket,
    _redirect: Redirect,
    macs: [[u8; 6]; 2],
    addresses: [IpAddr; 2],
    _pair: VethPair,
}

impl Bench {
    fn new(is_ipv6: bool) -> Bench {
        let pair = VethPair::new(1).unwrap();
        let running = start(&pair, config(&pair, zone_with_wildcard()));
        let addresses: [IpAddr; 2] = if is_ipv6 {
            [pair.near().ipv6.into(), pair.far().ipv6.into()]
        } else {
            [pair.near().ipv4.into(), pair.far().ipv4.into()]
        };
        let listen = || {
            let near = Interface::named("near").unwrap();
            let prefix = if is_ipv6 { 128 } else { 32 };
            let filter = Filter::new((addresses[1], PORT), (addresses[0], prefix), (OUR_PORT, OUR_PORT));
            let mut redirect = Redirect::attach(&near, Attach::Native, &filter.unwrap(), (1, 0)).unwrap();
            let config = SocketConfig {
                queue: 0,
                copy: CopyMode::Auto,
                rx_frames: 64,
                tx_frames: 64,
                frame_size: 2048,
            };
            let socket = Socket::bind(&near, redirect.attached(), &config).unwrap();
            redirect.give(&socket).unwrap();
            (redirect, socket, near.mac().unwrap())
        };
        let (redirect, socket, near) = pair.near().enter(listen).unwrap();
        let far = pair.far().enter(|| Interface::named("far").unwrap().mac().unwrap()).unwrap();
        Bench { running, socket, _redirect: redirect, macs: [near, far], addresses, _pair: pair }
    }

    /// A frame from the end `from` to the other one, with right checksums.
    fn frame(&self, from: usize, tag: Option<u16>, message: &[u8]) -> Vec<u8> {
        let ports = if from == 0 { [OUR_PORT, PORT] } else { [PORT, OUR_PORT] };
        let (source, target) = (self.addresses[from], self.addresses[1 - from]);
        let length = (8 + message.len()) as u16;
        let words = [ports[0], ports[1], length, 0].map(u16::to_be_bytes).concat();
        let mut udp = [&words[..], message].concat();
        let mut frame = [self.macs[1 - from], self.macs[from]].concat();
        if let Some(tag) = tag {
            frame.extend([[0x81, 0x00], tag.to_be_bytes()].concat());
        }
        let pseudo = match (source, target) {
            (IpAddr::V4(source), IpAddr::V4(target)) => {
                let mut ip =
                    [&[0x45, 0][..], &(20 + length).to_be_bytes(), &[0, 7, 0x40, 0, 64, 17, 0, 0]].concat();
                ip.extend([source.octets(), target.octets()].concat());
                let sum = checksum(&[&ip]);
                ip[10..12].copy_from_slice(&sum);
                frame.extend([&[0x08, 0x00], &ip[..]].concat());
                ip[12..].to_vec()
            }
            (IpAddr::V6(source), IpAddr::V6(target)) => {
                let head = [&[0x86, 0xDD, 0x60, 0, 0, 0][..], &length.to_be_bytes(), &[17, 64]].concat();
                let addresses = [source.octets(), target.octets()].concat();
                frame.extend([&head[..], &addresses].concat());
                addresses
            }
            _ => unreachable!("a cable has two ends of one family"),
        };
        let sum = checksum(&[&pseudo, &[0, 17], &length.to_be_bytes(), &udp]);
        udp[6..8].copy_from_slice(&if sum == [0, 0] { [0xFF, 0xFF] } else { sum });
        frame.extend(udp);
        frame
    }

    fn send(&mut self, frame: &[u8]) {
        let place = |to: &mut [u8]| {
            to[..frame.len()].copy_from_slice(frame);
            frame.len()
        };
        assert!(self.socket.write(place), "the ring is full");
        self.socket.flush();
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut poller = Poller::new(1).unwrap();
        poller.add(&self.socket, 0).unwrap();
        let end = Instant::now() + Duration::from_secs(5);
        while self.socket.arrived(1) == 0 {
            assert!(Instant::now() < end, "no answer came");
            poller.wait(Some(100_000_000)).unwrap().count();
        }
        let mut frame = Vec::new();
        self.socket.receive(1, |bytes| frame = bytes.to_vec());
        frame
    }

    fn answered(&self) -> u64 {
        self.running.book().in_kernel.unwrap().answered()
    }
}

/// The Internet checksum over parts of which only the last may have an odd length.
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 =
        words.map(|word| u32::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

fn query(name: &str, rtype: u16, edns_size: Option<u16>) -> Vec<u8> {
    let (mut wire, mut query) = (Vec::new(), Vec::new());
    encode_name(name.as_bytes(), &mut wire).unwrap();
    QueryForm { edns_size, ..QueryForm::default() }.encode(&wire, rtype, &mut query);
    query
}

/// Names of every length to some forty bytes, in a spelling of their own.
fn names() -> Vec<String> {
    let absent = (1..30).map(|length| format!("{}.eXample.", "Na".repeat(15)[..length].to_owned()));
    ["www.Example.", "ALIAS.example.", "shout.example.", "x.Y.wild.example.", "naptr.example.", "example."]
        .map(str::to_owned)
        .into_iter()
        .chain(absent)
        .collect()
}

#[test]
fn every_frame_goes_back_as_it_came_with_right_lengths_and_checksums() {
    if !require(&[Need::Root]) {
        return;
    }
    for is_ipv6 in [false, true] {
        let mut bench = Bench::new(is_ipv6);
        let mut asked = 0;
        for tag in [None, Some(7)] {
            for name in names() {
                for (rtype, edns_size) in
                    [(1, None), (28, Some(1232)), (35, None), (15, Some(4096)), (255, None)]
                {
                    let query = query(&name, rtype, edns_size);
                    let answer = by_sockets(&zone_with_wildcard(), &query).unwrap();
                    bench.send(&bench.frame(0, tag, &query));
                    assert_eq!(bench.receive(), bench.frame(1, tag, &answer), "{name} {rtype}");
                    asked += 1;
                }
            }
        }
        assert_eq!(bench.answered(), asked);
    }
}

#[test]
fn padding_of_short_frames_is_no_part_of_the_question() {
    if !require(&[Need::Root]) {
        return;
    }
    let mut bench = Bench::new(false);
    let query = query("example.", 2, None);
    let mut padded = bench.frame(0, None, &query);
    padded.resize(padded.len() + 20, 0xAA);
    let answer = by_sockets(&zone_with_wildcard(), &query).unwrap();
    bench.send(&padded);
    assert_eq!(bench.receive(), bench.frame(1, None, &answer));
}

#[test]
fn fragments_options_other_ports_and_wrong_lengths_are_left_to_the_host() {
    if !require(&[Need::Root]) {
        return;
    }
    let mut bench = Bench::new(false);
    let query = query("www.example.", 1, None);
    let good = bench.frame(0, None, &query);
    // More fragments, another offset, a header of 24 bytes, another port, a length too long and too short.
    for (at, value) in [(20, 0x20), (21, 0x01), (14, 0x46), (37, 54), (39, 200), (39, 9), (23, 6)] {
        let mut odd = good.clone();
        odd[at] = value;
        bench.send(&odd);
    }
    bench.send(&good);
    let answer = by_sockets(&zone_with_wildcard(), &query).unwrap();
    assert_eq!(bench.receive(), bench.frame(1, None, &answer));
    // Frames are processed in the order of their receipt.
    assert_eq!(bench.answered(), 1);
}

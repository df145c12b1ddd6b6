//! The reflector as a target of ordinary sockets: what it sends back is valid, so that the kernel
//! may join it.

use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

use dnsdyno_lab::{Need, VethPair, require};
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::socket;
use dnsdyno_sys::udp::{Messages, Receiver, Sender};
use dnsdyno_sys::xdp::{Attach, Pass, Reflect};

const SERVER_PORT: u16 = 53;

#[test]
fn reflected_packets_of_ordinary_sockets_are_valid_and_joined() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let (near, far) = (pair.near(), pair.far());
    let reflect = || Reflect::attach(&Interface::named(far.interface).unwrap(), Attach::Native, SERVER_PORT);
    let _reflect = far.enter(reflect).unwrap().unwrap();
    let pass = || {
        let interface = Interface::named(near.interface).unwrap();
        interface.join_arrivals(true).unwrap();
        assert!(interface.joins_arrivals().unwrap());
        Pass::attach(&interface, Attach::Native)
    };
    let _pass = near.enter(pass).unwrap().unwrap();
    for (ours, server) in
        [(IpAddr::from(near.ipv4), IpAddr::from(far.ipv4)), (IpAddr::from(near.ipv6), IpAddr::from(far.ipv6))]
    {
        let socket = near.enter(|| UdpSocket::bind((ours, 0))).unwrap().unwrap();
        socket.connect((server, SERVER_PORT)).unwrap();
        assert!(socket::can_segment(&socket) && socket::join_received(&socket));
        // Odd and even lengths: the last byte of an odd one counts in a checksum too.
        for length in [12, 33, 34, 35, 36, 61] {
            let pieces = exchange(&socket, length);
            assert!(pieces < QUERIES, "{QUERIES} answers of {length} bytes came in {pieces} pieces");
        }
    }
}

/// Sends queries of this length, checks that each is among the responses with QR set, and returns the
/// number of pieces in which the responses were received.
fn exchange(socket: &UdpSocket, length: usize) -> usize {
    let queries: Vec<u8> = (0..QUERIES * length).map(|i| (i / length) as u8).collect();
    let ends: Vec<u32> = (1..=QUERIES).map(|i| (i * length) as u32).collect();
    let sent = Sender::new(QUERIES, true).send(socket, Messages::new(&queries, &ends));
    assert!(sent.accepted == QUERIES && sent.error.is_none(), "{sent:?}");
    let (mut receiver, mut answers, mut pieces) = (Receiver::new(QUERIES), Vec::new(), 0);
    let deadline = Instant::now() + Duration::from_secs(5);
    while answers.len() < QUERIES {
        assert!(Instant::now() < deadline, "{} answers of {length} bytes came", answers.len());
        pieces += receiver.receive(socket).unwrap();
        answers.extend(receiver.packets().map(|(_, bytes)| bytes.to_vec()));
    }
    for (answer, query) in answers.iter().zip(queries.chunks(length)) {
        assert_eq!(answer[2], query[2] | 0x80);
        assert!(answer[..2] == query[..2] && answer[3..] == query[3..]);
    }
    pieces
}

/// Few enough that the third byte of each, its number, leaves QR clear.
const QUERIES: usize = 16;

//! The programs for the two ends of a cable: what passes them, and what does not.

use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use dnsdyno_lab::{Namespace, Need, VethPair, require};
use dnsdyno_sys::interface::Interface;
use dnsdyno_sys::xdp::{Attach, Discard, Pass, Reflect};

const PORT: u16 = 53;

fn on<R: Send>(end: &Namespace, attach: impl FnOnce(&Interface) -> R + Send) -> R {
    end.enter(|| attach(&Interface::named(end.interface).unwrap())).unwrap()
}

fn bind(end: &Namespace, ip: IpAddr, port: u16) -> UdpSocket {
    let socket = end.enter(|| UdpSocket::bind((ip, port)).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// The addresses of both ends, near and far, of both families.
fn ways(pair: &VethPair) -> [(IpAddr, IpAddr); 2] {
    let (near, far) = (pair.near(), pair.far());
    [(near.ipv4.into(), far.ipv4.into()), (near.ipv6.into(), far.ipv6.into())]
}

#[test]
fn responses_of_the_reflector_reach_a_plain_socket() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let _reflect = on(pair.far(), |far| Reflect::attach(far, Attach::Native, PORT).unwrap());
    let _pass = on(pair.near(), |near| Pass::attach(near, Attach::Native).unwrap());
    // Over IPv6 a plain socket leaves the checksum to an interface that computes none.
    let (near, far) = ways(&pair)[0];
    let socket = bind(pair.near(), near, 0);
    socket.send_to(&[7, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], (far, PORT)).unwrap();
    let mut answer = [0; 64];
    let (length, from) = socket.recv_from(&mut answer).unwrap();
    assert_eq!((length, from.ip(), from.port()), (12, far, PORT));
    assert_eq!(answer[..4], [7, 7, 0x81, 0]);
}

#[test]
fn a_flood_ends_at_the_far_end_and_nothing_else_does() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let _discard = on(pair.far(), |far| Discard::attach(far, Attach::Native, PORT).unwrap());
    for (near, far) in ways(&pair) {
        let (port_53, port_54) = (bind(pair.far(), far, PORT), bind(pair.far(), far, PORT + 1));
        let socket = bind(pair.near(), near, 0);
        socket.send_to(b"dropped", (far, PORT)).unwrap();
        socket.send_to(b"passed", (far, PORT + 1)).unwrap();
        let mut buffer = [0; 16];
        // Packets keep their order on the cable: the first was processed when the second arrives.
        let (length, _) = port_54.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"passed");
        port_53.set_nonblocking(true).unwrap();
        assert_eq!(port_53.recv_from(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

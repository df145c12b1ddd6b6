//! Reserves our ports on this host.
//!
//! The kernel does not see the packets of AF_XDP, so it would give our ports to other programs, whose
//! responses we would then take. So each address and port is bound to a socket that is never read, for
//! the length of the run. These sockets also absorb responses that arrive as fragments and that the host
//! reassembles: without them the host would send ICMP errors to the server.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};

/// Sockets that reserve our addresses and ports.
#[derive(Debug, Default)]
pub(super) struct Held {
    _sockets: Vec<Socket>,
}

/// Why a port cannot be used.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) source: SocketAddr,
    pub(super) reason: io::Error,
}

/// Binds each of `sources`; the first [`MOST_HELD`] stay bound, the others are only checked to be free.
/// An address that does not belong to this host has no ports here that could be in use.
pub(super) fn hold(sources: impl Iterator<Item = SocketAddr>) -> Result<Held, Taken> {
    let mut sockets = Vec::new();
    for source in sources {
        match bind(source) {
            Ok(socket) if sockets.len() < MOST_HELD => sockets.push(socket),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
            Err(reason) => return Err(Taken { source, reason }),
        }
    }
    Ok(Held { _sockets: sockets })
}

/// Looks for `count` consecutive free ports: `sources_of` gives the addresses and ports of a run from a
/// first port on. Returns the first port, with all of them reserved.
pub(super) fn find<I: Iterator<Item = SocketAddr>>(
    count: u16,
    sources_of: impl Fn(u16) -> I,
) -> Result<(u16, Held), Taken> {
    let mut first = FIRST_TRIED;
    loop {
        let taken = match hold(sources_of(first)) {
            Ok(held) => return Ok((first, held)),
            Err(taken) => taken,
        };
        let is_in_use = taken.reason.kind() == io::ErrorKind::AddrInUse;
        let next = taken.source.port().checked_add(1).filter(|next| u16::MAX - next >= count - 1);
        match next.filter(|_| is_in_use) {
            Some(next) => first = next,
            None => return Err(taken),
        }
    }
}

fn bind(source: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(source), Type::DGRAM, None)?;
    // What is received here nevertheless (a fragmented response, reassembled by the host) is of no
    // use.
    let _ = socket.set_recv_buffer_size(0);
    if source.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&source.into())?;
    Ok(socket)
}

/// How many sockets reserve ports at most, because each is an open file.
pub(super) const MOST_HELD: usize = 4_096;

/// Below this are the ports of servers; most hosts assign ports from 32,768 on.
pub(super) const FIRST_TRIED: u16 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, UdpSocket};

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 77, 3, 9));

    fn row(first: u16, count: u16) -> impl Iterator<Item = SocketAddr> {
        (first..first + count).map(|port| SocketAddr::new(HERE, port))
    }

    #[test]
    fn reserved_ports_cannot_be_bound_and_are_free_afterwards() {
        let (first, held) = find(16, |first| row(first, 16)).unwrap();
        for source in row(first, 16) {
            assert_eq!(UdpSocket::bind(source).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        }
        drop(held);
        assert!(UdpSocket::bind((HERE, first)).is_ok());
    }

    #[test]
    fn a_port_of_another_program_is_skipped_or_reported() {
        let (first, held) = find(8, |first| row(first, 8)).unwrap();
        drop(held);
        // Bound for every address: ours is one of them.
        let other = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, first + 3)).unwrap();
        let taken = hold(row(first, 8)).unwrap_err();
        assert_eq!((taken.source.port(), taken.reason.kind()), (first + 3, io::ErrorKind::AddrInUse));
        let (next, _held) = find(8, |first| row(first, 8)).unwrap();
        assert!(next > first + 3);
        drop(other);
    }

    #[test]
    fn an_address_of_another_host_has_no_ports_here() {
        let elsewhere = SocketAddr::new("192.0.2.1".parse().unwrap(), 20_000);
        assert!(hold(std::iter::once(elsewhere)).is_ok());
    }

    #[test]
    fn the_end_of_the_ports_ends_the_search() {
        let last = SocketAddr::new(HERE, 65_530);
        let _other = UdpSocket::bind(last).unwrap();
        assert!(find(10, |_| std::iter::once(last)).is_err());
    }
}

//! The sockets of a network namespace, with their queues: `SOCK_DIAG_BY_FAMILY`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::{Extent, Netlink, attribute, u32_at};

/// The sockets of the network namespace in which this was opened.
#[derive(Debug)]
pub struct SocketTable(Netlink);

/// Sockets that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// UDP sockets that receive from anyone.
    Udp,
    /// TCP sockets that listen.
    TcpListening,
    /// TCP connections that are open on this side.
    TcpOpen,
}

/// A socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketState {
    /// The address that it is bound to.
    pub local: SocketAddr,
    /// The number by which processes refer to it; 0 as long as no process has accepted the connection.
    pub inode: u64,
    /// UDP: octets that wait to be read, with the kernel's overhead. A listening socket: connections that wait to be
    /// accepted. A connection: octets that wait to be read.
    pub receive_queue: u64,
    /// A listening socket: connections that may wait. Others: octets that wait to be sent or acknowledged.
    pub send_queue: u64,
    /// Octets that may wait to be read.
    pub receive_buffer_bytes: Option<u64>,
    /// Packets that were dropped because they did not fit.
    pub drops: Option<u64>,
}

impl SocketTable {
    /// Opens it; needs no privilege.
    pub fn open() -> io::Result<SocketTable> {
        Netlink::open(NETLINK_SOCK_DIAG).map(SocketTable)
    }

    /// All sockets of this kind, over IPv4 and IPv6.
    pub fn read(&mut self, kind: SocketKind) -> io::Result<Vec<SocketState>> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let asked = self.0.ask(SOCK_DIAG_BY_FAMILY, Extent::All, &request(family, kind), |message| {
                found.extend(socket_in(message));
            });
            match asked {
                // A kernel without IPv6.
                Err(error) if family == libc::AF_INET6 && error.kind() == io::ErrorKind::NotFound => {}
                asked => asked?,
            }
        }
        Ok(found)
    }
}

/// `struct inet_diag_req_v2`: family, protocol, extensions, padding, states; then addresses, which are not looked at.
fn request(family: i32, kind: SocketKind) -> Vec<u8> {
    let (protocol, states) = match kind {
        SocketKind::Udp => (libc::IPPROTO_UDP, 1 << CLOSE),
        SocketKind::TcpListening => (libc::IPPROTO_TCP, 1 << LISTEN),
        SocketKind::TcpOpen => (libc::IPPROTO_TCP, 1 << ESTABLISHED | 1 << CLOSE_WAIT),
    };
    let memory = if kind == SocketKind::Udp { 1 << (INET_DIAG_SKMEMINFO - 1) } else { 0 };
    let mut bytes = vec![family as u8, protocol as u8, memory, 0];
    bytes.extend_from_slice(&u32::to_ne_bytes(states));
    bytes.resize(REQUEST, 0);
    bytes
}

/// `struct inet_diag_msg` with its attributes.
fn socket_in(message: &[u8]) -> Option<SocketState> {
    let family = i32::from(*message.first()?);
    let port = message.get(LOCAL_PORT..)?.first_chunk().map(|port| u16::from_be_bytes(*port))?;
    let address = message.get(LOCAL_ADDRESS..)?;
    let address: IpAddr = match family {
        libc::AF_INET => Ipv4Addr::from(*address.first_chunk::<4>()?).into(),
        libc::AF_INET6 => Ipv6Addr::from(*address.first_chunk::<16>()?).into(),
        _ => return None,
    };
    let memory = attribute(message.get(MESSAGE..)?, u16::from(INET_DIAG_SKMEMINFO));
    let of_memory = |index: usize| u32_at(memory, index * 4).map(u64::from);
    Some(SocketState {
        local: SocketAddr::new(address, port),
        inode: u32_at(message, INODE)?.into(),
        receive_queue: u32_at(message, RECEIVE_QUEUE)?.into(),
        send_queue: u32_at(message, SEND_QUEUE)?.into(),
        receive_buffer_bytes: of_memory(RECEIVE_BUFFER),
        drops: of_memory(DROPS),
    })
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_SKMEMINFO: u8 = 7;

/// States of the kernel's sockets (`net/tcp_states.h`); a UDP socket without a peer is "closed".
const ESTABLISHED: u32 = 1;
const CLOSE: u32 = 7;
const CLOSE_WAIT: u32 = 8;
const LISTEN: u32 = 10;

/// Octets of the request, and of the fixed part of a message with the places of its fields.
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
const LOCAL_PORT: usize = 4;
const LOCAL_ADDRESS: usize = 8;
const RECEIVE_QUEUE: usize = 56;
const SEND_QUEUE: usize = 60;
const INODE: usize = 68;

/// Numbers of `INET_DIAG_SKMEMINFO` (`linux/sock_diag.h`).
const RECEIVE_BUFFER: usize = 1;
const DROPS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    fn at(kind: SocketKind, address: SocketAddr) -> Vec<SocketState> {
        let all = SocketTable::open().unwrap().read(kind).unwrap();
        all.into_iter().filter(|socket| socket.local == address).collect()
    }

    #[test]
    fn what_waits_at_a_udp_socket_and_what_it_dropped_is_told() {
        let socket = UdpSocket::bind("[::1]:0").unwrap();
        let buffer = crate::socket::set_receive_buffer(&socket, 4_096).unwrap() as u64;
        let sender = UdpSocket::bind("[::1]:0").unwrap();
        for _ in 0..500 {
            sender.send_to(&[0; 100], socket.local_addr().unwrap()).unwrap();
        }
        let found = at(SocketKind::Udp, socket.local_addr().unwrap());
        let [state] = &found[..] else { panic!("{found:?}") };
        assert_eq!(state.receive_buffer_bytes, Some(buffer));
        assert_eq!(state.drops, Some(crate::socket::drops(&socket).unwrap()));
        assert!(state.drops > Some(400) && state.receive_queue > 0 && state.inode > 0, "{state:?}");
    }

    #[test]
    fn connections_that_nobody_accepts_wait_in_the_queue_of_the_listening_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let found = at(SocketKind::TcpListening, address);
        assert_eq!((found.len(), found[0].receive_queue, found[0].send_queue), (1, 3, 128), "{found:?}");
        let _accepted = listener.accept().unwrap();
        assert_eq!(at(SocketKind::TcpListening, address)[0].receive_queue, 2);
        let open = at(SocketKind::TcpOpen, address);
        assert_eq!(open.iter().filter(|socket| socket.inode > 0).count(), 1, "{open:?}");
        assert_eq!(open.len(), 3);
    }

    #[test]
    fn a_message_that_is_cut_is_no_socket() {
        let mut message = vec![0; MESSAGE];
        message[0] = libc::AF_INET as u8;
        assert!(socket_in(&message).is_some());
        assert!((0..MESSAGE).all(|length| socket_in(&message[..length]).is_none()));
    }
}

//! The sockets of a network namespace with their queues: from the kernel's socket diagnostics on this host, from the
//! tables in `/proc/net` elsewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dnsdyno_sys::netlink::sockets::{SocketKind, SocketState, SocketTable};

use crate::files::FileReader;
use crate::source::ReadError;

/// Where sockets are looked up.
pub(crate) enum Sockets {
    /// Socket diagnostics.
    Diagnostics(SocketTable),
    /// The tables in this folder, which lack the backlog of listening sockets and the buffers.
    Tables(String),
}

/// The sockets of a namespace at one instant.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// UDP sockets that receive from anyone.
    pub(crate) udp: Vec<SocketState>,
    /// TCP sockets that listen.
    pub(crate) listening: Vec<SocketState>,
    /// TCP connections that are open on this side.
    pub(crate) open: Vec<SocketState>,
}

impl Sockets {
    /// Those of the network namespace of this thread; by its tables where the kernel has no diagnostics.
    pub(crate) fn here(folder: &str) -> Sockets {
        SocketTable::open().map_or_else(|_| Sockets::Tables(folder.to_owned()), Sockets::Diagnostics)
    }

    /// All of them.
    pub(crate) fn read(&mut self, reader: &mut dyn FileReader) -> Result<Seen, ReadError> {
        match self {
            Sockets::Diagnostics(table) => {
                let mut all = |kind| table.read(kind);
                let seen = all(SocketKind::Udp).and_then(|udp| {
                    let listening = all(SocketKind::TcpListening)?;
                    Ok(Seen { udp, listening, open: all(SocketKind::TcpOpen)? })
                });
                seen.map_err(|error| ReadError(format!("the kernel's table of sockets: {error}")))
            }
            Sockets::Tables(folder) => read_tables(folder, reader),
        }
    }
}

/// The tables of TCP are left out while many connections wait in TIME_WAIT: a line for each takes the kernel 10 µs.
fn read_tables(folder: &str, reader: &mut dyn FileReader) -> Result<Seen, ReadError> {
    let path = |name: &str| format!("{folder}/{name}");
    let (udp, tcp) = ([path("udp"), path("udp6")], [path("tcp"), path("tcp6")]);
    let files = reader.read(&[&udp[..], &[path("sockstat")]].concat())?;
    let mut seen = Seen::default();
    seen.udp.extend(udp.iter().flat_map(|path| sockets_in(files.text(path), &[UNCONNECTED])));
    if lines_of_tcp(files.text(&path("sockstat"))) <= MOST_LINES {
        let files = reader.read(&tcp)?;
        for table in tcp.iter().map(|path| files.text(path)) {
            seen.listening.extend(sockets_in(table, &[LISTENING]));
            seen.open.extend(sockets_in(table, &[ESTABLISHED, CLOSE_WAIT]));
        }
    }
    Ok(seen)
}

/// How many lines the tables of TCP have: `TCP: inuse 5 orphan 0 tw 28231 alloc 9 mem 1`.
fn lines_of_tcp(sockstat: &str) -> u64 {
    let words = sockstat.lines().find_map(|line| line.strip_prefix("TCP: ")).unwrap_or_default();
    let words: Vec<&str> = words.split(' ').collect();
    let number = |pair: &[&str]| match pair {
        ["inuse" | "orphan" | "tw", count] => count.parse().unwrap_or(0),
        _ => 0,
    };
    words.chunks(2).map(number).fold(0, u64::saturating_add)
}

/// Those of one table in one of these states: `sl local_address rem_address st tx_queue:rx_queue … inode … drops`.
fn sockets_in(table: &str, states: &[&str]) -> Vec<SocketState> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let state = *fields.get(STATE)?;
        if !states.contains(&state) {
            return None;
        }
        let (address, port) = fields.get(1)?.split_once(':')?;
        let (sent, received) = fields.get(QUEUES)?.split_once(':')?;
        Some(SocketState {
            local: SocketAddr::new(address_in(address)?, u16::from_str_radix(port, 16).ok()?),
            inode: fields.get(INODE)?.parse().ok()?,
            receive_queue: u64::from_str_radix(received, 16).ok()?,
            send_queue: u64::from_str_radix(sent, 16).ok()?,
            receive_buffer_bytes: None,
            drops: fields.get(DROPS).filter(|_| state == UNCONNECTED).and_then(|drops| drops.parse().ok()),
        })
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

/// An address as the kernel prints it: each 32 bits as a number of the host's byte order.
fn address_in(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at * 8..at * 8 + 8)?, 16).ok()?.to_ne_bytes());
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let bytes = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
        }
        _ => None,
    }
}

/// Fields of a line.
const STATE: usize = 3;
const QUEUES: usize = 4;
const INODE: usize = 9;
const DROPS: usize = 12;

/// States of sockets.
const ESTABLISHED: &str = "01";
const UNCONNECTED: &str = "07";
const CLOSE_WAIT: &str = "08";
const LISTENING: &str = "0A";

/// Lines of the tables of TCP with which they are still read.
const MOST_LINES: u64 = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::LocalFiles;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn the_lines_of_tcp_are_counted() {
        let text = "sockets: used 212\nTCP: inuse 5 orphan 1 tw 28231 alloc 9 mem 1\nUDP: inuse 2 mem 0\n";
        assert_eq!((lines_of_tcp(text), lines_of_tcp("TCP: inuse 5\n"), lines_of_tcp("")), (28_237, 5, 0));
        // Another host may say anything.
        assert_eq!(lines_of_tcp("TCP: inuse 18446744073709551615 orphan 1\n"), u64::MAX);
    }

    #[test]
    fn the_tables_tell_the_same_as_the_diagnostics() {
        let udp = UdpSocket::bind("[::1]:0").unwrap();
        let sender = UdpSocket::bind("[::1]:0").unwrap();
        (0..3).for_each(|_| assert!(sender.send_to(&[0; 100], udp.local_addr().unwrap()).is_ok()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _clients: Vec<_> =
            (0..2).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let _accepted = listener.accept().unwrap();
        let ours = |mut sockets: Sockets| {
            let seen = sockets.read(&mut LocalFiles).unwrap();
            let at = |sockets: Vec<SocketState>, address| {
                let mut found: Vec<_> =
                    sockets.into_iter().filter(|socket| socket.local == address).collect();
                // The tables do not have these.
                found.iter_mut().for_each(|socket| socket.receive_buffer_bytes = None);
                found.sort_by_key(|socket| socket.inode);
                found
            };
            let mut listening = at(seen.listening, listener.local_addr().unwrap());
            listening.iter_mut().for_each(|socket| socket.send_queue = 0);
            let tcp = listener.local_addr().unwrap();
            (at(seen.udp, udp.local_addr().unwrap()), listening, at(seen.open, tcp))
        };
        let (diagnostics, tables) =
            (ours(Sockets::here("/proc/net")), ours(Sockets::Tables("/proc/net".to_owned())));
        assert_eq!(diagnostics, tables);
        let (udp, listening, open) = tables;
        assert!(udp[0].receive_queue >= 300, "{udp:?}");
        assert_eq!((listening[0].receive_queue, open.len(), open[0].inode), (1, 2, 0));
    }

    #[test]
    fn a_connected_socket_is_no_server_and_a_short_line_is_no_socket() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             1: 0100007F:14B2 00000000:0000 07 00000001:00000002 00:00000000 00000000     0        0 77 2 0 9\n\
             2: 0100007F:14B2 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 78 2 0 0\n\
             4: short\n 5: 01:1 1:1 07 0:0 0:0 0 0 0 1 1\n";
        if cfg!(target_endian = "little") {
            let found = sockets_in(table, &[UNCONNECTED]);
            assert_eq!(
                found,
                [SocketState {
                    local: "127.0.0.1:5298".parse().unwrap(),
                    inode: 77,
                    receive_queue: 2,
                    send_queue: 1,
                    receive_buffer_bytes: None,
                    drops: Some(9),
                }]
            );
        }
    }
}

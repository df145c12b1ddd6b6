//! Which processes receive what is sent to an address: by the inodes of their sockets.
//!
//! Whose socket is whose needs root for processes of other users.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use dnsdyno_sys::netlink::sockets::SocketState;

use crate::files::{FileReader, LocalFiles, links_in};
use crate::sockets::{Seen, Sockets};
use crate::source::ReadError;

/// Whether an address is one of this host, seen from this network namespace: then a socket can be bound to it.
pub fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
}

/// The processes of this host that receive what is sent to one of these addresses of it.
pub fn listening_processes(addresses: &[SocketAddr]) -> Vec<u32> {
    let inodes = Sockets::here("/proc/net")
        .read(&mut LocalFiles)
        .map(|seen| inodes_at(&seen, addresses, Asked::Queries));
    let owners = inodes.and_then(|inodes| owners(&mut LocalFiles, &inodes)).unwrap_or_default();
    owners.into_iter().map(|owner| owner.pid).collect()
}

/// What is sent to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Queries: sockets of TCP receive them only where there is none of UDP.
    Queries,
    /// A connection of TCP.
    Streams,
}

/// The inodes of the sockets that receive what is sent to these addresses.
pub(crate) fn inodes_at(seen: &Seen, addresses: &[SocketAddr], asked: Asked) -> Vec<u64> {
    let at = |sockets: &[SocketState]| -> Vec<u64> {
        addresses.iter().flat_map(|address| nearest(sockets, *address)).collect()
    };
    let udp = if asked == Asked::Queries { at(&seen.udp) } else { Vec::new() };
    if udp.is_empty() { at(&seen.listening) } else { udp }
}

/// The sockets to which the kernel gives what is sent to an address: those that are bound to it, and only where there
/// are none, those of any address.
fn nearest(sockets: &[SocketState], address: SocketAddr) -> impl Iterator<Item = u64> {
    let best = sockets.iter().filter_map(|socket| nearness(socket.local, address)).max();
    let is_best = move |socket: &&SocketState| best.is_some() && nearness(socket.local, address) == best;
    sockets.iter().filter(is_best).map(|socket| socket.inode)
}

/// Whether a socket that is bound to `local` receives what is sent to `address`, where no other one is nearer.
pub(crate) fn receives(local: SocketAddr, address: SocketAddr) -> bool {
    nearness(local, address).is_some()
}

/// How near a socket that is bound to `local` is to `address`; `None` where it does not receive what is sent there.
fn nearness(local: SocketAddr, address: SocketAddr) -> Option<u8> {
    if local.port() != address.port() {
        return None;
    }
    match local.ip() {
        ip if ip.to_canonical() == address.ip().to_canonical() => Some(2),
        ip if ip.is_unspecified() && ip.is_ipv4() == address.is_ipv4() => Some(1),
        // A socket of IPv6 may receive what is sent over IPv4 too.
        ip if ip.is_unspecified() && ip.is_ipv6() => Some(0),
        _ => None,
    }
}

/// A process, and those of the sockets asked for that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    pub(crate) inodes: BTreeSet<u64>,
}

/// The processes that have one of these sockets open.
pub(crate) fn owners(reader: &mut dyn FileReader, inodes: &[u64]) -> Result<Vec<Owner>, ReadError> {
    if inodes.is_empty() {
        return Ok(Vec::new());
    }
    let files = reader.read(&["/proc/*/fd/".to_owned()])?;
    let owner = |(path, text): (&str, &str)| {
        let pid = path.strip_prefix("/proc/")?.split('/').next()?.parse().ok()?;
        let its: BTreeSet<u64> = socket_inodes(text).filter(|inode| inodes.contains(inode)).collect();
        (!its.is_empty()).then_some(Owner { pid, inodes: its })
    };
    let mut owners: Vec<Owner> = files.under("/proc/").filter_map(owner).collect();
    owners.sort_by_key(|owner| owner.pid);
    Ok(owners)
}

/// The sockets among the open files of a process: `7 -> socket:[4711]`.
pub(crate) fn socket_inodes(links: &str) -> impl Iterator<Item = u64> {
    let inode = |target: &str| target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    links_in(links).filter_map(move |(_, target)| inode(target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_owner_of_a_socket_is_found_by_its_address() {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let any = TcpListener::bind("[::]:0").unwrap();
        for (address, is_found) in [
            (udp.local_addr().unwrap(), true),
            (SocketAddr::new("127.0.0.9".parse().unwrap(), udp.local_addr().unwrap().port()), false),
            (SocketAddr::new("::1".parse().unwrap(), any.local_addr().unwrap().port()), true),
            (SocketAddr::new("127.0.0.1".parse().unwrap(), any.local_addr().unwrap().port()), true),
        ] {
            let found = listening_processes(&[address]);
            assert_eq!(found.contains(&std::process::id()), is_found, "{address}: {found:?}");
        }
    }

    #[test]
    fn a_socket_of_the_very_address_is_nearer_than_one_of_any_address() {
        let socket = |local: &str, inode| SocketState {
            local: local.parse().unwrap(),
            inode,
            receive_queue: 0,
            send_queue: 0,
            receive_buffer_bytes: None,
            drops: None,
        };
        let udp = vec![
            socket("0.0.0.0:53", 1),
            socket("127.0.0.1:53", 2),
            socket("127.0.0.1:53", 3),
            socket("[::]:53", 4),
        ];
        let seen = Seen { udp, ..Seen::default() };
        let at = |address: &str| inodes_at(&seen, &[address.parse().unwrap()], Asked::Queries);
        assert_eq!(at("127.0.0.1:53"), [2, 3]);
        assert_eq!(at("127.0.0.2:53"), [1]);
        assert_eq!(at("[::1]:53"), [4]);
        assert_eq!(at("127.0.0.1:54"), [0; 0]);
    }

    #[test]
    fn sockets_are_told_from_other_files() {
        let links =
            "0 -> /dev/null\n7 -> socket:[4711]\n8 -> pipe:[3]\n9 -> socket:[x]\n10 -> socket:[12]\nbroken\n";
        assert_eq!(socket_inodes(links).collect::<Vec<_>>(), [4_711, 12]);
    }

    #[test]
    fn addresses_of_this_host_are_told_from_others() {
        for address in ["127.0.0.1", "::1", "127.9.8.7", "0.0.0.0"] {
            assert!(is_local(address.parse().unwrap()), "{address}");
        }
        assert!(!is_local("192.0.2.1".parse().unwrap()));
    }
}

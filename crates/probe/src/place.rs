//! Who listens at an address of this host: in the network namespace of this process, or in the one that has the
//! address.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use dnsdyno_sys::namespace::Namespace as Entrance;

use crate::family::{listening, servers};
use crate::files::{FileReader, Files, LocalFiles, links_in};
use crate::found::{Asked, is_local};
use crate::namespace::{inside, is_elsewhere};
use crate::sockets::Sockets;
use crate::source::ReadError;

/// Where an address is.
pub(crate) struct Place {
    /// The processes of each server that listens there, its first one first.
    pub(crate) servers: Vec<Vec<u32>>,
    /// Its network namespace, where it is another one than ours.
    pub(crate) namespace: Option<String>,
}

/// Who listens at an address; `None` where nobody is seen.
///
/// # Errors
/// The files of this host cannot be read.
pub(crate) fn listeners(address: SocketAddr, asked: Asked) -> Result<Option<Place>, ReadError> {
    if is_local(address.ip()) {
        let mut sockets = Sockets::here("/proc/net");
        let servers = servers(listening(&mut LocalFiles, &mut sockets, &[address], asked)?);
        return Ok((!servers.is_empty()).then_some(Place { servers, namespace: None }));
    }
    for (namespace, pid) in namespaces()? {
        let net = format!("/proc/{pid}/net");
        if has_address(&mut LocalFiles, &net, address.ip())? {
            let servers = servers(listening(&mut LocalFiles, &mut sockets_of(pid), &[address], asked)?);
            // Several may have the same address; the server listens in one of them.
            if !servers.is_empty() {
                return Ok(Some(Place { servers, namespace: Some(namespace) }));
            }
        }
    }
    Ok(None)
}

/// Where the sockets of a process of this host are looked up.
pub(crate) fn sockets_of(pid: u32) -> Sockets {
    let folder = format!("/proc/{pid}/net");
    match is_elsewhere(&mut LocalFiles, pid) {
        Ok(Some(false)) => Sockets::here(&folder),
        _ => {
            let entered =
                Entrance::of_process(pid).and_then(|namespace| inside(&namespace, || Sockets::here(&folder)));
            entered.unwrap_or(Sockets::Tables(folder))
        }
    }
}

/// The network namespaces of this host that this user may see, each with one of its processes, without our own.
fn namespaces() -> Result<BTreeMap<String, u32>, ReadError> {
    let files = LocalFiles.read(&["/proc/self/ns/".to_owned(), "/proc/*/ns/".to_owned()])?;
    let own = namespace_in(&files, "/proc/self/ns/");
    let of = |(path, _): (&str, &str)| {
        let pid = path.strip_prefix("/proc/")?.strip_suffix("/ns/")?;
        Some((namespace_in(&files, path)?, pid.parse().ok()?))
    };
    Ok(files
        .under("/proc/")
        .filter_map(of)
        .filter(|(namespace, _)| Some(namespace) != own.as_ref())
        .collect())
}

/// The network namespace of a process, by its folder `/proc/4711/ns/`: `net:[4026531840]`.
pub(crate) fn namespace_in(files: &Files, folder: &str) -> Option<String> {
    links_in(files.text(folder)).find(|(name, _)| *name == "net").map(|(_, target)| target.to_owned())
}

/// Whether a network namespace, by its folder in `/proc`, has this address.
///
/// # Errors
/// The host cannot be reached.
pub(crate) fn has_address(
    reader: &mut dyn FileReader,
    net: &str,
    address: IpAddr,
) -> Result<bool, ReadError> {
    let (routes, addresses) = (format!("{net}/fib_trie"), format!("{net}/if_inet6"));
    Ok(match address {
        IpAddr::V4(_) => has_ipv4(reader.read(std::slice::from_ref(&routes))?.text(&routes), address),
        IpAddr::V6(_) => has_ipv6(reader.read(std::slice::from_ref(&addresses))?.text(&addresses), address),
    })
}

/// Whether a table of routes has this address as one of the host's own: a line with it, then `/32 host LOCAL`.
fn has_ipv4(routes: &str, address: IpAddr) -> bool {
    let wanted = format!("|-- {address}");
    let lines = routes.lines().zip(routes.lines().skip(1));
    lines.into_iter().any(|(leaf, kind)| leaf.trim() == wanted && kind.contains("/32 host LOCAL"))
}

fn has_ipv6(addresses: &str, address: IpAddr) -> bool {
    let IpAddr::V6(address) = address else { return false };
    let wanted: String = address.octets().iter().map(|octet| format!("{octet:02x}")).collect();
    addresses.lines().any(|line| line.starts_with(&wanted))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn addresses_of_another_namespace_are_found_in_its_tables() {
        let routes = "Local:\n  +-- 10.77.0.0/24 2 0 2\n     |-- 10.77.0.0\n        /24 link UNICAST\n     |-- \
          10.77.0.2\n        /32 host LOCAL\n";
        let has = |address: &str| has_ipv4(routes, address.parse().unwrap());
        assert_eq!(["10.77.0.2", "10.77.0.0", "10.77.0.20"].map(has), [true, false, false]);
        let addresses = "fd770000000000000000000000000002 02 40 00 80 far\n";
        let has = |address: &str| has_ipv6(addresses, address.parse().unwrap());
        assert_eq!(["fd77::2", "fd77::1"].map(has), [true, false]);
    }

    #[test]
    fn who_listens_here_is_found() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let place = listeners(address, Asked::Queries).unwrap().unwrap();
        assert_eq!((place.servers, place.namespace), (vec![vec![std::process::id()]], None));
        assert!(listeners(address, Asked::Streams).unwrap().is_none());
    }
}

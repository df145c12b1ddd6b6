//! The servers that the load goes to, as far as this host shows them: what else is watched is beside them.

use std::fs;
use std::net::SocketAddr;

use crate::family::are_one;
use crate::found::Asked;
use crate::place::listeners;

/// Who receives the load.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The processes of each server.
    servers: Vec<Vec<u32>>,
    /// The network namespaces with the addresses of the load, other than ours.
    namespaces: Vec<String>,
    /// The server of each address is seen.
    is_whole: bool,
}

impl Loaded {
    /// Looks for the servers at these addresses.
    pub(crate) fn find(addresses: &[SocketAddr]) -> Loaded {
        let mut loaded = Loaded { is_whole: !addresses.is_empty(), ..Loaded::default() };
        for address in addresses {
            let place = listeners(*address, Asked::Queries).ok().flatten();
            let is_seen = place.is_some_and(|place| {
                loaded.namespaces.extend(place.namespace);
                // Behind what passes queries on, the server is another one.
                let (relays, servers): (Vec<_>, Vec<_>) =
                    place.servers.into_iter().partition(|pids| pids.iter().any(|pid| passes_on(*pid)));
                loaded.servers.extend(servers);
                relays.is_empty()
            });
            loaded.is_whole &= is_seen;
        }
        loaded
    }

    /// Whether these processes are those of a server of the load; `None` where that is not known.
    pub(crate) fn has(&self, pids: &[u32]) -> Option<bool> {
        let is_its = self.servers.iter().any(|server| are_one(server, pids));
        let is_known = is_its || self.is_whole && !pids.is_empty();
        is_known.then_some(is_its)
    }

    /// Whether a server of the load is in this network namespace, which is not ours; `None` where that is not known.
    pub(crate) fn is_in(&self, namespace: Option<&str>) -> Option<bool> {
        let is_its = namespace.is_some_and(|name| self.namespaces.iter().any(|its| its == name));
        let is_known = is_its || self.is_whole && namespace.is_some();
        is_known.then_some(is_its)
    }
}

/// Whether a process only passes on what it receives: one of ours, which makes a path (an experiment is this process
/// itself), or that of a published port of a container.
fn passes_on(pid: u32) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = command.split(|octet| *octet == 0).map(String::from_utf8_lossy).collect();
    let program = words.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    match program {
        "docker-proxy" | "rootlessport" => true,
        "dnsdyno" => words.get(1).is_some_and(|verb| verb == "relay") || pid == std::process::id(),
        _ => pid == std::process::id(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn what_this_process_receives_it_passes_on_and_what_nobody_receives_is_not_known() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let loaded = Loaded::find(&[address]);
        assert_eq!((loaded.has(&[std::process::id()]), loaded.is_in(Some("net:[1]"))), (None, None));
        let elsewhere = Loaded::find(&["192.0.2.1:53".parse().unwrap()]);
        assert_eq!((elsewhere.has(&[1]), elsewhere.is_in(None)), (None, None));
        assert_eq!(Loaded::find(&[]).has(&[1]), None);
    }

    #[test]
    fn a_process_beside_a_server_that_is_seen_is_not_the_server() {
        let own = std::process::id();
        let loaded = Loaded { servers: vec![vec![own]], namespaces: vec!["net:[1]".into()], is_whole: true };
        assert_eq!(
            (loaded.has(&[own]), loaded.has(&[u32::MAX]), loaded.has(&[])),
            (Some(true), Some(false), None)
        );
        assert_eq!((loaded.is_in(Some("net:[1]")), loaded.is_in(Some("net:[2]"))), (Some(true), Some(false)));
        let in_part = Loaded { is_whole: false, ..loaded };
        assert_eq!((in_part.has(&[own]), in_part.has(&[u32::MAX])), (Some(true), None));
    }
}

//! What can be found without being told: `--watch auto`.
//!
//! ```text
//!   target ──► who listens there, in this network namespace or in another one of this host
//!                 │ process ──► kind ──► its configuration ──► its statistics, if it allows them
//!                 └ nobody  ──► this host alone, as that of the generator
//! ```
//!
//! It says what it found and how to get more; what cannot be opened is said, and is no error.

mod configuration;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use dnsdyno_measure::shown;
use dnsdyno_plan::{At, ServerWatch};

use self::configuration::{Process, Statistics, statistics_of};
use crate::files::{FileReader, LocalFiles, links_in};
use crate::found::is_local;
use crate::opened::{Opened, Targets};
use crate::process::listening;
use crate::source::OpenError;
use crate::{host, process, server};

pub(crate) fn open(targets: &Targets, opened: &mut Opened) -> Result<(), OpenError> {
    host::open(None, targets, opened)?;
    let (mut namespaces, mut found) = (BTreeSet::new(), BTreeSet::new());
    for target in &targets.addresses {
        let Some(place) = find(*target)? else {
            opened.notes.push(nobody(*target));
            continue;
        };
        for pid in place.pids.into_iter().filter(|pid| found.insert(*pid)) {
            if place.namespace.as_ref().is_some_and(|namespace| namespaces.insert(namespace.clone())) {
                open_or_say(opened, "its network namespace", |opened| host::open(Some(pid), targets, opened));
            }
            open_process(pid, *target, place.namespace.is_some(), targets, opened);
        }
    }
    Ok(())
}

/// Where a server was found.
struct Place {
    /// The first process of each server that listens there.
    pids: Vec<u32>,
    /// Its network namespace, where it is another one than ours.
    namespace: Option<String>,
}

/// Who listens at an address: in this network namespace, or in the one that has this address.
fn find(target: SocketAddr) -> Result<Option<Place>, OpenError> {
    if is_local(target.ip()) {
        let pids = servers(listening(&mut LocalFiles, "/proc/net", &[target])?);
        return Ok((!pids.is_empty()).then_some(Place { pids, namespace: None }));
    }
    for (namespace, pid) in namespaces()? {
        let net = format!("/proc/{pid}/net");
        let files = LocalFiles.read(&["fib_trie", "if_inet6"].map(|file| format!("{net}/{file}")))?;
        let has_address = match target.ip() {
            IpAddr::V4(_) => has_ipv4(files.text(&format!("{net}/fib_trie")), target.ip()),
            IpAddr::V6(_) => has_ipv6(files.text(&format!("{net}/if_inet6")), target.ip()),
        };
        if has_address {
            let pids = servers(listening(&mut LocalFiles, &net, &[target])?);
            // Several may have the same address; the server listens in one of them.
            if !pids.is_empty() {
                return Ok(Some(Place { pids, namespace: Some(namespace) }));
            }
        }
    }
    Ok(None)
}

/// The first process of each server: groups of processes of which one has started the other are one server.
fn servers(groups: Vec<Vec<u32>>) -> Vec<u32> {
    let mut firsts: Vec<(u32, Vec<u32>)> = Vec::new();
    for pids in groups {
        let Some(first) = pids.first().copied() else { continue };
        let is_related = |(other, others): &(u32, Vec<u32>)| {
            ancestors(first).any(|pid| others.contains(&pid))
                || ancestors(*other).any(|pid| pids.contains(&pid))
        };
        if !firsts.iter().any(is_related) {
            firsts.push((first, pids));
        }
    }
    firsts.into_iter().map(|(first, _)| first).collect()
}

/// The process that started this one, and so on, without the first process of the host.
fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    let parent = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        (parent > 1).then_some(parent)
    };
    std::iter::successors(parent(&pid), parent).take(MOST_ANCESTORS)
}

/// The network namespaces of this host that this user may see, each with one of its processes, without our own.
fn namespaces() -> Result<BTreeMap<String, String>, OpenError> {
    let files = LocalFiles.read(&["/proc/self/ns/".to_owned(), "/proc/*/ns/".to_owned()])?;
    let net =
        |text: &str| links_in(text).find(|(name, _)| *name == "net").map(|(_, target)| target.to_owned());
    let own = net(files.text("/proc/self/ns/"));
    let of = |(path, text): (&str, &str)| {
        let pid = path.strip_prefix("/proc/")?.strip_suffix("/ns/")?;
        pid.parse::<u32>().ok()?;
        Some((net(text)?, pid.to_owned()))
    };
    Ok(files
        .under("/proc/")
        .filter_map(of)
        .filter(|(namespace, _)| Some(namespace) != own.as_ref())
        .collect())
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

fn nobody(target: SocketAddr) -> String {
    match is_local(target.ip()) {
        true => format!(
            "auto: this host; no process that this user may see listens at {target} (as root all can be seen)"
        ),
        false => format!(
            "auto: this host, as that of the generator; {target} is elsewhere: add --watch ssh://HOST for its host"
        ),
    }
}

/// Watches a process, and its statistics where its configuration allows them.
fn open_process(pid: u32, target: SocketAddr, is_elsewhere: bool, targets: &Targets, opened: &mut Opened) {
    let before = opened.sources.len();
    open_or_say(opened, "its process", |opened| process::open(Some(pid), targets, opened));
    let Some(watched) = opened.sources.get(before).map(|source| source.watched().clone()) else { return };
    let label = watched.label;
    let Some(software) = watched.software else {
        opened.notes.push(format!("auto: {label} listens at {target}; its kind is not known"));
        return;
    };
    let process = Process { pid, target: target.ip(), is_elsewhere };
    match statistics_of(&software, &process) {
        Statistics::At(server) => {
            let opens = open_or_say(opened, &format!("the statistics of {label}"), |opened| {
                server::open(&server, targets, opened)
            });
            if opens {
                opened
                    .notes
                    .push(format!("auto: {label} listens at {target}; statistics: {}", place_of(&server)));
            }
        }
        Statistics::Missing(how) => {
            opened.notes.push(format!("auto: {label} listens at {target}; for its statistics {how}"));
        }
    }
}

fn place_of(server: &ServerWatch) -> String {
    match &server.at {
        At::Url(text) | At::Address(text) => shown(text, LONGEST_PLACE).into_owned(),
        At::Path(path) => shown(&path.display().to_string(), LONGEST_PLACE).into_owned(),
    }
}

/// Opens a source; what cannot be opened is a sentence. Returns whether it was opened.
fn open_or_say(
    opened: &mut Opened,
    what: &str,
    open: impl FnOnce(&mut Opened) -> Result<(), OpenError>,
) -> bool {
    let result = open(opened);
    if let Err(error) = &result {
        opened.notes.push(format!("auto: {what} cannot be watched: {}", error.reason()));
    }
    result.is_ok()
}

/// A process may have ended, and its number belong to another one, while its ancestors are looked up.
const MOST_ANCESTORS: usize = 16;

/// Characters of an address or path in a sentence.
const LONGEST_PLACE: usize = 200;

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
        let place = find(socket.local_addr().unwrap()).unwrap().unwrap();
        assert_eq!((place.pids, place.namespace), (vec![std::process::id()], None));
    }

    #[test]
    fn processes_that_started_each_other_are_one_server() {
        let own = std::process::id();
        let parent = ancestors(own).next().unwrap();
        let one_server = [servers(vec![vec![own], vec![parent]]), servers(vec![vec![parent], vec![own]])];
        assert_eq!(one_server, [[own], [parent]]);
        assert_eq!(servers(vec![vec![own], vec![1]]), [own, 1]);
    }

    #[test]
    fn a_target_elsewhere_leaves_the_host_of_the_generator_and_says_how_to_see_the_other() {
        let targets = Targets { addresses: vec!["192.0.2.1:53".parse().unwrap()] };
        let mut opened = Opened::default();
        open(&targets, &mut opened).unwrap();
        assert_eq!(opened.sources.len(), 1);
        assert!(opened.notes[0].ends_with("192.0.2.1:53 is elsewhere: add --watch ssh://HOST for its host"));
    }
}

//! Who else runs on our CPUs: the server, if it is on this host, and processes that were busy during the run.
//!
//! Reads `/proc` before and after the run, never during it. Whose socket is whose needs root for processes of other
//! users; without it, a server on this host has no number.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use dnsdyno_measure::Neighbour;
use dnsdyno_sys::{clock, thread};

use crate::host::is_local;

/// The processes before the run.
pub(crate) struct Neighbours {
    at: Instant,
    /// CPU time by process, in ticks of the kernel.
    ticks: BTreeMap<u32, u64>,
    /// The processes with a socket at the server's address.
    servers: Vec<u32>,
    server_is_here: bool,
}

impl Neighbours {
    /// Looks at the processes of this host before a run against `server`.
    pub(crate) fn before(server: SocketAddr) -> Self {
        let server_is_here = is_local(server.ip());
        let servers = if server_is_here { owners(&inodes_at(server)) } else { Vec::new() };
        let ticks = processes().into_iter().map(|process| (process.pid, process.ticks)).collect();
        Neighbours { at: Instant::now(), ticks, servers, server_is_here }
    }

    /// Those that may run on our CPUs: the server first, then the busiest others.
    pub(crate) fn after(self) -> Vec<Neighbour> {
        let elapsed_s = self.at.elapsed().as_secs_f64().max(1e-3);
        let ours = thread::allowed_cpus().unwrap_or_default();
        let shares_cpus = |pid| {
            let theirs = fs::read_to_string(format!("/proc/{pid}/status")).ok();
            let theirs = theirs.as_deref().and_then(allowed_cpus_in);
            theirs.is_none_or(|theirs| theirs.iter().any(|cpus| ours.iter().any(|cpu| cpus.contains(cpu))))
        };
        let mut found = Vec::new();
        for Process { pid, name, ticks } in processes() {
            let is_server = self.servers.contains(&pid);
            // A process that has started since has used all of its time during the run.
            let used = ticks.saturating_sub(self.ticks.get(&pid).copied().unwrap_or(0));
            let cpu_share = used as f64 / clock::ticks_per_second() as f64 / elapsed_s;
            if (is_server || cpu_share > BUSY_SHARE) && pid != std::process::id() && shares_cpus(pid) {
                found.push(Neighbour { pid: Some(pid), name, is_server, cpu_share });
            }
        }
        found.sort_by(|a, b| b.is_server.cmp(&a.is_server).then(b.cpu_share.total_cmp(&a.cpu_share)));
        found.truncate(MOST_NEIGHBOURS);
        if self.server_is_here && self.servers.is_empty() {
            found.insert(0, Neighbour { is_server: true, ..Neighbour::default() });
        }
        found
    }
}

/// A process and the CPU time that it has used.
struct Process {
    pid: u32,
    name: String,
    ticks: u64,
}

/// The numbers of all processes.
fn pids() -> impl Iterator<Item = u32> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok())
}

/// All processes but the threads of the kernel, which work for us.
fn processes() -> Vec<Process> {
    let read = |pid| process_in(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    pids().filter_map(read).collect()
}

/// A process from its `stat`: `4711 (named) S 1 ...`; the name may contain anything.
fn process_in(pid: u32, stat: &str) -> Option<Process> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    if pid == KERNEL_THREADS || number(PARENT)? == u64::from(KERNEL_THREADS) {
        return None;
    }
    Some(Process { pid, name: name.to_owned(), ticks: number(USER_TICKS)? + number(SYSTEM_TICKS)? })
}

/// The CPUs that a process may run on, from its `status`: `0-3,8`.
fn allowed_cpus_in(status: &str) -> Option<Vec<std::ops::RangeInclusive<usize>>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let range = |item: &str| {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').map(range).collect()
}

/// The inodes of the sockets that receive what is sent to this address. The tables of TCP are read only if there is
/// none over UDP, and not after many connections: a line for each of those that wait takes the kernel 10 µs.
fn inodes_at(server: SocketAddr) -> Vec<u64> {
    let read = |(table, state): &(&str, &str)| {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        inodes_in(&text, state, server)
    };
    let tables = [[("udp", UNCONNECTED), ("udp6", UNCONNECTED)], [("tcp", LISTENING), ("tcp6", LISTENING)]];
    let is_long = fs::read_to_string("/proc/net/sockstat").is_ok_and(|text| waiting_in(&text) > MOST_WAITING);
    let found = tables
        .iter()
        .take(if is_long { 1 } else { 2 })
        .map(|tables| tables.iter().flat_map(read).collect::<Vec<_>>());
    found.into_iter().find(|inodes| !inodes.is_empty()).unwrap_or_default()
}

/// The connections in TIME_WAIT: `TCP: inuse 5 orphan 0 tw 28231 alloc 9 mem 1`.
fn waiting_in(sockstat: &str) -> u64 {
    let words = sockstat.lines().find_map(|line| line.strip_prefix("TCP: ")).unwrap_or_default();
    words.split(' ').skip_while(|word| *word != "tw").nth(1).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Those of one table of the kernel: `sl local_address rem_address st ... inode`.
fn inodes_in(table: &str, state: &str, server: SocketAddr) -> Vec<u64> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().take(INODE + 1).collect();
        let (address, port) = fields.get(1)?.split_once(':')?;
        let (address, port) = (address_in(address)?, u16::from_str_radix(port, 16).ok()?);
        let is_its = address.is_unspecified() || address.to_canonical() == server.ip().to_canonical();
        (port == server.port() && is_its && *fields.get(3)? == state).then_some(())?;
        fields.get(INODE)?.parse().ok()
    };
    let port = format!(":{:04X} ", server.port());
    table.lines().skip(1).filter(|line| line.contains(&port)).filter_map(of_line).collect()
}

/// An address as the kernel prints it: each 32 bits as a number of this host's byte order.
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

/// The processes that have one of these sockets open.
fn owners(inodes: &[u64]) -> Vec<u32> {
    let links: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let has_one = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.take(MOST_FILES).any(|file| {
            fs::read_link(file.path())
                .is_ok_and(|to| links.iter().any(|link| to.as_os_str() == link.as_str()))
        })
    };
    if links.is_empty() { Vec::new() } else { pids().filter(has_one).collect() }
}

/// A process that uses less disturbs no one.
const BUSY_SHARE: f64 = 0.1;

/// Processes that are reported at most, besides a server without a number.
const MOST_NEIGHBOURS: usize = 4;

/// Open files of a process that are looked at: a server opens its listening sockets first.
const MOST_FILES: usize = 4_096;

/// Connections in TIME_WAIT with which the tables of TCP are still read.
const MOST_WAITING: u64 = 2_000;

/// The parent of the kernel's threads.
const KERNEL_THREADS: u32 = 2;

/// Fields of `stat` after the name.
const PARENT: usize = 1;
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;

/// The inode's place in a line of a table of sockets, and the states of sockets without a connection.
const INODE: usize = 9;
const UNCONNECTED: &str = "07";
const LISTENING: &str = "0A";

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn connections_that_wait_are_counted() {
        let text = "sockets: used 212\nTCP: inuse 5 orphan 0 tw 28231 alloc 9 mem 1\nUDP: inuse 2 mem 0\n";
        assert_eq!((waiting_in(text), waiting_in("TCP: inuse 5\n"), waiting_in("")), (28_231, 0, 0));
    }

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
            let owners = owners(&inodes_at(address));
            assert_eq!(owners.contains(&std::process::id()), is_found, "{address}: {owners:?}");
        }
    }

    #[test]
    fn a_connected_socket_is_no_server() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             1: 0100007F:14B2 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 77 2 0 0\n\
             2: 0100007F:14B2 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 78 2 0 0\n\
             3: 0200007F:14B2 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 79 2 0 0\n\
             4: short\n";
        let server = "127.0.0.1:5298".parse().unwrap();
        if cfg!(target_endian = "little") {
            assert_eq!(inodes_in(table, UNCONNECTED, server), [77]);
        }
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 5 0 100 0 0";
        let process = process_in(4_711, stat).unwrap();
        assert_eq!((process.name.as_str(), process.ticks), ("a) b (c", 300));
        assert!(process_in(15, "15 (ksoftirqd/0) S 2 0 0 0 -1 0 0 0 0 0 9 9").is_none());
        assert!(process_in(1, "1 (half").is_none() && process_in(1, "1 (half) S 0").is_none());
    }

    #[test]
    fn the_cpus_of_a_process_are_read() {
        assert_eq!(allowed_cpus_in("Name:\tx\nCpus_allowed_list:\t0-3,8\n"), Some(vec![0..=3, 8..=8]));
        assert_eq!(allowed_cpus_in("Name:\tx\n"), None);
    }

    #[test]
    fn a_server_here_is_reported_without_its_number_where_its_process_is_not_seen() {
        // No process has a socket at this address.
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
        let found = Neighbours::before(free).after();
        assert_eq!((found[0].pid, found[0].is_server), (None, true), "{found:?}");
        let elsewhere = Neighbours::before("192.0.2.1:53".parse().unwrap()).after();
        assert!(elsewhere.iter().all(|neighbour| !neighbour.is_server), "{elsewhere:?}");
    }
}

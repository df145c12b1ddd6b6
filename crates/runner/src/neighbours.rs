//! Who else runs on our CPUs: the server, if it is on this host, and processes that were busy during the run.
//!
//! Reads `/proc` before and after the run, never during it. Whose socket is whose needs root for processes of other
//! users; without it, a server on this host has no number.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::time::Instant;

use dnsdyno_measure::Neighbour;
use dnsdyno_probe::{is_local, listening_processes};
use dnsdyno_sys::{clock, thread};

/// The processes before the run.
pub(crate) struct Neighbours {
    at: Instant,
    /// CPU time by process, in ticks of the kernel.
    ticks: BTreeMap<u32, u64>,
    /// The processes with a socket at the address of a server.
    servers: Vec<u32>,
    /// Whether any of the servers is on this host.
    server_is_here: bool,
}

impl Neighbours {
    /// Looks at the processes of this host before a run against these servers.
    pub(crate) fn before(servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        let here: Vec<SocketAddr> = servers.into_iter().filter(|server| is_local(server.ip())).collect();
        let server_is_here = !here.is_empty();
        let servers = if server_is_here { listening_processes(&here) } else { Vec::new() };
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

/// A process that uses less disturbs no one.
const BUSY_SHARE: f64 = 0.1;

/// Processes that are reported at most, besides a server without a number.
const MOST_NEIGHBOURS: usize = 4;

/// The parent of the kernel's threads.
const KERNEL_THREADS: u32 = 2;

/// Fields of `stat` after the name.
const PARENT: usize = 1;
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

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
        let found = Neighbours::before([free]).after();
        assert_eq!((found[0].pid, found[0].is_server), (None, true), "{found:?}");
        let elsewhere = Neighbours::before(["192.0.2.1:53".parse().unwrap()]).after();
        assert!(elsewhere.iter().all(|neighbour| !neighbour.is_server), "{elsewhere:?}");
    }
}

//! Who else runs on our CPUs: the server, if it is on this host, and processes that were busy during the run.
//!
//! Reads `/proc` before and after the run, never during it. Whose socket is whose needs root for processes of other
//! users; without it, a server on this host has no number.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use dnsdyno_measure::Neighbour;
use dnsdyno_probe::{is_local, listening_processes};
use dnsdyno_sys::process::{self, CpuList, Stat};
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
        let ticks = processes().map(|process| (process.pid, process.own_ticks())).collect();
        Neighbours { at: Instant::now(), ticks, servers, server_is_here }
    }

    /// Those that may run on our CPUs: the server first, then the busiest others.
    pub(crate) fn after(self) -> Vec<Neighbour> {
        let elapsed_s = self.at.elapsed().as_secs_f64().max(1e-3);
        let ours = thread::allowed_cpus().unwrap_or_default();
        let shares_cpus = |pid| {
            let theirs = CpuList::allowed_to(pid);
            theirs.is_none_or(|theirs| ours.iter().any(|cpu| theirs.contains(*cpu)))
        };
        let mut found = Vec::new();
        for process in processes() {
            let pid = process.pid;
            let is_server = self.servers.contains(&pid);
            // A process that has started since has used all of its time during the run.
            let used = process.own_ticks().saturating_sub(self.ticks.get(&pid).copied().unwrap_or(0));
            let cpu_share = used as f64 / clock::ticks_per_second() as f64 / elapsed_s;
            if (is_server || cpu_share > BUSY_SHARE) && pid != std::process::id() && shares_cpus(pid) {
                found.push(Neighbour { pid: Some(pid), name: process.name, is_server, cpu_share });
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

/// All processes but the threads of the kernel, which work for us.
fn processes() -> impl Iterator<Item = Stat> {
    process::all().filter(|process| !process.is_of_kernel())
}

/// A process that uses less disturbs no one.
const BUSY_SHARE: f64 = 0.1;

/// Processes that are reported at most, besides a server without a number.
const MOST_NEIGHBOURS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

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

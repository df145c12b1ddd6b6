//! The processes of the server, if they are on this host: all that listen at a target, in any network namespace.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::counters::{GroupOf, KernelCounters};
use crate::accumulated::Accumulated;
use crate::files::{FileReader, Files, LocalFiles};
use crate::found::Asked;
use crate::host::full_buffers;
use crate::living::{Process, started};
use crate::place::listeners;
use crate::source::Reading;

/// The processes that listen at the targets. What one has counted stays when it ends, and others are looked for then.
pub(super) struct ServerProcesses {
    targets: Vec<SocketAddr>,
    own: Process,
    found: Vec<Found>,
    cpu: Accumulated,
    wait: Accumulated,
}

struct Found {
    process: Process,
    /// The folder of the counters of its network namespace, and a name of that.
    net: (String, String),
    group: GroupOf,
}

impl ServerProcesses {
    /// Those that listen at these addresses now.
    pub(super) fn at(targets: &[SocketAddr]) -> ServerProcesses {
        let pid = std::process::id();
        let files = LocalFiles.read(&[stat(pid)]).unwrap_or_default();
        let own = started(&files, &[pid]).first().copied().unwrap_or(Process { pid, started: u64::MAX });
        let (cpu, wait) = Default::default();
        let mut processes = ServerProcesses { targets: targets.to_vec(), own, found: Vec::new(), cpu, wait };
        processes.find();
        processes
    }

    /// The files that are read each time.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for Found { process, group, .. } in &self.found {
            paths.extend([stat(process.pid), times_of_threads(process.pid)]);
            paths.extend(group.paths());
        }
        let files = |net: &&str| ["snmp", "snmp6"].map(|file| format!("{net}/{file}"));
        paths.extend(self.namespaces().values().flat_map(files));
        paths
    }

    /// Adds what has happened since the last time.
    pub(super) fn read(&mut self, files: &Files, kernel: &mut KernelCounters, sum: &mut Reading) {
        let mut longest_wait_ns = 0;
        for Found { process, .. } in &self.found {
            for (thread, cpu_ns, wait_ns) in threads(files, process.pid) {
                self.cpu.see(thread, cpu_ns);
                longest_wait_ns = longest_wait_ns.max(self.wait.see(thread, wait_ns));
                sum.gauge(KNOWN, 1);
            }
        }
        // The last sums are in it already.
        for (name, total) in [(CPU, self.cpu.total()), (WAIT, self.wait.total())] {
            sum.counters.insert(name.to_owned(), total);
        }
        sum.counter(LONGEST_WAIT, longest_wait_ns);
        for (namespace, net) in self.namespaces() {
            let dropped = full_buffers(files, net);
            sum.counter(FULL_BUFFERS, dropped.map_or(0, |now| kernel.rise(namespace.to_owned(), now)));
        }
        let groups = self.found.iter().filter_map(|found| found.group.group.as_ref());
        // Several processes are in one.
        let groups: BTreeMap<_, _> = groups.map(|group| (group.paths().first(), group)).collect();
        groups.values().for_each(|group| kernel.add_quota(QUOTA, group, files, sum));
        self.found.iter_mut().for_each(|found| found.group.follow(files));
        let processes = self.found.len();
        self.found.retain(|Found { process, .. }| started(files, &[process.pid]) == [*process]);
        if self.found.len() < processes || (self.found.is_empty() && sum.gauges.contains_key(KNOWN)) {
            self.find();
        }
    }

    /// Adds those that are not known yet. What a process has used before this program started is not counted.
    fn find(&mut self) {
        let places = self.targets.iter().map(|target| listeners(*target, Asked::Queries));
        for place in places.filter_map(|place| place.ok().flatten()) {
            let pids: Vec<u32> = place.servers.into_iter().flatten().collect();
            let paths = pids.iter().flat_map(|pid| [stat(*pid), times_of_threads(*pid)]);
            let files = LocalFiles.read(&paths.collect::<Vec<_>>()).unwrap_or_default();
            for process in started(&files, &pids) {
                let is_known = self.found.iter().any(|found| found.process == process);
                if is_known || process == self.own {
                    continue;
                }
                if process.started <= self.own.started {
                    for (thread, cpu_ns, wait_ns) in threads(&files, process.pid) {
                        self.cpu.begin(thread, cpu_ns);
                        self.wait.begin(thread, wait_ns);
                    }
                }
                let folder = format!("/proc/{}", process.pid);
                let group = GroupOf::process(folder.clone());
                let net = match &place.namespace {
                    Some(namespace) => (namespace.clone(), format!("{folder}/net")),
                    None => (String::new(), "/proc/net".to_owned()),
                };
                self.found.push(Found { process, net, group });
            }
        }
    }

    /// The network namespaces of the processes, each with the folder of its counters.
    fn namespaces(&self) -> BTreeMap<&str, &str> {
        self.found.iter().map(|found| (found.net.0.as_str(), found.net.1.as_str())).collect()
    }
}

fn stat(pid: u32) -> String {
    format!("/proc/{pid}/stat")
}

fn times_of_threads(pid: u32) -> String {
    format!("/proc/{pid}/task/*/schedstat")
}

/// The threads of a process: number, CPU time and wait, in nanoseconds. A kernel that does not count says 0.
fn threads(files: &Files, pid: u32) -> Vec<(u64, u64, u64)> {
    let tasks = format!("/proc/{pid}/task/");
    let thread = |(path, text): (&str, &str)| {
        let number = path.strip_prefix(&tasks)?.split('/').next()?.parse().ok()?;
        let mut figures = text.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        let (cpu_ns, wait_ns) = (figures.next()?, figures.next()?);
        (cpu_ns > 0).then_some((number, cpu_ns, wait_ns))
    };
    files.under(&tasks).filter_map(thread).collect()
}

/// The series of the server; the first two are those of its control group and of whether it is known.
pub(super) const QUOTA: &str = "server.quota";
pub(super) const KNOWN: &str = "server.known";
pub(super) const CPU: &str = "server.cpu_ns";
pub(super) const WAIT: &str = "server.wait_ns";
pub(super) const LONGEST_WAIT: &str = "server.longest_wait_ns";
pub(super) const FULL_BUFFERS: &str = "server.full_buffers";

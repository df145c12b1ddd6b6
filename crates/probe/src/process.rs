//! The processes of a server: CPU time of each thread, memory, open files, and the queues of their sockets.
//!
//! Servers that fork, such as NSD, are one source: all processes of the same name that share a socket.

mod queues;
mod times;

use std::fs;
use std::net::SocketAddr;

use dnsdyno_measure::{Side, Watched, WatchedKind};
use dnsdyno_sys::namespace::Namespace;

use self::queues::Queues;
use self::times::{Stat, Times};
use crate::cgroup::Cgroup;
use crate::files::{FileReader, Files, LocalFiles, exists, links_in};
use crate::found::{Owner, inodes_at, is_local, owners, receives, socket_inodes};
use crate::namespace::{inside, is_elsewhere};
use crate::opened::{Opened, Targets};
use crate::sockets::Sockets;
use crate::source::{OpenError, ReadError, Reading, Source};

pub(crate) fn open(pid: Option<u32>, targets: &Targets, opened: &mut Opened) -> Result<(), OpenError> {
    let groups = match pid {
        Some(pid) if !exists(&format!("/proc/{pid}")) => {
            return Err(OpenError::new(format!("this host has no process {pid}")));
        }
        Some(pid) => vec![family(&mut LocalFiles, &mut sockets_of(pid), pid)?],
        None => at_targets(targets)?,
    };
    for pids in groups {
        let Some(first) = pids.first() else { continue };
        let sockets = sockets_of(*first);
        let mut source = ProcessSource::with(Box::new(LocalFiles), sockets, &pids, "")?;
        source.is_local = true;
        source.watched.side =
            if source.receives_any(&targets.addresses) { Side::Server } else { Side::Other };
        opened.sources.push(Box::new(source));
    }
    Ok(())
}

/// The processes of each server that listens at the targets, in this network namespace.
fn at_targets(targets: &Targets) -> Result<Vec<Vec<u32>>, OpenError> {
    let here: Vec<SocketAddr> =
        targets.addresses.iter().copied().filter(|target| is_local(target.ip())).collect();
    let seen = Sockets::here("/proc/net").read(&mut LocalFiles)?;
    let inodes = inodes_at(&seen, &here);
    let groups = grouped(&mut LocalFiles, owners(&mut LocalFiles, &inodes)?)?;
    if !groups.is_empty() {
        return Ok(groups);
    }
    let addresses = targets.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Err(OpenError::new(match (here.is_empty(), inodes.is_empty()) {
        (true, _) => format!(
            "{addresses} is not an address of this host: give the process's number, process=PID, if it is in another \
             network namespace, or ssh://HOST"
        ),
        (false, true) => format!("no process listens at {addresses}: start the server first"),
        (false, false) => format!(
            "the process that listens at {addresses} belongs to another user: run as root, or give its number: \
             process=PID"
        ),
    }))
}

/// Where the sockets of a process of this host are looked up.
fn sockets_of(pid: u32) -> Sockets {
    let folder = format!("/proc/{pid}/net");
    match is_elsewhere(&mut LocalFiles, pid) {
        Ok(Some(false)) => Sockets::here(&folder),
        _ => {
            let entered = Namespace::of_process(pid)
                .and_then(|namespace| inside(&namespace, || Sockets::here(&folder)));
            entered.unwrap_or(Sockets::Tables(folder))
        }
    }
}

/// The processes of each server that listens at these addresses, by the files of a host; `net` is the folder of the
/// network namespace, `/proc/net` or `/proc/4711/net`.
///
/// # Errors
/// The host cannot be reached.
pub(crate) fn listening(
    reader: &mut dyn FileReader,
    net: &str,
    addresses: &[SocketAddr],
) -> Result<Vec<Vec<u32>>, ReadError> {
    let seen = Sockets::Tables(net.to_owned()).read(reader)?;
    let owners = owners(reader, &inodes_at(&seen, addresses))?;
    grouped(reader, owners)
}

/// A process with those of the same name that share one of its sockets, itself first.
fn family(reader: &mut dyn FileReader, sockets: &mut Sockets, pid: u32) -> Result<Vec<u32>, ReadError> {
    let folder = format!("/proc/{pid}/fd/");
    let files = reader.read(std::slice::from_ref(&folder))?;
    let seen = sockets.read(reader)?;
    let server: Vec<u64> = seen.udp.iter().chain(&seen.listening).map(|socket| socket.inode).collect();
    let own: Vec<u64> = socket_inodes(files.text(&folder)).filter(|inode| server.contains(inode)).collect();
    let owners = owners(reader, &own)?;
    let groups = grouped(reader, owners)?;
    let others = groups.into_iter().find(|pids| pids.contains(&pid)).unwrap_or_default();
    Ok([pid].into_iter().chain(others.into_iter().filter(|other| *other != pid)).collect())
}

/// Processes of the same name that share a socket are one server. The lowest number, that of the parent, is first.
fn grouped(reader: &mut dyn FileReader, owners: Vec<Owner>) -> Result<Vec<Vec<u32>>, ReadError> {
    let path = |pid: u32| format!("/proc/{pid}/stat");
    let files = reader.read(&owners.iter().map(|owner| path(owner.pid)).collect::<Vec<_>>())?;
    let mut groups: Vec<(String, Vec<Owner>)> = Vec::new();
    for owner in owners {
        let Some(stat) = Stat::read(files.text(&path(owner.pid))) else { continue };
        let belongs = |(name, others): &&mut (String, Vec<Owner>)| {
            name == stat.name && others.iter().any(|other| !other.inodes.is_disjoint(&owner.inodes))
        };
        match groups.iter_mut().find(belongs) {
            Some((_, others)) => others.push(owner),
            None => groups.push((stat.name.to_owned(), vec![owner])),
        }
    }
    // A service manager that holds the socket for a server is not that server.
    groups.retain(|(_, owners)| owners.iter().all(|owner| owner.pid != 1));
    Ok(groups.into_iter().map(|(_, owners)| owners.into_iter().map(|owner| owner.pid).collect()).collect())
}

/// The processes of a server.
pub(crate) struct ProcessSource {
    watched: Watched,
    reader: Box<dyn FileReader>,
    sockets: Sockets,
    processes: Vec<Process>,
    times: Times,
    queues: Queues,
    cgroup: Option<Cgroup>,
    /// Its files are those of this host.
    is_local: bool,
}

/// A process, and when it started.
#[derive(Clone, Copy)]
struct Process {
    pid: u32,
    started: u64,
}

/// Those of these processes that exist.
fn started(files: &Files, pids: &[u32]) -> Vec<Process> {
    let process = |pid: &u32| {
        let stat = Stat::read(files.text(&format!("/proc/{pid}/stat")))?;
        Some(Process { pid: *pid, started: stat.started })
    };
    pids.iter().filter_map(process).collect()
}

impl ProcessSource {
    /// The processes with these numbers, by their files; `place` is the end of the label, such as " at ns1.example".
    ///
    /// # Errors
    /// The host cannot be reached, or there is no such process.
    pub(crate) fn new(
        reader: Box<dyn FileReader>,
        pids: &[u32],
        side: Side,
        place: &str,
    ) -> Result<ProcessSource, ReadError> {
        let folder = pids.first().map_or("/proc/net".to_owned(), |pid| format!("/proc/{pid}/net"));
        let mut source = ProcessSource::with(reader, Sockets::Tables(folder), pids, place)?;
        source.watched.side = side;
        Ok(source)
    }

    fn with(
        mut reader: Box<dyn FileReader>,
        mut sockets: Sockets,
        pids: &[u32],
        place: &str,
    ) -> Result<ProcessSource, ReadError> {
        let first = pids.first().copied().unwrap_or_default();
        let files = ["stat", "cmdline", "limits", "fd/"].map(|file| format!("/proc/{first}/{file}"));
        let files = reader.read(
            &[&files[..], &pids.iter().map(|pid| format!("/proc/{pid}/stat")).collect::<Vec<_>>()].concat(),
        )?;
        let text = |pid: u32, file: &str| files.text(&format!("/proc/{pid}/{file}"));
        let processes = started(&files, pids);
        let Some(stat) = Stat::read(text(first, "stat")) else {
            return Err(ReadError(format!("process {first} has ended")));
        };
        let command = text(first, "cmdline").trim_end_matches('\0').replace('\0', " ");
        let program =
            command.split([' ', ':']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let mut watched = Watched {
            kind: WatchedKind::Process,
            side: Side::Server,
            label: format!("{} ({first}){place}", stat.name),
            software: software(stat.name).or_else(|| software(program)).map(str::to_owned),
            version: None,
            settings: [("command".to_owned(), command.chars().take(LONGEST_COMMAND).collect())].into(),
            unset: Vec::new(),
            missing: Vec::new(),
        };
        open_files_limit(text(first, "limits")).into_iter().for_each(|limit| {
            watched.settings.insert("limit.files".to_owned(), limit);
        });
        if links_in(text(first, "fd/")).next().is_none() {
            watched.missing.push(format!(
                "sockets and open files of process {first}: it belongs to another user; run as root"
            ));
        }
        let mut queues = Queues::default();
        let seen = sockets.read(&mut *reader)?;
        let own = queues.own(seen, &mut *reader, pids)?;
        watched.settings.extend(Queues::settings(&own));
        if matches!(sockets, Sockets::Tables(_)) {
            watched.missing.push(
                "the backlog of listening sockets and the size of receive buffers: the kernel tells them on its own \
                 host, and as root in another network namespace"
                    .to_owned(),
            );
        }
        let cgroup = Cgroup::of(&mut *reader, &format!("/proc/{first}"))?;
        cgroup.iter().for_each(|cgroup| watched.settings.extend(cgroup.settings.clone()));
        let times = Times::default();
        Ok(ProcessSource { watched, reader, sockets, processes, times, queues, cgroup, is_local: false })
    }

    /// Whether one of its sockets receives what is sent to one of these addresses.
    fn receives_any(&mut self, addresses: &[SocketAddr]) -> bool {
        let pids = self.pids();
        let seen = self.sockets.read(&mut *self.reader);
        let own = seen.and_then(|seen| self.queues.own(seen, &mut *self.reader, &pids)).unwrap_or_default();
        let mut sockets = own.udp.iter().chain(&own.listening);
        sockets.any(|socket| addresses.iter().any(|address| receives(socket.local, *address)))
    }

    fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(|process| process.pid).collect()
    }

    /// The files of the processes, and those that live.
    fn read_processes(&mut self) -> Result<(Files, Vec<u32>), ReadError> {
        let in_group = self.cgroup.iter().flat_map(|cgroup| cgroup.paths().to_vec());
        let paths: Vec<String> =
            self.processes.iter().flat_map(|process| times::paths(process.pid)).chain(in_group).collect();
        let files = self.reader.read(&paths)?;
        let is_alive = |process: &&Process| {
            let stat = Stat::read(files.text(&format!("/proc/{}/stat", process.pid)));
            stat.is_some_and(|stat| stat.started == process.started)
        };
        let alive = self.processes.iter().filter(is_alive).map(|process| process.pid).collect();
        Ok((files, alive))
    }

    /// One of the processes has ended: a server that forks may have others instead.
    fn follow(&mut self, pid: u32) -> Result<(), ReadError> {
        let pids = family(&mut *self.reader, &mut self.sockets, pid)?;
        let paths: Vec<String> = pids.iter().map(|pid| format!("/proc/{pid}/stat")).collect();
        self.processes = started(&self.reader.read(&paths)?, &pids);
        Ok(())
    }

    /// Open files, of the process that has most of them: each has the limit for itself.
    fn open_files(&mut self, pids: &[u32]) -> Result<Option<u64>, ReadError> {
        if self.is_local {
            return Ok(pids.iter().filter_map(|pid| entries(&format!("/proc/{pid}/fd"))).max());
        }
        let folders: Vec<String> = pids.iter().map(|pid| format!("/proc/{pid}/fd/")).collect();
        let files = self.reader.read(&folders)?;
        let counts = files.0.values().map(|links| links.lines().count() as u64);
        Ok(counts.max())
    }
}

impl Source for ProcessSource {
    fn watched(&self) -> &Watched {
        &self.watched
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let (mut files, mut alive) = self.read_processes()?;
        if let Some(first) = alive.first().filter(|_| alive.len() < self.processes.len()) {
            self.follow(*first)?;
            (files, alive) = self.read_processes()?;
        }
        if alive.is_empty() {
            return Err(ReadError("it has ended".to_owned()));
        }
        let mut reading = Reading::default();
        self.times.read(&files, &alive, &mut reading);
        if let Some(cgroup) = &self.cgroup {
            cgroup.read(&files, &mut reading);
        }
        let open = self.open_files(&alive)?;
        open.into_iter().for_each(|open| reading.gauge("files.open", open));
        let seen = self.sockets.read(&mut *self.reader)?;
        self.queues.read(seen, &mut *self.reader, &alive, &mut reading)?;
        Ok(reading)
    }
}

/// The entries of a folder of open files: Linux 6.2 and newer tell how many there are as its size.
fn entries(folder: &str) -> Option<u64> {
    let size = fs::metadata(folder).ok()?.len();
    if size > 0 { Some(size) } else { Some(fs::read_dir(folder).ok()?.count() as u64) }
}

/// `Max open files            1024                 524288               files`: the one that holds.
fn open_files_limit(limits: &str) -> Option<String> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next().map(str::to_owned)
}

/// Software by the name of its process.
fn software(process: &str) -> Option<&'static str> {
    let (_, software) = SOFTWARE.iter().find(|(name, _)| process == *name)?;
    Some(software)
}

const SOFTWARE: [(&str, &str); 9] = [
    ("named", "bind"),
    ("unbound", "unbound"),
    ("nsd", "nsd"),
    ("knotd", "knot"),
    ("pdns_server", "pdns"),
    ("pdns_recursor", "pdns-recursor"),
    ("dnsdist", "dnsdist"),
    ("coredns", "coredns"),
    ("hickory-dns", "hickory"),
];

/// Characters of a command line that are kept.
const LONGEST_COMMAND: usize = 500;

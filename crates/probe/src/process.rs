//! The processes of a server: CPU time of each thread, memory, open files, and the queues of their sockets.
//!
//! Servers that fork, such as NSD, are one source: all processes of the same name that share a socket.

mod queues;
mod times;

use std::fs;
use std::net::SocketAddr;

use dnsdyno_measure::{Side, Watched, WatchedKind};
use dnsdyno_servers::server_of_process;
use dnsdyno_text::secret::words_without_secrets;

use self::queues::Queues;
use self::times::Times;
use crate::cgroup::Cgroup;
use crate::family::{family, grouped};
use crate::files::{FileReader, Files, LocalFiles, exists, links_in};
use crate::found::{Asked, inodes_at, is_local, owners};
use crate::living::{Process, living, started};
use crate::opened::{Opening, Targets, Whose};
use crate::place::sockets_of;
use crate::sockets::Sockets;
use crate::source::{OpenError, ReadError, Reading, Source};
use crate::thing::{Namespace, Thing};

pub(crate) fn open(pid: Option<u32>, opening: &mut Opening<'_>) -> Result<(), OpenError> {
    let groups = match pid {
        Some(pid) if !exists(&format!("/proc/{pid}")) => {
            return Err(OpenError::new(format!("this host has no process {pid}")));
        }
        Some(pid) => vec![family(&mut LocalFiles, &mut sockets_of(pid), pid)?],
        None => at_targets(opening.targets)?,
    };
    for pids in groups {
        let Some(first) = pids.first() else { continue };
        let sockets = sockets_of(*first);
        let mut source = ProcessSource::with(Box::new(LocalFiles), sockets, &pids, "")?;
        source.is_local = true;
        let whose = Whose::of(opening.loaded().has(&pids), None);
        let thing = Thing::Process { numbered: Namespace::of_numbers(&mut LocalFiles)?, pids };
        opening.add(Box::new(source), thing, whose);
    }
    Ok(())
}

/// The processes of each server that listens at the targets, in this network namespace.
fn at_targets(targets: &Targets) -> Result<Vec<Vec<u32>>, OpenError> {
    let here: Vec<SocketAddr> =
        targets.addresses.iter().copied().filter(|target| is_local(target.ip())).collect();
    let seen = Sockets::here("/proc/net").read(&mut LocalFiles)?;
    let inodes = inodes_at(&seen, &here, Asked::Queries);
    let groups = grouped(&mut LocalFiles, owners(&mut LocalFiles, &inodes)?)?;
    if !groups.is_empty() {
        return Ok(groups);
    }
    let addresses = targets.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Err(OpenError::new(match (here.is_empty(), inodes.is_empty()) {
        _ if addresses.is_empty() => {
            "say whose process: the server with -s ADDRESS, or the number of the process, process=PID"
                .to_owned()
        }
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

impl ProcessSource {
    /// The processes with these numbers, by their files; `place` is the end of the label, such as " at ns1.example".
    ///
    /// # Errors
    /// The host cannot be reached, or there is no such process.
    pub(crate) fn new(
        reader: Box<dyn FileReader>,
        pids: &[u32],
        place: &str,
    ) -> Result<ProcessSource, ReadError> {
        let folder = pids.first().map_or("/proc/net".to_owned(), |pid| format!("/proc/{pid}/net"));
        ProcessSource::with(reader, Sockets::Tables(folder), pids, place)
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
        let Some(stat) = living(text(first, "stat")) else {
            return Err(ReadError(format!("process {first} has ended")));
        };
        let words: Vec<&str> = text(first, "cmdline").trim_end_matches('\0').split('\0').collect();
        let command = words_without_secrets(&words).join(" ");
        let program_of = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
        let program = program_of(command.split([' ', ':']).next().unwrap_or_default());
        let verb = words.get(..2).map(|words| program_of(words[0]) + " " + words[1]);
        let mut watched = Watched {
            kind: WatchedKind::Process,
            side: Side::Server,
            label: format!("{} ({first}){place}", stat.name),
            software: software(&stat.name)
                .or_else(|| software(&program))
                .or_else(|| software(&verb?))
                .map(str::to_owned),
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

    /// The files of the processes, and those that live.
    fn read_processes(&mut self) -> Result<(Files, Vec<u32>), ReadError> {
        let in_group = self.cgroup.iter().flat_map(|cgroup| cgroup.paths().to_vec());
        let paths: Vec<String> =
            self.processes.iter().flat_map(|process| times::paths(process.pid)).chain(in_group).collect();
        let files = self.reader.read(&paths)?;
        let is_alive = |process: &&Process| {
            let stat = living(files.text(&format!("/proc/{}/stat", process.pid)));
            stat.is_some_and(|stat| stat.started_ticks == process.started)
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

    fn watched_mut(&mut self) -> &mut Watched {
        &mut self.watched
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
        if let Some(open) = open {
            reading.gauge("files.open", open);
        }
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

/// The word of a server by the name of its process, with the verb where a program has several.
fn software(process: &str) -> Option<&'static str> {
    server_of_process(process).map(|server| server.word)
}

/// Characters of a command line that are kept.
const LONGEST_COMMAND: usize = 500;

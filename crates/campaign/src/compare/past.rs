//! The past as baseline: the earlier runs of the same kind among records.
//!
//! ```text
//!   records ──► same plan, server and host? ──► earlier than the new ones? ──► complete? ──► the last 100 of them
//!                      └─ each that is left out is counted by its reason ──► Past
//! ```

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use dnsdyno_record::{Digest, HOST_FILE, Header, HostInfo, RunReader, read_regular};

use super::alike;
use super::design::{Units, fewest_units};
use super::notes::is_unfinished;
use super::past_baseline::LeftOut;
use super::run::{ComparedRun, plan_of};

/// The earlier runs of the same kind.
#[derive(Clone, Debug)]
pub struct Past {
    /// They, from the earliest to the latest.
    pub runs: Vec<ComparedRun>,
    /// What was found beside them.
    pub left_out: LeftOut,
}

impl Past {
    /// The runs among `records` that are of the kind of the new runs and earlier than them. The new ones may be among
    /// the records.
    pub fn find(records: &[PathBuf], new: &[ComparedRun], drop_first: bool) -> Past {
        let mut left_out = LeftOut::default();
        let mut found: Vec<(u64, PathBuf)> = Vec::new();
        let Some(first) = new.iter().min_by_key(|run| run.digest.header.started_unix_ns) else {
            return Past { runs: Vec::new(), left_out };
        };
        let kind = KindOfRun::of(first);
        let key = |header: &Header| (header.run_id.clone(), header.started_unix_ns);
        // A copy of a run would hide the noise.
        let mut known: HashSet<_> = new.iter().map(|run| key(&run.digest.header)).collect();
        for path in records {
            let Some(run) = head_of(path) else {
                left_out.unreadable += 1;
                continue;
            };
            if !known.insert(key(&run.digest.header)) {
                continue;
            }
            match kind.difference(first, &run) {
                Some(what) => *left_out.other_kind.entry(what).or_default() += 1,
                None if run.digest.header.started_unix_ns >= first.digest.header.started_unix_ns => {
                    left_out.later += 1;
                }
                None => found.push((run.digest.header.started_unix_ns, path.clone())),
            }
        }
        found.sort();
        let runs = latest(&found, &mut left_out);
        let runs = if drop_first { without_first_of_sessions(runs, &mut left_out) } else { runs };
        Past { runs, left_out }
    }

    /// The units of the runs: sessions where there are enough, or where the new runs are of none that is known.
    pub(super) fn units(&self, new: &[ComparedRun]) -> Units {
        let starts: Vec<u64> = self.runs.iter().map(|run| run.digest.header.started_unix_ns).collect();
        let sessions = sessions(&starts);
        let new_from = new.iter().map(|run| run.digest.header.started_unix_ns).min().unwrap_or_default();
        let is_of_the_last = starts.last().is_some_and(|last| new_from.saturating_sub(*last) <= PAUSE_NS);
        // Runs of one session have what changes between sessions in none of their differences: right for new runs of
        // that session, and for no others.
        let are_single = sessions.len() < fewest_units(new.len()) && is_of_the_last;
        match are_single {
            true => Units {
                runs: sessions.last().into_iter().flatten().map(|run| vec![*run]).collect(),
                are_sessions: false,
            },
            false => Units { runs: sessions, are_sessions: true },
        }
    }
}

/// What must be equal beside what was asked.
struct KindOfRun {
    server: String,
    host: Option<String>,
}

impl KindOfRun {
    fn of(run: &ComparedRun) -> KindOfRun {
        KindOfRun { server: server(&run.digest.header), host: host(&run.path) }
    }

    /// What differs first between the new run and another one; `None` where it is of the same kind.
    fn difference(&self, new: &ComparedRun, other: &ComparedRun) -> Option<String> {
        let kind = KindOfRun::of(other);
        match () {
            () if kind.server != self.server => Some("server".to_owned()),
            () if kind.host != self.host => Some("host".to_owned()),
            () => alike::unlike(&[new, other]).into_iter().next().map(|unlike| unlike.what),
        }
    }
}

/// The server as the user gave it, with its port: another port of the same host may be another server.
pub(crate) fn server(header: &Header) -> String {
    let one = |name: &str, address: &SocketAddr| format!("{name} port {}", address.port());
    let members: Vec<String> = header.mix.iter().map(|member| one(&member.server, &member.address)).collect();
    if members.is_empty() { one(&header.target, &header.address) } else { members.join(", ") }
}

/// The hardware of the host that made the run; `None` where the record does not say it.
fn host(run: &Path) -> Option<String> {
    let folder = if run.is_dir() { run } else { run.parent()? };
    let host: HostInfo = serde_json::from_str(&read_regular(&folder.join(HOST_FILE)).ok()?).ok()?;
    let cpu = host.cpu_model?;
    Some(format!("{cpu}, CPUs {}", host.cpus_online.unwrap_or_default()))
}

/// A run with the header of its record only.
fn head_of(path: &Path) -> Option<ComparedRun> {
    let digest = Digest::new(RunReader::open(path).ok()?.header().clone());
    Some(ComparedRun {
        label: path.display().to_string(),
        path: path.to_owned(),
        digest,
        plan: plan_of(path),
    })
}

/// The latest complete runs, from the earliest to the latest.
fn latest(found: &[(u64, PathBuf)], left_out: &mut LeftOut) -> Vec<ComparedRun> {
    let mut runs = Vec::new();
    for (i, (_, path)) in found.iter().enumerate().rev() {
        if runs.len() == MOST_PAST {
            left_out.older = i as u64 + 1;
            break;
        }
        match ComparedRun::read(path) {
            Err(_) => left_out.unreadable += 1,
            Ok(run) if is_unfinished(&run) => left_out.unfinished += 1,
            Ok(run) => runs.push(run),
        }
    }
    runs.reverse();
    runs
}

/// The runs without the first one of each session that has several: caches fill in it.
fn without_first_of_sessions(runs: Vec<ComparedRun>, left_out: &mut LeftOut) -> Vec<ComparedRun> {
    let starts: Vec<u64> = runs.iter().map(|run| run.digest.header.started_unix_ns).collect();
    let firsts: HashSet<usize> =
        sessions(&starts).iter().filter(|runs| runs.len() > 1).map(|runs| runs[0]).collect();
    left_out.first = firsts.len() as u64;
    let kept = runs.into_iter().enumerate().filter(|(i, _)| !firsts.contains(i));
    kept.map(|(_, run)| run).collect()
}

/// The places of runs by session: each begins after a pause. The starts are in order.
fn sessions(starts: &[u64]) -> Vec<Vec<usize>> {
    let mut sessions: Vec<Vec<usize>> = Vec::new();
    for (i, start) in starts.iter().enumerate() {
        match sessions.last_mut() {
            Some(session) if i > 0 && start - starts[i - 1] <= PAUSE_NS => session.push(i),
            _ => sessions.push(vec![i]),
        }
    }
    sessions
}

/// A run that starts no later after another one is of the same session: the host has hardly changed.
const PAUSE_NS: u64 = 3_600_000_000_000;

/// More runs narrow the interval by less than 1 %, and a hundred digests are some hundred megabytes.
pub const MOST_PAST: usize = 100;

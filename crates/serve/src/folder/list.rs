//! The list of the runs of a folder: each record is read once, and again when its files have changed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};

use dnsdyno_page::data::{Folder, FolderRun};
use dnsdyno_page::{search_summary, utc};
use dnsdyno_record::{Digest, Header};
use dnsdyno_report::{State, answer, servers};
use dnsdyno_text::shown;
use dnsdyno_text::units::length;

use super::runs::{Found, NotFound, Runs, Stamp, What};

/// The runs of a folder, with what is known of them.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) runs: Runs,
    /// The folder as the user named it.
    pub(super) title: String,
    known: Mutex<HashMap<String, Known>>,
}

/// What is known of a record as it was at a time.
#[derive(Clone, Debug)]
struct Known {
    stamp: Stamp,
    run: FolderRun,
}

impl List {
    pub(crate) fn new(runs: Runs, folder: &Path) -> List {
        let title = shown(&folder.to_string_lossy(), LONGEST_PATH).into_owned();
        List { runs, title, known: Mutex::default() }
    }

    /// All runs, newest first.
    pub(crate) fn folder(&self) -> io::Result<Folder> {
        let (names, more) = self.runs.names()?;
        let mut runs = self.entries(&names);
        runs.sort_by(|one, other| started(other).cmp(&started(one)).then(other.folder.cmp(&one.folder)));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let listed: HashSet<&str> = runs.iter().map(|run| run.folder.as_str()).collect();
        known.retain(|name, _| listed.contains(name.as_str()));
        Ok(Folder { path: self.title.clone(), runs, more: (more > 0).then_some(more as u64) })
    }

    /// The entry of one run.
    pub(crate) fn entry(&self, found: &Found) -> FolderRun {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&found.name).cloned();
        let known = known.filter(|known| known.stamp == found.stamp).unwrap_or_else(|| {
            let known = read(found);
            let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(found.name.clone(), known.clone());
            known
        });
        known.run
    }

    /// The entries of these runs. Records that were not read before are read by a few threads.
    fn entries(&self, names: &[String]) -> Vec<FolderRun> {
        let share = names.len().div_ceil(readers()).max(1);
        std::thread::scope(|scope| {
            let read = |names: &'_ [String]| names.iter().filter_map(|name| self.named(name)).collect();
            let readers = names
                .chunks(share)
                .map(|names| (names, Builder::new().spawn_scoped(scope, move || read(names))));
            let readers: Vec<_> = readers.collect();
            let join = |(names, reader): (&'_ [String], io::Result<ScopedJoinHandle<'_, Vec<FolderRun>>>)| {
                match reader {
                    Ok(reader) => reader.join().unwrap_or_default(),
                    // The system gives no more threads.
                    Err(_) => read(names),
                }
            };
            readers.into_iter().flat_map(join).collect()
        })
    }

    /// The entry of this name; `None` where it is no run any more.
    fn named(&self, name: &str) -> Option<FolderRun> {
        match self.runs.find(name) {
            Ok(found) => Some(self.entry(&found)),
            Err(NotFound::NoRun) => None,
            Err(refused) => Some(unreadable(name, &refused.to_string())),
        }
    }
}

/// Reads a record, or the result of a search. One that cannot be read is listed with the reason.
fn read(found: &Found) -> Known {
    let stamp = found.stamp;
    if found.what == What::Search {
        return Known { stamp, run: of_search(found) };
    }
    let digest = match Digest::read(&found.path) {
        Ok(digest) => digest,
        Err(error) => {
            let run = unreadable(&found.name, &error.to_string());
            return Known { stamp, run };
        }
    };
    let (header, answer) = (&digest.header, answer(&digest));
    let run = FolderRun {
        folder: found.name.clone(),
        name: header.name.clone().unwrap_or_else(|| found.name.clone()),
        note: header.note.clone().unwrap_or_default(),
        target: servers(header),
        transport: header.transport.clone(),
        load: header.load.clone(),
        started: utc(header.started_unix_ns),
        started_unix_ns: header.started_unix_ns.to_string(),
        length: length(digest.to_ns()),
        sentence: answer.sentence,
        verdict: answer.verdict.state,
        state: match (digest.is_complete(), digest.in_progress) {
            (true, _) => "ended",
            (false, true) => RUNNING,
            (false, false) => CUT_SHORT,
        },
    };
    Known { stamp, run }
}

fn of_search(found: &Found) -> FolderRun {
    let of = match search_summary(&found.path) {
        Ok(of) => of,
        Err(error) => return unreadable(&found.name, &error.to_string()),
    };
    let header = of.header.as_ref();
    let started = header.map(|header| header.started_unix_ns);
    let text = |of: fn(&Header) -> &str| header.map(of).unwrap_or_default().to_owned();
    FolderRun {
        folder: found.name.clone(),
        name: header.and_then(|header| header.name.clone()).unwrap_or_else(|| found.name.clone()),
        note: text(|header| header.note.as_deref().unwrap_or_default()),
        target: header.map(servers).unwrap_or_default(),
        transport: text(|header| &header.transport),
        load: of.load,
        started: started.map(utc).unwrap_or_default(),
        started_unix_ns: started.unwrap_or_default().to_string(),
        length: of.length,
        sentence: of.sentence,
        verdict: State::Unknown,
        state: "ended",
    }
}

fn unreadable(name: &str, why: &str) -> FolderRun {
    FolderRun {
        folder: name.to_owned(),
        name: name.to_owned(),
        note: String::new(),
        target: String::new(),
        transport: String::new(),
        load: String::new(),
        started: String::new(),
        started_unix_ns: "0".to_owned(),
        length: String::new(),
        sentence: shown(why, LONGEST_REASON).into_owned(),
        verdict: State::Unknown,
        state: "error",
    }
}

fn started(run: &FolderRun) -> u64 {
    run.started_unix_ns.parse().unwrap_or_default()
}

/// Threads that read records, of the few that a list may take.
fn readers() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(MOST_READERS))
}

pub(crate) const RUNNING: &str = "running";

const CUT_SHORT: &str = "cut_short";

const MOST_READERS: usize = 4;

const LONGEST_PATH: usize = 4_096;

const LONGEST_REASON: usize = 600;

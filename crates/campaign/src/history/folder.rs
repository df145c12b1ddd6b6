//! The runs, searches and experiments below a folder, each read once.
//!
//! ```text
//!   FOLDER/…/a   run.ndjson      a run
//!   FOLDER/…/b   find.json       a search: the runs in it are its trials
//!   FOLDER/…/c   results.json    an experiment: the runs in it are in its results
//!   FOLDER/…/d   journal.ndjson  a campaign without a result yet, a qualification or a tuning: left alone
//! ```

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use dnsdyno_record::{PACKED_FILE, RUN_FILE, is_in_progress};

use super::entry::{Entry, What};
use super::index::{self, Known};
use super::read;
use crate::find::report::FINDING_FILE;

/// An entry with its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryRun {
    /// The folder of the run, the search or the experiment, below that of the history; empty where it is that itself.
    pub folder: String,
    /// What it is.
    pub entry: Entry,
}

/// What was known of a folder when its history was read last: whoever reads it again and may not write an index keeps
/// this.
#[derive(Debug, Default)]
pub struct Memory {
    known: HashMap<String, Known>,
}

/// What is below a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Listed {
    /// The entries, by their folders.
    pub(super) runs: Vec<HistoryRun>,
    /// Folders that cannot be read, with the reason.
    pub(super) unreadable: Vec<(String, String)>,
    /// Runs that are in progress.
    pub(super) in_progress: usize,
    /// Records that were read; the others were known from the index.
    pub(super) read: usize,
    /// Why the index could not be written.
    pub(super) no_index: Option<String>,
    /// Whether there is more than was looked at.
    pub(super) is_cut: bool,
}

/// Reads what is below a folder, with its index where it has one. `may_write` = the index is renewed where it is stale.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn list(history: &Path, may_write: bool, memory: &mut Memory) -> io::Result<Listed> {
    let mut listed = Listed::default();
    let places = places(history, &mut listed)?;
    let indexed = match memory.known.is_empty() {
        true => index::read(history),
        false => std::mem::take(&mut memory.known),
    };
    let read = read_all(&places, &indexed);
    let mut stale = 0;
    let mut known = Vec::with_capacity(read.len());
    for one in read {
        match one {
            Read::InProgress => listed.in_progress += 1,
            Read::Known(of) => known.push(of),
            Read::Anew { of, is_settled } => {
                listed.read += 1;
                // What changed while it was read is not kept.
                stale += usize::from(is_settled);
                known.push(Known { files: if is_settled { of.files } else { Vec::new() }, ..of });
            }
        }
    }
    let lasting = || known.iter().filter(|one| !one.files.is_empty());
    let is_stale = stale > 0 || indexed.len() != lasting().count();
    if may_write && is_stale {
        let lasting: Vec<Known> = lasting().cloned().collect();
        listed.no_index = index::write(history, &lasting).err().map(|error| error.to_string());
    }
    memory.known = known.iter().map(|one| (one.folder.clone(), one.clone())).collect();
    for one in known {
        if let Some(error) = one.error {
            listed.unreadable.push((one.folder, error));
            continue;
        }
        let run = |entry| HistoryRun { folder: one.folder.clone(), entry };
        listed.runs.extend(one.entries.into_iter().map(run));
    }
    Ok(listed)
}

/// A folder that has an entry.
struct Place {
    /// Below that of the history.
    name: String,
    path: PathBuf,
    what: What,
}

/// The folders with entries, in the order of their names.
fn places(history: &Path, listed: &mut Listed) -> io::Result<Vec<Place>> {
    // So that the error is told.
    fs::read_dir(history)?;
    let mut found = Vec::new();
    let mut folders = vec![(history.to_owned(), String::new(), 0)];
    let mut looked_at = 0;
    while let Some((path, name, depth)) = folders.pop() {
        if let Some(what) = what_is(&path) {
            found.push(Place { name, path, what });
            continue;
        }
        // Its runs are of no kind of their own.
        let is_campaign = path.join(JOURNAL).exists();
        if is_campaign || depth >= DEEPEST {
            continue;
        }
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MOST_FOLDERS {
                listed.is_cut = true;
                break;
            }
            // A link may lead anywhere, and around in a circle.
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let Ok(own) = entry.file_name().into_string() else { continue };
            let below = if name.is_empty() { own } else { format!("{name}/{own}") };
            folders.push((entry.path(), below, depth + 1));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// What a folder has an entry of.
fn what_is(folder: &Path) -> Option<What> {
    let has = |file: &str| folder.join(file).is_file();
    match () {
        () if has(RUN_FILE) || has(PACKED_FILE) => Some(What::Run),
        () if has(FINDING_FILE) => Some(What::Search),
        () if has(read::RESULTS_FILE) => Some(What::Experiment),
        () => None,
    }
}

/// What came of a place.
enum Read {
    InProgress,
    Known(Known),
    /// Read now; whether its files are as they were before.
    Anew {
        of: Known,
        is_settled: bool,
    },
}

/// What is known of each place; records that the index does not have are read by a few threads.
fn read_all(places: &[Place], indexed: &HashMap<String, Known>) -> Vec<Read> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(places.len()));
    let work = || {
        let mut own = Vec::new();
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < places.len()) {
            own.push((at, of_place(&places[at], indexed)));
        }
        done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(own);
    };
    let readers = std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(MOST_READERS));
    std::thread::scope(|scope| {
        for _ in 1..readers {
            // Without another thread this one does it all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, read)| read).collect()
}

fn of_place(place: &Place, indexed: &HashMap<String, Known>) -> Read {
    if index::has_link(&place.path, place.what) {
        let error = Some("one of its files is a symbolic link, which is not followed".to_owned());
        let (folder, what) = (place.name.clone(), place.what);
        return Read::Known(Known { folder, what, files: Vec::new(), entries: Vec::new(), error });
    }
    let files = index::stamp(&place.path, place.what);
    let known = indexed.get(&place.name).filter(|known| known.what == place.what && known.files == files);
    if let Some(known) = known {
        return Read::Known(known.clone());
    }
    if place.what == What::Run && is_in_progress(&place.path) {
        return Read::InProgress;
    }
    let entries = match place.what {
        What::Run => read::run(&place.path).map(|entry| vec![entry]),
        What::Search => read::search(&place.path).map(|entry| vec![entry]),
        What::Experiment => read::experiment(&place.path),
    };
    let is_settled = index::stamp(&place.path, place.what) == files;
    let (entries, error) = match entries {
        Ok(entries) => (entries, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let of = Known { folder: place.name.clone(), what: place.what, files, entries, error };
    Read::Anew { of, is_settled }
}

/// Of a campaign, which has no result where nothing else is there.
const JOURNAL: &str = "journal.ndjson";

/// Folders below that of the history.
const DEEPEST: u32 = 6;

/// Entries of folders that are looked at.
const MOST_FOLDERS: u32 = 500_000;

const MOST_READERS: usize = 4;

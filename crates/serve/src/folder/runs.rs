//! The runs and searches of a folder: where each of them is, and that nothing of it leads out of the folder.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, Metadata};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dnsdyno_campaign::find::report::FINDING_FILE;
use dnsdyno_record::{HOST_FILE, INDEX_FILE, PACKED_FILE, PLAN_FILE, RUN_FILE, is_in_progress};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A folder of runs.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// Without symbolic links.
    root: PathBuf,
}

/// A run in it, or a search.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) what: What,
    /// Its folder, without symbolic links.
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

impl Found {
    /// Where its page is.
    pub(crate) fn address(&self) -> String {
        format!("/runs/{}/", utf8_percent_encode(&self.name, NON_ALPHANUMERIC))
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Run,
    /// A search for the limit of a server, with its trials.
    Search,
    /// A trial of it, which is a run.
    Trial,
}

/// What changes when the record changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    /// Of the sizes and times of all its files.
    files: u64,
    /// Whether its writer lives.
    in_progress: bool,
}

/// Why there is no such run to show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotFound {
    #[error("There is no run of this name; the list of runs is at /.")]
    NoRun,
    #[error("This run is not shown: a symbolic link in it, or to it, leads out of the folder.")]
    LeadsOut,
    #[error("This run is not shown: one of its files is no regular file.")]
    NoFile,
}

impl Runs {
    /// Opens a folder.
    ///
    /// # Errors
    /// It does not exist, or is no folder.
    pub(crate) fn open(folder: &Path) -> io::Result<Runs> {
        let root = fs::canonicalize(folder)?;
        // So that the error is told at the start, not in a browser.
        fs::read_dir(&root)?;
        Ok(Runs { root })
    }

    /// The folder, without symbolic links.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the folder itself is a run.
    pub(crate) fn is_run(&self) -> bool {
        has_record(&self.root)
    }

    /// The names of what may be runs, those with the latest changes first, and how many more there are.
    pub(crate) fn names(&self) -> io::Result<(Vec<String>, usize)> {
        let mut named = Vec::new();
        for entry in fs::read_dir(&self.root)?.take(MOST_ENTRIES) {
            let Ok(entry) = entry else { continue };
            // A name that is no text cannot be part of an address.
            let Ok(name) = entry.file_name().into_string() else { continue };
            if has_record(&entry.path()) || has_result(&entry.path()) {
                let written = measurements(&entry.path()).and_then(|file| file.modified().ok());
                named.push((written.unwrap_or(SystemTime::UNIX_EPOCH), name));
            }
        }
        named.sort_by(|one, other| other.cmp(one));
        let more = named.len().saturating_sub(MOST_LISTED);
        Ok((named.into_iter().take(MOST_LISTED).map(|(_, name)| name).collect(), more))
    }

    /// The run or the search of this name, which is one component of a path.
    pub(crate) fn find(&self, name: &str) -> Result<Found, NotFound> {
        let path = self.folder(&self.root, name)?;
        match (has_record(&path), has_result(&path)) {
            (true, _) => self.found(name, What::Run, path),
            (false, true) => self.found(name, What::Search, path),
            (false, false) => Err(NotFound::NoRun),
        }
    }

    /// A trial of a search; each name is one component of a path.
    pub(crate) fn find_trial(&self, search: &str, trial: &str) -> Result<Found, NotFound> {
        let path = self.folder(&self.folder(&self.root, search)?, TRIALS)?;
        let path = self.folder(&path, trial)?;
        if !has_record(&path) {
            return Err(NotFound::NoRun);
        }
        self.found(trial, What::Trial, path)
    }

    /// A folder in another one.
    fn folder(&self, folder: &Path, name: &str) -> Result<PathBuf, NotFound> {
        let (path, metadata) = self.inside(folder, name)?;
        if metadata.is_dir() { Ok(path) } else { Err(NotFound::NoRun) }
    }

    fn found(&self, name: &str, what: What, path: PathBuf) -> Result<Found, NotFound> {
        let mut hasher = DefaultHasher::new();
        for file in FILES.into_iter().chain([FINDING_FILE]) {
            let Some(metadata) = self.file(&path, file)? else { continue };
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            (file, metadata.len(), modified).hash(&mut hasher);
        }
        let stamp = Stamp { files: hasher.finish(), in_progress: is_in_progress(&path) };
        Ok(Found { name: name.to_owned(), what, path, stamp })
    }

    /// A file of a run; `None` where the run does not have it.
    fn file(&self, run: &Path, file: &str) -> Result<Option<Metadata>, NotFound> {
        match self.inside(run, file) {
            Ok((_, metadata)) if metadata.is_file() => Ok(Some(metadata)),
            // A pipe or a device would be waited for.
            Ok(_) => Err(NotFound::NoFile),
            Err(NotFound::NoRun) => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    /// What has this name in a folder without symbolic links; a link is followed where it stays in the root.
    fn inside(&self, folder: &Path, name: &str) -> Result<(PathBuf, Metadata), NotFound> {
        let path = folder.join(name);
        let metadata = fs::symlink_metadata(&path).map_err(|_| NotFound::NoRun)?;
        if !metadata.is_symlink() {
            return Ok((path, metadata));
        }
        let path = fs::canonicalize(path).map_err(|_| NotFound::LeadsOut)?;
        if !path.starts_with(&self.root) {
            return Err(NotFound::LeadsOut);
        }
        let metadata = fs::metadata(&path).map_err(|_| NotFound::NoRun)?;
        Ok((path, metadata))
    }
}

fn has_record(run: &Path) -> bool {
    [RUN_FILE, PACKED_FILE].iter().any(|file| fs::symlink_metadata(run.join(file)).is_ok())
}

fn has_result(search: &Path) -> bool {
    fs::symlink_metadata(search.join(FINDING_FILE)).is_ok()
}

/// The file of measurements itself, or of the result, not what it may lead to.
fn measurements(run: &Path) -> Option<Metadata> {
    [PACKED_FILE, RUN_FILE, FINDING_FILE].iter().find_map(|file| fs::symlink_metadata(run.join(file)).ok())
}

/// The files of a record: no other file is read or sent.
pub(crate) const FILES: [&str; 5] = [RUN_FILE, PACKED_FILE, INDEX_FILE, PLAN_FILE, HOST_FILE];

/// Where a search keeps its trials.
const TRIALS: &str = "runs";

/// Entries of the folder that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// Runs that are listed: more than a list can show, and read within seconds.
const MOST_LISTED: usize = 5_000;

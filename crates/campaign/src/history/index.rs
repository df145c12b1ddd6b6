//! The index beside the records: the entries of the runs below a folder, so that thousands of records are read once.
//!
//! ```text
//!   FOLDER/.dnsdyno-history.ndjson
//!     {"format":2}
//!     {"folder":"a/b","what":"run","files":[["run.ndjson",48213,1764178285000000000],…],"entries":[…]}
//! ```
//!
//! It only saves time. A line counts while each of its files has the size and the time of change that it had, to the
//! nanosecond; otherwise the record is read again. The file is replaced as a whole, so that whoever reads or writes it
//! at the same time finds an old or a new one, and none that is half written.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dnsdyno_measure::bounded;
use dnsdyno_record::{HOST_FILE, PACKED_FILE, PLAN_FILE, RUN_FILE, open_regular};
use serde::{Deserialize, Serialize};

use super::entry::{Entry, What};
use super::read::{described_by, file_of};

/// The index in the folder of a history.
pub const INDEX_FILE: &str = ".dnsdyno-history.ndjson";

/// The files that an entry is made of: name, octets, and time of change in nanoseconds since 1970.
pub(super) type Stamp = Vec<(String, u64, i128)>;

/// What is known of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    /// The folder, below that of the history.
    pub(super) folder: String,
    pub(super) what: What,
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_FILES>")]
    pub(super) files: Stamp,
    /// Its entries; several of an experiment.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_ENTRIES>")]
    pub(super) entries: Vec<Entry>,
    /// Why it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
}

/// The lines of the index of a folder, by their folders; none where there is none, or it is of another version.
pub(super) fn read(history: &Path) -> HashMap<String, Known> {
    let mut known = HashMap::new();
    let Ok(file) = open_regular(&history.join(INDEX_FILE)) else { return known };
    if file.metadata().map_or(0, |facts| facts.len()) > LARGEST_BYTES {
        return known;
    }
    let mut lines = BufReader::new(file).split(b'\n');
    let head = lines.next().and_then(Result::ok).and_then(|line| serde_json::from_slice::<Head>(&line).ok());
    if head.is_none_or(|head| head.format != FORMAT) {
        return known;
    }
    for line in lines.map_while(Result::ok) {
        // A damaged line costs its record another reading.
        if let Ok(one) = serde_json::from_slice::<Known>(&line) {
            known.insert(one.folder.clone(), one);
        }
    }
    known
}

/// Replaces the index.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn write(history: &Path, known: &[Known]) -> io::Result<()> {
    let unfinished = history.join(format!("{INDEX_FILE}.{}", std::process::id()));
    let written =
        write_to(&unfinished, known).and_then(|()| fs::rename(&unfinished, history.join(INDEX_FILE)));
    if written.is_err() {
        // Best effort: the first error is the one that counts.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn write_to(path: &Path, known: &[Known]) -> io::Result<()> {
    // What an earlier process of this number has left.
    let _ = fs::remove_file(path);
    let mut out = BufWriter::new(OpenOptions::new().write(true).create_new(true).open(path)?);
    serde_json::to_writer(&mut out, &Head { format: FORMAT })?;
    out.write_all(b"\n")?;
    for one in known {
        serde_json::to_writer(&mut out, one)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// The files that the entry of a folder is made of, as they are now.
pub(super) fn stamp(folder: &Path, what: What) -> Stamp {
    let own = file_of(what).map(|file| (file.to_owned(), folder.join(file)));
    let run: PathBuf = described_by(folder, what);
    let of_run = OF_A_RUN.map(|file| (file.to_owned(), run.join(file)));
    let facts = own.into_iter().chain(of_run).filter_map(|(name, path)| {
        let facts = fs::metadata(path).ok()?;
        Some((name, facts.len(), i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec())))
    });
    facts.collect()
}

/// Whether a file of an entry is a symbolic link: it may lead anywhere, and what is beside the runs is not theirs.
pub(super) fn has_link(folder: &Path, what: What) -> bool {
    let run = described_by(folder, what);
    let folders = run.ancestors().take_while(|path| *path != folder).map(Path::to_owned);
    let own = file_of(what).map(|file| folder.join(file));
    let of_run = OF_A_RUN.map(|file| run.join(file));
    let mut paths = folders.chain(own).chain(of_run);
    paths.any(|path| fs::symlink_metadata(path).is_ok_and(|facts| facts.is_symlink()))
}

/// The files of a record that an entry needs.
const OF_A_RUN: [&str; 4] = [RUN_FILE, PACKED_FILE, PLAN_FILE, HOST_FILE];

/// Grows where an older index would be misread, or lacks a figure.
const FORMAT: u32 = 2;

/// Of a hundred thousand runs.
const LARGEST_BYTES: u64 = 512 << 20;

const MOST_FILES: usize = 8;
const MOST_ENTRIES: usize = 10_000;

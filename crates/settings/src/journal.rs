//! The journal of a keeper: what it changes on its host, written to the disk before it does.
//!
//! ```text
//!   {"header": {"format": 1, "boot": "c0ff…", "root": "/", "namespace": {"name": "far", "inode": 4026532…}}}
//!   {"change": {"id": 1, "item": …, "old": "212992", "new": "4000001"}}     before the write
//!   {"became": {"id": 1, "value": "4000000"}}                               after it
//!   {"change": {"id": 1, "item": …, "old": "4000000", "new": "212992"}}     before the value is restored
//!   {"settled": {"id": 1}}                                                  after that
//! ```
//!
//! The file is locked by its keeper for its life, so that what has no owner is known. It is removed when each of its
//! changes is settled. A last line that was cut off was not written, and what it would have announced was not done.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::file::sync_folder_of;
use crate::item::Item;
use crate::namespace::Namespace;

/// A journal that this process owns.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Octets that are whole lines.
    length: u64,
    /// A part of a line could not be taken away: nothing may follow it.
    is_broken: bool,
}

/// A line. It may have the content of a file of configuration, so that it is never shown.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    Header(Header),
    Change {
        id: u32,
        item: Item,
        old: String,
        new: String,
    },
    Became {
        id: u32,
        value: String,
    },
    /// The new value is written once more, to see what it becomes; `found` was there before.
    Probe {
        id: u32,
        found: String,
    },
    Settled {
        id: u32,
    },
}

/// What holds for all lines.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    /// The version of the format.
    pub(crate) format: u32,
    /// The boot of the host, as the kernel names it.
    pub(crate) boot: String,
    /// What stands before the paths of the kernel.
    pub(crate) root: PathBuf,
    pub(crate) namespace: Namespace,
}

/// What the lines of a journal say together.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) header: Option<Header>,
    /// The changes that are not settled, by the order of the first write to each value.
    pub(crate) open: Vec<Open>,
    /// The largest number of a change.
    pub(crate) last_id: u32,
}

/// A value that was changed and is not settled.
#[derive(Clone)]
pub(crate) struct Open {
    pub(crate) id: u32,
    pub(crate) item: Item,
    /// Its value before the first change, which it gets again.
    pub(crate) original: String,
    /// Its value before the last change.
    pub(crate) before: String,
    /// What was written last.
    pub(crate) new: String,
    /// What that became; `None` where it is not known, or not written at all.
    pub(crate) became: Option<String>,
    /// What was there before it was written once more to see what it becomes.
    pub(crate) probed: Option<String>,
}

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error("it cannot be read: {0}")]
    File(#[from] io::Error),
    #[error(
        "line {0} is not one of a journal that this version reads; what it says must be restored by hand"
    )]
    Line(usize),
}

impl Journal {
    /// Begins a journal in a folder, which is made.
    pub(crate) fn create(folder: &Path, header: &Header) -> io::Result<Journal> {
        make_folder(folder)?;
        for serial in 0..MOST_OF_A_PROCESS {
            let path = folder.join(format!("{}-{serial}.{EXTENSION}", std::process::id()));
            let mut options = OpenOptions::new();
            let file = match options.append(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            // Whoever looks for journals without owner may have been faster, and has then removed this one.
            if !lock(&file)? || file.metadata()?.nlink() == 0 {
                continue;
            }
            let mut journal = Journal { path, file, length: 0, is_broken: false };
            let begun =
                journal.append(&Line::Header(header.clone())).and_then(|()| sync_folder_of(&journal.path));
            if let Err(error) = begun {
                journal.remove();
                return Err(error);
            }
            return Ok(journal);
        }
        Err(io::Error::other(format!("{} has too many journals of earlier keepers", folder.display())))
    }

    /// Makes a journal that has no owner this process's own; `None` where it has one, or is no more.
    pub(crate) fn adopt(path: &Path) -> Result<Option<(Journal, Contents)>, JournalError> {
        let mut file = match OpenOptions::new().read(true).append(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        if !lock(&file)? || file.metadata()?.nlink() == 0 {
            return Ok(None);
        }
        let mut octets = Vec::new();
        file.read_to_end(&mut octets)?;
        let (contents, whole) = Contents::read(&octets)?;
        if whole < octets.len() {
            file.set_len(whole as u64)?;
        }
        let journal = Journal { path: path.to_owned(), file, length: whole as u64, is_broken: false };
        Ok(Some((journal, contents)))
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line, and waits until it is on the disk.
    pub(crate) fn append(&mut self, line: &Line) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier line was written by half"));
        }
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.length += text.len() as u64,
            Err(_) => self.is_broken = self.file.set_len(self.length).is_err(),
        }
        written
    }

    /// Removes it: nothing is to be restored.
    pub(crate) fn remove(self) {
        // Should it come back after a power cut, all its changes are settled.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
impl Journal {
    /// One of a disk that has no space left.
    pub(crate) fn on_full_disk(folder: &Path) -> Journal {
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        Journal { path: folder.join("full"), file, length: 0, is_broken: false }
    }
}

impl Contents {
    /// Reads lines, and says how many octets are whole ones.
    fn read(octets: &[u8]) -> Result<(Contents, usize), JournalError> {
        let whole = octets.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
        let lines = octets.get(..whole).unwrap_or_default().split_inclusive(|octet| *octet == b'\n');
        let mut contents = Contents::default();
        for (number, line) in lines.enumerate() {
            let line: Line = serde_json::from_slice(line).map_err(|_| JournalError::Line(number + 1))?;
            let is_header = matches!(&line, Line::Header(header) if header.format == FORMAT);
            if is_header != (number == 0) {
                return Err(JournalError::Line(number + 1));
            }
            contents.apply(line);
        }
        Ok((contents, whole))
    }

    /// Adds what a line says.
    pub(crate) fn apply(&mut self, line: Line) {
        match line {
            Line::Header(header) => self.header = Some(header),
            Line::Change { id, item, old, new } => {
                self.last_id = self.last_id.max(id);
                match self.open_mut(id) {
                    Some(open) => {
                        (open.before, open.new, open.became, open.probed) = (old, new, None, None);
                    }
                    None => {
                        let (original, became, probed) = (old.clone(), None, None);
                        self.open.push(Open { id, item, original, before: old, new, became, probed });
                    }
                }
            }
            Line::Became { id, value } => {
                if let Some(open) = self.open_mut(id) {
                    (open.became, open.probed) = (Some(value), None);
                }
            }
            Line::Probe { id, found } => {
                if let Some(open) = self.open_mut(id) {
                    open.probed = Some(found);
                }
            }
            Line::Settled { id } => self.open.retain(|open| open.id != id),
        }
    }

    /// The open change of a value.
    pub(crate) fn open_of(&self, item: &Item) -> Option<&Open> {
        self.open.iter().find(|open| open.item == *item)
    }

    fn open_mut(&mut self, id: u32) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.id == id)
    }
}

/// The files of all journals in a folder, the newest last.
pub(crate) fn all_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == EXTENSION) {
            // One that was removed meanwhile has no time, and is not adopted either.
            found.push((entry.metadata().and_then(|metadata| metadata.modified()).ok(), entry.path()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// The journal of another keeper that says that a value is changed now.
pub(crate) fn holder(
    folder: &Path,
    own: &Path,
    item: &Item,
    namespace: &Namespace,
) -> io::Result<Option<PathBuf>> {
    for path in all_in(folder)?.into_iter().filter(|path| path != own) {
        // One that cannot be read is told when its changes are to be restored.
        let Some((contents, _)) = fs::read(&path).ok().and_then(|octets| Contents::read(&octets).ok()) else {
            continue;
        };
        let is_there = contents.header.as_ref().is_some_and(|header| header.namespace.is(namespace));
        if contents.open_of(item).is_some() && (is_there || !item.is_of_namespace()) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Locks the file of a journal; false if another process has it. A command that is being started has the open files of
/// the one that starts it until it is a program of its own: so what is held for a moment only is tried again.
fn lock(file: &File) -> io::Result<bool> {
    for _ in 0..LOCK_TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(LOCKED_AGAIN_AFTER),
            other => return other.map(|()| true).map_err(io::Error::from),
        }
    }
    Ok(false)
}

/// Makes a folder for this user alone, so that its entry is on the disk, too.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_folder(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|()| sync_folder_of(folder)),
    }
}

/// The version of the format that is written and read.
pub(crate) const FORMAT: u32 = 1;

const EXTENSION: &str = "ndjson";

/// Journals of one process, with those that processes of the same number left.
const MOST_OF_A_PROCESS: u32 = 1_000;

/// A process starts another one in less than the tries take together.
const LOCK_TRIES: u32 = 10;
const LOCKED_AGAIN_AFTER: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn header() -> Header {
        let namespace = Namespace { name: None, inode: 7, is_of_host: true };
        Header { format: FORMAT, boot: "boot".to_owned(), root: "/".into(), namespace }
    }

    fn item(name: &str) -> Item {
        Item::Kernel { path: format!("/proc/sys/{name}").into() }
    }

    fn change(id: u32, name: &str, old: &str, new: &str) -> Line {
        Line::Change { id, item: item(name), old: old.to_owned(), new: new.to_owned() }
    }

    fn files_in(folder: &TempDir) -> usize {
        all_in(folder.path()).unwrap().len()
    }

    #[test]
    fn the_oldest_value_counts_until_the_change_is_settled() {
        let mut contents = Contents::default();
        for line in [change(1, "a", "0", "1"), Line::Became { id: 1, value: "2".to_owned() }] {
            contents.apply(line);
        }
        contents.apply(change(1, "a", "2", "3"));
        let open = contents.open_of(&item("a")).unwrap();
        assert_eq!((open.original.as_str(), open.before.as_str(), open.new.as_str()), ("0", "2", "3"));
        assert_eq!(open.became, None);
        contents.apply(Line::Settled { id: 1 });
        assert!(contents.open.is_empty());
        assert_eq!(contents.last_id, 1);
    }

    #[test]
    fn a_journal_without_owner_is_adopted_once_and_its_cut_line_is_taken_away() {
        let folder = TempDir::new().unwrap();
        let mut journal = Journal::create(folder.path(), &header()).unwrap();
        journal.append(&change(1, "a", "0", "1")).unwrap();
        let path = journal.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(Journal::adopt(&path).unwrap().is_none());
        drop(journal);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"became\"")).unwrap();
        let (adopted, contents) = Journal::adopt(&path).unwrap().unwrap();
        assert_eq!((contents.open.len(), fs::read_to_string(&path).unwrap()), (1, whole));
        assert!(Journal::adopt(&path).unwrap().is_none());
        adopted.remove();
        assert_eq!(files_in(&folder), 0);
        assert!(Journal::adopt(&path).unwrap().is_none());
    }

    #[test]
    fn another_text_is_no_journal_and_stays() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("1-0.ndjson");
        let header = serde_json::to_string(&Line::Header(header())).unwrap();
        let of_later = header.replace("\"format\":1", "\"format\":2");
        for (text, line) in [("hello\n", 1), ("{\"settled\":{\"id\":1}}\n", 1), (&format!("{of_later}\n"), 1)]
        {
            fs::write(&path, text).unwrap();
            assert!(
                matches!(Journal::adopt(&path), Err(JournalError::Line(found)) if found == line),
                "{text}"
            );
        }
        fs::write(&path, format!("{header}\n{{}}\n{{}}\n")).unwrap();
        assert!(matches!(Journal::adopt(&path), Err(JournalError::Line(2))));
        assert_eq!(files_in(&folder), 1);
    }

    #[test]
    fn a_journal_names_who_holds_a_value() {
        let folder = TempDir::new().unwrap();
        let mut journal = Journal::create(folder.path(), &header()).unwrap();
        journal.append(&change(1, "net/a", "0", "1")).unwrap();
        journal.append(&change(2, "vm/b", "0", "1")).unwrap();
        let elsewhere = Namespace { inode: 8, ..header().namespace };
        let held = |item: &Item, namespace: &Namespace| {
            holder(folder.path(), Path::new("own"), item, namespace).unwrap().is_some()
        };
        assert!(held(&item("net/a"), &header().namespace));
        assert!(!held(&item("net/a"), &elsewhere));
        assert!(held(&item("vm/b"), &elsewhere));
        assert!(!held(&item("vm/c"), &elsewhere));
        assert_eq!(holder(folder.path(), journal.path(), &item("vm/b"), &elsewhere).unwrap(), None);
    }
}

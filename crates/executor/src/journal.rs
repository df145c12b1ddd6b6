//! The folder of a campaign and its journal: one line when a run begins, one when it has ended. A campaign that was
//! stopped in any way, by `kill -9` too, is resumed from it, and no run that has ended is made again.
//!
//! ```text
//!   FOLDER/journal.ndjson   {"campaign": …}  {"began": 1, "why": …}  {"ended": 1}  {"began": 2, "why": …}
//!   FOLDER/runs/001         the record of run 1
//!   FOLDER/runs/002         run 2, which was cut off: kept as 002-cut-1 when it is made again
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use dnsdyno_campaign::CommandResult;
use dnsdyno_record::{Digest, ReadError, RunWriter, WriteError};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::results::{self, ResultsError};

/// The journal of a campaign, open for writing.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    file: File,
    entries: Vec<Entry>,
    /// Whether each of the earlier entries was handed out again.
    replayed: usize,
    /// The places on the host that were noted.
    places: Vec<PathBuf>,
}

/// A run of an earlier part of the campaign.
#[derive(Debug)]
pub enum Earlier {
    /// It has ended, and its record is whole. With the results of the commands beside it.
    Ended(Box<Digest>, Vec<CommandResult>),
    /// It was cut off: this is what its record has, if anything.
    Cut(Option<Box<Digest>>, Vec<CommandResult>),
    /// It has ended without a record that counts, for this reason.
    Failed(String),
}

/// A run of an earlier part of the campaign that leaves no record: a search with a journal of its own, or a program.
#[derive(Debug)]
pub enum Left {
    /// It has ended, and this is its folder.
    Ended(PathBuf),
    /// It was cut off.
    Cut,
    /// It has ended without a result that counts, for this reason.
    Failed(String),
}

/// A run in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    number: u32,
    ended: bool,
    /// Why it has failed, where it has.
    failed: Option<String>,
}

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Campaign {
        #[serde(default = "first_format")]
        format: u32,
        campaign: Value,
    },
    Began {
        began: u32,
        why: String,
    },
    Ended {
        ended: u32,
    },
    Failed {
        failed: u32,
        why: String,
    },
    Place {
        place: PathBuf,
    },
}

/// The format of the journal. Journals of before it was written have format 1.
pub const FORMAT: u32 = 1;

fn first_format() -> u32 {
    1
}

/// Why a campaign cannot be kept in a folder, or resumed from it.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The folder or a file in it cannot be read or written.
    #[error("cannot use {}: {source}; choose a folder that you may write to, with free space", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process carries this campaign out.
    #[error("{} is in use by another dnsdyno: wait for its end, or choose another folder", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder has another campaign.
    #[error(
        "{} holds another campaign, or one with other options: to resume it, type the command that began it; or choose \
         another folder", folder.display()
    )]
    Another {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder has the record of a run, or is a file.
    #[error(transparent)]
    NoFolder(#[from] WriteError),
    /// A line of the journal is not one.
    #[error("{}:{line}: this is no line of a campaign's journal", path.display())]
    Line {
        /// The journal.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// A newer dnsdyno has begun the campaign.
    #[error(
        "{} has format {format}, and this dnsdyno reads up to format {FORMAT}: resume the campaign with the dnsdyno \
         that began it, or choose another folder", path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Its format.
        format: u64,
    },
    /// The record of a run that has ended cannot be read.
    #[error("the record of a run of this campaign cannot be read: {0}")]
    Record(#[from] ReadError),
    /// The results of the commands beside a run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl JournalError {
    /// Whether the input is wrong, and nothing was sent.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            JournalError::Another { .. }
                | JournalError::NoFolder(WriteError::AlreadyARun { .. })
                | JournalError::Newer { .. }
        )
    }
}

/// The format in the first line of a journal, where it is newer than ours. Its other lines may be anything.
fn newer_format(text: &str) -> Option<u64> {
    let first: Value = serde_json::from_str(text.lines().next()?).ok()?;
    first.get("format")?.as_u64().filter(|format| *format > u64::from(FORMAT))
}

/// Locks the file of a journal; false if another process has it. A command that is being started has the open files of
/// the one that starts it until it is a program of its own: so what is held for a moment only is tried again.
fn is_ours(file: &File) -> io::Result<bool> {
    for _ in 0..LOCK_TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => thread::sleep(LOCKED_AGAIN_AFTER),
            other => return other.map(|()| true).map_err(io::Error::from),
        }
    }
    Ok(false)
}

impl Journal {
    /// Whether a campaign was begun in this folder.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Opens the journal in `folder`, or begins it, and keeps it for this process. `campaign` says what is done, with
    /// all its options.
    ///
    /// # Errors
    /// The folder cannot be used, is used by another process, or holds another campaign.
    pub fn open(folder: &Path, campaign: &Value) -> Result<Journal, JournalError> {
        let path = folder.join(FILE);
        let failed = |source| JournalError::File { path: path.clone(), source };
        RunWriter::check_folder(folder)?;
        fs::create_dir_all(folder.join(RUNS)).map_err(failed)?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        if !is_ours(&file).map_err(failed)? {
            return Err(JournalError::InUse { folder: folder.to_owned() });
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        if let Some(format) = newer_format(&text) {
            return Err(JournalError::Newer { path, format });
        }
        // A line that was cut off was not written.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(whole as u64).and_then(|()| file.seek(io::SeekFrom::End(0))).map_err(failed)?;
        }
        let mut journal =
            Journal { folder: folder.to_owned(), file, entries: Vec::new(), replayed: 0, places: Vec::new() };
        for (number, line) in text[..whole].lines().enumerate() {
            let line = serde_json::from_str(line)
                .map_err(|_| JournalError::Line { path: path.clone(), line: number + 1 })?;
            match line {
                Line::Campaign { campaign: kept, .. } if kept == *campaign => (),
                Line::Campaign { .. } => return Err(JournalError::Another { folder: folder.to_owned() }),
                Line::Began { began, .. } => {
                    journal.entries.push(Entry { number: began, ended: false, failed: None })
                }
                Line::Ended { ended } => {
                    let of_run = journal.entries.iter_mut().filter(|entry| entry.number == ended);
                    if let Some(entry) = of_run.last() {
                        entry.ended = true;
                    }
                }
                Line::Failed { failed, why } => {
                    let of_run = journal.entries.iter_mut().filter(|entry| entry.number == failed);
                    of_run.last().into_iter().for_each(|entry| {
                        (entry.ended, entry.failed) = (true, Some(why.clone()));
                    });
                }
                Line::Place { place } => journal.places.push(place),
            }
        }
        if text[..whole].is_empty() {
            journal.write(&Line::Campaign { format: FORMAT, campaign: campaign.clone() })?;
        }
        Ok(journal)
    }

    /// The folder of the campaign.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the last run of the earlier parts did not come to its end.
    pub fn was_cut_off(&self) -> bool {
        self.entries.last().is_some_and(|entry| !entry.ended)
    }

    /// The runs of earlier parts of this campaign, in their order; `None` after the last one.
    ///
    /// # Errors
    /// The record of a run that has ended cannot be read.
    pub fn earlier(&mut self) -> Result<Option<Earlier>, JournalError> {
        let Some(entry) = self.entries.get(self.replayed) else { return Ok(None) };
        self.replayed += 1;
        if let Some(why) = &entry.failed {
            return Ok(Some(Earlier::Failed(why.clone())));
        }
        if entry.ended {
            let folder = self.run_folder(entry.number);
            return Ok(Some(Earlier::Ended(Box::new(Digest::read(&folder)?), results::read(&folder)?)));
        }
        let made_again =
            self.entries[self.replayed..].iter().filter(|later| later.number == entry.number).count();
        // The cut records of a run are numbered in their order.
        let cut_before =
            self.entries[..self.replayed - 1].iter().filter(|earlier| earlier.number == entry.number).count();
        let kept = self.cut_folder(entry.number, cut_before + 1);
        let folder = if made_again > 0 || kept.exists() { kept } else { self.run_folder(entry.number) };
        Ok(Some(Earlier::Cut(Digest::read(&folder).ok().map(Box::new), results::read(&folder)?)))
    }

    /// The next of the earlier runs as [`Journal::earlier`] has it, where it leaves no record.
    pub fn left(&mut self) -> Option<Left> {
        let entry = self.entries.get(self.replayed)?;
        self.replayed += 1;
        Some(match &entry.failed {
            Some(why) => Left::Failed(why.clone()),
            None if entry.ended => Left::Ended(self.run_folder(entry.number)),
            None => Left::Cut,
        })
    }

    /// Notes that a run begins, and returns the folder for its record.
    ///
    /// # Errors
    /// The journal cannot be written, or a record that was cut off cannot be moved away.
    pub fn begin(&mut self, why: &str) -> Result<PathBuf, JournalError> {
        let number = self.next_number();
        let folder = self.run_folder(number);
        if folder.exists() {
            let cut = self.entries.iter().filter(|entry| entry.number == number).count();
            let kept = self.cut_folder(number, cut.max(1));
            fs::rename(&folder, &kept)
                .map_err(|source| JournalError::File { path: folder.clone(), source })?;
        }
        self.note_begin(number, why)?;
        Ok(folder)
    }

    /// As [`Journal::begin`], of a run that goes on where it was cut off: what is in its folder stays there.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn go_on(&mut self, why: &str) -> Result<PathBuf, JournalError> {
        let number = self.next_number();
        self.note_begin(number, why)?;
        Ok(self.run_folder(number))
    }

    /// The number of the run that begins next: that of the last one, if it was cut off.
    fn next_number(&self) -> u32 {
        match self.entries.last() {
            Some(entry) if !entry.ended => entry.number,
            Some(entry) => entry.number + 1,
            None => 1,
        }
    }

    fn note_begin(&mut self, number: u32, why: &str) -> Result<(), JournalError> {
        self.write(&Line::Began { began: number, why: why.to_owned() })?;
        self.entries.push(Entry { number, ended: false, failed: None });
        Ok(())
    }

    /// Notes that the run that began last has ended and that its record is whole.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn end(&mut self) -> Result<(), JournalError> {
        let Some(entry) = self.entries.last_mut() else { return Ok(()) };
        entry.ended = true;
        let ended = entry.number;
        self.write(&Line::Ended { ended })
    }

    /// Notes that the run that began last has ended without a record that counts, for a reason that is not its own.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn fail(&mut self, why: &str) -> Result<(), JournalError> {
        let Some(entry) = self.entries.last_mut() else { return Ok(()) };
        (entry.ended, entry.failed) = (true, Some(why.to_owned()));
        let failed = entry.number;
        self.write(&Line::Failed { failed, why: why.to_owned() })
    }

    /// Notes a place on the host, before anything is made there, so that the next start can take it away.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn note_place(&mut self, place: &Path) -> Result<(), JournalError> {
        self.write(&Line::Place { place: place.to_owned() })
    }

    /// The places that were noted before this start.
    pub fn places(&self) -> &[PathBuf] {
        &self.places
    }

    /// The folder of the record of a run, by its number from 1.
    pub fn run(&self, number: u32) -> PathBuf {
        self.run_folder(number)
    }

    fn run_folder(&self, number: u32) -> PathBuf {
        self.folder.join(RUNS).join(format!("{number:03}"))
    }

    fn cut_folder(&self, number: u32, cut: usize) -> PathBuf {
        self.folder.join(RUNS).join(format!("{number:03}-cut-{cut}"))
    }

    /// Writes a line, and waits until it is on the disk: what follows it may end the host.
    fn write(&mut self, line: &Line) -> Result<(), JournalError> {
        let failed = |source| JournalError::File { path: self.folder.join(FILE), source };
        let mut text = serde_json::to_string(line).map_err(|error| failed(error.into()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)
    }
}

const FILE: &str = "journal.ndjson";
const RUNS: &str = "runs";

/// A process starts another one in less than the tries take together.
const LOCK_TRIES: u32 = 20;
const LOCKED_AGAIN_AFTER: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tempfile::TempDir;

    fn open(folder: &TempDir) -> Result<Journal, JournalError> {
        Journal::open(folder.path(), &json!({"method": "search"}))
    }

    /// Begins a run whose record has something in it.
    fn begin(journal: &mut Journal, text: &str) -> PathBuf {
        let folder = journal.begin("a run").unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("something"), text).unwrap();
        folder
    }

    #[test]
    fn a_run_that_was_cut_off_is_made_again_and_its_record_is_kept() {
        let folder = TempDir::new().unwrap();
        for text in ["first", "second", "third"] {
            let run = begin(&mut open(&folder).unwrap(), text);
            assert!(run.ends_with("runs/001"), "{}", run.display());
        }
        let text =
            |run: &str| fs::read_to_string(folder.path().join("runs").join(run).join("something")).unwrap();
        assert_eq!(["001-cut-1", "001-cut-2", "001"].map(text), ["first", "second", "third"]);
        let mut journal = open(&folder).unwrap();
        for _ in 0..3 {
            assert!(matches!(journal.earlier().unwrap(), Some(Earlier::Cut(None, _))));
        }
        assert!(journal.earlier().unwrap().is_none());
    }

    #[test]
    fn a_run_that_goes_on_by_itself_keeps_its_folder() {
        let folder = TempDir::new().unwrap();
        let run = begin(&mut open(&folder).unwrap(), "half of it");
        let mut journal = open(&folder).unwrap();
        assert!(matches!(journal.left(), Some(Left::Cut)));
        assert!(journal.left().is_none());
        assert_eq!(journal.go_on("a run").unwrap(), run);
        assert!(run.join("something").exists());
        journal.end().unwrap();
        drop(journal);
        let mut journal = open(&folder).unwrap();
        assert!(matches!(journal.left(), Some(Left::Cut)));
        assert!(matches!(journal.left(), Some(Left::Ended(path)) if path == run));
    }

    #[test]
    fn after_a_run_that_has_ended_or_failed_comes_the_next_one() {
        let folder = TempDir::new().unwrap();
        {
            let mut journal = open(&folder).unwrap();
            begin(&mut journal, "fails");
            journal.fail("the server did not start").unwrap();
            assert!(begin(&mut journal, "ends").ends_with("runs/002"));
            journal.end().unwrap();
        }
        let mut journal = open(&folder).unwrap();
        let why = journal.earlier().unwrap();
        assert!(matches!(why, Some(Earlier::Failed(why)) if why == "the server did not start"));
        // It has ended, but this is no record.
        assert!(matches!(journal.earlier(), Err(JournalError::Record(_))));
        assert!(journal.begin("the next").unwrap().ends_with("runs/003"));
    }

    #[test]
    fn a_line_that_was_cut_off_was_not_written_and_another_text_is_an_error() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(FILE);
        open(&folder).unwrap().begin("a run").unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"ended\"")).unwrap();
        assert!(matches!(open(&folder).unwrap().earlier().unwrap(), Some(Earlier::Cut(..))));
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        fs::write(&path, format!("{whole}{{\"ended\": \"1\"}}\n")).unwrap();
        assert!(matches!(open(&folder), Err(JournalError::Line { line: 3, .. })));
    }

    #[test]
    fn a_journal_of_before_its_format_was_written_is_resumed_and_a_newer_one_is_left_alone() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(FILE);
        let first = "{\"campaign\":{\"method\":\"search\"}}\n{\"began\":1,\"why\":\"a run\"}\n";
        fs::write(&path, first).unwrap();
        assert!(matches!(open(&folder).unwrap().earlier().unwrap(), Some(Earlier::Cut(..))));
        let newer = "{\"format\":2,\"campaign\":{}}\n{\"started\":1}\n{\"cut";
        fs::write(&path, newer).unwrap();
        let refused = open(&folder).unwrap_err();
        assert!(matches!(refused, JournalError::Newer { format: 2, .. }) && refused.is_bad_input());
        assert_eq!(fs::read_to_string(&path).unwrap(), newer);
        fs::remove_file(&path).unwrap();
        drop(open(&folder).unwrap());
        assert!(fs::read_to_string(&path).unwrap().starts_with("{\"format\":1,\"campaign\":"));
    }

    #[test]
    fn a_folder_is_for_one_campaign_and_one_process_at_a_time() {
        let folder = TempDir::new().unwrap();
        let held = open(&folder).unwrap();
        assert!(matches!(open(&folder), Err(JournalError::InUse { .. })));
        drop(held);
        assert!(open(&folder).is_ok());
        let other = Journal::open(folder.path(), &json!({"method": "stair"}));
        assert!(matches!(other, Err(JournalError::Another { .. })));
    }
}

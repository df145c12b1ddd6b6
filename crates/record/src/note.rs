//! Notes that somebody gives to a run in progress, from another shell: how they reach its record.
//!
//! ```text
//!   dnsdyno note ──► FOLDER/note.pending ──► NoteIntake of the run ──► a line `event` of kind "note"
//!                    created, 0600            read, then removed: that is the answer
//! ```
//!
//! A file and no socket, because a file works in every folder that a record can be in: on NFS, in a path of any length,
//! with the run in another container. There is none while no note waits, so that a run leaves nothing behind. Whoever
//! removes the file decides: the run has the note then, or its giver has withdrawn it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dnsdyno_text::acts_on_a_terminal;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::{PACKED_FILE, RUN_FILE, is_in_progress};

/// A note, as it is handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenNote {
    /// What it says.
    pub text: String,
    /// When it was given, on the wall clock of its giver, since 1970.
    pub unix_ns: u64,
}

/// Why a note cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// Nothing is said.
    #[error("the note is empty: say what has happened, as in 'cache flushed'")]
    Empty,
    /// A terminal would act on it, or it cannot be seen.
    #[error(
        "the note has the character {}, which a terminal may act on: write it in one line of plain text",
        .0.escape_unicode()
    )]
    Character(char),
    /// It is no remark but a document.
    #[error(
        "the note has {0} characters, and the limit is {LONGEST_NOTE}: keep a longer text elsewhere, and name it"
    )]
    TooLong(usize),
    /// There is no run.
    #[error(
        "{} is not the folder of a run in progress: name that of `dnsdyno run` or `dnsdyno watch`, or one in which \
         it is", .0.display()
    )]
    NoRun(PathBuf),
    /// The name is that of several.
    #[error("several runs in progress are meant by {}: name one of {}", asked.display(), names(found))]
    Several {
        /// What was named.
        asked: PathBuf,
        /// The runs.
        found: Vec<PathBuf>,
    },
    /// The record is complete.
    #[error(
        "the run of {} has ended, and its record is closed: a note is for a run in progress (`dnsdyno run --note` is a \
         comment on a whole run)", .0.display()
    )]
    Ended(PathBuf),
    /// Only the user who started it may write into its record.
    #[error("the run of {} is that of another user: give the note as the user who started it", .0.display())]
    OtherUser(PathBuf),
    /// The file cannot be written.
    #[error("cannot give the note to the run of {}: {source}", folder.display())]
    File {
        /// The folder of the run.
        folder: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another note, or something else, has its place.
    #[error(
        "{} is in the way, and the run does not take it: remove it and try again", .0.display()
    )]
    InTheWay(PathBuf),
    /// The run has not read it in time.
    #[error(
        "the run of {} has not taken the note within {} s: its disk may be too slow, or it has {MOST_NOTES} notes; \
         nothing was recorded", .0.display(), PATIENCE.as_secs()
    )]
    NotTaken(PathBuf),
}

fn names(runs: &[PathBuf]) -> String {
    let shown: Vec<_> = runs.iter().take(MOST_NAMED).map(|run| run.display().to_string()).collect();
    let more = if runs.len() > MOST_NAMED { " ..." } else { "" };
    shown.join(", ") + more
}

/// Whether this can be a note.
///
/// # Errors
/// It is empty, longer than [`LONGEST_NOTE`], or has a character that is not shown.
pub fn check_note(text: &str) -> Result<(), NoteError> {
    if text.trim().is_empty() {
        return Err(NoteError::Empty);
    }
    if let Some(character) = text.chars().find(|character| acts_on_a_terminal(*character)) {
        return Err(NoteError::Character(character));
    }
    match text.chars().count() {
        0..=LONGEST_NOTE => Ok(()),
        length => Err(NoteError::TooLong(length)),
    }
}

/// Gives a note to the run in progress that keeps its record in `folder`, and waits until the run has it.
///
/// # Errors
/// The note is not one, the run has ended or is that of another user, or it does not take the note.
pub fn give_note(folder: &Path, text: &str) -> Result<(), NoteError> {
    check_note(text)?;
    let given = GivenNote { text: text.trim().to_owned(), unix_ns: wall_clock_ns() };
    give(folder, &given, Instant::now() + PATIENCE)
}

fn give(folder: &Path, note: &GivenNote, deadline: Instant) -> Result<(), NoteError> {
    let failed = |source| NoteError::File { folder: folder.to_owned(), source };
    let run = run_file(folder).ok_or_else(|| NoteError::NoRun(folder.to_owned()))?;
    let owner = run.metadata().map_err(failed)?.uid();
    let path = folder.join(PENDING_FILE);
    let mut file = loop {
        if !is_in_progress(folder) {
            return Err(NoteError::Ended(folder.to_owned()));
        }
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => break file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if Instant::now() >= deadline {
                    return Err(NoteError::InTheWay(path));
                }
                std::thread::sleep(MOMENT);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(match owner == rustix::process::geteuid().as_raw() {
                    true => failed(error),
                    false => NoteError::OtherUser(folder.to_owned()),
                });
            }
            Err(error) => return Err(failed(error)),
        }
    };
    let waiting = Waiting { path: &path, file: file.metadata().map_err(failed)? };
    // Compared as the file system says it, which may know nobody but one user.
    if waiting.file.uid() != owner {
        waiting.withdraw();
        return Err(NoteError::OtherUser(folder.to_owned()));
    }
    let mut line = serde_json::to_vec(note).map_err(|error| failed(error.into()))?;
    line.push(b'\n');
    if let Err(error) = file.write_all(&line) {
        waiting.withdraw();
        return Err(failed(error));
    }
    waiting.until_taken(folder, deadline)
}

/// A note that its run has not taken yet.
struct Waiting<'a> {
    path: &'a Path,
    file: std::fs::Metadata,
}

impl Waiting<'_> {
    fn is_there(&self) -> bool {
        let now = self.path.symlink_metadata();
        now.is_ok_and(|now| (now.dev(), now.ino()) == (self.file.dev(), self.file.ino()))
    }

    fn until_taken(&self, folder: &Path, deadline: Instant) -> Result<(), NoteError> {
        while self.is_there() {
            let is_late = Instant::now() >= deadline;
            let has_ended = !is_in_progress(folder);
            // The run looks a last time when it ends: the one who removes the file decides.
            if (is_late || has_ended) && self.withdraw() {
                let folder = folder.to_owned();
                return Err(if has_ended { NoteError::Ended(folder) } else { NoteError::NotTaken(folder) });
            }
            std::thread::sleep(MOMENT);
        }
        Ok(())
    }

    /// Whether the note was still there.
    fn withdraw(&self) -> bool {
        self.is_there() && std::fs::remove_file(self.path).is_ok()
    }
}

/// Takes the notes that are given to a run, for the run itself.
#[derive(Debug)]
pub struct NoteIntake {
    path: PathBuf,
    /// Who owns the record.
    owner: u32,
    /// Since when a file without its end is there.
    unfinished: Option<Instant>,
    /// Notes taken, up to [`MOST_NOTES`].
    taken: u32,
}

impl NoteIntake {
    /// Takes those of the run that keeps its record in `folder`; `None` where there is no record.
    pub fn of(folder: &Path) -> Option<NoteIntake> {
        let owner = run_file(folder)?.metadata().ok()?.uid();
        Some(NoteIntake { path: folder.join(PENDING_FILE), owner, unfinished: None, taken: 0 })
    }

    /// The note that waits, if there is one. Cheap where there is none: one file that does not exist is opened.
    pub fn take(&mut self) -> Option<GivenNote> {
        if self.taken >= MOST_NOTES {
            return None;
        }
        let mut line = Vec::new();
        self.open()?.take(LONGEST_NOTE_BYTES + 1).read_to_end(&mut line).ok()?;
        if line.last() != Some(&b'\n') {
            // Its giver still writes it, or was killed while it did.
            let since = *self.unfinished.get_or_insert_with(Instant::now);
            if since.elapsed() > LONGEST_WRITE {
                self.remove();
            }
            return None;
        }
        // Without the right to remove it, it would be taken again and again.
        if !self.remove() {
            return None;
        }
        let note: GivenNote = serde_json::from_slice(&line).ok()?;
        check_note(&note.text).ok()?;
        self.taken += 1;
        Some(note)
    }

    /// The file, if it is one that the owner of the record has made, and that nobody else can write to.
    fn open(&mut self) -> Option<File> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(&self.path) else {
            self.unfinished = None;
            return None;
        };
        let facts = file.metadata().ok()?;
        let is_own = facts.uid() == self.owner && facts.mode() & 0o077 == 0 && facts.nlink() == 1;
        (facts.is_file() && is_own && facts.len() <= LONGEST_NOTE_BYTES).then_some(file)
    }

    fn remove(&mut self) -> bool {
        self.unfinished = None;
        std::fs::remove_file(&self.path).is_ok()
    }
}

/// The folder of the run in progress that is meant by `asked`: the folder of a run or its file, a folder in which there
/// is one such run, or the name of a folder in `runs`.
///
/// # Errors
/// There is none, it has ended, or there are several.
pub fn run_in_progress(asked: &Path, runs: &Path) -> Result<PathBuf, NoteError> {
    let named = runs.join(asked);
    let folder = match (asked.is_file(), asked.exists(), named.is_dir()) {
        (true, ..) => asked.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        (_, true, _) => asked,
        (.., true) => &named,
        _ => return by_ending(asked, runs),
    };
    if run_file(folder).is_some() {
        return match is_in_progress(folder) {
            true => Ok(folder.to_owned()),
            false => Err(NoteError::Ended(folder.to_owned())),
        };
    }
    one_of(runs_under(folder, DEEPEST), asked)
}

/// A run whose folder is named by its time and this name, as `dnsdyno run --name` does.
fn by_ending(asked: &Path, runs: &Path) -> Result<PathBuf, NoteError> {
    let ending = asked.to_str().map(|name| format!("-{name}"));
    let is_meant = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        ending.as_ref().is_some_and(|ending| name.ends_with(ending))
    };
    one_of(runs_under(runs, 1).into_iter().filter(is_meant).collect(), asked)
}

fn one_of(mut found: Vec<PathBuf>, asked: &Path) -> Result<PathBuf, NoteError> {
    match (found.pop(), found.is_empty()) {
        (Some(run), true) => Ok(run),
        (None, _) => Err(NoteError::NoRun(asked.to_owned())),
        (Some(last), false) => {
            found.push(last);
            Err(NoteError::Several { asked: asked.to_owned(), found })
        }
    }
}

/// The runs in progress in the folders of this one, such as the trial that a search makes now.
fn runs_under(folder: &Path, deepest: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(folder.to_owned(), 0)]);
    let mut looked_at = 0;
    while let Some((folder, depth)) = folders.pop_front().filter(|_| looked_at < MOST_FOLDERS) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            looked_at += 1;
            let path = entry.path();
            match run_file(&path) {
                Some(_) if is_in_progress(&path) => found.push(path),
                None if depth + 1 < deepest => folders.push_back((path, depth + 1)),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// The file of measurements of a run.
fn run_file(folder: &Path) -> Option<PathBuf> {
    [RUN_FILE, PACKED_FILE].iter().map(|file| folder.join(file)).find(|file| file.is_file())
}

fn wall_clock_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// The file of a note that waits, in the folder of the run.
pub const PENDING_FILE: &str = "note.pending";

/// Characters of a note: some sentences.
pub const LONGEST_NOTE: usize = 400;

/// Its bytes as a line: those of the longest text, each escaped.
pub const LONGEST_NOTE_BYTES: u64 = 8_192;

/// Notes of one run. A summary keeps a hundred events; many more would be a mistake of a script.
const MOST_NOTES: u32 = 1_000;

/// How long the giver of a note waits for the run, whose disk may be slow, or whose folder may be seen late by another
/// host.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it may take to write a file of one line.
const LONGEST_WRITE: Duration = Duration::from_secs(5);

const MOMENT: Duration = Duration::from_millis(20);

/// Folders under that of a campaign until those of its runs: `runs/SERVER/LOAD/NNN`.
const DEEPEST: u32 = 5;

/// Folders that are looked at for a run in progress.
const MOST_FOLDERS: u32 = 10_000;

/// Runs that an error names.
const MOST_NAMED: usize = 5;

#[cfg(test)]
mod tests;

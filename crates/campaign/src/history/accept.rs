//! Steps that are intended: who changes a server on purpose says so once, with the reason, and the step is no
//! regression any more.
//!
//! The reasons are lines of a file beside the records. A note of the run itself says the same where it begins with
//! `accept:` (`dnsdyno run --note`, or `dnsdyno note` while it lasts); the record of a run that has ended is closed.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use dnsdyno_record::{NoteError, check_note, open_regular};
use serde::{Deserialize, Serialize};

/// The accepted steps in the folder of a history.
pub const ACCEPTED_FILE: &str = "history-accepted.ndjson";

/// A step that is intended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The run at which it began, as a folder below that of the history.
    pub run: String,
    /// Why.
    pub reason: String,
    /// When it was accepted, nanoseconds since 1970; 0 where a note of the run says so.
    pub unix_ns: u64,
}

/// Why a step cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The reason is none.
    #[error("the reason cannot be kept: {0}")]
    Reason(#[from] NoteError),
    /// The file cannot be written.
    #[error("cannot write {ACCEPTED_FILE} in the folder of the history: {0}")]
    File(#[from] io::Error),
}

/// Notes that a step is intended.
///
/// # Errors
/// The reason is empty, too long or no plain text, or the folder cannot be written.
pub fn accept(history: &Path, accepted: &Accepted) -> Result<(), AcceptError> {
    check_note(&accepted.reason)?;
    let mut line = serde_json::to_vec(accepted).map_err(io::Error::from)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).create(true).open(history.join(ACCEPTED_FILE))?;
    // One write at the end of the file: lines of others are before or after it.
    Ok(file.write_all(&line)?)
}

/// The accepted steps of a history; a line that is none is passed over.
///
/// # Errors
/// The file is there and cannot be read.
pub(super) fn accepted(history: &Path) -> io::Result<Vec<Accepted>> {
    let file = match open_regular(&history.join(ACCEPTED_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let lines = BufReader::new(file.take(LARGEST_BYTES)).split(b'\n');
    let mut all = Vec::new();
    for line in lines {
        all.extend(
            serde_json::from_slice::<Accepted>(&line?).ok().filter(|one| check_note(&one.reason).is_ok()),
        );
    }
    Ok(all)
}

const LARGEST_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accepted_is_kept_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(accepted(folder.path()).unwrap(), []);
        let one = |run: &str, reason: &str| Accepted { run: run.into(), reason: reason.into(), unix_ns: 7 };
        accept(folder.path(), &one("a", "new host")).unwrap();
        assert!(
            accept(folder.path(), &one("b", " ")).is_err()
                && accept(folder.path(), &one("b", "x\ny")).is_err()
        );
        std::fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join(ACCEPTED_FILE))
            .and_then(|mut file| file.write_all(b"no line\n"))
            .unwrap();
        accept(folder.path(), &one("b", "threads halved")).unwrap();
        assert_eq!(accepted(folder.path()).unwrap(), [one("a", "new host"), one("b", "threads halved")]);
    }
}

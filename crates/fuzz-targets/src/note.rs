//! Notes that wait for their run.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use dnsdyno_record::{GivenNote, LONGEST_NOTE_BYTES, NoteIntake, PENDING_FILE, RUN_FILE, check_note};

use crate::folder::{in_folder, write};

/// The file of a note that waits.
pub fn pending_note(file: &[u8]) {
    in_folder("pending_note", |folder| {
        write(&folder.join(RUN_FILE), b"");
        let Some(note) = taken(folder, file) else { return };
        check_note(&note.text).expect("what is taken is a note");
        let mut line = serde_json::to_vec(&note).expect("a note can be written");
        line.push(b'\n');
        assert_eq!(taken(folder, &line), Some(note), "it is given again");
    });
}

/// What a run takes of this file. It stays in the way of other notes only where its end is missing.
fn taken(folder: &Path, file: &[u8]) -> Option<GivenNote> {
    let waiting = folder.join(PENDING_FILE);
    let mut giver = OpenOptions::new();
    let mut writer =
        giver.write(true).create_new(true).mode(0o600).open(&waiting).expect("a folder of our own");
    writer.write_all(file).expect("the disk has space");
    let mut intake = NoteIntake::of(folder).expect("there is a record");
    let note = intake.take();
    assert_eq!(intake.take(), None, "a note is taken once");
    let is_whole = file.last() == Some(&b'\n') && file.len() as u64 <= LONGEST_NOTE_BYTES;
    assert_eq!(waiting.exists(), !is_whole);
    if !is_whole {
        assert_eq!(note, None);
        std::fs::remove_file(&waiting).expect("a folder of our own");
    }
    note
}

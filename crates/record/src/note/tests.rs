//! Notes: given, taken, withdrawn, refused; and what is none.

use super::*;
use crate::lock::lock;

/// A folder with a record, and the lock of its writer.
fn run_of(folder: &Path) -> Option<File> {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(RUN_FILE), "").unwrap();
    lock(folder)
}

fn note(text: &str) -> GivenNote {
    GivenNote { text: text.to_owned(), unix_ns: 1_700_000_000_000_000_000 }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(200)
}

#[test]
fn a_note_that_is_taken_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let _writer = run_of(dir.path());
    let mut intake = NoteIntake::of(dir.path()).unwrap();
    assert_eq!(intake.take(), None);
    let taken = std::thread::scope(|scope| {
        let giver = scope.spawn(|| give_note(dir.path(), "  cache flushed: Bücher "));
        let taken = std::iter::repeat_with(|| intake.take()).find_map(|note| note).unwrap();
        giver.join().unwrap().unwrap();
        taken
    });
    assert_eq!(taken.text, "cache flushed: Bücher");
    assert!(wall_clock_ns() - taken.unix_ns < 60_000_000_000);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "only the record");
}

#[test]
fn a_note_that_nobody_takes_is_withdrawn_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let writer = run_of(dir.path());
    assert!(matches!(give(dir.path(), &note("x"), soon()), Err(NoteError::NotTaken(_))));
    std::thread::scope(|scope| {
        let giver = scope.spawn(|| give_note(dir.path(), "too late"));
        while !dir.path().join(PENDING_FILE).exists() {}
        drop(writer);
        assert!(matches!(giver.join().unwrap(), Err(NoteError::Ended(_))));
    });
    assert!(matches!(give_note(dir.path(), "after the end"), Err(NoteError::Ended(_))));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "only the record");
}

#[test]
fn what_is_no_note_is_refused_before_anything_is_written() {
    let nowhere = Path::new("/nowhere");
    assert!(matches!(give_note(nowhere, " \u{a0}"), Err(NoteError::Empty)));
    assert!(matches!(give_note(nowhere, "a\nb"), Err(NoteError::Character('\n'))));
    assert!(matches!(give_note(nowhere, "\u{1b}[2J"), Err(NoteError::Character('\u{1b}'))));
    assert!(matches!(give_note(nowhere, "a\u{202e}b"), Err(NoteError::Character('\u{202e}'))));
    assert!(matches!(give_note(nowhere, &"ä".repeat(LONGEST_NOTE + 1)), Err(NoteError::TooLong(401))));
    assert!(matches!(give_note(nowhere, &"ä".repeat(LONGEST_NOTE)), Err(NoteError::NoRun(_))));
}

#[test]
fn the_longest_note_fits_into_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let _writer = run_of(dir.path());
    // Of the characters that JSON escapes, and of the widest ones.
    for text in ["\"".repeat(LONGEST_NOTE), "\u{10ffff}".repeat(LONGEST_NOTE)] {
        let mut intake = NoteIntake::of(dir.path()).unwrap();
        std::thread::scope(|scope| {
            let giver = scope.spawn(|| give_note(dir.path(), &text));
            let taken = std::iter::repeat_with(|| intake.take()).find_map(|note| note).unwrap();
            giver.join().unwrap().unwrap();
            assert_eq!(taken.text, text);
        });
    }
}

/// What stands in the place of a note, and is none.
#[test]
fn files_of_others_are_no_notes() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let _writer = run_of(dir.path());
    let pending = dir.path().join(PENDING_FILE);
    let line = serde_json::to_string(&note("x")).unwrap() + "\n";
    let write = |text: &str, mode: u32| {
        std::fs::write(&pending, text).unwrap();
        std::fs::set_permissions(&pending, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let taken = || NoteIntake::of(dir.path()).unwrap().take();
    write(&line, 0o640);
    assert_eq!(taken(), None, "another user could have written it");
    write(&line, 0o600);
    std::fs::hard_link(&pending, dir.path().join("other")).unwrap();
    assert_eq!(taken(), None, "it has another name");
    std::fs::remove_file(&pending).unwrap();
    std::os::unix::fs::symlink(dir.path().join("other"), &pending).unwrap();
    assert_eq!(taken(), None, "it is a link");
    std::fs::remove_file(&pending).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pending, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(taken(), None, "it is a pipe");
    assert!(matches!(give(dir.path(), &note("y"), soon()), Err(NoteError::InTheWay(_))));
    std::fs::remove_file(&pending).unwrap();
    write(&"x".repeat(LONGEST_NOTE_BYTES as usize + 1), 0o600);
    assert_eq!(taken(), None, "it is too long");
    // These are removed, so that they do not keep notes out.
    for text in ["{\"text\":\"\\u001b[2J\",\"unix_ns\":1}\n", "{\"text\":\"\",\"unix_ns\":1}\n", "nothing\n"]
    {
        write(text, 0o600);
        assert_eq!(taken(), None, "{text}");
        assert!(!pending.exists(), "{text}");
    }
    write(&line, 0o600);
    assert_eq!(taken(), Some(note("x")));
}

#[test]
fn a_note_of_which_the_end_is_missing_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let _writer = run_of(dir.path());
    let mut intake = NoteIntake::of(dir.path()).unwrap();
    let line = serde_json::to_string(&note("x")).unwrap();
    let pending = dir.path().join(PENDING_FILE);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&pending).unwrap();
    assert_eq!(intake.take(), None);
    file.write_all(line.as_bytes()).unwrap();
    assert_eq!(intake.take(), None);
    file.write_all(b"\n").unwrap();
    assert_eq!(intake.take(), Some(note("x")));
}

#[test]
fn notes_have_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let _writer = run_of(dir.path());
    let mut intake = NoteIntake::of(dir.path()).unwrap();
    intake.taken = MOST_NOTES;
    std::fs::write(dir.path().join(PENDING_FILE), "{\"text\":\"x\",\"unix_ns\":1}\n").unwrap();
    assert_eq!(intake.take(), None);
}

#[test]
fn a_run_is_found_by_its_folder_its_file_its_name_and_in_a_folder_of_runs() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let find = runs.join("2026-03-09T14-05-00Z-find");
    let trial = find.join("runs/002");
    let ended = find.join("runs/001");
    drop(run_of(&ended));
    let _trial = run_of(&trial);
    let named = runs.join("2026-03-09T14-05-00Z-night");
    let meant = |path: &Path| run_in_progress(path, &runs);
    assert_eq!(meant(&runs).unwrap(), trial);
    let _named = run_of(&named);
    assert_eq!(meant(&trial).unwrap(), trial);
    assert_eq!(meant(&trial.join(RUN_FILE)).unwrap(), trial);
    assert_eq!(meant(&find).unwrap(), trial);
    assert_eq!(meant(Path::new("night")).unwrap(), named);
    assert_eq!(meant(named.file_name().unwrap().as_ref()).unwrap(), named);
    assert!(matches!(meant(&runs), Err(NoteError::Several { found, .. }) if found == [trial.clone(), named]));
    assert!(matches!(meant(&ended), Err(NoteError::Ended(_))));
    for none in ["", "nothing", "ight", "../nothing"] {
        assert!(
            matches!(meant(Path::new(none)), Err(NoteError::NoRun(_) | NoteError::Several { .. })),
            "{none}"
        );
    }
}

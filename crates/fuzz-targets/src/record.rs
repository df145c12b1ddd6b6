//! Records: the plain file of every format, and the compressed one with its index.

use std::path::Path;

use dnsdyno_record::{
    Digest, HostInfo, INDEX_FILE, Line, MAX_EVENTS, MAX_PHASE_ROWS, PACKED_FILE, RUN_FILE, RunReader,
    RunWriter,
};

use crate::folder::{in_folder, write};

/// A plain run file.
pub fn run_file(file: &[u8]) {
    in_folder("run_file", |folder| {
        write(&folder.join(RUN_FILE), file);
        let read = Digest::read(folder);
        show(&read);
        if let Ok(digest) = &read {
            is_written_and_read_again(folder, digest);
        }
    });
}

/// A compressed run file and its index. After the first byte: where that is even, the two files as they are, behind
/// the length of the first in two bytes; where it is odd, their text, the two separated by a byte 0 and frames of zstd
/// by a byte 1, for bytes that a fuzzer changes would rarely be a frame.
pub fn packed_run(files: &[u8]) {
    let Some((form, files)) = files.split_first() else { return };
    let (run, index) = match form % 2 {
        0 => {
            let Some((length, files)) = files.split_first_chunk::<2>() else { return };
            let (run, index) = files.split_at(usize::from(u16::from_be_bytes(*length)).min(files.len()));
            (run.to_vec(), index.to_vec())
        }
        _ => {
            let mut texts = files.splitn(2, |byte| *byte == 0);
            (frames(texts.next().unwrap_or_default()), frames(texts.next().unwrap_or_default()))
        }
    };
    in_folder("packed_run", |folder| {
        write(&folder.join(PACKED_FILE), &run);
        write(&folder.join(INDEX_FILE), &index);
        show(&Digest::read(folder));
        if let Ok(reader) = RunReader::open(folder)
            && let Ok(lines) = reader.between(1_000_000_000, 70_000_000_000)
        {
            lines.for_each(drop);
        }
    });
}

/// A digest is bounded, and every summary of it can be made; an error is one line that a terminal shows.
fn show(read: &Result<Digest, dnsdyno_record::ReadError>) {
    match read {
        Ok(digest) => {
            assert!(digest.rows().len() <= MAX_PHASE_ROWS && digest.events.len() <= MAX_EVENTS);
            if let Some(sum) = &digest.sum {
                assert_eq!(sum.tally.ends.total(), sum.tally.scheduled);
            }
            let _ = dnsdyno_report::summary(digest, 80);
            let _ = dnsdyno_report::summary(digest, 40);
            let _ = dnsdyno_report::workers(digest, 80);
            let _ = dnsdyno_report::summary_json(digest).to_string();
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
    }
}

/// What was read and is written again is read as the same.
fn is_written_and_read_again(folder: &Path, digest: &Digest) {
    let copy = folder.join("copy");
    let mut writer =
        RunWriter::create(&copy, &digest.header, "", &HostInfo::default()).expect("a folder of our own");
    for line in RunReader::open(folder).expect("it was opened before") {
        let written = match line.expect("it was read before") {
            Line::Interval(interval) => writer.interval(&interval),
            Line::Event(event) => writer.event(&event),
            Line::Sum(sum) => writer.finish(&sum),
        };
        written.expect("the disk has space");
    }
    drop(writer);
    let again = Digest::read(&copy).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&copy).expect("a folder of our own");
    let mut whole = digest.clone();
    whole.torn = false;
    assert!(again == whole, "it was torn: {}", digest.torn);
}

/// The content as frames of zstd, without the separators.
fn frames(text: &[u8]) -> Vec<u8> {
    text.split(|byte| *byte == 1)
        .flat_map(|frame| zstd::bulk::compress(frame, 1).expect("bytes can be compressed"))
        .collect()
}

//! The files in `tests/cases`: each is of a kind that was once read wrongly, with what is right for it.

use std::fs;
use std::path::Path;

use dnsdyno_measure::CaptureCounts;

use crate::contents::{Contents, Survey};
use crate::sample::{Message, read};

/// The messages of a file, and what was counted.
fn case(name: &str) -> (Vec<Message>, CaptureCounts) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    let (messages, counts, error) = read(fs::read(path).unwrap());
    assert!(error.is_none(), "{name}: {error:?}");
    (messages, counts)
}

/// What `dnsdyno capture show` counts of a file.
fn contents(name: &str) -> Contents {
    let (messages, counts) = case(name);
    let mut survey = Survey::default();
    messages.iter().for_each(|message| survey.add(&message.borrowed()));
    survey.contents(counts)
}

#[test]
fn obsolete_packet_blocks_of_pcapng_hold_packets() {
    let contents = contents("01-obsolete-packet-block.pcapng");
    assert_eq!((contents.queries, contents.read.frames, contents.read.unknown_blocks), (1, 1, 0));
}

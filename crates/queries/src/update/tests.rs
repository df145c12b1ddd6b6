//! Updates are as RFC 2136 says, and mistakes are told in words of ours and of dnsperf.

use dnsdyno_wire::{QueryForm, peek};

use super::name::name_in_zone;
use super::*;
use crate::{Queries, QueriesFormat, Selection};

fn read(text: &str) -> Result<Loaded, SourceError> {
    read_with(text, QueryForm::default(), BadLines::SkipFew)
}

fn read_with(text: &str, form: QueryForm, bad_lines: BadLines) -> Result<Loaded, SourceError> {
    let selection = Selection { format: QueriesFormat::Updates, ..Selection::default() };
    read_updates(text.as_bytes(), "u.txt", 0, &Reading { form, bad_lines, selection, ..Reading::default() })
}

fn messages(text: &str) -> Vec<Vec<u8>> {
    let queries: Queries = read(text).unwrap().queries;
    (0..queries.len()).map(|i| queries.message(i).to_vec()).collect()
}

fn mistake(block: &str) -> UpdateMistake {
    match read_with(block, QueryForm::default(), BadLines::Refuse) {
        Err(SourceError::BadLine(bad)) => match bad.reason {
            BadReason::Update(mistake) => mistake,
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_update_has_zone_prerequisites_and_updates_with_compressed_names() {
    let message = messages("; one\nexample.com\n\nrequire www A\nadd www 60 A 192.0.2.1\nsend\n").remove(0);
    let want = [
        &b"\0\0\x28\0\0\x01\0\x01\0\x01\0\0\x07example\x03com\0\0\x06\0\x01"[..],
        b"\x03www\xc0\x0c\0\x01\0\xff\0\0\0\0\0\0",
        b"\xc0\x1d\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01",
    ]
    .concat();
    assert_eq!(message, want);
    let found = peek(&message).unwrap();
    assert_eq!((found.opcode(), found.qtype()), (5, Some(6)));
}

#[test]
fn each_command_has_the_class_that_says_what_it_means() {
    // Type, class and the length of the data of the only record.
    let record = |line: &str| {
        let message = messages(&format!(".\n{line}\nsend\n")).remove(0);
        let fixed = &message[12 + 5 + 3..];
        [0, 2, 8].map(|at| u16::from_be_bytes([fixed[at], fixed[at + 1]]))
    };
    for (line, want) in [
        ("require a.", [255, 255, 0]),
        ("require a. A", [1, 255, 0]),
        ("require a. A 192.0.2.1", [1, 1, 4]),
        ("prohibit a.", [255, 254, 0]),
        ("prohibit a. A ignored", [1, 254, 0]),
        ("add a. 5 A 192.0.2.1", [1, 1, 4]),
        ("DELETE a.", [255, 255, 0]),
        ("delete a. A", [1, 255, 0]),
        ("delete a. A 192.0.2.1", [1, 254, 4]),
        ("add a. 5 TXT \"x y\" z", [16, 1, 6]),
        ("add a. 5 TYPE65280 \\# 2 0a00", [65280, 1, 2]),
    ] {
        assert_eq!(record(line), want, "{line}");
    }
}

#[test]
fn a_ttl_may_have_units() {
    let message = |ttl: &str| messages(&format!(".\nadd a. {ttl} A 192.0.2.1\nsend\n"));
    assert_eq!(message("1d12h"), message("129600"));
    assert_eq!(mistake("z\nadd a 1x A 192.0.2.1\nsend\n"), UpdateMistake::Ttl);
}

#[test]
fn names_are_relative_to_the_zone_unless_they_end_with_a_dot() {
    let zone = b"\x07example\0";
    let name = |text: &str| name_in_zone(text.as_bytes(), zone).unwrap();
    assert_eq!(name("www"), b"\x03www\x07example\0");
    assert_eq!(name("www."), b"\x03www\0");
    assert_eq!(name("@"), zone);
    assert_eq!(name("a\\."), b"\x02a.\x07example\0");
    let long = [&[b'a'; 62][..], b".", &[b'b'; 62], b".", &[b'c'; 62], b".", &[b'd'; 62]].concat();
    assert!(matches!(name_in_zone(&long, zone), Err(UpdateMistake::Name(_))));
    let mx = messages("example.com\nadd @ 5 MX 10 mail\nsend\n").remove(0);
    assert!(mx.ends_with(b"\0\x09\0\x0a\x04mail\xc0\x0c"), "{mx:?}");
}

#[test]
fn an_update_may_have_more_records_than_an_octet_counts() {
    let lines: String = (0..300).map(|i| format!("add n{i} 5 A 192.0.2.1\n")).collect();
    let message = messages(&format!("example.com\n{lines}send\n")).remove(0);
    assert_eq!(message[6..10], [0, 0, 1, 44]);
    let many: String = (0..5_000).map(|i| format!("add n{i} 5 A 192.0.2.1\n")).collect();
    assert_eq!(mistake(&format!("example.com\n{many}send\n")), UpdateMistake::Long);
}

#[test]
fn edns_follows_the_updates() {
    let form = QueryForm { edns_size: Some(4096), dnssec_ok: true, ..QueryForm::default() };
    let loaded = read_with("a\nadd b 5 A 192.0.2.1\nsend", form, BadLines::SkipFew).unwrap();
    let message = loaded.queries.message(0);
    assert_eq!(message[10..12], [0, 1]);
    assert!(message.ends_with(b"\0\0\x29\x10\0\0\0\x80\0\0\0"));
}

#[test]
fn the_check_before_the_load_updates_nothing() {
    let loaded = read("example.com\nadd b 5 A 192.0.2.1\nsend").unwrap();
    let message = loaded.queries.check_message(7, 0);
    assert_eq!(message, b"\0\x07\0\0\0\x01\0\0\0\0\0\0\x07example\x03com\0\0\x06\0\x01");
}

#[test]
fn each_mistake_has_words_of_ours_and_of_dnsperf() {
    for (line, words) in [
        ("change a", "invalid update command: change a"),
        ("add a x A 192.0.2.1", "invalid update command, TTL invalid: add a x A 192.0.2.1"),
        ("add a 5", "invalid update command, TYPE required: add a 5"),
        ("add a 5 NONSENSE x", "invalid update command, TYPE invalid: add a 5 NONSENSE x"),
        ("add a 5 A", "invalid update command, RDATA required: add a 5 A"),
        ("add a 5 A 192.0.2", "invalid update command, invalid RDATA or out of memory: add a 5 A 192.0.2"),
        (
            "add a..b 5 A 192.0.2.1",
            "invalid update command, invalid name or out of memory: add a..b 5 A 192.0.2.1",
        ),
    ] {
        assert_eq!(mistake(&format!("example.com\n{line}\nsend\n")).in_words_of_dnsperf(line), words);
    }
    assert_eq!(mistake("z\nadd a 5 A 192.0.2.1\nrequire a\nsend\n"), UpdateMistake::Order);
    assert_eq!(mistake("z\nadd a 5 A 192.0.2.1\n"), UpdateMistake::Incomplete);
    assert!(matches!(mistake("a..b\nsend\n"), UpdateMistake::Zone(_)));
    assert_eq!(mistake("z\nadd a 5 TXT (\nsend\n"), UpdateMistake::Data);
}

#[test]
fn a_block_with_a_mistake_is_skipped_and_counted_once() {
    let text = "z\nadd a 5 A x\nchange b\nsend\nz\nadd a 5 A 192.0.2.1\nsend\n";
    let loaded = read(text).unwrap();
    assert_eq!((loaded.queries.len(), loaded.bad_lines, loaded.first_bad[0].line), (1, 1, 2));
    assert!(matches!(read("z\nadd a 5 A x\nsend\n"), Err(SourceError::NoGoodLine { .. })));
    assert!(matches!(read("; nothing\n"), Err(SourceError::Empty { .. })));
    let long = format!("z\nadd a 5 TXT {}\n", "x".repeat(2 << 20));
    assert!(matches!(read(&long), Err(SourceError::LongLine { line: 2, .. })));
}

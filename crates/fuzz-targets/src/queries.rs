//! Files of queries: text, lists, binary files, zone files.

use std::io::Cursor;

use dnsdyno_queries::QueriesFormat;
use dnsdyno_queries::{
    BadLines, Loaded, QueryToMake, Reading, Selection, TsigKey, TsigText, WorkerShare, read_input, read_text,
    read_zone_text,
};
use dnsdyno_wire::{QueryForm, peek};

use crate::plain::is_plain;

/// A file of lines: in the usual format, as a list, and as dnsperf and queryperf read it.
pub fn query_text(text: &[u8]) {
    for format in [QueriesFormat::Auto, QueriesFormat::Csv, QueriesFormat::Dnsperf, QueriesFormat::Queryperf]
    {
        let Ok(loaded) = read_text(text, "queries", 0, &reading(format)) else { continue };
        for i in 0..loaded.queries.len() {
            // Each query is a line of a query file again.
            let line =
                loaded.queries.line(i, QueryForm::default()).expect("a query that was read from a line");
            let again = read_text(line.as_bytes(), "line", 0, &reading(QueriesFormat::Text))
                .unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(again.queries.message(0), loaded.queries.message(i), "{line}");
        }
        is_made_whole(&loaded);
    }
}

/// A TSIG key as an option has it, and the file of one.
pub fn tsig_key(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    for key in [TsigKey::parse(text), TsigKey::from_file_text(text)] {
        is_plain(&key.map_or_else(|error| error.to_string(), |key| key.to_string()));
    }
    if let Ok(key) = TsigKey::parse(text) {
        assert_eq!(TsigText::from(text.to_owned()).to_string(), key.to_string(), "its secret is not shown");
    }
}

/// A file of any format, compressed or not.
pub fn query_file(bytes: &[u8]) {
    for format in [QueriesFormat::Auto, QueriesFormat::Binary, QueriesFormat::Dnsperf] {
        let input = Box::new(Cursor::new(bytes.to_vec()));
        if let Ok(loaded) = read_input(input, "queries", 0, &reading(format)) {
            (0..loaded.queries.len()).for_each(|i| drop(loaded.queries.line(i, QueryForm::default())));
        }
        // As a run reads it, which knows other files by their lines.
        let as_usual = Reading { bad_lines: BadLines::default(), ..reading(format) };
        if let Err(error) = read_input(Box::new(Cursor::new(bytes.to_vec())), "queries", 0, &as_usual) {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// A zone file.
pub fn zone_file(text: &[u8]) {
    for nxdomain in [0.0, 0.5] {
        let mut reading = reading(QueriesFormat::Auto);
        reading.selection.nxdomain = nxdomain;
        if let Ok(loaded) = read_zone_text(text, "example.", &reading) {
            is_made_whole(&loaded);
        }
    }
}

fn reading(format: QueriesFormat) -> Reading {
    let selection = Selection { format, ..Selection::default() };
    Reading { bad_lines: BadLines::SkipAll, selection, ..Reading::default() }
}

/// Queries that are changed when they are sent are whole messages of at most the same length.
fn is_made_whole(loaded: &Loaded) {
    let Some(maker) = loaded.queries.maker() else { return };
    let mut maker = maker.begin(WorkerShare { worker: 0, workers: 1, start_unix_ns: 0 });
    for question in 0..loaded.queries.len().min(MOST_MADE) as u32 {
        for number in [0, 1, 77, u64::MAX] {
            let loaded = loaded.queries.message(question as usize);
            let mut message = loaded.to_vec();
            maker.make(
                &QueryToMake { number, question, channel: 0, slot: 0, due_ns: 0, at_ns: 0 },
                &mut message,
            );
            assert!(
                peek(&message).is_ok_and(|made| !made.question.is_empty()) && message.len() <= loaded.len()
            );
        }
    }
}

/// Queries of a source that are made.
const MOST_MADE: usize = 100;

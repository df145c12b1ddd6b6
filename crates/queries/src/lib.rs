//! The queries of a run: from a file, from standard input, given as names, or made; encoded once.
//!
//! ```text
//! file ─ unpacked ─► by its first bytes: text │ csv │ binary ─┐
//! names, zone, generator ─────────────────────────────────────┼─► QueriesBuilder ─► arranged ─► Queries
//!                                                             │                     types, hot and cold names, order
//!                                     placeholders of names ──┘
//! ```
//!
//! A capture is not loaded: [`replay`] reads its queries one after the other. A [`Maker`] writes what differs from
//! query to query when it is sent. Nothing here opens a socket or reads a clock.
#![forbid(unsafe_code)]

mod arranged;
mod binary;
mod bounds;
mod cache;
mod chunk;
mod clients;
mod clients_kind;
mod cookies;
mod described;
mod distinct;
mod dnsperf;
mod ecs;
mod edns;
mod error;
mod filled;
mod generator;
mod given;
mod idn;
mod kind;
mod line_options;
mod list;
mod maker;
mod makers;
mod order;
mod picker;
mod prefix;
mod queries;
mod random;
mod reading;
pub mod replay;
mod sources;
mod template;
mod text;
mod tsig;
mod types_by_weight;
mod update;
mod words;
mod zone;

pub use bounds::InputBounds;
pub use chunk::{CHUNK_QUERIES, Chunk, ChunkBuilder, Streamed};
pub use clients::ClientsSource;
pub use clients_kind::ClientsKind;
pub use distinct::Distinct;
pub use dnsperf::{dnsperf_lines, dnsperf_query};
pub use ecs::EcsChoice;
pub use edns::EdnsPerQuery;
pub use error::{BadLine, BadReason, SourceError};
pub use generator::Generator;
pub use given::read_given;
pub use kind::NotQueries;
pub use line_options::edns_option;
pub use maker::{
    Checked, CookieFound, Maker, QueryToMake, ResponseToCheck, TsigFound, WorkerMaker, WorkerShare, strip,
};
pub use order::LENGTH_WINDOW;
pub use picker::Picker;
pub use prefix::SourcePrefix;
pub use queries::{Full, OTHER_TYPES, Own, Queries, QueriesBuilder};
pub use reading::{BadLines, HitRate, Order, QueriesFormat, Reading, Selection};
pub use sources::{SourceOf, Sources};
pub use text::{Loaded, MAX_BAD_LINES_KEPT, read_text};
pub use tsig::{Signer, TsigAlgorithm, TsigError, TsigKey, TsigText, record_len as tsig_record_len};
pub use types_by_weight::TypeWeights;
pub use update::mistake::UpdateMistake;
pub use zone::read_zone_text;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dnsdyno_capture::unpack;
use dnsdyno_text::encoding::after_mark;

use self::binary::{read_binary, starts_with_message};
use self::bounds::Bounded;
use self::dnsperf::read_dnsperf;
use self::kind::recognise;
use self::update::read_updates;

/// The source of the queries of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuerySource {
    /// A file of lines `name type`; the path is absolute in a validated plan.
    File(PathBuf),
    /// The same lines from standard input.
    Stdin,
    /// A capture of traffic, whose queries are read while they are sent.
    Capture,
    /// Given names: `name`, `name TYPE` or `name/TYPE`.
    Given(Vec<String>),
    /// The names and types of a zone file; the path is absolute in a validated plan.
    Zone {
        /// The file.
        path: PathBuf,
        /// The name of the zone, where the file does not say it.
        origin: Option<String>,
    },
    /// Queries that are made, as flamethrower makes them.
    Made(Generator),
    /// What simulated clients with caches ask.
    Clients(ClientsSource),
}

impl QuerySource {
    /// Reads and encodes all queries.
    pub fn load(&self, reading: &Reading) -> Result<Loaded, SourceError> {
        match self {
            QuerySource::File(path) => read_file(path, reading),
            QuerySource::Stdin => read_input(Box::new(io::stdin()), "standard input", 0, reading),
            QuerySource::Given(items) => read_given(items, reading),
            QuerySource::Zone { path, origin } => zone::read_zone(path, origin.as_deref(), reading),
            QuerySource::Made(generator) => generator.make(reading),
            QuerySource::Capture => Err(SourceError::Streamed),
            QuerySource::Clients(clients) => clients.first_questions(reading),
        }
    }
}

fn read_file(path: &Path, reading: &Reading) -> Result<Loaded, SourceError> {
    let cannot_open = |source| SourceError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(cannot_open)?;
    let metadata = file.metadata().map_err(cannot_open)?;
    if metadata.is_dir() {
        return Err(SourceError::Folder { path: path.to_owned() });
    }
    // A message is longer than its line by little more than its header. Reserved memory that is not used costs
    // nothing; growing moves pages, not bytes.
    let hint = usize::try_from(metadata.len()).unwrap_or(0);
    read_input(Box::new(file), &path.display().to_string(), hint, reading)
}

/// Reads a file of any format, compressed or not.
pub fn read_input(
    input: Box<dyn Read + Send>,
    origin: &str,
    bytes_hint: usize,
    reading: &Reading,
) -> Result<Loaded, SourceError> {
    let cannot_read = |source| SourceError::Read { origin: origin.to_owned(), source };
    let input = unpack(input).map_err(cannot_read)?;
    let mut input = Bounded { input, bounds: Arc::clone(&reading.bounds) };
    // A reader may give its first bytes in small parts.
    let mut start = Vec::new();
    input.by_ref().take(START_BYTES).read_to_end(&mut start).map_err(cannot_read)?;
    let format = reading.selection.format;
    let is_binary = match format {
        QueriesFormat::Auto => starts_with_message(&start),
        format => format == QueriesFormat::Binary,
    };
    if !is_binary {
        start.drain(..start.len() - after_mark(&start).len());
    }
    let kind = if is_binary { None } else { recognise(&start, format) };
    if let Some(kind) = kind {
        return Err(SourceError::NotQueries { origin: origin.to_owned(), kind });
    }
    let input = BufReader::with_capacity(READ_BUFFER_BYTES, Cursor::new(start).chain(input));
    match format {
        _ if is_binary => read_binary(input, origin, bytes_hint, reading),
        QueriesFormat::Dnsperf => read_dnsperf(input, origin, bytes_hint, reading),
        QueriesFormat::Updates => read_updates(input, origin, bytes_hint, reading),
        _ => read_text(input, origin, bytes_hint, reading),
    }
}

/// What of a file decides on its format: the longest message with its length.
const START_BYTES: u64 = 65_537;

/// Large enough that the cost of system calls is negligible, small enough for the cache.
const READ_BUFFER_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_named_in_errors() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("queries.txt");
        std::fs::write(&path, "a A\nbad\n").expect("a file for the test");
        let source = QuerySource::File(path.clone());
        let loaded = source.load(&Reading::default()).expect("one good line");
        assert_eq!((loaded.queries.len(), loaded.bad_lines), (1, 1));
        let error = source
            .load(&Reading { bad_lines: BadLines::Refuse, ..Reading::default() })
            .expect_err("strict")
            .to_string();
        assert!(error.starts_with(&format!("{}:2: ", path.display())), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_file_of_any_format_and_utf_16_is_named() {
        let read = |format, text: &str| {
            let mut reading = Reading::default();
            reading.selection.format = format;
            let loaded =
                read_input(Box::new(io::Cursor::new(text.to_owned())), "q", 0, &reading).expect(text);
            loaded.queries.hash()
        };
        for (format, text) in [
            (QueriesFormat::Auto, "a A\n"),
            (QueriesFormat::Text, "a A\n"),
            (QueriesFormat::Dnsperf, "a A\n"),
            (QueriesFormat::Queryperf, "a A\n"),
            (QueriesFormat::Csv, "1,a\n"),
            (QueriesFormat::Names, "a\n"),
            (QueriesFormat::Updates, "a\ndelete b\nsend\n"),
        ] {
            assert_eq!(read(format, &format!("\u{feff}{text}")), read(format, text), "{format:?}");
        }
        for octets in [&b"\xff\xfea\0 \0A\0\n\0"[..], b"a\0 \0A\0\n\0", b"\xfe\xff\0a\0 \0A\0\n"] {
            for format in [QueriesFormat::Auto, QueriesFormat::Dnsperf, QueriesFormat::Updates] {
                let mut reading = Reading::default();
                reading.selection.format = format;
                let error = read_input(Box::new(octets), "q", 0, &reading).expect_err("UTF-16").to_string();
                assert!(error.contains("UTF-16") && error.contains("iconv"), "{error}");
            }
        }
    }

    #[test]
    fn a_single_type_sends_each_name_once_a_pass() {
        let mut reading = Reading::default();
        reading.selection.types = Some("A".parse().expect("a type"));
        reading.selection.format = QueriesFormat::Names;
        let file = include_bytes!("../tests/cases/05-two-names.txt");
        let len = |reading: &Reading| {
            read_input(Box::new(&file[..]), "q", 0, reading).expect("two names").queries.len()
        };
        assert_eq!(len(&reading), 2);
        reading.selection.types = Some("AAAA=30".parse().expect("a type"));
        assert_eq!(len(&reading), 2);
        reading.selection.types = Some("A=1,AAAA=1".parse().expect("types"));
        assert_eq!(len(&reading), 4_096);
    }

    #[test]
    fn a_missing_file_a_folder_and_an_empty_file_give_different_errors() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let load = |path: PathBuf| QuerySource::File(path).load(&Reading::default());
        assert!(matches!(load(folder.path().join("none")), Err(SourceError::Open { .. })));
        assert!(matches!(load(folder.path().to_owned()), Err(SourceError::Folder { .. })));
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").expect("a file for the test");
        assert!(matches!(load(empty), Err(SourceError::Empty { .. })));
    }
}

//! Errors of a query source and of its lines.

use std::path::PathBuf;
use std::{fmt, io};

use dnsdyno_capture::CaptureError;
use dnsdyno_text::units::bytes;
use dnsdyno_wire::NameError;

use super::bounds::MOST_KEPT_BYTES;
use super::clients_kind::ClientsKind;
use super::kind::NotQueries;
use super::tsig::TsigError;
use super::update::mistake::UpdateMistake;

/// Why queries cannot be loaded. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be opened.
    #[error("cannot open the query file {path}: {source}; give another with -d FILE", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file of the zone whose records are asked for, or one that it includes, cannot be opened.
    #[error("cannot open {path} of --zone: {source}; give a zone file that can be read", path = path.display())]
    OpenZone {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The description of simulated clients cannot be used.
    #[error("--source: {0}")]
    Clients(#[from] dnsdyno_clients::DescriptionError),
    /// The description is that of other clients.
    #[error("{path} describes clients of another kind: use --source {kind}:{path}", path = path.display())]
    OtherClients {
        /// The file.
        path: PathBuf,
        /// What it describes.
        kind: ClientsKind,
    },
    /// The file has no key for signatures.
    #[error("--tsig-file {path}: {source}", path = path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TsigError,
    },
    /// Reading failed.
    #[error("cannot read {origin}: {source}; nothing was sent")]
    Read {
        /// The file, or a description of the source.
        origin: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A folder.
    #[error("{path} is a folder: give a file of queries with -d FILE", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// Another kind of file.
    #[error("{origin} is {what}: {advice}", what = kind.what, advice = kind.advice)]
    NotQueries {
        /// The file, or a description of the source.
        origin: String,
        /// What it is.
        kind: NotQueries,
    },
    /// More than half of the lines are malformed.
    #[error(
        "{bad_lines} of {lines} lines of {origin} are malformed, the first is {first}; correct the file, or add \
         --lenient to skip such lines"
    )]
    MostlyBad {
        /// The file, or a description of the source.
        origin: String,
        /// The number of malformed lines.
        bad_lines: u64,
        /// The number of lines with content.
        lines: u64,
        /// The first malformed line.
        first: Box<BadLine>,
    },
    /// A line without an end.
    #[error("line {line} of {origin} is longer than 16 MiB: a query file has one `name type` a line")]
    LongLine {
        /// The file, or a description of the source.
        origin: String,
        /// The line.
        line: u64,
    },
    /// No line with content.
    #[error("{origin} has no queries: write one per line, as `name type`")]
    Empty {
        /// The file, or a description of the source.
        origin: String,
    },
    /// Every line with content is malformed.
    #[error("{origin} has no queries: no line is well formed; the first is {first}")]
    OnlyBadLines {
        /// The file, or a description of the source.
        origin: String,
        /// The first line.
        first: Box<BadLine>,
    },
    /// The same of a file in dnsperf's format, with the first lines.
    #[error("{origin} has no queries: none of {bad_lines} lines is well formed{}", first_of(first_bad))]
    NoGoodLine {
        /// The file, or a description of the source.
        origin: String,
        /// The number of lines with content.
        bad_lines: u64,
        /// The first lines.
        first_bad: Vec<BadLine>,
    },
    /// A malformed line, with `--strict`.
    #[error("{0}; correct it, or remove --strict to skip such lines")]
    BadLine(Box<BadLine>),
    /// An item of a list is not a question.
    #[error("`{item}` is not a question: {reason}")]
    Given {
        /// The given item.
        item: String,
        /// What is wrong with it.
        reason: BadReason,
    },
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The capture has no query to send.
    #[error("{origin} has no query to send{skipped}")]
    NoQueryInCapture {
        /// The file, or a description of the source.
        origin: String,
        /// What it has instead, in words.
        skipped: String,
    },
    /// A capture is not loaded as a whole.
    #[error("a capture is read while its queries are sent: this kind of run cannot replay it")]
    Streamed,
    /// A zone file that cannot be a source.
    #[error("the zone file {origin} cannot be used: {reason}")]
    Zone {
        /// The file.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A binary file ends within a message.
    #[error("{origin} is cut short: message {message}, which starts at byte {offset}, is not complete")]
    CutShort {
        /// The file, or a description of the source.
        origin: String,
        /// The message, counted from 1.
        message: u64,
        /// Where it starts, with its length.
        offset: u64,
    },
    /// A message of a binary file that is too short for DNS.
    #[error(
        "message {message} of {origin}, which starts at byte {offset}, is {length} bytes long: a DNS message has at \
         least 12; a binary file has the length of each message, in 2 bytes, before it"
    )]
    ShortMessage {
        /// The file, or a description of the source.
        origin: String,
        /// The message, counted from 1.
        message: u64,
        /// Where it starts, with its length.
        offset: u64,
        /// Its length in bytes.
        length: u16,
    },
    /// The encoded queries exceed what can be kept: 4 GiB, or less where memory is scarce.
    #[error(
        "{origin} is too large: its queries exceed {most}{at}{why}; split it, or give its beginning, such as with \
         `head -n 1000000`",
        most = bytes(*most_bytes as f64), at = at_line(*line), why = why_no_more(*most_bytes)
    )]
    TooLarge {
        /// The file, or a description of the source.
        origin: String,
        /// The first line that does not fit; 0 = unknown.
        line: u64,
        /// How much can be kept.
        most_bytes: usize,
    },
}

/// `; the first is …`
fn first_of(lines: &[BadLine]) -> String {
    lines.first().map(|line| format!("; the first is {line}")).unwrap_or_default()
}

fn why_no_more(most_bytes: usize) -> &'static str {
    if most_bytes < MOST_KEPT_BYTES { ", and this process can have no more memory for them" } else { "" }
}

fn at_line(line: u64) -> String {
    if line == 0 { String::new() } else { format!(" at line {line}") }
}

/// A line that is not `name type`, displayed as `FILE:LINE: reason: text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The file, or a description of the source.
    pub origin: String,
    /// The number of the line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: BadReason,
    /// The line itself, shortened, with control characters escaped.
    pub text: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: `{}`", self.origin, self.line, self.reason, self.text)
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReason {
    /// Octets above 127 that are not UTF-8.
    #[error("the name is not UTF-8: convert the file, or write the A-label, or \\DDD for a byte")]
    NotUtf8,
    /// No A-labels exist for it.
    #[error("the name is not a valid internationalized name: write its A-label, or \\DDD for a byte")]
    NotIdn,
    /// A blank before the name, in dnsperf's format.
    #[error("the line begins with a blank: dnsperf's format has the name there")]
    LeadingBlank,
    /// Only one word.
    #[error("no query type after the name: write `name type`")]
    NoType,
    /// The second word is not a type.
    #[error("`{0}` is not a query type: write a name like AAAA, or TYPEnnn")]
    UnknownType(String),
    /// A word `name=value` after the type that is not an option of a query.
    #[error("`{word}` is not an option of a query: {advice}")]
    Option {
        /// The word.
        word: String,
        /// What to write.
        advice: &'static str,
    },
    /// A line of a list without a name.
    #[error("no name in this line of a list: write `rank,name`")]
    NoName,
    /// Text in braces that is not a placeholder.
    #[error("`{0}` is not a placeholder: write {{rand:8}}, {{n:0..999}}, or \\{{ for a brace")]
    Placeholder(String),
    /// A mistake in a dynamic update.
    #[error(transparent)]
    Update(UpdateMistake),
    /// The first word is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
}

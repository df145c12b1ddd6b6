//! Errors of a query source and of its lines.

use std::path::PathBuf;
use std::{fmt, io};

use dnsdyno_wire::NameError;

use super::kind::NotQueries;

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
    /// The encoded queries exceed 4 GiB.
    #[error("{origin} is too large: its queries exceed 4 GiB at line {line}; split it")]
    TooLarge {
        /// The file, or a description of the source.
        origin: String,
        /// The first line that does not fit.
        line: u64,
    },
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
    /// Only one word.
    #[error("no query type after the name: write `name type`")]
    NoType,
    /// The second word is not a type.
    #[error("`{0}` is not a query type: write a name like AAAA, or TYPEnnn")]
    UnknownType(String),
    /// The first word is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
}

//! Why a source gives no queries, and what is wrong with a line of it.

use std::path::PathBuf;
use std::{fmt, io};

use dnsdyno_wire::NameError;

/// Why there are no queries to ask. Says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be opened.
    #[error("cannot open the query file {path}: {source}; give another with -d FILE", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Reading broke off.
    #[error("cannot read {origin}: {source}; nothing was sent")]
    Read {
        /// The file, or what stands for it.
        origin: String,
        /// What the system says.
        source: io::Error,
    },
    /// Not one line with content.
    #[error("{origin} has no queries: write one per line, as `name type`")]
    Empty {
        /// The file, or what stands for it.
        origin: String,
    },
    /// Every line with content is bad.
    #[error("{origin} has no queries: all {bad_lines} lines are malformed, the first is {first}")]
    OnlyBadLines {
        /// The file, or what stands for it.
        origin: String,
        /// How many lines are bad.
        bad_lines: u64,
        /// The first of them.
        first: Box<BadLine>,
    },
    /// A bad line, where every line must be good.
    #[error("{0}; correct it, or remove --strict to skip such lines")]
    BadLine(Box<BadLine>),
    /// An item of a list is no question.
    #[error("`{item}` is not a question: {reason}")]
    Given {
        /// The item as it was given.
        item: String,
        /// What is wrong with it.
        reason: BadReason,
    },
    /// The encoded queries would take more than 4 GiB.
    #[error("{origin} is too large: its queries exceed 4 GiB at line {line}; split it")]
    TooLarge {
        /// The file, or what stands for it.
        origin: String,
        /// The first line without room.
        line: u64,
    },
}

/// A line that is not `name type`. Displays as `FILE:LINE: reason: text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The file, or what stands for it.
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
    /// Only one word.
    #[error("no query type after the name: write `name type`")]
    NoType,
    /// The second word is no type.
    #[error("`{0}` is not a query type: write a name like AAAA, or TYPEnnn")]
    UnknownType(String),
    /// The first word is no name.
    #[error(transparent)]
    Name(#[from] NameError),
}

//! What to ask: queries from a file, from standard input, or given one by one; encoded once.

mod given;
mod maker;
mod order;
mod questions;
mod text;

pub use given::read_given;
pub use maker::Maker;
pub use order::LENGTH_WINDOW;
pub use questions::{Full, OTHER_TYPES, Own, Questions, QuestionsBuilder};
pub use text::{BadLine, BadReason, Loaded, MAX_BAD_LINES_KEPT, read_text};

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use dnsdyno_wire::QueryForm;

/// Where the queries of a run come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionSource {
    /// A file of lines `name type`; the path is absolute in a validated plan.
    File(PathBuf),
    /// The same lines from standard input.
    Stdin,
    /// Questions given one by one: `name`, `name TYPE` or `name/TYPE`.
    Given(Vec<String>),
}

impl QuestionSource {
    /// Reads and encodes all queries. With `strict`, the first bad line is an error; else bad lines are
    /// skipped and counted.
    pub fn load(&self, form: QueryForm, strict: bool) -> Result<Loaded, SourceError> {
        match self {
            QuestionSource::File(path) => read_file(path, form, strict),
            QuestionSource::Stdin => {
                let input = BufReader::with_capacity(READ_BUFFER_BYTES, io::stdin().lock());
                read_text(input, "standard input", 0, form, strict)
            }
            QuestionSource::Given(items) => read_given(items, form),
        }
    }
}

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
    #[error("{origin} holds no query: write one a line, as `name type`")]
    Empty {
        /// The file, or what stands for it.
        origin: String,
    },
    /// Every line with content is bad.
    #[error("{origin} holds no query: all {bad_lines} lines are bad, the first is {first}")]
    OnlyBadLines {
        /// The file, or what stands for it.
        origin: String,
        /// How many lines are bad.
        bad_lines: u64,
        /// The first of them.
        first: Box<BadLine>,
    },
    /// A bad line, where every line must be good.
    #[error("{0}; correct it, or leave out --strict to skip such lines")]
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
    #[error("{origin} is too large: its queries pass 4 GiB at line {line}; split it and run the parts")]
    TooLarge {
        /// The file, or what stands for it.
        origin: String,
        /// The first line without room.
        line: u64,
    },
}

fn read_file(path: &Path, form: QueryForm, strict: bool) -> Result<Loaded, SourceError> {
    let cannot_open = |source| SourceError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(cannot_open)?;
    let length = file.metadata().map_err(cannot_open)?.len();
    // A message is longer than its line, by little more than its header. What is reserved and not used costs
    // nothing; what is not reserved is grown by moving pages, not bytes.
    let hint = usize::try_from(length).unwrap_or(0);
    read_text(
        BufReader::with_capacity(READ_BUFFER_BYTES, file),
        &path.display().to_string(),
        hint,
        form,
        strict,
    )
}

/// Large enough that the calls to the system vanish, small enough to stay in the cache.
const READ_BUFFER_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_named_in_its_errors() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("queries.txt");
        std::fs::write(&path, "a A\nbad\n").expect("a file for the test");
        let source = QuestionSource::File(path.clone());
        let loaded = source.load(QueryForm::default(), false).expect("one good line");
        assert_eq!((loaded.questions.len(), loaded.bad_lines), (1, 1));
        let error = source.load(QueryForm::default(), true).expect_err("strict").to_string();
        assert!(error.starts_with(&format!("{}:2: ", path.display())), "{error}");
    }

    #[test]
    fn a_missing_file_and_a_folder_are_told_apart_from_an_empty_file() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let load = |path: PathBuf| QuestionSource::File(path).load(QueryForm::default(), false);
        assert!(matches!(load(folder.path().join("none")), Err(SourceError::Open { .. })));
        assert!(matches!(load(folder.path().to_owned()), Err(SourceError::Read { .. })));
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").expect("a file for the test");
        assert!(matches!(load(empty), Err(SourceError::Empty { .. })));
    }
}

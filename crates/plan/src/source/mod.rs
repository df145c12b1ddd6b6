//! The queries of a run: from a file, from standard input, or given as names; encoded once.

mod error;
mod given;
mod idn;
mod kind;
mod maker;
mod order;
mod queries;
mod text;

pub use error::{BadLine, BadReason, SourceError};
pub use given::read_given;
pub use kind::NotQueries;
pub use maker::Maker;
pub use order::LENGTH_WINDOW;
pub use queries::{Full, OTHER_TYPES, Own, Queries, QueriesBuilder};
pub use text::{BadLines, Loaded, MAX_BAD_LINES_KEPT, read_text};

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use dnsdyno_wire::QueryForm;

/// The source of the queries of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuerySource {
    /// A file of lines `name type`; the path is absolute in a validated plan.
    File(PathBuf),
    /// The same lines from standard input.
    Stdin,
    /// Given names: `name`, `name TYPE` or `name/TYPE`.
    Given(Vec<String>),
}

impl QuerySource {
    /// Reads and encodes all queries.
    pub fn load(&self, form: QueryForm, bad_lines: BadLines) -> Result<Loaded, SourceError> {
        match self {
            QuerySource::File(path) => read_file(path, form, bad_lines),
            QuerySource::Stdin => {
                let input = BufReader::with_capacity(READ_BUFFER_BYTES, io::stdin().lock());
                read_text(input, "standard input", 0, form, bad_lines)
            }
            QuerySource::Given(items) => read_given(items, form),
        }
    }
}

fn read_file(path: &Path, form: QueryForm, bad_lines: BadLines) -> Result<Loaded, SourceError> {
    let cannot_open = |source| SourceError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(cannot_open)?;
    let metadata = file.metadata().map_err(cannot_open)?;
    if metadata.is_dir() {
        return Err(SourceError::Folder { path: path.to_owned() });
    }
    // A message is longer than its line by little more than its header. Reserved memory that is not used costs
    // nothing; growing moves pages, not bytes.
    let hint = usize::try_from(metadata.len()).unwrap_or(0);
    read_text(
        BufReader::with_capacity(READ_BUFFER_BYTES, file),
        &path.display().to_string(),
        hint,
        form,
        bad_lines,
    )
}

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
        let loaded = source.load(QueryForm::default(), BadLines::SkipFew).expect("one good line");
        assert_eq!((loaded.queries.len(), loaded.bad_lines), (1, 1));
        let error = source.load(QueryForm::default(), BadLines::Refuse).expect_err("strict").to_string();
        assert!(error.starts_with(&format!("{}:2: ", path.display())), "{error}");
    }

    #[test]
    fn a_missing_file_a_folder_and_an_empty_file_give_different_errors() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let load = |path: PathBuf| QuerySource::File(path).load(QueryForm::default(), BadLines::SkipFew);
        assert!(matches!(load(folder.path().join("none")), Err(SourceError::Open { .. })));
        assert!(matches!(load(folder.path().to_owned()), Err(SourceError::Folder { .. })));
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").expect("a file for the test");
        assert!(matches!(load(empty), Err(SourceError::Empty { .. })));
    }
}

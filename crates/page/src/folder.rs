//! Folders of runs.

use std::fs;
use std::path::{Path, PathBuf};

use dnsdyno_campaign::find::report::FINDING_FILE;
use dnsdyno_record::{PACKED_FILE, RUN_FILE};

use crate::error::PageError;
use crate::shown;

/// The runs that a path stands for: itself, or each run in a folder that is none, by name.
///
/// # Errors
/// A folder has no run in it.
pub fn runs_in(path: &Path) -> Result<Vec<PathBuf>, PageError> {
    if !path.is_dir() || is_run(path) {
        return Ok(vec![path.to_owned()]);
    }
    if is_search(path) {
        return Err(PageError::SearchAmongRuns { path: shown(path) });
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.path()).filter(|path| is_run(path)).collect();
    runs.sort();
    match runs.is_empty() {
        false => Ok(runs),
        // Searches and qualifications keep their runs there.
        true if path.join("runs").is_dir() => Err(PageError::RunsBelow { path: shown(path) }),
        true => Err(PageError::NoRuns { path: shown(path) }),
    }
}

/// The runs in a folder and in the folders in it, by name.
///
/// # Errors
/// There is no run.
pub fn runs_below(folder: &Path) -> Result<Vec<PathBuf>, PageError> {
    let mut runs = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if is_run(&folder) {
            runs.push(folder);
        } else if depth <= DEEPEST {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            // A link may lead back: only folders themselves are entered.
            let inside = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(inside.map(|entry| (entry.path(), depth + 1)));
        }
    }
    runs.sort();
    match runs.is_empty() {
        false => Ok(runs),
        true => Err(PageError::NoRuns { path: shown(folder) }),
    }
}

/// Folders of the past are by day or by version, and have a folder a job.
const DEEPEST: usize = 3;

/// Whether a folder has a record in it.
pub fn is_run(folder: &Path) -> bool {
    [RUN_FILE, PACKED_FILE].iter().any(|file| folder.join(file).is_file())
}

/// Whether a folder has the result of a search, and is no run.
pub fn is_search(folder: &Path) -> bool {
    folder.join(FINDING_FILE).is_file() && !is_run(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_in_folders_of_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(runs_below(folder.path()).is_err() && runs_below(&path("none")).is_err());
        for name in ["b", "a/2", "a/1/x", "deep/1/2/3/4"] {
            fs::create_dir_all(path(name)).unwrap();
            fs::write(path(name).join(RUN_FILE), "").unwrap();
        }
        std::os::unix::fs::symlink(folder.path(), path("back")).unwrap();
        assert_eq!(runs_below(folder.path()).unwrap(), [path("a/1/x"), path("a/2"), path("b")]);
        assert_eq!(runs_below(&path("b")).unwrap(), [path("b")]);
    }

    #[test]
    fn a_folder_of_runs_stands_for_its_runs_and_one_without_any_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(runs_in(folder.path()).unwrap_err().to_string().contains("has no runs in it"));
        for (name, file) in [("b", RUN_FILE), ("a", PACKED_FILE), ("c", "notes.txt")] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join(file), "").unwrap();
        }
        assert_eq!(runs_in(folder.path()).unwrap(), [path("a"), path("b")]);
        assert_eq!(runs_in(&path("a")).unwrap(), [path("a")]);
        fs::write(path("c").join(FINDING_FILE), "{}").unwrap();
        assert!(
            runs_in(&path("c")).unwrap_err().to_string().contains("a search, which has a page of its own")
        );
        // What does not exist is told by the reader.
        assert_eq!(runs_in(&path("d")).unwrap(), [path("d")]);
    }
}

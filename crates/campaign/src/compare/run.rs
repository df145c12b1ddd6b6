//! The runs of a comparison, read from their records.

use std::path::{Path, PathBuf};

use dnsdyno_plan::Draft;
use dnsdyno_record::{Digest, PLAN_FILE, ReadError};

/// A run to compare.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Its name among the others: that of its folder.
    pub label: String,
    /// Where its record is.
    pub path: PathBuf,
    /// Its summary.
    pub digest: Digest,
    /// Its plan, where the record has one that can be read.
    pub plan: Option<Draft>,
}

impl ComparedRun {
    /// Reads the record at `path`, a run's folder or its file.
    ///
    /// # Errors
    /// As [`Digest::read`].
    pub fn read(path: &Path) -> Result<ComparedRun, ReadError> {
        let digest = Digest::read(path)?;
        Ok(ComparedRun {
            label: path.display().to_string(),
            path: path.to_owned(),
            digest,
            plan: plan_of(path),
        })
    }
}

/// The plan of the run at `path`, where it can be read.
pub(super) fn plan_of(path: &Path) -> Option<Draft> {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    folder.and_then(|folder| Draft::read_kept(&folder.join(PLAN_FILE)).ok())
}

/// The runs without the one that was started first: caches fill in it.
pub fn without_first(mut runs: Vec<ComparedRun>) -> Vec<ComparedRun> {
    let started = |(_, run): &(usize, &ComparedRun)| run.digest.header.started_unix_ns;
    if let Some((first, _)) = runs.iter().enumerate().min_by_key(started) {
        runs.remove(first);
    }
    runs
}

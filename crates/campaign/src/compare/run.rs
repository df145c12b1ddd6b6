//! The runs of a comparison, read from their records.

use std::path::{Path, PathBuf};

use dnsdyno_plan::Draft;
use dnsdyno_record::{Digest, PLAN_FILE, ReadError};

use super::error::CompareError;
use super::side::Side;

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
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let plan = folder.and_then(|folder| Draft::read_kept(&folder.join(PLAN_FILE)).ok());
        Ok(ComparedRun { label: path.display().to_string(), path: path.to_owned(), digest, plan })
    }
}

/// The runs without the one that was started first: caches fill in it.
pub fn without_first(mut runs: Vec<ComparedRun>) -> Vec<ComparedRun> {
    let started = |(_, run): &(usize, &ComparedRun)| run.digest.header.started_unix_ns;
    if let Some((first, _)) = runs.iter().enumerate().min_by_key(started) {
        runs.remove(first);
    }
    runs
}

/// Both sides, with short labels; each run counts once.
pub(super) fn prepared(
    baseline: Vec<ComparedRun>,
    candidate: Vec<ComparedRun>,
) -> Result<[Vec<ComparedRun>; 2], CompareError> {
    let runs = baseline.len();
    let mut all: Vec<ComparedRun> = baseline.into_iter().chain(candidate).collect();
    for (i, run) in all.iter().enumerate() {
        let key = |run: &ComparedRun| (run.digest.header.run_id.clone(), run.digest.header.started_unix_ns);
        if let Some(other) = all[..i].iter().find(|other| key(other) == key(run)) {
            return Err(CompareError::Twice { first: other.label.clone(), second: run.label.clone() });
        }
    }
    shorten(&mut all);
    let candidate = all.split_off(runs);
    let sides = [all, candidate];
    for (runs, side) in sides.iter().zip([Side::Baseline, Side::Candidate]) {
        if runs.is_empty() {
            return Err(CompareError::NoRuns { side });
        }
    }
    Ok(sides)
}

/// The last parts of the paths, as many as make them different.
fn shorten(runs: &mut [ComparedRun]) {
    let last_parts = |label: &str, count: usize| {
        let parts: Vec<&str> = label.split('/').filter(|part| !part.is_empty()).collect();
        parts[parts.len().saturating_sub(count)..].join("/")
    };
    let longest = runs.iter().map(|run| run.label.split('/').count()).max().unwrap_or(1);
    for count in 1..=longest {
        let mut short: Vec<String> = runs.iter().map(|run| last_parts(&run.label, count)).collect();
        let labels = short.clone();
        short.sort();
        short.dedup();
        if short.len() == runs.len() {
            runs.iter_mut().zip(labels).for_each(|(run, label)| run.label = label);
            return;
        }
    }
}

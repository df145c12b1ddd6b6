//! What a reader must know of the runs before the figures.

use dnsdyno_record::Ended;

use super::run::ComparedRun;
use super::side::Side;

/// Something about the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The generator was in doubt: the figures may be its own.
    InDoubt {
        /// The run.
        run: String,
        /// The names of its warnings.
        warnings: Vec<String>,
    },
    /// The record has no end, or lines of it are lost.
    Incomplete {
        /// The run.
        run: String,
    },
    /// The run was ended before its time.
    EndedEarly {
        /// The run.
        run: String,
    },
    /// A metric is left out.
    NotMeasured {
        /// The metric.
        metric: String,
        /// A run without it.
        run: String,
    },
    /// All runs of a side were made before those of the other.
    NotInterleaved {
        /// The side that was first.
        first: Side,
    },
    /// Not all records have a plan that can be read: only the headers were compared.
    NoPlan {
        /// The first such run.
        run: String,
    },
    /// Some records are of an old version and do not have the hash of their queries.
    NoHash {
        /// The first such run.
        run: String,
    },
    /// Several versions of the generator.
    Versions {
        /// The versions.
        versions: Vec<String>,
    },
}

/// The notes on the runs of both sides.
pub(super) fn of_runs(baseline: &[ComparedRun], candidate: &[ComparedRun]) -> Vec<Note> {
    let runs = || baseline.iter().chain(candidate);
    let mut notes = Vec::new();
    for run in runs() {
        let warnings: Vec<String> =
            run.digest.warnings().iter().map(|warning| warning.name().to_owned()).collect();
        let run_label = || run.label.clone();
        if !warnings.is_empty() {
            notes.push(Note::InDoubt { run: run_label(), warnings });
        }
        if !run.digest.is_complete() || run.digest.has_gap() {
            notes.push(Note::Incomplete { run: run_label() });
        } else if !is_regular(run.digest.ended()) {
            notes.push(Note::EndedEarly { run: run_label() });
        }
    }
    notes.extend(runs().find(|run| run.plan.is_none()).map(|run| Note::NoPlan { run: run.label.clone() }));
    let without_hash = runs().find(|run| run.digest.header.queries_hash.is_none());
    notes.extend(without_hash.map(|run| Note::NoHash { run: run.label.clone() }));
    let mut versions: Vec<String> = runs().map(|run| run.digest.header.version.clone()).collect();
    versions.sort();
    versions.dedup();
    if versions.len() > 1 {
        notes.push(Note::Versions { versions });
    }
    notes.extend(not_interleaved(baseline, candidate));
    notes
}

fn is_regular(ended: Option<&Ended>) -> bool {
    matches!(ended, Some(Ended::ByTime | Ended::ByCount | Ended::ByPasses))
}

/// A host that changes with time looks like a difference of the servers where one side was measured after the other.
fn not_interleaved(baseline: &[ComparedRun], candidate: &[ComparedRun]) -> Option<Note> {
    let span = |runs: &[ComparedRun]| {
        let starts = || runs.iter().map(|run| run.digest.header.started_unix_ns);
        Some((starts().min()?, starts().max()?)).filter(|_| runs.len() > 1)
    };
    let ((from_a, to_a), (from_b, to_b)) = (span(baseline)?, span(candidate)?);
    let first = match () {
        () if to_a < from_b => Side::Baseline,
        () if to_b < from_a => Side::Candidate,
        () => return None,
    };
    Some(Note::NotInterleaved { first })
}

//! What a reader must know of the runs before the figures.

use std::collections::BTreeSet;

use dnsdyno_measure::Warning;
use dnsdyno_record::figures::are_only_refusals;
use dnsdyno_record::{Ended, Headline};

use super::figure::Missing;
use super::figures::NotMeasured;
use super::past_baseline::PastBaseline;
use super::run::ComparedRun;
use super::side::Side;
use super::subject::{LatencyFrom, Subject};

/// Something about the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The generator was in doubt: rate and loss may be its own.
    InDoubt {
        /// The runs with the same warnings.
        runs: Vec<String>,
        /// The names of its warnings.
        warnings: Vec<String>,
    },
    /// The record has no end, or lines of it are lost.
    Incomplete {
        /// The runs.
        runs: Vec<String>,
    },
    /// Every response was REFUSED or SERVFAIL.
    OnlyRefusals {
        /// The runs.
        runs: Vec<String>,
    },
    /// The run was ended before its time.
    EndedEarly {
        /// The runs.
        runs: Vec<String>,
    },
    /// Metrics are left out.
    NotMeasured {
        /// The metrics.
        metrics: Vec<String>,
        /// A run without them.
        run: String,
        /// Why.
        why: Missing,
    },
    /// Results of other programs are among the runs.
    Imported {
        /// Each program with its runs.
        programs: Vec<(String, Vec<String>)>,
        /// Whether runs of dnsdyno are, too.
        with_ours: bool,
        /// From when latencies count; `None` where they do from different instants.
        latency_from: Option<Headline>,
    },
    /// The baseline is the past.
    Past(PastBaseline),
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
pub(super) fn of_runs(baseline: &[&ComparedRun], candidate: &[&ComparedRun]) -> Vec<Note> {
    let runs = || baseline.iter().chain(candidate).copied();
    let labels = |has: &dyn Fn(&ComparedRun) -> bool| {
        let found: Vec<String> = runs().filter(|run| has(run)).map(|run| run.label.clone()).collect();
        Some(found).filter(|found| !found.is_empty())
    };
    let warnings = |run: &ComparedRun| -> Vec<String> {
        let of_run = run.digest.warnings();
        of_run
            .iter()
            .filter(|warning| touches(run, warning))
            .map(|warning| warning.name().to_owned())
            .collect()
    };
    let doubts: BTreeSet<Vec<String>> = runs().map(warnings).filter(|names| !names.is_empty()).collect();
    let of_doubt = |names: Vec<String>| {
        Some(Note::InDoubt { runs: labels(&|run| warnings(run) == names)?, warnings: names })
    };
    let mut notes: Vec<Note> = doubts.into_iter().filter_map(of_doubt).collect();
    let is_incomplete = |run: &ComparedRun| !run.digest.is_complete() || run.digest.has_gap();
    let is_early = |run: &ComparedRun| !is_incomplete(run) && !is_regular(run.digest.ended());
    notes.extend(labels(&is_incomplete).map(|runs| Note::Incomplete { runs }));
    notes.extend(labels(&is_early).map(|runs| Note::EndedEarly { runs }));
    let is_refused = |run: &ComparedRun| are_only_refusals(run.digest.tally());
    notes.extend(labels(&is_refused).map(|runs| Note::OnlyRefusals { runs }));
    notes.extend(runs().find(|run| run.plan.is_none()).map(|run| Note::NoPlan { run: run.label.clone() }));
    let without_hash = runs().find(|run| run.digest.header.queries_hash.is_none());
    notes.extend(without_hash.map(|run| Note::NoHash { run: run.label.clone() }));
    let mut versions: Vec<String> = runs().map(|run| run.digest.header.version.clone()).collect();
    versions.sort();
    versions.dedup();
    if versions.len() > 1 {
        notes.push(Note::Versions { versions });
    }
    notes
}

/// The runs of one side whose responses were all refusals, where the other side has none: their figures are those of
/// an error, and no better ones.
pub(super) fn one_side_refuses<'a>(notes: &'a [Note], baseline: &[String]) -> Option<&'a [String]> {
    let runs = notes.iter().find_map(|note| match note {
        Note::OnlyRefusals { runs } => Some(runs.as_slice()),
        _ => None,
    })?;
    let of_baseline = runs.iter().filter(|run| baseline.contains(run)).count();
    (of_baseline == 0 || of_baseline == runs.len()).then_some(runs)
}

/// Whether runs of dnsdyno were made in turn.
pub(super) fn of_order(baseline: &[&ComparedRun], candidate: &[&ComparedRun]) -> Option<Note> {
    not_interleaved(baseline, candidate)
}

/// The note on results of other programs.
pub(super) fn of_imported(subjects: &[&Subject]) -> Option<Note> {
    let mut programs: Vec<(String, Vec<String>)> = Vec::new();
    for run in subjects.iter().filter_map(|subject| subject.imported()) {
        match programs.iter_mut().find(|(program, _)| *program == run.result.program) {
            Some((_, labels)) => labels.push(run.label.clone()),
            None => programs.push((run.result.program.clone(), vec![run.label.clone()])),
        }
    }
    let latency_from = match LatencyFrom::of(subjects) {
        LatencyFrom::Other(headline) => Some(headline),
        LatencyFrom::Headline | LatencyFrom::Several => None,
    };
    let with_ours = subjects.iter().any(|subject| subject.run().is_some());
    (!programs.is_empty()).then_some(Note::Imported { programs, with_ours, latency_from })
}

/// The metrics that are left out, those of one run and reason together.
pub(super) fn of_missing(missing: Vec<NotMeasured>) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for one in missing {
        let known = notes.iter_mut().find_map(|note| match note {
            Note::NotMeasured { metrics, run, why } if *run == one.run && *why == one.why => Some(metrics),
            _ => None,
        });
        match known {
            Some(metrics) => metrics.push(one.metric),
            None => notes.push(Note::NotMeasured { metrics: vec![one.metric], run: one.run, why: one.why }),
        }
    }
    notes
}

/// Whether a doubt is about rate or loss. What late sends may have added to a percentile is in its ends, and older
/// records had them as doubts too.
fn touches(run: &ComparedRun, doubt: &Warning) -> bool {
    let header = &run.digest.header;
    let is_of_lateness = matches!(
        doubt,
        Warning::SendsLate { .. }
            | Warning::ReaderBehind { .. }
            | Warning::CpuSaturated { .. }
            | Warning::CpuStarved { .. }
            | Warning::CpusShared { .. }
            | Warning::IdsExhausted { .. }
            | Warning::ClientsBusy { .. }
            | Warning::PortsExhausted { .. }
            | Warning::ClockStepped { .. }
    );
    // A run that does not wait for responses is its load; in a closed loop whatever slows us lowers the rate.
    !is_of_lateness || header.send_only || header.headline == Headline::Service
}

/// Whether a run has no end, lost lines, or was ended before its time.
pub(super) fn is_unfinished(run: &ComparedRun) -> bool {
    !run.digest.is_complete() || run.digest.has_gap() || !is_regular(run.digest.ended())
}

fn is_regular(ended: Option<&Ended>) -> bool {
    matches!(ended, Some(Ended::ByTime | Ended::ByCount | Ended::ByPasses))
}

/// A host that changes with time looks like a difference of the servers where one side was measured after the other.
fn not_interleaved(baseline: &[&ComparedRun], candidate: &[&ComparedRun]) -> Option<Note> {
    let span = |runs: &[&ComparedRun]| {
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

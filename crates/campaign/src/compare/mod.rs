//! Says whether two sets of runs differ: candidate runs against baseline runs, or new runs against the past.
//!
//! ```text
//!   baseline  ○ ○ ○ ○ ○ ─┐  figures: one per run and metric ──► statistics ─┐
//!                        ├─                                                 ├─► verdict ──► Comparison
//!   candidate ● ● ● ● ● ─┘  alike: what was not asked alike ────────────────┘
//! ```
//!
//! A metric differs where random labels of the runs seldom give a difference as large. One metric is judged **first**:
//! p99 in open loop, the rate in closed loop, or what the user names. It gets most of the accepted risk of a false
//! alarm ([`FIRST_LEVEL`]), so that looking at other metrics takes little power from it; they share the rest
//! ([`OTHERS_LEVEL`]), or the whole risk once the first one differs ([`ALL_LEVEL`]). So where nothing differs, a
//! comparison says that something does in at most one of twenty.
//!
//! Where the baseline is the past, the test and the interval are others ([`Past`], `design.rs`); all else is the same.

mod alike;
mod bounds;
mod design;
mod error;
mod figure;
mod figures;
mod imported;
mod notes;
mod past;
mod past_baseline;
mod run;
mod settings;
mod side;
mod subject;
mod verdict;

pub use alike::Mismatch;
pub(crate) use alike::asked_of;
pub use bounds::{BoundOutcome, BoundState, Needed, NotJudged};
pub use error::CompareError;
pub use figure::{Figure, Missing};
pub(crate) use figure::{figure_of, median_of};
pub use figures::Kind;
pub use imported::ImportedRun;
pub use notes::Note;
pub(crate) use past::server;
pub use past::{MOST_PAST, Past};
pub use past_baseline::{LeftOut, PastBaseline};
pub use run::{ComparedRun, without_first};
pub use settings::{ALL_LEVEL, FEWEST_RUNS, FIRST_LEVEL, OTHERS_LEVEL, Settings};
pub use side::Side;
pub use subject::Subject;
pub use verdict::{Change, Compared, Factor, Level, Outcome, Possible, Verdict};

use design::{Design, Units, fewest_units};
use figures::{Row, rows_of_runs, rows_of_steps, usual_first};

/// Candidate runs compared with baseline runs.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The labels of the baseline's runs.
    pub baseline: Vec<String>,
    /// The labels of the candidate's runs.
    pub candidate: Vec<String>,
    /// The load, and what it went over, of the first run.
    pub asked: String,
    /// The metrics; the one that is judged first is the first.
    pub metrics: Vec<Compared>,
    /// The metric that is judged first, by steps of the load; empty where there are none.
    pub steps: Vec<Compared>,
    /// What was not asked or measured alike.
    pub unlike: Vec<Mismatch>,
    /// What a reader must know of the runs.
    pub notes: Vec<Note>,
    /// The outcomes of the bounds.
    pub bounds: Vec<BoundOutcome>,
    /// The overall verdict.
    pub outcome: Outcome,
    /// The settings.
    pub seed: u64,
    /// With fewer runs on each side no difference could have been told from noise.
    pub fewest_runs: usize,
    /// What the baseline is, where it is the past.
    pub past: Option<PastBaseline>,
}

/// Compares the candidate with the baseline.
///
/// # Errors
/// The same run is given twice, or the runs have no figure in common.
pub fn compare(
    baseline: Vec<ComparedRun>,
    candidate: Vec<ComparedRun>,
    settings: &Settings,
) -> Result<Comparison, CompareError> {
    let all = |runs: Vec<ComparedRun>| runs.into_iter().map(Subject::from).collect();
    compare_subjects(all(baseline), all(candidate), settings)
}

/// Compares runs and results of other programs.
///
/// # Errors
/// As [`compare`].
pub fn compare_subjects(
    baseline: Vec<Subject>,
    candidate: Vec<Subject>,
    settings: &Settings,
) -> Result<Comparison, CompareError> {
    compared(subject::prepared(baseline, candidate)?, None, settings)
}

/// Compares new runs with the past.
///
/// # Errors
/// As [`compare`], and where the past has no run of the kind of the new ones.
pub fn compare_with_past(
    past: Past,
    candidate: Vec<ComparedRun>,
    settings: &Settings,
) -> Result<Comparison, CompareError> {
    if past.runs.is_empty() {
        return Err(CompareError::NoPast { left_out: past.left_out });
    }
    let (units, fewest) = (past.units(&candidate), fewest_units(candidate.len()));
    // Of a single session that is not the last one, only that of the new runs counts.
    let runs = past.runs.into_iter().enumerate();
    let is_used = |place: &usize| units.runs.iter().any(|unit| unit.contains(place));
    let baseline: Vec<Subject> =
        runs.filter(|(place, _)| is_used(place)).map(|(_, run)| run.into()).collect();
    let units = units.renumbered();
    let (count, are_sessions, left_out) = (units.runs.len(), units.are_sessions, past.left_out);
    let described = PastBaseline { units: count, are_sessions, fewest, left_out };
    let candidate = candidate.into_iter().map(Subject::from).collect();
    compared(subject::prepared(baseline, candidate)?, Some((units, described)), settings)
}

/// The comparison of two sides; with the units of the baseline, where it is the past.
fn compared(
    [baseline, candidate]: [Vec<Subject>; 2],
    past: Option<(Units, PastBaseline)>,
    settings: &Settings,
) -> Result<Comparison, CompareError> {
    let all: Vec<&Subject> = baseline.iter().chain(&candidate).collect();
    let first = settings.by.clone().or_else(|| usual_first(&all)).ok_or(CompareError::Nothing)?;
    let wanted = settings.fail_if.iter().map(|bound| &bound.of);
    let (rows, missing) = rows_of_runs(&first, wanted, &all);
    if let Some(not) = missing.iter().find(|not| not.metric == first.name) {
        return Err(CompareError::NotMeasured {
            name: not.metric.clone(),
            run: not.run.clone(),
            why: not.why,
        });
    }
    let (units, past) = past.unzip();
    let judge = Design { runs: baseline.len(), past: units.as_ref(), settings };
    let metrics = judge.metrics(rows);
    // Steps are compared where they are the same steps.
    let records: Vec<&ComparedRun> = all.iter().filter_map(|subject| subject.run()).collect();
    let has_steps = records.len() == all.len();
    let steps = if has_steps { judge.steps(rows_of_steps(&first, &records)) } else { Vec::new() };
    let labels =
        |runs: &[Subject]| -> Vec<String> { runs.iter().map(|run| run.label().to_owned()).collect() };
    let notes = notes_of(&baseline, &candidate, past.as_ref(), missing);
    let one_side_refuses = notes::one_side_refuses(&notes, &labels(&baseline)).is_some();
    let bound = |bound| bounds::judge(bound, &metrics, one_side_refuses);
    let bounds = settings.fail_if.iter().map(bound).collect();
    let outcome = match one_side_refuses {
        true => Outcome::Undecided,
        false => Outcome::of(&metrics, settings),
    };
    Ok(Comparison {
        baseline: labels(&baseline),
        candidate: labels(&candidate),
        asked: baseline.first().map_or_else(String::new, alike::asked),
        unlike: unlike(&all),
        notes,
        metrics,
        steps,
        bounds,
        outcome,
        seed: settings.seed,
        fewest_runs: settings.fewest_runs(),
        past,
    })
}

/// What was not asked alike: among our runs, and among the results of other programs.
fn unlike(all: &[&Subject]) -> Vec<Mismatch> {
    let records: Vec<&ComparedRun> = all.iter().filter_map(|subject| subject.run()).collect();
    let imported: Vec<&ImportedRun> = all.iter().filter_map(|subject| subject.imported()).collect();
    let mut unlike = alike::unlike(&records);
    unlike.extend(alike::unlike_imported(&imported));
    unlike
}

fn notes_of(
    baseline: &[Subject],
    candidate: &[Subject],
    past: Option<&PastBaseline>,
    missing: Vec<figures::NotMeasured>,
) -> Vec<Note> {
    fn runs_of(side: &[Subject]) -> Vec<&ComparedRun> {
        side.iter().filter_map(Subject::run).collect()
    }
    let all: Vec<&Subject> = baseline.iter().chain(candidate).collect();
    let (of_baseline, of_candidate) = (runs_of(baseline), runs_of(candidate));
    let mut found: Vec<Note> = past.cloned().map(Note::Past).into_iter().collect();
    found.extend(notes::of_imported(&all));
    found.extend(notes::of_runs(&of_baseline, &of_candidate));
    // What is new is always later than the past: its interval has that in it.
    let is_past = past.is_some();
    found.extend(notes::of_order(&of_baseline, &of_candidate).filter(|_| !is_past));
    found.extend(notes::of_missing(missing));
    found
}

/// Figures turned into verdicts.
impl Design<'_> {
    /// The metrics of the runs, of which the first row is judged first.
    fn metrics(&self, rows: Vec<Row>) -> Vec<Compared> {
        let scaled: Vec<Vec<f64>> = rows.iter().map(Row::scaled).collect();
        let (first, others) = scaled.split_at(scaled.len().min(1));
        let mut found = self.test(first);
        let differs = found.iter().any(|p| p.alone <= self.settings.level(FIRST_LEVEL));
        found.extend(self.test(others));
        let level = |i: usize| {
            let (is_alone, value) = match (i, differs) {
                (0, _) => (true, FIRST_LEVEL),
                (_, true) => (false, ALL_LEVEL),
                (_, false) => (false, OTHERS_LEVEL),
            };
            Level { is_alone, value: self.settings.level(value) }
        };
        let of = |(i, (row, p))| Compared::new(row, self, p, level(i));
        rows.into_iter().zip(found).enumerate().map(of).collect()
    }

    /// The steps of a load, judged together.
    fn steps(&self, rows: Vec<Row>) -> Vec<Compared> {
        let scaled: Vec<Vec<f64>> = rows.iter().map(Row::scaled).collect();
        let found = self.test(&scaled);
        let level = Level { is_alone: false, value: self.settings.level(ALL_LEVEL) };
        let of = |(row, p)| Compared::new(row, self, p, level);
        rows.into_iter().zip(found).map(of).collect()
    }
}

#[cfg(test)]
mod equals;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod outside;
pub mod report;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

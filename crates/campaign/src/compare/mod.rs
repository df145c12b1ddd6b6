//! Says whether two sets of runs differ: candidate runs against baseline runs.
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

mod alike;
mod bounds;
mod error;
mod figures;
mod notes;
mod run;
mod settings;
mod side;
mod verdict;

pub use alike::Mismatch;
pub(crate) use alike::asked_of;
pub use bounds::{BoundOutcome, BoundState, NotJudged};
pub use error::CompareError;
pub use figures::{Figure, Kind};
pub(crate) use figures::{figure_of, median_of};
pub use notes::Note;
pub use run::{ComparedRun, without_first};
pub use settings::{ALL_LEVEL, FEWEST_RUNS, FIRST_LEVEL, OTHERS_LEVEL, Settings};
pub use side::Side;
pub use verdict::{Change, Compared, Factor, Level, Outcome, Possible, Verdict};

use crate::statistics::permutation::{self, Probability};
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
    let [baseline, candidate] = run::prepared(baseline, candidate)?;
    let all: Vec<&ComparedRun> = baseline.iter().chain(&candidate).collect();
    let first = settings.by.clone().or_else(|| usual_first(&all)).ok_or(CompareError::Nothing)?;
    let wanted = settings.fail_if.iter().map(|bound| &bound.of);
    let (rows, missing) = rows_of_runs(&first, wanted, &all);
    if let Some((name, run)) = missing.iter().find(|(name, _)| *name == first.name) {
        return Err(CompareError::NotMeasured { name: name.clone(), run: run.clone() });
    }
    let unlike = alike::unlike(&all);
    let judge = Judge { runs: baseline.len(), settings };
    let metrics = judge.metrics(rows);
    // Steps are compared where they are the same steps.
    let steps = judge.steps(rows_of_steps(&first, &all));
    let bounds = settings.fail_if.iter().map(|bound| bounds::judge(bound, &metrics)).collect();
    let mut notes = notes::of_runs(&baseline, &candidate);
    notes.extend(missing.into_iter().map(|(metric, run)| Note::NotMeasured { metric, run }));
    let outcome = Outcome::of(&metrics, settings);
    let labels = |runs: &[ComparedRun]| runs.iter().map(|run| run.label.clone()).collect();
    Ok(Comparison {
        baseline: labels(&baseline),
        candidate: labels(&candidate),
        asked: alike::asked(&baseline),
        metrics,
        steps,
        unlike,
        notes,
        bounds,
        outcome,
        seed: settings.seed,
        fewest_runs: settings.fewest_runs(),
    })
}

/// Turns the figures of runs into verdicts.
struct Judge<'a> {
    /// Of the baseline; the others are of the candidate.
    runs: usize,
    settings: &'a Settings,
}

impl Judge<'_> {
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
        let of = |(i, (row, p))| Compared::new(row, self.runs, p, level(i), self.settings);
        rows.into_iter().zip(found).enumerate().map(of).collect()
    }

    fn test(&self, figures: &[Vec<f64>]) -> Vec<Probability> {
        permutation::test(figures, self.runs, self.settings.relabellings, self.settings.seed)
    }

    /// The steps of a load, judged together.
    fn steps(&self, rows: Vec<Row>) -> Vec<Compared> {
        let scaled: Vec<Vec<f64>> = rows.iter().map(Row::scaled).collect();
        let found = self.test(&scaled);
        let level = Level { is_alone: false, value: self.settings.level(ALL_LEVEL) };
        let of = |(row, p)| Compared::new(row, self.runs, p, level, self.settings);
        rows.into_iter().zip(found).map(of).collect()
    }
}

#[cfg(test)]
mod equals;
#[cfg(test)]
mod gates;
pub mod report;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

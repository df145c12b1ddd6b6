//! Which runs of a search or of an experiment are diagnosed, by the results in its folder, and what they show.
//!
//! ```text
//!   find.json      a search        the failed trial with the lowest load at or above the limit
//!   results.json   an experiment   the first run of each cell that counts; of a search in it, as above
//! ```

use std::io;
use std::path::{Path, PathBuf};

use dnsdyno_campaign::find::Method;
use dnsdyno_campaign::find::report::{FoundTrial, FoundVerdict, ReadFinding, ReadFindingError};
use dnsdyno_record::{ReadError, read_regular};
use dnsdyno_report::diagnosis::{
    CellOfExperiment, ChosenRun, ExperimentDiagnosis, SearchDiagnosis, diagnosis,
};
use dnsdyno_text::units::rate;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// What was diagnosed.
#[derive(Debug)]
pub enum Diagnosed {
    /// A search for the limit.
    Search(Box<SearchDiagnosis>),
    /// An experiment.
    Experiment(ExperimentDiagnosis),
}

/// Why the folder of a search or an experiment cannot be diagnosed.
#[derive(Debug, thiserror::Error)]
pub enum DiagnoseError {
    /// It has not come to its end.
    #[error(
        "{} has no results yet: the same command as before goes on with it; or name one of its runs, in {}",
        folder.display(), folder.join(RUNS).display()
    )]
    NotEnded {
        /// The folder.
        folder: PathBuf,
    },
    /// It is the folder of a qualification, whose runs are each of another kind, or of a tuning, whose runs have each
    /// another server.
    #[error(
        "{} holds the runs of a {campaign}: name one of them, in {}",
        folder.display(), folder.join(RUNS).display()
    )]
    NoneForAll {
        /// The folder.
        folder: PathBuf,
        /// What made them.
        campaign: &'static str,
    },
    /// Its results cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Results {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The result of a search cannot be read.
    #[error(transparent)]
    Finding(#[from] ReadFindingError),
    /// It has no trial with a record.
    #[error("the search in {} has no trial to diagnose", folder.display())]
    NoTrial {
        /// The folder.
        folder: PathBuf,
    },
    /// The record of the run cannot be read.
    #[error(transparent)]
    Record(#[from] ReadError),
}

/// Diagnoses the folder of a search or of an experiment; `None` where it is neither.
///
/// # Errors
/// It has no results, or the record of a search cannot be read. What cannot be read of an experiment is said in its
/// cell.
pub fn diagnose(folder: &Path) -> Result<Option<Diagnosed>, DiagnoseError> {
    if let Some(search) = search_in(folder)? {
        return of_search(folder, &search).map(|found| Some(Diagnosed::Search(Box::new(found))));
    }
    if let Some(experiment) = read::<KeptExperiment>(&folder.join(RESULTS))? {
        return Ok(Some(Diagnosed::Experiment(of_experiment(folder, experiment))));
    }
    for (results, campaign) in NONE_FOR_ALL {
        if folder.join(results).is_file() {
            return Err(DiagnoseError::NoneForAll { folder: folder.to_owned(), campaign });
        }
    }
    let is_campaign = folder.join(JOURNAL).is_file() && folder.join(RUNS).is_dir();
    match is_campaign {
        true => Err(DiagnoseError::NotEnded { folder: folder.to_owned() }),
        false => Ok(None),
    }
}

#[derive(Debug, Deserialize)]
struct KeptExperiment {
    title: String,
    cells: Vec<KeptCell>,
}

#[derive(Debug, Deserialize)]
struct KeptCell {
    server: Option<String>,
    load: Option<String>,
    runs: Vec<u32>,
    #[serde(default)]
    found: Vec<KeptFound>,
}

#[derive(Debug, Deserialize)]
struct KeptFound {
    run: u32,
    answer: String,
}

/// Reads a file of results; `None` where there is none.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, DiagnoseError> {
    let failed = |why: String| DiagnoseError::Results { path: path.to_owned(), why };
    match read_regular(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| failed(error.to_string())),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The result of the search in the folder; `None` where there is none.
fn search_in(folder: &Path) -> Result<Option<ReadFinding>, DiagnoseError> {
    match ReadFinding::read(folder) {
        Ok(search) => Ok(Some(search)),
        Err(ReadFindingError::File { source, .. }) if is_absence(&source) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn of_search(folder: &Path, search: &ReadFinding) -> Result<SearchDiagnosis, DiagnoseError> {
    let (trial, why) =
        just_above(search).ok_or_else(|| DiagnoseError::NoTrial { folder: folder.to_owned() })?;
    // The trials of a stair and of a ramp are steps of one run.
    let is_one_run = [Method::Stair, Method::Ramp].iter().any(|method| method.name() == search.method);
    let run = run_in(folder, if is_one_run { 1 } else { trial.number });
    let unmet: Vec<String> =
        trial.unmet.iter().map(|unmet| format!("{} where {}", unmet.measured, unmet.criterion)).collect();
    let unmet = if unmet.is_empty() { String::new() } else { format!(" ({} was asked)", unmet.join(", ")) };
    Ok(SearchDiagnosis {
        answer: search.answer.clone(),
        diagnosis: diagnosis(&run)?,
        of: ChosenRun {
            run: run.display().to_string(),
            why: format!("{why}: {} {}{unmet}", rate(trial.load), search.unit),
        },
    })
}

/// The trial that shows what the limit is, and why it is this one.
fn just_above(search: &ReadFinding) -> Option<(&FoundTrial, &'static str)> {
    let by_load = |a: &&FoundTrial, b: &&FoundTrial| a.load.total_cmp(&b.load);
    let failed = || search.trials.iter().filter(|trial| trial.verdict == FoundVerdict::Failed);
    let limit = search.outcome.from.filter(|_| search.outcome.kind == "capacity");
    // A trial far below the limit may fail too, by a bad second of the host.
    let above = limit.and_then(|limit| failed().filter(|trial| trial.load >= limit).min_by(by_load));
    let lowest = || failed().min_by(by_load);
    let highest = || search.trials.iter().max_by(by_load);
    above
        .map(|trial| (trial, "the trial with the lowest load that failed at the limit or above"))
        .or_else(|| Some((lowest()?, "the trial with the lowest load that failed")))
        .or_else(|| Some((highest()?, "the trial with the highest load: none has failed")))
}

fn of_experiment(folder: &Path, experiment: KeptExperiment) -> ExperimentDiagnosis {
    let cells = experiment.cells.into_iter().map(|cell| of_cell(folder, cell)).collect();
    ExperimentDiagnosis { title: experiment.title, cells }
}

fn of_cell(folder: &Path, cell: KeptCell) -> CellOfExperiment {
    let first = cell.runs.first().map(|run| run_in(folder, *run));
    let found = cell.found.first().map(|found| (run_in(folder, found.run), &found.answer));
    let (of, shown) = match (first, found) {
        (Some(run), _) => {
            let shown = diagnosis(&run).map_err(|error| error.to_string());
            (Some(ChosenRun { run: run.display().to_string(), why: String::new() }), shown)
        }
        (None, Some((run, answer))) => match search_in(&run) {
            Ok(Some(search)) => match of_search(&run, &search) {
                Ok(SearchDiagnosis { of, diagnosis, .. }) => (Some(of), Ok(diagnosis)),
                Err(error) => (None, Err(error.to_string())),
            },
            Ok(None) => {
                (None, Err(format!("a program has put the load on it, and has no record ({answer})")))
            }
            Err(error) => (None, Err(error.to_string())),
        },
        (None, None) => (None, Err("none of its runs has figures".to_owned())),
    };
    let (diagnosis, not_diagnosed) = match shown {
        Ok(diagnosis) => (Some(diagnosis), None),
        Err(why) => (None, Some(why)),
    };
    let name = |name: Option<String>| name.unwrap_or_default();
    CellOfExperiment { load: name(cell.load), server: name(cell.server), of, diagnosis, not_diagnosed }
}

/// The folder of a run, as the journal of a campaign numbers it.
fn run_in(folder: &Path, number: u32) -> PathBuf {
    folder.join(RUNS).join(format!("{number:03}"))
}

const RESULTS: &str = "results.json";
/// The results of campaigns of which no run stands for the others.
const NONE_FOR_ALL: [(&str, &str); 2] = [("qualify.json", "qualification"), ("tune.json", "tuning")];
const JOURNAL: &str = "journal.ndjson";
const RUNS: &str = "runs";

#[cfg(test)]
mod tests {
    use std::fs;

    use dnsdyno_campaign::find::report::FINDING_FILE;
    use serde_json::json;

    use super::*;

    fn search(kind: &str, from: Option<f64>, trials: &[(u32, f64, &str)]) -> ReadFinding {
        let trial = |(number, load, verdict): &(u32, f64, &str)| {
            json!({
                "number": number, "purpose": "", "load": load, "lasted_ns": 0, "queries": 0, "lost": 0,
                "answered_qps": 0, "verdict": verdict, "unmet": [], "undecided": [], "warnings": [],
            })
        };
        let found = json!({
            "format": 1, "answer": "", "method": "search", "unit": "qps", "criteria": [],
            "outcome": { "kind": kind, "from": from }, "notes": [], "cut_off": 0,
            "trials": trials.iter().map(trial).collect::<Vec<_>>(),
        });
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FINDING_FILE), found.to_string()).unwrap();
        search_in(folder.path()).unwrap().unwrap()
    }

    #[test]
    fn of_a_search_the_lowest_failed_trial_at_the_limit_or_above_is_taken() {
        let trials = [
            (1, 1_000.0, "passed"),
            (2, 2_000.0, "failed"),
            (3, 8_000.0, "failed"),
            (4, 5_000.0, "undecided"),
            (5, 5_100.0, "failed"),
            (6, 5_000.0, "passed"),
        ];
        let chosen = |search: &ReadFinding| just_above(search).map(|(trial, why)| (trial.number, why));
        let above = "the trial with the lowest load that failed at the limit or above";
        assert_eq!(chosen(&search("capacity", Some(4_900.0), &trials)), Some((5, above)));
        // Without a limit, and with one that nothing failed above.
        let lowest = "the trial with the lowest load that failed";
        assert_eq!(chosen(&search("not_met", None, &trials)), Some((2, lowest)));
        assert_eq!(chosen(&search("unstable", Some(1_000.0), &trials)), Some((2, lowest)));
        assert_eq!(chosen(&search("capacity", Some(9_000.0), &trials)), Some((2, lowest)));
        let highest = "the trial with the highest load: none has failed";
        assert_eq!(chosen(&search("at_least", None, &trials[..1])), Some((1, highest)));
        assert_eq!(chosen(&search("at_least", None, &[])), None);
    }

    #[test]
    fn a_folder_without_results_says_what_to_do_and_another_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(diagnose(folder.path()).unwrap().is_none());
        assert!(diagnose(&folder.path().join("none")).unwrap().is_none());
        fs::create_dir(folder.path().join(RUNS)).unwrap();
        fs::write(folder.path().join(JOURNAL), "").unwrap();
        let error = diagnose(folder.path()).unwrap_err().to_string();
        assert!(error.contains("has no results yet"), "{error}");
        for (results, campaign) in NONE_FOR_ALL {
            fs::write(folder.path().join(results), "{}").unwrap();
            let error = diagnose(folder.path()).unwrap_err().to_string();
            let says = format!("holds the runs of a {campaign}: name one of them, in");
            assert!(error.contains(&says) && error.ends_with("/runs"), "{error}");
            fs::remove_file(folder.path().join(results)).unwrap();
        }
        fs::write(folder.path().join(FINDING_FILE), "{}").unwrap();
        let error = diagnose(folder.path()).unwrap_err().to_string();
        assert!(error.contains("find.json is not the result of a search: missing field"), "{error}");
    }

    #[test]
    fn a_cell_whose_record_cannot_be_read_says_why_and_the_others_stand() {
        let folder = tempfile::tempdir().unwrap();
        let results = r#"{"title": "T", "cells": [
            {"server": "nsd", "load": "20k", "runs": [2, 3], "found": []},
            {"server": "nsd", "load": "limit", "runs": [], "found": [{"run": 4, "answer": "9 qps"}]},
            {"server": "nsd", "load": "none", "runs": [], "found": []}]}"#;
        fs::write(folder.path().join(RESULTS), results).unwrap();
        let Some(Diagnosed::Experiment(found)) = diagnose(folder.path()).unwrap() else {
            panic!("no experiment")
        };
        let why: Vec<_> = found.cells.iter().map(|cell| cell.not_diagnosed.as_deref().unwrap()).collect();
        assert!(why[0].contains("runs/002"), "{why:?}");
        assert_eq!(
            why[1..],
            ["a program has put the load on it, and has no record (9 qps)", "none of its runs has figures"]
        );
        assert!(found.cells[0].of.as_ref().unwrap().run.ends_with("runs/002"));
    }
}

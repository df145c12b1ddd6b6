//! `dnsdyno compare`: says whether two sets of runs differ.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use dnsdyno_campaign::compare::report::{
    comparison, comparison_json, comparison_junit, comparison_markdown, unlike_lines,
};
use dnsdyno_campaign::compare::{
    BoundState, ComparedRun, Comparison, ImportedRun, Past, Settings, Subject, compare_subjects,
    compare_with_past, without_first,
};
use dnsdyno_page::{runs_below, runs_in};
use dnsdyno_plan::expect::{ChangeBound, ComparedMetric};
use dnsdyno_report::import::import;

use crate::cmd::report::{may_be_written, named, options, write as replace};
use crate::exit::{Failure, Outcome};
use crate::judged::{FormFlags, code_of_bounds};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareFlags {
    /// Folders of the runs to judge, the candidate; a folder that is none stands for all runs in it.
    /// Or files with results of dnsperf, k6 or DNS Shotgun
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Folders of the runs to compare with, the baseline; or files of other programs
    #[arg(long, required_unless_present = "against_history", num_args = 1.., value_name = "RUN")]
    pub(crate) against: Vec<PathBuf>,
    /// Compare with the past: with all earlier runs in this folder, and the folders in it, that have
    /// the same plan, server and host
    #[arg(long, value_name = "FOLDER", conflicts_with = "against")]
    pub(crate) against_history: Option<PathBuf>,
    /// Exit with code 1 if a metric has changed by more than this and the change is shown, such as
    /// 'p99 +5%' or 'rate -2%'; of a share in percentage points: 'loss +0.1%'; may be repeated
    #[arg(long, value_name = "CHANGE")]
    pub(crate) fail_if: Vec<String>,
    /// The metric that is judged first, with most of the accepted risk of a false alarm [default:
    /// p99; of a closed loop rate]
    #[arg(long, value_name = "METRIC")]
    pub(crate) by: Option<String>,
    /// Leave out the first run of each side, in which caches fill; of the past that of each session
    #[arg(long)]
    pub(crate) drop_first: bool,
    /// Compare runs that were not asked alike
    #[arg(long)]
    pub(crate) even_if_unlike: bool,
    #[command(flatten)]
    pub(crate) form: FormFlags,
    /// Also write the comparison with the charts of all runs as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
    /// Also write a JUnit report, with a test case for each --fail-if
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Random seed of the intervals; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

pub(crate) fn compare(flags: &CompareFlags) -> Outcome {
    let fail_if = flags.fail_if.iter().map(|text| ChangeBound::parse(text)).collect::<Result<_, _>>();
    let settings = Settings {
        by: flags.by.as_deref().map(ComparedMetric::parse).transpose().map_err(Failure::bad_input)?,
        fail_if: fail_if.map_err(Failure::bad_input)?,
        seed: flags.seed,
        ..Settings::default()
    };
    if let Some(file) = &flags.page {
        may_be_written(file, PAGE)?;
    }
    let (found, of_baseline, of_candidate) = match &flags.against_history {
        Some(folder) => against_past(folder, flags, &settings)?,
        None => side_by_side(flags, &settings)?,
    };
    if !found.unlike.is_empty() && !flags.even_if_unlike {
        return Err(Failure::bad_input(anyhow!(
            "the runs were not asked alike, so they say nothing about the servers:\n{}\nto compare them all the \
             same, add --even-if-unlike",
            unlike_lines(&found.unlike)
        )));
    }
    if let Some(file) = &flags.page {
        let page = dnsdyno_page::comparison(&of_baseline, &of_candidate, (&found).into(), &options(None));
        replace(file, &page.context("cannot make the page").map_err(Failure::bad_input)?, PAGE)?;
    }
    if let Some(file) = &flags.junit {
        replace(file, comparison_junit(&found).as_bytes(), "--junit")?;
    }
    flags
        .form
        .print(|width| comparison(&found, width), || comparison_markdown(&found), || comparison_json(&found))
        .map_err(Failure::run_failed)?;
    let mut states = found.bounds.iter().map(|bound| bound.state);
    let is_exceeded = states.clone().any(|state| state == BoundState::Exceeded);
    Ok(code_of_bounds(is_exceeded, states.all(|state| state == BoundState::Kept)))
}

/// A comparison with the records of both sides, as their page needs them.
type Found = (Comparison, Vec<PathBuf>, Vec<PathBuf>);

/// Two sides that the user names.
fn side_by_side(flags: &CompareFlags, settings: &Settings) -> Result<Found, Failure> {
    let (baseline, candidate) = (read(&flags.against, flags)?, read(&flags.runs, flags)?);
    let paths =
        |runs: &[Subject]| runs.iter().map(|run| record_of(run, flags)).collect::<Result<Vec<_>, _>>();
    let (of_baseline, of_candidate) = (paths(&baseline)?, paths(&candidate)?);
    let found = compare_subjects(baseline, candidate, settings).map_err(Failure::bad_input)?;
    Ok((found, of_baseline, of_candidate))
}

/// The new runs and those of the past.
fn against_past(folder: &Path, flags: &CompareFlags, settings: &Settings) -> Result<Found, Failure> {
    let mut candidate = Vec::new();
    for subject in read(&flags.runs, flags)? {
        match subject {
            Subject::Run(run) => candidate.push(*run),
            Subject::Imported(run) => {
                return Err(Failure::bad_input(anyhow!(
                    "{} is a result of {}: only runs of dnsdyno have a past with the same plan, server and host; \
                     compare results of other programs with --against",
                    named(&run.path),
                    run.result.program
                )));
            }
        }
    }
    if candidate.is_empty() {
        return Err(Failure::bad_input(anyhow!(
            "no new run is left: name more runs, or leave out --drop-first"
        )));
    }
    let records = runs_below(folder).map_err(Failure::bad_input)?;
    let past = Past::find(&records, &candidate, flags.drop_first);
    let paths = |runs: &[ComparedRun]| runs.iter().map(|run| run.path.clone()).collect::<Vec<_>>();
    let (of_past, of_candidate) = (paths(&past.runs), paths(&candidate));
    let found = compare_with_past(past, candidate, settings).map_err(Failure::bad_input)?;
    // Of the past, a session may be left out: the page has the runs that were compared.
    let used = of_past.len().saturating_sub(found.baseline.len());
    Ok((found, of_past.into_iter().skip(used).collect(), of_candidate))
}

/// The record of a run, for the page.
fn record_of(subject: &Subject, flags: &CompareFlags) -> Result<PathBuf, Failure> {
    match subject {
        Subject::Run(run) => Ok(run.path.clone()),
        Subject::Imported(run) if flags.page.is_some() => Err(Failure::bad_input(anyhow!(
            "{} has no intervals that a page could draw: leave out {PAGE}, or compare runs of dnsdyno",
            named(&run.path)
        ))),
        Subject::Imported(run) => Ok(run.path.clone()),
    }
}

/// The runs of a side; a folder of runs stands for all of them.
fn read(paths: &[PathBuf], flags: &CompareFlags) -> Result<Vec<Subject>, Failure> {
    let (mut runs, mut imported) = (Vec::new(), Vec::new());
    for path in paths {
        if path.is_file()
            && let Some(result) = import(path).map_err(Failure::bad_input)?
        {
            imported.push(ImportedRun { label: path.display().to_string(), path: path.clone(), result });
            continue;
        }
        for run in runs_in(path).map_err(Failure::bad_input)? {
            let read = ComparedRun::read(&run).with_context(|| format!("cannot compare {}", named(&run)));
            runs.push(read.map_err(Failure::bad_input)?);
        }
    }
    if flags.drop_first && !imported.is_empty() {
        return Err(Failure::bad_input(anyhow!(
            "which of the results of other programs was first is not known: leave out --drop-first, and name those \
             that count"
        )));
    }
    let runs = if flags.drop_first { without_first(runs) } else { runs };
    Ok(runs.into_iter().map(Subject::from).chain(imported.into_iter().map(Subject::from)).collect())
}

/// The option that names the page.
const PAGE: &str = "--page";

const EXAMPLES: &str = "\
Examples:
  dnsdyno compare runs/new-* --against runs/old-*
  dnsdyno compare runs/new-* --against runs/old-* --fail-if 'p99 +5%' --markdown
  dnsdyno compare runs/new-* --against runs/old-* --fail-if 'p99 +5%' --junit junit.xml
  dnsdyno compare runs/new-* --against-history runs --fail-if 'p99 +5%'
  dnsdyno compare runs/new-* --against dnsperf-old-*.txt

Exit codes: 0; 1 a --fail-if was exceeded; 2 the runs cannot be compared, or do not say whether a
--fail-if was exceeded: they are too few or too noisy to have shown it, or it may be the generator's.";

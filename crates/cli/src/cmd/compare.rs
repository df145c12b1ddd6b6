//! `dnsdyno compare`: says whether two sets of runs differ.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use dnsdyno_campaign::compare::report::{
    comparison, comparison_json, comparison_junit, comparison_markdown, unlike_lines,
};
use dnsdyno_campaign::compare::{
    BoundOutcome, BoundState, ComparedRun, Comparison, Settings, compare as compare_runs, without_first,
};
use dnsdyno_page::runs_in;
use dnsdyno_plan::expect::{ChangeBound, ComparedMetric};

use crate::cmd::report::{may_be_written, named, options, write as replace};
use crate::exit::{BAD_INPUT, EXPECTATION_FAILED, Failure, OK, Outcome};
use crate::screen::width_of_terminal;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareFlags {
    /// Folders of the runs to judge, the candidate; a folder that is none stands for all runs in it
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Folders of the runs to compare with, the baseline
    #[arg(long, required = true, num_args = 1.., value_name = "RUN")]
    pub(crate) against: Vec<PathBuf>,
    /// Exit with code 1 if a metric has changed by more than this and the change is shown, such as
    /// 'p99 +5%' or 'rate -2%'; of a share in percentage points: 'loss +0.1%'; may be repeated
    #[arg(long, value_name = "CHANGE")]
    pub(crate) fail_if: Vec<String>,
    /// The metric that is judged first, with most of the accepted risk of a false alarm [default:
    /// p99; of a closed loop rate]
    #[arg(long, value_name = "METRIC")]
    pub(crate) by: Option<String>,
    /// Leave out the first run of each side, in which caches fill
    #[arg(long)]
    pub(crate) drop_first: bool,
    /// Compare runs that were not asked alike
    #[arg(long)]
    pub(crate) even_if_unlike: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown, for a pull request
    #[arg(long)]
    pub(crate) markdown: bool,
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
    let (baseline, candidate) = (read(&flags.against, flags)?, read(&flags.runs, flags)?);
    let paths = |runs: &[ComparedRun]| runs.iter().map(|run| run.path.clone()).collect::<Vec<_>>();
    let (of_baseline, of_candidate) = (paths(&baseline), paths(&candidate));
    if let Some(file) = &flags.page {
        may_be_written(file, PAGE)?;
    }
    let found = compare_runs(baseline, candidate, &settings).map_err(Failure::bad_input)?;
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
    print(&found, flags).map_err(Failure::run_failed)?;
    Ok(code(&found.bounds))
}

/// The runs of a side; a folder of runs stands for all of them.
fn read(folders: &[PathBuf], flags: &CompareFlags) -> Result<Vec<ComparedRun>, Failure> {
    let mut runs = Vec::new();
    for folder in folders {
        for run in runs_in(folder).map_err(Failure::bad_input)? {
            let read = ComparedRun::read(&run).with_context(|| format!("cannot compare {}", named(&run)));
            runs.push(read.map_err(Failure::bad_input)?);
        }
    }
    Ok(if flags.drop_first { without_first(runs) } else { runs })
}

fn print(found: &Comparison, flags: &CompareFlags) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match (flags.json, flags.markdown) {
        (true, _) => writeln!(out, "{:#}", comparison_json(found)),
        (false, true) => write!(out, "{}", comparison_markdown(found)),
        (false, false) => write!(out, "{}", comparison(found, width_of_terminal())),
    }
}

/// A bound that is not judged does not pass: otherwise runs that show nothing would pass any test.
fn code(bounds: &[BoundOutcome]) -> u8 {
    match () {
        () if bounds.iter().any(|bound| bound.state == BoundState::Exceeded) => EXPECTATION_FAILED,
        () if bounds.iter().all(|bound| bound.state == BoundState::Kept) => OK,
        () => BAD_INPUT,
    }
}

/// The option that names the page.
const PAGE: &str = "--page";

const EXAMPLES: &str = "\
Examples:
  dnsdyno compare runs/new-* --against runs/old-*
  dnsdyno compare runs/new-* --against runs/old-* --fail-if 'p99 +5%' --markdown
  dnsdyno compare runs/new-* --against runs/old-* --fail-if 'p99 +5%' --junit junit.xml

Exit codes: 0; 1 a --fail-if was exceeded; 2 the runs cannot be compared, or do not say whether a
--fail-if was exceeded: they are too few or too noisy to have shown it, or it may be the generator's.";

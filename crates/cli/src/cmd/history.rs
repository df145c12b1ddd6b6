//! `dnsdyno history`: where the figures of runs of one kind have changed, over time or from version to version.

use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use clap::Args;
use dnsdyno_campaign::history::report::{history_json, history_junit, history_markdown, history_text};
use dnsdyno_campaign::history::{
    AcceptError, Accepted, Axis, Gate, GateState, History, HistoryOptions, HistoryRun, accept,
};
use dnsdyno_page::HistoryLinks;

use crate::cmd::report::{may_be_written, named, options, write as replace};
use crate::exit::{Failure, Outcome};
use crate::judged::{FormFlags, code_of_bounds};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HistoryFlags {
    /// Folder below which there are runs, searches and experiments
    #[arg(value_name = "FOLDER", default_value = "runs")]
    pub(crate) folder: PathBuf,
    /// The order of the runs: time, or a label such as version or commit
    #[arg(long, value_name = "time|LABEL", default_value = "time")]
    pub(crate) by: String,
    /// Only runs with this label, such as 'version=3.4' or 'branch'; may be repeated. Labels are words KEY=VALUE in the
    /// note of a run; without one, version is that of the watched server
    #[arg(long, value_name = "KEY[=VALUE]")]
    pub(crate) label: Vec<String>,
    /// Exit with code 1 if a metric has a step that is worse by more than this, such as 'rate=5%'; of loss in
    /// percentage points; with code 2 if the runs do not say it. The metrics: limit, rate, loss, p50,
    /// p95, p99, cpu; may be repeated
    #[arg(long, value_name = "METRIC=BOUND%")]
    pub(crate) gate: Vec<String>,
    /// Note that the step at a run is intended, and why; it is no regression from then on
    #[arg(long, num_args = 2, value_names = ["RUN", "REASON"])]
    pub(crate) accept: Vec<String>,
    #[command(flatten)]
    pub(crate) form: FormFlags,
    /// Also write a page with a chart of each metric
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
    /// Also write a JUnit report, with a test case for each --gate
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Neither write nor renew the index beside the records
    #[arg(long)]
    pub(crate) no_index: bool,
    /// Random seed of the orders that are tried; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

pub(crate) fn history(flags: &HistoryFlags) -> Outcome {
    let gates = flags.gate.iter().map(|text| Gate::parse(text)).collect::<Result<_, _>>();
    let settings = HistoryOptions {
        axis: Axis::parse(&flags.by),
        labels: flags.label.iter().map(|text| label(text)).collect(),
        gates: gates.map_err(Failure::bad_input)?,
        may_write: !flags.no_index,
        seed: flags.seed,
    };
    if let Some(file) = &flags.page {
        may_be_written(file, PAGE)?;
    }
    if let [run, reason] = flags.accept.as_slice() {
        note_accepted(&flags.folder, run, reason)?;
    }
    let found = read(&flags.folder, &settings)?;
    if found.rows.is_empty() && flags.gate.is_empty() {
        return Err(Failure::bad_input(nothing(flags, &found)));
    }
    if let Some(file) = &flags.page {
        let folder = named(&flags.folder);
        let link = |run: &HistoryRun| link(file, &flags.folder, run);
        let links = HistoryLinks { run: &link, home: None };
        replace(file, &dnsdyno_page::history(&folder, &found, &links, &options(None)), PAGE)?;
    }
    if let Some(file) = &flags.junit {
        replace(file, history_junit(&found).as_bytes(), "--junit")?;
    }
    flags
        .form
        .print(|width| history_text(&found, width), || history_markdown(&found), || history_json(&found))
        .map_err(Failure::run_failed)?;
    let mut states = found.gates.iter().map(|gate| &gate.state);
    let is_exceeded = states.clone().any(|state| matches!(state, GateState::Exceeded { .. }));
    Ok(code_of_bounds(is_exceeded, states.all(|state| matches!(state, GateState::Kept { .. }))))
}

fn read(folder: &Path, settings: &HistoryOptions) -> Result<History, Failure> {
    History::read(folder, settings).map_err(|error| {
        let why = format!("cannot read {}: {error}; name a folder that holds runs", named(folder));
        Failure::bad_input(anyhow!(why))
    })
}

fn nothing(flags: &HistoryFlags, found: &History) -> anyhow::Error {
    let folder = named(&flags.folder);
    match (found.not_meant, found.unreadable.first()) {
        (0, Some((run, why))) => {
            anyhow!("there is nothing to follow in {folder}: {run} cannot be read: {why}")
        }
        (0, None) => {
            anyhow!("there is no run, search or experiment in {folder}: name a folder that holds some")
        }
        (runs, _) => anyhow!(
            "none of the {runs} runs in {folder} has the labels that are asked for: a label is a word KEY=VALUE in the \
             note of a run, as in `dnsdyno run --note 'version=3.4'`"
        ),
    }
}

/// A label with a value, or with any.
fn label(text: &str) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    }
}

/// Notes that the step at a run is intended. The run is named by its path, or by its folder below that of the history.
fn note_accepted(folder: &Path, run: &str, reason: &str) -> Result<(), Failure> {
    let below = Path::new(run).strip_prefix(folder).unwrap_or(Path::new(run));
    let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
    let name: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    if !is_inside || name.is_empty() || !folder.join(below).is_dir() {
        let why = format!(
            "{} is no run in {}: name its folder as the history does",
            named(Path::new(run)),
            named(folder)
        );
        return Err(Failure::bad_input(anyhow!(why)));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let unix_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    let accepted = Accepted { run: name.join("/"), reason: reason.trim().to_owned(), unix_ns };
    accept(folder, &accepted).map_err(|error| match error {
        AcceptError::Reason(_) => Failure::bad_input(error),
        AcceptError::File(_) => Failure::run_failed(error),
    })
}

/// The page of a run where it has one, otherwise its folder, as seen from the file of the history; `None` where that is
/// elsewhere than in the folder of the history or beside it.
fn link(file: &Path, folder: &Path, run: &HistoryRun) -> Option<String> {
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let (page, of_run) = (absolute(file)?, absolute(&folder.join(&run.folder))?);
    let address = of_run.strip_prefix(page.parent()?).ok()?.to_str()?;
    let own = of_run.join(RUN_PAGE);
    Some(if own.is_file() { format!("{address}/{RUN_PAGE}") } else { format!("{address}/") })
}

/// The option that names the page.
const PAGE: &str = "--page";

/// In the folder of a run, as `dnsdyno report` writes it.
const RUN_PAGE: &str = "report.html";

const EXAMPLES: &str = "\
Examples:
  dnsdyno run -s 192.0.2.53 -d queries.txt --outstanding 100 --for 30s --note 'version=3.4 commit=0a1b2c3'
  dnsdyno history runs
  dnsdyno history runs --by version --page history.html
  dnsdyno history runs --gate rate=5% --gate p99=10% --markdown --junit junit.xml
  dnsdyno history runs --accept 2026-03-09T14-05-00Z 'one thread less, on purpose'

Exit codes: 0; 1 a --gate was exceeded; 2 the folder cannot be read, or the runs do not say whether a
--gate was exceeded: they are too few or too noisy, or the newest run may be disturbed.";

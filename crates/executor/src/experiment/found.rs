//! Makes what is not one run of ours: a search for the limit, and a program in the place of the generator; and keeps
//! what they have found.
//!
//! ```text
//!   FOLDER/runs/012   of a search: its journal, runs/001…, find.json     of a program: output.txt, and its own files
//!                     found.json: what the results show of it
//! ```

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use dnsdyno_campaign::Request;
use dnsdyno_campaign::experiment::{Found, FoundFigure};
use dnsdyno_campaign::find::report::{answer_line, finding_text, trial_line};
use dnsdyno_campaign::find::{Finding, Method, Options, Outcome, Settings, TrialsSoFar};
use dnsdyno_plan::Draft;
use dnsdyno_record::read_regular;
use dnsdyno_runner::{Control, RunError, Runner};
use dnsdyno_text::units::{duration, rate};
use serde_json::json;

use super::cpus::Cpus;
use super::error::ExperimentError;
use super::facts::write_file;
use super::servers::Standing;
use super::stop::Stop;
use super::watcher::Watcher;
use super::way::Program;
use super::written::{end_of, last_line};
use crate::find::{FindFailed, Search, Tell};
use crate::{CarriedOut, MakeError};

/// What came of a search, or of a program.
pub(super) enum SearchEnd {
    /// It has found this.
    Found(Box<Found>),
    /// It has failed, because of the server or of the program.
    Failed(String),
    /// The user has stopped it.
    Stopped,
}

/// Searches for the limit of a server, from where the folder of the search ends.
pub(super) fn search(
    options: &Options,
    draft: &Draft,
    folder: &Path,
    runner: &mut dyn Runner,
    control: &Arc<Control>,
    watcher: &mut dyn Watcher,
) -> Result<SearchEnd, FindFailed> {
    let settings = match Settings::new(options, draft) {
        Ok(settings) => settings,
        Err(error) => return Ok(SearchEnd::Failed(error.to_string())),
    };
    settings.notices().iter().for_each(|notice| watcher.goes_on(notice));
    let mut told = TrialReporter { method: settings.method(), lines: 0, watcher };
    // The server is another process at another port after each start, but the same server.
    let kept = json!({ "version": Search::VERSION, "options": options });
    let (options, observer, tell) = (&kept, &mut (), &mut told);
    let search = Search { settings, options, folder, runner, control, observer, tell };
    match search.carry_out() {
        Ok(CarriedOut::Done(finding)) => Ok(SearchEnd::Found(Box::new(of_finding(&finding)))),
        Ok(CarriedOut::Stopped) => Ok(SearchEnd::Stopped),
        Err(FindFailed::Make(MakeError::Run(RunError::Check(check)))) => {
            Ok(SearchEnd::Failed(format!("the server did not answer as it should before a trial: {check}")))
        }
        Err(error) => Err(error),
    }
}

fn of_finding(finding: &Finding) -> Found {
    let unit = finding.what.unit().to_owned();
    let figure = match &finding.outcome {
        Outcome::Capacity { load, from, to, .. } => {
            Some(FoundFigure { value: *load, unit, from: Some(*from), to: Some(*to), is_at_least: false })
        }
        Outcome::AtLeast { load, .. } => {
            Some(FoundFigure { value: *load, unit, from: None, to: None, is_at_least: true })
        }
        Outcome::NotMet { .. } | Outcome::Unstable { .. } | Outcome::Undecided { .. } => None,
    };
    let answer = answer_line(finding);
    let doubt = matches!(finding.outcome, Outcome::Undecided { .. }).then(|| answer.clone());
    Found { answer, figure, text: finding_text(finding, TEXT_WIDTH), doubt }
}

/// Tells the trials of a search.
struct TrialReporter<'a> {
    method: Method,
    /// Trials that were told.
    lines: usize,
    watcher: &'a mut dyn Watcher,
}

impl Tell for TrialReporter<'_> {
    fn begins(&mut self, _: &Request) {}

    fn judged(&mut self, made: TrialsSoFar<'_>) {
        while self.lines < made.trials.len() {
            self.lines += 1;
            let trials = made.trials.get(..self.lines).unwrap_or_default();
            let bracket = made.bracket.filter(|_| self.lines == made.trials.len());
            self.watcher.goes_on(trial_line(self.method, TrialsSoFar { trials, bracket }).trim_end());
        }
    }

    fn resumed(&mut self, ended: u32, cut: u32) {
        self.watcher
            .goes_on(&format!("the search goes on after {ended} of its runs; {cut} had been cut off"));
    }

    fn unanswered(&mut self, why: &str) {
        self.watcher.goes_on(&format!("{why}; asking again"));
    }
}

/// Runs a program in the place of the generator, until it ends, is too long or is stopped.
pub(super) fn run_program(
    program: &Program,
    draft: &Draft,
    folder: &Path,
    standing: &Standing,
    cpus: &Cpus,
    stop: &Stop,
) -> Result<SearchEnd, ExperimentError> {
    let cannot = |source| ExperimentError::Write { path: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(cannot)?;
    let queries = program.queries(draft, folder).map_err(cannot)?;
    let output = folder.join(OUTPUT);
    let began = Instant::now();
    let mut running =
        standing.program(&program.command, &cpus.generator, queries.as_deref(), [folder, &output])?;
    let status = running.ended_within(program.within, stop.cancel())?;
    if status.is_none() {
        running.kill()?;
        if stop.cause().is_some() {
            return Ok(SearchEnd::Stopped);
        }
    }
    let took = duration(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let printed = String::from_utf8_lossy(&end_of(&output).unwrap_or_default()).into_owned();
    let last =
        last_line(&printed).map_or(String::new(), |line| format!("; the last line that it printed: {line}"));
    let Some(status) = status else {
        return Ok(SearchEnd::Failed(format!("the program had not ended after {took}, and was ended{last}")));
    };
    if !status.success() {
        return Ok(SearchEnd::Failed(format!("the program ended with {status} after {took}{last}")));
    }
    let figure = program.figure_in(&printed);
    Ok(match (&program.figure, figure) {
        (Some(words), None) => {
            SearchEnd::Failed(format!("the program has printed no number after `{words}`{last}"))
        }
        (words, _) => {
            let of_words = words.as_deref().unwrap_or_default().trim().trim_end_matches(':');
            let answer = match figure {
                Some(value) => format!("{of_words}: {}, as the program says, after {took}", rate(value)),
                None => format!("ended with {status} after {took}"),
            };
            let of = |value| FoundFigure {
                value,
                unit: of_words.to_owned(),
                from: None,
                to: None,
                is_at_least: false,
            };
            SearchEnd::Found(Box::new(Found { answer, figure: figure.map(of), text: printed, doubt: None }))
        }
    })
}

/// Keeps what was found in the folder of the run.
pub(super) fn keep(folder: &Path, found: &Found) -> Result<(), ExperimentError> {
    write_file(&folder.join(FOUND), format!("{:#}\n", json!(found)).as_bytes())
}

/// What was found by a run that has ended.
pub(super) fn kept(folder: &Path) -> Result<Found, ExperimentError> {
    let path = folder.join(FOUND);
    let cannot = |source| ExperimentError::Found { path: path.clone(), source };
    let text = read_regular(&path).map_err(cannot)?;
    serde_json::from_str(&text).map_err(|error| cannot(io::Error::from(error)))
}

const FOUND: &str = "found.json";
const OUTPUT: &str = "output.txt";

/// The columns of the text of a search.
const TEXT_WIDTH: usize = 110;

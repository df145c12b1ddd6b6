//! `dnsdyno experiment`: servers and variants of them under the same loads, in turn, from one file.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use dnsdyno_campaign::experiment::Outcome as OfRun;
use dnsdyno_executor::experiment::{
    ExperimentError, Given, LONGEST_NS, START_NS, Setup, Stop, Watcher, carry_out, summary, write_results,
};
use dnsdyno_text::{shown, units};

use crate::cmd::agent::OnFlags;
use crate::cmd::report::{named, options};
use crate::exit::{
    BAD_INPUT, EXPECTATION_FAILED, Failure, OK, Outcome, RECORD_INCOMPLETE, RUN_FAILED, code_of_stop,
};
use crate::message::print_error;
use crate::screen::width_of_terminal;
use crate::signals::stop_at_signals;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExperimentFlags {
    /// The file of the experiment (TOML); docs/experiment.md explains its keys
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Folder of records and results; with the folder of an experiment that was stopped, it goes on [default:
    /// runs/NAME, as the file is named, with --full runs/NAME-full]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: OnFlags,
    /// Say what would be done, how long it takes, and whether this host has the servers, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Load the server at this address of the file though it is public: you own it, or its owner has agreed; may be
    /// repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) i_may_load_this_server: Vec<String>,
    /// Take this program for a server or variant of the file; a folder is an unpacked root file system that has the
    /// program of its template; may be repeated
    #[arg(long, value_name = "NAME=PATH", value_parser = Given::program)]
    pub(crate) program: Vec<(String, PathBuf)>,
    /// At the full scale, as the table [full] of the file has it
    #[arg(long)]
    pub(crate) full: bool,
    /// Begin also where it takes longer than a day
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print only the results
    #[arg(long)]
    pub(crate) quiet: bool,
}

pub(crate) fn experiment(flags: &ExperimentFlags) -> Outcome {
    let mut runner = flags.on.runner()?;
    let given = Given {
        full: flags.full,
        allowed: flags.i_may_load_this_server.clone(),
        programs: flags.program.iter().cloned().collect(),
    };
    let setup = Setup::read(&flags.file, &given, &*runner)?;
    if flags.dry_run {
        let mut out = std::io::stdout().lock();
        for line in summary(&setup) {
            // Whole: what a command does may be at its end.
            writeln!(out, "{}", shown(&line, usize::MAX)).map_err(Failure::run_failed)?;
        }
        setup.check_host()?;
        return Ok(OK);
    }
    let lasts_ns = setup.design.lasts_ns(START_NS);
    if lasts_ns > LONGEST_NS && !flags.yes {
        return Err(Failure::bad_input(anyhow!(
            "this takes {}: {} runs; to see what they are, add --dry-run; to begin, add --yes",
            units::length(lasts_ns),
            units::count(setup.design.runs())
        )));
    }
    setup.notes.iter().for_each(|note| print_error(&format!("dnsdyno: {note}")));
    let folder = flags.out.clone().unwrap_or_else(|| {
        let name = flags.file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        PathBuf::from("runs").join(format!("{name}{}", if flags.full { "-full" } else { "" }))
    });
    let stop = Arc::new(Stop::default());
    stop_at_signals(Arc::clone(&stop)).map_err(Failure::run_failed)?;
    let mut progress = Lines { quiet: flags.quiet };
    let carried = carry_out(&setup, &folder, &mut *runner, &stop, &mut progress)?;
    let text = write_results(&setup, &carried, &options(None), width_of_terminal())?;
    let mut out = std::io::stdout().lock();
    let place = named(&folder);
    write!(out, "{text}\nresults: {place}/index.html, results.md, results.csv, results.json\n")
        .map_err(Failure::run_failed)?;
    if let Some(cause) = carried.stopped {
        print_error("dnsdyno: stopped; the same command goes on with it");
        return Ok(code_of_stop(Some(cause)));
    }
    let is_complete = setup.design.cells().all(|cell| !carried.experiment.is_given_up(cell));
    Ok(if is_complete { OK } else { EXPECTATION_FAILED })
}

/// Lines on standard error while an experiment goes on.
struct Lines {
    quiet: bool,
}

impl Lines {
    fn print(&self, text: &str) {
        if !self.quiet {
            print_error(text);
        }
    }
}

impl Watcher for Lines {
    fn says(&mut self, text: &str) {
        print_error(&format!("dnsdyno: {text}"));
    }

    fn resumed(&mut self, ended: u32, cut: u32) {
        let cut =
            if cut > 0 { format!("; {cut} had been cut off and are made again") } else { String::new() };
        self.print(&format!("dnsdyno: goes on after {} earlier runs{cut}", units::count(ended.into())));
    }

    fn begins(&mut self, why: &str, left: u64) {
        self.print(&format!("{why} ({} left)", units::count(left)));
    }

    fn goes_on(&mut self, text: &str) {
        self.print(&format!("  {text}"));
    }

    fn ended(&mut self, outcome: &OfRun, says: &str) {
        match outcome {
            OfRun::Counted | OfRun::Dropped => self.print(&format!("  {}", shown(says, LONGEST_LINE))),
            OfRun::Discarded(doubts) => {
                let why: Vec<String> = doubts.iter().map(ToString::to_string).collect();
                self.print(&format!("  discarded: {}", why.join("; ")));
            }
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Failure {
        let code = match &error {
            error if error.is_bad_input() => BAD_INPUT,
            ExperimentError::Disk { .. } => RECORD_INCOMPLETE,
            _ => RUN_FAILED,
        };
        Failure { code, error: error.into() }
    }
}

/// Characters of a line of the summary: names are short, sentences are of ours.
const LONGEST_LINE: usize = 1_000;

const EXAMPLES: &str = "\
Examples:
  dnsdyno experiment experiments/two-servers.toml --dry-run
  dnsdyno experiment experiments/two-servers.toml -o runs/two-servers
  dnsdyno experiment experiments/jitter-versions.toml --program bind/9.16=/srv/bullseye

Exit codes: 0; 1 a server under a load was given up, because too many of its runs were discarded;
2 the file is not valid, this host lacks one of its servers, or it takes longer than a day;
3 a server did not start or a run could not be made; 4 the disk is full; 129, 130, 143 stopped by a
signal. What was measured is kept: the same command goes on with it.";

//! `dnsdyno diagnose`: says which bottleneck the evidence of a run shows.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use dnsdyno_executor::Diagnosed;
use dnsdyno_report::diagnosis::{
    experiment_diagnosis_json, experiment_diagnosis_text, search_diagnosis_json, search_diagnosis_text,
};
use dnsdyno_report::{Diagnosis, diagnosis, diagnosis_json, diagnosis_text};

use crate::cmd::report::named;
use crate::exit::{Failure, OK, Outcome};
use crate::screen::width_of_terminal;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiagnoseFlags {
    /// Folders of runs, searches and experiments; made with `--watch`, they know the server's side too
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Print one JSON object per folder
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn diagnose(flags: &DiagnoseFlags) -> Outcome {
    for (number, run) in flags.runs.iter().enumerate() {
        let found = read(run)?;
        print(&found, run, number, flags).map_err(Failure::run_failed)?;
    }
    Ok(OK)
}

/// What a folder shows.
enum Found {
    Run(Box<Diagnosis>),
    Campaign(Diagnosed),
}

fn read(folder: &Path) -> Result<Found, Failure> {
    let cannot = || format!("cannot diagnose {}", named(folder));
    let campaign = dnsdyno_executor::diagnose(folder).with_context(cannot).map_err(Failure::bad_input)?;
    match campaign {
        Some(campaign) => Ok(Found::Campaign(campaign)),
        None => {
            let run = diagnosis(folder).with_context(cannot).map_err(Failure::bad_input)?;
            Ok(Found::Run(Box::new(run)))
        }
    }
}

impl Found {
    fn json(&self) -> String {
        match self {
            Found::Run(found) => diagnosis_json(found),
            Found::Campaign(Diagnosed::Search(found)) => search_diagnosis_json(found),
            Found::Campaign(Diagnosed::Experiment(found)) => experiment_diagnosis_json(found),
        }
    }

    fn text(&self, width: usize) -> String {
        match self {
            Found::Run(found) => diagnosis_text(found, width),
            Found::Campaign(Diagnosed::Search(found)) => search_diagnosis_text(found, width),
            Found::Campaign(Diagnosed::Experiment(found)) => experiment_diagnosis_text(found, width),
        }
    }
}

fn print(found: &Found, run: &Path, number: usize, flags: &DiagnoseFlags) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if flags.json {
        return writeln!(out, "{}", found.json());
    }
    if flags.runs.len() > 1 {
        let gap = if number > 0 { "\n" } else { "" };
        writeln!(out, "{gap}{}", named(run))?;
    }
    write!(out, "{}", found.text(width_of_terminal()))
}

const EXAMPLES: &str = "\
Examples:
  dnsdyno run -s 127.0.0.1 -d queries.txt --rate 50k --for 30s --watch auto -o runs/new
  dnsdyno diagnose runs/new
  dnsdyno diagnose runs/20260101-120000-find     the trial just above the limit
  dnsdyno diagnose runs/two-servers              a run of each server under each load

Exit code 0, whatever was found: a script reads --json, where \"findings\" is [] if nothing was.";

//! `dnsdyno diagnose`: says which bottleneck the evidence of a run shows.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use dnsdyno_report::{Diagnosis, diagnosis, diagnosis_json, diagnosis_text};

use crate::cmd::report::named;
use crate::exit::{Failure, OK, Outcome};
use crate::screen::width_of_terminal;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiagnoseFlags {
    /// Folders of runs; made with `--watch`, they know the server's side too
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Print one JSON object per run
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

fn read(run: &Path) -> Result<Diagnosis, Failure> {
    diagnosis(run).with_context(|| format!("cannot diagnose {}", named(run))).map_err(Failure::bad_input)
}

fn print(found: &Diagnosis, run: &Path, number: usize, flags: &DiagnoseFlags) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if flags.json {
        return writeln!(out, "{}", diagnosis_json(found));
    }
    if flags.runs.len() > 1 {
        let gap = if number > 0 { "\n" } else { "" };
        writeln!(out, "{gap}{}", named(run))?;
    }
    write!(out, "{}", diagnosis_text(found, width_of_terminal()))
}

const EXAMPLES: &str = "\
Examples:
  dnsdyno run -s 127.0.0.1 -d queries.txt --rate 50k --for 30s --watch auto -o runs/new
  dnsdyno diagnose runs/new

Exit code 0, whatever was found: a script reads --json, where \"findings\" is [] if nothing was.";

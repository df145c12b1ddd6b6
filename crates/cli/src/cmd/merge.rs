//! `dnsdyno merge`: joins the records of processes that made parts of one load.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use dnsdyno_record::{MergeError, Merged, WriteError, has_agents, merge_agents, merge_parts};

use crate::cmd::report::named;
use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;
use crate::summary::{Expected, Form, print};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MergeFlags {
    /// The folders of runs that were made with --part; or that of one run on several hosts, to join the records of its
    /// agents anew
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// The new folder of the joined record; of one run on several hosts [default: in place of its record]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn merge(flags: &MergeFlags) -> Outcome {
    let merged = match (&flags.runs[..], &flags.out) {
        ([run], out) if has_agents(run) => merge_agents(run, out.as_deref()),
        (runs, Some(out)) => merge_parts(runs, out),
        (_, None) => return Err(Failure::bad_input(anyhow::anyhow!(NO_FOLDER))),
    };
    let Merged { folder, digest, told } = merged.map_err(failure)?;
    told.iter().for_each(|text| print_error(&format!("dnsdyno: {text}")));
    let form = Form { json: flags.json, verbose: false };
    print(&digest, Some(&folder), form, Expected { of_run: &[], of_each: &[], answers: false })?;
    if !flags.json {
        let joined = format!("\njoined in {}", named(&folder));
        writeln!(std::io::stdout(), "{joined}").map_err(Failure::run_failed)?;
    }
    Ok(OK)
}

fn failure(error: MergeError) -> Failure {
    match error {
        MergeError::Write(WriteError::AlreadyARun { .. }) => Failure::bad_input(error),
        MergeError::Write(_) | MergeError::Place { .. } => Failure::run_failed(error),
        _ => Failure::bad_input(error),
    }
}

const NO_FOLDER: &str = "the joined record needs a folder: name a new one with --out";

const HELP: &str = "\
Examples:
  dnsdyno merge lg1/run lg2/run lg3/run --out joined
  dnsdyno merge runs/2026-03-09T14-05-00Z

Counts and histograms are added, so the percentiles are those of all queries. An interval that lacks a part is partial:
it has no rate, and expectations on it are undecided. The runs must be parts of one load: the same queries, load,
server, interval and timeout, as `dnsdyno run --part 1/3`, `--part 2/3` and `--part 3/3` make them.

Exit codes: 0 joined; 2 the records are not parts of one load, or cannot be read, or
FOLDER exists; 3 the joined record was not written.";

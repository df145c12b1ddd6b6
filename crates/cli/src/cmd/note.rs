//! `dnsdyno note`: a remark in the record of a run in progress, from another shell.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use dnsdyno_record::{NoteError, check_note, give_note, run_in_progress};

use crate::cmd::report::named;
use crate::exit::{Failure, OK, Outcome};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct NoteFlags {
    /// The run in progress: its folder, a folder in which there is one (of a search, an experiment), or its name in
    /// `runs`
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// What has happened, in one line of at most 400 characters
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
}

pub(crate) fn note(flags: &NoteFlags) -> Outcome {
    let text = flags.text.join(" ");
    check_note(&text).map_err(Failure::bad_input)?;
    let run = run_in_progress(&flags.run, Path::new(RUNS)).map_err(Failure::bad_input)?;
    give_note(&run, &text).map_err(|error| match error {
        NoteError::File { .. } | NoteError::NotTaken(_) => Failure::run_failed(error),
        _ => Failure::bad_input(error),
    })?;
    writeln!(std::io::stdout(), "noted in {}", named(&run)).map_err(Failure::run_failed)?;
    Ok(OK)
}

/// Where runs are kept if nothing else is asked for.
const RUNS: &str = "runs";

const HELP: &str = "\
Examples:
  dnsdyno note runs/2026-03-09T14-05-00Z 'cache flushed'
  dnsdyno note night 'second resolver switched on'
  dnsdyno note runs 'cable pulled'

The note is an event of the record, at the instant at which it was given: the live screen, `dnsdyno show`, the page,
JSON, CSV and `dnsdyno serve` show it. Only the user who started the run can give one. The record of a run that has
ended is closed.

Exit codes: 0 the run has taken the note; 2 it is not valid, or there is no such run in progress; 3 it was not taken.";

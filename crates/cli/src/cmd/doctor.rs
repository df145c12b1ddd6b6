//! `dnsdyno doctor`: looks at this host before a run, and says what will bias the figures.

use std::io::Write;

use clap::Args;
use dnsdyno_report::{examination_text, examine};
use dnsdyno_runner::host_facts;

use crate::exit::{BIASED, Failure, OK, Outcome};
use crate::screen::width_of_terminal;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorFlags {
    /// The server that the load is for: looks at the interface and the family of addresses, too. Nothing is sent to it
    #[arg(short, long, value_name = "SERVER")]
    server: Option<String>,
    /// The networks that the load is to be sent from, as for a run: looks whether this host takes packets to them
    #[arg(long, value_name = "ADDRESS/LENGTH", visible_alias = "sources")]
    source_prefix: Option<String>,
    /// Print one JSON object, with every fact that was found
    #[arg(long)]
    json: bool,
}

pub(crate) fn doctor(flags: &DoctorFlags) -> Outcome {
    let examination = examine(host_facts(flags.server.as_deref(), flags.source_prefix.as_deref())?);
    let text = match flags.json {
        true => serde_json::to_string_pretty(&examination).map_err(Failure::run_failed)? + "\n",
        false => examination_text(&examination, width_of_terminal()),
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::run_failed)?;
    Ok(if examination.biased { BIASED } else { OK })
}

const EXAMPLES: &str = "\
Examples:
  dnsdyno doctor                      this host
  dnsdyno doctor -s 192.0.2.1         and the way to the server
  dnsdyno doctor --source-prefix 10.77.0.0/16    and the routes of many source addresses
  dnsdyno doctor --json | jq '.findings[].cure[]'
  dnsdyno doctor --json | jq '.findings[].persistent[]'    to install, so that it lasts

Changes nothing and sends nothing; takes a second. Exit code 1 where something will bias the figures.";

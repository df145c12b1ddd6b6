//! `dnsdyno show`: prints the summary of a run from its record.

use std::io::Write;

use anyhow::Context;
use dnsdyno_record::Digest;

use crate::args::ShowFlags;
use crate::exit::{Failure, Outcome};
use crate::summary::{Form, parse_expectations, print};

pub(crate) fn show(flags: &ShowFlags) -> Outcome {
    let expectations = parse_expectations(&flags.expect)?;
    let mut code = crate::exit::OK;
    for (i, run) in flags.runs.iter().enumerate() {
        if i > 0 && !flags.json {
            writeln!(std::io::stdout()).map_err(Failure::run_failed)?;
        }
        let digest = Digest::read(run)
            .with_context(|| format!("cannot show {}", run.display()))
            .map_err(Failure::bad_input)?;
        code = code.max(print(&digest, Form { json: flags.json, verbose: flags.verbose }, &expectations)?);
    }
    Ok(code)
}

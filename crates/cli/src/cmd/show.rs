//! `dnsdyno show`: prints the summary of a run from its record.

use std::io::Write;

use anyhow::Context;
use dnsdyno_plan::expect::Expectation;
use dnsdyno_record::Digest;
use dnsdyno_record::expect::evaluate_each;

use crate::args::ShowFlags;
use crate::exit::{Failure, Outcome};
use crate::summary::{Expected, Form, parse_expectations, print};

pub(crate) fn show(flags: &ShowFlags) -> Outcome {
    let of_run = parse_expectations(&flags.expect, Expectation::parse)?;
    let of_each = parse_expectations(&flags.expect_each, Expectation::parse_of_part)?;
    let mut code = crate::exit::OK;
    for (i, run) in flags.runs.iter().enumerate() {
        if i > 0 && !flags.json {
            writeln!(std::io::stdout()).map_err(Failure::run_failed)?;
        }
        let (digest, of_each) = Digest::read(run)
            .and_then(|digest| Ok((digest, evaluate_each(&of_each, run)?)))
            .with_context(|| format!("cannot show {}", run.display()))
            .map_err(Failure::bad_input)?;
        let form = Form { json: flags.json, verbose: flags.verbose };
        // A run without answers can be shown; only expectations judge it here.
        let expected = Expected { of_run: &of_run, of_each: &of_each, answers: false };
        code = code.max(print(&digest, form, expected)?);
    }
    Ok(code)
}

//! `dnsdyno show`: prints the summary of a run, or its intervals, from its record.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use dnsdyno_plan::expect::Expectation;
use dnsdyno_record::Digest;
use dnsdyno_record::expect::evaluate_each;
use dnsdyno_report::Csv;

use crate::args::ShowFlags;
use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome};
use crate::summary::{Expected, Form, intervals_of, parse_expectations, print};

pub(crate) fn show(flags: &ShowFlags) -> Outcome {
    if flags.csv {
        return csv(flags);
    }
    let of_run = parse_expectations(&flags.expect, Expectation::parse)?;
    let of_each = parse_expectations(&flags.expect_each, Expectation::parse_of_part)?;
    let form = Form { json: flags.json, verbose: flags.verbose };
    let mut code = OK;
    for (i, run) in flags.runs.iter().enumerate() {
        if i > 0 && !flags.json {
            writeln!(std::io::stdout()).map_err(Failure::run_failed)?;
        }
        let digest = read(run)?;
        let of_each = evaluate_each(&of_each, run)
            .with_context(|| format!("cannot show {}", run.display()))
            .map_err(Failure::bad_input)?;
        // A run without answers can be shown; only expectations judge it here.
        let expected = Expected { of_run: &of_run, of_each: &of_each, answers: false };
        code = match (code, print(&digest, Some(run), form, expected)?) {
            (EXPECTATION_FAILED, _) | (_, EXPECTATION_FAILED) => EXPECTATION_FAILED,
            (one, other) => one.max(other),
        };
    }
    Ok(code)
}

/// The intervals of the runs, or the rows of their tables, under one line of titles.
fn csv(flags: &ShowFlags) -> Outcome {
    let mut csv = Csv::new(std::io::stdout().lock()).map_err(Failure::run_failed)?;
    for run in &flags.runs {
        let digest = read(run)?;
        if flags.rows {
            let mut rows = digest.rows().iter();
            rows.try_for_each(|row| csv.row(&digest, row)).map_err(Failure::run_failed)?;
            continue;
        }
        for interval in intervals_of(run)? {
            let interval = interval.map_err(Failure::bad_input)?;
            csv.interval(&digest, &interval).map_err(Failure::run_failed)?;
        }
    }
    csv.finish().map_err(Failure::run_failed)?;
    Ok(OK)
}

fn read(run: &Path) -> Result<Digest, Failure> {
    Digest::read(run).with_context(|| format!("cannot show {}", run.display())).map_err(Failure::bad_input)
}

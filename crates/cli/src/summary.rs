//! Prints the summary of a run and the outcome of its expectations.

use std::io::Write;
use std::path::Path;

use dnsdyno_record::{Digest, Interval, Line, RunReader};
use dnsdyno_report::expect::{Expectation, Outcome as Checked, evaluate};
use dnsdyno_report::{summary, workers, write_json};
use serde_json::Map;

use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome};
use crate::screen::width_of_terminal;

/// How a summary is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// As one JSON object.
    pub(crate) json: bool,
    /// With a line per worker.
    pub(crate) verbose: bool,
}

/// Reads the expectations of the command line.
pub(crate) fn parse_expectations(texts: &[String]) -> Result<Vec<Expectation>, Failure> {
    texts.iter().map(|text| Expectation::parse(text)).collect::<Result<_, _>>().map_err(Failure::bad_input)
}

/// Prints the summary of the run, which is recorded at `record`, and checks the expectations; returns the exit code.
pub(crate) fn print(
    digest: &Digest,
    record: Option<&Path>,
    form: Form,
    expectations: &[Expectation],
) -> Outcome {
    let outcomes = evaluate(expectations, digest);
    let mut out = std::io::stdout().lock();
    if form.json {
        let mut more = Map::new();
        if !outcomes.is_empty() {
            more.insert("expectations".to_owned(), outcomes.iter().map(outcome_json).collect());
        }
        let intervals = record.map(intervals_of).transpose()?;
        write_json(&mut out, digest, more, intervals.into_iter().flatten()).map_err(Failure::run_failed)?;
    } else {
        let width = width_of_terminal();
        let lines = outcomes.iter().map(outcome_line);
        let gap = if outcomes.is_empty() { "" } else { "\n" };
        let per_worker = if form.verbose { workers(digest, width) } else { String::new() };
        write!(out, "{}{per_worker}{gap}{}", summary(digest, width), lines.collect::<String>())
            .map_err(Failure::run_failed)?;
    }
    Ok(if outcomes.iter().all(|outcome| outcome.passed) { OK } else { EXPECTATION_FAILED })
}

/// The intervals of a record, one after the other.
pub(crate) fn intervals_of(record: &Path) -> Result<impl Iterator<Item = anyhow::Result<Interval>>, Failure> {
    let lines = RunReader::open(record).map_err(Failure::bad_input)?;
    Ok(lines.filter_map(|line| match line {
        Ok(Line::Interval(interval)) => Some(Ok(*interval)),
        Ok(_) => None,
        Err(error) => Some(Err(error.into())),
    }))
}

/// The outcome of one expectation as a line.
fn outcome_line(outcome: &Checked) -> String {
    let mark = if outcome.passed { "met    " } else { "NOT MET" };
    format!("{mark}  {}  ({})\n", outcome.text, outcome.measured)
}

fn outcome_json(outcome: &Checked) -> serde_json::Value {
    serde_json::json!({ "expectation": outcome.text, "measured": outcome.measured, "passed": outcome.passed })
}

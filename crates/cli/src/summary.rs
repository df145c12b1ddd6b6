//! Prints the summary of a run and the outcome of its expectations.

use std::io::Write;

use dnsdyno_record::Digest;
use dnsdyno_report::expect::{Expectation, Outcome as Checked, evaluate};
use dnsdyno_report::{summary, summary_json, workers};

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

/// Prints the summary and checks the expectations; returns the exit code.
pub(crate) fn print(digest: &Digest, form: Form, expectations: &[Expectation]) -> Outcome {
    let outcomes = evaluate(expectations, digest);
    let mut out = std::io::stdout().lock();
    let written = if form.json {
        let mut object = summary_json(digest);
        if !outcomes.is_empty() {
            object["expectations"] = outcomes.iter().map(outcome_json).collect();
        }
        writeln!(out, "{object:#}")
    } else {
        let width = width_of_terminal();
        let lines = outcomes.iter().map(outcome_line);
        let gap = if outcomes.is_empty() { "" } else { "\n" };
        let per_worker = if form.verbose { workers(digest, width) } else { String::new() };
        write!(out, "{}{per_worker}{gap}{}", summary(digest, width), lines.collect::<String>())
    };
    written.map_err(Failure::run_failed)?;
    Ok(if outcomes.iter().all(|outcome| outcome.passed) { OK } else { EXPECTATION_FAILED })
}

/// The outcome of one expectation as a line.
fn outcome_line(outcome: &Checked) -> String {
    let mark = if outcome.passed { "met    " } else { "NOT MET" };
    format!("{mark}  {}  ({})\n", outcome.text, outcome.measured)
}

fn outcome_json(outcome: &Checked) -> serde_json::Value {
    serde_json::json!({ "expectation": outcome.text, "measured": outcome.measured, "passed": outcome.passed })
}

//! Prints what a run came to, and how it stands beside the expectations.

use std::io::Write;

use dnsdyno_record::Digest;
use dnsdyno_report::expect::{Expectation, Outcome as Judged, evaluate};
use dnsdyno_report::{summary, summary_json, workers};

use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome};
use crate::screen::width_of_terminal;

/// How a summary is to be printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// As one JSON object.
    pub(crate) json: bool,
    /// With the workers one by one.
    pub(crate) verbose: bool,
}

/// Reads the expectations of the command line.
pub(crate) fn parse_expectations(texts: &[String]) -> Result<Vec<Expectation>, Failure> {
    texts.iter().map(|text| Expectation::parse(text)).collect::<Result<_, _>>().map_err(Failure::bad_input)
}

/// Prints the summary and judges the expectations; gives the exit code.
pub(crate) fn print(digest: &Digest, form: Form, expectations: &[Expectation]) -> Outcome {
    let outcomes = evaluate(expectations, digest);
    let mut out = std::io::stdout().lock();
    let written = if form.json {
        let mut object = summary_json(digest);
        if !outcomes.is_empty() {
            object["expectations"] = outcomes.iter().map(judged_json).collect();
        }
        writeln!(out, "{object:#}")
    } else {
        let width = width_of_terminal();
        let lines = outcomes.iter().map(judged_line);
        let gap = if outcomes.is_empty() { "" } else { "\n" };
        let each = if form.verbose { workers(digest, width) } else { String::new() };
        write!(out, "{}{each}{gap}{}", summary(digest, width), lines.collect::<String>())
    };
    written.map_err(Failure::run_failed)?;
    Ok(if outcomes.iter().all(|outcome| outcome.passed) { OK } else { EXPECTATION_FAILED })
}

/// One expectation as a line.
fn judged_line(judged: &Judged) -> String {
    let mark = if judged.passed { "met    " } else { "NOT MET" };
    format!("{mark}  {}  ({})\n", judged.text, judged.measured)
}

fn judged_json(judged: &Judged) -> serde_json::Value {
    serde_json::json!({ "expectation": judged.text, "measured": judged.measured, "passed": judged.passed })
}

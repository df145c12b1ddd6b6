//! Prints the summary of a run and the outcome of its expectations.

use std::io::Write;
use std::path::Path;

use dnsdyno_plan::expect::{ExpectError, Expectation};
use dnsdyno_record::expect::{Decision, EachOutcome, evaluate};
use dnsdyno_record::figures::judged;
use dnsdyno_record::{Digest, Interval, Line, RunReader};
use dnsdyno_report::expect::{each_outcome_text, expectations_json, outcome_text};
use dnsdyno_report::{summary, workers, write_json};
use dnsdyno_text::units::count;
use serde_json::Map;

use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome, UNDECIDED};
use crate::screen::width_of_terminal;

/// How a summary is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// As one JSON object.
    pub(crate) json: bool,
    /// With a line per worker.
    pub(crate) verbose: bool,
}

/// What a run must show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    /// Expectations on the whole run.
    pub(crate) of_run: &'a [Expectation],
    /// The outcomes of those on each part.
    pub(crate) of_each: &'a [EachOutcome],
    /// Whether at least one query must be answered.
    pub(crate) answers: bool,
}

/// Reads the expectations of an option, with `parse`.
pub(crate) fn parse_expectations(
    texts: &[String],
    parse: impl Fn(&str) -> Result<Expectation, ExpectError>,
) -> Result<Vec<Expectation>, Failure> {
    texts.iter().map(|text| parse(text)).collect::<Result<_, _>>().map_err(Failure::bad_input)
}

/// Prints the summary of the run, which is recorded at `record`, and checks the expectations; returns the exit code.
pub(crate) fn print(digest: &Digest, record: Option<&Path>, form: Form, expected: Expected<'_>) -> Outcome {
    let outcomes = evaluate(expected.of_run, digest);
    let unanswered = unanswered(digest).filter(|_| expected.answers);
    let mut out = std::io::stdout().lock();
    if form.json {
        let mut more = Map::new();
        if let Some(outcomes) = expectations_json(&outcomes, expected.of_each) {
            more.insert("expectations".to_owned(), outcomes);
        }
        let intervals = record.map(intervals_of).transpose()?;
        write_json(&mut out, digest, more, intervals.into_iter().flatten()).map_err(Failure::run_failed)?;
    } else {
        let width = width_of_terminal();
        let lines = outcomes.iter().map(outcome_text).chain(expected.of_each.iter().map(each_outcome_text));
        let lines: String = lines.chain(unanswered.as_ref().map(|line| format!("{line}\n"))).collect();
        let gap = if lines.is_empty() { "" } else { "\n" };
        let per_worker = if form.verbose { workers(digest, width) } else { String::new() };
        write!(out, "{}{per_worker}{gap}{lines}", summary(digest, width)).map_err(Failure::run_failed)?;
    }
    let of_each = expected.of_each.iter().map(EachOutcome::decision);
    let decision = Decision::of_all(outcomes.iter().map(|outcome| outcome.decision).chain(of_each));
    Ok(match decision {
        _ if unanswered.is_some() => EXPECTATION_FAILED,
        Decision::NotMet => EXPECTATION_FAILED,
        Decision::Undecided => UNDECIDED,
        Decision::Met => OK,
    })
}

/// The line of a run whose queries were all in vain; `None` of any other.
fn unanswered(digest: &Digest) -> Option<String> {
    let (tally, sent) = (digest.tally(), judged(digest.tally()));
    (sent > 0 && tally.ends.answered == 0 && !digest.header.send_only)
        .then(|| format!("FAILED: none of {} queries was answered in time (exit code 1)", count(sent)))
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

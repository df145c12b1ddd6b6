//! The page of a qualification: the page of its runs, each with its test, what it showed and whether it passed.

use std::path::PathBuf;

use dnsdyno_campaign::qualify::{Attempt, Failure, Outcome, Qualified, load_words};
use dnsdyno_record::RunReader;

use crate::data::{Expectation, Message, Run};
use crate::error::{MOST_RUNS, PageError};
use crate::{Options, html, report_data};

/// The page of a qualification and its runs, as an HTML file; of more runs than a page can have, the last ones.
///
/// # Errors
/// A record cannot be read.
pub fn qualification(runs: &[PathBuf], result: &Qualified, options: &Options) -> Result<Vec<u8>, PageError> {
    // A run that was killed as it began has a record without a whole header.
    let readable: Vec<_> = runs.iter().filter(|run| RunReader::open(run).is_ok()).cloned().collect();
    let last = readable.len().saturating_sub(MOST_RUNS);
    let (mut page, blobs) = report_data(readable.get(last..).unwrap_or_default(), options)?;
    if options.title.is_none() {
        page.title.clone_from(&result.sentence);
    }
    for run in &mut page.runs {
        let of_it = |attempt: &&Attempt| attempt.runs.iter().any(|part| part.run_id == run.run_id);
        if let Some(attempt) = result.attempts.iter().find(of_it) {
            tell(run, attempt);
        }
    }
    if let Some(first) = page.runs.first_mut() {
        let note = |text: &String| Message { kind: "hint", text: text.clone() };
        first.messages.extend(result.notes.iter().map(note));
    }
    html(&page, &blobs)
}

/// Names a run by its test, and adds the outcome.
fn tell(run: &mut Run, attempt: &Attempt) {
    let part = attempt.runs.iter().find(|part| part.run_id == run.run_id);
    let cut = if part.is_some_and(|part| part.cut) { ", cut off" } else { "" };
    run.label = format!("{} at {} queries/s{cut}", attempt.test.name(), load_words(attempt.qps));
    // Of a stair, the step that has not passed is the last one.
    let not_passed = if matches!(attempt.outcome, Outcome::Undecided(_)) { "undecided" } else { "fail" };
    let outcome = |text: String, failure: Option<&Failure>, measured: String| Expectation {
        text,
        measured: failure.map_or(measured, Failure::words),
        state: if failure.is_none() { "pass" } else { not_passed },
        limit: None,
    };
    let of_steps = attempt.steps.iter().map(|step| {
        outcome(format!("step of {}", load_words(step.qps)), step.failure.as_ref(), step.figures.words())
    });
    let of_steps: Vec<_> = of_steps.collect();
    let of_commands = attempt.commands.iter().map(|command| Expectation {
        text: command.look_for.clone().unwrap_or_else(|| command.task.clone()),
        measured: match &command.first_failure {
            Some(first) => format!("{} of {}; {first}", command.succeeded, command.times),
            None => format!("{} of {}", command.succeeded, command.times),
        },
        state: if command.first_failure.is_none() { "pass" } else { "fail" },
        limit: None,
    });
    let mut all = Vec::new();
    if of_steps.is_empty() {
        all.push(outcome(attempt.test.name().to_owned(), attempt.failure(), attempt.figures.words()));
    }
    all.extend(of_steps);
    all.extend(of_commands);
    run.expectations.splice(0..0, all);
}

//! A qualification as text and as JSON.

use std::fmt::Write;

use dnsdyno_text::secret::without_credentials;
use dnsdyno_text::shown;
use dnsdyno_text::units::{count, duration, length, percent};
use serde_json::{Value, json};

use crate::qualify::{
    Attempt, CommandFigures, Failure, Figures, Function, Outcome, Qualified, Settings, StepJudged, Task,
    Test, length_words, load_words,
};

/// The result for people: the sentence, a line for each test, and what else must be known.
pub fn qualification_text(result: &Qualified) -> String {
    let mut text = format!("{}\n\n", result.sentence);
    for attempt in &result.attempts {
        let _ = writeln!(text, "  {}", attempt_line(attempt));
        for command in &attempt.commands {
            let _ = writeln!(text, "      {}", command_line(command));
        }
    }
    if !result.notes.is_empty() {
        text.push('\n');
    }
    for note in &result.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// `burst at 18,000 queries/s: passed: 10,800,000 queries, no errors, longest response time 55 ms`
pub fn attempt_line(attempt: &Attempt) -> String {
    let name = attempt.test.name();
    let load = load_words(attempt.qps);
    let figures = attempt.figures.words();
    let made = match (attempt.test, attempt.steps.last()) {
        (Test::Stair, Some(StepJudged { qps, figures: of_step, failure: Some(failure) })) => {
            let outcome =
                if matches!(attempt.outcome, Outcome::Undecided(_)) { "undecided" } else { "failed" };
            let before = if attempt.qps > 0.0 {
                format!("{load} queries/s passed: {figures}; ")
            } else {
                String::new()
            };
            let (at, why, of_step) = (load_words(*qps), failure.words(), of_step.words());
            return format!("{name}: {before}{at} queries/s {outcome}: {why} ({of_step})");
        }
        _ => figures,
    };
    let parts = match attempt.runs.len() {
        0 | 1 => String::new(),
        runs => format!(", in {runs} runs"),
    };
    match &attempt.outcome {
        Outcome::Passed => format!("{name} at {load} queries/s: passed: {made}{parts}"),
        Outcome::Failed(failure) => {
            format!("{name} at {load} queries/s: failed: {} ({made}{parts})", failure.words())
        }
        Outcome::Undecided(failure) => {
            format!("{name} at {load} queries/s: undecided: {} ({made}{parts})", failure.words())
        }
    }
}

/// `add a record, secondary 1: 20 of 20, after 12 ms to 214 ms, half of them by 30 ms`
fn command_line(command: &CommandFigures) -> String {
    let what = command.look_for.as_ref().map_or(String::new(), |name| format!(", {name}"));
    let took = command.took_ns.map(|[shortest, median, longest]| {
        let [shortest, median, longest] = [shortest, median, longest].map(duration);
        format!(", {shortest} to {longest}, median {median}")
    });
    let CommandFigures { task, times, succeeded, .. } = command;
    format!("{task}{what}: {} of {}{}", count(*succeeded), count(*times), took.unwrap_or_default())
}

/// What a qualification will do, and how long it takes: for `--dry-run`.
pub fn qualification_plan(settings: &Settings) -> String {
    let mut text = String::new();
    if let Some(rehearsal) = settings.rehearsal() {
        let _ = writeln!(text, "{rehearsal}");
    }
    let first = settings.steps.first().map_or(String::new(), |qps| load_words(*qps));
    let last = settings.steps.last().map_or(String::new(), |qps| load_words(*qps));
    for test in Test::ALL {
        let what = match test {
            Test::Stair => format!(
                "{first} to {last} queries/s in {} steps of {}",
                settings.steps.len(),
                length_words(settings.hold_ns)
            ),
            Test::Function => {
                let tasks = settings.function.as_ref().map_or(0, |function| function.tasks.len());
                format!("{} with {tasks} tasks of commands", length_words(settings.length_ns(test)))
            }
            test => length_words(settings.length_ns(test)),
        };
        let made = match settings.makes(test) {
            true => what,
            false if settings.skip.contains(&test) => "not made (--skip)".to_owned(),
            false => "not made (no --function)".to_owned(),
        };
        let _ = writeln!(text, "{:<15} {made}", format!("{}:", test.name()));
        let function = settings.function.as_ref().filter(|_| test == Test::Function && settings.makes(test));
        for line in function.map(commands).unwrap_or_default() {
            let _ = writeln!(text, "    {line}");
        }
    }
    let criteria = &settings.criteria;
    let errors: Vec<_> = criteria.errors.iter().map(|(name, _)| name.as_str()).collect();
    let _ = writeln!(
        text,
        "each passes with: no continuous errors ({} in each interval of {}), at most {} of the queries with an \
         error, each response within {}",
        errors.join(" or "),
        length_words(criteria.continuous_ns),
        percent(criteria.most_errors),
        length_words(criteria.response_ns)
    );
    let _ = writeln!(
        text,
        "it takes {}, and {} more for each step by which the load must be lowered",
        length(settings.shortest_ns()),
        length(settings.each_lower_ns())
    );
    text
}

/// Every command of a function test, in the lines of the file.
fn commands(function: &Function) -> Vec<String> {
    let of_task = |task: &Task| {
        let run = task.run.iter().map(|command| (task.name.clone(), command.clone()));
        let look_for = task.look_for.iter();
        let look_for = look_for.map(|look| (format!("{}, {}", task.name, look.name), look.run.clone()));
        run.chain(look_for).collect::<Vec<_>>()
    };
    let lines = |(whose, command): (String, String)| {
        let command = without_credentials(command.trim()).into_owned();
        let mut lines: Vec<String> =
            command.lines().map(|line| shown(line, usize::MAX).into_owned()).collect();
        let whose = shown(&whose, LONGEST_NAME).into_owned();
        match lines.as_mut_slice() {
            [only] => *only = format!("{whose}: {only}"),
            several => {
                several.iter_mut().for_each(|line| line.insert_str(0, "  "));
                lines.insert(0, format!("{whose}:"));
            }
        }
        lines
    };
    function.tasks.iter().flat_map(of_task).flat_map(lines).collect()
}

/// Characters of the name of a task.
const LONGEST_NAME: usize = 200;

/// The result for programs: `docs/qualify.md` describes it.
pub fn qualification_json(settings: &Settings, result: &Qualified) -> Value {
    json!({
        "verdict": result.verdict.key(),
        "capacity_qps": result.capacity_qps,
        "at_least": result.at_least,
        "sentence": result.sentence,
        "notes": result.notes,
        "rehearsal": settings.scale.as_ref().map(|scale| &scale.text),
        "settings": {
            "stair_qps": settings.steps,
            "hold_ns": settings.hold_ns,
            "burst_ns": settings.burst_ns,
            "function_ns": settings.function.as_ref().map(|function| function.for_ns),
            "long_ns": settings.long_ns,
            "skipped": settings.skip.iter().map(|test| test.key()).collect::<Vec<_>>(),
            "response_ns": settings.criteria.response_ns,
            "continuous_ns": settings.criteria.continuous_ns,
            "most_errors": settings.criteria.most_errors,
            "errors": settings.criteria.errors.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "need_qps": settings.need_qps,
        },
        "tests": result.attempts.iter().map(attempt_json).collect::<Vec<_>>(),
        "gaps": result.gaps.iter().map(|gap| json!({
            "qps": gap.qps,
            "from_unix_ns": gap.from_unix_ns,
            "to_unix_ns": gap.to_unix_ns,
            "after_ns": gap.after_ns,
        })).collect::<Vec<_>>(),
    })
}

fn attempt_json(attempt: &Attempt) -> Value {
    json!({
        "test": attempt.test.key(),
        "qps": attempt.qps,
        "outcome": outcome_key(&attempt.outcome),
        "why": attempt.failure().map(Failure::words),
        "figures": figures_json(&attempt.figures),
        "steps": attempt.steps.iter().map(|step| json!({
            "qps": step.qps,
            "passed": step.failure.is_none(),
            "why": step.failure.as_ref().map(Failure::words),
            "figures": figures_json(&step.figures),
        })).collect::<Vec<_>>(),
        "warnings": attempt.warnings,
        "runs": attempt.runs.iter().map(|run| json!({
            "run_id": run.run_id,
            "started_unix_ns": run.started_unix_ns,
            "lasted_ns": run.lasted_ns,
            "counted_ns": run.counted_ns,
            "cut": run.cut,
        })).collect::<Vec<_>>(),
        "commands": attempt.commands.iter().map(|command| json!({
            "task": command.task,
            "look_for": command.look_for,
            "times": command.times,
            "succeeded": command.succeeded,
            "shortest_ns": command.took_ns.map(|took| took[0]),
            "median_ns": command.took_ns.map(|took| took[1]),
            "longest_ns": command.took_ns.map(|took| took[2]),
            "first_failure": command.first_failure,
        })).collect::<Vec<_>>(),
    })
}

fn figures_json(figures: &Figures) -> Value {
    json!({
        "queries": figures.queries,
        "errors": figures.errors,
        "errors_by_us_at_most": figures.ours,
        "longest_response_ns": figures.longest_ns,
        "load_ns": figures.load_ns,
    })
}

fn outcome_key(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "failed",
        Outcome::Undecided(_) => "undecided",
    }
}

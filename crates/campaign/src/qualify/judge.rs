//! Judges the record of a run against the criteria: what was measured, why it failed, and whether the generator was in
//! doubt.
//!
//! **Continuous errors**: in each interval of 3 s (`--continuous`; of a shorter test or step: in each of its intervals)
//! at least one query ended in the same kind of error. The run itself watches for it, as conditions of `--stop-when`,
//! and ends with it. Errors that are not continuous may be at most 0.1 % of the queries (`--most-errors`).

use dnsdyno_measure::Warning;
use dnsdyno_record::expect::{Measured, measure_row, measure_run};
use dnsdyno_record::figures::judged;
use dnsdyno_record::{Digest, Ended, Event, HELD_UNTIL, Row};

use super::attempt::{CommandFigures, Failure, Figures, RunOf, StepJudged};
use super::draft::{condition, continuous_ns};
use super::function::Function;
use super::test::{Settings, Test};
use crate::commands::{CommandOutcome, CommandResult};

/// What a run of a test with one load has shown.
pub(super) struct Judged {
    pub(super) figures: Figures,
    pub(super) failure: Option<Failure>,
}

/// Judges a run of a test with one load. `before_ns` of the test had been made before it, with these figures.
pub(super) fn run(settings: &Settings, test: Test, digest: &Digest, before: Figures) -> Judged {
    let figures = figures_of_run(settings, digest);
    let whole_ns = settings.length_ns(test);
    let mut sum = before;
    sum.add(figures);
    let ended = ended_by(settings, digest, whole_ns).map(|failure| failure.after(before.load_ns));
    let slow = || slow(settings, digest.tally().response.exact().map(|e| e.max_ns), longest_service(digest));
    let failure = ended.or_else(|| unanswered(figures)).or_else(slow).or_else(|| too_many(settings, sum));
    Judged { figures, failure }
}

/// Judges the steps of a stair: those that its record has whole, up to the first that failed. `rates` are those of the
/// run.
pub(super) fn stair(settings: &Settings, rates: &[f64], digest: &Digest) -> Vec<StepJudged> {
    let hold_ns = settings.hold_ns;
    let ended = ended_by(settings, digest, hold_ns);
    // The step in which a condition held, or in which the last answer came; the load went on until that was judged.
    let ended_ns = match &ended {
        Some(Failure::Stopped { at_ns }) => *at_ns,
        _ => held_until(digest).saturating_sub(1),
    };
    let ended_in = ended.as_ref().map(|_| (ended_ns / hold_ns.max(1)) as usize);
    let mut steps = Vec::new();
    for (number, qps) in rates.iter().enumerate() {
        let from_ns = hold_ns.saturating_mul(number as u64);
        let Some(figures) = figures_of_step(settings, rates, digest, number) else { break };
        let here = ended.clone().filter(|_| ended_in.is_some_and(|step| step <= number));
        let here = here.map(|failure| failure.before(from_ns));
        // The last query of a run is due a little before its end.
        let is_whole = figures.load_ns.saturating_add(digest.header.interval_ns) > hold_ns;
        let (response, service) = longest_of_step(rates, digest, number);
        let of_step = unanswered(figures)
            .filter(|_| is_whole)
            .or_else(|| slow(settings, response, service))
            .or_else(|| too_many(settings, figures).filter(|_| is_whole || here.is_some()));
        let failure = here.or(of_step);
        if !is_whole && failure.is_none() {
            break;
        }
        let failed = failure.is_some();
        steps.push(StepJudged { qps: *qps, figures, failure });
        if failed {
            break;
        }
    }
    steps
}

/// Why the generator was in doubt, by name.
pub(super) fn doubts(digest: &Digest) -> Vec<String> {
    digest.warnings().iter().map(Warning::name).map(str::to_owned).collect()
}

/// A run as a part of a test.
pub(super) fn run_of(digest: &Digest, counted_ns: u64, cut: bool) -> RunOf {
    RunOf {
        run_id: digest.header.run_id.clone(),
        started_unix_ns: digest.header.started_unix_ns,
        lasted_ns: digest.to_ns(),
        counted_ns,
        cut,
    }
}

/// What the commands did, and whether all did what they should.
pub(super) fn commands(
    function: &Function,
    results: &[CommandResult],
) -> (Vec<CommandFigures>, Option<Failure>) {
    let mut all: Vec<CommandFigures> = Vec::new();
    let mut failed = 0;
    for task in &function.tasks {
        let own = task.run.as_ref().map(|_| None);
        let looked_for = task.look_for.iter().map(|look_for| Some(look_for.name.clone()));
        for look_for in own.into_iter().chain(looked_for) {
            let of_it = |result: &&CommandResult| result.task == task.name && result.look_for == look_for;
            let of_it: Vec<_> = results.iter().filter(of_it).collect();
            let figures = command_figures(&task.name, look_for.clone(), task.at_ns.len() as u64, &of_it);
            failed += figures.times - figures.succeeded;
            all.push(figures);
        }
    }
    let first = all.iter().find_map(|figures| figures.first_failure.clone());
    let failure = first.map(|first| Failure::Commands { failed, all: function.results() as u64, first });
    (all, failure)
}

fn command_figures(
    task: &str,
    look_for: Option<String>,
    rounds: u64,
    results: &[&CommandResult],
) -> CommandFigures {
    let is_ok = |result: &&&CommandResult| result.outcome == CommandOutcome::Ok;
    let mut took: Vec<u64> = results.iter().filter(is_ok).map(|result| result.took_ns).collect();
    took.sort_unstable();
    let at = |place: usize| took.get(place).copied();
    let took_ns = at(0).zip(at(took.len() / 2)).zip(at(took.len().saturating_sub(1)));
    let failed = results.iter().find(|result| !is_ok(result)).map(|result| words_of(result));
    // A round without a result was not carried out.
    let missing = rounds.saturating_sub(results.len() as u64);
    let not_made = || {
        let what = look_for.as_deref().map_or(String::new(), |name| format!(" for {name}"));
        (missing > 0).then(|| format!("`{task}`{what} was not carried out {missing} of {rounds} times"))
    };
    CommandFigures {
        times: rounds.max(results.len() as u64),
        succeeded: took.len() as u64,
        took_ns: took_ns.map(|((shortest, median), longest)| [shortest, median, longest]),
        first_failure: failed.or_else(not_made),
        task: task.to_owned(),
        look_for,
    }
}

/// `round 3 of "add a record": secondary 1 was not seen within 10 s`
fn words_of(result: &CommandResult) -> String {
    let took = dnsdyno_measure::units::duration(result.took_ns);
    let code = result.exit_code.map_or("no exit code".to_owned(), |code| format!("exit code {code}"));
    let how = match (&result.look_for, result.outcome) {
        (Some(name), CommandOutcome::NotStarted) => format!("the look for {name} could not be started"),
        (Some(name), _) => format!("{name} did not show it within {took} ({} attempts)", result.attempts),
        (None, CommandOutcome::TimedOut) => format!("its command had not ended after {took}"),
        (None, CommandOutcome::NotStarted) => "its command could not be started".to_owned(),
        (None, _) => format!("its command ended with {code}"),
    };
    let said = if result.output.is_empty() { String::new() } else { format!(": {}", result.output) };
    format!("round {} of \"{}\": {how}{said}", result.round, result.task)
}

pub(super) fn figures_of_run(settings: &Settings, digest: &Digest) -> Figures {
    let tally = digest.tally();
    let errors = errors(settings, |metric| measure_run(metric, digest).measured);
    Figures {
        queries: judged(tally),
        errors,
        longest_ns: tally.response.exact().map(|exact| exact.max_ns),
        load_ns: digest.schedule_ns(),
    }
}

/// The figures of a step; `None` where the record has nothing of it.
fn figures_of_step(settings: &Settings, rates: &[f64], digest: &Digest, number: usize) -> Option<Figures> {
    if rates.len() == 1 {
        return (digest.tally().scheduled > 0).then(|| figures_of_run(settings, digest));
    }
    let row = row_of(digest, number)?;
    Some(Figures {
        queries: judged(&row.tally),
        errors: errors(settings, |metric| measure_row(metric, digest, row).measured),
        longest_ns: row.tally.response.exact().map(|exact| exact.max_ns),
        load_ns: row.covered_ns,
    })
}

/// The longest response and service time of a step.
fn longest_of_step(rates: &[f64], digest: &Digest, number: usize) -> (Option<u64>, Option<u64>) {
    let tally = match rates.len() {
        1 => Some(digest.tally()),
        _ => row_of(digest, number).map(|row| &row.tally),
    };
    let longest = |of: fn(&dnsdyno_measure::Tally) -> &dnsdyno_measure::Histogram| {
        tally.and_then(|tally| of(tally).exact()).map(|exact| exact.max_ns)
    };
    (longest(|tally| &tally.response), longest(|tally| &tally.service))
}

fn longest_service(digest: &Digest) -> Option<u64> {
    digest.tally().service.exact().map(|exact| exact.max_ns)
}

/// The row of a step, where rows are steps.
fn row_of(digest: &Digest, number: usize) -> Option<&Row> {
    let is_of_step = |row: &&Row| digest.header.phase_at(row.from_ns) == Some(number);
    digest.rows().iter().find(|row| digest.rows_are_phases() && is_of_step(row))
}

fn errors(settings: &Settings, measure: impl Fn(dnsdyno_plan::expect::Metric) -> Measured) -> u64 {
    let count = |measured| match measured {
        Measured::Part { part, .. } => part,
        _ => 0,
    };
    settings.criteria.errors.iter().map(|(_, metric)| count(measure(*metric))).sum()
}

/// Why a run ended before its time: by errors, by a silent server, or by a condition of the user. `None` where it did
/// not, or by a response that took too long, which the figures say.
fn ended_by(settings: &Settings, digest: &Digest, length_ns: u64) -> Option<Failure> {
    if let Some(silent) = silent(settings, digest, length_ns) {
        return Some(silent);
    }
    let Some(Ended::ByCondition { condition: text }) = digest.ended() else { return None };
    let errors = &settings.criteria.errors;
    if let Some((name, _)) = errors.iter().find(|(name, _)| *text == condition(settings, name, length_ns)) {
        let for_ns = continuous_ns(settings, length_ns);
        return Some(Failure::Continuous { errors: name.clone(), for_ns, at_ns: held_until(digest) });
    }
    (*text != super::draft::slow(settings)).then(|| Failure::Condition(text.clone()))
}

/// A server that answered nothing in time at the end of a run that was ended by that.
fn silent(settings: &Settings, digest: &Digest, length_ns: u64) -> Option<Failure> {
    let sum = digest.sum.as_ref().filter(|sum| matches!(sum.ended, Ended::ByCondition { .. }))?;
    if digest.tally().ends.answered == 0 {
        return Some(Failure::Silent);
    }
    let at_ns = sum.last_answer_ns?;
    let silent_ns = sum.schedule_ns.saturating_sub(at_ns);
    (silent_ns >= continuous_ns(settings, length_ns) / 2).then_some(Failure::Stopped { at_ns })
}

fn unanswered(figures: Figures) -> Option<Failure> {
    (figures.queries > 0 && figures.longest_ns.is_none()).then_some(Failure::Silent)
}

fn slow(settings: &Settings, response: Option<u64>, service: Option<u64>) -> Option<Failure> {
    let bound_ns = settings.criteria.response_ns;
    let longest_ns = response.filter(|longest_ns| *longest_ns > bound_ns)?;
    let sent_late = service.is_some_and(|service_ns| service_ns <= bound_ns);
    Some(Failure::Slow { longest_ns, sent_late })
}

fn too_many(settings: &Settings, figures: Figures) -> Option<Failure> {
    let Figures { errors, queries, .. } = figures;
    (figures.share() > settings.criteria.most_errors).then_some(Failure::Errors { errors, queries })
}

/// The end of the interval with which a condition held; in its absence the end of the load.
fn held_until(digest: &Digest) -> u64 {
    let figure = |event: &Event| event.figures.get(HELD_UNTIL).and_then(serde_json::Value::as_u64);
    digest.events.iter().find_map(figure).unwrap_or_else(|| digest.schedule_ns())
}

impl Failure {
    /// The same with its instant later by this.
    fn after(self, ns: u64) -> Failure {
        self.moved(|at_ns| at_ns.saturating_add(ns))
    }

    /// The same with its instant earlier by this.
    fn before(self, ns: u64) -> Failure {
        self.moved(|at_ns| at_ns.saturating_sub(ns))
    }

    fn moved(self, to: impl Fn(u64) -> u64) -> Failure {
        match self {
            Failure::Continuous { errors, for_ns, at_ns } => {
                Failure::Continuous { errors, for_ns, at_ns: to(at_ns) }
            }
            Failure::Stopped { at_ns } => Failure::Stopped { at_ns: to(at_ns) },
            other => other,
        }
    }
}

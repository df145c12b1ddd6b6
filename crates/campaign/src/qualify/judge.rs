//! Judges the record of a run against the criteria: what was measured, why it failed, and whether the generator may be
//! the reason: whether it would have passed without what may be the generator's part of a figure.
//!
//! **Continuous errors**: in each interval of 3 s (`--continuous`; of a shorter test or step: in each of its intervals)
//! at least one query ended in the same kind of error. The run itself watches for it, as conditions of `--stop-when`,
//! and ends with it. Errors that are not continuous may be at most 0.1 % of the queries (`--most-errors`).

use std::ops::Range;

use dnsdyno_measure::{Tally, Warning};
use dnsdyno_plan::expect::{Durations, Figure, Metric, QueryCount};
use dnsdyno_record::expect::{Ends, Measured, measure_row, measure_run};
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
    pub(super) failure: Option<Failed>,
}

/// Why a run has failed.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) why: Failure,
    /// Whether the generator may be the reason.
    pub(super) may_be_ours: bool,
}

impl Failed {
    /// By the server alone, or by somebody's command.
    pub(super) fn surely(why: Failure) -> Failed {
        Failed { why, may_be_ours: false }
    }

    fn moved(self, to: impl Fn(u64) -> u64) -> Failed {
        Failed { why: self.why.moved(to), ..self }
    }
}

/// A part of a run that is judged: the whole, or a step of a stair.
#[derive(Clone, Copy)]
enum Part<'a> {
    Run(&'a Digest),
    Row(&'a Digest, &'a Row),
}

impl<'a> Part<'a> {
    fn tally(self) -> &'a Tally {
        match self {
            Part::Run(digest) => digest.tally(),
            Part::Row(_, row) => &row.tally,
        }
    }

    fn partial_intervals(self) -> u64 {
        match self {
            Part::Run(digest) => digest.partial_intervals(),
            Part::Row(_, row) => row.partial_intervals,
        }
    }

    fn measure(self, metric: Metric) -> Ends {
        match self {
            Part::Run(digest) => measure_run(metric, digest),
            Part::Row(digest, row) => measure_row(metric, digest, row),
        }
    }

    /// How many errors there were, and how many without those that may be ours.
    fn errors(self, settings: &Settings) -> (u64, u64) {
        let of = |(_, metric): &(String, Metric)| {
            let ends = self.measure(*metric);
            (part(&ends.measured), part(&ends.without_ours))
        };
        let all = settings.criteria.errors.iter().map(of);
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// Judges a run of a test with one load. `before` are the figures of what was made of the test before it.
pub(super) fn run(settings: &Settings, test: Test, digest: &Digest, before: Figures) -> Judged {
    let part = Part::Run(digest);
    let figures = figures_of(settings, part, digest.schedule_ns());
    let whole_ns = settings.length_ns(test);
    let mut sum = before;
    sum.add(figures);
    let ended = ended_by(settings, digest, whole_ns);
    let ended = ended.map(|failed| failed.moved(|at_ns| at_ns.saturating_add(before.load_ns)));
    let failure = partial(digest.partial_intervals())
        .or(ended)
        .or_else(|| unanswered(part, figures))
        .or_else(|| slow(settings, part))
        .or_else(|| too_many(settings, sum))
        .or_else(|| not_made(digest));
    Judged { figures, failure }
}

/// Judges the steps of a stair: those that its record has whole, up to the first that failed, and whether the generator
/// may be the reason of that. `rates` are those of the run.
pub(super) fn stair(settings: &Settings, rates: &[f64], digest: &Digest) -> (Vec<StepJudged>, bool) {
    let hold_ns = settings.hold_ns;
    let ended = ended_by(settings, digest, hold_ns);
    // The step in which a condition held, or in which the last answer came; the load went on until that was judged.
    let ended_ns = match ended.as_ref().map(|failed| &failed.why) {
        Some(Failure::Stopped { at_ns }) => *at_ns,
        _ => held_until(digest).saturating_sub(1),
    };
    let ended_in = ended.as_ref().map(|_| (ended_ns / hold_ns.max(1)) as usize);
    let mut steps = Vec::new();
    for (number, qps) in rates.iter().enumerate() {
        let from_ns = hold_ns.saturating_mul(number as u64);
        let Some((part, load_ns)) = part_of_step(rates, digest, number) else { break };
        let figures = figures_of(settings, part, load_ns);
        let here = ended.clone().filter(|_| ended_in.is_some_and(|step| step <= number));
        let here = here.map(|failed| failed.moved(|at_ns| at_ns.saturating_sub(from_ns)));
        // The last query of a run is due a little before its end.
        let is_whole = figures.load_ns.saturating_add(digest.header.interval_ns) > hold_ns;
        let of_step = partial(part.partial_intervals())
            .or_else(|| unanswered(part, figures).filter(|_| is_whole))
            .or_else(|| slow(settings, part))
            .or_else(|| too_many(settings, figures).filter(|_| is_whole || here.is_some()))
            .or_else(|| not_made(digest).filter(|_| is_whole && !is_sent(part)));
        let failed = here.or(of_step);
        if !is_whole && failed.is_none() {
            break;
        }
        let may_be_ours = failed.as_ref().map(|failed| failed.may_be_ours);
        steps.push(StepJudged { qps: *qps, figures, failure: failed.map(|failed| failed.why) });
        if let Some(may_be_ours) = may_be_ours {
            return (steps, may_be_ours);
        }
    }
    (steps, false)
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
) -> (Vec<CommandFigures>, Option<Failed>) {
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
    let failure = first
        .map(|first| Failed::surely(Failure::Commands { failed, all: function.results() as u64, first }));
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
    let took = dnsdyno_text::units::duration(result.took_ns);
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
    figures_of(settings, Part::Run(digest), digest.schedule_ns())
}

fn figures_of(settings: &Settings, part: Part<'_>, load_ns: u64) -> Figures {
    let (errors, surely) = part.errors(settings);
    Figures {
        queries: judged(part.tally()),
        errors,
        ours: errors.saturating_sub(surely),
        longest_ns: part.tally().response.exact().map(|exact| exact.max_ns),
        load_ns,
    }
}

/// What a record has of a step, and for how long its load was put on; `None` where it has nothing of it.
fn part_of_step<'a>(rates: &[f64], digest: &'a Digest, number: usize) -> Option<(Part<'a>, u64)> {
    if rates.len() == 1 {
        return (digest.tally().scheduled > 0).then(|| (Part::Run(digest), digest.schedule_ns()));
    }
    let row = row_of(digest, number)?;
    Some((Part::Row(digest, row), row.covered_ns))
}

/// The row of a step, where rows are steps.
fn row_of(digest: &Digest, number: usize) -> Option<&Row> {
    let is_of_step = |row: &&Row| digest.header.phase_at(row.from_ns) == Some(number);
    digest.rows().iter().find(|row| digest.rows_are_phases() && is_of_step(row))
}

fn part(measured: &Measured) -> u64 {
    match measured {
        Measured::Part { part, .. } => *part,
        _ => 0,
    }
}

/// Why a run ended before its time: by errors, by a silent server, or by a condition of the user. `None` where it did
/// not, or by a response that took too long, which the figures say.
fn ended_by(settings: &Settings, digest: &Digest, length_ns: u64) -> Option<Failed> {
    let for_ns = continuous_ns(settings, length_ns);
    if let Some(silent) = silent(digest, for_ns) {
        return Some(silent);
    }
    let Some(Ended::ByCondition { condition: text }) = digest.ended() else { return None };
    let errors = &settings.criteria.errors;
    if let Some((name, metric)) =
        errors.iter().find(|(name, _)| *text == condition(settings, name, length_ns))
    {
        let at_ns = held_until(digest);
        let why = Failure::Continuous { errors: name.clone(), for_ns, at_ns };
        let may_be_ours = all_may_be_ours(digest, *metric, at_ns.saturating_sub(for_ns)..at_ns);
        return Some(Failed { why, may_be_ours });
    }
    (*text != super::draft::slow(settings)).then(|| Failed::surely(Failure::Condition(text.clone())))
}

/// A server that answered nothing in time at the end of a run that was ended by that.
fn silent(digest: &Digest, for_ns: u64) -> Option<Failed> {
    let sum = digest.sum.as_ref().filter(|sum| matches!(sum.ended, Ended::ByCondition { .. }))?;
    let (why, from_ns) = match (digest.tally().ends.answered, sum.last_answer_ns) {
        (0, _) => (Failure::Silent, 0),
        (_, at_ns) => {
            let at_ns = at_ns?;
            let silent_ns = sum.schedule_ns.saturating_sub(at_ns);
            (silent_ns >= for_ns / 2).then_some((Failure::Stopped { at_ns }, at_ns))?
        }
    };
    Some(Failed { why, may_be_ours: all_may_be_ours(digest, LOST, from_ns..sum.schedule_ns) })
}

/// Whether in some part of this time each of these errors may be the generator's.
fn all_may_be_ours(digest: &Digest, metric: Metric, within: Range<u64>) -> bool {
    let rows = digest.rows().iter().filter(|row| row.from_ns < within.end && within.start < row.to_ns);
    let mut ends = rows.map(|row| measure_row(metric, digest, row));
    ends.any(|ends| part(&ends.measured) > 0 && part(&ends.without_ours) == 0)
}

fn unanswered(of: Part<'_>, figures: Figures) -> Option<Failed> {
    let is_silent = figures.queries > 0 && figures.longest_ns.is_none();
    let may_be_ours = part(&of.measure(LOST).without_ours) == 0;
    is_silent.then_some(Failed { why: Failure::Silent, may_be_ours })
}

fn slow(settings: &Settings, of: Part<'_>) -> Option<Failed> {
    let bound_ns = settings.criteria.response_ns;
    let ends = of.measure(Metric::Duration(Durations::Response, Figure::Slowest));
    let ns = |measured: &Measured| if let Measured::Duration(ns) = measured { *ns } else { 0 };
    let (longest_ns, least_ns) = (ns(&ends.measured), ns(&ends.without_ours));
    let why = Failure::Slow { longest_ns, least_ns };
    (longest_ns > bound_ns).then_some(Failed { why, may_be_ours: least_ns <= bound_ns })
}

fn too_many(settings: &Settings, figures: Figures) -> Option<Failed> {
    let Figures { errors, queries, ours, .. } = figures;
    let most = settings.criteria.most_errors;
    let surely = Figures { errors: errors.saturating_sub(ours), ..figures };
    let why = Failure::Errors { errors, queries, ours };
    (figures.share() > most).then_some(Failed { why, may_be_ours: surely.share() <= most })
}

/// A load that was not made in its time is not held, whatever was measured.
fn not_made(digest: &Digest) -> Option<Failed> {
    let behind = digest.warnings().into_iter().find_map(|warning| match warning {
        Warning::SendsBehind { behind_ns, .. } => Some(behind_ns),
        _ => None,
    })?;
    Some(Failed { why: Failure::NotMade { behind_ns: behind }, may_be_ours: true })
}

/// What an agent has not given may be anything.
fn partial(intervals: u64) -> Option<Failed> {
    (intervals > 0).then_some(Failed { why: Failure::Partial { intervals }, may_be_ours: true })
}

/// Whether what was due in a step was sent in it.
fn is_sent(of: Part<'_>) -> bool {
    match of {
        Part::Run(_) => false,
        Part::Row(_, row) => {
            let asked = row.asked_qps() * row.covered_ns as f64 * 1e-9;
            row.arrivals.sent as f64 >= asked * ENOUGH_SENT
        }
    }
}

/// The end of the interval with which a condition held; in its absence the end of the load.
fn held_until(digest: &Digest) -> u64 {
    let figure = |event: &Event| event.figures.get(HELD_UNTIL).and_then(serde_json::Value::as_u64);
    digest.events.iter().find_map(figure).unwrap_or_else(|| digest.schedule_ns())
}

impl Failure {
    /// The same with another instant.
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

/// A share of what was asked that is no difference.
const ENOUGH_SENT: f64 = 0.98;

const LOST: Metric = Metric::Queries(QueryCount::Lost);

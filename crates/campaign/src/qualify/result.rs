//! The result of a qualification: the capacity, whether the server is qualified, and the sentence why.

use dnsdyno_text::units::length;

use super::attempt::{Attempt, Failure, Gap, Outcome, load_words};
use super::test::{Settings, Test, length_words};

/// The result of a qualification.
#[derive(Clone, Debug, PartialEq)]
pub struct Qualified {
    /// Whether the server is qualified.
    pub verdict: Verdict,
    /// The highest load that passed each test, in queries per second; `None` = none did.
    pub capacity_qps: Option<f64>,
    /// Whether the capacity may be higher: the stair ended, or a test at a higher load was undecided.
    pub at_least: bool,
    /// The verdict with its reason, for people.
    pub sentence: String,
    /// What else must be known, a sentence each: tests that were not made or are undecided, times without load.
    pub notes: Vec<String>,
    /// Every test that was made, in order.
    pub attempts: Vec<Attempt>,
    /// Times without load in long runs.
    pub gaps: Vec<Gap>,
}

/// Whether the server is qualified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A load passed each test, and it is as high as was needed.
    Qualified,
    /// No load passed each test, or one that is too low.
    NotQualified,
    /// No load passed each test, and the generator may be the reason.
    NotKnown,
}

impl Verdict {
    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Verdict::Qualified => "qualified",
            Verdict::NotQualified => "not_qualified",
            Verdict::NotKnown => "not_known",
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Qualified => "qualified",
            Verdict::NotQualified => "not qualified",
            Verdict::NotKnown => "not known",
        }
    }
}

/// The result of these tests. `gone` = the server stopped answering, and did not answer again.
pub(super) fn result(
    settings: &Settings,
    attempts: &[Attempt],
    gaps: &[Gap],
    capacity_qps: Option<f64>,
    gone: bool,
) -> Qualified {
    let top = settings.steps.last().copied();
    // An undecided test says nothing of the server, unless it was repeated and then decided.
    let deciding = deciding(attempts);
    let undecided: Vec<&Attempt> = deciding.iter().filter(|attempt| is_undecided(attempt)).copied().collect();
    let at_least = capacity_qps.is_some() && (capacity_qps == top || !undecided.is_empty());
    let too_low = |capacity: f64| settings.need_qps.is_some_and(|need| capacity < need);
    let verdict = match capacity_qps {
        Some(capacity) if !too_low(capacity) => Verdict::Qualified,
        Some(_) if undecided.is_empty() => Verdict::NotQualified,
        None if gone || undecided.is_empty() => Verdict::NotQualified,
        _ => Verdict::NotKnown,
    };
    let sentence = match gone {
        true => gone_sentence(settings, attempts, verdict),
        false => sentence(settings, &deciding, capacity_qps, at_least, verdict),
    };
    let sentence = match settings.rehearsal() {
        Some(rehearsal) => format!("{sentence} ({rehearsal})"),
        None => sentence,
    };
    Qualified {
        verdict,
        capacity_qps,
        at_least,
        sentence,
        notes: notes(settings, &undecided, attempts, gaps),
        attempts: attempts.to_vec(),
        gaps: gaps.to_vec(),
    }
}

fn is_undecided(attempt: &Attempt) -> bool {
    matches!(attempt.outcome, Outcome::Undecided(_))
}

/// Without those that were repeated at the same load.
fn deciding(attempts: &[Attempt]) -> Vec<&Attempt> {
    let is_repeated = |number: usize, attempt: &Attempt| {
        is_undecided(attempt)
            && attempts.get(number + 1).is_some_and(|next| {
                next.test == attempt.test && (next.qps == attempt.qps || next.test == Test::Stair)
            })
    };
    attempts
        .iter()
        .enumerate()
        .filter(|(number, attempt)| !is_repeated(*number, attempt))
        .map(|(_, attempt)| attempt)
        .collect()
}

fn sentence(
    settings: &Settings,
    attempts: &[&Attempt],
    capacity_qps: Option<f64>,
    at_least: bool,
    verdict: Verdict,
) -> String {
    let what = verdict.words();
    let last_failed = attempts.iter().rev().find(|attempt| !attempt.passed());
    match capacity_qps {
        Some(capacity) => {
            let tests = tests_made(settings);
            let least = if at_least { "at least " } else { "" };
            let need = match settings.need_qps.filter(|need| *need > capacity) {
                Some(need) => format!(", less than the {} that are needed", load_words(need)),
                None => String::new(),
            };
            let why = match last_failed {
                Some(attempt) if is_undecided(attempt) => format!(
                    "; {}, but the generator or its host may be the reason, so it is not known whether the server \
                     holds that load",
                    failed(settings, attempt)
                ),
                Some(attempt) => format!("; {}", failed(settings, attempt)),
                None => "; that is the highest step of the stair".to_owned(),
            };
            format!("{what}: {least}{} queries/s pass {tests}{need}{why}", load_words(capacity))
        }
        None => {
            let why = last_failed.map_or(String::new(), |attempt| failed(settings, attempt));
            let doubt = match verdict {
                Verdict::NotKnown => ", but the generator or its host may be the reason",
                _ => "",
            };
            format!("{what}: no load of the stair passes each test; at the lowest, {why}{doubt}")
        }
    }
}

/// Of a server that is gone: what came before the run in which there was no answer at all.
fn gone_sentence(settings: &Settings, attempts: &[Attempt], verdict: Verdict) -> String {
    let is_before = |attempt: &&Attempt| attempt.failure().is_some_and(|why| *why != Failure::Silent);
    let before = attempts.iter().rev().find(is_before);
    let why = before.or(attempts.last()).map_or(String::new(), |attempt| failed(settings, attempt));
    let again = if before.is_some() { "; it did not answer again" } else { "" };
    format!("{}: {why}{again}", verdict.words())
}

/// `at 19,000 queries/s the burst failed: a response took 1.2 s`
fn failed(settings: &Settings, attempt: &Attempt) -> String {
    let step = attempt.steps.last().filter(|step| step.failure.is_some());
    let qps = step.map_or(attempt.qps, |step| step.qps);
    let why = attempt.failure().map_or(String::new(), Failure::words);
    let what = match attempt.test {
        Test::Stair => format!("the stair's step of {} failed", length_words(settings.hold_ns)),
        test => format!("the {} failed", test.name()),
    };
    format!("at {} queries/s {what}: {why}", load_words(qps))
}

/// `the stair, the burst of 10 min and the long run of 48 h`
fn tests_made(settings: &Settings) -> String {
    let name = |test: Test| match test {
        Test::Burst => format!("the burst of {}", length_words(settings.burst_ns)),
        Test::Long => format!("the long run of {}", length_words(settings.long_ns)),
        test => format!("the {}", test.name()),
    };
    let names: Vec<_> = Test::ALL.into_iter().filter(|test| settings.makes(*test)).map(name).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn notes(settings: &Settings, undecided: &[&Attempt], attempts: &[Attempt], gaps: &[Gap]) -> Vec<String> {
    let mut notes = Vec::new();
    for test in Test::ALL.into_iter().filter(|test| !settings.makes(*test)) {
        let why = if settings.skip.contains(&test) { "--skip" } else { "no --function" };
        notes.push(format!("the {} was not made ({why})", test.name()));
    }
    for attempt in undecided {
        let why = attempt.failure().map_or(String::new(), Failure::words);
        let met = match attempt.warnings.is_empty() {
            true => String::new(),
            false => format!(" ({})", attempt.warnings.join(", ")),
        };
        notes.push(format!(
            "the {} at {} queries/s is undecided: {why}{met}",
            attempt.test.name(),
            load_words(attempt.steps.last().map_or(attempt.qps, |step| step.qps)),
        ));
    }
    let cut = |attempt: &&Attempt| attempt.test != Test::Long && attempt.runs.iter().any(|run| run.cut);
    for attempt in attempts.iter().filter(cut) {
        notes.push(format!(
            "the {} was cut off and made again from its {}",
            attempt.test.name(),
            if attempt.test == Test::Stair { "last whole step" } else { "begin" }
        ));
    }
    for gap in gaps {
        notes.push(format!(
            "the long run at {} queries/s was without load for {}, after {}: the generator had stopped",
            load_words(gap.qps),
            length(gap.to_unix_ns.saturating_sub(gap.from_unix_ns)),
            length(gap.after_ns)
        ));
    }
    notes
}

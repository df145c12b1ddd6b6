//! Qualifies a server: the highest load that passes four tests, as mobile carriers demand it of their DNS servers.
//!
//! ```text
//!   stair ──► highest step S ──► burst ──► function test ──► long run ──► the capacity is S
//!                    ▲             │            │               │
//!                    └── S − step ◄┴────────────┴───────────────┘   failed: all three again, one step lower
//! ```
//!
//! - The *stair* ends at the first step that fails; the step before it is S. A stair that was cut off goes on with its
//!   first step that is not whole.
//! - A *burst* or *function test* that was cut off is made again. A *long run* goes on for the rest of its time: what
//!   it lost is told as a gap.
//! - At a lower load nothing of a higher one counts: burst, function test and long run are made in this order.
//! - A test that failed, and would have passed without what may be the generator's, is undecided. It is made a second
//!   time; if it is undecided again, the load is lowered, and the result is "at least", or not known.
//! - A run without a single answer ends it: the server is gone.

mod attempt;
mod draft;
mod function;
mod judge;
pub mod report;
mod result;
mod settings;
mod test;
#[cfg(test)]
mod tests;

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;

pub use attempt::{Attempt, CommandFigures, Failure, Figures, Gap, Outcome, RunOf, StepJudged, load_words};
pub use function::{Function, FunctionError, LookFor, Task};
pub use result::{Qualified, Verdict};
pub use settings::{QualifyOptions, SettingsError, refuse_unusable};
pub use test::{Criteria, Scale, Settings, Test, length_words};

use crate::commands::CommandResult;
use crate::doubts::met;
use crate::{Campaign, Request, Step};
use judge::Failed;

/// Qualifies a server.
#[derive(Clone, Debug)]
pub struct Qualify {
    settings: Settings,
    /// The options of each run that do not depend on the test.
    base: Draft,
    stage: Stage,
    /// The test that is being made.
    now: Attempt,
    /// Those that were made.
    attempts: Vec<Attempt>,
    gaps: Vec<Gap>,
    /// What the commands beside the run did whose record is learned next.
    results: Vec<CommandResult>,
    /// Whether the test before has failed.
    rests: bool,
    /// Whether a run was learned.
    has_begun: bool,
}

/// What is made next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// The stair, from this step on; `repeated` = the step that was undecided before.
    Stair { from: usize, repeated: Option<usize> },
    /// A test at a step.
    Load { step: usize, test: Test, repeated: bool },
    /// Nothing: the highest step that passed each test.
    Done { capacity: Option<usize>, gone: bool },
}

impl Qualify {
    /// The qualification of the server of `base`.
    pub fn new(settings: Settings, base: Draft) -> Qualify {
        let highest = settings.steps.len().saturating_sub(1);
        let mut qualify = Qualify {
            now: empty(Test::Stair, 0.0),
            settings,
            base,
            stage: Stage::Stair { from: 0, repeated: None },
            attempts: Vec::new(),
            gaps: Vec::new(),
            results: Vec::new(),
            rests: false,
            has_begun: false,
        };
        if !qualify.settings.makes(Test::Stair) {
            qualify.goes_on_at(highest);
        }
        qualify
    }

    /// What it is asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The tests that were made, in order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    fn qps(&self, step: usize) -> f64 {
        self.settings.steps.get(step).copied().unwrap_or(0.0)
    }

    /// The first test at this step, or the result where there is none but the stair.
    fn goes_on_at(&mut self, step: usize) {
        self.goes_to(step, None);
    }

    /// The test after `test` at this step; the result after the last one.
    fn goes_to(&mut self, step: usize, test: Option<Test>) {
        let is_later = |other: &Test| *other > test.unwrap_or(Test::Stair) && self.settings.makes(*other);
        let next = Test::ALL.into_iter().find(is_later);
        self.stage = match next {
            Some(test) => Stage::Load { step, test, repeated: false },
            None => Stage::Done { capacity: Some(step), gone: false },
        };
        self.now = empty(next.unwrap_or(Test::Long), self.qps(step));
    }

    /// The step below; the result below the lowest.
    fn lowers(&mut self, step: usize) {
        match step.checked_sub(1) {
            Some(lower) => self.goes_on_at(lower),
            None => self.stage = Stage::Done { capacity: None, gone: false },
        }
    }

    /// Ends the test that is being made.
    fn ends(&mut self, outcome: Outcome) {
        self.rests = outcome != Outcome::Passed;
        let next = empty(self.now.test, self.now.qps);
        let ended = std::mem::replace(&mut self.now, next);
        self.attempts.push(Attempt { outcome, ..ended });
    }

    fn learn_stair(&mut self, digest: &Digest, from: usize, repeated: Option<usize>, cut: bool) {
        let (_, made) = draft::stair(&self.base, &self.settings, from);
        let rates = self.settings.steps.get(from..from + made).unwrap_or_default();
        let (steps, may_be_ours) = judge::stair(&self.settings, rates, digest);
        let passed = steps.iter().filter(|step| step.failure.is_none()).count();
        let counted_ns = self.settings.hold_ns.saturating_mul(passed as u64);
        let why = steps.last().and_then(|step| step.failure.clone());
        let mut failure = why.map(|why| Failed { why, may_be_ours });
        // A run that ended by itself has each of its steps, or lines of its record are lost.
        if !cut && failure.is_none() && passed < made {
            failure = Some(Failed { why: Failure::NotRecorded, may_be_ours: true });
        }
        self.now.runs.push(judge::run_of(digest, counted_ns, cut));
        // A step that failed in a run that was cut off is made again: its record has no verdict of the generator.
        let judged = steps.into_iter().filter(|step| !cut || step.failure.is_none());
        for step in judged {
            if step.failure.is_none() {
                (self.now.qps, self.now.figures) = (step.qps, step.figures);
            }
            self.now.steps.push(step);
        }
        let next = from + passed;
        match failure.filter(|_| !cut) {
            Some(Failed { why, may_be_ours }) => {
                self.now.warnings = met(digest);
                let passed_before = (self.now.qps, self.now.figures);
                let is_silent = why == Failure::Silent;
                self.ends(outcome(why, may_be_ours));
                if is_silent && !may_be_ours && next == from {
                    self.stage = Stage::Done { capacity: None, gone: true };
                } else if may_be_ours && repeated != Some(next) {
                    (self.now.qps, self.now.figures) = passed_before;
                    self.stage = Stage::Stair { from: next, repeated: Some(next) };
                } else {
                    self.lowers(next);
                }
            }
            None if next < self.settings.steps.len() => self.stage = Stage::Stair { from: next, repeated },
            None => {
                self.now.warnings = met(digest);
                self.ends(Outcome::Passed);
                self.goes_on_at(next.saturating_sub(1));
            }
        }
    }

    fn learn_load(&mut self, digest: &Digest, step: usize, test: Test, repeated: bool, cut: bool) {
        if cut && test != Test::Long {
            self.now.runs.push(judge::run_of(digest, 0, true));
            self.results.clear();
            return;
        }
        let before = self.now.figures;
        let judged = judge::run(&self.settings, test, digest, before);
        if cut && judged.failure.as_ref().is_some_and(|failed| failed.why == Failure::Silent) {
            // Its end can be that of the host, with its network.
            self.now.runs.push(judge::run_of(digest, 0, true));
            return;
        }
        self.notes_gap(digest, before.load_ns);
        self.now.runs.push(judge::run_of(digest, judged.figures.load_ns, cut));
        self.now.figures.add(judged.figures);
        self.now.warnings.extend(met(digest).into_iter().filter(|_| !cut));
        self.now.warnings.sort();
        self.now.warnings.dedup();
        let mut failure = judged.failure;
        if let Some(function) = self.settings.function.as_ref().filter(|_| test == Test::Function) {
            let (figures, failed) = judge::commands(function, &std::mem::take(&mut self.results));
            self.now.commands = figures;
            // A load that failed has ended before its commands could be carried out.
            failure = failure.or(failed);
        }
        match failure {
            Some(Failed { why, may_be_ours }) => {
                let is_silent = why == Failure::Silent;
                self.ends(outcome(why, may_be_ours));
                if is_silent && !may_be_ours {
                    self.stage = Stage::Done { capacity: None, gone: true };
                } else if may_be_ours && !repeated {
                    self.stage = Stage::Load { step, test, repeated: true };
                } else {
                    self.lowers(step);
                }
            }
            None if cut && self.rest_of_long_ns() > 0 => {}
            None => {
                self.ends(Outcome::Passed);
                self.goes_to(step, Some(test));
            }
        }
    }

    /// The time without load before a further run of a long run.
    fn notes_gap(&mut self, digest: &Digest, after_ns: u64) {
        if let Some(before) = self.now.runs.last().filter(|run| run.cut && self.now.test == Test::Long) {
            let from_unix_ns = before.started_unix_ns.saturating_add(before.lasted_ns);
            let to_unix_ns = digest.header.started_unix_ns;
            self.gaps.push(Gap { qps: self.now.qps, from_unix_ns, to_unix_ns, after_ns });
        }
    }

    /// How much of the long run is not made yet, in ns; 0 where that is less than a second.
    fn rest_of_long_ns(&self) -> u64 {
        let rest_ns = self.settings.long_ns.saturating_sub(self.now.figures.load_ns);
        if rest_ns < SHORTEST_REST_NS { 0 } else { rest_ns }
    }

    fn learns(&mut self, digest: &Digest, cut: bool) {
        self.has_begun = true;
        match self.stage {
            Stage::Stair { from, repeated } => self.learn_stair(digest, from, repeated, cut),
            Stage::Load { step, test, repeated } => self.learn_load(digest, step, test, repeated, cut),
            Stage::Done { .. } => {}
        }
    }
}

impl Campaign for Qualify {
    type Result = Qualified;

    fn next(&self) -> Step<Qualified> {
        let settings = &self.settings;
        let (draft, why, commands) = match self.stage {
            Stage::Stair { from, .. } => {
                let (draft, made) = draft::stair(&self.base, settings, from);
                let (first, last) =
                    (load_words(self.qps(from)), load_words(self.qps(from + made.saturating_sub(1))));
                (draft, format!("stair: {first} to {last} queries/s"), false)
            }
            Stage::Load { step, test, repeated } => {
                let for_ns = match test {
                    Test::Long => self.rest_of_long_ns(),
                    test => settings.length_ns(test),
                };
                let draft = draft::constant(&self.base, settings, test, self.qps(step), for_ns);
                let again = if repeated { ", a second time" } else { "" };
                let why = format!("{}: {} queries/s{again}", test.name(), load_words(self.qps(step)));
                (draft, why, test == Test::Function)
            }
            Stage::Done { capacity, gone } => {
                let capacity = capacity.map(|step| self.qps(step));
                let result = result::result(settings, &self.attempts, &self.gaps, capacity, gone);
                return Step::Done(result);
            }
        };
        // Later runs are made without a query before: a server that is gone must not stop them, it is the result.
        let draft = if self.has_begun { Draft { check: Some(false), ..draft } } else { draft };
        let rest_ns = if self.rests { settings.rest_ns() } else { 0 };
        Step::Run(Box::new(Request { draft, rest_ns, commands, why }))
    }

    fn learn(&mut self, run: &Digest) {
        self.learns(run, false);
    }

    fn learn_commands(&mut self, results: &[CommandResult]) {
        self.results = results.to_vec();
    }

    fn learn_cut(&mut self, run: &Digest) {
        self.learns(run, true);
    }
}

/// What the record of a run shows of its criteria, for people, such as `60,000 queries, no errors`.
pub fn in_words(settings: &Settings, run: &Digest) -> String {
    judge::figures_of_run(settings, run).words()
}

/// How a test ends that has failed.
fn outcome(why: Failure, may_be_ours: bool) -> Outcome {
    if may_be_ours { Outcome::Undecided(why) } else { Outcome::Failed(why) }
}

/// A test that has not begun.
fn empty(test: Test, qps: f64) -> Attempt {
    Attempt {
        test,
        qps,
        outcome: Outcome::Passed,
        figures: Figures::default(),
        steps: Vec::new(),
        runs: Vec::new(),
        warnings: Vec::new(),
        commands: Vec::new(),
    }
}

/// The rest of a long run that is not worth a run.
const SHORTEST_REST_NS: u64 = 1_000_000_000;

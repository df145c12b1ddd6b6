//! Multiple Loss Ratio Search, RFC 9971: the Controller. It chooses the trials, classifies each load for each goal, and
//! gives a Goal Result for each.
//!
//! ```text
//!   goals ──► Selection, one after another ──► Trial Input ──► (a run) ──► Trial Result ──► Loads ──► Goal Results
//!                  ▲                                                                          │
//!                  └──────────────── Load Classification, Relevant Bounds ◄───────────────────┘
//! ```
//!
//! The text of the RFC is followed where it defines: classification, relevant bounds, conditional throughput, results.
//! What it leaves open is ours: which trial comes next, and that a trial which depends on the generator is none.

mod bounds;
mod classification;
#[cfg(test)]
mod compared;
pub(super) mod goal;
mod outcome;
pub(super) mod result;
mod select;
#[cfg(test)]
mod tests;

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;
use dnsdyno_record::expect::{Ends, Measured};
use dnsdyno_record::held::growth_of_run;
use dnsdyno_text::notation::format_duration_ns;
use dnsdyno_text::units::setting;

use super::criteria::Criteria;
use super::finder::{Finder, TrialsSoFar};
use super::finding::{FindNote, Finding, IntervalKind, Outcome, Why};
use super::notes::{collapse, of_trials};
use super::options::What;
use super::settings::Settings;
use super::trial::{Judged, OfCriterion, Purpose, Trial, is_made};
use crate::step::{Campaign, Request, Step};
use bounds::Loads;
use outcome::{TrialClass, TrialResult};
use select::{Range, Selection, TrialInput};

pub use classification::{DurationSums, ExceedRatios, LoadClass};
pub use goal::SearchGoal;
pub use result::{Classified, GoalResult, Irregular};

/// A search for the bounds of several goals.
#[derive(Clone, Debug)]
pub struct MultipleLossRatio {
    settings: Settings,
    trials: Vec<Trial>,
    loads: Loads,
    cut: u32,
    /// The way of each goal.
    selections: Vec<Selection>,
    /// The next trial; `None` at the end.
    next: Option<Next>,
}

/// A trial to come.
#[derive(Clone, Copy, Debug)]
struct Next {
    input: TrialInput,
    purpose: Purpose,
    /// The goal that it is for, by its place.
    goal: usize,
}

impl MultipleLossRatio {
    /// A search with these settings.
    pub fn new(settings: Settings) -> MultipleLossRatio {
        let selections = settings.search_goals().iter().map(Selection::new).collect();
        // The RFC: warm up before the search. This trial is none of its results.
        let first = settings.search_goals().first().map_or(0, |goal| goal.initial_trial_ns);
        let input = TrialInput { load: settings.loads().0, duration_ns: first, is_doubling: false };
        let next = Some(Next { input, purpose: Purpose::WarmUp, goal: 0 });
        MultipleLossRatio { settings, trials: Vec::new(), loads: Loads::default(), cut: 0, selections, next }
    }

    fn range(&self) -> Range {
        let (start, least, most) = self.settings.loads();
        Range { start, least, most, is_whole: self.settings.what == What::Clients }
    }

    /// The next trial of the first goal that has no result yet. Strict goals come first: their loads are the lowest,
    /// and a trial at a low load can end what was found above it.
    fn decide(&mut self) -> Option<Next> {
        if self.trials.len() >= self.settings.most_trials as usize {
            return None;
        }
        let range = self.range();
        for (goal, selection) in self.selections.iter_mut().enumerate() {
            if let Some(input) = selection.next(&self.loads, &range) {
                let purpose = match () {
                    () if input.is_doubling => Purpose::Doubling,
                    () if input.load <= range.least => Purpose::Lowest,
                    () => Purpose::Near,
                };
                return Some(Next { input, purpose, goal });
            }
        }
        None
    }

    /// How long a trial is: as its stage has it, but with the queries that make its loss ratio a figure, as far as the
    /// Goal Final Trial Duration allows.
    fn lasts_ns(&self, next: &Next) -> u64 {
        let Some(goal) = self.settings.search_goals().get(next.goal) else { return next.input.duration_ns };
        let needed_s = goal.queries_needed() / self.settings.qps(next.input.load);
        let needed_ns = (needed_s * 1e3).ceil() * 1e6;
        next.input.duration_ns.max((needed_ns as u64).min(goal.final_trial_ns))
    }

    fn request(&self, next: &Next) -> Request {
        let lasts_ns = self.lasts_ns(next);
        let request = self.settings.request(next.purpose, next.input.load, self.rest_ns());
        let draft = Draft {
            duration: Some(format_duration_ns(lasts_ns)),
            interval: self.settings.of_trials(lasts_ns).interval,
            ..request.draft
        };
        let goal = self.settings.search_goals().get(next.goal).map_or("", |goal| goal.name.as_str());
        let why = format!("{goal}: {}, {}", request.why, setting(lasts_ns));
        Request { draft, why, ..request }
    }

    fn rest_ns(&self) -> u64 {
        let rest_ns = self.settings.rest_ns;
        match self.trials.last() {
            None => 0,
            Some(last) if last.passed() == Some(false) => rest_ns.saturating_mul(REST_AFTER_LOSS),
            Some(_) => rest_ns,
        }
    }

    /// What a trial is to each goal.
    fn judged(&self, result: &TrialResult) -> Judged {
        let mut judged = Judged::default();
        let least = result.lost.saturating_sub(result.ours);
        let part = |lost| Measured::Part { part: lost, whole: result.queries };
        for goal in self.settings.search_goals() {
            let ends = Ends { measured: part(result.lost), without_ours: part(least) };
            let of = OfCriterion { criterion: goal.short_text(), ends };
            match result.class(goal) {
                TrialClass::LowLoss => {}
                TrialClass::HighLoss => judged.unmet.push(of),
                // A load that was not made is undecided whatever was lost.
                TrialClass::InDoubt if result.is_made => judged.undecided.push(of),
                TrialClass::InDoubt => {}
            }
        }
        judged
    }

    /// The result of each goal, by all trials.
    pub fn results(&self) -> Vec<GoalResult> {
        let (range, qps) = (self.range(), |load: f64| self.settings.qps(load));
        self.settings
            .search_goals()
            .iter()
            .map(|goal| GoalResult::of(goal, &self.loads, &range, &qps))
            .collect()
    }

    fn finding(&self) -> Finding {
        let results = self.results();
        let (method, what) = (self.settings.method(), self.settings.what());
        let outcome = results.first().map_or(Outcome::Undecided { load: self.settings.loads().0 }, outcome);
        let none = Criteria { expectations: Vec::new(), no_loss_beyond_chance: false };
        let mut notes = of_trials(&self.trials, &none, None);
        if let Outcome::Capacity { load, .. } = outcome {
            notes.extend(collapse(&self.trials, load));
        }
        let results = results.into_iter().map(|result| FindNote::GoalResult(Box::new(result)));
        let notes = results.chain(notes).collect();
        let criteria = self.settings.search_goals().iter().map(SearchGoal::text).collect();
        let trials = self.trials.clone();
        let (goals, belief) = (Vec::new(), Vec::new());
        Finding { method, what, criteria, outcome, goals, notes, trials, cut: self.cut, belief }
    }
}

/// The result of the first goal as that of a search: its Relevant Bounds.
fn outcome(result: &GoalResult) -> Outcome {
    let undecided = Outcome::Undecided { load: result.loads.0 };
    let at_least = |why| result.lower.map_or(undecided.clone(), |load| Outcome::AtLeast { load, why });
    match (result.irregular, result.lower, result.upper) {
        (None, Some(from), Some(to)) => {
            Outcome::Capacity { load: from, from, to, interval: IntervalKind::RelevantBounds }
        }
        (Some(Irregular::MinLoad), _, Some(lowest)) => {
            Outcome::NotMet { lowest, criteria: vec![result.goal.short_text()] }
        }
        (Some(Irregular::MaxLoad), ..) => at_least(Why::Most),
        (Some(Irregular::Generator { load }), None, _) => Outcome::Undecided { load },
        (Some(Irregular::Generator { .. }), ..) => at_least(Why::Generator),
        _ => at_least(Why::Trials),
    }
}

impl Campaign for MultipleLossRatio {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        match &self.next {
            None => Step::Done(self.finding()),
            Some(next) => Step::Run(Box::new(self.request(next))),
        }
    }

    fn learn(&mut self, run: &Digest) {
        let Some(next) = self.next else { return };
        let number = self.trials.len() as u32 + 1;
        let mut trial = Trial::of(number, next.purpose, next.input.load, self.rest_ns(), run);
        let result = TrialResult {
            load: next.input.load,
            duration_ns: self.lasts_ns(&next),
            queries: trial.queries,
            lost: trial.lost,
            ours: trial.ours,
            is_made: is_made(run),
            grows: growth_of_run(run).is_some(),
        };
        trial.judge(self.judged(&result), run, result.is_made);
        self.trials.push(trial);
        if next.purpose != Purpose::WarmUp {
            self.loads.add(result);
        }
        self.next = self.decide();
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

impl Finder for MultipleLossRatio {
    fn made(&self) -> TrialsSoFar<'_> {
        let goal = self.next.map_or(0, |next| next.goal);
        let bracket = self.selections.get(goal).and_then(|selection| selection.bracket(&self.loads));
        TrialsSoFar { trials: &self.trials, bracket }
    }
}

/// After a loss the pause is so many times as long: queues drain.
const REST_AFTER_LOSS: u64 = 4;

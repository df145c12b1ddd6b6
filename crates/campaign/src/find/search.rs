//! The search for the limit: doubling, and then trials near the limit until it can be stated with its interval.
//!
//! ```text
//!   warm-up ──► doubling ──► near the limit ──► beyond it, and after the overload ──► Done
//!    │ fails                 │        ▲
//!    └─► lowest load         └────────┘  next load: where the belief has its middle
//! ```
//!
//! The limit is the load at which a trial passes with probability 1/2. What the trials say about it is kept as a
//! [`Belief`]. A trial that is undecided says nothing, and is repeated; a load that is undecided three times is the
//! highest that this search can use. But where a trial is undecided because its figures are near their bounds, its load
//! is near the limit, and the interval allows for both: that it has passed, and that it has failed.

mod ending;
mod evidence;
mod length;
mod limit;
mod near;
mod state;
mod steer;

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;

use super::finder::{Finder, TrialsSoFar};
use super::finding::{Finding, Outcome};
use super::lengths::conditions;
use super::settings::Settings;
use super::trial::{Purpose, Trial, is_made, is_same_load};
use crate::step::{Campaign, Request, Step};
use state::{Near, UNDECIDED_OF_A_LOAD};

pub use state::Search;
pub(super) use state::{Made, Next};

impl Search {
    /// A search with these settings.
    pub fn new(settings: Settings) -> Search {
        let next = Next::Try(Purpose::WarmUp, settings.start);
        Search { settings, trials: Vec::new(), cut: 0, belief: None, next, foreign: 0, steer: None, made: 0 }
    }

    /// What is done next: for the limit, or, where that can be stated, beyond it.
    fn decide(&mut self) -> Next {
        match self.decide_near() {
            Some(next) => next,
            None => self.after(),
        }
    }

    /// What is done next for the limit; `None` where it can be stated.
    pub(super) fn decide_near(&mut self) -> Option<Next> {
        if let Some((purpose, load)) = self.again() {
            return Some(Next::Try(purpose, load));
        }
        if let Some(next) = self.warming().or_else(|| self.doubling()) {
            return Some(next);
        }
        self.believe();
        self.near()
    }

    /// Takes the record of a trial, and returns what it says about this goal.
    pub(super) fn take(&mut self, run: &Digest, made: &Made) -> Trial {
        self.made += 1;
        let purpose = if made.is_own { made.purpose } else { self.purpose_of(made.purpose) };
        let mut trial = Trial::of(self.made, purpose, made.load, made.rest_ns, run);
        trial.planned_ns = trial.planned_ns.max(made.planned_ns);
        trial.judge(self.settings.criteria.judge(run, &trial, &self.trials), run, is_made(run));
        // One that was too short for the criteria of this goal, because another has asked for it, says nothing.
        if !made.is_own && trial.is_of_few_queries() {
            return trial;
        }
        self.foreign += usize::from(!made.is_own && purpose == Purpose::Near);
        self.trials.push(trial.clone());
        trial
    }

    /// What a trial for another goal is for this one.
    fn purpose_of(&self, purpose: Purpose) -> Purpose {
        match purpose {
            Purpose::WarmUp | Purpose::Doubling | Purpose::Beyond | Purpose::Down => purpose,
            _ if self.belief.is_some() => Purpose::Near,
            _ => Purpose::Doubling,
        }
    }

    /// An undecided trial is made again, twice at the most, unless it shows that the limit is near.
    fn again(&self) -> Option<(Purpose, f64)> {
        let last =
            self.trials.last().filter(|trial| trial.passed().is_none() && trial.number == self.made)?;
        if last.purpose == Purpose::Near && last.is_near_bound() {
            return None;
        }
        let same = self
            .trials
            .iter()
            .filter(|trial| is_same_load(trial.load, last.load) && trial.passed().is_none());
        (same.count() < UNDECIDED_OF_A_LOAD).then_some((last.purpose, last.load))
    }

    /// The first load, until two trials in a row agree.
    fn warming(&self) -> Option<Next> {
        let first: Vec<&Trial> =
            self.trials.iter().filter(|trial| trial.purpose == Purpose::WarmUp).collect();
        if self.clean().next().is_none() {
            let lowest = self.settings.least;
            return match self.trials.iter().any(|trial| is_same_load(trial.load, lowest)) {
                // Each was repeated before: this load and the lowest cannot be had.
                true if !first.is_empty() => Some(self.done(Outcome::Undecided { load: lowest })),
                _ if first.is_empty() => Some(Next::Try(Purpose::WarmUp, self.settings.start)),
                _ => Some(Next::Try(Purpose::WarmUp, lowest)),
            };
        }
        let is_warm = self.trials.len() > first.len() || self.is_warm() || first.len() >= MOST_WARM_UPS;
        let load = first.last().map_or(self.settings.start, |trial| trial.load);
        (!is_warm).then_some(Next::Try(Purpose::WarmUp, load))
    }

    /// Doubles the load; where the first load is too much, tries the lowest one. `None` when there is a bracket.
    fn doubling(&self) -> Option<Next> {
        let warm = self.warm_ups().last().or_else(|| self.clean().next())?;
        let Settings { least, .. } = self.settings;
        if warm.passed() == Some(false) {
            let at_lowest: Vec<bool> = self
                .clean()
                .filter(|trial| is_same_load(trial.load, least))
                .filter_map(Trial::passed)
                .collect();
            if at_lowest.contains(&true) {
                return None;
            }
            return (at_lowest.len() < FAILURES_AT_LOWEST)
                .then_some(Next::Try(Purpose::Lowest, least))
                .or_else(|| Some(self.done(self.not_met())));
        }
        let ceiling = self.ceiling();
        let has_failed =
            self.clean().any(|trial| trial.purpose == Purpose::Doubling && trial.passed() == Some(false));
        let highest = self.highest_passed().unwrap_or(warm.load).max(self.highest_open().unwrap_or(0.0));
        if has_failed || self.belief.is_some() || highest >= ceiling * 0.999 {
            return None;
        }
        Some(Next::Try(Purpose::Doubling, self.settings.rounded((highest * 2.0).min(ceiling))))
    }

    /// The interval so far; `None` before the first trial near the limit.
    pub(super) fn interval_now(&self) -> Option<(f64, f64)> {
        self.belief.as_ref().map(|near| self.interval(near))
    }

    /// Half of the width of that, as a share of the load.
    pub(super) fn half_width_now(&self) -> Option<f64> {
        self.belief.as_ref().map(Near::half_width)
    }

    /// Half of the width of the interval that is wanted.
    pub(super) fn precision(&self) -> f64 {
        self.settings.precision
    }

    /// How long a load must be held, where the goal says so.
    pub(super) fn held_ns(&self) -> Option<u64> {
        self.settings.held_ns
    }

    /// How much a trial near the limit at this load tells, in bits.
    pub(super) fn tells(&self, load: f64) -> f64 {
        self.belief.as_ref().map_or(0.0, |near| near.belief.tells(load))
    }

    /// Takes where shorter trials have shown the limit to be; returns whether that is news.
    pub(super) fn steer_to(&mut self, shown: Option<(f64, f64)>) -> bool {
        let is_news = self.steer != shown;
        self.steer = shown;
        is_news
    }

    /// The length that a trial which is not near the limit needs for the criteria, while the limit is not known.
    pub(super) fn needed_ns(&self, purpose: Purpose, load: f64) -> u64 {
        match purpose {
            Purpose::WarmUp | Purpose::Doubling | Purpose::Lowest if self.belief.is_none() => {
                self.settings.far_ns(load)
            }
            _ => 0,
        }
    }

    fn request(&self, purpose: Purpose, load: f64) -> Request {
        let lasts_ns = self.lasts_ns(purpose, load);
        let request = self.settings.request_of(purpose, load, lasts_ns, self.rest_ns(purpose));
        let stop = conditions(&self.certain_losses(load, lasts_ns));
        Request { draft: Draft { stop_when: stop, ..request.draft }, ..request }
    }

    /// Times, each with the share of the queries whose loss in all of it makes it certain that a trial fails.
    pub(super) fn certain_losses(&self, load: f64, lasts_ns: u64) -> Vec<(u64, f64)> {
        self.settings.certain_losses(load, lasts_ns, self.usual_loss())
    }

    pub(super) fn rest_ns(&self, purpose: Purpose) -> u64 {
        let after_failure = self.follows_failure(self.trials.len());
        match purpose {
            _ if self.trials.is_empty() => 0,
            Purpose::Down => 0,
            _ if after_failure => self.settings.rest_ns.saturating_mul(REST_AFTER_FAILURE),
            _ => self.settings.rest_ns,
        }
    }
}

impl Campaign for Search {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        match &self.next {
            Next::Done(finding) => Step::Done((**finding).clone()),
            Next::Try(purpose, load) => Step::Run(Box::new(self.request(*purpose, *load))),
        }
    }

    fn learn(&mut self, run: &Digest) {
        let Next::Try(purpose, load) = self.next else { return };
        let (planned_ns, rest_ns) = (self.lasts_ns(purpose, load), self.rest_ns(purpose));
        self.take(run, &Made { purpose, load, planned_ns, rest_ns, is_own: true });
        self.next = self.decide();
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

impl Finder for Search {
    fn made(&self) -> TrialsSoFar<'_> {
        let bracket = self.interval_now();
        TrialsSoFar { trials: &self.trials, bracket }
    }
}

/// Trials of the warm-up, at the most.
const MOST_WARM_UPS: usize = 5;

/// So many failures at the lowest load are enough.
const FAILURES_AT_LOWEST: usize = 3;

/// After a failure, the pause is so many times as long: queues drain.
const REST_AFTER_FAILURE: u64 = 4;

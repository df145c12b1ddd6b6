//! One stair: the highest step below which no step failed. One trial each, so there is a bracket and no interval.

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;
use dnsdyno_text::notation::{format_duration_ns, format_rate_qps};

use super::finder::{Finder, TrialsSoFar};
use super::finding::{Finding, IntervalKind, Outcome, Why};
use super::settings::Settings;
use super::steps::{finding_of_rows, trials_of_rows};
use super::trial::{Trial, TrialVerdict};
use crate::step::{Campaign, Request, Step};

/// A stair.
#[derive(Clone, Debug)]
pub struct Stair {
    settings: Settings,
    trials: Vec<Trial>,
    cut: u32,
    is_done: bool,
}

impl Stair {
    /// A stair with these settings.
    pub fn new(settings: Settings) -> Stair {
        Stair { settings, trials: Vec::new(), cut: 0, is_done: false }
    }

    fn request(&self) -> Request {
        let Settings { start, most, .. } = self.settings;
        let hold_ns = self.settings.hold_ns();
        let range = format!("{}..{}", format_rate_qps(start), format_rate_qps(most));
        let draft = Draft {
            stair: Some(range.clone()),
            step: Some(format_rate_qps(self.settings.step_qps())),
            hold: Some(format_duration_ns(hold_ns)),
            ..self.settings.of_trials(hold_ns)
        };
        Request { draft, rest_ns: 0, commands: false, why: format!("stair {range} qps") }
    }

    fn outcome(&self) -> Outcome {
        let unmet = |trial: &Trial| match &trial.verdict {
            TrialVerdict::Failed(unmet) => unmet.iter().map(|unmet| unmet.criterion.clone()).collect(),
            _ => Vec::new(),
        };
        let first = self.trials.iter().position(|trial| trial.passed() != Some(true));
        let Some(at) = first else {
            let load = self.trials.last().map_or(self.settings.start, |trial| trial.load);
            return Outcome::AtLeast { load, why: Why::Most };
        };
        let (Some(failed), below) = (self.trials.get(at), self.trials.get(at.wrapping_sub(1))) else {
            return Outcome::Undecided { load: self.settings.start };
        };
        match (below, failed.passed()) {
            (None, None) => Outcome::Undecided { load: failed.load },
            (None, _) => Outcome::NotMet { lowest: failed.load, criteria: unmet(failed) },
            (Some(below), None) => Outcome::AtLeast { load: below.load, why: Why::Generator },
            (Some(below), _) => {
                let (load, to) = (below.load, failed.load);
                Outcome::Capacity { load, from: load, to, interval: IntervalKind::Bracket }
            }
        }
    }

    fn finding(&self) -> Finding {
        finding_of_rows(&self.settings, self.outcome(), Vec::new(), &self.trials, self.cut)
    }
}

impl Campaign for Stair {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        match self.is_done {
            true => Step::Done(self.finding()),
            false => Step::Run(Box::new(self.request())),
        }
    }

    fn learn(&mut self, run: &Digest) {
        self.trials = trials_of_rows(&self.settings, run);
        self.is_done = true;
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

impl Finder for Stair {
    fn made(&self) -> TrialsSoFar<'_> {
        TrialsSoFar { trials: &self.trials, bracket: None }
    }
}

//! A ladder of windows: 5, 10, 20, 50… queries outstanding, as one does by hand with `dnsperf -q`, with Little's law
//! beside it.
//!
//! ```text
//!   outstanding = rate × latency       rate ╭────────────── more outstanding only means more waiting
//!                                          ╱
//!                                         ╱ ◄── the knee: the smallest window with 95 % of the highest rate
//! ```

use dnsdyno_plan::Draft;
use dnsdyno_record::Digest;
use dnsdyno_text::notation::format_duration_ns;
use dnsdyno_text::units;

use super::finder::{Finder, TrialsSoFar};
use super::finding::{FindNote, Finding, IntervalKind, Outcome, Why};
use super::notes::of_trials;
use super::settings::Settings;
use super::trial::{Purpose, Trial, TrialVerdict, is_made};
use crate::step::{Campaign, Request, Step};

/// The ladder.
#[derive(Clone, Debug)]
pub struct Window {
    settings: Settings,
    trials: Vec<Trial>,
    cut: u32,
}

impl Window {
    /// A ladder with these settings.
    pub fn new(settings: Settings) -> Window {
        Window { settings, trials: Vec::new(), cut: 0 }
    }

    /// The next window; `None` at the end, or when two in a row gave no more.
    fn rung(&self) -> Option<u32> {
        let rates: Vec<f64> = self.trials.iter().map(|trial| trial.answered_qps).collect();
        let gained = |at: usize| {
            let before = rates.get(..at).unwrap_or_default().iter().copied().fold(0.0, f64::max);
            rates.get(at).is_some_and(|rate| *rate > before * GAIN)
        };
        let count = rates.len();
        let is_flat = count > 2 && !gained(count - 1) && !gained(count - 2);
        self.settings.windows().get(count).filter(|_| !is_flat).copied()
    }

    fn request(&self, rung: u32) -> Request {
        let lasts_ns = self.settings.trial_ns(f64::INFINITY);
        let draft = Draft {
            outstanding: Some(rung),
            duration: Some(format_duration_ns(lasts_ns)),
            ..self.settings.of_trials(lasts_ns)
        };
        let rest_ns = if self.trials.is_empty() { 0 } else { self.settings.rest_ns };
        Request { draft, rest_ns, commands: false, why: format!("{rung} outstanding") }
    }

    fn finding(&self) -> Finding {
        let met: Vec<&Trial> = self.trials.iter().filter(|trial| !has_failed(trial)).collect();
        let best = met.iter().map(|trial| trial.answered_qps).fold(0.0, f64::max);
        let knee = met.iter().find(|trial| trial.answered_qps >= best * NEAR_BEST);
        let from_knee = || met.iter().filter(|trial| knee.is_some_and(|knee| trial.load >= knee.load));
        let mut notes = Vec::new();
        let outcome = match (knee, self.trials.first()) {
            (None, first) => {
                let criteria = match first.map(|trial| &trial.verdict) {
                    Some(TrialVerdict::Failed(unmet)) => {
                        unmet.iter().map(|unmet| unmet.criterion.clone()).collect()
                    }
                    _ => Vec::new(),
                };
                Outcome::NotMet { lowest: first.map_or(0.0, |trial| trial.load), criteria }
            }
            (Some(knee), _) => {
                notes.push(self.knee_note(knee));
                let rates = || from_knee().map(|trial| trial.answered_qps);
                let is_ours = from_knee().any(|trial| trial.passed().is_none());
                let is_flat = self.trials.iter().filter(|trial| trial.load > knee.load).count() >= 2;
                match (is_ours, is_flat || met.len() < self.trials.len()) {
                    (true, _) => Outcome::AtLeast { load: best, why: Why::Generator },
                    (false, false) => Outcome::AtLeast { load: best, why: Why::Most },
                    (false, true) => Outcome::Capacity {
                        load: knee.answered_qps,
                        from: rates().fold(f64::INFINITY, f64::min),
                        to: best,
                        interval: IntervalKind::Range,
                    },
                }
            }
        };
        notes.extend(of_trials(&self.trials, &self.settings.criteria, None));
        let Settings { method, what, .. } = self.settings;
        let (criteria, trials) = (self.settings.criteria.texts(), self.trials.clone());
        let (goals, belief) = (Vec::new(), Vec::new());
        Finding { method, what, criteria, outcome, goals, notes, trials, cut: self.cut, belief }
    }

    fn knee_note(&self, knee: &Trial) -> FindNote {
        let mean = knee.mean_ns.map_or("-".to_owned(), units::duration);
        let figures = format!(
            "{}/s at a mean latency of {mean}; more outstanding only means more waiting",
            units::rate(knee.answered_qps)
        );
        FindNote::Knee { rule: KNEE, load: knee.load, at_ns: 0, figures }
    }
}

fn has_failed(trial: &Trial) -> bool {
    trial.passed() == Some(false)
}

impl Campaign for Window {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        match self.rung() {
            None => Step::Done(self.finding()),
            Some(rung) => Step::Run(Box::new(self.request(rung))),
        }
    }

    fn learn(&mut self, run: &Digest) {
        let Some(rung) = self.rung() else { return };
        let rest_ns = if self.trials.is_empty() { 0 } else { self.settings.rest_ns };
        let number = self.trials.len() as u32 + 1;
        let mut trial = Trial::of(number, Purpose::Step, f64::from(rung), rest_ns, run);
        let judged = self.settings.criteria.judge(run, &trial, &[]).without(super::criteria::STEADY);
        trial.judge(judged, run, is_made(run));
        self.trials.push(trial);
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

impl Finder for Window {
    fn made(&self) -> TrialsSoFar<'_> {
        TrialsSoFar { trials: &self.trials, bracket: None }
    }
}

/// A window that gives more than this times the best before it is a gain.
const GAIN: f64 = 1.05;

/// The knee has this share of the highest rate.
const NEAR_BEST: f64 = 0.95;

const KNEE: &str = "the smallest window with 95 % of the highest rate";

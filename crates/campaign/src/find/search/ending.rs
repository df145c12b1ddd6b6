//! The end of a search: what is looked at when the limit is known, and what is said then.

use super::near::UNSTABLE;
use super::state::{Near, Next, Search};
use crate::find::belief::OUTSIDE;
use crate::find::finding::{FindNote, Finding, GoalFinding, IntervalKind, Outcome, Reason, Why};
use crate::find::notes::{collapse, of_trials};
use crate::find::settings::Settings;
use crate::find::trial::{Purpose, Trial, TrialVerdict, is_same_load};

impl Search {
    /// What is looked at when the limit is known: collapse beyond it, and recovery.
    pub(in crate::find) fn after(&mut self) -> Next {
        let outcome = self.outcome();
        let Outcome::Capacity { load, from, .. } = outcome else { return self.done(outcome) };
        let (ceiling, rounded) = (self.ceiling(), |load| self.settings.rounded(load));
        let overloaded = |trial: &&Trial| trial.load >= load * OVERLOAD && trial.passed() == Some(false);
        // Where trials fail whatever their load, one failure beyond the limit is no evidence.
        let has_lapses = self.belief.as_ref().is_some_and(|near| near.belief.lapse() > TOLD_LAPSE / 2.0);
        let failures_needed = if has_lapses { 2 } else { 1 };
        let has = |purpose| self.trials.iter().filter(move |trial| trial.purpose == purpose);
        if self.is_spent() || ceiling < load * OVERLOAD || self.bends().is_some() {
            return self.done(outcome);
        }
        let recovered = (0..self.trials.len()).filter(|at| {
            let trial = &self.trials[*at];
            trial.passed() == Some(true) && trial.load >= from * RECOVERED && self.follows_failure(*at)
        });
        let is_known = recovered.count() >= 2;
        let follows_overload = |at: usize| self.trials.get(at).is_some_and(|trial| overloaded(&trial));
        let last_is_overload = self.trials.len().checked_sub(1).is_some_and(follows_overload);
        let has_down = has(Purpose::Down).next().is_some();
        let is_needed = self.clean().filter(overloaded).count() < failures_needed;
        if !has_down && (is_needed || (!is_known && !last_is_overload)) {
            return match has(Purpose::Beyond).count() {
                0..MOST_BEYOND => Next::Try(Purpose::Beyond, rounded((load * BEYOND).min(ceiling))),
                _ => self.done(outcome),
            };
        }
        let down: Vec<&Trial> = has(Purpose::Down).collect();
        let next = match (is_known, down.last()) {
            (true, _) => None,
            (false, None) => Some(from * RECOVERED),
            (false, Some(last)) if last.passed() == Some(true) => None,
            // A single failure may be a lapse, or the end of the queue of the overload.
            (false, Some(last)) if down.len() == 1 => Some(last.load),
            (false, Some(last)) => Some(last.load * 0.8),
        };
        match next.filter(|next| down.len() < MOST_DOWN && *next >= self.settings.least) {
            Some(next) => Next::Try(Purpose::Down, rounded(next)),
            None => self.done(outcome),
        }
    }

    /// What the trials say about the limit.
    pub(in crate::find) fn outcome(&self) -> Outcome {
        let Some(near) = &self.belief else { return Outcome::Undecided { load: self.settings.start } };
        let ceiling = self.ceiling();
        let (from, to) = self.interval(near);
        let middle = near.quantile(0.5);
        let loads = self.clean().map(|trial| trial.load);
        if near.belief.is_unstable() > UNSTABLE {
            let lowest = loads.min_by(f64::total_cmp).unwrap_or(self.settings.least);
            return Outcome::Unstable { share: near.belief.lapse(), from: lowest, to: middle.min(ceiling) };
        }
        let shown = self.highest_shown().unwrap_or(self.settings.least);
        let at_least = |why| Outcome::AtLeast { load: from.min(shown), why };
        if to >= ceiling * 0.999 && (ceiling < self.settings.most || middle >= ceiling * 0.999) {
            return at_least(if ceiling < self.settings.most { Why::Generator } else { Why::Most });
        }
        // Trials after an overload may say nothing of the limit, and a few of the others leave half of an octave: what
        // no trial has shown is then not claimed.
        let precision = self.settings.precision;
        if self.is_spent() && near.half_width() > precision && middle > shown * (1.0 + precision) {
            return at_least(Why::Trials);
        }
        Outcome::Capacity { load: middle, from, to, interval: IntervalKind::Confidence }
    }

    pub(super) fn done(&self, outcome: Outcome) -> Next {
        let goal = self.goal_finding(outcome);
        let Settings { method, what, .. } = self.settings;
        let (criteria, outcome, belief) = (goal.criteria.clone(), goal.outcome.clone(), goal.belief.clone());
        let (notes, trials) = (goal.notes.clone(), self.trials.clone());
        let goals = vec![goal];
        Next::Done(Box::new(Finding {
            method,
            what,
            criteria,
            outcome,
            goals,
            notes,
            trials,
            cut: self.cut,
            belief,
        }))
    }

    /// What was found for the goal.
    pub(in crate::find) fn goal_finding(&self, outcome: Outcome) -> GoalFinding {
        let of_near = |near: &Near| BELIEVED.map(|probability| (near.quantile(probability), probability));
        let counted =
            || (0..self.trials.len()).filter(|at| self.counts(*at)).filter_map(|at| self.trials.get(at));
        let counted = || counted().filter(|trial| trial.passed().is_some());
        let goal = self.settings.goals.first();
        GoalFinding {
            name: goal.and_then(|goal| goal.name.clone()),
            criteria: self.settings.criteria.texts(),
            held_ns: self.settings.held_ns,
            reason: self.reason(&outcome),
            notes: self.notes(&outcome),
            trials: counted().map(|trial| trial.number).collect(),
            load_ns: counted().map(|trial| trial.lasted_ns).sum(),
            belief: self.belief.iter().flat_map(of_near).collect(),
            outcome,
        }
    }

    fn reason(&self, outcome: &Outcome) -> Reason {
        let is_precise =
            self.belief.as_ref().is_some_and(|near| near.half_width() <= self.settings.precision);
        match outcome {
            Outcome::Capacity { .. } if is_precise => Reason::Precise,
            Outcome::Capacity { .. } | Outcome::AtLeast { why: Why::Trials, .. } => Reason::Trials,
            Outcome::AtLeast { why: Why::Generator, .. } => Reason::Generator,
            Outcome::AtLeast { why: Why::Most, .. } => Reason::Most,
            Outcome::NotMet { .. } => Reason::NotMet,
            Outcome::Unstable { .. } => Reason::Unstable,
            Outcome::Undecided { .. } => Reason::Undecided,
        }
    }

    fn notes(&self, outcome: &Outcome) -> Vec<FindNote> {
        let mut notes = Vec::new();
        let warm_ups = self.warm_ups().count() as u32;
        match self.is_warm() {
            true if warm_ups > 2 => notes.push(FindNote::Warm { trials: warm_ups }),
            false if warm_ups > 1 => notes.push(FindNote::NotWarm),
            _ => (),
        }
        notes.extend(of_trials(&self.trials, &self.settings.criteria, self.open_loads()));
        let Outcome::Capacity { load, .. } = *outcome else { return notes };
        let Some(near) = &self.belief else { return notes };
        let (noise, lapse) = (near.noise(), near.belief.lapse());
        let half = near.half_width();
        if near.drifts().is_none() && noise >= TOLD_NOISE {
            notes.push(FindNote::Noise { share: noise });
        }
        if lapse >= TOLD_LAPSE {
            notes.push(FindNote::Lapses { share: lapse });
        }
        if let Some(drift) = near.drifts() {
            let first = self.trials.iter().position(|trial| trial.purpose == Purpose::Near).unwrap_or(0);
            let lasted = (self.trials.len() - first) as f64;
            notes.push(FindNote::Drift { from: load * (-drift.shift * lasted).exp(), to: load });
        }
        if half > self.settings.precision * 1.001 {
            let more = (half / self.settings.precision).powi(2) * self.trials.len() as f64;
            let (reached, wanted) = (half, self.settings.precision);
            notes.push(FindNote::Imprecise { reached, wanted, trials_needed: more.min(1e6) as u32 });
        }
        notes.extend(self.hysteresis());
        notes.extend(collapse(&self.trials, load));
        let low = self.clean().filter(|trial| trial.load <= load / 2.0 && trial.passed() == Some(true));
        let (lost, queries) = low.fold((0, 0), |sum, trial| (sum.0 + trial.lost, sum.1 + trial.queries));
        if lost as f64 > queries as f64 * TOLD_LOSS {
            notes.push(FindNote::UsualLoss { share: lost as f64 / queries as f64 });
        }
        notes
    }

    fn hysteresis(&self) -> Option<FindNote> {
        if let Some(trend) = self.bends() {
            return Some(FindNote::Hysteresis { from: trend.shifted[0], to: trend.shifted[2] });
        }
        let down: Vec<&Trial> = self.clean().filter(|trial| trial.purpose == Purpose::Down).collect();
        let failed: Vec<&&Trial> = down.iter().filter(|trial| trial.passed() == Some(false)).collect();
        let [_, .., last] = failed.as_slice() else { return None };
        let recovered = down.last().filter(|trial| trial.passed() == Some(true) && trial.load < last.load);
        Some(FindNote::Hysteresis { from: recovered.map_or(0.0, |trial| trial.load), to: last.load })
    }

    pub(super) fn not_met(&self) -> Outcome {
        let last = self.clean().filter(|trial| is_same_load(trial.load, self.settings.least)).last();
        let criteria = match last.map(|trial| &trial.verdict) {
            Some(TrialVerdict::Failed(unmet)) => unmet.iter().map(|unmet| unmet.criterion.clone()).collect(),
            _ => Vec::new(),
        };
        Outcome::NotMet { lowest: self.settings.least, criteria }
    }
}

/// A load that is an overload, and that which is tried.
const OVERLOAD: f64 = 1.3;
const BEYOND: f64 = 1.5;

/// A load that a server holds again after an overload, as a share of the lower end of the interval.
const RECOVERED: f64 = 0.9;

/// Trials beyond the limit, at the most.
const MOST_BEYOND: usize = 6;

/// Trials after an overload, at the most.
const MOST_DOWN: usize = 10;

/// The probabilities whose loads are told: a curve of the belief, with the ends of the interval.
const BELIEVED: [f64; 13] =
    [0.002, 0.01, OUTSIDE, 0.06, 0.14, 0.3, 0.5, 0.7, 0.86, 0.94, 1.0 - OUTSIDE, 0.99, 0.998];

/// What is told.
const TOLD_NOISE: f64 = 0.02;
const TOLD_LAPSE: f64 = 0.08;
const TOLD_LOSS: f64 = 1e-4;

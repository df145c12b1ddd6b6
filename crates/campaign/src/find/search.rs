//! The search for the limit: doubling, and then trials near the limit until it can be stated with its interval.
//!
//! ```text
//!   warm-up ──► doubling ──► near the limit ──► beyond it, and after the overload ──► Done
//!    │ fails                 │        ▲
//!    └─► lowest load         └────────┘  next load: where the belief has its middle
//! ```
//!
//! The limit is the load at which a trial passes with probability 1/2. What the trials say about it is kept as a
//! [`Belief`]; a trial in which the generator is in doubt says nothing, is repeated once, and a load that is in doubt
//! twice is the highest that this search can use.

use dnsdyno_record::Digest;

use super::belief::Belief;
use super::finding::{FindNote, Finding, IntervalKind, Outcome, Why};
use super::settings::Settings;
use super::trend::{FALLS, Point, Trend, drifts, trend};
use super::trial::{Purpose, Trial, TrialVerdict, doubts};
use super::{Finder, Made};
use crate::step::{Campaign, Request, Step};

/// The search, between two trials.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    trials: Vec<Trial>,
    cut: u32,
    /// From the first trial near the limit on.
    belief: Option<Near>,
    /// What is done next.
    next: Next,
}

/// The belief, and what was found about the limit itself.
#[derive(Clone, Debug)]
struct Near {
    belief: Belief,
    /// The loads of the ends of its grid.
    from: f64,
    to: f64,
    /// Trials that it has learned.
    learned: usize,
    /// The limit falls after an overload: only trials after one that passed count, and a trial at a low load follows
    /// each failure.
    recovers: Option<Trend>,
    /// The limit moves.
    drifts: Option<Trend>,
    /// It may move, which is not shown: the interval allows for it.
    may_drift: Option<(f64, f64)>,
}

/// What is done next.
#[derive(Clone, Debug)]
enum Next {
    Try(Purpose, f64),
    Done(Box<Finding>),
}

impl Search {
    /// A search with these settings.
    pub fn new(settings: Settings) -> Search {
        let next = Next::Try(Purpose::WarmUp, settings.start);
        Search { settings, trials: Vec::new(), cut: 0, belief: None, next }
    }

    fn decide(&mut self) -> Next {
        if let Some((purpose, load)) = self.again() {
            return Next::Try(purpose, load);
        }
        if let Some(first) = self.warming() {
            return first;
        }
        if let Some(next) = self.doubling() {
            return next;
        }
        self.believe();
        match self.near() {
            Some(next) => next,
            None => self.after(),
        }
    }

    /// A trial in doubt is made again once.
    fn again(&self) -> Option<(Purpose, f64)> {
        let last = self.trials.last().filter(|trial| trial.passed().is_none())?;
        let same =
            self.trials.iter().filter(|trial| is_same(trial.load, last.load) && trial.passed().is_none());
        (same.count() < DOUBTS_OF_A_LOAD).then_some((last.purpose, last.load))
    }

    /// The first load, until two trials in a row agree.
    fn warming(&self) -> Option<Next> {
        let first: Vec<&Trial> =
            self.trials.iter().filter(|trial| trial.purpose == Purpose::WarmUp).collect();
        if first.iter().all(|trial| trial.passed().is_none()) {
            let lowest = self.settings.least;
            return match self.trials.iter().any(|trial| is_same(trial.load, lowest)) {
                // The doubt is repeated before: this load and the lowest cannot be had.
                true if !first.is_empty() => Some(self.done(Outcome::InDoubt { load: lowest })),
                _ if first.is_empty() => Some(Next::Try(Purpose::WarmUp, self.settings.start)),
                _ => Some(Next::Try(Purpose::WarmUp, lowest)),
            };
        }
        let is_warm = self.trials.len() > first.len() || self.is_warm() || first.len() >= MOST_WARM_UPS;
        let load = first.last().map_or(self.settings.start, |trial| trial.load);
        (!is_warm).then_some(Next::Try(Purpose::WarmUp, load))
    }

    /// Whether the last two trials of the warm-up agree.
    fn is_warm(&self) -> bool {
        let first: Vec<&Trial> = self.warm_ups().collect();
        let [.., a, b] = first.as_slice() else { return false };
        let is_near = match (a.p50_ns, b.p50_ns) {
            (Some(a), Some(b)) => a.abs_diff(b) as f64 <= (a.min(b) as f64 * ALIKE).max(ALIKE_NS),
            (a, b) => a.is_none() && b.is_none(),
        };
        a.passed() == b.passed() && is_near
    }

    fn warm_ups(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.purpose == Purpose::WarmUp && trial.passed().is_some())
    }

    /// Doubles the load; where the first load is too much, tries the lowest one. `None` when there is a bracket.
    fn doubling(&self) -> Option<Next> {
        let warm = self.warm_ups().last()?;
        let Settings { least, .. } = self.settings;
        if warm.passed() == Some(false) {
            let at_lowest: Vec<bool> =
                self.clean().filter(|trial| is_same(trial.load, least)).filter_map(Trial::passed).collect();
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
        let highest = self.highest_passed().unwrap_or(warm.load);
        if has_failed || self.belief.is_some() || highest >= ceiling * 0.999 {
            return None;
        }
        Some(Next::Try(Purpose::Doubling, self.settings.rounded((highest * 2.0).min(ceiling))))
    }

    fn not_met(&self) -> Outcome {
        let last = self.clean().filter(|trial| is_same(trial.load, self.settings.least)).last();
        let criteria = match last.map(|trial| &trial.verdict) {
            Some(TrialVerdict::Failed(unmet)) => unmet.iter().map(|unmet| unmet.criterion.clone()).collect(),
            _ => Vec::new(),
        };
        Outcome::NotMet { lowest: self.settings.least, criteria }
    }

    /// Trials that say something.
    fn clean(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.passed().is_some())
    }

    fn highest_passed(&self) -> Option<f64> {
        let passed =
            self.clean().filter(|trial| trial.passed() == Some(true) && trial.purpose != Purpose::Down);
        passed.map(|trial| trial.load).max_by(f64::total_cmp)
    }

    /// The highest load that can be used: that of the user, or the generator's own limit.
    fn ceiling(&self) -> f64 {
        let most = self.settings.most;
        let Some(doubted) = self.doubted() else { return most };
        let below = self.clean().filter(|trial| trial.passed() == Some(true) && trial.load < doubted);
        let highest = below.map(|trial| trial.load).max_by(f64::total_cmp);
        match highest {
            Some(highest) if doubted / highest > NEAR_OUR_LIMIT => (doubted * highest).sqrt().min(most),
            Some(highest) => highest.min(most),
            None => doubted.min(most),
        }
    }

    /// The lowest load at which the generator was in doubt twice, and never sure.
    fn doubted(&self) -> Option<f64> {
        let is_doubted = |load: f64| {
            let of = self.trials.iter().filter(|trial| is_same(trial.load, load));
            let (sure, doubted): (Vec<_>, Vec<_>) = of.partition(|trial| trial.passed().is_some());
            sure.is_empty() && doubted.len() >= DOUBTS_OF_A_LOAD
        };
        let loads = self.trials.iter().map(|trial| trial.load).filter(|load| is_doubted(*load));
        loads.min_by(f64::total_cmp)
    }

    /// Brings the belief up to the trials.
    fn believe(&mut self) {
        let ceiling = self.ceiling();
        let mut near = match self.belief.take() {
            Some(near) => near,
            None => self.bracket(),
        };
        self.learn_into(&mut near);
        // The limit may be beyond an end of the grid: a lapse has led it there.
        for _ in 0..MOST_WIDER {
            let (low, high) = near.belief.at_ends();
            let wider_from = low > AT_END && near.from > self.settings.least / 4.0;
            let wider_to = high > AT_END && near.to < 2.0 * ceiling;
            if !wider_from && !wider_to {
                break;
            }
            let from = if wider_from { near.from / 2.0 } else { near.from };
            let to = if wider_to { near.to * 2.0 } else { near.to };
            let wider = self.belief_between(from, to);
            near = Near { recovers: near.recovers, drifts: near.drifts, may_drift: near.may_drift, ..wider };
            self.learn_into(&mut near);
        }
        self.belief = Some(near);
    }

    /// The belief before any trial near the limit: an octave around what has passed and what has failed.
    fn bracket(&self) -> Near {
        let evidence =
            || (0..self.trials.len()).filter(|at| self.is_evidence(*at)).filter_map(|at| self.trials.get(at));
        let loads = |passed: bool| {
            evidence().filter(move |trial| trial.passed() == Some(passed)).map(|trial| trial.load)
        };
        let highest = loads(true).max_by(f64::total_cmp).unwrap_or(self.settings.least);
        let lowest_failed = loads(false).min_by(f64::total_cmp).unwrap_or(highest);
        let failed_above = loads(false).filter(|load| *load > highest).min_by(f64::total_cmp);
        self.belief_between(highest.min(lowest_failed) / 2.0, failed_above.unwrap_or(self.ceiling()) * 2.0)
    }

    fn belief_between(&self, from: f64, to: f64) -> Near {
        let belief = Belief::between(from, to, self.settings.precision / PLACES_OF_PRECISION);
        Near { belief, from, to, learned: 0, recovers: None, drifts: None, may_drift: None }
    }

    fn learn_into(&self, near: &mut Near) {
        for at in near.learned..self.trials.len() {
            let Some(trial) = self.trials.get(at).filter(|_| self.is_evidence(at)) else { continue };
            if near.recovers.is_some() && self.follows_failure(at) {
                continue;
            }
            trial.passed().into_iter().for_each(|passed| near.belief.learn(trial.load, passed));
        }
        near.learned = self.trials.len();
    }

    /// Whether a trial says where the limit is.
    fn is_evidence(&self, at: usize) -> bool {
        let Some(trial) = self.trials.get(at) else { return false };
        match trial.purpose {
            Purpose::WarmUp => self.trials.get(at + 1).is_none_or(|next| next.purpose != Purpose::WarmUp),
            Purpose::Down | Purpose::Step => false,
            // One that passes there shows that the limit is not where it seemed.
            Purpose::Beyond => true,
            Purpose::Doubling | Purpose::Lowest | Purpose::Near | Purpose::Recover => true,
        }
    }

    /// Whether the trial before it failed.
    fn follows_failure(&self, at: usize) -> bool {
        let before = self.trials.get(..at).unwrap_or_default();
        before.iter().rev().find_map(Trial::passed) == Some(false)
    }

    /// The next trial near the limit; `None` when the limit can be stated.
    fn near(&mut self) -> Option<Next> {
        let ceiling = self.ceiling();
        let Settings { precision, most_trials, least, .. } = self.settings;
        if self.trials.iter().any(|trial| trial.purpose == Purpose::Down) {
            return None;
        }
        let spent = self.trials.len() as u32 >= most_trials;
        let count = self.trials.iter().filter(|trial| trial.purpose == Purpose::Near).count();
        let near = self.belief.as_ref()?;
        let (from, to) = self.interval(near);
        let wanted = if near.drifts.is_some() { 2.0 * precision } else { precision };
        let is_precise = (to / from).ln() / 2.0 <= wanted;
        let is_noisy = near.belief.noise() > SUSPICIOUS_NOISE && count.is_multiple_of(TREND_EVERY);
        if count >= FEWEST_FOR_TREND && (is_precise || spent || is_noisy) {
            self.look_for_trends();
        }
        let near = self.belief.as_ref()?;
        let (from, to) = self.interval(near);
        let wanted = if near.drifts.is_some() { 2.0 * precision } else { precision };
        let is_precise = (to / from).ln() / 2.0 <= wanted;
        let is_above = near.belief.above(ceiling) > 0.975;
        let is_unstable = count >= FEWEST_FOR_UNSTABLE && near.belief.is_unstable() > UNSTABLE;
        if is_precise || is_above || spent || is_unstable {
            return None;
        }
        if near.recovers.is_some() && self.follows_failure(self.trials.len()) {
            let low = near.recovers.as_ref().map_or(from, |trend| trend.shifted[0].min(from));
            return Some(Next::Try(Purpose::Recover, self.settings.rounded((low * 0.7).max(least))));
        }
        let noise = near.belief.noise();
        // Half of the probability is within this distance from the middle. Once that is small, trials beside the middle
        // say more: about the noise, and whether the limit could be beyond the ends of the interval after all.
        let within = (near.belief.quantile(0.75) / near.belief.quantile(0.25)).ln() / 2.0;
        let is_near = within < precision * HALF_OF_95 || within < noise * HALF_OF_95;
        let beside = if is_near { (BESIDE * noise).max(EDGE * precision) } else { 0.0 };
        let middle = match &near.drifts {
            Some(trend) => trend.shifted[1],
            None => near.belief.quantile(0.5),
        };
        let load = middle * (if count.is_multiple_of(2) { beside } else { -beside }).exp();
        let load = self.settings.rounded(load.clamp(least, ceiling)).min(ceiling);
        Some(Next::Try(Purpose::Near, load))
    }

    /// The interval of the limit.
    fn interval(&self, near: &Near) -> (f64, f64) {
        match &near.drifts {
            Some(trend) => (trend.shifted[0], trend.shifted[2]),
            None => (near.belief.quantile(0.025), near.belief.quantile(0.975)),
        }
    }

    /// Looks whether the limit moves.
    fn look_for_trends(&mut self) {
        let Some(near) = &self.belief else { return };
        let (from, to) = (near.belief.quantile(0.005) / AROUND, near.belief.quantile(0.995) * AROUND);
        let count = self.trials.len();
        let first = (0..count).find(|at| self.trials[*at].purpose == Purpose::Near).unwrap_or(0);
        let points = |z: &dyn Fn(usize) -> f64| -> Vec<Point> {
            let around = |trial: &&Trial| (from / 2.0..to * 2.0).contains(&trial.load);
            (first..count)
                .filter(|at| self.is_evidence(*at))
                .filter_map(|at| {
                    let trial = self.trials.get(at).filter(around)?;
                    Some(Point { load: trial.load, passed: trial.passed()?, z: z(at) })
                })
                .collect()
        };
        let in_time = points(&|at| (at - first) as f64 / (count - first).max(2) as f64);
        let after = points(&|at| f64::from(u8::from(self.follows_failure(at))));
        let fall = trend(&after, FALLS, from, to);
        let drift = trend(&in_time, &drifts(), from, to);
        let Some(near) = &mut self.belief else { return };
        if near.recovers.is_some() || (fall.odds > SHOWN && fall.odds >= drift.odds) {
            let is_new = near.recovers.replace(fall).is_none();
            near.drifts = None;
            if is_new {
                let fresh = self.belief_between(self.bounds().0, self.bounds().1);
                let trend = self.belief.take().and_then(|near| near.recovers);
                let mut near = Near { recovers: trend, ..fresh };
                self.learn_into(&mut near);
                self.belief = Some(near);
            }
        } else {
            near.may_drift = (drift.odds > POSSIBLE).then_some((drift.shifted[0], drift.shifted[2]));
            near.drifts = (drift.odds > SHOWN).then_some(drift);
        }
    }

    fn bounds(&self) -> (f64, f64) {
        self.belief.as_ref().map_or((self.settings.least, self.settings.most), |near| (near.from, near.to))
    }

    /// What is looked at when the limit is known: collapse beyond it, and recovery.
    fn after(&mut self) -> Next {
        let outcome = self.outcome();
        let Outcome::Capacity { load, from, .. } = outcome else { return self.done(outcome) };
        let (ceiling, rounded) = (self.ceiling(), |load| self.settings.rounded(load));
        let overloaded = |trial: &&Trial| trial.load >= load * OVERLOAD && trial.passed() == Some(false);
        // Where trials fail whatever their load, one failure beyond the limit is no evidence.
        let has_lapses = self.belief.as_ref().is_some_and(|near| near.belief.lapse() > TOLD_LAPSE / 2.0);
        let failures_needed = if has_lapses { 3 } else { 1 };
        let has = |purpose| self.trials.iter().filter(move |trial| trial.purpose == purpose);
        let is_spent = self.trials.len() as u32 >= self.settings.most_trials;
        if is_spent || ceiling < load * OVERLOAD || self.bends().is_some() {
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

    /// The trend of a limit that falls after an overload.
    fn bends(&self) -> Option<&Trend> {
        self.belief.as_ref().and_then(|near| near.recovers.as_ref())
    }

    fn outcome(&self) -> Outcome {
        let Some(near) = &self.belief else { return Outcome::InDoubt { load: self.settings.start } };
        let ceiling = self.ceiling();
        let (from, to) = self.interval(near);
        let middle = match &near.drifts {
            Some(trend) => trend.shifted[1],
            None => near.belief.quantile(0.5),
        };
        let loads = self.clean().map(|trial| trial.load);
        if near.belief.is_unstable() > UNSTABLE {
            let lowest = loads.min_by(f64::total_cmp).unwrap_or(self.settings.least);
            return Outcome::Unstable { share: near.belief.lapse(), from: lowest, to: middle.min(ceiling) };
        }
        if to >= ceiling * 0.999 && (ceiling < self.settings.most || middle >= ceiling * 0.999) {
            let why = if ceiling < self.settings.most { Why::Generator } else { Why::Most };
            let highest = self.highest_passed().unwrap_or(self.settings.least);
            return Outcome::AtLeast { load: from.min(highest), why };
        }
        let (from, to) = match near.may_drift.filter(|_| near.drifts.is_none() && near.recovers.is_none()) {
            Some((low, high)) => (from.min(low), to.max(high)),
            None => (from, to),
        };
        Outcome::Capacity { load: middle, from, to, interval: IntervalKind::Confidence }
    }

    fn done(&self, outcome: Outcome) -> Next {
        let notes = self.notes(&outcome);
        let Settings { method, what, criteria, .. } = &self.settings;
        let (criteria, trials) = (criteria.texts(), self.trials.clone());
        let finding =
            Finding { method: *method, what: *what, criteria, outcome, notes, trials, cut: self.cut };
        Next::Done(Box::new(finding))
    }

    fn notes(&self, outcome: &Outcome) -> Vec<FindNote> {
        let mut notes = Vec::new();
        let warm_ups = self.warm_ups().count() as u32;
        match self.is_warm() {
            true if warm_ups > 2 => notes.push(FindNote::Warm { trials: warm_ups }),
            false if warm_ups > 1 => notes.push(FindNote::NotWarm),
            _ => (),
        }
        notes.extend(doubt_note(&self.trials));
        let Outcome::Capacity { load, from, to, .. } = *outcome else { return notes };
        let Some(near) = &self.belief else { return notes };
        let (noise, lapse) = (near.belief.noise(), near.belief.lapse());
        let half = (to / from).ln() / 2.0;
        if near.drifts.is_none() && noise >= TOLD_NOISE {
            notes.push(FindNote::Noise { share: noise });
        }
        if lapse >= TOLD_LAPSE {
            notes.push(FindNote::Lapses { share: lapse });
        }
        if let Some(drift) = &near.drifts {
            notes.push(FindNote::Drift { from: load * (-drift.shift).exp(), to: load });
        } else if half > self.settings.precision * 1.001 {
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
        let rest_ns = self.rest_ns(purpose);
        let mut trial = Trial::of(self.trials.len() as u32 + 1, purpose, load, rest_ns, run);
        let doubts = doubts(run);
        trial.verdict = match self.settings.criteria.unmet(run, &trial, &self.trials) {
            _ if !doubts.is_empty() => TrialVerdict::InDoubt(doubts),
            unmet if unmet.is_empty() => TrialVerdict::Passed,
            unmet => TrialVerdict::Failed(unmet),
        };
        self.trials.push(trial);
        self.next = self.decide();
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

impl Search {
    fn request(&self, purpose: Purpose, load: f64) -> Request {
        self.settings.request(purpose, load, self.rest_ns(purpose))
    }

    fn rest_ns(&self, purpose: Purpose) -> u64 {
        let after_failure = self.follows_failure(self.trials.len());
        match purpose {
            _ if self.trials.is_empty() => 0,
            Purpose::Down => 0,
            _ if after_failure => self.settings.rest_ns.saturating_mul(REST_AFTER_FAILURE),
            _ => self.settings.rest_ns,
        }
    }
}

impl Finder for Search {
    fn made(&self) -> Made<'_> {
        let bracket = self.belief.as_ref().map(|near| self.interval(near));
        Made { trials: &self.trials, bracket }
    }
}

/// The note on trials in doubt.
pub(super) fn doubt_note(trials: &[Trial]) -> Option<FindNote> {
    let mut warnings: Vec<String> = Vec::new();
    let (mut lowest, mut count) = (f64::INFINITY, 0);
    for trial in trials {
        let TrialVerdict::InDoubt(names) = &trial.verdict else { continue };
        (lowest, count) = (lowest.min(trial.load), count + 1);
        warnings.extend(names.iter().cloned());
    }
    warnings.sort();
    warnings.dedup();
    (count > 0).then_some(FindNote::Doubt { load: lowest, trials: count, warnings })
}

/// Whether fewer queries were answered beyond the limit than at it.
pub(super) fn collapse(trials: &[Trial], limit: f64) -> Option<FindNote> {
    let clean = || trials.iter().filter(|trial| trial.passed().is_some());
    let by_answered = |a: &&Trial, b: &&Trial| a.answered_qps.total_cmp(&b.answered_qps);
    let peak = clean().filter(|trial| trial.load <= limit * 1.1).max_by(by_answered)?;
    let worst = clean().filter(|trial| trial.load >= limit * 1.1).min_by(by_answered)?;
    (worst.answered_qps < peak.answered_qps * COLLAPSED).then_some(FindNote::Collapse {
        load: worst.load,
        answered_qps: worst.answered_qps,
        peak_load: peak.load,
        peak_qps: peak.answered_qps,
    })
}

fn is_same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.001
}

/// A load that is in doubt so often is not tried again.
const DOUBTS_OF_A_LOAD: usize = 2;

/// Trials of the warm-up, at the most.
const MOST_WARM_UPS: usize = 5;

/// The medians of two trials of a warm server differ by less than this share, or by less than this time.
const ALIKE: f64 = 0.25;
const ALIKE_NS: f64 = 100_000.0;

/// So many failures at the lowest load are enough.
const FAILURES_AT_LOWEST: usize = 3;

/// The generator's limit is not looked for more closely than this.
const NEAR_OUR_LIMIT: f64 = 1.1;

/// Probability at an end of the grid that makes it wider.
const AT_END: f64 = 0.02;
const MOST_WIDER: usize = 6;

/// Places of the grid within the precision.
const PLACES_OF_PRECISION: f64 = 8.0;

/// A limit whose noise is below this does not move.
const SUSPICIOUS_NOISE: f64 = 0.01;

/// Fewer trials near the limit show no trend; then it is looked for after every so many.
const FEWEST_FOR_TREND: usize = 8;
const TREND_EVERY: usize = 4;

/// How many times as probable the trials must be with a trend as without.
const SHOWN: f64 = 30.0;

/// And so many times, for the interval to allow for a drift that is not shown.
const POSSIBLE: f64 = 2.0;

/// How far around the limit a trend is looked for.
const AROUND: f64 = 1.5;

/// The distance from the middle, in widths of the noise, of trials that say something about the limit and about the
/// noise; and in widths of the precision, where the noise is small.
const BESIDE: f64 = 0.7;
const EDGE: f64 = 0.6;

/// Of a normal distribution half is within a third of the width that has 95 %.
const HALF_OF_95: f64 = 0.34;

/// The probability that so many trials fail whatever their load that there is no limit to speak of.
const UNSTABLE: f64 = 0.9;
const FEWEST_FOR_UNSTABLE: usize = 12;

/// A load that is an overload, and that which is tried.
const OVERLOAD: f64 = 1.3;
const BEYOND: f64 = 1.5;

/// A load that a server holds again after an overload, as a share of the lower end of the interval.
const RECOVERED: f64 = 0.9;

/// Trials beyond the limit, at the most.
const MOST_BEYOND: usize = 6;

/// Trials after an overload, at the most.
const MOST_DOWN: usize = 10;

/// Fewer answers than this share of the most are a collapse.
const COLLAPSED: f64 = 0.85;

/// After a failure, the pause is so many times as long: queues drain.
const REST_AFTER_FAILURE: u64 = 4;

/// What is told.
const TOLD_NOISE: f64 = 0.02;
const TOLD_LAPSE: f64 = 0.08;
const TOLD_LOSS: f64 = 1e-4;

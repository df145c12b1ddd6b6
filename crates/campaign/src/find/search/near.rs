//! Trials near the limit: what they say about it, and which load is tried next.

use super::state::{Near, Next, Search};
use crate::find::belief::{Belief, OUTSIDE, TrialOutcome};
use crate::find::settings::Settings;
use crate::find::trend::{Motion, Point, Trend};
use crate::find::trial::{Purpose, Trial};

impl Search {
    /// Brings the belief up to the trials.
    pub(super) fn believe(&mut self) {
        let ceiling = self.ceiling();
        let mut near = match self.belief.take() {
            Some(near) => near,
            None => self.bracket(),
        };
        self.learn_into(&mut near, TrialOutcome::Either);
        // The limit may be beyond an end of the grid: a lapse has led it there.
        let roof = self.roof();
        for _ in 0..MOST_WIDER {
            let (low, high) = near.belief.at_ends();
            let wider_from = low > AT_END && near.from > self.settings.least / 4.0;
            let wider_to = high > AT_END && near.to < 2.0 * ceiling.min(roof);
            if !wider_from && !wider_to {
                break;
            }
            // What is as good as ruled out at the other end is left out, so that the grid stays fine.
            let (least, most) = (near.belief.quantile(RULED_OUT), near.belief.quantile(1.0 - RULED_OUT));
            let from = if wider_from { near.from / 2.0 } else { near.from.max(least / 4.0) };
            let to = if wider_to { near.to * 2.0 } else { near.to.min(most * 4.0) };
            near = self.again_between(from, to, near);
        }
        self.belief = Some(near);
        self.look_for_motion();
    }

    /// The same belief on another grid.
    fn again_between(&self, from: f64, to: f64, near: Near) -> Near {
        let belief = Belief::between(from, to, self.settings.precision / PLACES_OF_PRECISION);
        let mut wider = Near { belief, from, to, learned: 0, ..near };
        self.learn_into(&mut wider, TrialOutcome::Either);
        wider
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
        Near { belief, from, to, learned: 0, drift: None, fall: None, recovers: false }
    }

    fn learn_into(&self, near: &mut Near, either: TrialOutcome) {
        for at in near.learned..self.trials.len() {
            let Some(trial) = self.trials.get(at).filter(|_| self.counts(at)) else { continue };
            if near.recovers && self.follows_failure(at) {
                continue;
            }
            if let Some(seen) = self.seen(trial, either) {
                near.belief.learn(trial.load, seen);
            }
        }
        near.learned = self.trials.len();
    }

    /// What a trial says; `either` is taken of one that is undecided because the limit is near, and nothing of any
    /// other that is undecided.
    fn seen(&self, trial: &Trial, either: TrialOutcome) -> Option<TrialOutcome> {
        let decided =
            trial.passed().map(|passed| if passed { TrialOutcome::Passed } else { TrialOutcome::Failed });
        decided.or(trial.is_near_bound().then_some(either))
    }

    /// The interval of the limit. The trials that are undecided because the limit is near have all failed for its lower
    /// end, and have all passed for its upper end.
    pub(super) fn interval(&self, near: &Near) -> (f64, f64) {
        let (from, to) = near.interval();
        if self.open_loads().is_none() {
            return (from, to);
        }
        let as_if = |either: TrialOutcome| {
            let belief = Belief::between(near.from, near.to, self.settings.precision / PLACES_OF_PRECISION);
            let mut other = Near { belief, learned: 0, ..near.clone() };
            self.learn_into(&mut other, either);
            self.move_with(&mut other, either);
            other
        };
        let (low, high) =
            (as_if(TrialOutcome::Failed).interval().0, as_if(TrialOutcome::Passed).interval().1);
        (from.min(low), to.max(high))
    }

    /// The next trial near the limit; `None` when the limit can be stated.
    pub(super) fn near(&self) -> Option<Next> {
        let ceiling = self.ceiling();
        let Settings { precision, least, .. } = self.settings;
        if self.trials.iter().any(|trial| trial.purpose == Purpose::Down) {
            return None;
        }
        let near = self.belief.as_ref()?;
        let near_limit =
            |at: &usize| self.trials.get(*at).is_some_and(|trial| trial.purpose == Purpose::Near);
        let all = (0..self.trials.len()).filter(near_limit).count();
        let count = (0..self.trials.len()).filter(|at| near_limit(at) && self.counts(*at)).count();
        let own = all.saturating_sub(self.foreign);
        let (from, _) = near.interval();
        let is_precise = near.half_width() <= precision;
        let is_above = near.belief.above(ceiling) > 1.0 - OUTSIDE;
        let is_unstable = count >= FEWEST_FOR_UNSTABLE && near.belief.is_unstable() > UNSTABLE;
        if is_precise || is_above || self.is_spent() || is_unstable {
            return None;
        }
        let fit = |load: f64| self.settings.rounded(load.clamp(least, ceiling)).min(ceiling);
        if let Some(fall) = near.fall.as_ref().filter(|_| near.recovers)
            && self.follows_failure(self.trials.len())
        {
            let low = self.lowest_failed_since_passed().unwrap_or(from).min(fall.shifted[0]);
            return Some(Next::Try(Purpose::Recover, fit(low * RECOVERY)));
        }
        // Near the limit half of the trials fail whether the limit differs from trial to trial or half of all trials
        // fail whatever their load. Far below the limit only the latter do.
        let is_unsure = !near.recovers && (NO_LONGER..UNSTABLE).contains(&near.belief.is_unstable());
        if is_unsure && count >= FEWEST_FOR_TELLING && count.is_multiple_of(TELLING_EACH) {
            return Some(Next::Try(Purpose::Near, fit(from * FAR_BELOW)));
        }
        let noise = near.noise();
        // Half of the probability is within this distance from the middle. Once that is small, trials beside the middle
        // say more: about the noise, and whether the limit could be beyond the ends of the interval after all.
        let within = (near.quantile(0.75) / near.quantile(0.25)).ln() / 2.0;
        let is_near = within < precision * HALF_OF_95 || within < noise * HALF_OF_95;
        let pointed = self.pointed(near).filter(|_| !is_near);
        let beside = if is_near { (BESIDE * noise).max(EDGE * precision) } else { 0.0 };
        // Where a failure costs two trials, rather too low than too high.
        let cautious = if near.recovers && !is_near { CAUTIOUS } else { 0.5 };
        let middle = near.quantile(cautious);
        let is_credible =
            |(from, to): &(f64, f64)| !is_near && (count == 0 || near.belief.within(*from, *to) > CREDIBLE);
        let middle = match self.steer.filter(is_credible) {
            Some((from, to)) => middle.clamp(from, to),
            None => middle,
        };
        let load = middle * (if own.is_multiple_of(2) { beside } else { -beside }).exp();
        let load = pointed.unwrap_or(load);
        // Whether the one failure above was a lapse is best seen at that load itself.
        let lone = self
            .failed_once()
            .filter(|failed| !is_near && pointed.is_none() && near.belief.above(*failed) > UNSURE);
        let load = if lone.is_some() { self.roof() } else { load };
        Some(Next::Try(Purpose::Near, fit(load.min(self.roof()))))
    }

    /// The lowest load of the failures after the last trial that passed.
    fn lowest_failed_since_passed(&self) -> Option<f64> {
        let clean: Vec<&Trial> = self.clean().collect();
        let failed = clean.iter().rev().take_while(|trial| trial.passed() == Some(false));
        failed.map(|trial| trial.load).min_by(f64::total_cmp)
    }

    /// Looks whether the limit moves with time, or is lower after an overload.
    fn look_for_motion(&mut self) {
        let Some(mut near) = self.belief.take() else { return };
        let recovered = near.recovers;
        self.move_with(&mut near, TrialOutcome::Either);
        let falls = |trend: &Option<Trend>| trend.as_ref().map_or(1.0, |trend| trend.odds);
        near.recovers = falls(&near.fall) > SUSPECTED && falls(&near.fall) >= falls(&near.drift);
        if near.recovers != recovered {
            let (from, to) = (near.from, near.to);
            near = self.again_between(from, to, near);
        }
        self.belief = Some(near);
    }

    /// What the trials say about a limit that moves.
    fn move_with(&self, near: &mut Near, either: TrialOutcome) {
        let (from, to) = (near.belief.quantile(0.005) / AROUND, near.belief.quantile(0.995) * AROUND);
        let near_limit = |at: &usize| {
            let trial = self.trials.get(*at)?;
            let passed = match self.seen(trial, either)? {
                TrialOutcome::Passed => true,
                TrialOutcome::Failed => false,
                TrialOutcome::Either => return None,
            };
            let is_around = (from / 2.0..to * 2.0).contains(&trial.load);
            is_around.then_some((trial.load, passed, self.follows_failure(*at)))
        };
        // Trials that say nothing of this goal take no time of it.
        let counted: Vec<usize> = (0..self.trials.len()).filter(|at| self.counts(*at)).collect();
        let points: Vec<Point> = (0_u32..)
            .zip(counted.iter().rev())
            .filter_map(|(ago, at)| {
                let (load, passed, follows_failure) = near_limit(at)?;
                Some(Point { load, passed, ago: f64::from(ago), follows_failure })
            })
            .collect();
        near.fall = Some(Trend::of(Motion::Fall, &points, from, to));
        near.drift = Some(Trend::of(Motion::Drift, &points, from, to));
    }

    /// The trend of a limit that falls after an overload.
    pub(super) fn bends(&self) -> Option<&Trend> {
        self.belief.as_ref().and_then(Near::falls)
    }
}

/// Probability at an end of the grid that makes it wider.
const AT_END: f64 = 0.02;
const MOST_WIDER: usize = 6;

/// A probability at the other end that is none.
const RULED_OUT: f64 = 1e-5;

/// Places of the grid within the precision.
const PLACES_OF_PRECISION: f64 = 8.0;

/// A server recovers at this share of a load that was too much after an overload.
const RECOVERY: f64 = 0.7;

/// How many times as probable the trials must be with a limit that falls after an overload as without, for the search
/// to let the server recover after each failure.
const SUSPECTED: f64 = 2.5;

/// The probability that must be where shorter trials have shown the limit to be, for trials to be made there.
const CREDIBLE: f64 = 0.04;

/// The probability that the limit is above a load that has failed, from which on that load is tried again.
const UNSURE: f64 = 0.25;

/// How far around the limit a trend is looked for.
const AROUND: f64 = 1.5;

/// The distance from the middle, in widths of the noise, of trials that say something about the limit and about the
/// noise; and in widths of the precision, where the noise is small.
const BESIDE: f64 = 0.7;
const EDGE: f64 = 0.6;

/// Where a failure costs a second trial, at a low load, most is learned for the cost at a load that rather passes.
const CAUTIOUS: f64 = 0.4;

/// Of a normal distribution half is within a third of the width that has 95 %.
const HALF_OF_95: f64 = 0.34;

/// The probability that so many trials fail whatever their load that there is no limit to speak of.
pub(super) const UNSTABLE: f64 = 0.9;
const FEWEST_FOR_UNSTABLE: usize = 12;

/// The same probability, below which it is no longer looked at.
const NO_LONGER: f64 = 0.02;

/// While it is between these, each third trial is made at this share of the lower end of the interval.
const FAR_BELOW: f64 = 0.6;
const TELLING_EACH: usize = 3;
const FEWEST_FOR_TELLING: usize = 12;

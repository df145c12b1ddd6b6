//! Trials near the limit: what they say about it, and which load is tried next.

use super::state::{Near, Next, Search};
use crate::find::belief::{Belief, OUTSIDE};
use crate::find::settings::Settings;
use crate::find::trend::{FALLS, Point, Trend, drifts, trend};
use crate::find::trial::{Purpose, Trial};

impl Search {
    /// Brings the belief up to the trials.
    pub(super) fn believe(&mut self) {
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
            // What is as good as ruled out at the other end is left out, so that the grid stays fine.
            let (least, most) = (near.belief.quantile(RULED_OUT), near.belief.quantile(1.0 - RULED_OUT));
            let from = if wider_from { near.from / 2.0 } else { near.from.max(least / 4.0) };
            let to = if wider_to { near.to * 2.0 } else { near.to.min(most * 4.0) };
            let wider = self.belief_between(from, to);
            let Near { recovers, drifts, may_drift, suspected, .. } = near;
            near = Near { recovers, drifts, may_drift, suspected, ..wider };
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
        Near { belief, from, to, learned: 0, recovers: None, drifts: None, may_drift: None, suspected: None }
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

    /// The next trial near the limit; `None` when the limit can be stated.
    pub(super) fn near(&mut self) -> Option<Next> {
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
            self.look_for_trends(true);
        } else if count >= FEWEST_FOR_FALL && self.contradicts() {
            self.look_for_trends(false);
        }
        let near = self.belief.as_ref()?;
        let (from, to) = self.interval(near);
        let wanted = if near.drifts.is_some() { 2.0 * precision } else { precision };
        let is_precise = (to / from).ln() / 2.0 <= wanted;
        let is_above = near.belief.above(ceiling) > 1.0 - OUTSIDE;
        let is_unstable = count >= FEWEST_FOR_UNSTABLE && near.belief.is_unstable() > UNSTABLE;
        if is_precise || is_above || spent || is_unstable {
            return None;
        }
        if near.recovers.is_some() && self.follows_failure(self.trials.len()) {
            let low = near.recovers.as_ref().map_or(from, |trend| trend.shifted[0].min(from));
            return Some(Next::Try(Purpose::Recover, self.settings.rounded((low * RECOVERY).max(least))));
        }
        // A trial at that load decides it, after one that passed.
        if let Some(load) = near.suspected {
            if self.follows_failure(self.trials.len()) {
                let low = self.lowest_failed_since_passed().unwrap_or(from);
                return Some(Next::Try(Purpose::Recover, self.settings.rounded((low * RECOVERY).max(least))));
            }
            self.belief.iter_mut().for_each(|near| near.suspected = None);
            return Some(Next::Try(
                Purpose::Near,
                self.settings.rounded(load.clamp(least, ceiling)).min(ceiling),
            ));
        }
        let noise = near.belief.noise();
        // Half of the probability is within this distance from the middle. Once that is small, trials beside the middle
        // say more: about the noise, and whether the limit could be beyond the ends of the interval after all.
        let within = (near.belief.quantile(0.75) / near.belief.quantile(0.25)).ln() / 2.0;
        let is_near = within < precision * HALF_OF_95 || within < noise * HALF_OF_95;
        let beside = if is_near { (BESIDE * noise).max(EDGE * precision) } else { 0.0 };
        let middle = match &near.drifts {
            Some(trend) => trend.shifted[1],
            // There a failure costs two trials.
            None if near.recovers.is_some() && !is_near => near.belief.quantile(CAUTIOUS),
            None => near.belief.quantile(0.5),
        };
        let load = middle * (if count.is_multiple_of(2) { beside } else { -beside }).exp();
        let load = self.settings.rounded(load.clamp(least, ceiling)).min(ceiling);
        Some(Next::Try(Purpose::Near, load))
    }

    /// The interval of the limit.
    pub(super) fn interval(&self, near: &Near) -> (f64, f64) {
        match &near.drifts {
            Some(trend) => (trend.shifted[0], trend.shifted[2]),
            None => (near.belief.quantile(OUTSIDE), near.belief.quantile(1.0 - OUTSIDE)),
        }
    }

    /// The lowest load of the failures after the last trial that passed.
    fn lowest_failed_since_passed(&self) -> Option<f64> {
        let failed = self
            .clean()
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .take_while(|trial| trial.passed() == Some(false));
        failed.map(|trial| trial.load).min_by(f64::total_cmp)
    }

    /// Whether the last trial and an earlier one cannot both be true of a limit that stays where it is.
    fn contradicts(&self) -> bool {
        let Some((last, before)) = self.trials.split_last() else { return false };
        before.iter().any(|other| match (last.passed(), other.passed()) {
            (Some(true), Some(false)) => other.load < last.load,
            (Some(false), Some(true)) => other.load > last.load,
            _ => false,
        })
    }

    /// Looks whether the limit is lower after an overload, and, where it is asked for, whether it moves with time.
    fn look_for_trends(&mut self, in_time_too: bool) {
        let Some(near) = &self.belief else { return };
        let (from, to) = (near.belief.quantile(0.005) / AROUND, near.belief.quantile(0.995) * AROUND);
        let count = self.trials.len();
        let first = (0..count).find(|at| self.trials[*at].purpose == Purpose::Near).unwrap_or(0);
        let points = |first: usize, z: &dyn Fn(usize) -> f64| -> Vec<Point> {
            let around = |trial: &&Trial| (from / 2.0..to * 2.0).contains(&trial.load);
            (first..count)
                .filter(|at| self.is_evidence(*at))
                .filter_map(|at| {
                    let trial = self.trials.get(at).filter(around)?;
                    Some(Point { load: trial.load, passed: trial.passed()?, z: z(at) })
                })
                .collect()
        };
        let in_time = points(first, &|at| (at - first) as f64 / (count - first).max(2) as f64);
        let after = points(0, &|at| f64::from(u8::from(self.follows_failure(at))));
        let fall = trend(&after, FALLS, from, to);
        let drift = (in_time_too || fall.odds > SHOWN).then(|| trend(&in_time, &drifts(), from, to));
        let drift_odds = drift.as_ref().map_or(1.0, |drift| drift.odds);
        let Some(near) = &mut self.belief else { return };
        let otherwise = fall.shifted[1] * (-fall.shift).exp();
        near.suspected = (fall.odds > SUSPECTED && near.recovers.is_none()).then_some(otherwise);
        if near.recovers.is_some() || (fall.odds > SHOWN && fall.odds >= drift_odds) {
            let is_new = near.recovers.replace(fall).is_none();
            near.drifts = None;
            if is_new {
                let fresh = self.belief_between(self.bounds().0, self.bounds().1);
                let trend = self.belief.take().and_then(|near| near.recovers);
                let mut near = Near { recovers: trend, ..fresh };
                self.learn_into(&mut near);
                self.belief = Some(near);
            }
        } else if let Some(drift) = drift {
            near.may_drift = (drift.odds > POSSIBLE).then_some((drift.shifted[0], drift.shifted[2]));
            near.drifts = (drift.odds > SHOWN).then_some(drift);
        }
    }

    fn bounds(&self) -> (f64, f64) {
        self.belief.as_ref().map_or((self.settings.least, self.settings.most), |near| (near.from, near.to))
    }

    /// The trend of a limit that falls after an overload.
    pub(super) fn bends(&self) -> Option<&Trend> {
        self.belief.as_ref().and_then(|near| near.recovers.as_ref())
    }
}

/// Probability at an end of the grid that makes it wider.
const AT_END: f64 = 0.02;
const MOST_WIDER: usize = 6;

/// A probability at the other end that is none.
const RULED_OUT: f64 = 1e-5;

/// Places of the grid within the precision.
const PLACES_OF_PRECISION: f64 = 8.0;

/// A limit whose noise is below this does not move.
const SUSPICIOUS_NOISE: f64 = 0.01;

/// Fewer trials near the limit show no trend; then it is looked for after every so many. A limit that is lower after an
/// overload shows earlier, and is looked for after each trial that contradicts an earlier one.
const FEWEST_FOR_FALL: usize = 4;
const FEWEST_FOR_TREND: usize = 8;
const TREND_EVERY: usize = 4;

/// A server recovers at this share of a load that was too much after an overload.
const RECOVERY: f64 = 0.7;

/// How many times as probable the trials must be with a trend as without.
const SHOWN: f64 = 30.0;

/// And so many times, for a trial to be made that decides whether the limit is lower after an overload.
const SUSPECTED: f64 = 3.0;

/// And so many times, for the interval to allow for a drift that is not shown.
const POSSIBLE: f64 = 2.0;

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

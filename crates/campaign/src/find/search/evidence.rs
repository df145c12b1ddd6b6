//! What the trials so far say about loads: which were held, which are beyond the generator, which trials count.

use dnsdyno_measure::Quantile;

use super::state::{DOUBTS_OF_A_LOAD, Search};
use crate::find::trial::{Purpose, Trial, is_same_load};

impl Search {
    /// Whether the last two trials of the warm-up agree.
    pub(super) fn is_warm(&self) -> bool {
        let first: Vec<&Trial> = self.warm_ups().collect();
        let [.., a, b] = first.as_slice() else { return false };
        let p50 = |trial: &Trial| trial.p50.map(|bounds| bounds.upper);
        let is_near = match (p50(a), p50(b)) {
            (Some(Quantile::At(a)), Some(Quantile::At(b))) => {
                a.abs_diff(b) as f64 <= (a.min(b) as f64 * ALIKE).max(ALIKE_NS)
            }
            (a, b) => a == b,
        };
        a.passed() == b.passed() && is_near
    }

    pub(super) fn warm_ups(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.purpose == Purpose::WarmUp && trial.passed().is_some())
    }

    /// Trials that say something.
    pub(super) fn clean(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(|trial| trial.passed().is_some())
    }

    /// Whether all trials that are allowed were made.
    pub(super) fn is_spent(&self) -> bool {
        self.trials.len() as u32 >= self.settings.most_trials
    }

    pub(super) fn highest_passed(&self) -> Option<f64> {
        let passed =
            self.clean().filter(|trial| trial.passed() == Some(true) && trial.purpose != Purpose::Down);
        passed.map(|trial| trial.load).max_by(f64::total_cmp)
    }

    /// The highest load that can be used: that of the user, or the generator's own limit.
    pub(super) fn ceiling(&self) -> f64 {
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

    /// The lowest load at which the generator was in doubt three times, and never sure. One below a load that has
    /// passed says something about a moment of this host, and not about what the generator can do.
    fn doubted(&self) -> Option<f64> {
        let is_doubted = |load: f64| {
            let of = self.trials.iter().filter(|trial| is_same_load(trial.load, load));
            let (sure, doubted): (Vec<_>, Vec<_>) = of.partition(|trial| trial.passed().is_some());
            sure.is_empty() && doubted.len() >= DOUBTS_OF_A_LOAD
        };
        let highest = self.highest_passed().unwrap_or(0.0);
        let above = self.trials.iter().map(|trial| trial.load).filter(|load| *load > highest);
        let loads = above.filter(|load| is_doubted(*load));
        loads.min_by(f64::total_cmp)
    }

    /// No trial near the limit is made at a higher load: twice the highest that has passed, a little above the lowest
    /// that has failed above that, and none that is ruled out by what failed below it. A grid may be wide because one
    /// trial was disturbed: what has been held, or not, bounds what is tried all the same.
    pub(super) fn roof(&self) -> f64 {
        let highest = self.highest_passed().unwrap_or(self.settings.least);
        let lowest = self.failed(true).filter(|load| *load > highest).min_by(f64::total_cmp);
        let ruled_out = self.failed(false).filter(|load| self.is_ruled_out(*load)).min_by(f64::total_cmp);
        let loads = [Some(highest * 2.0), lowest.map(|load| load * A_LITTLE), ruled_out];
        loads.into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// The load of the only failure above the highest load that has passed.
    pub(super) fn failed_once(&self) -> Option<f64> {
        let highest = self.highest_passed().unwrap_or(self.settings.least);
        let mut above = self.failed(true).filter(|load| *load > highest);
        above.next().filter(|_| above.next().is_none())
    }

    /// Whether several trials at this load and below have failed, for each that has passed at it or above: one that
    /// passed was then disturbed.
    fn is_ruled_out(&self, load: f64) -> bool {
        let passed = self.clean().filter(|trial| trial.passed() == Some(true) && trial.load >= load).count();
        self.failed(false).filter(|failed| *failed <= load).count() >= SEVERAL * (1 + passed)
    }

    /// The loads of the trials that failed; where a limit may be lower after an overload, without those that failed
    /// for that, if they are not wanted.
    fn failed(&self, after_overload: bool) -> impl Iterator<Item = f64> {
        let all = after_overload || !self.belief.as_ref().is_some_and(|near| near.recovers);
        let trials = self.trials.iter().enumerate();
        let failed = trials.filter(|(_, trial)| trial.passed() == Some(false));
        failed.filter(move |(at, _)| all || !self.follows_failure(*at)).map(|(_, trial)| trial.load)
    }

    /// Whether a trial says where the limit is.
    pub(super) fn is_evidence(&self, at: usize) -> bool {
        let Some(trial) = self.trials.get(at) else { return false };
        match trial.purpose {
            Purpose::WarmUp => self.trials.get(at + 1).is_none_or(|next| next.purpose != Purpose::WarmUp),
            Purpose::Down | Purpose::Step => false,
            // One that passes there shows that the limit is not where it seemed.
            Purpose::Beyond => true,
            // One that fails while sends are late is in doubt; if those that pass were counted, the limit would seem
            // higher than it is. Far below the limit none fails for it.
            Purpose::Near => !trial.late || trial.load < self.usual_failure() * FAR_BELOW,
            Purpose::Doubling | Purpose::Lowest | Purpose::Recover => true,
        }
    }

    /// The median load of the trials that failed; 0 where none has.
    fn usual_failure(&self) -> f64 {
        let mut failed: Vec<f64> = self.failed(true).collect();
        failed.sort_by(f64::total_cmp);
        failed.get(failed.len() / 2).copied().unwrap_or(0.0)
    }

    /// Whether the trial before it failed.
    pub(super) fn follows_failure(&self, at: usize) -> bool {
        let before = self.trials.get(..at).unwrap_or_default();
        before.iter().rev().find_map(Trial::passed) == Some(false)
    }
}

/// At this share of the load at which trials fail, one fails for another reason.
const FAR_BELOW: f64 = 0.75;

/// How far above a load that has failed the next trial may be.
const A_LITTLE: f64 = 1.02;

/// So many failures for each trial that passed rule a load out.
const SEVERAL: usize = 4;

/// The generator's limit is not looked for more closely than this.
const NEAR_OUR_LIMIT: f64 = 1.1;

/// The medians of two trials of a warm server differ by less than this share, or by less than this time.
const ALIKE: f64 = 0.25;
const ALIKE_NS: f64 = 100_000.0;

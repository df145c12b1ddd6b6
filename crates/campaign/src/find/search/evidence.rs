//! What the trials so far say about loads: which were held, which are beyond the generator, which trials count.

use dnsdyno_measure::Quantile;

use super::state::{Search, UNDECIDED_OF_A_LOAD};
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

    /// The share of queries that was lost at half of the highest load that has passed, and below.
    pub(super) fn usual_loss(&self) -> f64 {
        let highest = self.highest_passed().unwrap_or(0.0);
        let low = self.clean().filter(|trial| trial.passed() == Some(true) && trial.load <= highest / 2.0);
        let (lost, queries) = low.fold((0, 0), |sum, trial| (sum.0 + trial.lost, sum.1 + trial.queries));
        lost as f64 / queries.max(1) as f64
    }

    /// Whether all trials that are allowed were made.
    pub(super) fn is_spent(&self) -> bool {
        self.made >= self.settings.most_trials
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

    /// The lowest load that was undecided three times, and never sure, and not because the limit is near. One below a
    /// load that has passed says something about a moment of this host, and not about what the generator can do.
    fn doubted(&self) -> Option<f64> {
        let is_doubted = |load: f64| {
            let undecided = self.always_undecided(load);
            !undecided.is_empty() && !undecided.iter().all(|trial| trial.is_near_bound())
        };
        let highest = self.highest_passed().unwrap_or(0.0);
        let above = self.trials.iter().map(|trial| trial.load).filter(|load| *load > highest);
        above.filter(|load| is_doubted(*load)).min_by(f64::total_cmp)
    }

    /// The highest load that was undecided three times because the limit is near.
    pub(super) fn highest_open(&self) -> Option<f64> {
        let is_open = |load: f64| {
            let undecided = self.always_undecided(load);
            !undecided.is_empty() && undecided.iter().all(|trial| trial.is_near_bound())
        };
        let loads = self.trials.iter().map(|trial| trial.load);
        loads.filter(|load| is_open(*load)).max_by(f64::total_cmp)
    }

    /// The trials of a load that was undecided three times, and never sure; none of any other.
    fn always_undecided(&self, load: f64) -> Vec<&Trial> {
        let of = self.trials.iter().filter(|trial| is_same_load(trial.load, load));
        let (sure, undecided): (Vec<_>, Vec<_>) = of.partition(|trial| trial.passed().is_some());
        if sure.is_empty() && undecided.len() >= UNDECIDED_OF_A_LOAD { undecided } else { Vec::new() }
    }

    /// The lowest and the highest load of trials that count as either; `None` where there is none.
    pub(super) fn open_loads(&self) -> Option<(f64, f64)> {
        let trials =
            self.trials.iter().enumerate().filter(|(at, trial)| self.counts(*at) && trial.is_near_bound());
        let loads = trials.map(|(_, trial)| (trial.load, trial.load));
        loads.reduce(|(low, high), (load, _)| (low.min(load), high.max(load)))
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

    /// Whether several trials at this load and below have failed, for each that has passed at it or above: those that
    /// passed were then disturbed. Where more than a few have passed, it is the limit that differs from trial to trial.
    fn is_ruled_out(&self, load: f64) -> bool {
        let passed = self.clean().filter(|trial| trial.passed() == Some(true) && trial.load >= load).count();
        passed <= MOST_DISTURBED
            && self.failed(false).filter(|failed| *failed <= load).count() >= SEVERAL * (1 + passed)
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
            Purpose::Doubling | Purpose::Lowest | Purpose::Near | Purpose::Recover => true,
        }
    }

    /// Whether a trial counts for the limit: it says where the limit is, and was as long as the goal asks. A shorter
    /// one only excludes its load, where it has failed by far: that it failed near the limit says nothing, because
    /// that it passes there would say nothing either.
    pub(super) fn counts(&self, at: usize) -> bool {
        let Some(trial) = self.trials.get(at) else { return false };
        let has_failed_by_far = || {
            let too_slow = trial.of_bound.is_some_and(|times| times >= FAR_TOO_SLOW);
            trial.passed() == Some(false) && (trial.kept_up <= trial.load * FAR_TOO_MUCH || too_slow)
        };
        self.is_evidence(at) && (self.is_long_enough(trial) || has_failed_by_far())
    }

    /// The highest load that a trial as long as the goal asks has passed at.
    pub(super) fn highest_shown(&self) -> Option<f64> {
        let passed = self.clean().filter(|trial| {
            trial.passed() == Some(true) && trial.purpose != Purpose::Down && self.is_long_enough(trial)
        });
        passed.map(|trial| trial.load).max_by(f64::total_cmp)
    }

    /// Whether the trial before it failed.
    pub(super) fn follows_failure(&self, at: usize) -> bool {
        let before = self.trials.get(..at).unwrap_or_default();
        before.iter().rev().find_map(Trial::passed) == Some(false)
    }
}

/// A short trial has failed by far where the server kept up with at most this share of the load, or where a latency was
/// at least so many times its bound.
const FAR_TOO_MUCH: f64 = 0.9;
const FAR_TOO_SLOW: f64 = 3.0;

/// How far above a load that has failed the next trial may be.
const A_LITTLE: f64 = 1.02;

/// So many failures for each trial that passed rule a load out.
const SEVERAL: usize = 4;

/// So many trials may be disturbed.
const MOST_DISTURBED: usize = 2;

/// The generator's limit is not looked for more closely than this.
const NEAR_OUR_LIMIT: f64 = 1.1;

/// The medians of two trials of a warm server differ by less than this share, or by less than this time.
const ALIKE: f64 = 0.25;
const ALIKE_NS: f64 = 100_000.0;

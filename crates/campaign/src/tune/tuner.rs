//! Which trial is made next, from what those before have shown.
//!
//! ```text
//!   look ──► screen ──► compare ──► a winner joins the base ──► look …        until nothing gains, or the time ends
//!                          │
//!                          └── none ──► confirm: all against the base, and each part taken away ──► the answer
//! ```
//!
//! Those whose counters account for much of what was not answered are compared before any is screened.
//!
//! Where the next steps of some parameters do not gain, their last steps are compared before it ends.
//!
//! A bottleneck hides those behind it: the counters of the second one move, and its parameters gain, only when the
//! first is gone. So after each winner the counters are looked at again.

mod answering;
mod candidates;
mod state;

use super::answer::{Answer, Verdict};
use super::compare::{Arm, Compare, Compared, MOST_CYCLES};
use super::confirm::{Confirm, is_above};
use super::look::Look;
use super::memory::Memory;
use super::night::{Changes, Figures, Night, Shown, Trial, Without};
use super::screen::Screen;
pub use state::Tuner;
use state::{Seen, Stage};

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// A trial; what it has shown is learned.
    Trial(Trial),
    /// Nothing for now: trials of the base have counted before, and do not any more, for this reason. After
    /// [`Tuner::go_on`] they are made again.
    Disturbed(String),
    /// Nothing: this is the answer.
    Done(Box<Answer>),
}

impl Tuner {
    /// A night before its first trial.
    pub fn new(night: Night) -> Tuner {
        let seen = vec![Seen::default(); night.parameters.len()];
        Tuner {
            night,
            stage: Stage::Look(Look::new(Changes::new(), true)),
            base: Changes::new(),
            found: Vec::new(),
            seen,
            rounds: 0,
            confirmations: 0,
            trials: Vec::new(),
            elapsed_ns: 0,
            again: 0,
            memory: Memory::default(),
            has_ended_early: false,
            has_looked: false,
            has_base: false,
            disturbed: None,
            compares_named: false,
            has_compared_named: false,
            screen: None,
            compared: Vec::new(),
        }
    }

    /// What is tuned.
    pub fn night(&self) -> &Night {
        &self.night
    }

    /// Goes on after the host was disturbed.
    pub fn go_on(&mut self) {
        self.disturbed = None;
    }

    /// What to do next. It is the same until a trial is learned.
    pub fn next(&self) -> Next {
        let trial = match (&self.stage, &self.disturbed) {
            (Stage::Done(answer), _) => return Next::Done(answer.clone()),
            (_, Some(why)) => return Next::Disturbed(why.clone()),
            (Stage::Look(look), None) => look.next(),
            (Stage::Screen(screen), None) => screen.next(&self.night),
            (Stage::Compare(compare), None) => Some(compare.next()),
            (Stage::Confirm(confirm), None) => confirm.next(),
        };
        trial
            .map_or_else(|| Next::Done(Box::new(self.answer(Verdict::Nothing { beyond: None }))), Next::Trial)
    }

    /// What is changed by what was found so far.
    pub fn found_so_far(&self) -> &[(usize, usize)] {
        &self.found
    }

    /// How much of its time the night has used, in ns.
    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Takes what the trial that was requested last has shown, and how long it took with all around it.
    pub fn learn(&mut self, shown: &Shown, took_ns: u64) {
        let Next::Trial(trial) = self.next() else { return };
        self.elapsed_ns = self.elapsed_ns.saturating_add(took_ns);
        if let Shown::NotSet(which) = shown {
            self.leave_out(&trial, which);
            return self.end_in_time();
        }
        self.count(&trial);
        let shown = match shown {
            Shown::Doubtful(_) if self.again < self.night.retries => {
                self.again += 1;
                return self.end_in_time();
            }
            Shown::Doubtful(why) => {
                Err(Without::Doubtful(format!("none of {} trials counts: {why}", self.again + 1)))
            }
            Shown::Failed(why) => Err(Without::Failed(why.clone())),
            Shown::Counted(figures) => Ok(figures.clone()),
            Shown::NotSet(_) => return,
        };
        self.again = 0;
        self.has_base |= shown.is_ok() && trial.changes == self.base;
        self.take(&trial, shown);
        self.end_in_time();
    }

    fn count(&mut self, trial: &Trial) {
        match self.trials.iter_mut().find(|(phase, _)| *phase == trial.phase) {
            Some((_, count)) => *count += 1,
            None => self.trials.push((trial.phase, 1)),
        }
        let own = trial.changes.iter().filter(|(parameter, value)| self.base.get(parameter) != Some(value));
        for (parameter, _) in own {
            self.seen.iter_mut().skip(*parameter).take(1).for_each(|seen| seen.trials += 1);
        }
    }

    /// Hands the figures of a trial to the stage that asked for it, and goes to the next one where that has ended.
    fn take(&mut self, trial: &Trial, shown: Result<Figures, Without>) {
        let logarithm = |figures: &Figures| figures.gain.max(f64::MIN_POSITIVE).ln();
        match &mut self.stage {
            Stage::Look(look) => match shown {
                Ok(figures) => {
                    look.learn(figures);
                    if look.next().is_none() {
                        self.after_look();
                    }
                }
                Err(without) => self.without_base(without.why().to_owned()),
            },
            Stage::Screen(screen) => {
                screen.learn(shown.as_ref().map(logarithm).map_err(Without::clone));
                if screen.next(&self.night).is_none() {
                    let screen = screen.clone();
                    self.after_screen(screen);
                }
            }
            Stage::Compare(compare) => {
                let came = compare.learn(shown.as_ref().map(logarithm).map_err(Without::clone));
                self.compare_goes_on(came);
            }
            Stage::Confirm(confirm) => {
                let all: Changes = confirm.parts.iter().copied().collect();
                if let Ok(figures) = &shown {
                    self.memory.see(figures, &trial.changes, &all);
                }
                confirm.learn(shown.as_ref().map(logarithm).map_err(Without::clone));
                if confirm.next().is_none() {
                    let confirm = confirm.clone();
                    self.after_confirm(&confirm);
                }
            }
            Stage::Done(_) => {}
        }
    }

    fn compare_goes_on(&mut self, came: Compared) {
        match came {
            Compared::GoesOn => {}
            Compared::NoBase(why) => self.without_base(why),
            Compared::Ended(winner) => {
                let Stage::Compare(compare) = &self.stage else { return };
                let compare = compare.clone();
                self.after_compare(&compare, winner);
            }
        }
    }

    /// Leaves parameters out that cannot be set. Where what was found before has one with the same value, it goes on
    /// without it; where a further step cannot be set, it stays as it was found.
    fn leave_out(&mut self, trial: &Trial, which: &[(usize, String)]) {
        let mut was_found = false;
        for (parameter, why) in which {
            let is_found =
                self.base.contains_key(parameter) && self.base.get(parameter) == trial.changes.get(parameter);
            for seen in self.seen.iter_mut().skip(*parameter).take(1) {
                seen.not_set = Some(why.clone());
                seen.compared = seen.compared.filter(|_| !is_found);
            }
            if is_found {
                was_found = true;
                self.base.remove(parameter);
                self.found.retain(|(found, _)| found != parameter);
            }
        }
        if was_found {
            match &self.stage {
                Stage::Confirm(_) => self.confirm(),
                _ => self.stage = Stage::Look(Look::new(self.base.clone(), !self.has_looked)),
            }
            return;
        }
        for (parameter, _) in which {
            match &mut self.stage {
                Stage::Screen(screen) => {
                    screen.leave_out(*parameter);
                    if screen.next(&self.night).is_none() {
                        let screen = screen.clone();
                        self.after_screen(screen);
                    }
                }
                Stage::Compare(compare) => {
                    let came = compare.leave_out(*parameter);
                    self.compare_goes_on(came);
                }
                _ => {}
            }
        }
    }

    fn after_look(&mut self) {
        let Stage::Look(look) = &self.stage else { return };
        let look = look.clone();
        self.has_looked = true;
        if look.is_saturated() {
            match self.found.is_empty() {
                true => self.stage = Stage::Done(Box::new(self.answer(Verdict::NotOverloaded))),
                false => self.confirm(),
            }
            return;
        }
        for (at, (parameter, seen)) in self.night.parameters.iter().zip(&mut self.seen).enumerate() {
            seen.is_possible |= !parameter.has_signs || look.has_moved(at);
        }
        match self.named(&look) {
            named if named.is_empty() => self.screen(),
            named => {
                self.compares_named = true;
                self.compare_these(named, CYCLES_OF_NAMED);
            }
        }
    }

    /// Begins to screen those that were not, or to compare where they are few.
    fn screen(&mut self) {
        let is_open = |at: &usize| self.of(*at).screened.is_none() && !self.base.contains_key(at);
        let open: Vec<usize> = self.candidates().into_iter().filter(is_open).collect();
        match open.len() > MOST_UNSCREENED {
            true => self.stage = Stage::Screen(Screen::new(self.base.clone(), open)),
            false => self.compare(),
        }
    }

    fn after_screen(&mut self, screen: Screen) {
        let failing = screen.failing();
        for (parameter, why) in &failing {
            let of = self.seen.iter_mut().skip(*parameter).take(1);
            of.for_each(|seen| seen.failed = Some(why.clone()));
        }
        if !failing.is_empty() {
            // Trials that did not run say nothing of the others.
            return self.screen();
        }
        for one in screen.shown() {
            let of = self.seen.iter_mut().skip(one.parameter).take(1);
            of.for_each(|seen| seen.screened = Some(one));
        }
        self.screen = Some(screen);
        self.compare();
    }

    /// Begins to compare the changes that may help most: the next step of what was found last, what was not screened,
    /// and the greatest effects of the screening.
    fn compare(&mut self) {
        let mut ranked = self.candidates();
        let effect = |at: usize| self.of(at).screened.map_or(f64::INFINITY, |screened| screened.effect);
        let last = self.found.last().map(|(parameter, _)| *parameter);
        ranked.sort_by(|a, b| {
            (Some(*b) == last).cmp(&(Some(*a) == last)).then(effect(*b).total_cmp(&effect(*a)))
        });
        let is_open = |at: &usize| {
            let screened = self.of(*at).screened;
            Some(*at) == last || screened.is_none_or(|screened| screened.effect > -screened.spread)
        };
        self.compare_these(ranked.into_iter().filter(is_open).collect(), MOST_CYCLES);
    }

    fn compare_these(&mut self, ranked: Vec<usize>, cycles: u32) {
        let mut arms = Vec::new();
        for at in ranked.into_iter().take(MOST_ARMS) {
            arms.extend(self.values_of(at).into_iter().map(|value| self.arm(at, value)));
        }
        arms.truncate(MOST_ARMS);
        match arms.is_empty() {
            true => self.confirm(),
            false => {
                let compare = Compare::new(self.base.clone(), arms, self.night.smallest_gain);
                self.stage = Stage::Compare(compare.within(cycles));
            }
        }
    }

    /// Begins to compare the last steps of parameters whose next step has not gained, where there is time: a limit may
    /// be so low that the next step is too low as well.
    fn compares_furthest(&mut self, arms: &[Arm]) -> bool {
        let furthest = |arm: &Arm| {
            let parameter = self.night.parameters.get(arm.parameter)?;
            let value = parameter.values.len().checked_sub(1)?;
            let is_compared =
                self.compared.iter().any(|old| (old.parameter, old.value) == (arm.parameter, value));
            let is_limit = parameter.is_stepped && parameter.has_signs;
            let may = is_limit && self.candidates().contains(&arm.parameter) && !is_compared;
            may.then(|| Arm::new(arm.parameter, value))
        };
        let arms: Vec<Arm> = arms.iter().filter_map(furthest).collect();
        let confirmations = 2 * u64::from(Confirm::trials(self.found.len() + 1, &self.night));
        let trials = u64::from(2 * CYCLES_OF_FURTHEST) * arms.len() as u64 + confirmations;
        let begins = !arms.is_empty() && !self.has_ended_early && self.has_time_for(trials);
        if begins {
            let compare = Compare::new(self.base.clone(), arms, self.night.smallest_gain);
            self.stage = Stage::Compare(compare.within(CYCLES_OF_FURTHEST));
        }
        begins
    }

    /// Ends without an answer, but that what was found in earlier rounds, whose base did run, is confirmed, or not.
    /// Where the base has counted before, it is the host that was disturbed, and the night may go on.
    fn without_base(&mut self, why: String) {
        match self.found.is_empty() {
            true if self.has_base => self.disturbed = Some(why),
            true => self.stage = Stage::Done(Box::new(self.answer(Verdict::NoBase { why }))),
            false => self.confirm(),
        }
    }

    fn after_compare(&mut self, compare: &Compare, winner: Option<usize>) {
        for arm in &compare.arms {
            let found = compare.found(arm);
            for seen in self.seen.iter_mut().skip(arm.parameter).take(1) {
                let is_better = |new: &(f64, f64, f64)| seen.compared.is_none_or(|old| old.0 < new.0);
                if let Some(new) = found.filter(is_better) {
                    seen.compared = Some(new);
                }
                let of_it = compare.arms.iter().filter(|other| other.parameter == arm.parameter);
                seen.is_worse = of_it
                    .map(|other| compare.found(other))
                    .all(|found| found.is_some_and(|(_, _, to)| to < 0.0));
                match &arm.without {
                    Some(Without::Failed(why)) => seen.failed = Some(why.clone()),
                    Some(Without::Doubtful(why)) => seen.doubtful = Some(why.clone()),
                    None => seen.doubtful = None,
                }
            }
        }
        let of_named = std::mem::take(&mut self.compares_named);
        let Some(arm) = winner.and_then(|winner| compare.arms.get(winner)) else {
            self.compared.retain(|old| {
                !compare.arms.iter().any(|new| (new.parameter, new.value) == (old.parameter, old.value))
            });
            self.compared.extend(compare.arms.iter().cloned());
            if of_named && !self.has_ended_early {
                self.has_compared_named = true;
                return self.screen();
            }
            if !self.screens_again() && !self.compares_furthest(&compare.arms) {
                self.confirm();
            }
            return;
        };
        // What was worse behind one bottleneck may help where that is gone.
        self.compared.clear();
        self.seen.iter_mut().for_each(|seen| seen.is_worse = false);
        self.base.insert(arm.parameter, arm.value);
        match self.found.iter_mut().find(|(parameter, _)| *parameter == arm.parameter) {
            // A further step of what was found before.
            Some(of) => of.1 = arm.value,
            None => self.found.push((arm.parameter, arm.value)),
        }
        self.rounds += 1;
        self.stage = Stage::Look(Look::new(self.base.clone(), false));
    }

    /// Begins another pass of the screening where nothing gained and there is time: smaller gains are seen then.
    fn screens_again(&mut self) -> bool {
        let Some(screen) = self.screen.as_ref().filter(|_| !self.has_ended_early) else { return false };
        let trials = screen.trials() as u64 + u64::from(Confirm::trials(self.found.len() + 1, &self.night));
        let mut screen = screen.clone();
        let again = self.has_time_for(trials) && screen.repeat(&self.base);
        if again {
            self.screen = Some(screen.clone());
            self.stage = Stage::Screen(screen);
        }
        again
    }

    /// Begins to confirm what was found, or ends where nothing was.
    fn confirm(&mut self) {
        if self.found.is_empty() {
            let beyond = self.beyond();
            self.stage = Stage::Done(Box::new(self.answer(Verdict::Nothing { beyond })));
            return;
        }
        self.memory = Memory::default();
        self.stage = Stage::Confirm(Confirm::new(self.found.clone(), &self.night, self.confirmations));
        self.confirmations += 1;
    }

    fn after_confirm(&mut self, confirm: &Confirm) {
        let shown = confirm.shown();
        if !shown.whole.is_some_and(is_above) {
            let beyond = || self.beyond().or(shown.whole.map(|whole| whole.estimate));
            let verdict = match confirm.not_confirmed() {
                Some(why) => Verdict::NotConfirmed { changes: confirm.parts.iter().copied().collect(), why },
                // What was seen on the way was noise.
                None => Verdict::Nothing { beyond: beyond() },
            };
            self.stage = Stage::Done(Box::new(self.answer(verdict)));
            return;
        }
        let least = |at: &usize| shown.adds.get(*at).copied().flatten().map_or(0.0, |adds| adds.estimate);
        let idle = (0..shown.matter.len()).filter(|at| shown.matter.get(*at) == Some(&false));
        let idle = idle.min_by(|a, b| least(a).total_cmp(&least(b)));
        let next = u64::from(Confirm::trials(self.found.len().saturating_sub(1), &self.night));
        match idle.filter(|_| self.has_time_for(next)) {
            // One at a time: of two that do the same, one is needed.
            Some(at) => {
                let (parameter, _) = self.found.remove(at);
                self.seen.iter_mut().skip(parameter).take(1).for_each(|seen| seen.is_dropped = true);
                self.confirm();
            }
            None => {
                let gains = self.gains(confirm, &shown);
                let verdict = gains.map_or(Verdict::Nothing { beyond: None }, Verdict::Gains);
                self.stage = Stage::Done(Box::new(self.answer(verdict)));
            }
        }
    }

    /// Ends the search where only the confirmation has time left, and the night where it has none.
    fn end_in_time(&mut self) {
        let is_searching = !matches!(self.stage, Stage::Confirm(_) | Stage::Done(_));
        // What is found next is confirmed too, and once more without what then adds nothing.
        let confirm = |found: usize| u64::from(Confirm::trials(found, &self.night));
        let reserve = confirm(self.found.len() + 1) + confirm(self.found.len());
        if is_searching && !self.has_time_for(reserve + 1) {
            self.has_ended_early = true;
            if let Stage::Compare(compare) = &self.stage {
                let compare = compare.clone();
                // What was compared so far is shown, and nothing is taken from it.
                self.after_compare(&compare, None);
            } else {
                self.confirm();
            }
        }
    }

    /// Whether so many trials more end in the night's time.
    fn has_time_for(&self, trials: u64) -> bool {
        trials.saturating_mul(self.trial_ns()) <= self.night.lasts_ns.saturating_sub(self.elapsed_ns)
    }

    /// How long a trial takes with all around it.
    fn trial_ns(&self) -> u64 {
        let made: u32 = self.trials.iter().map(|(_, count)| count).sum();
        if made < FEW_TRIALS { self.night.trial_ns } else { self.elapsed_ns / u64::from(made.max(1)) }
    }
}

/// So few are compared one at a time without a screening.
const MOST_UNSCREENED: usize = 4;

/// Of a screening, those with the greatest effects are compared: half of a dozen.
const MOST_ARMS: usize = 6;

/// What takes such a share away is seen soon.
const CYCLES_OF_NAMED: u32 = 4;

/// What only the last step of a parameter gains is much.
const CYCLES_OF_FURTHEST: u32 = 3;

/// Before so many trials the length of one is not known from them.
const FEW_TRIALS: u32 = 5;

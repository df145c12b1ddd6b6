//! Binary search to zero loss, repeated: the throughput of RFC 2544 and the test of DNS servers of RFC 8219, section 9.
//!
//! ```text
//!   repeat 1   doubling to the first failure, then halving between the highest that passed and the lowest that failed
//!   repeat 2…  halving between the lowest load and the highest failure; where all below it passes, that load itself,
//!              and on by doubling where it passes too
//!   result     the median of the repeats, with their 1st and 99th percentile
//! ```

use dnsdyno_record::Digest;
use dnsdyno_text::units::setting;

use super::finder::{Finder, TrialsSoFar};
use super::finding::{FindNote, Finding, IntervalKind, Outcome, Why};
use super::notes::{collapse, of_trials};
use super::options::Method;
use super::settings::Settings;
use super::trial::{Purpose, Trial, TrialVerdict, is_made};
use crate::statistics::median;
use crate::step::{Campaign, Request, Step};

/// A repeated binary search.
#[derive(Clone, Debug)]
pub struct BookSearch {
    settings: Settings,
    trials: Vec<Trial>,
    cut: u32,
    /// The results of the repeats that have ended.
    results: Vec<f64>,
    /// The highest load of this repeat that passed.
    low: Option<f64>,
    /// The lowest load of this repeat that did not.
    high: Option<f64>,
    /// The highest load that did not and has not passed since, in doubt or not: where the next repeats begin.
    top: Option<f64>,
    /// The lowest load in doubt.
    doubted: Option<f64>,
    is_unmet: bool,
}

impl BookSearch {
    /// A search with these settings.
    pub fn new(settings: Settings) -> BookSearch {
        let (results, low, high) = (Vec::new(), None, None);
        BookSearch {
            settings,
            trials: Vec::new(),
            cut: 0,
            results,
            low,
            high,
            top: None,
            doubted: None,
            is_unmet: false,
        }
    }

    /// The next load; `None` when all repeats have ended.
    fn load(&self) -> Option<f64> {
        let Settings { start, least, most, precision, repeats, .. } = self.settings;
        if self.is_unmet || self.results.len() >= repeats as usize {
            return None;
        }
        let load = match (self.low, self.high.or(self.top.filter(|_| !self.results.is_empty()))) {
            (None, None) => start,
            (Some(low), None) => (low * 2.0).min(most),
            // A lapse of an earlier repeat is no bound of this one.
            (Some(low), Some(top)) if self.high.is_none() && !self.is_apart(low, top) => top,
            (Some(low), Some(high)) => (low * high).sqrt(),
            // The lowest load itself is last.
            (None, Some(high)) if high <= least * (1.0 + precision) => least,
            (None, Some(high)) => (least * high).sqrt(),
        };
        Some(self.settings.rounded(load).clamp(least, most))
    }

    /// Whether a load is left to try between two.
    fn is_apart(&self, low: f64, high: f64) -> bool {
        let middle = self.settings.rounded((low * high).sqrt());
        high / low > 1.0 + self.settings.precision && middle > low && middle < high
    }

    fn take(&mut self, load: f64, passed: Option<bool>) {
        let Settings { least, most, .. } = self.settings;
        match passed {
            Some(true) => {
                self.low = Some(load);
                self.top = self.top.filter(|top| load < *top);
            }
            _ => {
                self.high = Some(load);
                self.top = Some(self.top.map_or(load, |top| top.max(load)));
            }
        }
        if passed.is_none() {
            self.doubted = Some(self.doubted.map_or(load, |doubted| doubted.min(load)));
        }
        match (self.low, self.high) {
            (None, _) if load <= least && self.results.is_empty() => self.is_unmet = true,
            // The other repeats have shown that it can be met.
            (None, _) if load <= least => self.end(least),
            (Some(low), _) if low >= most => self.end(low),
            (Some(low), Some(high)) if !self.is_apart(low, high) => self.end(low),
            _ => (),
        }
    }

    fn end(&mut self, result: f64) {
        self.results.push(result);
        (self.low, self.high) = (None, None);
    }

    fn finding(&self) -> Finding {
        let Settings { least, most, method, what, precision, .. } = self.settings;
        let mut results = self.results.clone();
        let middle = median(&mut results);
        results.sort_by(f64::total_cmp);
        let percentile = |share: f64| {
            let rank = (share * results.len() as f64).ceil().max(1.0) as usize;
            results.get(rank - 1).copied().unwrap_or(least)
        };
        let (from, to) = (percentile(0.01), percentile(0.99));
        let unmet = self.trials.last().map(|trial| match &trial.verdict {
            TrialVerdict::Failed(unmet) => unmet.iter().map(|unmet| unmet.criterion.clone()).collect(),
            _ => Vec::new(),
        });
        let by_us = self.doubted.is_some_and(|doubted| doubted <= to * (1.0 + 2.0 * precision));
        let outcome = match () {
            () if self.is_unmet && self.doubted.is_some_and(|load| load <= least) => {
                Outcome::Undecided { load: least }
            }
            () if self.is_unmet => Outcome::NotMet { lowest: least, criteria: unmet.unwrap_or_default() },
            () if by_us => Outcome::AtLeast { load: from, why: Why::Generator },
            () if middle >= most => Outcome::AtLeast { load: most, why: Why::Most },
            () => Outcome::Capacity { load: middle, from, to, interval: IntervalKind::Percentiles },
        };
        let mut notes: Vec<FindNote> = self.by_another_book().into_iter().collect();
        notes.extend(of_trials(&self.trials, &self.settings.criteria, None));
        if let Outcome::Capacity { load, .. } = outcome {
            notes.extend(collapse(&self.trials, load));
        }
        let (criteria, trials) = (self.settings.criteria.texts(), self.trials.clone());
        let (goals, belief) = (Vec::new(), Vec::new());
        Finding { method, what, criteria, outcome, goals, notes, trials, cut: self.cut, belief }
    }

    /// What is not as the RFC has it.
    fn by_another_book(&self) -> Option<FindNote> {
        let Settings { method, repeats, .. } = self.settings;
        let lengths = || self.trials.iter().map(|trial| self.settings.trial_ns(trial.load));
        let mut differs = Vec::new();
        if let (Some(shortest), Some(longest)) = (lengths().min(), lengths().max())
            && shortest < 60_000_000_000
        {
            let to = if longest > shortest { format!(" to {}", setting(longest)) } else { String::new() };
            differs.push(format!("trials of {}{to} instead of 60 s", setting(shortest)));
        }
        if repeats < 20 {
            differs.push(format!("{repeats} repeats instead of 20"));
        }
        if self.settings.criteria.texts() != ["loss=0"] {
            differs.push("criteria of the user instead of no loss".to_owned());
        }
        let rfc = if method == Method::Rfc2544 { "RFC 2544" } else { "RFC 8219" };
        (!differs.is_empty())
            .then(|| FindNote::NotByTheBook { text: format!("{rfc}: {}", differs.join(", ")) })
    }
}

impl Campaign for BookSearch {
    type Result = Finding;

    fn next(&self) -> Step<Finding> {
        let rest_ns = if self.trials.is_empty() { 0 } else { self.settings.rest_ns };
        let repeat = self.results.len() + 1;
        match self.load() {
            None => Step::Done(self.finding()),
            Some(load) => {
                let request = self.settings.request(Purpose::Step, load, rest_ns);
                let why = format!("repeat {repeat}: {}", request.why);
                Step::Run(Box::new(Request { why, ..request }))
            }
        }
    }

    fn learn(&mut self, run: &Digest) {
        let Some(load) = self.load() else { return };
        let rest_ns = if self.trials.is_empty() { 0 } else { self.settings.rest_ns };
        let mut trial = Trial::of(self.trials.len() as u32 + 1, Purpose::Step, load, rest_ns, run);
        // By these methods a trial is judged by its criteria alone.
        let judged = self.settings.criteria.judge(run, &trial, &self.trials).without(super::criteria::STEADY);
        trial.judge(judged, run, is_made(run));
        let passed = trial.passed();
        self.trials.push(trial);
        self.take(load, passed);
    }

    fn learn_cut(&mut self, _run: &Digest) {
        self.cut += 1;
    }
}

impl Finder for BookSearch {
    fn made(&self) -> TrialsSoFar<'_> {
        let bracket = self.low.zip(self.high);
        TrialsSoFar { trials: &self.trials, bracket }
    }
}

#[cfg(test)]
mod tests {
    use dnsdyno_plan::Draft;

    use super::super::options::Options;
    use super::*;

    /// The results of a search of three repeats whose trials pass as `passes` says of their number and load.
    fn results(passes: impl Fn(usize, f64) -> bool) -> (Vec<f64>, bool) {
        let text = |text: &str| Some(text.to_owned());
        let options = Options {
            method: text("rfc8219"),
            start: text("2000"),
            least: text("500"),
            most: text("8000"),
            trial: text("1s"),
            repeats: text("3"),
            precision: text("1%"),
            ..Options::default()
        };
        let mut search = BookSearch::new(Settings::new(&options, &Draft::default()).unwrap());
        for number in 1..500 {
            let Some(load) = search.load() else { return (search.results, search.is_unmet) };
            search.take(load, Some(passes(number, load)));
        }
        panic!("it does not end");
    }

    #[test]
    fn a_lapse_of_one_repeat_is_no_bound_of_the_others() {
        let (all, is_unmet) = results(|number, _| number != 1);
        assert!(!is_unmet && (1_900.0..2_000.0).contains(&all[0]), "{all:?}");
        assert_eq!(all[1..], [8_000.0, 8_000.0]);
    }

    #[test]
    fn each_repeat_finds_the_limit() {
        let (all, _) = results(|_, load| load <= 5_000.0);
        assert!(all.iter().all(|load| (4_950.0..=5_000.0).contains(load)), "{all:?}");
        assert!(results(|_, _| false).1);
        let (all, is_unmet) = results(|number, load| number < 20 && load <= 5_000.0);
        assert!(!is_unmet && all[0] > 4_900.0 && all[2] == 500.0, "{all:?}");
    }
}

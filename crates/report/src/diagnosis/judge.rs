//! Joins losses and evidence: what each rule explains.
//!
//! ```text
//!   interval            3       4       5       6
//!   queries lost        .     4,765     .       .        a query that is sent at the end of 4 may be lost in 5
//!   udp.drops           .     4,010    755      .        each packet explains one query: 4,765 of 4,765
//! ```
//!
//! A rule takes from what the rules before it have left, so that no loss is explained twice.

use super::rules::{Loss, Rule};
use super::timeline::{Entry, Timeline};
use super::tracks::{Measure, Track};

/// What a rule explains, by one of its signs.
pub(super) struct Explanation {
    /// The number of the rule.
    pub(super) rule: usize,
    /// The number of the track.
    pub(super) track: usize,
    /// Queries without an answer.
    pub(super) unanswered: u64,
    /// The intervals in which they were due.
    pub(super) intervals: u64,
    /// Slow intervals.
    pub(super) slow: u64,
    /// The evidence in all those intervals: the sum of a count, otherwise the highest figure.
    pub(super) evidence: u64,
}

/// What there is to explain, and what is left of it.
pub(super) struct Losses {
    left: Vec<[u64; Loss::COUNT]>,
    slow_left: Vec<bool>,
    unanswered: u64,
    slow: u64,
}

impl Losses {
    pub(super) fn of(timeline: &Timeline) -> Losses {
        let slow_left: Vec<_> = timeline.entries.iter().map(|entry| entry.is_slow).collect();
        Losses {
            left: timeline.entries.iter().map(|entry| entry.lost).collect(),
            unanswered: timeline.entries.iter().map(Entry::lost_total).fold(0, u64::saturating_add),
            slow: slow_left.iter().filter(|slow| **slow).count() as u64,
            slow_left,
        }
    }

    /// Queries without an answer.
    pub(super) fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Slow intervals.
    pub(super) fn slow(&self) -> u64 {
        self.slow
    }

    /// Queries that nothing has explained yet.
    pub(super) fn left(&self) -> u64 {
        self.left.iter().flatten().fold(0, |sum, lost| sum.saturating_add(*lost))
    }

    /// Takes what a rule explains, by the first of its signs that is significant.
    pub(super) fn explain(
        &mut self,
        number: usize,
        rule: &Rule,
        tracks: &[Track<'_>],
        timeline: &Timeline,
    ) -> Option<Explanation> {
        let of_rule = tracks.iter().enumerate().filter(|(_, track)| track.rule == number);
        for (place, track) in of_rule {
            let coincidence = Coincidence { rule, track, place, timeline };
            let (taken, slow) = (coincidence.losses(&self.left), coincidence.slow(&self.slow_left));
            let unanswered: u64 = taken.iter().flatten().fold(0, |sum, lost| sum.saturating_add(*lost));
            let slow_intervals = slow.iter().filter(|slow| **slow).count() as u64;
            let explains_losses = unanswered >= LEAST_QUERIES.max(coincidence.least_of(self.unanswered));
            let explains_slow = slow_intervals >= coincidence.least_of(self.slow).max(1);
            let is_shown = (explains_losses || explains_slow) && coincidence.is_more_than_chance();
            if !is_shown || track.sign.as_many_as_lost && !coincidence.is_as_many(&self.left) {
                continue;
            }
            let mut explanation = Explanation {
                rule: number,
                track: place,
                unanswered: 0,
                intervals: 0,
                slow: 0,
                evidence: coincidence.evidence(&taken, &slow),
            };
            if explains_losses {
                explanation.unanswered = unanswered;
                explanation.intervals =
                    taken.iter().filter(|lost| lost.iter().any(|lost| *lost > 0)).count() as u64;
                for (left, taken) in self.left.iter_mut().zip(&taken) {
                    left.iter_mut().zip(taken).for_each(|(left, taken)| *left -= taken);
                }
            }
            if explains_slow {
                explanation.slow = slow_intervals;
                self.slow_left.iter_mut().zip(&slow).for_each(|(left, taken)| *left &= !taken);
            }
            return Some(explanation);
        }
        None
    }
}

/// A sign of a rule beside the losses of the run.
struct Coincidence<'a> {
    rule: &'a Rule,
    track: &'a Track<'a>,
    place: usize,
    timeline: &'a Timeline,
}

impl Coincidence<'_> {
    /// The losses that it explains, by entry.
    fn losses(&self, left: &[[u64; Loss::COUNT]]) -> Vec<[u64; Loss::COUNT]> {
        if self.track.sign.only_slow {
            return vec![[0; Loss::COUNT]; left.len()];
        }
        let mut evidence: Vec<u64> = (0..left.len()).map(|entry| self.value(entry)).collect();
        let take_in = |(entry, lost): (usize, &[u64; Loss::COUNT])| {
            let mut taken = [0; Loss::COUNT];
            for loss in &self.rule.loss {
                let (lost, taken) = (lost[*loss as usize], &mut taken[*loss as usize]);
                match self.track.measure() {
                    Measure::Count => {
                        for place in self.window(entry) {
                            let more = evidence[place].min(lost - *taken);
                            evidence[place] -= more;
                            *taken += more;
                        }
                    }
                    Measure::Waiting => {
                        let most = self.window(entry).map(|place| self.value(place)).max().unwrap_or(0);
                        *taken = if self.shows(entry) { lost.min(most) } else { 0 };
                    }
                    Measure::Share | Measure::ShareAtEnd => *taken = if self.shows(entry) { lost } else { 0 },
                }
            }
            taken
        };
        left.iter().enumerate().map(take_in).collect()
    }

    /// The slow entries that it explains.
    fn slow(&self, left: &[bool]) -> Vec<bool> {
        let is_explained =
            |(entry, is_left): (usize, &bool)| *is_left && self.rule.slow && self.delays(entry);
        left.iter().enumerate().map(is_explained).collect()
    }

    /// Whether it is enough to move the 99th percentile of an entry.
    fn delays(&self, entry: usize) -> bool {
        match self.track.measure() {
            Measure::Count | Measure::Waiting => {
                let most = self.window(entry).map(|place| self.value(place)).fold(0, u64::saturating_add);
                most >= LEAST_QUERIES.max(self.timeline.entries[entry].due.div_ceil(100))
            }
            _ => self.shows(entry),
        }
    }

    /// Whether an entry has the evidence.
    fn shows(&self, entry: usize) -> bool {
        let at = |entry: usize| self.value(entry) >= self.track.least();
        match self.track.measure() {
            Measure::Share => at(entry),
            Measure::ShareAtEnd => at(entry) || entry.checked_sub(1).is_some_and(at),
            Measure::Count | Measure::Waiting => self.window(entry).any(at),
        }
    }

    /// The entries whose evidence may be about the queries of one. A reading may be some milliseconds late, and then
    /// has some evidence of the next entry.
    fn window(&self, entry: usize) -> std::ops::Range<usize> {
        let after = self.timeline.entries_in(self.rule.after_s);
        entry.saturating_sub(1)..(entry + after + 1).min(self.timeline.entries.len())
    }

    fn value(&self, entry: usize) -> u64 {
        self.timeline.entries[entry].values[self.place]
    }

    /// The least number of losses or slow entries, of all, that is worth a finding.
    fn least_of(&self, all: u64) -> u64 {
        match self.track.measure() {
            Measure::Count | Measure::Waiting => all.div_ceil(100),
            Measure::Share | Measure::ShareAtEnd => all.div_ceil(10),
        }
    }

    /// Whether the evidence goes with the trouble: there is twice as much of it in and around troubled entries as in
    /// the others, in which queries were due too.
    fn is_more_than_chance(&self) -> bool {
        let entries = &self.timeline.entries;
        let is_troubled = |entry: &Entry| {
            let is_lossy = self.rule.loss.iter().any(|loss| entry.lost[*loss as usize] > 0);
            is_lossy && !self.track.sign.only_slow || self.rule.slow && entry.is_slow
        };
        let mut is_near = vec![false; entries.len()];
        for (entry, _) in entries.iter().enumerate().filter(|(_, entry)| is_troubled(entry)) {
            let near = match self.track.measure() {
                Measure::Share | Measure::ShareAtEnd => entry..entry + 1,
                Measure::Count | Measure::Waiting => self.window(entry),
            };
            near.for_each(|entry| is_near[entry] = true);
        }
        let mean = |is_wanted: bool| {
            let wanted =
                (0..entries.len()).filter(|entry| is_near[*entry] == is_wanted && entries[*entry].due > 0);
            let (mut sum, mut count) = (0.0, 0.0);
            for entry in wanted {
                count += 1.0;
                sum += match self.track.measure() {
                    Measure::Count | Measure::Waiting => self.value(entry) as f64,
                    _ => f64::from(u8::from(self.shows(entry))),
                };
            }
            (count > 0.0).then(|| sum / count)
        };
        match (mean(true), mean(false)) {
            _ if self.track.sign.needs_no_contrast => true,
            (Some(near), Some(far)) => near >= 2.0 * far,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// Whether it is as many as the losses, in all and in nine of ten entries, and not all that is left: what happens
    /// to every second message at random differs by no more.
    fn is_as_many(&self, left: &[[u64; Loss::COUNT]]) -> bool {
        let lost = |entry: usize| self.rule.loss.iter().map(|loss| left[entry][*loss as usize]).sum::<u64>();
        let is_alike = |lost: u64, of_sign: u64| {
            let both = lost.saturating_add(of_sign) as f64;
            lost.abs_diff(of_sign) as f64 <= 0.1 * both + 4.0 * both.sqrt()
        };
        let pairs: Vec<_> = (0..left.len()).map(|entry| (lost(entry), self.value(entry))).collect();
        let (all_lost, all_of_sign) = pairs.iter().fold((0_u64, 0_u64), |(lost, of_sign), pair| {
            (lost.saturating_add(pair.0), of_sign.saturating_add(pair.1))
        });
        let looked_at = pairs.iter().filter(|(lost, of_sign)| lost + of_sign >= ENOUGH_TO_COMPARE);
        let (mut alike, mut all) = (0, 0);
        looked_at.for_each(|(lost, of_sign)| {
            (alike, all) = (alike + u64::from(is_alike(*lost, *of_sign)), all + 1)
        });
        let due = self.timeline.entries.iter().map(|entry| entry.due).fold(0, u64::saturating_add);
        let others = due.saturating_sub(all_lost).saturating_sub(all_of_sign);
        let has_others = others >= LEAST_QUERIES.max(due / 1_000);
        all > 0 && has_others && alike * 10 >= all * 9 && is_alike(all_lost, all_of_sign)
    }

    /// The evidence in and around the entries that it explains.
    fn evidence(&self, taken: &[[u64; Loss::COUNT]], slow: &[bool]) -> u64 {
        let mut is_used = vec![false; taken.len()];
        for (entry, lost) in taken.iter().enumerate() {
            if slow[entry] || lost.iter().any(|lost| *lost > 0) {
                self.window(entry).for_each(|entry| is_used[entry] = true);
            }
        }
        let used = (0..taken.len()).filter(|entry| is_used[*entry]).map(|entry| self.value(entry));
        match self.track.measure() {
            Measure::Count => used.fold(0, u64::saturating_add),
            _ => used.max().unwrap_or(0),
        }
    }
}

/// Of fewer in an entry, any share may be chance.
const ENOUGH_TO_COMPARE: u64 = 40;

/// Fewer queries may have been lost by chance.
const LEAST_QUERIES: u64 = 3;

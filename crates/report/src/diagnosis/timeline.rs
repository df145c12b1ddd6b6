//! The intervals of a run as far as a diagnosis needs them, in bounded memory: how many queries were lost, how slow
//! the answers were, and the figures of each piece of evidence.

use dnsdyno_measure::Tally;
use dnsdyno_record::{Header, Interval};

use super::rules::Loss;
use super::sources::{SERVFAIL, Sources, answered, at};
use super::tracks::{Measure, Track};
use crate::figures::judged;

/// Intervals, or neighbours of them joined, in order.
pub(super) struct Timeline {
    pub(super) entries: Vec<Entry>,
    /// Intervals of an entry.
    width: u64,
    measures: Vec<Measure>,
    interval_ns: u64,
}

/// Some intervals.
pub(super) struct Entry {
    index: u64,
    /// Queries due.
    pub(super) due: u64,
    /// Queries without an answer, by [`Loss`].
    pub(super) lost: [u64; Loss::COUNT],
    /// The 99th percentile of the answered ones; of joined intervals the highest.
    p99_ns: Option<u64>,
    /// Whether that is far above the base of the run.
    pub(super) is_slow: bool,
    /// The figure of each track.
    pub(super) values: Vec<u64>,
}

impl Timeline {
    pub(super) fn new(header: &Header, tracks: &[Track<'_>]) -> Timeline {
        let measures = tracks.iter().map(Track::measure).collect();
        Timeline { entries: Vec::new(), width: 1, measures, interval_ns: header.interval_ns.max(1) }
    }

    /// Adds an interval.
    pub(super) fn add(
        &mut self,
        header: &Header,
        interval: &Interval,
        sources: &Sources,
        tracks: &[Track<'_>],
    ) {
        let samples = sources.samples(header, interval);
        let covered_ns = interval.to_ns.saturating_sub(interval.from_ns);
        let entry = Entry {
            index: interval.index,
            due: judged(&interval.tally),
            lost: lost(&interval.tally),
            p99_ns: at(answered(header, &interval.tally)),
            is_slow: false,
            values: tracks.iter().map(|track| track.value(&samples, covered_ns)).collect(),
        };
        self.push(entry);
        while self.entries.len() > MOST_ENTRIES {
            self.width *= 2;
            std::mem::take(&mut self.entries).into_iter().for_each(|entry| self.push(entry));
        }
    }

    fn push(&mut self, entry: Entry) {
        match self.entries.last_mut() {
            Some(last) if last.index / self.width == entry.index / self.width => {
                last.join(&entry, &self.measures);
            }
            _ => self.entries.push(entry),
        }
    }

    /// Says which entries are slow, and where evidence belongs that is known of the run only, after the last interval.
    pub(super) fn finish(mut self, sources: &Sources, tracks: &[Track<'_>]) -> Timeline {
        let totals = sources.totals();
        for (place, track) in tracks.iter().enumerate().filter(|(_, track)| track.measure() == Measure::Count)
        {
            self.spread(place, track.value(&totals, 0), track.losses());
        }
        let mut known: Vec<u64> = self.entries.iter().filter_map(|entry| entry.p99_ns).collect();
        known.sort_unstable();
        let base_ns = known.get(known.len() / 4).copied().unwrap_or(0);
        let slow_ns = base_ns.saturating_mul(SLOW_TIMES).max(base_ns.saturating_add(SLOW_BY_NS));
        let slow_ns = slow_ns.min(ALWAYS_SLOW_NS);
        for entry in &mut self.entries {
            entry.is_slow = entry.p99_ns.is_some_and(|p99_ns| p99_ns >= slow_ns);
        }
        self
    }

    /// A count without intervals, of a source that was read before and after the load: each entry has its part of it by
    /// the losses that it can explain.
    fn spread(&mut self, place: usize, total: u64, losses: &[Loss]) {
        if total == 0 || self.entries.iter().any(|entry| entry.values[place] > 0) {
            return;
        }
        let lost =
            |entry: &Entry| losses.iter().map(|loss| u128::from(entry.lost[*loss as usize])).sum::<u128>();
        let all = self.entries.iter().map(lost).sum::<u128>().max(1);
        let (mut lost_so_far, mut given) = (0, 0);
        for entry in &mut self.entries {
            lost_so_far += lost(entry);
            let until = (u128::from(total) * lost_so_far / all) as u64;
            entry.values[place] = until - given;
            given = until;
        }
    }

    /// How many entries this time covers, at least one.
    pub(super) fn entries_in(&self, seconds: u64) -> usize {
        let entry_ns = self.interval_ns.saturating_mul(self.width);
        usize::try_from(seconds.saturating_mul(1_000_000_000).div_ceil(entry_ns)).unwrap_or(1).max(1)
    }

    /// What an entry is, for a sentence: one and many.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        match self.interval_ns.saturating_mul(self.width) {
            1_000_000_000 => ("second", "seconds"),
            _ => ("interval", "intervals"),
        }
    }
}

impl Entry {
    fn join(&mut self, later: &Entry, measures: &[Measure]) {
        self.due = self.due.saturating_add(later.due);
        self.p99_ns = self.p99_ns.max(later.p99_ns);
        for (lost, more) in self.lost.iter_mut().zip(later.lost) {
            *lost = lost.saturating_add(more);
        }
        for ((value, more), measure) in self.values.iter_mut().zip(&later.values).zip(measures) {
            *value = match measure {
                Measure::Count => value.saturating_add(*more),
                _ => *more.max(value),
            };
        }
    }

    /// Queries without an answer, for any reason.
    pub(super) fn lost_total(&self) -> u64 {
        self.lost.iter().fold(0, |sum, lost| sum.saturating_add(*lost))
    }
}

/// By [`Loss`].
fn lost(tally: &Tally) -> [u64; Loss::COUNT] {
    let mut lost = [0; Loss::COUNT];
    lost[Loss::TimedOut as usize] = tally.ends.timed_out.saturating_add(tally.ends.answered_late);
    lost[Loss::Refused as usize] = tally.ends.refused;
    lost[Loss::NotSent as usize] = tally.ends.not_sent.total();
    lost[Loss::Servfail as usize] = tally.rcodes.of(SERVFAIL).min(tally.ends.answered);
    lost[Loss::Wrong as usize] = tally.ends.answered_wrong;
    lost
}

/// A run with more intervals has joined neighbours: two hours of seconds.
const MOST_ENTRIES: usize = 7_200;

/// An interval is slow if its p99 is so many times that of the quickest quarter of the intervals, …
const SLOW_TIMES: u64 = 5;

/// … and so much above it.
const SLOW_BY_NS: u64 = 20_000_000;

/// From here on it is slow in any run: a client has asked again.
const ALWAYS_SLOW_NS: u64 = 1_000_000_000;

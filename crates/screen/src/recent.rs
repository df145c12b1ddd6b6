//! What was counted in the last seconds, in bounded memory.
//!
//! ```text
//!   counts of intervals ──► [slot][slot][slot] … [slot]      the oldest slot leaves, whole, when a new one comes
//! ```

use std::collections::VecDeque;

/// Counts that can be added up over time.
pub(crate) trait Sum: Default {
    /// Adds the counts of a later time.
    fn add(&mut self, later: &Self);
}

/// The counts of at least the last `window_ns`, or of the last interval where that is longer.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    slot_ns: u64,
    most_slots: usize,
    /// The number of each slot, and its counts.
    slots: VecDeque<(u64, T)>,
}

impl<T: Sum> Recent<T> {
    pub(crate) fn new(window_ns: u64, interval_ns: u64) -> Recent<T> {
        let slot_ns = (window_ns / MOST_SLOTS).max(interval_ns).max(1);
        let most_slots = window_ns.div_ceil(slot_ns).max(1) as usize;
        Recent { slot_ns, most_slots, slots: VecDeque::new() }
    }

    /// Adds the counts of an interval that begins at `from_ns`.
    pub(crate) fn add(&mut self, from_ns: u64, counts: &T) {
        let number = from_ns / self.slot_ns;
        match self.slots.back_mut().filter(|(last, _)| *last == number) {
            Some((_, slot)) => slot.add(counts),
            None => {
                let mut slot = T::default();
                slot.add(counts);
                self.slots.push_back((number, slot));
            }
        }
        while self.slots.len() > self.most_slots {
            self.slots.pop_front();
        }
    }

    /// All of them together.
    pub(crate) fn sum(&self) -> T {
        let mut sum = T::default();
        self.slots.iter().for_each(|(_, slot)| sum.add(slot));
        sum
    }
}

/// Slots of a window: each may hold histograms.
const MOST_SLOTS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    impl Sum for u64 {
        fn add(&mut self, later: &Self) {
            *self += later;
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_counts_of_the_last_seconds_are_kept_and_older_ones_leave() {
        let mut recent = Recent::new(10 * SECOND, SECOND);
        (0..25_u64).for_each(|second| recent.add(second * SECOND, &(1 << second)));
        assert_eq!(recent.sum(), (15..25).map(|second| 1 << second).sum::<u64>());
    }

    #[test]
    fn short_intervals_share_a_slot_and_a_long_one_has_its_own() {
        let mut recent = Recent::new(10 * SECOND, SECOND / 100);
        (0..100_000).for_each(|i| recent.add(i * SECOND / 100, &1_u64));
        assert_eq!((recent.slots.len(), recent.sum()), (10, 1_000));
        let mut recent = Recent::new(10 * SECOND, 60 * SECOND);
        (0..3).for_each(|i| recent.add(i * 60 * SECOND, &(i + 1)));
        assert_eq!(recent.sum(), 3);
    }
}

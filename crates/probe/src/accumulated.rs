//! Counters that come and go with what they count, such as those of threads.

use std::collections::BTreeMap;

/// The sum of counters that come and go: what was counted stays in it.
#[derive(Debug, Default)]
pub(crate) struct Accumulated {
    total: u64,
    before: BTreeMap<u64, u64>,
    now: BTreeMap<u64, u64>,
}

impl Accumulated {
    /// What one of the counters was before anything is counted. One that is not known begins with 0.
    pub(crate) fn begin(&mut self, number: u64, value: u64) {
        self.before.insert(number, value);
    }

    /// One of the counters: by how much it rose.
    pub(crate) fn see(&mut self, number: u64, value: u64) -> u64 {
        let before = self.before.get(&number).copied().unwrap_or(0);
        // A lower one belongs to something new with the same number.
        let rise = value.checked_sub(before).unwrap_or(value);
        self.total = self.total.wrapping_add(rise);
        self.now.insert(number, value);
        rise
    }

    /// The sum, when all that exist have been seen.
    pub(crate) fn total(&mut self) -> u64 {
        self.before = std::mem::take(&mut self.now);
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_come_and_go_lose_nothing() {
        let mut all = Accumulated::default();
        let mut sum = |values: &[(u64, u64)]| {
            for (number, value) in values {
                all.see(*number, *value);
            }
            all.total()
        };
        assert_eq!(sum(&[(1, 10), (2, 20)]), 30);
        assert_eq!(sum(&[(2, 25)]), 35);
        assert_eq!(sum(&[(1, 3), (2, 5)]), 43);
    }

    #[test]
    fn what_was_there_before_is_not_counted() {
        let mut all = Accumulated::default();
        all.begin(1, 10);
        assert_eq!((all.see(1, 14), all.see(2, 3), all.total()), (4, 3, 7));
    }
}

//! How much counters have risen between two readings of a source.

use std::collections::BTreeMap;

use dnsdyno_measure::Samples;

use crate::source::Reading;

/// The last value of each counter.
#[derive(Debug, Default)]
pub(crate) struct Rise {
    last: BTreeMap<String, u64>,
}

/// What has happened since the reading before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Risen {
    /// Every series, also those that have not moved.
    pub(crate) samples: Samples,
    /// The counters have begun again with 0: they count what happened since then.
    pub(crate) restarted: bool,
}

impl Rise {
    /// The counters before anything is counted.
    pub(crate) fn begin(&mut self, reading: &Reading) {
        self.last.extend(reading.counters.clone());
    }

    /// The rise since the last call. A counter that was never read before began with 0: servers leave such counters
    /// out. A counter that is missing now keeps its value.
    pub(crate) fn next(&mut self, reading: Reading) -> Risen {
        let restarted = self.has_restarted(&reading.counters);
        if restarted {
            self.last.clear();
        }
        let counters = reading.counters.into_iter().map(|(name, now)| {
            let before = match self.last.get_mut(&name) {
                Some(last) => std::mem::replace(last, now),
                None => {
                    self.last.insert(name.clone(), now);
                    0
                }
            };
            (name, rise(before, now))
        });
        Risen { samples: Samples { counters: counters.collect(), gauges: reading.gauges }, restarted }
    }

    /// Whether most of the counters that had risen are lower than before.
    fn has_restarted(&self, counters: &BTreeMap<String, u64>) -> bool {
        let (mut lower, mut others) = (0_usize, 0_usize);
        for (name, before) in self.last.iter().filter(|(_, before)| **before > 0) {
            match counters.get(name) {
                Some(now) if now < before && wrapped(*before, *now).is_none() => lower += 1,
                Some(_) => others += 1,
                None => {}
            }
        }
        lower > others
    }
}

/// A single counter that is lower than before has wrapped at 32 bits, or is wrong.
fn rise(before: u64, now: u64) -> u64 {
    now.checked_sub(before).or_else(|| wrapped(before, now)).unwrap_or(0)
}

/// The rise of a counter of 32 bits that has begun again with 0 because it was full, or of a sum with one such counter,
/// as those of the CPUs are.
fn wrapped(before: u64, now: u64) -> Option<u64> {
    const RANGE: u64 = 1 << 32;
    let fall = before.checked_sub(now)?;
    (RANGE / 4 * 3..RANGE).contains(&fall).then(|| RANGE - fall)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(counters: &[(&str, u64)]) -> Reading {
        let mut reading = Reading::default();
        counters.iter().for_each(|(name, value)| reading.counter(*name, *value));
        reading
    }

    fn rises(rise: &mut Rise, counters: &[(&str, u64)]) -> (Vec<u64>, bool) {
        let Risen { samples, restarted } = rise.next(reading(counters));
        (samples.counters.into_values().collect(), restarted)
    }

    #[test]
    fn a_counter_that_appears_began_with_zero_and_one_that_is_missing_is_kept() {
        let mut rise = Rise::default();
        rise.begin(&reading(&[("a", 5)]));
        assert_eq!(rises(&mut rise, &[("a", 7), ("b", 3)]), (vec![2, 3], false));
        assert_eq!(rises(&mut rise, &[("b", 3)]), (vec![0], false));
        assert_eq!(rises(&mut rise, &[("a", 8), ("b", 3)]), (vec![1, 0], false));
    }

    #[test]
    fn a_restart_counts_from_zero_and_is_said() {
        let mut rise = Rise::default();
        rise.begin(&reading(&[("a", 500), ("b", 70), ("c", 0)]));
        assert_eq!(rises(&mut rise, &[("a", 3), ("b", 1), ("c", 2)]), (vec![3, 1, 2], true));
        assert_eq!(rises(&mut rise, &[("a", 4), ("b", 1), ("c", 2)]), (vec![1, 0, 0], false));
    }

    #[test]
    fn one_counter_that_goes_backwards_among_others_has_not_risen() {
        let mut rise = Rise::default();
        rise.begin(&reading(&[("a", 500), ("b", 70), ("c", 9)]));
        assert_eq!(rises(&mut rise, &[("a", 3), ("b", 71), ("c", 10)]), (vec![0, 1, 1], false));
    }

    #[test]
    fn a_counter_of_32_bits_wraps() {
        let mut rise = Rise::default();
        rise.begin(&reading(&[("a", u64::from(u32::MAX) - 4)]));
        assert_eq!(rises(&mut rise, &[("a", 5)]), (vec![10], false));
        // A sum of those of two CPUs, of which one wraps.
        let mut rise = Rise::default();
        rise.begin(&reading(&[("a", u64::from(u32::MAX) - 4 + 2_000_000_000)]));
        assert_eq!(rises(&mut rise, &[("a", 5 + 2_000_000_000)]), (vec![10], false));
    }
}

//! Waiting with a precision of microseconds: sleeping for most of the time, and polling the clock for the rest.
//!
//! ```text
//!   a long sleep                             │ margin │ a short sleep │ margin │
//!  ──────────────────────────────────────────┼────────┼───────────────┼────────┤ the instant
//!                                            asleep   awake, asleep   awake: polling
//! ```
//!
//! A timer wakes a thread some microseconds late: few after a short sleep; tens or hundreds after a long one, from
//! which the CPU has to be woken too, and whose timer the kernel may delay by a thousandth of its length. So the delay
//! is learned by the length of the sleep, and a sleep ends early by the margin that its length needs. Where that is
//! more than should be spent polling, a second, short sleep follows: the CPU has just been woken, and the delay of so
//! short a sleep is small.

use crate::clock;

/// One thread's sleeps.
#[derive(Debug)]
pub struct Sleeper {
    /// The margins of sleeps, by length: each class is four times as long as the one before.
    margins_ns: [u64; CLASSES],
}

impl Default for Sleeper {
    fn default() -> Self {
        Sleeper { margins_ns: FIRST_MARGINS_NS }
    }
}

impl Sleeper {
    /// Waits until `instant_ns` of the monotonic clock; or, if not `exactly`, until about then, without polling.
    ///
    /// `sleep` gets two instants, now and until when to sleep, and returns whether something has arrived, which ends
    /// the wait; if both are the same, it only looks. A signal may end a sleep early.
    pub fn wait_until_ns(&mut self, instant_ns: u64, exactly: bool, mut sleep: impl FnMut(u64, u64) -> bool) {
        let mut now_ns = clock::monotonic_ns();
        for _ in 0..MOST_SLEEPS {
            let Some(end_ns) = self.end_of_sleep_ns(now_ns, instant_ns, exactly) else { break };
            if sleep(now_ns, end_ns) {
                return;
            }
            let woken_ns = clock::monotonic_ns();
            if woken_ns >= end_ns {
                self.learn(end_ns - now_ns, woken_ns - end_ns);
            }
            now_ns = woken_ns;
        }
        while exactly && now_ns < instant_ns {
            if now_ns + UNDISTURBED_NS < instant_ns && sleep(now_ns, now_ns) {
                return;
            }
            std::hint::spin_loop();
            now_ns = clock::monotonic_ns();
        }
    }

    /// The delay that three short sleeps in four have lately not exceeded.
    pub fn oversleep_ns(&self) -> u64 {
        self.margins_ns[0]
    }

    /// Until when to sleep before `instant_ns`; `None` if the wait is too short to sleep.
    fn end_of_sleep_ns(&self, now_ns: u64, instant_ns: u64, exactly: bool) -> Option<u64> {
        let wait_ns = instant_ns.saturating_sub(now_ns);
        let margin_ns = self.margins_ns[class_of(wait_ns)];
        let early_ns =
            if exactly && margin_ns > LONGEST_POLL_NS && wait_ns > 2 * (margin_ns + SECOND_SLEEP_NS) {
                margin_ns + SECOND_SLEEP_NS
            } else {
                // At least half of a wait is slept: a thread that once overslept by more than its waits last would
                // otherwise poll for ever, and never measure again.
                margin_ns.min(LONGEST_MARGIN_NS).min(wait_ns / 2)
            };
        let end_ns = instant_ns.saturating_sub(early_ns);
        (end_ns > now_ns + SHORTEST_SLEEP_NS).then_some(end_ns)
    }

    /// Three sleeps in four are to end within the margin: it grows three times as fast as it shrinks. A very long
    /// delay is caused by a busy host, not by the timer.
    fn learn(&mut self, asleep_ns: u64, too_long_ns: u64) {
        let class = class_of(asleep_ns);
        let margin_ns = &mut self.margins_ns[class];
        // In proportion: a margin that is ten times too large is as soon mended as a small one.
        let step_ns = SHORTEST_STEP_NS + *margin_ns / 64;
        *margin_ns = if too_long_ns > *margin_ns {
            (*margin_ns + 3 * step_ns).min(if class == 0 { LONGEST_MARGIN_NS } else { LONGEST_DELAY_NS })
        } else {
            margin_ns.saturating_sub(step_ns)
        };
    }
}

/// The class of a sleep of this length.
fn class_of(asleep_ns: u64) -> usize {
    let quadruples = (asleep_ns / LENGTH_OF_SHORT_NS).checked_ilog2().map_or(0, |log| log / 2 + 1);
    (quadruples as usize).min(CLASSES - 1)
}

/// Sleeps below 64, 256, 1,024 µs, below 4, 16 and 66 ms, and longer ones.
const CLASSES: usize = 7;
const LENGTH_OF_SHORT_NS: u64 = 64_000;

/// The margins before the first sleep. A second sleep makes up for those of long sleeps that are too large.
const FIRST_MARGINS_NS: [u64; CLASSES] = [8_000, 10_000, 15_000, 40_000, 60_000, 100_000, 150_000];

/// A wait has a long and a short sleep, and more only if signals end them.
const MOST_SLEEPS: usize = 4;

/// A shorter sleep is not worth a system call.
const SHORTEST_SLEEP_NS: u64 = 4_000;

/// How long the second sleep is: so short that it is woken from soon, and long enough to make up for the usual
/// differences in the delay of the first.
const SECOND_SLEEP_NS: u64 = 50_000;

/// A margin up to this is polled: a second sleep would use as much of the CPU.
const LONGEST_POLL_NS: u64 = 20_000;

/// The longest time spent polling before an instant.
const LONGEST_MARGIN_NS: u64 = 30_000;

/// A wake-up that takes longer is the fault of a busy host.
const LONGEST_DELAY_NS: u64 = 300_000;

/// What arrives so shortly before the instant is left until after it: it would make the next send late.
const UNDISTURBED_NS: u64 = 5_000;

/// How fast a small margin follows: within the first few hundred sleeps.
const SHORTEST_STEP_NS: u64 = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn sleep(_: u64, until_ns: u64) -> bool {
        clock::sleep_until_ns(until_ns);
        false
    }

    #[test]
    fn a_wait_is_never_too_short() {
        let mut sleeper = Sleeper::default();
        for wait_ns in [1_000, 20_000, 100_000, 1_000_000, 5_000_000] {
            for _ in 0..20 {
                let instant_ns = clock::monotonic_ns() + wait_ns;
                sleeper.wait_until_ns(instant_ns, true, sleep);
                assert!(clock::monotonic_ns() >= instant_ns);
            }
        }
        sleeper.wait_until_ns(0, true, sleep);
    }

    #[test]
    fn the_margin_settles_where_one_sleep_in_four_is_longer() {
        let mut sleeper = Sleeper::default();
        // Delays of 1 to 10 µs, equally likely, without a pattern.
        (0..50_000u64).for_each(|i| sleeper.learn(40_000, (i * 7_919 % 10_000) + 1));
        assert!((6_500..=8_800).contains(&sleeper.oversleep_ns()), "{}", sleeper.oversleep_ns());
        // A host that stands still is no reason to poll for milliseconds.
        (0..100_000).for_each(|_| sleeper.learn(40_000, 3_000_000));
        assert_eq!(sleeper.oversleep_ns(), LONGEST_MARGIN_NS);
    }

    #[test]
    fn the_delay_of_long_sleeps_is_learned_within_seconds_and_apart_from_that_of_short_ones() {
        let mut sleeper = Sleeper::default();
        let short_ns = sleeper.oversleep_ns();
        (0..100).for_each(|_| sleeper.learn(20_000_000, 250_000));
        let end_ns = sleeper.end_of_sleep_ns(0, 20_000_000, true).unwrap();
        assert!(
            (19_650_000..=19_710_000).contains(&end_ns),
            "250 µs for the delay, 50 for a second sleep: {end_ns}"
        );
        assert_eq!(sleeper.oversleep_ns(), short_ns);
        (0..200).for_each(|_| sleeper.learn(20_000_000, 12_000));
        let end_ns = sleeper.end_of_sleep_ns(0, 20_000_000, true).unwrap();
        assert!((19_984_000..=19_990_000).contains(&end_ns), "no second sleep: {end_ns}");
    }

    #[test]
    fn after_a_long_sleep_a_short_one_follows_and_little_is_polled() {
        let sleeper = Sleeper::default();
        let first_ns = sleeper.end_of_sleep_ns(0, 100_000_000, true).unwrap();
        let second_ns = sleeper.end_of_sleep_ns(first_ns + 100_000, 100_000_000, true).unwrap();
        assert_eq!((first_ns, second_ns), (99_800_000, 99_990_000));
        assert_eq!(sleeper.end_of_sleep_ns(second_ns + 9_000, 100_000_000, true), None);
        // Without precision, one sleep is enough.
        assert_eq!(sleeper.end_of_sleep_ns(0, 100_000_000, false), Some(99_970_000));
    }

    #[test]
    fn an_arrival_ends_a_sleep_and_polling_and_teaches_nothing() {
        let mut sleeper = Sleeper::default();
        let far_ns = clock::monotonic_ns() + 3_600_000_000_000;
        sleeper.wait_until_ns(far_ns, true, |_, _| true);
        assert_eq!(sleeper.margins_ns, FIRST_MARGINS_NS);
        // Each sleep ends early, as by a signal; then something arrives.
        let looks = Cell::new(0);
        sleeper.wait_until_ns(far_ns, true, |_, _| {
            looks.set(looks.get() + 1);
            looks.get() > MOST_SLEEPS + 2
        });
        assert_eq!((looks.get(), sleeper.margins_ns), (MOST_SLEEPS + 3, FIRST_MARGINS_NS));
    }

    #[test]
    fn each_length_has_its_class() {
        let classes = [0, 63_999, 64_000, 255_999, 256_000, 1_024_000, 65_000_000, 65_536_000, u64::MAX];
        assert_eq!(classes.map(class_of), [0, 0, 1, 1, 2, 3, 5, 6, 6]);
    }
}

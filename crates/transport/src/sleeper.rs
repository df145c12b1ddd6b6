//! Waiting with a precision of microseconds: sleeping for most of the time, and polling the clock for the
//! rest.
//!
//! ```text
//!   asleep                          │ awake  │
//!  ─────────────────────────────────┼────────┤ the instant
//!                                   └ margin ┘ by how much sleeps have lately been too long
//! ```
//!
//! A timer wakes a thread some microseconds late: few on bare metal, tens in a virtual machine, more on a
//! busy host. The margin follows the measured delay, so that most sleeps end in time and little is spent
//! polling. An open loop needs this because queries that are too dense for one wake-up each otherwise
//! share one.

use dnsdyno_sys::clock;

/// One thread's sleeps.
#[derive(Debug, Default)]
pub(crate) struct Sleeper {
    oversleep_ns: u64,
}

impl Sleeper {
    /// Sleeps until `instant_ns` of the monotonic clock; or, if not `exactly`, until about then,
    /// without polling. A signal ends it early.
    pub(crate) fn sleep_until_ns(&mut self, instant_ns: u64, exactly: bool) {
        let mut now_ns = clock::monotonic_ns();
        // At least half of a wait is slept: a thread that once overslept by more than its waits
        // last would otherwise poll for ever, and never measure again.
        let margin_ns = self.oversleep_ns.min(instant_ns.saturating_sub(now_ns) / 2);
        let asleep_until_ns = instant_ns - margin_ns;
        if asleep_until_ns > now_ns + SHORTEST_SLEEP_NS {
            clock::sleep_until_ns(asleep_until_ns);
            now_ns = clock::monotonic_ns();
            self.learn(now_ns.saturating_sub(asleep_until_ns));
        }
        while now_ns < instant_ns && exactly {
            std::hint::spin_loop();
            now_ns = clock::monotonic_ns();
        }
    }

    /// The delay that three sleeps in four have lately not exceeded.
    pub(crate) fn oversleep_ns(&self) -> u64 {
        self.oversleep_ns
    }

    /// Three sleeps in four are to end within the margin: it grows three times as fast as it shrinks.
    /// A very long delay is caused by a busy host, not by the timer.
    fn learn(&mut self, too_long_ns: u64) {
        if too_long_ns > self.oversleep_ns {
            self.oversleep_ns = (self.oversleep_ns + 3 * STEP_NS).min(LONGEST_MARGIN_NS);
        } else {
            self.oversleep_ns = self.oversleep_ns.saturating_sub(STEP_NS);
        }
    }
}

/// A shorter sleep is not worth a system call.
const SHORTEST_SLEEP_NS: u64 = 2_000;

/// The longest time spent polling before an instant.
const LONGEST_MARGIN_NS: u64 = 30_000;

/// How fast the margin follows: within the first few hundred sleeps.
const STEP_NS: u64 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_never_too_short() {
        let mut sleeper = Sleeper::default();
        for _ in 0..500 {
            let instant_ns = clock::monotonic_ns() + 100_000;
            sleeper.sleep_until_ns(instant_ns, true);
            assert!(clock::monotonic_ns() >= instant_ns);
        }
        sleeper.sleep_until_ns(0, true);
    }

    #[test]
    fn the_margin_settles_where_one_sleep_in_four_is_longer() {
        let mut sleeper = Sleeper::default();
        // Delays of 1 to 10 µs, equally likely, without a pattern.
        (0..50_000u64).for_each(|i| sleeper.learn((i * 7_919 % 10_000) + 1));
        assert!((6_500..=8_500).contains(&sleeper.oversleep_ns()), "{}", sleeper.oversleep_ns());
        // A host that stands still is no reason to poll for milliseconds.
        (0..100_000).for_each(|_| sleeper.learn(3_000_000));
        assert_eq!(sleeper.oversleep_ns(), LONGEST_MARGIN_NS);
    }
}

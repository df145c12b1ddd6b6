//! What late sends may add to the response times of the queries sent after them.
//!
//! ```text
//!   delay
//!     │╲        queries that are late by L reach the server together, and those behind them wait longer than they
//!     │  ╲      would have, by no more than L; a server that is loaded to less than 95 % has caught up after 24 L,
//!     │    ╲    and any server when no query is outstanding
//!     └──────┴────► time
//! ```

/// The delay that may be left at the last send of one worker. Times are of any clock that does not go back.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnDelay {
    left_ns: u64,
    at_ns: u64,
}

impl OwnDelay {
    /// Queries are sent at `sent_ns`, at most `late_ns` late; `is_idle`: no other query was outstanding. Returns what
    /// may be added to the response time of each of them, at the most.
    #[inline]
    pub fn at_send(&mut self, sent_ns: u64, late_ns: u64, is_idle: bool) -> u64 {
        let since_ns = sent_ns.saturating_sub(self.at_ns);
        let left_ns = if is_idle { 0 } else { self.left_ns.saturating_sub(since_ns / CATCHES_UP) };
        *self = OwnDelay { left_ns: left_ns.max(late_ns), at_ns: sent_ns };
        self.left_ns
    }
}

/// A delay in an octet, rounded up by an eighth at most: what an outstanding query keeps of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortDelay(u8);

impl ShortDelay {
    /// No delay.
    pub const NONE: ShortDelay = ShortDelay(0);

    /// At least this delay.
    #[inline]
    pub fn of(delay_ns: u64) -> ShortDelay {
        if delay_ns == 0 {
            return ShortDelay(0);
        }
        // Four bits of it, the first of which is 1; rounded up, they may be 16.
        let delay_ns = delay_ns.max(1 << SHORTEST_BIT);
        let shift = delay_ns.ilog2() - 3;
        let bits = ((delay_ns - 1) >> shift) + 1;
        let code = (u64::from(shift + 3 - SHORTEST_BIT) << 3) + bits - 8 + 1;
        ShortDelay(u8::try_from(code).unwrap_or(u8::MAX))
    }

    /// What is left of a response time without the delay, at the least.
    #[inline]
    pub fn less(self, response_ns: u64) -> u64 {
        response_ns.saturating_sub(self.at_most_ns())
    }

    #[inline]
    fn at_most_ns(self) -> u64 {
        match self.0.checked_sub(1) {
            None => 0,
            Some(UNBOUNDED) => u64::MAX,
            Some(code) => u64::from(code & 7 | 8) << (u32::from(code >> 3) + SHORTEST_BIT - 3),
        }
    }
}

/// The shortest delay that is told from none: 2^9 ns.
const SHORTEST_BIT: u32 = 9;

/// The code of delays of half an hour and more, less 1.
const UNBOUNDED: u8 = u8::MAX - 1;

/// How many times a delay a server takes to make up for it: 1 / (1 − load), for loads up to 95 %.
const CATCHES_UP: u64 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_delay_is_no_shorter_and_an_eighth_longer_at_most() {
        let near = |power: u32| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1, 13 << (power - 3)];
        for delay_ns in (9..40).flat_map(near) {
            let short_ns = ShortDelay::of(delay_ns).at_most_ns();
            assert!((delay_ns..=delay_ns + delay_ns / 8 + 1).contains(&short_ns), "{delay_ns}: {short_ns}");
            assert!(ShortDelay::of(delay_ns) <= ShortDelay::of(delay_ns + 1));
        }
        assert_eq!([0, 1, 512].map(|ns| ShortDelay::of(ns).at_most_ns()), [0, 512, 512]);
        assert_eq!(ShortDelay::of(u64::MAX).less(u64::MAX - 1), 0);
        assert_eq!(ShortDelay::of(1_000).less(5_000), 4_000 - 24);
    }

    #[test]
    fn a_delay_is_made_up_for_in_24_times_its_length_or_when_nothing_is_outstanding() {
        let mut delay = OwnDelay::default();
        assert_eq!(delay.at_send(1_000, 800, true), 800);
        assert_eq!(delay.at_send(3_400, 0, false), 700);
        assert_eq!(delay.at_send(5_800, 650, false), 650, "its own lateness is larger");
        assert_eq!(delay.at_send(50_000, 0, false), 0);
        delay.at_send(50_000, 5_000, false);
        assert_eq!(delay.at_send(50_001, 3, true), 3);
    }
}

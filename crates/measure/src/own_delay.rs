//! What late sends may add to the response times of the queries sent after them.
//!
//! ```text
//!   delay
//!     │╲        queries that are late by L reach the server together, and those behind them wait longer than they
//!     │  ╲      would have, by no more than L; a server with an eighth of its capacity free has caught up after 8 L,
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

/// How many times a delay a server takes to make up for it. At 1 / (1 − load): it is right for loads up to 7/8.
const CATCHES_UP: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_made_up_for_in_eight_times_its_length_or_when_nothing_is_outstanding() {
        let mut delay = OwnDelay::default();
        assert_eq!(delay.at_send(1_000, 800, true), 800);
        assert_eq!(delay.at_send(1_800, 0, false), 700);
        assert_eq!(delay.at_send(2_600, 650, false), 650, "its own lateness is larger");
        assert_eq!(delay.at_send(10_000, 0, false), 0);
        delay.at_send(10_000, 5_000, false);
        assert_eq!(delay.at_send(10_001, 3, true), 3);
    }
}

//! Instants that never go back far, from those of a capture, whose clock may have been set back.
//!
//! A capture is in order as far as its reader puts it in order ([`ORDERED_WITHIN_NS`]). What goes back farther is a
//! clock that was set back, and the time between the messages after it is kept. A few messages of another time (of a
//! host with a wrong clock, for instance) are due where they stand; the time goes on where it was before them.

use dnsdyno_capture::ORDERED_WITHIN_NS;

/// The time of a capture.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// What instants are moved by.
    moved_ns: u64,
    /// The latest instant that was given.
    latest_unix_ns: u64,
    /// What they were moved by before the time went back.
    before_ns: Option<u64>,
}

impl Clock {
    /// The instant of the next message.
    pub(super) fn instant(&mut self, at_unix_ns: u64) -> u64 {
        let mut instant = at_unix_ns.saturating_add(self.moved_ns);
        if self.latest_unix_ns.saturating_sub(instant) > ORDERED_WITHIN_NS {
            self.before_ns.get_or_insert(self.moved_ns);
            self.moved_ns = self.latest_unix_ns.saturating_sub(at_unix_ns);
            instant = self.latest_unix_ns;
        } else if instant.saturating_sub(self.latest_unix_ns) > ORDERED_WITHIN_NS
            && let Some(before_ns) = self.before_ns
        {
            // Far ahead: that of before, if it is not earlier than what was given since.
            let as_before = at_unix_ns.saturating_add(before_ns);
            if as_before.saturating_add(ORDERED_WITHIN_NS) >= self.latest_unix_ns {
                (self.moved_ns, self.before_ns) = (before_ns, None);
                instant = as_before;
            }
        }
        self.latest_unix_ns = self.latest_unix_ns.max(instant);
        instant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(captured: &[u64]) -> Vec<u64> {
        let mut clock = Clock::default();
        captured.iter().map(|s| clock.instant(s * 1_000_000_000) / 1_000_000_000).collect()
    }

    #[test]
    fn instants_in_order_stay_as_they_are() {
        assert_eq!(seconds(&[100, 101, 105, 104, 900, 901]), [100, 101, 105, 104, 900, 901]);
    }

    #[test]
    fn after_a_clock_was_set_back_the_time_between_messages_is_kept() {
        assert_eq!(seconds(&[5_000, 5_001, 1_400, 1_401, 1_403]), [5_000, 5_001, 5_001, 5_002, 5_004]);
        // A long silence after it is one, also where it reaches the time before.
        assert_eq!(seconds(&[1_000, 900, 910, 1_001]), [1_000, 1_000, 1_010, 1_101]);
        assert_eq!(seconds(&[1_000, 900, 800, 801]), [1_000, 1_000, 1_000, 1_001]);
    }

    #[test]
    fn a_message_of_another_time_moves_nothing_after_it() {
        assert_eq!(seconds(&[5_000, 5_001, 3, 5_002, 5_003]), [5_000, 5_001, 5_001, 5_002, 5_003]);
        assert_eq!(seconds(&[5_000, 1, 2, 5_001, 0, 5_002]), [5_000, 5_000, 5_001, 5_001, 5_001, 5_002]);
    }

    #[test]
    fn any_instants_are_taken() {
        let mut clock = Clock::default();
        for at in [u64::MAX, 0, u64::MAX, 1, u64::MAX / 2] {
            clock.instant(at);
        }
    }
}

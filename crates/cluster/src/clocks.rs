//! The offset of an agent's monotonic clock, from exchanges of messages.
//!
//! ```text
//!   coordinator   sent ─────────────────────────► received      (agent's clock)
//!                 back ◄───────────────────────── answered
//! ```
//!
//! If a message takes as long there as back, the offset is the middle of both differences. However long each takes, the
//! error is at most half of the time that the messages were under way: so the shortest exchange counts.

use dnsdyno_record::ClockOffset;

/// One exchange: the first and last instant by the coordinator's clock, the others by the agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) sent_ns: u64,
    pub(crate) received_ns: u64,
    pub(crate) answered_ns: u64,
    pub(crate) back_ns: u64,
}

/// The exchanges with one agent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    best: Option<ClockOffset>,
    exchanges: u64,
}

impl Clock {
    /// Adds an exchange.
    pub(crate) fn add(&mut self, exchange: Exchange) {
        let Exchange { sent_ns, received_ns, answered_ns, back_ns } = exchange;
        let there = i128::from(received_ns) - i128::from(sent_ns);
        let back = i128::from(answered_ns) - i128::from(back_ns);
        let under_way = u128::from(back_ns.saturating_sub(sent_ns)) as i128
            - i128::from(answered_ns.saturating_sub(received_ns));
        let bound_ns = (under_way.max(0) as u64).div_ceil(2);
        self.exchanges += 1;
        if self.best.is_none_or(|best| bound_ns < best.bound_ns) {
            let offset_ns = i64::try_from((there + back) / 2).unwrap_or_default();
            self.best = Some(ClockOffset { offset_ns, bound_ns, exchanges: 0 });
        }
    }

    /// The offset by the shortest exchange; `None` before the first one.
    pub(crate) fn offset(&self) -> Option<ClockOffset> {
        self.best.map(|best| ClockOffset { exchanges: self.exchanges, ..best })
    }

    /// Exchanges so far.
    pub(crate) fn exchanges(&self) -> u64 {
        self.exchanges
    }
}

/// An instant of the coordinator's clock by the clock of an agent.
pub(crate) fn by_clock_of(offset: ClockOffset, instant_ns: u64) -> u64 {
    instant_ns.saturating_add_signed(offset.offset_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_true_offset_is_within_the_bound_however_unequal_the_ways_are() {
        for true_offset in [-7_000_000_000_000_i64, -3, 0, 12_345_678] {
            let mut clock = Clock::default();
            for (there, at_agent, back) in
                [(90_000, 5_000, 10_000), (40_000, 900, 60_000), (300, 1_000_000, 70_000)]
            {
                let sent_ns = 50_000_000_000_000_u64;
                let received_ns = (sent_ns + there).saturating_add_signed(true_offset);
                let answered_ns = received_ns + at_agent;
                let back_ns = sent_ns + there + at_agent + back;
                clock.add(Exchange { sent_ns, received_ns, answered_ns, back_ns });
                let ClockOffset { offset_ns, bound_ns, .. } = clock.offset().unwrap();
                assert!(
                    offset_ns.abs_diff(true_offset) <= bound_ns,
                    "{offset_ns} ± {bound_ns}, not {true_offset}"
                );
            }
            let best = clock.offset().unwrap();
            assert_eq!((best.bound_ns, best.exchanges), (35_150, 3));
            let there = by_clock_of(best, 60_000_000_000_000);
            assert!(
                there.abs_diff(60_000_000_000_000_u64.saturating_add_signed(true_offset)) <= best.bound_ns
            );
        }
    }
}

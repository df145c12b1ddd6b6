//! When a datagram arrived: the kernel notes it on the wall clock, and the relay's instants are on the monotonic one.
//!
//! So a datagram that waited in the socket while the relay was busy is not delayed by that wait as well.

use dnsdyno_sys::clock::monotonic_and_wall_ns;

/// Both clocks, looked at again and again.
#[derive(Debug, Default)]
pub(crate) struct ArrivalClock {
    /// How far the wall clock was ahead at the last look.
    ahead_ns: Option<i64>,
}

/// Both clocks at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// On the monotonic clock.
    pub(crate) now_ns: u64,
    wall_ns: u64,
    /// The wall clock was not stepped since the last look: what the kernel noted can be compared.
    is_steady: bool,
}

impl ArrivalClock {
    #[inline]
    pub(crate) fn look(&mut self) -> Look {
        let (now_ns, wall_ns) = monotonic_and_wall_ns();
        self.looked(now_ns, wall_ns)
    }

    #[inline]
    fn looked(&mut self, now_ns: u64, wall_ns: u64) -> Look {
        let ahead_ns = wall_ns as i64 - now_ns as i64;
        let is_steady = self.ahead_ns.is_some_and(|before_ns| before_ns.abs_diff(ahead_ns) < STEP_NS);
        self.ahead_ns = Some(ahead_ns);
        Look { now_ns, wall_ns, is_steady }
    }
}

impl Look {
    /// The instant on the monotonic clock at which the kernel received what it noted `stamp_wall_ns` for; now, where
    /// that is not known.
    #[inline]
    pub(crate) fn arrival_ns(&self, stamp_wall_ns: Option<u64>) -> u64 {
        let age_ns = stamp_wall_ns.map_or(0, |stamp_ns| self.wall_ns.saturating_sub(stamp_ns));
        if self.is_steady && age_ns < LONGEST_WAIT_NS {
            self.now_ns.saturating_sub(age_ns)
        } else {
            self.now_ns
        }
    }
}

/// A larger change of the distance between the clocks is a step of the wall clock.
const STEP_NS: u64 = 200_000;

/// No datagram waits longer in a socket that is read: such an age is an error of the clocks.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const WALL_NS: u64 = 1_800_000_000_000_000_000;

    #[test]
    fn the_time_in_the_socket_is_taken_off() {
        let mut clock = ArrivalClock::default();
        clock.looked(5_000_000, WALL_NS);
        let look = clock.looked(6_000_000, WALL_NS + 1_000_000);
        assert_eq!(look.arrival_ns(Some(WALL_NS + 700_000)), 5_700_000);
        assert_eq!(look.arrival_ns(None), 6_000_000);
        // The clocks are not read at quite the same time.
        assert_eq!(look.arrival_ns(Some(WALL_NS + 1_000_500)), 6_000_000);
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_no_arrival() {
        let mut clock = ArrivalClock::default();
        let first = clock.looked(5_000_000, WALL_NS);
        assert_eq!(first.arrival_ns(Some(WALL_NS - 1_000)), 5_000_000, "nothing to compare with");
        let forward = clock.looked(6_000_000, WALL_NS + 501_000_000);
        assert_eq!(forward.arrival_ns(Some(WALL_NS + 900_000)), 6_000_000);
        let steady = clock.looked(7_000_000, WALL_NS + 502_000_000);
        assert_eq!(steady.arrival_ns(Some(WALL_NS + 501_900_000)), 6_900_000);
        let back = clock.looked(8_000_000, WALL_NS);
        assert_eq!(back.arrival_ns(Some(WALL_NS + 502_500_000)), 8_000_000);
    }

    #[test]
    fn the_real_clocks_are_steady() {
        let mut clock = ArrivalClock::default();
        clock.look();
        let steady = (0..1_000).filter(|_| clock.look().is_steady).count();
        assert!(steady > 900, "{steady}");
    }
}

//! Time that a control group stood still because its CPU quota was used up, and what that makes of waits for a CPU.
//!
//! The kernel counts a pause when it ends, and a thread of a group that stands still is one that waits for a CPU:
//!
//! ```text
//!   interval             4      5      6      7
//!   the group                ├─ stands still ─┤
//!   throttled_periods    1      1      1      0
//!   throttled_ns         0      0      0    all of it    4 to 6 have begun within a pause, or end in one
//!   cpu_wait_ns          0      0      0    all of it    which is no wait for a CPU
//! ```

use crate::Samples;

impl Samples {
    /// How long the control group stood still in an interval of this length, in nanoseconds, added up over CPUs. An
    /// interval in which it had used up its quota, and in which no pause has ended, is within a pause.
    pub fn stood_still_ns(&self, covered_ns: u64) -> u64 {
        match self.counter("cgroup.throttled_ns") {
            0 if self.counter("cgroup.throttled_periods") > 0 => covered_ns,
            ended_ns => ended_ns,
        }
    }

    /// How long threads of a process waited for a CPU that others had, in nanoseconds; 0 where they waited for their
    /// quota.
    pub fn waited_for_cpu_ns(&self, covered_ns: u64) -> u64 {
        let waited_ns = self.counter("cpu_wait_ns");
        if is_wait_for_quota(waited_ns, self.stood_still_ns(covered_ns)) { 0 } else { waited_ns }
    }
}

/// Whether a wait for a CPU is the one for the quota: the group stood still for more than a tenth of it.
pub(crate) fn is_wait_for_quota(waited_ns: u64, stood_still_ns: u64) -> bool {
    stood_still_ns > waited_ns / QUOTA_PART
}

const QUOTA_PART: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(periods: u64, stood_still_ns: u64, waited_ns: u64) -> Samples {
        let counters = [
            ("cgroup.throttled_periods", periods),
            ("cgroup.throttled_ns", stood_still_ns),
            ("cpu_wait_ns", waited_ns),
        ];
        let counters = counters.map(|(name, value)| (name.to_owned(), value));
        Samples { counters: counters.into(), ..Samples::default() }
    }

    #[test]
    fn a_wait_while_the_group_stands_still_is_none_for_a_cpu() {
        // Read every 200 ms of a group of three threads with 2 ms in each 200 ms.
        let cases = [
            ((1, 0, 0), (200, 0)),
            ((1, 0, 810), (200, 0)),
            ((1, 386, 1_174), (386, 0)),
            ((0, 0, 150), (0, 150)),
            // It stood still a little, and waited long for something else.
            ((1, 10, 150), (10, 150)),
        ];
        for ((periods, stood_still, waited), expected) in cases {
            let samples = samples(periods, stood_still, waited);
            assert_eq!((samples.stood_still_ns(200), samples.waited_for_cpu_ns(200)), expected);
        }
    }
}

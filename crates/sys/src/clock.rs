//! Clocks, in nanoseconds.

/// The monotonic clock (`CLOCK_MONOTONIC`): never stepped, slewed by NTP.
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// The wall clock (`CLOCK_REALTIME`), since 1970-01-01 00:00:00 UTC.
pub fn wall_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// By how much the wall clock can be wrong, as the kernel says, which NTP, chrony and PTP tell it; `None` where nothing
/// keeps the clock right.
pub fn wall_clock_bound_ns() -> Option<u64> {
    // SAFETY: an all-zero timex asks for nothing to be changed.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `state` is a valid timex that the call may write to.
    let answer = unsafe { libc::adjtimex(&mut state) };
    let is_kept = answer >= 0 && answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    is_kept.then(|| u64::try_from(state.maxerror).unwrap_or(0).saturating_mul(1_000))
}

/// Sleeps until this instant of the monotonic clock; a signal ends the sleep early.
pub fn sleep_until_ns(instant_ns: u64) {
    let time = libc::timespec {
        tv_sec: (instant_ns / 1_000_000_000) as _,
        tv_nsec: (instant_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` is a valid timespec that the call only reads; the null pointer means that the
    // remaining time is not wanted.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut());
    }
}

/// The monotonic and the wall clock at one instant, to a microsecond unless the host stands still.
#[inline]
pub fn monotonic_and_wall_ns() -> (u64, u64) {
    let mut before = monotonic_ns();
    for _ in 0..2 {
        let wall = wall_ns();
        let after = monotonic_ns();
        if after - before < SAME_INSTANT_NS {
            return (after, wall);
        }
        // The thread was interrupted between the looks.
        before = after;
    }
    let wall = wall_ns();
    (monotonic_ns(), wall)
}

/// How far the wall clock is ahead of the monotonic one. It is constant but for NTP's slewing,
/// so a jump of it is a step of the wall clock.
pub fn wall_minus_monotonic_ns() -> i64 {
    // The wall clock is read between two reads of the other, and their middle is when. Of several
    // tries the tightest counts: in a wide one the thread stood still in between.
    let look = || {
        let before = monotonic_ns();
        let wall = wall_ns();
        let after = monotonic_ns();
        (after - before, wall as i64 - (before + (after - before) / 2) as i64)
    };
    (0..3).map(|_| look()).min().map_or(0, |(_, offset)| offset)
}

/// CPU time, user and system, of the calling thread (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The ticks of a second in which the kernel counts the CPU time of processes.
pub fn ticks_per_second() -> u64 {
    // SAFETY: the call takes no pointer.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(USUAL_TICKS)
}

/// Of nearly every Linux.
const USUAL_TICKS: u64 = 100;

/// Two looks that are no farther apart than this count as one.
const SAME_INSTANT_NS: u64 = 1_000;

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call may write to. The clocks asked for exist
    // on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_goes_back() {
        let reads: Vec<u64> = (0..1000).map(|_| monotonic_ns()).collect();
        assert!(reads.is_sorted());
    }

    #[test]
    fn the_distance_of_the_clocks_is_steady_between_two_looks() {
        let first = wall_minus_monotonic_ns();
        let second = wall_minus_monotonic_ns();
        assert!(first.abs_diff(second) < 50_000_000, "{first} {second}");
    }

    #[test]
    fn both_clocks_are_read_as_one() {
        let offsets = (0..1000).map(|_| {
            let (monotonic, wall) = monotonic_and_wall_ns();
            (wall - monotonic) as i64
        });
        let mut off: Vec<u64> = offsets.map(|offset| offset.abs_diff(wall_minus_monotonic_ns())).collect();
        off.sort_unstable();
        assert!(off[500] < 2 * SAME_INSTANT_NS, "half of the looks are off by {} ns", off[500]);
    }

    #[test]
    fn a_sleep_ends_at_its_instant_and_not_before() {
        let end = monotonic_ns() + 2_000_000;
        sleep_until_ns(end);
        assert!(monotonic_ns() >= end);
    }

    #[test]
    fn a_wall_clock_that_is_kept_right_has_a_bound() {
        // The kernel takes 16 s for more than it can say.
        assert!(wall_clock_bound_ns().is_none_or(|bound_ns| bound_ns < 16_000_000_000));
    }

    #[test]
    fn work_costs_cpu_time() {
        let before = thread_cpu_ns();
        let sum: u64 = (0..2_000_000u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && thread_cpu_ns() > before);
    }
}

//! The clock of a worker on this host: the time since the start of the run, the waits until an instant of it, and what
//! the worker's thread has used since then. Every transport but the simulated link has one.

use dnsdyno_sys::clock;
use dnsdyno_sys::sleeper::Sleeper;
use dnsdyno_sys::thread;

/// Shows 0 until [`begin`](Self::begin).
#[derive(Debug, Default)]
pub(crate) struct WorkerClock {
    epoch_ns: u64,
    /// What the thread had used before the run began.
    before: Used,
    sleeper: Sleeper,
}

/// Time of a thread, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    /// On a CPU, user and system.
    pub(crate) cpu_ns: u64,
    /// Ready to run, without a CPU.
    pub(crate) cpu_wait_ns: u64,
}

impl WorkerClock {
    /// Makes `epoch_ns` of the monotonic clock the start of the run, and waits for it. To be called
    /// on the worker's thread.
    pub(crate) fn begin(&mut self, epoch_ns: u64) {
        self.epoch_ns = epoch_ns;
        self.sleeper = Sleeper::of_this_thread();
        // Without it, wake-ups are up to 50 µs late; an old kernel may refuse it.
        let _ = thread::set_timer_slack_ns(1);
        // A CPU that has slept long takes its time to wake, and its first work is slow: so the long sleep ends before
        // the start, and a short one follows.
        for until_ns in
            [epoch_ns.saturating_sub(AWAKE_BEFORE_NS), epoch_ns.saturating_sub(AWAKE_BEFORE_NS / 2)]
        {
            clock::sleep_until_ns(until_ns);
        }
        self.sleep_until_ns(0, true);
        self.before = self.since_the_thread_started();
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        clock::monotonic_ns().saturating_sub(self.epoch_ns)
    }

    /// The same, and the wall clock at that instant.
    #[inline]
    pub(crate) fn now_and_wall_ns(&self) -> (u64, u64) {
        let (now_ns, wall_ns) = clock::monotonic_and_wall_ns();
        (now_ns.saturating_sub(self.epoch_ns), wall_ns)
    }

    /// Sleeps until an instant of the run, exactly or about. Arrivals do not end it.
    pub(crate) fn sleep_until_ns(&mut self, until_ns: u64, exactly: bool) {
        self.sleeper.wait_until_ns(self.epoch_ns.saturating_add(until_ns), exactly, |now_ns, end_ns| {
            if end_ns > now_ns {
                clock::sleep_until_ns(end_ns);
            }
            false
        });
    }

    /// Waits until an instant of the run, exactly or about. `poll` gets a timeout in nanoseconds, which may be 0, and
    /// returns whether something has arrived, which ends the wait.
    pub(crate) fn wait_until_ns(&mut self, until_ns: u64, exactly: bool, mut poll: impl FnMut(u64) -> bool) {
        let poll = |now_ns: u64, end_ns: u64| poll(end_ns.saturating_sub(now_ns));
        self.sleeper.wait_until_ns(self.epoch_ns.saturating_add(until_ns), exactly, poll);
    }

    /// By how much sleeps have lately been too long.
    pub(crate) fn oversleep_ns(&self) -> u64 {
        self.sleeper.oversleep_ns()
    }

    /// The instant of the run that this one of the host's monotonic clock is; `None` before it.
    #[inline]
    pub(crate) fn of_run(&self, on_host_ns: u64) -> Option<u64> {
        on_host_ns.checked_sub(self.epoch_ns)
    }

    /// What the thread has used since the start of the run; the setup before does not count.
    pub(crate) fn used(&self) -> Used {
        let now = self.since_the_thread_started();
        Used {
            cpu_ns: now.cpu_ns.saturating_sub(self.before.cpu_ns),
            cpu_wait_ns: now.cpu_wait_ns.saturating_sub(self.before.cpu_wait_ns),
        }
    }

    fn since_the_thread_started(&self) -> Used {
        Used { cpu_ns: clock::thread_cpu_ns(), cpu_wait_ns: self.sleeper.run_queue_wait_ns() }
    }
}

/// The thread is awake so long before the start of the run.
const AWAKE_BEFORE_NS: u64 = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_before_the_start_is_not_the_workers_use() {
        let end = clock::thread_cpu_ns() + 50_000_000;
        while clock::thread_cpu_ns() < end {
            std::hint::spin_loop();
        }
        let mut worker = WorkerClock::default();
        worker.begin(clock::monotonic_ns() + 1_000_000);
        assert!(worker.used().cpu_ns < 50_000_000, "{:?}", worker.used());
        let end = clock::thread_cpu_ns() + 20_000_000;
        while clock::thread_cpu_ns() < end {
            std::hint::spin_loop();
        }
        assert!(worker.used().cpu_ns >= 20_000_000, "{:?}", worker.used());
    }
}

//! Stops a run: on request of the user, from a signal handler or another thread, at a limit that a worker has reached,
//! or because a thread has failed.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Stops a run.
#[derive(Debug, Default)]
pub struct Control {
    asked: AtomicU8,
    /// The first cause, as its number plus one; 0 = none.
    cause: AtomicU8,
    /// Of a limit: when it was reached, and with how many queries.
    reached_at_ns: AtomicU64,
    reached_queries: AtomicU64,
}

/// Why a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// Ctrl-C (SIGINT).
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    HangUp,
    /// A condition of the plan.
    Condition,
    /// A worker was behind the schedule by the queries of the plan's limit.
    Behind,
    /// A query was due while as many were outstanding as the plan's limit.
    Outstanding,
    /// The caller no longer waits for responses.
    NoLongerWaiting,
}

impl StopCause {
    /// In the order of their numbers.
    const ALL: [StopCause; 7] = [
        StopCause::Interrupt,
        StopCause::Terminate,
        StopCause::HangUp,
        StopCause::Condition,
        StopCause::Behind,
        StopCause::Outstanding,
        StopCause::NoLongerWaiting,
    ];

    /// Whether a signal was the cause, not the run itself.
    pub fn is_signal(self) -> bool {
        matches!(self, StopCause::Interrupt | StopCause::Terminate | StopCause::HangUp)
    }
}

/// A limit of the plan that a worker has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// When, in nanoseconds since the start of the run.
    pub at_ns: u64,
    /// How many queries were behind the schedule, or outstanding, over all workers if each is as this one.
    pub queries: u64,
}

/// What the user has requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// Nothing.
    Nothing,
    /// Send no more queries, and wait for the outstanding ones.
    StopSending,
    /// End at once; outstanding queries are interrupted.
    EndNow,
}

impl Control {
    /// As [`stop`](Self::stop), by Ctrl-C.
    pub fn press(&self) {
        self.stop(StopCause::Interrupt);
    }

    /// Requests the next step: first to stop sending, then to end at once. The first cause is kept.
    ///
    /// Safe to call from a signal handler.
    pub fn stop(&self, cause: StopCause) {
        let _ = self.cause.compare_exchange(0, cause as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
        let _ =
            self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |asked| Some((asked + 1).min(2)));
    }

    /// Requests to send no more, unless that or more is requested already: by what is no signal, and may come beside
    /// one.
    pub fn stop_sending(&self, cause: StopCause) {
        let _ = self.cause.compare_exchange(0, cause as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
        self.asked.fetch_max(1, Ordering::Relaxed);
    }

    /// Ends the run at once, for this cause if it has no other.
    pub fn end(&self, cause: StopCause) {
        let _ = self.cause.compare_exchange(0, cause as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
        self.asked.store(2, Ordering::Relaxed);
    }

    /// A worker has reached a limit: all stop sending, unless they do already.
    pub(crate) fn reach(&self, cause: StopCause, reached: Reached) {
        let first = self.cause.compare_exchange(0, cause as u8 + 1, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            self.reached_at_ns.store(reached.at_ns, Ordering::Relaxed);
            self.reached_queries.store(reached.queries, Ordering::Relaxed);
            // After the figures, which are read by whoever sees that the run is stopped.
            self.asked.fetch_max(1, Ordering::Release);
        }
    }

    /// Lets a next run begin after one that has stopped itself, at a condition or a limit of its plan. What a signal
    /// has requested stays.
    pub fn begin_next(&self) {
        let Some(own) = self.cause().filter(|cause| !cause.is_signal()) else { return };
        let (relaxed, own) = (Ordering::Relaxed, own as u8 + 1);
        let _ = self.cause.compare_exchange(own, 0, relaxed, relaxed);
        // More than one request: a signal came after the run's own one, or comes now. Which one is not known.
        if self.asked.compare_exchange(1, 0, relaxed, relaxed).is_err() {
            let _ = self.cause.compare_exchange(0, StopCause::Interrupt as u8 + 1, relaxed, relaxed);
        }
    }

    /// Why the run was stopped first; `None` where it was not.
    pub fn cause(&self) -> Option<StopCause> {
        let number = usize::from(self.cause.load(Ordering::Relaxed));
        number.checked_sub(1).and_then(|at| StopCause::ALL.get(at).copied())
    }

    /// The limit that has stopped the run; `None` if something else has, or nothing.
    pub fn reached(&self) -> Option<Reached> {
        let is_stopped = self.asked.load(Ordering::Acquire) > 0;
        let is_limit = matches!(self.cause(), Some(StopCause::Behind | StopCause::Outstanding));
        (is_stopped && is_limit).then(|| Reached {
            at_ns: self.reached_at_ns.load(Ordering::Relaxed),
            queries: self.reached_queries.load(Ordering::Relaxed),
        })
    }

    /// What has been requested so far.
    #[inline]
    pub fn asked(&self) -> Asked {
        match self.asked.load(Ordering::Relaxed) {
            0 => Asked::Nothing,
            1 => Asked::StopSending,
            _ => Asked::EndNow,
        }
    }
}

/// The signals that each worker checks in each pass of its loop.
#[derive(Clone, Copy)]
pub(crate) struct Signals<'a> {
    user: &'a Control,
    /// Whether a thread of the run has failed. The others then end at once, because the load is no longer the requested
    /// one.
    has_failed: &'a AtomicBool,
}

impl<'a> Signals<'a> {
    pub(crate) fn new(user: &'a Control, has_failed: &'a AtomicBool) -> Self {
        Signals { user, has_failed }
    }

    #[inline]
    pub(crate) fn asked(&self) -> Asked {
        if self.has_failed.load(Ordering::Relaxed) { Asked::EndNow } else { self.user.asked() }
    }

    /// This worker has reached a limit of the plan.
    pub(crate) fn reach(&self, cause: StopCause, reached: Reached) {
        self.user.reach(cause, reached);
    }

    /// When the returned value is dropped by a panicking thread, the run has failed.
    pub(crate) fn fail_on_panic(self) -> impl Drop + use<'a> {
        FailOnPanic(self.has_failed)
    }
}

struct FailOnPanic<'a>(&'a AtomicBool);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(std::thread::panicking(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_stopped_itself_does_not_stop_the_next_one_and_a_signal_does() {
        let control = Control::default();
        control.stop(StopCause::Condition);
        control.begin_next();
        assert_eq!((control.asked(), control.cause()), (Asked::Nothing, None));
        control.stop(StopCause::Condition);
        control.stop(StopCause::Terminate);
        control.begin_next();
        assert_eq!((control.asked(), control.cause()), (Asked::EndNow, Some(StopCause::Interrupt)));
        control.begin_next();
        assert_eq!((control.asked(), control.cause()), (Asked::EndNow, Some(StopCause::Interrupt)));
    }

    #[test]
    fn the_first_press_stops_sending_the_second_ends_the_run_and_a_third_has_no_effect() {
        let control = Control::default();
        let asked = [(); 4].map(|()| {
            let asked = control.asked();
            control.press();
            asked
        });
        assert_eq!(asked, [Asked::Nothing, Asked::StopSending, Asked::EndNow, Asked::EndNow]);
    }

    #[test]
    fn what_is_no_signal_never_ends_a_run_that_waits_for_responses() {
        let control = Control::default();
        control.press();
        control.stop_sending(StopCause::Condition);
        assert_eq!((control.asked(), control.cause()), (Asked::StopSending, Some(StopCause::Interrupt)));
        let control = Control::default();
        [StopCause::Condition, StopCause::Outstanding]
            .into_iter()
            .for_each(|cause| control.stop_sending(cause));
        assert_eq!((control.asked(), control.cause()), (Asked::StopSending, Some(StopCause::Condition)));
        control.press();
        assert_eq!(control.asked(), Asked::EndNow);
    }

    #[test]
    fn the_first_cause_is_kept() {
        let control = Control::default();
        assert_eq!(control.cause(), None);
        control.stop(StopCause::HangUp);
        control.stop(StopCause::Interrupt);
        assert_eq!((control.cause(), control.asked()), (Some(StopCause::HangUp), Asked::EndNow));
    }

    #[test]
    fn only_the_first_worker_that_reaches_a_limit_stops_the_run_and_gives_its_figures() {
        let (control, first) = (Control::default(), Reached { at_ns: 5, queries: 1_001 });
        assert_eq!(control.reached(), None);
        control.reach(StopCause::Behind, first);
        control.reach(StopCause::Outstanding, Reached { at_ns: 6, queries: 7 });
        assert_eq!((control.cause(), control.asked()), (Some(StopCause::Behind), Asked::StopSending));
        assert_eq!(control.reached(), Some(first));
        control.press();
        assert_eq!((control.cause(), control.asked()), (Some(StopCause::Behind), Asked::EndNow));
    }

    #[test]
    fn each_cause_is_read_as_it_was_written() {
        for cause in StopCause::ALL {
            let control = Control::default();
            control.end(cause);
            assert_eq!((control.cause(), control.asked()), (Some(cause), Asked::EndNow));
        }
    }
}

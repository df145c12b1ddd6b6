//! Stops a run: on request of the user, from a signal handler or another thread, or because a thread has failed.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Stops a run on request of the user.
#[derive(Debug, Default)]
pub struct Control {
    asked: AtomicU8,
    /// The first cause, as its number plus one; 0 = none.
    cause: AtomicU8,
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

    /// Why the run was stopped first; `None` where it was not.
    pub fn cause(&self) -> Option<StopCause> {
        let causes = [StopCause::Interrupt, StopCause::Terminate, StopCause::HangUp, StopCause::Condition];
        usize::from(self.cause.load(Ordering::Relaxed)).checked_sub(1).and_then(|at| causes.get(at).copied())
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
    fn the_first_cause_is_kept() {
        let control = Control::default();
        assert_eq!(control.cause(), None);
        control.stop(StopCause::HangUp);
        control.stop(StopCause::Interrupt);
        assert_eq!((control.cause(), control.asked()), (Some(StopCause::HangUp), Asked::EndNow));
    }
}

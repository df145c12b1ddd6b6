//! How a run is stopped: by the user, from a signal or another thread, or because a part of it has failed.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The one thing that a user can ask of a run.
#[derive(Debug, Default)]
pub struct Control {
    asked: AtomicU8,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// Nothing: go on.
    Nothing,
    /// Send no more, wait for what is outstanding.
    StopSending,
    /// End now; what is outstanding is interrupted.
    EndNow,
}

impl Control {
    /// Asks for the next stronger thing: first to stop sending, then to end.
    ///
    /// Safe to call from a signal handler.
    pub fn press(&self) {
        let _ =
            self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |asked| Some((asked + 1).min(2)));
    }

    /// What has been asked so far.
    #[inline]
    pub fn asked(&self) -> Asked {
        match self.asked.load(Ordering::Relaxed) {
            0 => Asked::Nothing,
            1 => Asked::StopSending,
            _ => Asked::EndNow,
        }
    }
}

/// What every worker looks at in each turn.
#[derive(Clone, Copy)]
pub(crate) struct Signals<'a> {
    user: &'a Control,
    /// Whether a thread of the run has failed: the others then end at once, because what they would go on to measure
    /// is not what was asked for.
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

    /// Sets the signal, when this is dropped by a thread that panics.
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
    fn the_first_press_stops_sending_the_second_ends_and_a_third_changes_nothing() {
        let control = Control::default();
        let asked = [(); 4].map(|()| {
            let asked = control.asked();
            control.press();
            asked
        });
        assert_eq!(asked, [Asked::Nothing, Asked::StopSending, Asked::EndNow, Asked::EndNow]);
    }
}

//! How a run is told to stop, from a signal or another thread.

use std::sync::atomic::{AtomicU8, Ordering};

/// The one thing that a user can ask of a run under way.
#[derive(Debug, Default)]
pub struct Control {
    asked: AtomicU8,
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// Nothing: go on.
    Nothing,
    /// Send no more, wait for what is under way.
    StopSending,
    /// End now; what is under way is interrupted.
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

//! Stops an experiment: the run that is made, and what would come after it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dnsdyno_lab::Cancel;
use dnsdyno_runner::{Control, StopCause};

/// Stops an experiment, from another thread.
#[derive(Debug, Default)]
pub struct Stop {
    state: Mutex<Request>,
    changed: Condvar,
    cancel: Cancel,
}

#[derive(Debug, Default)]
struct Request {
    cause: Option<StopCause>,
    /// Of the run that is made now.
    control: Option<Arc<Control>>,
}

impl Stop {
    /// Requests the next step of the run that is made, and the end of the experiment after it; calls off the start of a
    /// server.
    pub fn stop(&self, cause: StopCause) {
        let mut state = self.lock();
        state.cause.get_or_insert(cause);
        state.control.iter().for_each(|control| control.stop(cause));
        self.changed.notify_all();
        self.cancel.request();
    }

    /// Requested where the experiment is stopped.
    pub(super) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Why the experiment is stopped; `None` where it is not.
    pub fn cause(&self) -> Option<StopCause> {
        self.lock().cause
    }

    /// Waits for so long, or until it is stopped; returns whether the experiment goes on.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut state = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.cause.is_some() || left.is_zero() {
                return state.cause.is_none();
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The control of a run that begins now; stopped where the experiment is.
    pub(super) fn of_run(&self) -> Arc<Control> {
        let control = Arc::new(Control::default());
        let mut state = self.lock();
        state.cause.iter().for_each(|cause| control.stop(*cause));
        state.control = Some(Arc::clone(&control));
        control
    }

    fn lock(&self) -> MutexGuard<'_, Request> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

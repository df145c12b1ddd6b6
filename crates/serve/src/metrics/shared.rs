//! The state of a run between the observer, which writes it, and the server, which reads it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use super::state::State;

/// What the observer writes and the server reads.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<Arc<State>>,
    /// Scrapes of the state in which the run has ended.
    pub(super) last_scrapes: AtomicU64,
}

impl Shared {
    pub(super) fn now(&self) -> Arc<State> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state; readers keep what they have.
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        change(Arc::make_mut(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}

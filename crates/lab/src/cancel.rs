//! Calls off what takes long, from another thread: the start of a server, the wait for a command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to give up, which all clones share. `Cancel::default()` is not requested.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    is_requested: Arc<AtomicBool>,
}

impl Cancel {
    /// Requests it; it stays requested.
    pub fn request(&self) {
        self.is_requested.store(true, Ordering::Relaxed);
    }

    /// Whether it was requested.
    pub fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }
}

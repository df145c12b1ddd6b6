//! The bound on open connections, which the threads of one address share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many connections may be open at once.
#[derive(Debug)]
pub(crate) struct Room {
    open: AtomicUsize,
    most: usize,
}

/// The place of one open connection; free again when it is dropped.
pub(super) struct Place(Arc<Room>);

impl Room {
    /// For at most `most`.
    pub(crate) fn new(most: usize) -> Room {
        Room { open: AtomicUsize::new(0), most }
    }

    /// A place for one more; `None` where all are taken.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        let place = Place(Arc::clone(self));
        (self.open.fetch_add(1, Ordering::Relaxed) < self.most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

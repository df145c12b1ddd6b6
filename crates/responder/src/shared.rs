//! A book, or other counts, that one thread writes and others can read at any time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::book::Book;

/// The writer holds the lock from before it sends until it has booked what it sent: a response that a
/// client has received is in the book.
#[derive(Debug, Default)]
pub struct Shared<T> {
    book: Mutex<T>,
    /// Waiting readers. A busy writer would otherwise take the lock again before they wake up.
    readers: AtomicU32,
}

/// The book of one thread of the responder.
pub(crate) type SharedBook = Shared<Book>;

impl<T: Clone> Shared<T> {
    /// The book, for writing one round of work.
    #[inline]
    pub fn write(&self) -> MutexGuard<'_, T> {
        while self.readers.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        self.lock()
    }

    /// A copy of the book as it is now.
    pub fn read(&self) -> T {
        self.look(T::clone)
    }

    /// What `of` takes from the book as it is now. The writer waits meanwhile.
    pub fn look<R>(&self, of: impl FnOnce(&T) -> R) -> R {
        self.readers.fetch_add(1, Ordering::Relaxed);
        let found = of(&self.lock());
        self.readers.fetch_sub(1, Ordering::Relaxed);
        found
    }

    /// Counts survive a writer that panicked: they were right up to there.
    fn lock(&self) -> MutexGuard<'_, T> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

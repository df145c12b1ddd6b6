//! A book that one thread writes and others may look into at any time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::book::Book;

/// The writer keeps the lock from before it sends until it has booked what it sent: whoever has
/// seen an answer finds it in the book.
#[derive(Debug, Default)]
pub(crate) struct SharedBook {
    book: Mutex<Book>,
    /// Readers that wait. A busy writer would else take the lock again before they wake up.
    readers: AtomicU32,
}

impl SharedBook {
    /// The book, to write a round of work into.
    #[inline]
    pub(crate) fn write(&self) -> MutexGuard<'_, Book> {
        while self.readers.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        self.lock()
    }

    /// A copy of the book as it is now.
    pub(crate) fn read(&self) -> Book {
        self.readers.fetch_add(1, Ordering::Relaxed);
        let book = self.lock().clone();
        self.readers.fetch_sub(1, Ordering::Relaxed);
        book
    }

    /// Counts survive a writer that panicked: they were right up to there.
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! An allocator that counts the allocations of each thread, for tests of code that must not allocate. A
//! test of another crate includes this file by its path, because `unsafe` is only allowed in this crate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a count.
pub(crate) struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Allocations and reallocations of the calling thread so far.
pub(crate) fn count() -> u64 {
    COUNT.get()
}

// SAFETY: every call goes to the system's allocator as it is; the counter is a thread-local integer without a
// destructor, so reading and writing it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

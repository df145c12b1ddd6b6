//! The allocator of the program: that of the system, and a sentence where there is no more memory.
//!
//! The standard library then ends a process by SIGABRT, with a core dump and words that tell a user nothing. What is
//! written is written by then: a record is complete as far as it goes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the process with a sentence and exit code 3 where there is no memory.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: each call is passed on to the allocator of the system with its arguments, and so is its result; where that is
// none, the call does not return.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps what `GlobalAlloc` asks of it.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`.
        given(unsafe { System.realloc(old, layout, new_size) }, new_size)
    }

    #[inline]
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(old, layout) }
    }
}

#[inline(always)]
fn given(memory: *mut u8, wanted_bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(wanted_bytes);
    }
    memory
}

/// Has all threads share one arena of the C library where the address space of this process is limited (`ulimit -v`).
/// Otherwise each thread reserves 64 MiB for an arena of its own, and the library ends the process without a word where
/// a new thread finds none. Call it before there are threads.
#[cfg(target_env = "gnu")]
pub fn share_arena_if_limited() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call to write to.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } == 0;
    if is_known && limit.rlim_cur != libc::RLIM_INFINITY {
        // SAFETY: the call takes two numbers and no pointer; no other thread allocates yet.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Other C libraries have no arenas.
#[cfg(not(target_env = "gnu"))]
pub fn share_arena_if_limited() {}

/// What is done before the process ends for want of memory, such as to leave the screen. The first call counts.
pub fn before_the_end(act: impl Fn() + Send + Sync + 'static) {
    let _ = BEFORE_THE_END.set(Box::new(act));
}

static BEFORE_THE_END: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Whether a thread ends the process already.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

#[cold]
fn end(wanted_bytes: usize) -> ! {
    // What is done before the end may want memory, too: then it is left out.
    if !IS_ENDING.swap(true, Ordering::SeqCst)
        && let Some(act) = BEFORE_THE_END.get()
    {
        act();
    }
    let mut digits = [0; 20];
    for part in [BEFORE_FIGURE, decimal(wanted_bytes, &mut digits), AFTER_FIGURE] {
        // SAFETY: the pointer and the length are those of `part`, which lives during the call.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: it does not return, and runs nothing of this process any more.
    unsafe { libc::_exit(EXIT_CODE) }
}

/// A number as digits, without an allocation.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut begins = digits.len();
    loop {
        begins -= 1;
        digits[begins] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[begins..];
        }
    }
}

const BEFORE_FIGURE: &[u8] = b"dnsdyno: there is no memory for ";

const AFTER_FIGURE: &[u8] = b" bytes more: let this process have more (`ulimit -v`, the limit of its control \
                              group), or ask for less, such as fewer --workers, --clients or queries; a record \
                              that was begun is good as far as it was written\n";

/// That of a run that has failed.
const EXIT_CODE: libc::c_int = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_written_without_memory() {
        for number in [0, 7, 10, 4_294_967_296, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}

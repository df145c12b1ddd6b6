//! Frames that the kernel makes of ours and gives to the driver, without packet buffers and without its stack.
//!
//! ```text
//!   us          ring  [ next | count | places | frame 0 | frame 1 | ... ]
//!   one call    count × { empty frame ──► program copies frame `next` }, 64 at a time to the driver
//! ```
//!
//! A call costs some 36 µs for its pool of pages, whatever it sends, and 0.3 µs a frame on a pair of virtual
//! interfaces: less than a packet socket from about 100 frames on.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use super::ring::Mapping;
use crate::udp::{Messages, Sent};

/// Injects frames into an interface.
pub struct Injector {
    ring: Mapping,
    program: OwnedFd,
    number: usize,
    /// What the kernel fills empty frames with.
    template: Box<[u8; RING_LONGEST + RINGS_MOST]>,
}

// SAFETY: the mapping is memory of this value alone; the kernel writes to it during our calls only.
unsafe impl Send for Injector {}

impl Injector {
    /// Frames of one call, at most.
    pub const MOST: usize = RING_FRAMES;

    /// Injectors of one program, at most.
    pub(super) const RINGS: u32 = RINGS_MOST as u32;

    /// An injector over ring `number` of a map. An error where the kernel, or the driver, cannot.
    pub(super) fn new(program: OwnedFd, rings: BorrowedFd<'_>, number: u32) -> io::Result<Self> {
        let (length, number) = (size_of::<Ring>(), number as usize);
        let ring = Mapping::of_map(rings, number * length, length)?;
        let template = Box::new([0; RING_LONGEST + RINGS_MOST]);
        let mut injector = Injector { ring, program, number, template };
        // A call that sends nothing.
        injector.run(0, SHORTEST).map(|_| injector)
    }

    /// Sends messages in order. `write` writes the frame of a message, and says how long it is; 0 where it does not
    /// fit.
    #[inline]
    pub fn inject(&mut self, messages: Messages<'_>, write: impl Fn(&[u8], &mut [u8]) -> usize) -> Sent {
        let mut accepted = 0;
        while accepted < messages.len() {
            let (mut count, mut at, mut first) = (0, 0, 0);
            while count < RING_FRAMES && accepted + count < messages.len() {
                let length = write(messages.get(accepted + count), self.room(at));
                if length < SHORTEST {
                    break;
                }
                self.place(count, at, length);
                first = if count == 0 { length } else { first };
                // A frame starts at a line of the CPU's cache.
                at += length.next_multiple_of(64);
                count += 1;
            }
            if count == 0 {
                return Sent { accepted, error: Some(io::Error::from_raw_os_error(libc::EMSGSIZE)) };
            }
            match self.run(count, first) {
                Ok(sent) if sent == count => accepted += sent,
                Ok(sent) => {
                    let error = io::Error::from_raw_os_error(libc::EIO);
                    return Sent { accepted: accepted + sent, error: Some(error) };
                }
                Err(error) => {
                    return Sent { accepted: accepted + self.next().min(count), error: Some(error) };
                }
            }
        }
        Sent { accepted, error: None }
    }

    /// Has the kernel run the program `count` times, on frames that are about `length` bytes long at first. Returns how
    /// many were sent.
    fn run(&mut self, count: usize, length: usize) -> io::Result<usize> {
        let ring = self.ring.start().as_ptr();
        // SAFETY: both fields lie in the mapping, which is aligned to a page.
        unsafe {
            ptr::write_volatile(ring.add(offset_of!(Ring, next)).cast::<u32>(), 0);
            ptr::write_volatile(ring.add(offset_of!(Ring, count)).cast::<u32>(), count as u32);
        }
        // The next length that says which ring it is.
        let length = length + (self.number + RINGS_MOST - length % RINGS_MOST) % RINGS_MOST;
        let mut attributes = TestRun {
            prog_fd: self.program.as_raw_fd() as u32,
            data_size_in: length as u32,
            data_in: self.template.as_ptr() as u64,
            repeat: count.max(1) as u32,
            flags: BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_size: FRAMES_AT_ONCE,
            ..TestRun::default()
        };
        // SAFETY: the attributes have the kernel's layout; the template lives until the call is over, and is
        // only read.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                BPF_PROG_TEST_RUN,
                (&raw mut attributes).cast::<libc::c_void>(),
                size_of::<TestRun>(),
            )
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(self.next()) }
    }

    /// How many frames of the last call were sent.
    fn next(&self) -> usize {
        // SAFETY: the field lies in the mapping, which is aligned to a page.
        unsafe {
            ptr::read_volatile(self.ring.start().as_ptr().add(offset_of!(Ring, next)).cast::<u32>()) as usize
        }
    }

    /// Notes that frame `number` is the `length` bytes at `at`.
    #[inline]
    fn place(&mut self, number: usize, at: usize, length: usize) {
        debug_assert!(number < RING_FRAMES);
        let place = Place { at: at as u32, length: length as u32 };
        // SAFETY: the place lies in the mapping, because the number is below their number, and is aligned.
        unsafe {
            let places = self.ring.start().as_ptr().add(offset_of!(Ring, places)).cast::<Place>();
            places.add(number.min(RING_FRAMES - 1)).write(place);
        }
    }

    /// Space for a frame that begins at `at`; empty where the ring is full.
    #[inline]
    fn room(&mut self, at: usize) -> &mut [u8] {
        let length = if at < RING_BYTES { RING_LONGEST } else { 0 };
        // SAFETY: a frame that begins below `RING_BYTES` has `RING_LONGEST` bytes in the mapping; they are initialised
        // (zeroed by the kernel), and not read by it before the next call.
        unsafe {
            let bytes = self.ring.start().as_ptr().add(offset_of!(Ring, bytes) + at.min(RING_BYTES));
            std::slice::from_raw_parts_mut(bytes, length)
        }
    }
}

/// Mirrors `struct frame_ring`.
#[repr(C)]
struct Ring {
    /// The frame that is sent next.
    next: u32,
    count: u32,
    unused: [u32; 1_022],
    places: [Place; RING_FRAMES],
    bytes: [u8; RING_BYTES + RING_LONGEST + 1],
    rest: [u8; 2_048],
}

/// Mirrors `struct frame_place`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Place {
    at: u32,
    length: u32,
}

/// The part of `union bpf_attr` for `BPF_PROG_TEST_RUN`.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    unused: u32,
}

const BPF_PROG_TEST_RUN: libc::c_int = 10;
const BPF_F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;

/// Frames that the driver is given together. A pair of virtual interfaces has room for 256, which the other end takes
/// before the next ones; with more at once some would be dropped.
const FRAMES_AT_ONCE: u32 = 64;

/// As in `ebpf/inject.h`.
const RINGS_MOST: usize = 64;
const RING_FRAMES: usize = 1_024;
const RING_BYTES: usize = 128 * 1_024;
const RING_LONGEST: usize = 2_047;

/// An Ethernet header: the kernel refuses shorter frames.
const SHORTEST: usize = 14;

const _: () = assert!(size_of::<Ring>().is_multiple_of(4_096));

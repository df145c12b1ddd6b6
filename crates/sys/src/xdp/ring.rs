//! The four rings that the kernel and we share, each with one producer and one consumer.
//!
//! ```text
//!   entries  [ 4 | 5 | 6 | 7 | 0 | 1 | 2 | 3 ]     index = counter & mask
//!                  ▲               ▲
//!              consumer        producer            both count up for ever, and wrap
//! ```
//!
//! The producer writes entries, then stores the producer counter with *release*; the consumer
//! loads the producer with *acquire*, reads, then stores the consumer with *release*, so that no
//! entry is read before it is written, nor written again before it is read.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a ring can hold: plain integers, of which every bit pattern is a value.
pub(super) trait Entry: Copy {}

/// An address in the UMEM.
impl Entry for u64 {}

/// A packet: its address and length.
impl Entry for libc::xdp_desc {}

/// Memory mapped for as long as this lives.
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    /// Maps `length` bytes of the ring at `offset` of an AF_XDP socket.
    fn of_ring(socket: BorrowedFd<'_>, offset: libc::off_t, length: usize) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Self::map(length, flags, socket.as_raw_fd(), offset)
    }

    /// Maps `length` bytes of a BPF map's values from `offset` on, a multiple of the page size.
    pub(super) fn of_map(map: BorrowedFd<'_>, offset: usize, length: usize) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Self::map(length, flags, map.as_raw_fd(), offset as libc::off_t)
    }

    /// Maps `length` bytes of fresh, zeroed memory.
    pub(super) fn anonymous(length: usize) -> io::Result<Self> {
        Self::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn map(length: usize, flags: libc::c_int, fd: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place, so no memory of ours is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Mapping { start, length }),
            None => Err(io::Error::from_raw_os_error(libc::ENOMEM)),
        }
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: start and length are those of a mapping that this value made and owns alone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Both ends' view of a ring.
struct Ring<T> {
    mapping: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
    _entries: PhantomData<T>,
}

impl<T: Entry> Ring<T> {
    fn map(
        socket: BorrowedFd<'_>,
        page_offset: libc::off_t,
        offsets: &libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        assert!(size.is_power_of_two(), "the size of a ring is a power of two");
        let entries = offsets.desc as usize;
        let mapping = Mapping::of_ring(socket, page_offset, entries + size as usize * size_of::<T>())?;
        let last_word = mapping.length() - size_of::<AtomicU32>();
        for offset in [offsets.producer, offsets.consumer, offsets.flags] {
            if offset as usize > last_word {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
        }
        let start = mapping.start();
        // SAFETY: the offsets lie within the mapping (checked above; the entries by its length).
        // The kernel aligns the words and the entries to their size.
        unsafe {
            Ok(Ring {
                producer: start.byte_add(offsets.producer as usize).cast(),
                consumer: start.byte_add(offsets.consumer as usize).cast(),
                flags: start.byte_add(offsets.flags as usize).cast(),
                entries: start.byte_add(entries).cast(),
                mapping,
                size,
                _entries: PhantomData,
            })
        }
    }

    #[inline]
    fn word(&self, word: NonNull<AtomicU32>) -> &AtomicU32 {
        debug_assert!(self.mapping.length() > 0);
        // SAFETY: the word lies in the mapping, which lives as long as `self`; the kernel and we
        // touch it with atomic operations only.
        unsafe { word.as_ref() }
    }

    /// The place of the entry with this number.
    #[inline]
    fn place(&self, number: u32) -> NonNull<T> {
        // SAFETY: the masked number is below the size, and so many entries are mapped.
        unsafe { self.entries.add((number & (self.size - 1)) as usize) }
    }
}

/// A ring that we fill: the fill ring and the tx ring.
pub(super) struct Producer<T> {
    ring: Ring<T>,
    /// The number of the next entry that we write.
    next: u32,
    /// Up to here entries are published.
    published: u32,
    /// Up to here the kernel had read at the last check.
    consumed: u32,
}

impl<T: Entry> Producer<T> {
    /// Maps a ring of `size` entries, a power of two.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        page_offset: libc::off_t,
        offsets: &libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        let ring = Ring::map(socket, page_offset, offsets, size)?;
        Ok(Producer { ring, next: 0, published: 0, consumed: 0 })
    }

    /// How many entries may be pushed.
    #[inline]
    pub(super) fn room(&mut self) -> u32 {
        if self.next.wrapping_sub(self.consumed) == self.ring.size {
            self.consumed();
        }
        self.ring.size - self.next.wrapping_sub(self.consumed)
    }

    /// Writes an entry, which the kernel sees after the next [`publish`](Self::publish). False
    /// where there is no room.
    #[inline]
    pub(super) fn push(&mut self, entry: T) -> bool {
        if self.room() == 0 {
            return false;
        }
        self.write(self.next, entry);
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Takes back the newest entry that is not yet published.
    pub(super) fn unpush(&mut self) -> Option<T> {
        if self.next == self.published {
            return None;
        }
        self.next = self.next.wrapping_sub(1);
        // SAFETY: the place lies in the mapping, and this entry was written and not published, so
        // nothing else accesses it.
        Some(unsafe { self.ring.place(self.next).read() })
    }

    /// Shows the kernel what was pushed; gives the number of the first of it.
    #[inline]
    pub(super) fn publish(&mut self) -> u32 {
        let first = self.published;
        self.ring.word(self.ring.producer).store(self.next, Ordering::Release);
        self.published = self.next;
        first
    }

    /// The number of the entry that the kernel reads next.
    #[inline]
    pub(super) fn consumed(&mut self) -> u32 {
        self.consumed = self.ring.word(self.ring.consumer).load(Ordering::Acquire);
        self.consumed
    }

    /// The number after that of the last published entry.
    #[inline]
    pub(super) fn published(&self) -> u32 {
        self.published
    }

    /// Puts `entry` in the place of a published one and gives the old one back. Only while the
    /// kernel reads this ring in our system calls alone (copy mode).
    pub(super) fn replace(&mut self, number: u32, entry: T) -> T {
        // SAFETY: the place lies in the mapping; the kernel reads it only within a system call
        // of this thread, which is not running.
        let old = unsafe { self.ring.place(number).read() };
        self.write(number, entry);
        old
    }

    /// Whether the kernel sleeps on this ring, and wants a system call to look at it.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.ring.word(self.ring.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    #[inline]
    fn write(&mut self, number: u32, entry: T) {
        // SAFETY: the place lies in the mapping; it is ours until it is published, or, in
        // `replace`, between two system calls.
        unsafe { self.ring.place(number).write(entry) };
    }
}

/// A ring that the kernel fills: the rx ring and the completion ring.
pub(super) struct Consumer<T> {
    ring: Ring<T>,
    /// The number of the next entry that we read.
    next: u32,
    /// Up to here the kernel had written at the last check.
    produced: u32,
}

impl<T: Entry> Consumer<T> {
    /// Maps a ring of `size` entries, a power of two.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        page_offset: libc::off_t,
        offsets: &libc::xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        Ok(Consumer { ring: Ring::map(socket, page_offset, offsets, size)?, next: 0, produced: 0 })
    }

    /// How many entries wait.
    #[inline]
    pub(super) fn waiting(&mut self) -> u32 {
        if self.next == self.produced {
            self.produced = self.ring.word(self.ring.producer).load(Ordering::Acquire);
        }
        self.produced.wrapping_sub(self.next)
    }

    /// Takes the next entry. Its place is the kernel's again after [`release`](Self::release).
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.waiting() == 0 {
            return None;
        }
        // SAFETY: the place lies in the mapping; the kernel wrote it before the producer that we
        // loaded, and writes it again only after we have released it.
        let entry = unsafe { self.ring.place(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Gives the places of what was taken back to the kernel.
    #[inline]
    pub(super) fn release(&mut self) {
        self.ring.word(self.ring.consumer).store(self.next, Ordering::Release);
    }
}

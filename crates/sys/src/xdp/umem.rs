//! The frames that packets lie in, of which each belongs to the kernel or to us at any time.

use std::io;

use super::ring::Mapping;

/// Memory cut into frames of one size, known to the kernel by offset.
pub(super) struct Umem {
    memory: Mapping,
    frame_size: u32,
}

impl Umem {
    /// `frames` frames of `frame_size` bytes (a power of two, 2,048 or the size of a page).
    pub(super) fn new(frames: u32, frame_size: u32) -> io::Result<Self> {
        Ok(Umem { memory: Mapping::anonymous(frames as usize * frame_size as usize)?, frame_size })
    }

    /// How the kernel is told of it.
    pub(super) fn registration(&self) -> libc::xdp_umem_reg {
        // SAFETY: all-zero is a valid value of this struct of integers.
        let mut registration: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        registration.addr = self.memory.start().as_ptr() as u64;
        registration.len = self.memory.length() as u64;
        registration.chunk_size = self.frame_size;
        registration
    }

    /// The address of frame `number`.
    pub(super) fn address(&self, number: u32) -> u64 {
        u64::from(number) * u64::from(self.frame_size)
    }

    /// The start of the frame that `address` lies in.
    #[inline]
    pub(super) fn frame_of(&self, address: u64) -> u64 {
        address & !u64::from(self.frame_size - 1)
    }

    /// The packet of `length` bytes at `address`; `None` where that is not inside one frame. The
    /// frame must be ours.
    #[inline]
    pub(super) fn packet(&self, address: u64, length: u32) -> Option<&[u8]> {
        let end = address.checked_add(u64::from(length))?;
        if end > self.memory.length() as u64 || end - self.frame_of(address) > u64::from(self.frame_size) {
            return None;
        }
        // SAFETY: the bytes lie in the mapping and are initialised (zeroed, or written by the
        // kernel or us); the frame is ours, so nobody writes to it meanwhile.
        Some(unsafe {
            std::slice::from_raw_parts(self.memory.start().as_ptr().add(address as usize), length as usize)
        })
    }

    /// Takes the eight bytes before `address` away, which may hold the instant at which the packet
    /// came: 0 where they hold none. The frame must be ours.
    #[inline]
    pub(super) fn take_stamp(&mut self, address: u64) -> u64 {
        const STAMP: u64 = size_of::<u64>() as u64;
        if address > self.memory.length() as u64 || address - self.frame_of(address) < STAMP {
            return 0;
        }
        // SAFETY: the bytes lie in the mapping, in one frame, and are initialised; the frame is
        // ours, and `self` is borrowed mutably, so nobody else reads or writes them.
        unsafe {
            let place = self.memory.start().as_ptr().add((address - STAMP) as usize).cast::<u64>();
            let stamp = place.read_unaligned();
            place.write_unaligned(0);
            stamp
        }
    }

    /// All bytes of the frame that starts at `address`, to be written; `None` where there is no
    /// such frame. The frame must be ours.
    #[inline]
    pub(super) fn frame_mut(&mut self, address: u64) -> Option<&mut [u8]> {
        let frame_size = self.frame_size as usize;
        if address as usize + frame_size > self.memory.length() {
            return None;
        }
        // SAFETY: as for `packet`; `self` is borrowed mutably, so no slice of it is alive.
        Some(unsafe {
            std::slice::from_raw_parts_mut(self.memory.start().as_ptr().add(address as usize), frame_size)
        })
    }
}

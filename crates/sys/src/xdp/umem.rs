//! The frames that hold packets; at any time each belongs either to the kernel or to us.

use std::io;

use super::ring::Mapping;

/// Memory cut into frames of one size, known to the kernel by offset.
pub(super) struct Umem {
    memory: Mapping,
    frame_size: u32,
}

impl Umem {
    /// `rx_frames` and, behind them, `tx_frames` frames of `frame_size` bytes (a power of two, 2,048 or the
    /// size of a page).
    pub(super) fn new(rx_frames: u32, tx_frames: u32, frame_size: u32) -> io::Result<Self> {
        // Addresses are masked by the size of a frame, see `frame_of`.
        if !frame_size.is_power_of_two() {
            return Err(invalid(format!("a frame of {frame_size} bytes is not a power of two")));
        }
        let frames = rx_frames.checked_add(tx_frames);
        let length = frames.and_then(|frames| (frames as usize).checked_mul(frame_size as usize));
        let length = length.filter(|length| *length > 0).ok_or_else(|| {
            invalid(format!(
                "{rx_frames} and {tx_frames} frames of {frame_size} bytes cannot be one memory area"
            ))
        })?;
        Ok(Umem { memory: Mapping::anonymous(length)?, frame_size })
    }

    /// How it is described to the kernel.
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
        let in_frame = end.checked_sub(self.frame_of(address))?;
        if end > self.memory.length() as u64 || in_frame > u64::from(self.frame_size) {
            return None;
        }
        // SAFETY: the bytes lie in the mapping and are initialised (zeroed, or written by the
        // kernel or us); the frame is ours, so it is not written meanwhile.
        Some(unsafe {
            std::slice::from_raw_parts(self.memory.start().as_ptr().add(address as usize), length as usize)
        })
    }

    /// Takes the eight bytes before `address` away, which may hold the instant at which the packet
    /// was received: 0 where they hold none. The frame must be ours.
    #[inline]
    pub(super) fn take_stamp(&mut self, address: u64) -> u64 {
        const STAMP: u64 = size_of::<u64>() as u64;
        if address > self.memory.length() as u64 || address - self.frame_of(address) < STAMP {
            return 0;
        }
        // SAFETY: the bytes lie in the mapping, in one frame, and are initialised; the frame is
        // ours, and `self` is borrowed mutably, so nothing else reads or writes them.
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
        let end = address.checked_add(u64::from(self.frame_size))?;
        if end > self.memory.length() as u64 {
            return None;
        }
        // SAFETY: as for `packet`; `self` is borrowed mutably, so no slice of it is alive.
        Some(unsafe {
            std::slice::from_raw_parts_mut(self.memory.start().as_ptr().add(address as usize), frame_size)
        })
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_memory_size_is_refused_with_its_numbers() {
        let most = u32::MAX;
        let cases = [
            (0, 0, 4_096, "0 and 0 frames"),
            (8, 8, 3_000, "3000 bytes"),
            (most, 1, 2_048, "4294967295 and"),
        ];
        for (rx_frames, tx_frames, frame_size, named) in cases {
            let error = Umem::new(rx_frames, tx_frames, frame_size).err().expect("no such memory");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn an_address_outside_the_memory_is_no_packet() {
        let mut umem = Umem::new(2, 2, 2_048).expect("memory");
        let end = 4 * 2_048;
        assert!(umem.packet(2_048, 2_048).is_some() && umem.frame_mut(end - 2_048).is_some());
        for (address, length) in [(end, 1), (2_049, 2_048), (u64::MAX, 0), (u64::MAX, 1), (u64::MAX - 9, 9)] {
            assert!(umem.packet(address, length).is_none(), "{length} at {address}");
        }
        for address in [end, end - 1, u64::MAX - 2_047, u64::MAX] {
            assert!(umem.frame_mut(address).is_none() && umem.take_stamp(address) == 0, "{address}");
        }
    }
}

//! The unpacked bytes of a capture, read in large pieces and looked at in place.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// A window on the input: what was read and is not yet consumed.
pub(crate) struct Input {
    from: Box<dyn Read + Send>,
    memory: Vec<u8>,
    /// The part of `memory` that is not yet consumed.
    window: Range<usize>,
    /// Octets consumed so far.
    consumed: u64,
}

impl Input {
    pub(crate) fn new(from: Box<dyn Read + Send>) -> Self {
        Input { from, memory: vec![0; MEMORY_BYTES], window: 0..0, consumed: 0 }
    }

    /// What was read and is not yet consumed.
    #[inline]
    pub(crate) fn data(&self) -> &[u8] {
        &self.memory[self.window.clone()]
    }

    /// Reads until at least `len` octets are in the window; `false` if the input ends before.
    #[inline]
    pub(crate) fn need(&mut self, len: usize) -> io::Result<bool> {
        if self.window.len() >= len { Ok(true) } else { self.read_up_to(len) }
    }

    /// Forgets the first `len` octets of the window.
    #[inline]
    pub(crate) fn consume(&mut self, len: usize) {
        let len = len.min(self.window.len());
        self.window.start += len;
        self.consumed += len as u64;
    }

    /// Where the window begins, in octets from the start of the input.
    pub(crate) fn at_byte(&self) -> u64 {
        self.consumed
    }

    /// Where what was read so far ends.
    pub(crate) fn read_up_to_byte(&self) -> u64 {
        self.consumed + self.window.len() as u64
    }

    fn read_up_to(&mut self, len: usize) -> io::Result<bool> {
        self.memory.copy_within(self.window.clone(), 0);
        self.window = 0..self.window.len();
        while self.window.len() < len {
            if self.window.end == self.memory.len() {
                // Twice as much at most: a length that a hostile file states is believed only as far as octets follow.
                self.memory.resize(self.memory.len() * 2, 0);
            }
            match self.from.read(&mut self.memory[self.window.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.window.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Room for some thousand packets: a read of this size costs nothing beside reading them.
const MEMORY_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one octet at a time, as a slow pipe may.
    struct Dripping(Vec<u8>);

    impl Read for Dripping {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() || out.is_empty() {
                return Ok(0);
            }
            out[0] = self.0.remove(0);
            Ok(1)
        }
    }

    #[test]
    fn octets_that_come_one_by_one_are_put_together() {
        let mut input = Input::new(Box::new(Dripping(b"abcdef".to_vec())));
        assert!(input.need(4).unwrap());
        assert_eq!(input.data(), b"abcd");
        input.consume(3);
        assert!(input.need(3).unwrap());
        assert_eq!((input.data(), input.at_byte()), (&b"def"[..], 3));
        assert!(!input.need(4).unwrap());
        assert_eq!(input.read_up_to_byte(), 6);
    }

    #[test]
    fn the_window_grows_with_what_is_there_and_not_with_what_is_asked_for() {
        let mut input = Input::new(Box::new(io::Cursor::new(vec![7; MEMORY_BYTES + 1])));
        assert!(!input.need(1 << 40).unwrap());
        assert!(input.memory.len() <= MEMORY_BYTES * 4);
        assert_eq!(input.data().len(), MEMORY_BYTES + 1);
    }
}

//! Messages that are sent together, back to back in one buffer.

use dnsdyno_sys::udp::Messages;

/// A batch of messages; its memory is allocated once and used again.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    most: usize,
}

impl Batch {
    /// Capacity for `most` messages of up to `longest` bytes each.
    pub fn new(most: usize, longest: usize) -> Self {
        Batch { bytes: Vec::with_capacity(most * longest), ends: Vec::with_capacity(most), most }
    }

    /// Adds a copy of `message` and returns it, to be patched in place.
    #[inline]
    pub fn push(&mut self, message: &[u8]) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.ends.push(self.bytes.len() as u32);
        &mut self.bytes[start..]
    }

    /// How many messages it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it holds none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether the next message belongs in the next batch.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= self.most
    }

    /// The messages, for a system call.
    pub fn messages(&self) -> Messages<'_> {
        Messages::new(&self.bytes, &self.ends)
    }

    /// The messages one by one.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |end| &self.bytes[std::mem::replace(&mut start, *end as usize)..*end as usize])
    }

    /// Removes all messages, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

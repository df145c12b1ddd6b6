//! Messages that are sent together, stored in one buffer.

use dnsdyno_sys::udp::Messages;

/// A batch of messages; its memory is allocated once and reused.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    most: usize,
    marked: Option<(usize, u64)>,
}

impl Batch {
    /// Messages in a batch, usually: a good size for one system call.
    pub const USUAL: usize = 64;

    /// Capacity for `most` messages of up to `longest` bytes each.
    pub fn new(most: usize, longest: usize) -> Self {
        Batch {
            bytes: Vec::with_capacity(most * longest),
            ends: Vec::with_capacity(most),
            most,
            marked: None,
        }
    }

    /// Appends a copy of `message`, and returns the copy so that the caller can patch it.
    #[inline]
    pub fn push(&mut self, message: &[u8]) -> &mut [u8] {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.ends.push(self.bytes.len() as u32);
        &mut self.bytes[start..]
    }

    /// The number of messages.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it has no messages.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether it has `most` messages.
    pub fn is_full(&self) -> bool {
        self.ends.len() >= self.most
    }

    /// The messages, for a system call.
    pub fn messages(&self) -> Messages<'_> {
        Messages::new(&self.bytes, &self.ends)
    }

    /// The messages in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |end| &self.bytes[std::mem::replace(&mut start, *end as usize)..*end as usize])
    }

    /// Asks for the stamp of the departure of a message, by its place in the batch. A transport that has no stamps, or
    /// awaits another, need not make one.
    pub fn mark(&mut self, message: usize, mark: u64) {
        self.marked = Some((message, mark));
    }

    /// The marked message and its mark.
    #[inline]
    pub fn marked(&self) -> Option<(usize, u64)> {
        self.marked
    }

    /// Removes all messages; the memory stays allocated.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.marked = None;
    }
}

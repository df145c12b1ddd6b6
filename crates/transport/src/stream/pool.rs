//! Buffers that connections hold only while something is in them: fifty thousand idle clients hold none.

use crate::bounds::{TooMuch, Unfinished};

/// Buffers of a worker that are not in use.
#[derive(Default)]
pub struct BufferPool {
    buffers: Vec<Vec<u8>>,
    unfinished: Unfinished,
}

impl BufferPool {
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Appends to an unfinished response, which is in a buffer of this pool or has none yet.
    pub(crate) fn extend(&mut self, body: &mut Vec<u8>, data: &[u8]) -> Result<(), TooMuch> {
        self.unfinished.release(body);
        if body.capacity() == 0 {
            *body = self.take();
        }
        body.extend_from_slice(data);
        self.unfinished.hold(body)
    }

    /// Octets of memory in unfinished responses.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn held_bytes(&self) -> usize {
        self.unfinished.held_bytes()
    }

    /// Takes the buffer of a response back that was finished or given up.
    pub(crate) fn release(&mut self, body: Vec<u8>) {
        self.unfinished.release(&body);
        self.give_back(body);
    }

    /// Keeps a buffer, unless there are enough of them or it is too long to be kept.
    pub(crate) fn give_back(&mut self, mut buffer: Vec<u8>) {
        if (1..=LONGEST_BUFFER).contains(&buffer.capacity()) && self.buffers.len() < MOST_BUFFERS {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}

/// Buffers kept by a worker: 16 MiB at most, and in practice some kilobytes.
const MOST_BUFFERS: usize = 4_096;
const LONGEST_BUFFER: usize = 4 << 10;

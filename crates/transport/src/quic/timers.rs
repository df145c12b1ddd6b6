//! The timers of all QUIC connections of a worker, in one queue.
//!
//! A connection changes its timer with each packet, nearly always to a later instant. So it has at most
//! one valid entry; when that is due and the timer is not, it is entered again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The timers of a worker's connections.
#[derive(Default)]
pub(crate) struct Timers {
    queue: BinaryHeap<Reverse<Entry>>,
}

/// When a client's connection has to be processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) due_ns: u64,
    pub(crate) channel: u32,
    /// The generation of the client's connection.
    pub(crate) generation: u32,
}

impl Timers {
    pub(crate) fn add(&mut self, entry: Entry) {
        self.queue.push(Reverse(entry));
    }

    /// Takes the first entry that is due.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<Entry> {
        let next = self.queue.peek_mut()?;
        (next.0.due_ns <= now_ns).then(|| std::collections::binary_heap::PeekMut::pop(next).0)
    }

    /// When the next one is due.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.queue.peek().map(|next| next.0.due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_and_nothing_before_its_time() {
        let mut timers = Timers::default();
        for due_ns in [30, 10, 20] {
            timers.add(Entry { due_ns, channel: due_ns as u32, generation: 0 });
        }
        assert_eq!(timers.next_ns(), Some(10));
        let due: Vec<_> = std::iter::from_fn(|| timers.pop_due(20)).map(|entry| entry.channel).collect();
        assert_eq!((due, timers.next_ns()), (vec![10, 20], Some(30)));
    }
}

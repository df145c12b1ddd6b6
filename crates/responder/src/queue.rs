//! A queue that returns items when they are due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A queue by due instant; items due at the same instant are returned in the order they were added.
///
/// What is due no earlier than all before it, as with a constant delay, waits in a line. Only the rest is in a
/// heap, which moves three words an entry: the items stay where they are.
#[derive(Debug)]
pub struct DelayQueue<T> {
    line: VecDeque<(u64, u64, T)>,
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    items: Vec<Option<T>>,
    free: Vec<u32>,
    pushed: u64,
}

impl<T> Default for DelayQueue<T> {
    fn default() -> Self {
        DelayQueue::new()
    }
}

impl<T> DelayQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        DelayQueue {
            line: VecDeque::new(),
            heap: BinaryHeap::new(),
            items: Vec::new(),
            free: Vec::new(),
            pushed: 0,
        }
    }

    /// Adds an item that is due at this instant.
    pub fn push(&mut self, due_ns: u64, item: T) {
        let number = self.pushed;
        self.pushed += 1;
        if self.line.back().is_none_or(|(last_ns, ..)| *last_ns <= due_ns) {
            self.line.push_back((due_ns, number, item));
            return;
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.items[slot as usize] = Some(item);
                slot
            }
            None => {
                self.items.push(Some(item));
                (self.items.len() - 1) as u32
            }
        };
        self.heap.push(Reverse((due_ns, number, slot)));
    }

    /// When the first is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        let in_line = self.line.front().map(|(due_ns, ..)| *due_ns);
        let in_heap = self.heap.peek().map(|Reverse((due_ns, ..))| *due_ns);
        in_line.into_iter().chain(in_heap).min()
    }

    /// Takes the first, if it is due at `now_ns`.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<T> {
        self.pop_due_with(now_ns).map(|(_, item)| item)
    }

    /// The same, with the instant at which it was due.
    pub fn pop_due_with(&mut self, now_ns: u64) -> Option<(u64, T)> {
        let in_line = self.line.front().map(|(due_ns, number, _)| (*due_ns, *number));
        let in_heap = self.heap.peek().map(|Reverse((due_ns, number, _))| (*due_ns, *number));
        let first = in_line.into_iter().chain(in_heap).min().filter(|(due_ns, _)| *due_ns <= now_ns)?;
        if Some(first) == in_line {
            return self.line.pop_front().map(|(due_ns, _, item)| (due_ns, item));
        }
        let Reverse((due_ns, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.items[slot as usize].take().map(|item| (due_ns, item))
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.line.len() + self.heap.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_leave_when_due_in_order_of_due_and_of_arrival(
            dues in proptest::collection::vec(0..50u64, 0..200), now in 0..60u64,
        ) {
            let mut queue = DelayQueue::new();
            for (i, due) in dues.iter().enumerate() {
                queue.push(*due, (*due, i));
            }
            let out: Vec<_> = std::iter::from_fn(|| queue.pop_due(now)).collect();
            let mut expected: Vec<_> = dues.iter().enumerate().map(|(i, due)| (*due, i)).collect();
            expected.sort_unstable();
            expected.retain(|(due, _)| *due <= now);
            prop_assert_eq!(queue.len(), dues.len() - expected.len());
            prop_assert!(queue.next_due_ns().is_none_or(|due| due > now));
            prop_assert_eq!(out, expected);
            // Slots are used again.
            let slots = queue.items.len();
            queue.push(0, (0, 0));
            prop_assert!(queue.items.len() <= slots.max(queue.len()));
            prop_assert_eq!(queue.pop_due(0), Some((0, 0)));
        }
    }
}

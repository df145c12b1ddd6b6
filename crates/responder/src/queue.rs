//! A queue that returns items when they are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue by due instant; items due at the same instant are returned in the order they were added.
///
/// The heap moves only three words an entry: the items stay where they are.
#[derive(Debug)]
pub(crate) struct DelayQueue<T> {
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    items: Vec<Option<T>>,
    free: Vec<u32>,
    pushed: u64,
}

impl<T> DelayQueue<T> {
    pub(crate) fn new() -> Self {
        DelayQueue { heap: BinaryHeap::new(), items: Vec::new(), free: Vec::new(), pushed: 0 }
    }

    pub(crate) fn push(&mut self, due_ns: u64, item: T) {
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
        self.heap.push(Reverse((due_ns, self.pushed, slot)));
        self.pushed += 1;
    }

    /// When the first is due.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((due_ns, ..))| *due_ns)
    }

    /// Takes the first, if it is due at `now_ns`.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<T> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        let Reverse((_, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.items[slot as usize].take()
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
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

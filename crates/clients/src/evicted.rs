//! Which entries were evicted before their TTL had ended, and until when they would have been valid.

use hashbrown::HashMap;

use crate::ids::QuestionId;

/// So many are remembered at least, also for small caches.
const FEWEST: usize = 4_096;

/// The entries evicted last. They are kept in two generations: when the younger is full, the older is forgotten, so
/// that memory is bounded and nothing is ever sorted.
#[derive(Debug)]
pub(crate) struct Evicted {
    most: usize,
    younger: HashMap<(u32, QuestionId), u64>,
    older: HashMap<(u32, QuestionId), u64>,
}

impl Evicted {
    /// Remembers at least the last `entries`, and at most twice as many.
    pub(crate) fn new(entries: usize) -> Self {
        Evicted { most: entries.max(FEWEST), younger: HashMap::new(), older: HashMap::new() }
    }

    pub(crate) fn remember(&mut self, client: u32, question: QuestionId, expires_ns: u64) {
        if self.younger.len() >= self.most {
            std::mem::swap(&mut self.younger, &mut self.older);
            self.younger.clear();
        }
        self.younger.insert((client, question), expires_ns);
    }

    /// When an entry would have expired. It is not remembered any longer.
    pub(crate) fn take(&mut self, client: u32, question: QuestionId) -> Option<u64> {
        let key = (client, question);
        // Both, because it may have been evicted twice.
        let (younger, older) = (self.younger.remove(&key), self.older.remove(&key));
        younger.or(older)
    }

    pub(crate) fn forget(&mut self, client: u32, question: QuestionId) {
        self.take(client, question);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered_and_memory_is_bounded() {
        let mut evicted = Evicted::new(0);
        for number in 0..3 * FEWEST as u32 {
            evicted.remember(7, QuestionId(number), u64::from(number));
        }
        let last = 3 * FEWEST as u32 - 1;
        assert_eq!(evicted.younger.len() + evicted.older.len(), 2 * FEWEST);
        assert_eq!(evicted.take(7, QuestionId(0)), None);
        assert_eq!(evicted.take(8, QuestionId(last)), None);
        assert_eq!(evicted.take(7, QuestionId(last)), Some(u64::from(last)));
        assert_eq!(evicted.take(7, QuestionId(last)), None);
    }
}

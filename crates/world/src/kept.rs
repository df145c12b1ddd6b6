//! A bounded table of what is costly to make again: keys and signatures.
//!
//! Two generations: what is used stays in the younger one; when that is full the older one is dropped. So what is kept
//! is between one and two times the bound of a generation, and what is asked for often is not dropped.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::mem;
use std::sync::{Mutex, PoisonError};

/// A table that threads share.
#[derive(Debug)]
pub(crate) struct Kept<K, V> {
    parts: Vec<Mutex<Generations<K, V>>>,
    hasher: RandomState,
    /// Entries of a generation of a part.
    most: usize,
}

#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Hash + Eq + Clone, V: Clone> Kept<K, V> {
    /// A table of at most twice `most` entries.
    pub(crate) fn new(most: usize) -> Self {
        let part = || Mutex::new(Generations { young: HashMap::new(), old: HashMap::new() });
        let parts = (0..PARTS).map(|_| part()).collect();
        Kept { parts, hasher: RandomState::new(), most: most.div_ceil(PARTS) }
    }

    /// What is kept under a key, or what `make` gives for it. Two threads may make the same at once; both are equal.
    pub(crate) fn get(&self, key: &K, make: impl FnOnce() -> V) -> V {
        let at = (self.hasher.hash_one(key) >> 32) as usize % PARTS;
        let lock = || self.parts[at].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().find(key, self.most) {
            return found;
        }
        let value = make();
        lock().keep(key.clone(), value.clone(), self.most);
        value
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Generations<K, V> {
    fn find(&mut self, key: &K, most: usize) -> Option<V> {
        if let Some(found) = self.young.get(key) {
            return Some(found.clone());
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.keep(key, value.clone(), most);
        Some(value)
    }

    fn keep(&mut self, key: K, value: V, most: usize) {
        if self.young.len() >= most {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

/// Threads seldom want the same part at once.
const PARTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_what_is_used_stays() {
        let kept = Kept::new(160);
        let mut made = 0;
        for number in 0..10_000u32 {
            kept.get(&7, || panic_after_first(&mut made));
            assert_eq!(kept.get(&(number + 100), || number), number);
        }
        let count: usize =
            kept.parts.iter().map(|part| part.lock().unwrap()).map(|g| g.young.len() + g.old.len()).sum();
        assert!(count <= 320, "{count}");
        assert_eq!(made, 1);
    }

    fn panic_after_first(made: &mut u32) -> u32 {
        *made += 1;
        assert_eq!(*made, 1, "what is used was dropped");
        0
    }
}

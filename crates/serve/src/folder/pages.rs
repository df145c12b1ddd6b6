//! The pages that were built and are still those of their records.
//!
//! ```text
//!   request ──► kept, of the same files? ── yes ─────────────────────────────► bytes
//!                     └─ no ──► one builder per page, few at once ──► kept ──► bytes
//! ```
//!
//! A page of 48 hours takes seconds: it is built in a thread of its own, once for all who wait for it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use tokio::sync::Semaphore;

/// Pages by what was asked for (`K`), of files with these stamps (`S`).
#[derive(Debug)]
pub(crate) struct Pages<K, S> {
    kept: Mutex<Vec<Kept<K, S>>>,
    builders: Arc<Semaphore>,
    /// Held while a page is built.
    turns: Mutex<HashMap<K, Weak<tokio::sync::Mutex<()>>>>,
    most_bytes: usize,
}

#[derive(Debug)]
struct Kept<K, S> {
    key: K,
    stamps: S,
    page: Bytes,
}

impl<K: Clone + Eq + Hash, S: Clone + PartialEq> Pages<K, S> {
    pub(crate) fn new(builders: usize, most_bytes: usize) -> Pages<K, S> {
        let builders = Arc::new(Semaphore::new(builders));
        Pages { kept: Mutex::default(), builders, turns: Mutex::default(), most_bytes }
    }

    /// The page, from `build` where there is none of these files.
    pub(crate) async fn get<E: Send + 'static>(
        &self,
        key: &K,
        stamps: &S,
        build: impl FnOnce() -> Result<Vec<u8>, E> + Send + 'static,
    ) -> Option<Result<Bytes, E>> {
        if let Some(page) = self.kept(key, stamps) {
            return Some(Ok(page));
        }
        let turn = self.turn(key);
        let _turn = turn.lock().await;
        if let Some(page) = self.kept(key, stamps) {
            return Some(Ok(page));
        }
        let place = Arc::clone(&self.builders).acquire_owned().await.ok()?;
        let build = move || {
            let built = build();
            // Not before, even where the client has gone away: otherwise its next requests would start more builders.
            drop(place);
            built
        };
        // A builder that panics gives no page; the server goes on.
        let built = tokio::task::spawn_blocking(build).await.ok()?;
        Some(built.map(|page| self.keep(key, stamps, page.into())))
    }

    fn kept(&self, key: &K, stamps: &S) -> Option<Bytes> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|kept| kept.key == *key && kept.stamps == *stamps)?;
        // The last one was used last.
        let found = kept.remove(place);
        let page = found.page.clone();
        kept.push(found);
        Some(page)
    }

    /// Keeps a page in place of older ones.
    fn keep(&self, key: &K, stamps: &S, page: Bytes) -> Bytes {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.key != *key);
        kept.push(Kept { key: key.clone(), stamps: stamps.clone(), page: page.clone() });
        while kept.iter().map(|kept| kept.page.len()).sum::<usize>() > self.most_bytes {
            kept.remove(0);
        }
        page
    }

    fn turn(&self, key: &K) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::default();
        turns.insert(key.clone(), Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Asks for a page and counts how often it was built.
    async fn ask(
        pages: &Pages<&'static str, u8>,
        key: &'static str,
        stamp: u8,
        built: &Arc<AtomicUsize>,
    ) -> usize {
        let counter = Arc::clone(built);
        let build = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(vec![b'x'; 10])
        };
        pages.get(&key, &stamp, build).await.unwrap().unwrap();
        built.load(Ordering::Relaxed)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_page_is_built_once_until_its_files_change() {
        let (pages, built) = (Pages::new(2, 1_000), Arc::default());
        block_on(async {
            assert_eq!(ask(&pages, "a", 1, &built).await, 1);
            assert_eq!(ask(&pages, "a", 1, &built).await, 1);
            assert_eq!(ask(&pages, "a", 2, &built).await, 2);
            assert_eq!(ask(&pages, "b", 2, &built).await, 3);
        });
    }

    #[test]
    fn those_who_wait_for_the_same_page_get_that_of_one_builder() {
        let (pages, built) = (Arc::new(Pages::new(2, 1_000)), Arc::default());
        block_on(async {
            let asking: Vec<_> = (0..8)
                .map(|_| {
                    let (pages, built) = (Arc::clone(&pages), Arc::clone(&built));
                    tokio::spawn(async move { ask(&pages, "a", 1, &built).await })
                })
                .collect();
            for asked in asking {
                asked.await.unwrap();
            }
        });
        assert_eq!(built.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_page_that_was_not_used_for_longest_makes_room() {
        let (pages, built) = (Pages::new(2, 25), Arc::default());
        block_on(async {
            ask(&pages, "a", 1, &built).await;
            ask(&pages, "b", 1, &built).await;
            ask(&pages, "a", 1, &built).await;
            assert_eq!(ask(&pages, "c", 1, &built).await, 3);
            assert_eq!(ask(&pages, "a", 1, &built).await, 3);
            assert_eq!(ask(&pages, "b", 1, &built).await, 4);
        });
    }

    #[test]
    fn a_page_larger_than_the_room_is_given_and_not_kept() {
        let (pages, built) = (Pages::new(1, 5), Arc::default());
        block_on(async {
            assert_eq!(ask(&pages, "a", 1, &built).await, 1);
            assert_eq!(ask(&pages, "a", 1, &built).await, 2);
        });
    }
}

//! Caches against the rules of their policies, and against one that searches all of its entries.

use super::*;
use proptest::prelude::*;

/// A cache of one client, with instants in seconds; a question is stored with its own number as value.
struct One {
    cache: Cache,
    counts: CachingClients,
}

impl One {
    fn new(policy: Policy, capacity: u32) -> Self {
        One { cache: Cache::new(policy, capacity, 1, 1), counts: CachingClients::default() }
    }

    fn put(&mut self, question: u32, ttl_s: u32, at_s: u64) {
        self.put_large(question, 1, ttl_s, at_s);
    }

    fn put_large(&mut self, question: u32, takes: u32, ttl_s: u32, at_s: u64) {
        let stored = Stored { value: question, ttl_s, takes };
        self.cache.put((0, QuestionId(question)), stored, at_s * NS_PER_S, &mut self.counts);
    }

    fn get(&mut self, question: u32, at_s: u64) -> Found {
        self.cache.get(0, QuestionId(question), at_s * NS_PER_S, &mut self.counts)
    }

    /// What is left of three entries (1 with a short TTL, 2 used twice, 3 used once and last) when a fourth comes.
    fn left_of_three(policy: Policy) -> Vec<u32> {
        let mut one = One::new(policy, 3);
        one.put(2, 300, 0);
        one.put(1, 100, 1);
        one.put(3, 200, 2);
        for used in [2, 2, 1, 1, 1, 3] {
            assert_eq!(one.get(used, 3), Found::Valid(used));
        }
        one.put(4, 150, 4);
        (1..=4).filter(|question| one.get(*question, 5) == Found::Valid(*question)).collect()
    }
}

#[test]
fn each_policy_evicts_by_its_own_order() {
    assert_eq!(One::left_of_three(Policy::Ttl), [2, 3, 4], "the smallest remaining TTL");
    assert_eq!(One::left_of_three(Policy::Fifo), [1, 3, 4], "the first stored");
    assert_eq!(One::left_of_three(Policy::Lru), [1, 3, 4], "the last one used is 3, the first one 2");
    assert_eq!(One::left_of_three(Policy::Lfu), [1, 2, 4], "3 was used once");
}

#[test]
fn an_entry_ends_with_its_ttl() {
    let mut one = One::new(Policy::Ttl, 10);
    one.put(1, 300, 0);
    assert_eq!(one.get(1, 299), Found::Valid(1));
    assert_eq!(one.get(1, 300), Found::Absent);
    assert_eq!((one.counts.expired, one.cache.len()), (1, 0));
    one.put(2, i32::MAX as u32, 0);
    assert_eq!(one.get(2, i32::MAX as u64 - 1), Found::Valid(2));
}

#[test]
fn a_ttl_of_0_and_a_cache_without_entries_store_nothing() {
    let mut one = One::new(Policy::Ttl, 10);
    one.put(1, 0, 0);
    assert_eq!(one.get(1, 0), Found::Absent);
    let mut none = One::new(Policy::Lru, 0);
    none.put(1, 300, 0);
    assert_eq!(none.get(1, 0), Found::Absent);
    assert_eq!(none.counts, CachingClients::default());
}

#[test]
fn what_was_evicted_is_known_while_it_would_have_been_valid() {
    let mut one = One::new(Policy::Fifo, 1);
    one.put(1, 100, 0);
    one.put(2, 100, 50);
    assert_eq!((one.counts.evicted, one.counts.evicted_at.of(5)), (1, 1));
    assert_eq!(one.get(1, 99), Found::Evicted);
    assert_eq!(one.get(1, 99), Found::Absent, "a miss is counted once");
    one.put(3, 100, 60);
    assert_eq!(one.get(2, 150), Found::Absent, "it would have expired");
    one.put(4, 100, 160);
    assert_eq!((one.counts.evicted, one.counts.expired), (2, 1));
}

#[test]
fn a_large_entry_evicts_as_many_as_it_needs_and_none_where_it_has_no_room() {
    let mut one = One::new(Policy::Ttl, 10);
    for question in 1..=5 {
        one.put_large(question, 2, 100 + question, 0);
    }
    one.put_large(6, 3, 300, 1);
    assert_eq!(one.counts.evicted, 2);
    assert_eq!(
        [1, 2, 3, 6].map(|question| one.get(question, 1) == Found::Valid(question)),
        [false, false, true, true]
    );
    one.put_large(7, 11, 300, 1);
    assert_eq!((one.counts.evicted, one.cache.len(), one.get(7, 1)), (2, 4, Found::Absent));
    // It grows: 9 of 10 places are taken, and it needs one more than is left.
    one.put_large(6, 5, 300, 2);
    assert_eq!((one.counts.evicted, one.counts.refreshed, one.cache.len()), (3, 1, 3));
    one.cache.clear(0, &mut one.counts);
    one.put_large(8, 10, 300, 3);
    assert_eq!((one.counts.evicted, one.cache.len()), (3, 1), "cleared places are free");
}

#[test]
fn clearing_empties_the_cache_of_one_client() {
    let mut counts = CachingClients::default();
    let mut cache = Cache::new(Policy::Ttl, 4, 1, 2);
    for number in 0..8 {
        let stored = Stored { value: number, ttl_s: 300, takes: 1 };
        cache.put((number % 2, QuestionId(number)), stored, 0, &mut counts);
    }
    cache.clear(1, &mut counts);
    assert_eq!((cache.len(), counts.cleared), (4, 4));
    assert_eq!(cache.get(0, QuestionId(2), 1, &mut counts), Found::Valid(2));
    assert_eq!(cache.get(1, QuestionId(3), 1, &mut counts), Found::Absent);
}

proptest! {
    /// Against a cache that searches all of its entries.
    #[test]
    fn the_order_is_that_of_a_search_through_all_entries(
        policy in prop::sample::select(vec![Policy::Ttl, Policy::Fifo, Policy::Lru, Policy::Lfu]),
        capacity in 1u32..8,
        steps in prop::collection::vec((0u32..16, 1u32..50, 0u64..4), 1..200),
    ) {
        let mut one = One::new(policy, capacity);
        // Question, expiry, stored, used, uses.
        let mut model: Vec<(u32, u64, usize, usize, u32)> = Vec::new();
        let mut now = 0;
        for (number, (question, ttl, pause)) in steps.into_iter().enumerate() {
            now += pause;
            let known = model.iter().position(|entry| entry.0 == question);
            let valid = known.is_some_and(|at| model[at].1 > now);
            let found = one.get(question, now);
            prop_assert_eq!(matches!(found, Found::Valid(_)), valid, "question {} at {}", question, now);
            match known {
                Some(at) if valid => {
                    model[at].3 = number;
                    model[at].4 += 1;
                    continue;
                }
                Some(at) => {
                    model.remove(at);
                }
                None => {}
            }
            let expires = now + u64::from(ttl);
            if policy == Policy::Ttl && model.iter().any(|entry| entry.1 == expires) {
                continue; // which of two with the same rank goes is not said
            }
            if model.len() >= capacity as usize {
                let rank = |entry: &(u32, u64, usize, usize, u32)| match policy {
                    Policy::Ttl => (entry.1, 0),
                    Policy::Fifo => (entry.2 as u64, 0),
                    Policy::Lru => (entry.3 as u64, 0),
                    Policy::Lfu => (u64::from(entry.4), entry.3),
                };
                let first = (0..model.len()).min_by_key(|at| rank(&model[*at])).unwrap();
                model.remove(first);
            }
            model.push((question, expires, number, number, 1));
            one.put(question, ttl, now);
        }
        prop_assert_eq!(one.cache.len(), model.len());
    }
}

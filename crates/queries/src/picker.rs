//! Which query of the source is next: in turn, in random order, by popularity, or by what a resolver has in its cache.

use std::sync::Arc;

use super::cache::{CacheModel, CachePlan};
use super::random::{Permutation, random_of, scaled};

/// The order of the queries of a source.
#[derive(Debug, Clone, Default)]
pub(super) enum Picking {
    /// That of the source, pass after pass.
    #[default]
    InTurn,
    /// Each pass in a random order of its own.
    Random { seed: u64 },
    /// Each at random, the first ones more often.
    Zipf { table: Arc<AliasTable>, seed: u64 },
    /// So that a wanted share is in the cache of a resolver.
    Cached(Arc<CachePlan>),
}

impl Picking {
    pub(super) fn begin(&self, queries: u64, worker: u32, workers: u32) -> Picker {
        Picker(match self {
            Picking::InTurn => Kind::InTurn { queries },
            Picking::Random { seed } => Kind::Random(Box::new(Shuffled::new(queries, *seed))),
            Picking::Zipf { table, seed } => Kind::Zipf { table: table.clone(), seed: *seed },
            Picking::Cached(plan) => Kind::Cached(Box::new(CacheModel::new(plan.clone(), worker, workers))),
        })
    }

    /// The query that the server is asked before the load.
    pub(super) fn check_question(&self) -> u32 {
        match self {
            Picking::Cached(plan) => plan.check_question(),
            _ => 0,
        }
    }
}

/// Chooses the queries of one worker.
#[derive(Debug)]
pub struct Picker(Kind);

#[derive(Debug)]
enum Kind {
    InTurn { queries: u64 },
    Random(Box<Shuffled>),
    Zipf { table: Arc<AliasTable>, seed: u64 },
    Cached(Box<CacheModel>),
}

impl Picker {
    /// The index of the query with this number, which is taken at `now_ns` after the start of the run. It is called
    /// once for each query of the worker, in their order.
    #[inline(always)]
    pub fn pick(&mut self, number: u64, now_ns: u64) -> u32 {
        match &mut self.0 {
            Kind::InTurn { queries } => (number % *queries) as u32,
            other => other.pick(number, now_ns),
        }
    }
}

impl Kind {
    #[cold]
    fn pick(&mut self, number: u64, now_ns: u64) -> u32 {
        match self {
            Kind::InTurn { queries } => (number % *queries) as u32,
            Kind::Random(shuffled) => shuffled.pick(number),
            Kind::Zipf { table, seed } => table.pick(random_of(*seed, number)),
            Kind::Cached(model) => model.pick(number, now_ns),
        }
    }
}

/// Each pass through the queries in an order of its own.
#[derive(Debug)]
struct Shuffled {
    queries: u64,
    bits: u32,
    seed: u64,
    /// The pass that `order` is for.
    pass: u64,
    order: Permutation,
}

impl Shuffled {
    fn new(queries: u64, seed: u64) -> Shuffled {
        let bits = (u64::BITS - queries.saturating_sub(1).leading_zeros()).max(1);
        Shuffled { queries, bits, seed, pass: 0, order: Permutation::new(bits, random_of(seed, 0)) }
    }

    fn pick(&mut self, number: u64) -> u32 {
        let (pass, mut place) = (number / self.queries, number % self.queries);
        if pass != self.pass {
            self.pass = pass;
            self.order = Permutation::new(self.bits, random_of(self.seed, pass));
        }
        // A permutation of a power of two: what is not below the number of queries is passed over. Fewer than half of
        // the places are.
        loop {
            place = self.order.of(place);
            if place < self.queries {
                return place as u32;
            }
        }
    }
}

/// Draws numbers with given probabilities in constant time (the alias method of Walker and Vose).
#[derive(Debug)]
pub(super) struct AliasTable {
    /// For each number, the share of its draws that are its own, in 2^-32, and the number of the others.
    columns: Vec<(u32, u32)>,
}

impl AliasTable {
    /// The law of Zipf: the n-th of `count` has a probability proportional to 1 / n^`exponent`.
    pub(super) fn zipf(count: usize, exponent: f64) -> AliasTable {
        let weight = |n: usize| (n as f64 + 1.0).powf(-exponent);
        let total: f64 = (0..count).rev().map(weight).sum();
        let mean = total / count as f64;
        // Weights in units of the mean. They decrease, so those below 1 are at the end.
        let mut rest: Vec<f64> = (0..count).map(|n| weight(n) / mean).collect();
        let mut columns: Vec<(u32, u32)> = (0..count).map(|n| (u32::MAX, n as u32)).collect();
        let mut large = 0;
        let mut small: Vec<usize> = (0..count).filter(|n| rest[*n] < 1.0).collect();
        while let Some(n) = small.pop() {
            while large < count && rest[large] < 1.0 {
                large += 1;
            }
            if large == count {
                break;
            }
            columns[n] = ((rest[n] * 4_294_967_296.0) as u32, large as u32);
            rest[large] -= 1.0 - rest[n];
            if rest[large] < 1.0 {
                small.push(large);
            }
        }
        AliasTable { columns }
    }

    #[inline]
    fn pick(&self, random: u64) -> u32 {
        let column = scaled(random, self.columns.len() as u64);
        let (own, other) = self.columns[column as usize];
        // The lower half has not been used but for very long lists.
        let chance = (random as u32) ^ 0x9E37_79B9;
        if chance <= own { column as u32 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_turn_each_pass_has_the_order_of_the_source() {
        let mut picker = Picking::InTurn.begin(3, 0, 1);
        assert_eq!((0..7).map(|n| picker.pick(n, 0)).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn in_random_order_each_pass_has_each_query_once_and_no_two_passes_are_equal() {
        for queries in [1, 2, 3, 5, 1000, 1025] {
            let mut picker = Picking::Random { seed: 4 }.begin(queries, 0, 1);
            let mut passes = Vec::new();
            for pass in 0..3 {
                let picked: Vec<_> = (0..queries).map(|n| picker.pick(pass * queries + n, 0)).collect();
                let mut sorted = picked.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..queries as u32));
                passes.push(picked);
            }
            assert!(queries < 1000 || (passes[0] != passes[1] && passes[1] != passes[2]));
        }
    }

    #[test]
    fn by_popularity_the_shares_are_those_of_the_law() {
        const DRAWS: u64 = 1_000_000;
        for (count, exponent) in [(10, 1.0), (1000, 1.1), (3, 0.0), (100, 2.5), (1, 1.0)] {
            let table = Arc::new(AliasTable::zipf(count, exponent));
            let mut picker = Picking::Zipf { table, seed: 8 }.begin(count as u64, 0, 1);
            let mut counts = vec![0u64; count];
            (0..DRAWS).for_each(|n| counts[picker.pick(n, 0) as usize] += 1);
            let total: f64 = (1..=count).map(|n| (n as f64).powf(-exponent)).sum();
            for n in [0, 1, 2, 9, 99, 999] {
                let Some(found) = counts.get(n) else { continue };
                let expected = (n as f64 + 1.0).powf(-exponent) / total * DRAWS as f64;
                let allowed = 5.0 * expected.sqrt() + 1.0;
                assert!((*found as f64 - expected).abs() < allowed, "{n} of {count}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_queries_whatever_the_number_of_workers() {
        let table = Arc::new(AliasTable::zipf(50, 1.0));
        for picking in [Picking::Random { seed: 4 }, Picking::Zipf { table, seed: 4 }] {
            let mut alone = picking.begin(50, 0, 1);
            let mut second = picking.begin(50, 1, 2);
            for number in (1..500).step_by(2) {
                assert_eq!(alone.pick(number, 0), second.pick(number, 0));
            }
        }
    }
}

//! The model against a cache that is simulated: one that keeps each name for its TTL, in whole seconds.

use super::*;
use std::collections::HashMap;

/// A resolver's cache: what it holds is known by name, with the second in which it expires.
struct Cache {
    ttl_ns: u64,
    expires: HashMap<u64, u64>,
    /// Rounds the instant of expiry down or up to a whole second.
    rounds_up: bool,
    hits: u64,
    queries: u64,
}

impl Cache {
    fn query(&mut self, name: u64, at_ns: u64) {
        self.queries += 1;
        if self.expires.get(&name).is_some_and(|end_ns| at_ns < *end_ns) {
            self.hits += 1;
            return;
        }
        let end_ns = (at_ns + self.ttl_ns) / SECOND_NS * SECOND_NS;
        self.expires.insert(name, end_ns + if self.rounds_up { SECOND_NS } else { 0 });
    }

    fn share(&self) -> f64 {
        self.hits as f64 / self.queries as f64
    }
}

/// The share of hits of a run with this rate, and that of its second half.
fn measured(plan: CachePlan, workers: u32, rate_qps: u64, run_s: u64, rounds_up: bool) -> (f64, f64) {
    let plan = Arc::new(plan);
    let (hot, ttl_ns) = (plan.hot, plan.ttl_ns);
    let mut models: Vec<_> =
        (0..workers).map(|worker| CacheModel::new(plan.clone(), worker, workers)).collect();
    let mut cache = Cache { ttl_ns, expires: HashMap::new(), rounds_up, hits: 0, queries: 0 };
    let total = rate_qps * run_s;
    let mut half = (0, 0);
    for number in 0..total {
        let due_ns = number * SECOND_NS / rate_qps;
        let question = models[(number % u64::from(workers)) as usize].pick(number, due_ns);
        // A cold name is unique.
        let name = if question < hot { u64::from(question) } else { u64::from(u32::MAX) + number };
        cache.query(name, due_ns);
        if number == total / 2 {
            half = (cache.hits, cache.queries);
        }
    }
    let second_half = (cache.hits - half.0) as f64 / (cache.queries - half.1) as f64;
    (cache.share(), second_half)
}

#[test]
fn the_share_of_hits_is_the_wanted_one_whatever_the_ttl_and_the_number_of_hot_names() {
    for share in [0.0, 0.5, 0.9, 1.0] {
        for (ttl_s, hot) in [(2, 50), (2, 2_000), (10, 6), (20, 500), (300, 10_000)] {
            for (workers, rounds_up) in [(1, false), (3, true)] {
                let plan = CachePlan { share, ttl_ns: ttl_s * SECOND_NS, hot, cold: 2, seed: 5 };
                let (rate_qps, run_s) = if ttl_s > 100 { (200, 3 * ttl_s) } else { (1_000, 60) };
                let (whole, half) = measured(plan, workers, rate_qps, run_s, rounds_up);
                assert!((whole - share).abs() < 0.01, "{share} of TTL {ttl_s}, {hot} hot: {whole}");
                assert!((half - share).abs() < 0.01, "{share} of TTL {ttl_s}, {hot} hot: {half} later");
            }
        }
    }
}

#[test]
fn hot_names_are_asked_for_by_one_worker_each_and_all_of_them_are_used() {
    let plan = Arc::new(CachePlan { share: 0.5, ttl_ns: 60 * SECOND_NS, hot: 10, cold: 1, seed: 1 });
    let mut models: Vec<_> = (0..3).map(|worker| CacheModel::new(plan.clone(), worker, 3)).collect();
    let mut asked_by = HashMap::new();
    for number in 0..3_000u64 {
        let worker = number % 3;
        let question = models[worker as usize].pick(number, number * 100_000_000);
        if question < 10 {
            assert_eq!(*asked_by.entry(question).or_insert(worker), worker);
        }
    }
    assert_eq!(asked_by.len(), 10);
}

#[test]
fn the_first_query_is_a_miss_and_no_hot_name_is_needed_for_misses() {
    let plan = Arc::new(CachePlan { share: 1.0, ttl_ns: 60 * SECOND_NS, hot: 1, cold: 1, seed: 1 });
    let mut model = CacheModel::new(plan.clone(), 0, 1);
    assert_eq!((0..5).map(|n| model.pick(n, n)).collect::<Vec<_>>(), [0, 0, 0, 0, 0]);
    // A worker without a hot name of its own shares one.
    let mut second = CacheModel::new(plan, 1, 2);
    assert_eq!(second.pick(1, 0), 0);
}

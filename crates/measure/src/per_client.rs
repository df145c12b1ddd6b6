//! How many queries each client has sent, as the number of clients for each number of queries.
//!
//! ```text
//!   clients       3      0     120    4,000   120      1
//!   queries       0    1..98   99      100    101   112..119     exact below 16, above at most 12.5 % wide
//! ```

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The clients that have sent about the same number of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerClient {
    /// The lowest number of queries.
    pub from_queries: u64,
    /// The highest number of queries.
    pub to_queries: u64,
    /// Clients with so many; never 0.
    pub clients: u64,
}

impl PerClient {
    /// The distribution over clients, fewest queries first; `queries` has one number for each client.
    pub fn of(queries: impl IntoIterator<Item = u64>) -> Vec<PerClient> {
        let mut clients = BTreeMap::new();
        queries.into_iter().for_each(|n| *clients.entry(range_of(n)).or_insert(0) += 1);
        let one = |((from_queries, to_queries), clients)| PerClient { from_queries, to_queries, clients };
        clients.into_iter().map(one).collect()
    }

    /// The distribution over the clients of several distributions.
    pub fn joined(distributions: impl IntoIterator<Item = PerClient>) -> Vec<PerClient> {
        let mut clients: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for PerClient { from_queries, to_queries, clients: more } in distributions {
            let sum = clients.entry((from_queries, to_queries)).or_default();
            *sum = sum.saturating_add(more);
        }
        let one = |((from_queries, to_queries), clients)| PerClient { from_queries, to_queries, clients };
        clients.into_iter().map(one).collect()
    }
}

/// The range that has this number in it: eight in each octave.
fn range_of(queries: u64) -> (u64, u64) {
    let shift = queries.checked_ilog2().unwrap_or(0).saturating_sub(3);
    let from = queries >> shift << shift;
    (from, from + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_with_few_queries_are_counted_exactly_and_others_by_an_eighth_of_an_octave() {
        let distribution = PerClient::of([100, 0, 15, 103, 16, 104, 15, u64::MAX]);
        let shown: Vec<_> =
            distribution.iter().map(|one| (one.from_queries, one.to_queries, one.clients)).collect();
        let last = (15 << 60, u64::MAX, 1);
        assert_eq!(shown, [(0, 0, 1), (15, 15, 2), (16, 17, 1), (96, 103, 2), (104, 111, 1), last]);
    }

    #[test]
    fn each_number_is_in_its_range_and_ranges_do_not_overlap() {
        let mut next = 0;
        while next < 100_000 {
            let (from, to) = range_of(next);
            assert_eq!((from, range_of(to)), (next, (from, to)));
            assert!((to - from) * 8 <= from, "{from}..{to}");
            next = to + 1;
        }
    }
}

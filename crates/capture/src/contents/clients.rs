//! The clients, and how many messages each of them has.
//!
//! When there are more than fit into memory, only a part of them is counted further, each with all of its messages:
//! half of them, then a quarter, and so on, chosen by their address. What is said then is an estimate for all.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

use serde::Serialize;

use crate::client;

/// How many queries the clients make; responses, where the capture has no queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clients {
    /// The number of clients.
    pub clients: u64,
    /// Whether this is an estimate from a part of the clients, as is all that follows.
    pub is_estimate: bool,
    /// The share of the clients that was counted.
    pub counted_share: f64,
    /// Clients by their number of queries.
    pub classes: Vec<Class>,
    /// Those with the most queries.
    pub top: Vec<Client>,
    /// The share of all queries that the first tenth and the first hundredth of the clients make.
    pub share_of_first_tenth: f64,
    /// The same of the first hundredth.
    pub share_of_first_hundredth: f64,
}

/// Clients with a number of queries within bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Class {
    /// The lowest number of queries.
    pub from: u64,
    /// The highest number of queries.
    pub to: u64,
    /// Clients with such a number.
    pub clients: u64,
    /// Their queries.
    pub queries: u64,
}

/// A client with its queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Client {
    /// Its address.
    pub address: IpAddr,
    /// Its queries.
    pub queries: u64,
}

pub(super) struct Counter {
    /// Queries and responses.
    counts: HashMap<IpAddr, [u64; 2]>,
    most: usize,
    /// Clients whose number begins with so many zero bits are counted.
    zero_bits: u32,
}

impl Default for Counter {
    fn default() -> Self {
        Counter { counts: HashMap::new(), most: MAX_CLIENTS, zero_bits: 0 }
    }
}

impl Counter {
    pub(super) fn add(&mut self, address: IpAddr, is_response: bool) {
        let zero_bits = self.zero_bits;
        let is_counted = |address: IpAddr, bits| client::number(address, SEED).leading_zeros() >= bits;
        if zero_bits > 0 && !is_counted(address, zero_bits) {
            return;
        }
        self.counts.entry(address).or_default()[usize::from(is_response)] += 1;
        if self.counts.len() > self.most {
            self.zero_bits += 1;
            self.counts.retain(|address, _| is_counted(*address, zero_bits + 1));
        }
    }

    pub(super) fn clients(self) -> Clients {
        let has_queries = self.counts.values().any(|[queries, _]| *queries > 0);
        let direction = usize::from(!has_queries);
        let of = |(address, counts): (IpAddr, [u64; 2])| Client { address, queries: counts[direction] };
        let mut clients: Vec<Client> =
            self.counts.into_iter().map(of).filter(|client| client.queries > 0).collect();
        clients.sort_by_key(|client| (Reverse(client.queries), client.address));
        let scaled = |count: u64| count.checked_shl(self.zero_bits).unwrap_or(u64::MAX);
        let total: u64 = clients.iter().map(|client| client.queries).sum();
        let share_of_first = |part: usize| {
            let first = clients.len().div_ceil(part);
            let queries: u64 = clients.iter().take(first).map(|client| client.queries).sum();
            if total == 0 { 0.0 } else { queries as f64 / total as f64 }
        };
        Clients {
            clients: scaled(clients.len() as u64),
            is_estimate: self.zero_bits > 0,
            counted_share: 0.5f64.powi(self.zero_bits as i32),
            classes: classes(&clients, scaled),
            share_of_first_tenth: share_of_first(10),
            share_of_first_hundredth: share_of_first(100),
            top: clients.iter().take(CLIENTS_SHOWN).cloned().collect(),
        }
    }
}

/// Clients by powers of ten of their queries: 1 to 9, 10 to 99, …
fn classes(clients: &[Client], scaled: impl Fn(u64) -> u64) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    // The most queries first, so each class is in one piece.
    for client in clients.iter().rev() {
        let from = 10u64.pow(client.queries.checked_ilog10().unwrap_or(0));
        if classes.last().is_none_or(|class| class.from != from) {
            classes.push(Class { from, to: from.saturating_mul(10) - 1, clients: 0, queries: 0 });
        }
        if let Some(class) = classes.last_mut() {
            class.clients += 1;
            class.queries += client.queries;
        }
    }
    for class in &mut classes {
        (class.clients, class.queries) = (scaled(class.clients), scaled(class.queries));
    }
    classes
}

/// A million clients take 100 MB.
const MAX_CLIENTS: usize = 1 << 20;

/// Another choice than that of `Selection`, whose share of the clients may be what is counted.
const SEED: u64 = 0x636c_6965_6e74;

const CLIENTS_SHOWN: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(0x0a00_0000 + n).into()
    }

    #[test]
    fn clients_are_put_into_classes_by_powers_of_ten() {
        let mut counter = Counter::default();
        for (client, queries) in [(1, 1), (2, 9), (3, 10), (4, 99), (5, 1_000)] {
            (0..queries).for_each(|_| counter.add(address(client), false));
        }
        let clients = counter.clients();
        let classes: Vec<_> = clients.classes.iter().map(|c| (c.from, c.to, c.clients, c.queries)).collect();
        assert_eq!(classes, [(1, 9, 2, 10), (10, 99, 2, 109), (1_000, 9_999, 1, 1_000)]);
        assert_eq!((clients.clients, clients.is_estimate, clients.top[0].queries), (5, false, 1_000));
        assert_eq!(clients.share_of_first_tenth, 1_000.0 / 1_119.0);
    }

    #[test]
    fn more_clients_than_fit_are_estimated_from_a_part_of_them() {
        let mut counter = Counter { most: 1_000, ..Counter::default() };
        for n in 0..50_000 {
            // A tenth of the clients makes eleven queries, the others one.
            (0..if n % 10 == 0 { 11 } else { 1 }).for_each(|_| counter.add(address(n), false));
        }
        assert!(counter.counts.len() <= 1_000);
        let clients = counter.clients();
        assert!(clients.is_estimate && clients.counted_share < 0.02);
        assert!((40_000..60_000).contains(&clients.clients), "{}", clients.clients);
        let of_tens = clients.classes.iter().find(|class| class.from == 10).unwrap();
        assert!((3_000..7_500).contains(&of_tens.clients), "{of_tens:?}");
        assert_eq!(of_tens.queries, of_tens.clients * 11);
    }

    #[test]
    fn a_capture_of_responses_counts_them_for_their_clients() {
        let mut counter = Counter::default();
        counter.add(address(1), true);
        counter.add(address(1), true);
        assert_eq!(counter.clients().top, [Client { address: address(1), queries: 2 }]);
    }
}

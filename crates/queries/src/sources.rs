//! Many source addresses of one run: networks by weight, and which client sends from which address.
//!
//! ```text
//!   10.0.0.0/30=3,10.9.0.0/30=1      cycle    a a a b      client 0 ─► a.0   4 ─► a.3   8 ─► a.2
//!                                                                 1 ─► a.1   5 ─► a.0   …
//!                                                                 2 ─► a.2   6 ─► a.1
//!                                                                 3 ─► b.0   7 ─► b.1
//! ```
//!
//! The address of a client is a function of its number alone, so that everything which needs it (sockets, the client
//! subnet of a query, a report) computes the same, whichever process the client is in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::prefix::SourcePrefix;

/// Networks to send from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sources {
    networks: Arc<[Network]>,
    /// The network of each client of a cycle, and how many clients of the cycle before it are of the same one.
    cycle: Arc<[(usize, u64)]>,
}

#[derive(Debug, Clone, PartialEq)]
struct Network {
    prefix: SourcePrefix,
    /// Its addresses, from the first one to the end of the prefix; many are as many as all.
    size: u64,
    /// Clients of each cycle.
    in_cycle: u64,
}

/// Where a client sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceOf {
    /// Its address.
    pub address: IpAddr,
    /// The place of the address in its network.
    pub place: u64,
    /// How many clients before it have the same address.
    pub lap: u64,
}

impl Sources {
    /// `NETWORK[=WEIGHT],...`, all of one family: `10.0.0.0/16`, or `10.0.0.0/16=3,10.9.0.1/32=1`.
    pub fn parse(text: &str) -> Option<Sources> {
        let networks: Vec<(SourcePrefix, f64)> = text.split(',').map(network).collect::<Option<_>>()?;
        let is_v4 = networks.first()?.0.first.is_ipv4();
        let all_alike = networks.iter().all(|(prefix, _)| prefix.first.is_ipv4() == is_v4);
        (all_alike && networks.len() <= MOST_NETWORKS).then(|| Sources::of(&networks))
    }

    fn of(weighted: &[(SourcePrefix, f64)]) -> Sources {
        let counts = cycle_counts(&weighted.iter().map(|(_, weight)| *weight).collect::<Vec<_>>());
        let length: u64 = counts.iter().sum();
        let mut given = vec![0; counts.len()];
        // The next client is of the network that is furthest behind its share; the first one of equals.
        let next = |at: u64| {
            let behind = |number: &usize| {
                i128::from(counts[*number]) * i128::from(at + 1)
                    - i128::from(given[*number]) * i128::from(length)
            };
            let number = (0..counts.len()).rev().max_by_key(behind).unwrap_or(0);
            given[number] += 1;
            (number, given[number] - 1)
        };
        let cycle = (0..length).map(next).collect();
        let network = |((prefix, _), in_cycle): (&(SourcePrefix, f64), &u64)| Network {
            prefix: *prefix,
            size: prefix.addresses(),
            in_cycle: *in_cycle,
        };
        Sources { networks: weighted.iter().zip(&counts).map(network).collect(), cycle }
    }

    /// The networks.
    pub fn networks(&self) -> impl Iterator<Item = SourcePrefix> {
        self.networks.iter().map(|network| network.prefix)
    }

    /// The only network, where there is one.
    pub fn only(&self) -> Option<SourcePrefix> {
        match &*self.networks {
            [network] => Some(network.prefix),
            _ => None,
        }
    }

    /// So many clients that each address sends, and the weights hold.
    pub fn usual_clients(&self) -> u64 {
        let cycles = self.networks.iter().map(|network| network.size.div_ceil(network.in_cycle.max(1)));
        cycles.max().unwrap_or(1).saturating_mul(self.cycle.len() as u64)
    }

    /// Where a client sends from, by its number over all workers of a load.
    pub fn of_client(&self, client: u64) -> SourceOf {
        let length = self.cycle.len() as u64;
        let (number, rank) = self.cycle[(client % length) as usize];
        let Network { prefix, size, in_cycle } = &self.networks[number];
        let nth = (client / length).saturating_mul(*in_cycle).saturating_add(rank);
        let place = nth % size;
        let address = match prefix.first {
            IpAddr::V4(first) => Ipv4Addr::from_bits(first.to_bits().wrapping_add(place as u32)).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits().wrapping_add(place.into())).into(),
        };
        SourceOf { address, place, lap: nth / size }
    }
}

/// A network with its weight, 1 where it has none.
fn network(text: &str) -> Option<(SourcePrefix, f64)> {
    let (network, weight) = text.split_once('=').unwrap_or((text, "1"));
    let weight: f64 = weight.trim().parse().ok()?;
    let prefix = SourcePrefix::parse(network.trim())?;
    (weight > 0.0 && weight <= HEAVIEST).then_some((prefix, weight))
}

/// How many clients of a cycle each network has: exactly in proportion to the weights where these are whole numbers
/// that are small together, otherwise to about a thousandth.
fn cycle_counts(weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    if weights.iter().all(|weight| weight.fract() == 0.0) && sum <= LONGEST_CYCLE as f64 {
        let counts: Vec<u64> = weights.iter().map(|weight| *weight as u64).collect();
        let divisor = counts.iter().fold(0, |a, b| gcd(a, *b)).max(1);
        return counts.iter().map(|count| count / divisor).collect();
    }
    let share = |weight: &f64| ((weight / sum * LONGEST_CYCLE as f64).round() as u64).max(1);
    weights.iter().map(share).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The longest cycle, up to rounding.
const LONGEST_CYCLE: u64 = 4_096;

const MOST_NETWORKS: usize = 256;

const HEAVIEST: f64 = 1e6;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn counts(text: &str, clients: u64) -> BTreeMap<String, u64> {
        let sources = Sources::parse(text).expect(text);
        let mut counts = BTreeMap::new();
        (0..clients).for_each(|client| {
            *counts.entry(sources.of_client(client).address.to_string()).or_insert(0) += 1;
        });
        counts
    }

    #[test]
    fn each_address_of_a_network_is_that_of_a_client_and_then_of_another() {
        let of = counts("10.0.0.0/29", 16);
        assert_eq!((of.len(), of["10.0.0.0"], of["10.0.0.7"]), (8, 2, 2));
        assert_eq!(counts("fd00::fffe/112", 3).into_keys().collect::<Vec<_>>(), ["fd00::fffe", "fd00::ffff"]);
        assert_eq!(counts("192.0.2.7/32", 5), BTreeMap::from([("192.0.2.7".to_owned(), 5)]));
        assert_eq!(counts("10.0.0.0/16", 65_536).len(), 65_536);
    }

    #[test]
    fn clients_are_of_networks_by_weight_evenly_and_exactly_in_each_cycle() {
        let sources = Sources::parse("10.0.0.0/24=3,10.9.0.0/24=1").unwrap();
        let first = |client: u64| match sources.of_client(client).address {
            IpAddr::V4(address) => address.octets()[1],
            IpAddr::V6(_) => 0,
        };
        let nines = |from: u64, to: u64| (from..to).filter(|client| first(*client) == 9).count();
        assert!((0..1_000).step_by(4).all(|from| nines(from, from + 4) == 1));
        assert_eq!(sources.usual_clients(), 1_024, "each address of the light network too");
        let uneven = Sources::parse("10.0.0.0/8=0.37,10.9.0.0/16=0.63").unwrap();
        let light =
            (0..100_000).filter(|client| uneven.of_client(*client).address.to_string().starts_with("10.9."));
        assert!((62_800..63_200).contains(&light.count()));
    }

    #[test]
    fn two_clients_of_an_address_are_told_apart_by_their_lap() {
        let sources = Sources::parse("10.0.0.0/30").unwrap();
        let laps: Vec<_> =
            (0..9).map(|client| sources.of_client(client)).map(|of| (of.place, of.lap)).collect();
        assert_eq!(laps, [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1), (0, 2)]);
    }

    #[test]
    fn what_is_no_list_of_networks_of_one_family_is_refused() {
        for text in [
            "",
            "a",
            "10.0.0.1",
            "10.0.0.0/33",
            "10.0.0.0/8=0",
            "10.0.0.0/8=-1",
            "10.0.0.0/8,fd00::/64",
            "10.0.0.0/8,",
            "=1",
        ] {
            assert_eq!(Sources::parse(text), None, "{text}");
        }
    }
}

//! The client subnet of a query (RFC 7871): always the same, a random one of a range, or one for each client.

use std::net::IpAddr;

use super::random::mix;
use crate::prefix::SourcePrefix;
use crate::sources::Sources;

/// Which subnet a query has.
#[derive(Debug, Clone, PartialEq)]
pub struct EcsChoice {
    /// The subnets start with these bits.
    range: SourcePrefix,
    /// The bits of a subnet; not fewer than those of the range.
    length: u8,
    /// Whether all queries of a client have one subnet.
    is_per_client: bool,
    seed: u64,
    /// Where clients send from, if the subnet is that of the source address.
    sources: Option<Sources>,
}

impl EcsChoice {
    /// The code of the option.
    pub const OPTION: u16 = 8;

    /// The same subnet for all queries.
    pub fn fixed(subnet: SourcePrefix) -> EcsChoice {
        EcsChoice { range: subnet, length: subnet.length, is_per_client: false, seed: 0, sources: None }
    }

    /// Subnets of this length in a range; `None` if the range is smaller than a subnet.
    pub fn of_range(range: SourcePrefix, length: u8, is_per_client: bool, seed: u64) -> Option<EcsChoice> {
        let most = if range.first.is_ipv4() { 32 } else { 128 };
        (range.length..=most).contains(&length).then_some(EcsChoice {
            range,
            length,
            is_per_client,
            seed,
            sources: None,
        })
    }

    /// The subnet of this length that the source address of each query is in; `None` if addresses are shorter.
    pub fn of_sources(sources: Sources, length: u8) -> Option<EcsChoice> {
        let range = SourcePrefix { length: 0, ..sources.networks().next()? };
        let most = if range.first.is_ipv4() { 32 } else { 128 };
        (length <= most).then_some(EcsChoice {
            range,
            length,
            is_per_client: true,
            seed: 0,
            sources: Some(sources),
        })
    }

    /// The data of the option for a query and its client, and the length of it.
    ///
    /// ```text
    ///   family 2 | length of the source prefix 1 | of the scope 1 | as many octets of the address as the prefix has
    /// ```
    #[inline]
    pub fn data(&self, number: u64, client: u64) -> ([u8; LONGEST_ECS], usize) {
        let of_source = self.sources.as_ref().map(|sources| sources.of_client(client).address);
        let (family, bits, width) = match of_source.unwrap_or(self.range.first) {
            IpAddr::V4(address) => (1, u128::from(address.to_bits()) << 96, 32),
            IpAddr::V6(address) => (2, address.to_bits(), 128),
        };
        let bits = match self.length.checked_sub(self.range.length) {
            None | Some(0) => bits,
            Some(_) if of_source.is_some() => bits,
            Some(_) => {
                let which = if self.is_per_client { client } else { number };
                let random = u128::from(mix(self.seed ^ which)) << 64 | u128::from(mix(!self.seed ^ which));
                let of_range = mask(self.range.length);
                bits & of_range | random & !of_range
            }
        };
        let octets = (bits & mask(self.length.min(width))).to_be_bytes();
        let length = usize::from(self.length).div_ceil(8);
        let mut data = [0; LONGEST_ECS];
        (data[1], data[2]) = (family, self.length);
        data[HEAD_LEN..HEAD_LEN + length].copy_from_slice(&octets[..length]);
        (data, HEAD_LEN + length)
    }
}

/// The first `length` bits of an address of 128.
fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

/// Family and the two lengths, in octets.
const HEAD_LEN: usize = 4;

/// The longest data of the option in octets.
pub(crate) const LONGEST_ECS: usize = HEAD_LEN + 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn prefix(text: &str) -> SourcePrefix {
        SourcePrefix::parse(text).unwrap()
    }

    fn data(choice: &EcsChoice, number: u64, client: u64) -> Vec<u8> {
        let (data, length) = choice.data(number, client);
        data[..length].to_vec()
    }

    #[test]
    fn a_fixed_subnet_has_no_bits_beyond_its_length() {
        for (text, want) in [
            ("192.0.2.255/24", &[0, 1, 24, 0, 192, 0, 2][..]),
            ("192.0.2.255/25", &[0, 1, 25, 0, 192, 0, 2, 128]),
            ("0.0.0.0/0", &[0, 1, 0, 0]),
            ("10.1.2.3/32", &[0, 1, 32, 0, 10, 1, 2, 3]),
            ("2001:db8:ff::1/36", &[0, 2, 36, 0, 0x20, 0x01, 0x0d, 0xb8, 0]),
        ] {
            assert_eq!(data(&EcsChoice::fixed(prefix(text)), 7, 9), want, "{text}");
        }
    }

    #[test]
    fn subnets_of_a_range_are_spread_over_it_and_the_same_for_the_same_query() {
        let choice = EcsChoice::of_range(prefix("10.0.0.0/8"), 24, false, 7).unwrap();
        let all: Vec<_> = (0..2_000).map(|number| data(&choice, number, 0)).collect();
        assert!(all.iter().all(|data| data[..5] == [0, 1, 24, 0, 10] && data.len() == 7));
        assert_eq!(all[5], data(&choice, 5, 99));
        assert!(all.iter().map(|data| data[5]).collect::<BTreeSet<_>>().len() > 250);
        let other = EcsChoice::of_range(prefix("10.0.0.0/8"), 24, false, 8).unwrap();
        assert!((0..99).any(|number| data(&other, number, 0) != all[number as usize]));
        let wide = EcsChoice::of_range(prefix("2001:db8::/32"), 56, false, 7).unwrap();
        assert_eq!(data(&wide, 3, 0)[..8], [0, 2, 56, 0, 0x20, 0x01, 0x0d, 0xb8]);
    }

    #[test]
    fn the_subnet_may_be_that_of_the_source_address_of_the_client() {
        let sources = |text: &str| Sources::parse(text).unwrap();
        let choice = EcsChoice::of_sources(sources("10.1.0.0/16=1,10.2.3.4/32=1"), 24).unwrap();
        assert_eq!(data(&choice, 9, 0), [0, 1, 24, 0, 10, 1, 0]);
        assert_eq!(data(&choice, 9, 1), [0, 1, 24, 0, 10, 2, 3]);
        assert_eq!(data(&choice, 9, 512), [0, 1, 24, 0, 10, 1, 1]);
        let whole = EcsChoice::of_sources(sources("fd00::5/128"), 128).unwrap();
        assert_eq!(data(&whole, 1, 7)[4..], "fd00::5".parse::<std::net::Ipv6Addr>().unwrap().octets());
        assert_eq!(EcsChoice::of_sources(sources("10.0.0.0/8"), 33), None);
    }

    #[test]
    fn each_client_may_have_its_subnet_and_a_range_is_not_smaller_than_a_subnet() {
        let choice = EcsChoice::of_range(prefix("10.0.0.0/8"), 24, true, 7).unwrap();
        assert_eq!(data(&choice, 1, 4), data(&choice, 2, 4));
        assert_ne!(data(&choice, 1, 4), data(&choice, 1, 5));
        assert_eq!(EcsChoice::of_range(prefix("10.0.0.0/8"), 7, true, 7), None);
        assert_eq!(EcsChoice::of_range(prefix("10.0.0.0/8"), 33, true, 7), None);
    }
}

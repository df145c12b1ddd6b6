//! Prefixes of addresses.

use std::net::IpAddr;

/// From one address to the end of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePrefix {
    /// The first address.
    pub first: IpAddr,
    /// Length of the prefix in bits; at most as long as the address.
    pub length: u8,
}

impl SourcePrefix {
    /// `ADDRESS/LENGTH`.
    pub fn parse(text: &str) -> Option<SourcePrefix> {
        let (first, length) = text.split_once('/')?;
        let first: IpAddr = first.parse().ok()?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        // `parse` would accept a sign.
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse().ok().filter(|length| is_number && *length <= most)?;
        Some(SourcePrefix { first, length })
    }

    /// Whether an address is in the network of the prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (first, address, bits) = match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                (u128::from(u32::from(first)), u32::from(address).into(), 32)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => (u128::from(first), u128::from(address), 128),
            _ => return false,
        };
        let rest = bits - u32::from(self.length);
        // A shift by all bits of the type is none.
        let network = |address: u128| address.checked_shr(rest).unwrap_or(0);
        network(first) == network(address)
    }

    /// How many addresses there are from the first one to the end of the prefix, as far as they can be counted.
    pub fn addresses(&self) -> u64 {
        let (first, bits) = match self.first {
            IpAddr::V4(first) => (u128::from(first.to_bits()), 32),
            IpAddr::V6(first) => (first.to_bits(), 128),
        };
        let last = 1_u128.checked_shl(bits - u32::from(self.length)).map_or(u128::MAX, |size| size - 1);
        u64::try_from(last - (first & last)).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Whether it is one address.
    pub fn is_host(&self) -> bool {
        self.length == if self.first.is_ipv4() { 32 } else { 128 }
    }
}

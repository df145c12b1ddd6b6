//! Prefixes of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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

    /// The same network from its lowest address on, as routes are written.
    pub fn network(&self) -> SourcePrefix {
        let masked = |first: u128, bits: u32| {
            let rest = bits - u32::from(self.length);
            // A shift by all bits of the type is none.
            first.checked_shr(rest).map_or(0, |network| network << rest)
        };
        let first = match self.first {
            IpAddr::V4(first) => Ipv4Addr::from_bits(masked(first.to_bits().into(), 32) as u32).into(),
            IpAddr::V6(first) => Ipv6Addr::from_bits(masked(first.to_bits(), 128)).into(),
        };
        SourcePrefix { first, length: self.length }
    }

    /// Whether an address is in the network of the prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        let of_address = SourcePrefix { first: address.to_canonical(), length: self.length };
        self.first.is_ipv4() == of_address.first.is_ipv4() && self.network() == of_address.network()
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

/// As it is read.
impl fmt::Display for SourcePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_begins_at_its_lowest_address() {
        let network = |text: &str| SourcePrefix::parse(text).unwrap().network().to_string();
        assert_eq!(network("10.77.3.5/16"), "10.77.0.0/16");
        assert_eq!(
            (network("10.77.3.5/32"), network("10.77.3.5/0")),
            ("10.77.3.5/32".into(), "0.0.0.0/0".into())
        );
        assert_eq!((network("fd77::1:5/112"), network("fd77::5/0")), ("fd77::1:0/112".into(), "::/0".into()));
    }

    #[test]
    fn an_address_is_in_a_network_of_its_own_family() {
        let contains =
            |text: &str, address: &str| SourcePrefix::parse(text).unwrap().contains(address.parse().unwrap());
        assert!(contains("10.77.3.5/16", "10.77.200.1") && !contains("10.77.3.5/16", "10.78.0.1"));
        assert!(contains("10.77.0.0/16", "::ffff:10.77.0.1") && !contains("0.0.0.0/0", "fd77::1"));
        assert!(contains("::/0", "fd77::1") && contains("fd77::/64", "fd77::ffff"));
    }
}

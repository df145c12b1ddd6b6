//! The addresses of name servers: a number each, within a prefix of IPv4 and, where there is one, of IPv6.

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::str::FromStr;

use dnsdyno_queries::SourcePrefix;

/// A prefix of addresses, such as 10.64.0.0/10 or fd00:64::/64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    first: IpAddr,
    length: u8,
}

impl Prefix {
    /// Whether its addresses are of IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.first.is_ipv4()
    }

    /// Whether queries to its addresses reach this host: the kernel gives none to sockets of an address that is not
    /// local here, and not in the namespace of this process. Where that cannot be found out, they do.
    pub fn is_local(&self) -> bool {
        let is_missing = |address: IpAddr| {
            let bound = UdpSocket::bind((address, 0));
            bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
        };
        let last = u32::try_from(self.size().saturating_sub(2)).unwrap_or(u32::MAX);
        ![0, last.saturating_sub(1)].into_iter().filter_map(|number| self.address(number)).any(is_missing)
    }

    /// The address with this number; the first one of the prefix, which names the network, has none. `None` past the
    /// end.
    pub(crate) fn address(&self, number: u32) -> Option<IpAddr> {
        let offset = u64::from(number) + 1;
        (offset < self.size()).then(|| match self.first {
            IpAddr::V4(first) => Ipv4Addr::from(u32::from(first) + offset as u32).into(),
            IpAddr::V6(first) => Ipv6Addr::from(u128::from(first) + u128::from(offset)).into(),
        })
    }

    /// The number of an address; `None` for one outside of the prefix.
    pub(crate) fn number(&self, address: IpAddr) -> Option<u32> {
        let offset = match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                u128::from(u32::from(address).checked_sub(first.into())?)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => u128::from(address).checked_sub(first.into())?,
            _ => return None,
        };
        (offset < u128::from(self.size())).then(|| u32::try_from(offset).ok()?.checked_sub(1))?
    }

    /// How many addresses it has, as far as they are used: numbers have 32 bits.
    fn size(&self) -> u64 {
        let width = if self.is_ipv4() { 32 } else { 128 };
        1 << (width - self.length).min(32)
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not a prefix: write it like 10.64.0.0/10 or fd00:64::/64");
        let prefix = SourcePrefix::parse(text).filter(|prefix| prefix.length > 0).ok_or_else(form)?;
        let SourcePrefix { first, length } = prefix;
        if prefix.network() != prefix {
            return Err(format!(
                "`{text}` has bits set after the first {length}: write the first address of the prefix"
            ));
        }
        Ok(Prefix { first, length })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_number_and_back() {
        for text in ["10.64.0.0/10", "127.64.0.0/16", "fd00:64::/64", "192.0.2.0/24"] {
            let prefix: Prefix = text.parse().unwrap();
            assert_eq!(prefix.to_string(), text);
            for number in [0, 1, 200, 253] {
                let address = prefix.address(number).unwrap();
                assert_eq!(prefix.number(address), Some(number), "{address}");
            }
        }
        let small: Prefix = "192.0.2.0/24".parse().unwrap();
        assert_eq!(small.address(0), Some("192.0.2.1".parse().unwrap()));
        assert_eq!((small.address(255), small.address(254).is_some()), (None, true));
        for outside in ["192.0.2.0", "192.0.3.0", "192.0.1.255", "::1"] {
            assert_eq!(small.number(outside.parse().unwrap()), None, "{outside}");
        }
    }

    #[test]
    fn a_prefix_is_local_where_the_kernel_has_it() {
        let is_local = |text: &str| text.parse::<Prefix>().unwrap().is_local();
        assert!(is_local("127.64.0.0/12") && is_local("127.0.0.0/30"));
        // For documentation: no host has them.
        assert!(!is_local("192.0.2.0/24") && !is_local("198.51.100.0/25") && !is_local("2001:db8:64::/64"));
    }

    #[test]
    fn a_prefix_that_is_none_is_refused() {
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/0", "x/8", "10.0.0.1/8"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}

//! Source addresses and ports of queries: address prefixes and port ranges.

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
    pub(crate) fn parse(text: &str) -> Option<SourcePrefix> {
        let (first, length) = text.split_once('/')?;
        let first: IpAddr = first.parse().ok()?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        // `parse` would accept a sign.
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse().ok().filter(|length| is_number && *length <= most)?;
        Some(SourcePrefix { first, length })
    }

    /// Whether it is one address.
    pub(crate) fn is_host(&self) -> bool {
        self.length == if self.first.is_ipv4() { 32 } else { 128 }
    }
}

/// Local ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    /// The first port, at least 1.
    pub first: u16,
    /// The last port, not before the first.
    pub last: u16,
}

impl PortRange {
    /// `A..B`, `A-B` or one port.
    pub(crate) fn parse(text: &str) -> Option<PortRange> {
        let (first, last) = text.split_once("..").or_else(|| text.split_once('-')).unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let range = PortRange { first: port(first)?, last: port(last)? };
        (range.first <= range.last).then_some(range)
    }

    /// The number of ports, at least 1.
    pub fn count(&self) -> usize {
        usize::from(self.last - self.first) + 1
    }

    /// The ports in order.
    pub fn ports(&self) -> std::ops::RangeInclusive<u16> {
        self.first..=self.last
    }
}

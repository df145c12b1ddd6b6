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

    /// Whether it is one address.
    pub fn is_host(&self) -> bool {
        self.length == if self.first.is_ipv4() { 32 } else { 128 }
    }
}

//! Source addresses and ports of queries: address prefixes and port ranges.

use std::net::SocketAddr;

use dnsdyno_queries::SourcePrefix;

/// The source that the PROXY protocol announces: one address, or those of a prefix in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxySource {
    /// The addresses.
    pub prefix: SourcePrefix,
    /// The port of all clients; `None` gives each its own.
    pub port: Option<u16>,
}

impl ProxySource {
    /// `ADDRESS`, `ADDRESS:PORT` or `[ADDRESS]:PORT`, each with `/LENGTH` or without.
    pub(crate) fn parse(text: &str) -> Option<ProxySource> {
        let (address, length) =
            text.split_once('/').map_or((text, None), |(first, rest)| (first, Some(rest)));
        let (first, port) = match address.parse::<SocketAddr>() {
            Ok(both) => (both.ip(), Some(both.port())),
            Err(_) => (address.parse().ok()?, None),
        };
        let usual = if first.is_ipv4() { "32" } else { "128" };
        let prefix = SourcePrefix::parse(&format!("{first}/{}", length.unwrap_or(usual)))?;
        Some(ProxySource { prefix, port })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_the_proxy_protocol_is_an_address_or_a_prefix_with_a_port_or_without() {
        let text = |text: &str| {
            let source = ProxySource::parse(text)?;
            let port = source.port.map_or(String::new(), |port| format!(" {port}"));
            Some(format!("{}/{}{port}", source.prefix.first, source.prefix.length))
        };
        assert_eq!(text("192.0.2.1").as_deref(), Some("192.0.2.1/32"));
        assert_eq!(text("192.0.2.1:5353").as_deref(), Some("192.0.2.1/32 5353"));
        assert_eq!(text("192.0.2.0/24").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(text("[2001:db8::1]:53/64").as_deref(), Some("2001:db8::1/64 53"));
        assert_eq!(text("2001:db8::/64").as_deref(), Some("2001:db8::/64"));
        for wrong in ["", "a", "192.0.2.1:x", "192.0.2.1:70000", "192.0.2.0/33", "[::1]", "192.0.2.0/+1"] {
            assert_eq!(text(wrong), None, "{wrong}");
        }
    }
}

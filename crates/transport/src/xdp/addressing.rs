//! The channels of AF_XDP: pairs of source address and port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Maps channels to addresses and ports, and back: all ports of one address, then the next address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addressing {
    server: SocketAddr,
    first_address: IpAddr,
    first_port: u16,
    ports: usize,
    /// Channels of one worker, and of all.
    each: usize,
    all: usize,
}

impl Addressing {
    /// `each` channels for each of `workers` workers, from this address and these ports on.
    pub(super) fn new(
        server: SocketAddr,
        first_address: IpAddr,
        ports: (u16, u16),
        (workers, each): (usize, usize),
    ) -> Self {
        let (first_port, ports) = (ports.0, port_count(ports).max(1));
        Addressing { server, first_address, first_port, ports, each, all: each * workers }
    }

    /// Channels of all workers.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// The source of the queries of a channel, counted through all workers.
    pub(super) fn source_of(&self, channel: usize) -> SocketAddr {
        let (address, port) = (channel / self.ports, self.first_port + (channel % self.ports) as u16);
        let ip = match self.first_address {
            IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits().wrapping_add(address as u32)).into(),
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits().wrapping_add(address as u128)).into(),
        };
        SocketAddr::new(ip, port)
    }

    /// Whether this is the server. The scope and flow of an IPv6 address are in no packet.
    #[inline]
    pub(super) fn is_server(&self, source: SocketAddr) -> bool {
        source.ip() == self.server.ip() && source.port() == self.server.port()
    }

    /// The worker, and its channel, that a response to this address belongs to.
    #[inline]
    pub(super) fn channel_of(&self, target: SocketAddr) -> Option<(usize, u32)> {
        let port = usize::from(target.port().checked_sub(self.first_port)?);
        let address = match (target.ip(), self.first_address) {
            (IpAddr::V4(ip), IpAddr::V4(first)) => ip.to_bits().checked_sub(first.to_bits())? as usize,
            (IpAddr::V6(ip), IpAddr::V6(first)) => {
                usize::try_from(ip.to_bits().checked_sub(first.to_bits())?).ok()?
            }
            _ => return None,
        };
        let channel = address.checked_mul(self.ports)?.checked_add(port)?;
        if port >= self.ports || channel >= self.all {
            return None;
        }
        Some((channel / self.each, (channel % self.each) as u32))
    }
}

/// How many addresses there are from this one to the end of its prefix.
pub(super) fn addresses((first, prefix): (IpAddr, u8)) -> usize {
    let host_bits = u32::from(bits(first) - prefix);
    let last = 1u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
    let own = match first {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    } & last;
    usize::try_from(last - own).unwrap_or(usize::MAX).saturating_add(1)
}

pub(super) fn port_count((first, last): (u16, u16)) -> usize {
    usize::from(last.saturating_sub(first)) + usize::from(last >= first)
}

/// Bits of an address.
pub(super) fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_channel_has_an_address_of_its_own_and_is_found_by_it() {
        for first in ["10.77.0.250", "fd77::fff8"] {
            let server = "10.77.0.2:53".parse().unwrap();
            let addressing = Addressing::new(server, first.parse().unwrap(), (20_000, 20_009), (4, 15));
            let mut seen = std::collections::HashSet::new();
            for channel in 0..60 {
                let source = addressing.source_of(channel);
                assert!(seen.insert(source));
                assert_eq!(addressing.channel_of(source), Some((channel / 15, (channel % 15) as u32)));
            }
            for port in [19_999, 20_010] {
                assert_eq!(addressing.channel_of((addressing.first_address, port).into()), None);
            }
            assert_eq!(addressing.channel_of(addressing.source_of(60)), None);
        }
    }

    #[test]
    fn addresses_are_counted_to_the_end_of_the_prefix() {
        let count = |first: &str, prefix| addresses((first.parse().unwrap(), prefix));
        assert_eq!(count("10.0.0.1", 32), 1);
        assert_eq!(count("10.0.0.250", 24), 6);
        assert_eq!(count("fd77::1", 128), 1);
        assert_eq!(count("fd77::", 0), usize::MAX);
        assert_eq!((port_count((5, 5)), port_count((5, 4)), port_count((0, 65_535))), (1, 0, 65_536));
    }
}

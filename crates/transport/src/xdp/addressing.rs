//! Which channel an answer belongs to: channels are pairs of source address and port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::XdpConfig;

/// Channels as addresses and ports, and back: first through the ports, then to the next address.
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
    pub(super) fn new(config: &XdpConfig, first_address: IpAddr) -> Self {
        Addressing {
            server: config.server,
            first_address,
            first_port: config.ports.0,
            ports: port_count(config.ports).max(1),
            each: config.channels,
            all: config.channels * config.workers,
        }
    }

    /// Where the queries of a channel, counted through all workers, come from.
    pub(super) fn source_of(&self, channel: usize) -> SocketAddr {
        let (address, port) = (channel / self.ports, self.first_port + (channel % self.ports) as u16);
        let ip = match self.first_address {
            IpAddr::V4(ip) => Ipv4Addr::from_bits(ip.to_bits().wrapping_add(address as u32)).into(),
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits().wrapping_add(address as u128)).into(),
        };
        SocketAddr::new(ip, port)
    }

    /// Whether this is the server. Interface and flow of an IPv6 address stand in no packet.
    #[inline]
    pub(super) fn is_server(&self, source: SocketAddr) -> bool {
        source.ip() == self.server.ip() && source.port() == self.server.port()
    }

    /// The worker and its channel to which an answer to this address belongs.
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

/// How many pairs of source address and port there are.
pub(super) fn pairs(config: &XdpConfig, (first, prefix): (IpAddr, u8)) -> usize {
    let host_bits = u32::from(bits(first) - prefix);
    let last = 1u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
    let own = match first {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    } & last;
    let addresses = usize::try_from(last - own).unwrap_or(usize::MAX).saturating_add(1);
    addresses.saturating_mul(port_count(config.ports))
}

fn port_count((first, last): (u16, u16)) -> usize {
    usize::from(last.saturating_sub(first)) + usize::from(last >= first)
}

/// Bits of an address.
pub(super) fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdp::{Attach, CopyMode, Source};

    fn config(channels: usize, workers: usize) -> XdpConfig {
        XdpConfig {
            server: "10.77.0.2:53".parse().unwrap(),
            interface: None,
            source: Source::Route,
            ports: (20_000, 20_009),
            next_hop: None,
            vlan: None,
            attach: Attach::Auto,
            copy: CopyMode::Auto,
            workers,
            channels,
            longest_message: 33,
            send_only: false,
        }
    }

    #[test]
    fn every_channel_has_an_address_of_its_own_and_is_found_by_it() {
        for first in ["10.77.0.250", "fd77::fff8"] {
            let addressing = Addressing::new(&config(15, 4), first.parse().unwrap());
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
    fn pairs_are_counted_to_the_end_of_the_prefix() {
        let count = |first: &str, prefix| pairs(&config(1, 1), (first.parse().unwrap(), prefix));
        assert_eq!(count("10.0.0.1", 32), 10);
        assert_eq!(count("10.0.0.250", 24), 60);
        assert_eq!(count("fd77::1", 128), 10);
        assert_eq!(count("fd77::", 0), usize::MAX);
        let mut turned = config(1, 1);
        turned.ports = (5, 4);
        assert_eq!(pairs(&turned, ("10.0.0.1".parse().unwrap(), 32)), 0);
    }
}

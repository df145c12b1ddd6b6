//! Finds the interface to a server in the kernel's routing tables, without a socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The interface that packets to `target` are sent over; `None` where no table can be read.
///
/// Packets to any address of this host use `lo`; of these, only loopback addresses are recognized here.
pub fn interface_towards(target: IpAddr) -> Option<String> {
    if target.is_loopback() {
        return Some("lo".to_owned());
    }
    match target {
        IpAddr::V4(address) => longest_v4(&std::fs::read_to_string("/proc/net/route").ok()?, address),
        IpAddr::V6(address) => longest_v6(&std::fs::read_to_string("/proc/net/ipv6_route").ok()?, address),
    }
}

/// `Iface Destination Gateway Flags RefCnt Use Metric Mask …`, addresses in hexadecimal in host byte order.
fn longest_v4(table: &str, target: Ipv4Addr) -> Option<String> {
    let target = u32::from_ne_bytes(target.octets());
    let routes = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[name, destination, _, flags, _, _, metric, mask, ..] = fields.as_slice() else { return None };
        let hex = |text| u32::from_str_radix(text, 16).ok();
        let (destination, mask) = (hex(destination)?, hex(mask)?);
        let usable = hex(flags)? & (ROUTE_UP | ROUTE_REJECT) == ROUTE_UP && target & mask == destination;
        usable.then_some((mask.count_ones(), u32::MAX - metric.parse::<u32>().ok()?, name))
    });
    routes.max_by_key(|(prefix, rank, _)| (*prefix, *rank)).map(|(.., name)| name.to_owned())
}

/// `destination prefix source prefix gateway metric refs use flags name`, all in hexadecimal except the name.
fn longest_v6(table: &str, target: Ipv6Addr) -> Option<String> {
    let target = u128::from(target);
    let routes = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[destination, prefix, _, _, _, metric, _, _, flags, name] = fields.as_slice() else {
            return None;
        };
        let hex = |text| u32::from_str_radix(text, 16).ok();
        let (destination, prefix) = (u128::from_str_radix(destination, 16).ok()?, hex(prefix)?);
        let mask = u128::MAX.checked_shl(128u32.checked_sub(prefix)?).unwrap_or(0);
        let usable =
            hex(flags)? & (ROUTE_UP | ROUTE_REJECT) == ROUTE_UP && (target ^ destination) & mask == 0;
        usable.then_some((prefix, u32::MAX - hex(metric)?, name))
    });
    routes.max_by_key(|(prefix, rank, _)| (*prefix, *rank)).map(|(.., name)| name.to_owned())
}

/// `RTF_UP` of linux/route.h.
const ROUTE_UP: u32 = 0x0001;

/// `RTF_REJECT` of linux/route.h.
const ROUTE_REJECT: u32 = 0x0200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_matching_route_gives_the_interface() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                     eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     eth1\t0002000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
                     bad line\n";
        let to = |text: &str| longest_v4(table, text.parse().unwrap());
        assert_eq!(to("10.0.2.9").as_deref(), Some("eth1"));
        assert_eq!(to("192.0.2.1").as_deref(), Some("eth0"));
    }

    #[test]
    fn ipv6_routes_are_read_from_their_own_table() {
        let zero = "0".repeat(32);
        let prefix = "20010db8000000000000000000000000";
        let table = format!(
            "{prefix} 20 {zero} 00 {zero} 00000100 1 0 00000001 eth1\n\
             {zero} 00 {zero} 00 {zero} ffffffff 1 0 00200200 lo\n\
             {zero} 00 {zero} 00 {zero} 00000400 1 0 00000003 eth0\n"
        );
        let to = |text: &str| longest_v6(&table, text.parse().unwrap());
        assert_eq!(to("2001:db8::1").as_deref(), Some("eth1"));
        assert_eq!(to("2001:db9::1").as_deref(), Some("eth0"));
    }

    #[test]
    fn loopback_needs_no_table() {
        assert_eq!(interface_towards("127.3.2.1".parse().unwrap()).as_deref(), Some("lo"));
        assert_eq!(interface_towards("::1".parse().unwrap()).as_deref(), Some("lo"));
    }
}

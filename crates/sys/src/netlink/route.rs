//! Routes, addresses, neighbours and links of this host: which way packets to a server leave it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

use netlink_sys::protocols::NETLINK_ROUTE;

use super::{Extent, Netlink, attribute, attributes, encoded, u32_at};

/// Which interface and next hop packets to a server are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The index of the interface.
    pub interface: u32,
    /// The address that the host would send from.
    pub source: Option<IpAddr>,
    /// The gateway, or the server itself.
    pub next_hop: IpAddr,
    /// Whether the server is this host.
    pub is_local: bool,
}

/// The route to `server`, over `interface` where that is given; `None` where no route leads there.
///
/// # Errors
/// Those of the kernel.
pub fn route_to(server: IpAddr, interface: Option<u32>) -> io::Result<Option<Route>> {
    let mut request = [0; ROUTE_MESSAGE].to_vec();
    request[0] = family(server);
    request[1] = if server.is_ipv4() { 32 } else { 128 };
    request.extend(encoded(RTA_DST, &octets(server)));
    request.extend(interface.iter().flat_map(|index| encoded(RTA_OIF, &index.to_ne_bytes())));
    let mut route = None;
    let result = Netlink::open(NETLINK_ROUTE)?
        .ask(RTM_GETROUTE, Extent::One, &request, |message| route = route_in(message, server));
    match result {
        Err(error) if is_no_route(&error) => Ok(None),
        result => result.map(|()| route),
    }
}

/// Whether this host takes packets to an address. Where the kernel does not say it, it does.
pub fn is_taken_here(address: IpAddr) -> bool {
    route_to(address, None).map_or(true, |route| route.is_some_and(|route| route.is_local))
}

/// `struct rtmsg` with its attributes.
fn route_in(message: &[u8], server: IpAddr) -> Option<Route> {
    let all = message.get(ROUTE_MESSAGE..)?;
    // An IPv4 route by an IPv6 gateway has it here, after the family.
    let via = attribute(all, RTA_VIA).get(2..).and_then(address);
    Some(Route {
        interface: u32_at(attribute(all, RTA_OIF), 0).filter(|index| *index != 0)?,
        source: address(attribute(all, RTA_PREFSRC)),
        next_hop: via.or_else(|| address(attribute(all, RTA_GATEWAY))).unwrap_or(server),
        is_local: message[ROUTE_TYPE] == RTN_LOCAL,
    })
}

/// The addresses that an interface owns.
///
/// # Errors
/// Those of the kernel.
pub fn addresses_of(interface: u32) -> io::Result<Vec<IpAddr>> {
    let mut found = Vec::new();
    Netlink::open(NETLINK_ROUTE)?.ask(RTM_GETADDR, Extent::All, &[0; ADDRESS_MESSAGE], |message| {
        if u32_at(message, ADDRESS_INTERFACE) != Some(interface) {
            return;
        }
        // Of a point-to-point link, "address" is the other end; "local" is always ours.
        let all = attributes(message.get(ADDRESS_MESSAGE..).unwrap_or_default());
        let owned = all.filter(|(kind, _)| matches!(*kind, IFA_LOCAL | IFA_ADDRESS));
        found.extend(owned.filter_map(|(_, value)| address(value)));
    })?;
    Ok(found)
}

/// Whether an XDP program is attached to an interface.
///
/// # Errors
/// Those of the kernel.
pub fn has_xdp_program(interface: u32) -> io::Result<bool> {
    let mut request = [0; LINK_MESSAGE];
    request[LINK_INTERFACE..LINK_INTERFACE + 4].copy_from_slice(&interface.to_ne_bytes());
    let mut has_program = false;
    Netlink::open(NETLINK_ROUTE)?.ask(RTM_GETLINK, Extent::One, &request, |message| {
        let xdp = attribute(message.get(LINK_MESSAGE..).unwrap_or_default(), IFLA_XDP);
        has_program |= attribute(xdp, IFLA_XDP_ATTACHED).first().is_some_and(|mode| *mode != 0);
    })?;
    Ok(has_program)
}

/// The Ethernet address of a neighbour, where the host knows it.
///
/// # Errors
/// Those of the kernel.
pub fn neighbour(interface: u32, ip: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let mut request = [0; NEIGHBOUR_MESSAGE];
    request[0] = family(ip);
    let mut found = None;
    Netlink::open(NETLINK_ROUTE)?.ask(RTM_GETNEIGH, Extent::All, &request, |message| {
        found = found.or_else(|| neighbour_in(message, interface, ip));
    })?;
    Ok(found)
}

/// `struct ndmsg` with its attributes, where it is about this neighbour and its address is known.
fn neighbour_in(message: &[u8], interface: u32, ip: IpAddr) -> Option<[u8; 6]> {
    let state = message.get(NEIGHBOUR_STATE..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))?;
    let is_known = !matches!(state, NUD_INCOMPLETE | NUD_FAILED);
    let all = message.get(NEIGHBOUR_MESSAGE..)?;
    let is_wanted = u32_at(message, NEIGHBOUR_INTERFACE) == Some(interface)
        && address(attribute(all, NDA_DST)) == Some(ip);
    attribute(all, NDA_LLADDR).first_chunk().copied().filter(|_| is_known && is_wanted)
}

/// The same, after a UDP packet to its discard port made the kernel resolve the address. `None` where there is no
/// reply within two seconds.
///
/// # Errors
/// Those of the kernel.
pub fn find_neighbour(interface: u32, ip: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let end = Instant::now() + NEIGHBOUR_PATIENCE;
    let mut next_try = Instant::now();
    loop {
        if let Some(mac) = neighbour(interface, ip)? {
            return Ok(Some(mac));
        }
        let now = Instant::now();
        if now >= end {
            return Ok(None);
        }
        if now >= next_try {
            trigger_lookup(interface, ip)?;
            next_try = now + NEIGHBOUR_RETRY;
        }
        std::thread::sleep(NEIGHBOUR_LOOK);
    }
}

fn trigger_lookup(interface: u32, ip: IpAddr) -> io::Result<()> {
    let (any, target): (&str, SocketAddr) = match ip {
        IpAddr::V4(v4) => ("0.0.0.0:0", (v4, DISCARD).into()),
        IpAddr::V6(v6) => ("[::]:0", SocketAddrV6::new(v6, DISCARD, 0, interface).into()),
    };
    match UdpSocket::bind(any)?.send_to(&[], target) {
        // "No route to host" reports the failure of the last attempt; the next may succeed.
        Ok(_) => Ok(()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EHOSTUNREACH)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_no_route(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EINVAL))
}

fn family(ip: IpAddr) -> u8 {
    (if ip.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// An address by its octets.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|octets| Ipv4Addr::from(octets).into());
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(|octets| Ipv6Addr::from(octets).into())).ok()
}

// Requests of <linux/rtnetlink.h>.
const RTM_GETLINK: u16 = 18;
const RTM_GETADDR: u16 = 22;
const RTM_GETROUTE: u16 = 26;
const RTM_GETNEIGH: u16 = 30;

// `struct rtmsg`, its attributes, and the type of the routes to this host.
const ROUTE_MESSAGE: usize = 12;
const ROUTE_TYPE: usize = 7;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_VIA: u16 = 18;
const RTN_LOCAL: u8 = 2;

// `struct ifaddrmsg`.
const ADDRESS_MESSAGE: usize = 8;
const ADDRESS_INTERFACE: usize = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

// `struct ifinfomsg`.
const LINK_MESSAGE: usize = 16;
const LINK_INTERFACE: usize = 4;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;

// `struct ndmsg`.
const NEIGHBOUR_MESSAGE: usize = 12;
const NEIGHBOUR_INTERFACE: usize = 4;
const NEIGHBOUR_STATE: usize = 8;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NUD_INCOMPLETE: u16 = 0x01;
const NUD_FAILED: u16 = 0x20;

/// How long a neighbour may take to reply; the kernel itself gives up after three seconds.
const NEIGHBOUR_PATIENCE: Duration = Duration::from_secs(2);

/// When the kernel is made to resolve the address once more.
const NEIGHBOUR_RETRY: Duration = Duration::from_millis(250);

/// How often the table is read.
const NEIGHBOUR_LOOK: Duration = Duration::from_millis(2);

/// A port on which no reply is expected.
const DISCARD: u16 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_this_host_is_local_and_its_loopback_owns_its_address() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let route = route_to(loopback, None).unwrap().unwrap();
        assert!(route.is_local && route.next_hop == loopback && route.source == Some(loopback), "{route:?}");
        assert!(addresses_of(route.interface).unwrap().contains(&loopback));
        assert!(!has_xdp_program(route.interface).unwrap());
        assert_eq!(neighbour(route.interface, [127, 0, 0, 99].into()).unwrap(), None);
    }

    #[test]
    fn a_route_over_an_interface_that_does_not_exist_is_none() {
        assert_eq!(route_to([192, 0, 2, 1].into(), Some(u32::MAX >> 1)).ok().flatten(), None);
    }

    #[test]
    fn a_route_by_a_gateway_of_the_other_family_has_its_address() {
        let gateway: Ipv6Addr = "fe80::1".parse().unwrap();
        let via = [&10_u16.to_ne_bytes()[..], &gateway.octets()].concat();
        let mut message = [0; ROUTE_MESSAGE].to_vec();
        message.extend(encoded(RTA_OIF, &7_u32.to_ne_bytes()));
        message.extend(encoded(RTA_VIA, &via));
        let route = route_in(&message, [192, 0, 2, 1].into()).unwrap();
        assert_eq!((route.interface, route.next_hop, route.is_local), (7, gateway.into(), false));
        assert_eq!(route_in(&message[..ROUTE_MESSAGE], [192, 0, 2, 1].into()), None);
    }
}

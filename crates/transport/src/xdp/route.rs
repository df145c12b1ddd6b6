//! The route to the server, from the host's own tables (netlink).
//!
//! Messages are made and read by `netlink-packet-route` over a plain blocking socket: a handful of
//! requests before a run needs no asynchronous runtime.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkMessage, LinkXdp, XdpAttached};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr as NetlinkAddress};

/// Which interface and next hop packets to a server are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The index of the interface.
    pub(super) interface: u32,
    /// The address that the host would send from.
    pub(super) source: Option<IpAddr>,
    /// The gateway, or the server itself.
    pub(super) next_hop: IpAddr,
    /// Whether the server is this host.
    pub(super) is_local: bool,
}

/// The route to `server`, over `interface` where that is given; `None` where no route leads there.
pub(super) fn to(server: IpAddr, interface: Option<u32>) -> io::Result<Option<Route>> {
    let mut request = RouteMessage::default();
    request.header.address_family = family(server);
    request.header.destination_prefix_length = if server.is_ipv4() { 32 } else { 128 };
    request.header.flags = RouteFlags::empty();
    request.attributes.push(RouteAttribute::Destination(RouteAddress::from(server)));
    request.attributes.extend(interface.map(RouteAttribute::Oif));
    let mut route = None;
    let result = ask(RouteNetlinkMessage::GetRoute(request), 0, |reply| {
        if let RouteNetlinkMessage::NewRoute(message) = reply {
            route = read_route(&message, server);
        }
    });
    match result {
        Err(error) if is_no_route(&error) => Ok(None),
        result => result.map(|()| route),
    }
}

fn read_route(message: &RouteMessage, server: IpAddr) -> Option<Route> {
    let is_local = message.header.kind == RouteType::Local;
    let mut route = Route { interface: 0, source: None, next_hop: server, is_local };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(index) => route.interface = *index,
            RouteAttribute::PrefSource(address) => route.source = ip_of(address),
            RouteAttribute::Gateway(address) => route.next_hop = ip_of(address)?,
            // An IPv4 route by an IPv6 gateway.
            RouteAttribute::Via(RouteVia::Inet6(address)) => route.next_hop = (*address).into(),
            RouteAttribute::Via(RouteVia::Inet(address)) => route.next_hop = (*address).into(),
            _ => {}
        }
    }
    (route.interface != 0).then_some(route)
}

/// The addresses that an interface owns.
pub(super) fn addresses(interface: u32) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    ask(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP, |reply| {
        let RouteNetlinkMessage::NewAddress(address) = reply else { return };
        if address.header.index != interface {
            return;
        }
        for attribute in &address.attributes {
            // Of a point-to-point link, "address" is the other end; "local" is always ours.
            if let AddressAttribute::Local(ip) | AddressAttribute::Address(ip) = attribute {
                addresses.push(*ip);
            }
        }
    })?;
    Ok(addresses)
}

/// Whether an XDP program is attached to an interface.
pub(super) fn has_program(interface: u32) -> io::Result<bool> {
    let mut request = LinkMessage::default();
    request.header.index = interface;
    let mut has_program = false;
    ask(RouteNetlinkMessage::GetLink(request), 0, |reply| {
        let RouteNetlinkMessage::NewLink(link) = reply else { return };
        let facts = link.attributes.iter().filter_map(|attribute| match attribute {
            LinkAttribute::Xdp(facts) => Some(facts),
            _ => None,
        });
        has_program |= facts
            .flatten()
            .any(|fact| matches!(fact, LinkXdp::Attached(attached) if *attached != XdpAttached::None));
    })?;
    Ok(has_program)
}

/// The Ethernet address of a neighbour, where the host knows it.
pub(super) fn neighbour(interface: u32, ip: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let mut request = NeighbourMessage::default();
    request.header.family = family(ip);
    let mut found = None;
    ask(RouteNetlinkMessage::GetNeighbour(request), NLM_F_DUMP, |reply| {
        let RouteNetlinkMessage::NewNeighbour(entry) = reply else { return };
        let is_known = !matches!(entry.header.state, NeighbourState::Incomplete | NeighbourState::Failed);
        if entry.header.ifindex != interface || !is_known {
            return;
        }
        let mut is_wanted = false;
        let mut mac = None;
        for attribute in &entry.attributes {
            match attribute {
                NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => is_wanted = ip == *v4,
                NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => is_wanted = ip == *v6,
                NeighbourAttribute::LinkLayerAddress(bytes) => mac = bytes.first_chunk::<6>().copied(),
                _ => {}
            }
        }
        if is_wanted {
            found = mac;
        }
    })?;
    Ok(found)
}

/// The same, after a UDP packet to its discard port made the kernel resolve the address. `None` where
/// there is no reply within two seconds.
pub(super) fn find_neighbour(interface: u32, ip: IpAddr) -> io::Result<Option<[u8; 6]>> {
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

/// Sends a request to the kernel, and passes each part of the reply to `each`.
fn ask(
    request: RouteNetlinkMessage,
    flags: u16,
    mut each: impl FnMut(RouteNetlinkMessage),
) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&NetlinkAddress::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    loop {
        let (bytes, _) = socket.recv_from_full()?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            // Messages are padded to four bytes, except perhaps the last one.
            let length = (message.header.length as usize).next_multiple_of(4).clamp(4, rest.len());
            rest = &rest[length..];
            match message.payload {
                NetlinkPayload::InnerMessage(reply) => each(reply),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::Done(_) => return Ok(()),
                _ => {}
            }
        }
        if flags & NLM_F_DUMP == 0 {
            return Ok(());
        }
    }
}

fn is_no_route(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EINVAL))
}

fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn ip_of(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some((*ip).into()),
        RouteAddress::Inet6(ip) => Some((*ip).into()),
        _ => None,
    }
}

/// How long a neighbour may take to reply; the kernel itself gives up after three seconds.
const NEIGHBOUR_PATIENCE: Duration = Duration::from_secs(2);

/// When the kernel is made to resolve the address once more.
const NEIGHBOUR_RETRY: Duration = Duration::from_millis(250);

/// How often the table is read.
const NEIGHBOUR_LOOK: Duration = Duration::from_millis(2);

/// A port on which no reply is expected.
const DISCARD: u16 = 9;

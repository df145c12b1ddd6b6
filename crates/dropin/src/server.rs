//! Addresses of the command lines of dnsperf and resperf.

use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs, UdpSocket};

use crate::options::Refusal;

/// Which addresses of a server are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Any,
    V4,
    V6,
}

impl Family {
    /// Reads `-f`.
    pub(crate) fn read(text: &str) -> Result<Family, Refusal> {
        match text {
            "any" => Ok(Family::Any),
            "inet" => Ok(Family::V4),
            "inet6" => Ok(Family::V6),
            _ => Err(Refusal::Usage(format!("invalid family {text}"))),
        }
    }

    fn has(self, address: IpAddr) -> bool {
        match self {
            Family::Any => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        }
    }
}

/// The first address of a server, given by name or address, that is of this family.
pub(crate) fn server(family: Family, name: &str, port: u16) -> Result<SocketAddr, Refusal> {
    let found = (name, port).to_socket_addrs().ok();
    found
        .and_then(|mut found| found.find(|address| family.has(address.ip())))
        .ok_or_else(|| Refusal::Usage(format!("invalid server address {name}")))
}

/// The local address of `-a`, an address and not a name. The zone of a link-local one is that of the server.
pub(crate) fn local(text: Option<&str>) -> Result<Option<IpAddr>, Refusal> {
    let wrong = |text: &str| Refusal::Usage(format!("invalid local address {text}"));
    let address = |text: &str| text.split('%').next().and_then(|address| address.parse().ok());
    text.map(|text| address(text).ok_or_else(|| wrong(text))).transpose()
}

/// The address as an option of ours: with the number of the interface where it is link-local.
pub(crate) fn with_zone(server: SocketAddr) -> String {
    match server {
        SocketAddr::V6(address) if address.scope_id() != 0 => {
            format!("{}%{}", address.ip(), address.scope_id())
        }
        _ => server.ip().to_string(),
    }
}

/// `127.0.0.1:53` or `[::1]:53`, as the status lines show it.
pub(crate) fn shown(server: SocketAddr) -> String {
    SocketAddr::new(server.ip(), server.port()).to_string()
}

/// Finds out whether the local addresses of `clients` sockets can be used, before anything is sent; `port` is that of
/// the first one, 0 = any.
pub(crate) fn check_local(
    server: SocketAddr,
    local: Option<IpAddr>,
    port: u16,
    clients: u32,
    is_udp: bool,
) -> Result<(), Refusal> {
    if local.is_some_and(|local| local.is_ipv4() != server.is_ipv4()) {
        return Err(Refusal::Fatal("server and local addresses have different families".into()));
    }
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let address = local.unwrap_or(any);
    let sockets = if port == 0 { 1 } else { clients };
    for offset in 0..sockets {
        let wanted = u32::from(port) + offset;
        if offset > 0 && wanted >= u32::from(u16::MAX) {
            return Err(Refusal::Fatal(format!("port {wanted} out of range")));
        }
        let mut at = SocketAddr::new(address, wanted as u16);
        if let (SocketAddr::V6(at), SocketAddr::V6(server)) = (&mut at, server)
            && at.ip().is_unicast_link_local()
        {
            at.set_scope_id(server.scope_id());
        }
        let bound = if is_udp { UdpSocket::bind(at).map(drop) } else { TcpListener::bind(at).map(drop) };
        bound.map_err(|error| Refusal::Fatal(format!("bind: {}", system_text(&error))))?;
    }
    Ok(())
}

/// The text of the system for an error, as strerror(3) gives it.
pub(crate) fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_the_first_address_of_its_family() {
        let of = |family, name| server(family, name, 53).map(shown);
        assert_eq!(of(Family::Any, "127.0.0.1"), Ok("127.0.0.1:53".into()));
        assert_eq!(of(Family::V6, "::1"), Ok("[::1]:53".into()));
        let wrong = |name: &str| Err(Refusal::Usage(format!("invalid server address {name}")));
        assert_eq!(of(Family::V6, "127.0.0.1"), wrong("127.0.0.1"));
        assert_eq!(of(Family::Any, "127.0.0.1:53"), wrong("127.0.0.1:53"));
    }

    #[test]
    fn local_addresses_and_ports_are_checked_before_the_load() {
        let loopback: SocketAddr = "127.0.0.1:53".parse().unwrap();
        let check = |local: &str, port, clients| {
            check_local(loopback, Some(local.parse().unwrap()), port, clients, true)
        };
        let fatal = |text: &str| Err(Refusal::Fatal(text.into()));
        assert_eq!(check("127.0.0.1", 0, 5), Ok(()));
        assert_eq!(check("::1", 0, 1), fatal("server and local addresses have different families"));
        assert_eq!(check("192.0.2.1", 0, 1), fatal("bind: Cannot assign requested address"));
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(check("127.0.0.1", port, 1), fatal("bind: Address already in use"));
    }
}

//! Addresses of datagrams, and socket addresses as the kernel lays them out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// The addresses of a datagram at a socket that is not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Addresses {
    /// The other host: who sent what was received, who gets what is sent.
    pub peer: SocketAddr,
    /// The address of this host: which one a received datagram was sent to, which one a sent datagram comes from.
    /// `None` where the socket does not say it
    /// ([`report_local_addresses`](crate::socket::report_local_addresses)): then the kernel chooses.
    pub local: Option<IpAddr>,
}

impl From<SocketAddr> for Addresses {
    fn from(peer: SocketAddr) -> Self {
        Addresses { peer, local: None }
    }
}

/// A socket address as the kernel lays it out, IPv4 or IPv6.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union RawAddress {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl RawAddress {
    pub(super) fn set(&mut self, address: SocketAddr) -> (*mut libc::c_void, libc::socklen_t) {
        let length = match address {
            SocketAddr::V4(v4) => {
                self.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                self.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                size_of::<libc::sockaddr_in6>()
            }
        };
        (std::ptr::from_mut(self).cast(), length as libc::socklen_t)
    }

    pub(super) fn get(&self) -> Option<SocketAddr> {
        // SAFETY: the union is always initialised (zeroed, or written by the kernel or `set`),
        // all its members are plain integers, and the family says which one was written.
        unsafe {
            match i32::from(self.family) {
                libc::AF_INET => {
                    let ip = Ipv4Addr::from(self.v4.sin_addr.s_addr.to_ne_bytes());
                    Some(SocketAddrV4::new(ip, u16::from_be(self.v4.sin_port)).into())
                }
                libc::AF_INET6 => {
                    let ip = Ipv6Addr::from(self.v6.sin6_addr.s6_addr);
                    let port = u16::from_be(self.v6.sin6_port);
                    Some(SocketAddrV6::new(ip, port, self.v6.sin6_flowinfo, self.v6.sin6_scope_id).into())
                }
                _ => None,
            }
        }
    }
}

impl Default for RawAddress {
    fn default() -> Self {
        // SAFETY: all-zero is a valid value of every member; family 0 is AF_UNSPEC.
        unsafe { std::mem::zeroed() }
    }
}

//! Free ports for servers: one number free for UDP and TCP alike, and not given to a second server meanwhile.
//!
//! Two things make "bind port 0 and see" too weak here. A port from the ephemeral range may be taken by any client
//! socket between our look and the server's start, or while the server restarts; and a TCP client that reconnects
//! to such a port without a listener can even connect to itself. So the number comes from below that range. And
//! servers that set `SO_REUSEPORT` would silently share a port, so each number is also locked, across processes,
//! with an abstract Unix socket of its name: the kernel frees it when its holder dies, and no file stays.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};

use crate::LabError;
use crate::process::while_nothing_forks;

/// A port number that is ours while this value lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _lock: UnixDatagram,
}

impl Port {
    /// Finds a port of `address` that is free for UDP and TCP now.
    pub(crate) fn free(address: IpAddr) -> Result<Self, LabError> {
        let last = last_port();
        let span = u64::from(last - FIRST_PORT) + 1;
        let start = RandomState::new().build_hasher().finish() % span;
        for step in 0..u64::from(TRIES) {
            let number = FIRST_PORT + ((start + step) % span) as u16;
            let Ok(lock) = lock(number) else { continue };
            match while_nothing_forks(|| can_bind(address, number)) {
                Ok(()) => return Ok(Self { number, _lock: lock }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(source) => return Err(LabError::Address { address, source }),
            }
        }
        Err(LabError::NoFreePort { address, tried: TRIES })
    }

    /// The port number.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

fn lock(number: u16) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&UnixAddress::from_abstract_name(format!("dnsdyno-lab-port-{number}"))?)
}

fn can_bind(address: IpAddr, number: u16) -> io::Result<()> {
    let _udp = UdpSocket::bind((address, number))?;
    let _tcp = TcpListener::bind((address, number))?;
    Ok(())
}

/// The last port below the kernel's ephemeral range; the highest port where that range starts too low.
fn last_port() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first_ephemeral = range.split_whitespace().next().and_then(|first| first.parse::<u16>().ok());
    match first_ephemeral.unwrap_or(32_768) {
        first if first >= FIRST_PORT + ROOM => first - 1,
        _ => u16::MAX,
    }
}

/// Above the ports that services commonly have.
const FIRST_PORT: u16 = 10_240;

/// How many ports must lie below the ephemeral range for it to be worth avoiding.
const ROOM: u16 = 1_000;

/// So many taken ports in a row mean that something is wrong with the host, not with our luck.
const TRIES: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn ports_held_at_the_same_time_differ_and_can_be_bound() {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let ports: Vec<Port> = (0..50).map(|_| Port::free(address).expect("a free port")).collect();
        let mut numbers: Vec<u16> = ports.iter().map(Port::number).collect();
        for number in &numbers {
            while_nothing_forks(|| can_bind(address, *number)).expect("still free");
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 50);
    }

    #[test]
    fn a_port_held_here_is_locked_for_everyone_and_free_again_after() {
        let port = Port::free(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("a free port");
        let number = port.number();
        assert!(lock(number).is_err());
        while_nothing_forks(|| {
            drop(port);
            assert!(lock(number).is_ok());
        });
    }

    #[test]
    fn an_address_that_this_host_lacks_is_named() {
        let absent = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
        let error = Port::free(absent).expect_err("a documentation address");
        assert!(matches!(error, LabError::Address { address, .. } if address == absent), "{error}");
    }
}

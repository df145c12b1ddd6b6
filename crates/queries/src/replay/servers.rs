//! The servers of a capture whose queries are replayed.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A server of a capture: an address, or an address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedServer {
    /// Its address.
    pub address: IpAddr,
    /// Its port; `None` = any that carries DNS.
    pub port: Option<u16>,
}

impl CapturedServer {
    /// Reads `ADDRESS`, `ADDRESS:PORT` or `[IPV6]:PORT`.
    pub fn parse(text: &str) -> Option<CapturedServer> {
        if let Ok(address) = text.parse() {
            return Some(CapturedServer { address, port: None });
        }
        let server: SocketAddr = text.parse().ok()?;
        Some(CapturedServer { address: server.ip(), port: Some(server.port()) })
    }

    /// Whether this is the server.
    pub fn is(&self, server: SocketAddr) -> bool {
        self.address == server.ip() && self.port.is_none_or(|port| port == server.port())
    }
}

impl fmt::Display for CapturedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.address, port).fmt(f),
            None => self.address.fmt(f),
        }
    }
}

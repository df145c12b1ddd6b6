//! Addresses on the command line.

use std::net::{SocketAddr, ToSocketAddrs};

/// An address and port; that of a link-local address has its interface by name or number: `[fe80::1%eth0]:53`.
pub(crate) fn address_and_port(text: &str) -> Result<SocketAddr, String> {
    let wrong = || "write an address and a port, like 192.0.2.53:53 or [fe80::1%eth0]:53".to_owned();
    match text.parse() {
        Ok(address) => Ok(address),
        // Only the system knows the names of interfaces.
        Err(_) if text.contains('%') => {
            let within = text.strip_prefix('[').and_then(|text| text.rsplit_once("]:"));
            let (address, port) = within.ok_or_else(wrong)?;
            let found = (address, port.parse().map_err(|_| wrong())?).to_socket_addrs();
            found.ok().and_then(|mut found| found.next()).ok_or_else(wrong)
        }
        Err(_) => Err(wrong()),
    }
}

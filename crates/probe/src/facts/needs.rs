//! What a run asks of its host.

use std::net::IpAddr;

/// What a run would need.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The interface to the server, where one is known.
    pub interface: Option<String>,
    /// The server is asked over IPv6.
    pub ipv6: bool,
    /// The receive buffer that a run asks for, for each socket.
    pub receive_buffer_bytes: u64,
    /// The send buffer that it asks for, for each socket of UDP; a connection should be able to get as much.
    pub send_buffer_bytes: u64,
    /// The networks of its source addresses, each by its lowest address and its length.
    pub sources: Vec<(IpAddr, u8)>,
}

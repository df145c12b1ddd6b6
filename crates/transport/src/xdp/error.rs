//! Why AF_XDP cannot be used, each with what to do about it.

use std::io;
use std::net::{IpAddr, SocketAddr};

use dnsdyno_sys::xdp::XdpError;

/// Why the server cannot be reached over AF_XDP.
#[derive(Debug, thiserror::Error)]
pub enum XdpOpenError {
    /// The kernel or the driver does not support it.
    #[error(transparent)]
    Xdp(#[from] XdpError),
    /// No route leads to the server.
    #[error("no route to {server}: is the interface up? See `ip route get {server}`")]
    NoRoute {
        /// The server.
        server: IpAddr,
    },
    /// The server is on this host.
    #[error(
        "{server} is on this host, and packets to this host are sent over no interface: use --backend sockets"
    )]
    OnThisHost {
        /// The server.
        server: IpAddr,
    },
    /// The interface has no Ethernet addresses.
    #[error("{interface} is not an Ethernet interface, which AF_XDP needs: use --backend sockets")]
    NotEthernet {
        /// The interface.
        interface: String,
    },
    /// The next hop does not reply to address resolution.
    #[error(
        "no neighbour: no host on {interface} replies for {next_hop}; is it up? See `ip neighbour`, or \
         give its Ethernet address with --next-hop"
    )]
    NoNeighbour {
        /// The interface.
        interface: String,
        /// The gateway, or the server.
        next_hop: IpAddr,
    },
    /// The source address does not belong to the interface.
    #[error(
        "cannot send from {address}: it is not an address of {interface}, so responses would not arrive; see \
         `ip address show {interface}`, or name a prefix that is routed to it with --source-prefix"
    )]
    NotOurAddress {
        /// The address asked for.
        address: IpAddr,
        /// The interface.
        interface: String,
    },
    /// The source address and the server's are of different families.
    #[error("cannot send from {source_address} to {server}: one is IPv4 and the other IPv6")]
    TwoFamilies {
        /// The address asked for.
        source_address: IpAddr,
        /// The server.
        server: IpAddr,
    },
    /// The longest query does not fit in a packet.
    #[error(
        "the longest query needs packets of {needed} bytes, and the MTU of {interface} is {mtu}: use shorter \
         queries, or raise it with `ip link set {interface} mtu {needed}`"
    )]
    MtuTooSmall {
        /// The interface.
        interface: String,
        /// What it takes, in bytes of IP packet.
        mtu: usize,
        /// What is needed.
        needed: usize,
    },
    /// There are more channels than pairs of address and port.
    #[error(
        "{asked} clients need as many pairs of source address and port, and there are {most}: widen \
         --local-ports, add --source-prefix, or use fewer --clients"
    )]
    TooManyChannels {
        /// Channels of all workers.
        asked: usize,
        /// What address and ports give.
        most: usize,
    },
    /// Another program of this host has one of our ports.
    #[error(
        "cannot reserve {ours} ({reason}): its responses would be taken from the program that uses it; choose \
         other ports with --local-ports, or omit the option"
    )]
    PortTaken {
        /// The address and port.
        ours: SocketAddr,
        /// What the kernel reported.
        reason: io::Error,
    },
    /// There are more workers than queues.
    #[error(
        "{workers} workers cannot share the {queues} queue(s) of {interface}: use --workers {queues}, or give it \
         more queues with `ethtool -L {interface}`"
    )]
    TooManyWorkers {
        /// The workers.
        workers: usize,
        /// The queues.
        queues: u32,
        /// The interface.
        interface: String,
    },
    /// The host's tables cannot be read.
    #[error("cannot read {what} of this host: {reason}")]
    Tables {
        /// Which table.
        what: &'static str,
        /// What the kernel reported.
        reason: io::Error,
    },
}

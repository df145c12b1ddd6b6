//! What the workers of an AF_XDP run share: the attached program, the ports, and what was found.

use std::net::IpAddr;

use dnsdyno_sys::xdp::{Attached, Redirect};

use super::ports;

/// The opened interface. It is returned to the host when the last worker drops it.
pub(super) struct Line {
    pub(super) facts: XdpFacts,
    pub(super) redirect: Redirect,
    /// Keeps our ports from other programs of this host.
    pub(super) _ports: ports::Held,
}

/// What was found and chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpFacts {
    /// The interface.
    pub interface: String,
    /// Its queues, of which each has a socket.
    pub queues: u32,
    /// Where the program runs.
    pub attached: Attached,
    /// Whether packets pass without a copy, on every queue.
    pub zero_copy: bool,
    /// Whether long batches are injected into the driver, on every worker.
    pub injects: bool,
    /// The first address that we send from.
    pub source: IpAddr,
    /// Our ports, first and last, on each address.
    pub ports: (u16, u16),
    /// The Ethernet address that we send to.
    pub next_hop: [u8; 6],
    /// The 802.1Q tag of the queries.
    pub vlan: Option<u16>,
    /// The interface's MTU in bytes.
    pub mtu: usize,
}

//! What the driver of a network interface can do with XDP. Generic netlink, since Linux 6.3.

use std::io;

use super::generic::{self, COMMAND, command};
use super::{Extent, Netlink, attribute, encoded};

/// The drivers of the network namespace in which this was opened.
#[derive(Debug)]
pub struct Netdev {
    netlink: Netlink,
    family: u16,
}

impl Netdev {
    /// Opens it; needs no privilege. An error where the kernel does not have it.
    pub fn open() -> io::Result<Netdev> {
        let (netlink, family) = generic::open(b"netdev\0")?;
        Ok(Netdev { netlink, family })
    }

    /// Whether the interface sends frames that a program has made or redirected. On a pair of virtual interfaces that
    /// needs an XDP program, or GRO, at the other end: without, such frames are dropped and not counted.
    pub fn sends_frames(&mut self, interface: u32) -> io::Result<bool> {
        let request = [command(GET_DEVICE), encoded(INDEX, &interface.to_ne_bytes())].concat();
        let mut features = 0;
        self.netlink.ask(self.family, Extent::One, &request, |message| {
            let value = attribute(message.get(COMMAND..).unwrap_or_default(), XDP_FEATURES);
            features = value.first_chunk().map_or(0, |value| u64::from_ne_bytes(*value));
        })?;
        Ok(features & NDO_XMIT != 0)
    }
}

/// Of `linux/netdev.h`.
const GET_DEVICE: u8 = 1;
const INDEX: u16 = 1;
const XDP_FEATURES: u16 = 3;
const NDO_XMIT: u64 = 4;

//! Generic netlink: subsystems of the kernel that are found by name.

use std::io;

use netlink_sys::protocols::NETLINK_GENERIC;

use super::{Extent, Netlink, attribute, encoded};

/// A socket to the subsystem with this name (ends with a 0), and its number as kind of message. An error where the
/// kernel does not have it.
pub(super) fn open(name: &[u8]) -> io::Result<(Netlink, u16)> {
    let mut netlink = Netlink::open(NETLINK_GENERIC)?;
    let mut family = None;
    let request = [command(GET_FAMILY), encoded(FAMILY_NAME, name)].concat();
    netlink.ask(GENERIC_CONTROL, Extent::One, &request, |message| {
        let number = message.get(COMMAND..).map(|attributes| attribute(attributes, FAMILY_ID));
        family = family.or(number.and_then(<[u8]>::first_chunk).map(|id| u16::from_ne_bytes(*id)));
    })?;
    Ok((netlink, family.ok_or(io::ErrorKind::Unsupported)?))
}

/// `struct genlmsghdr`.
pub(super) fn command(number: u8) -> Vec<u8> {
    vec![number, 1, 0, 0]
}

/// Octets of it.
pub(super) const COMMAND: usize = 4;

/// The family of the families (`linux/genetlink.h`).
const GENERIC_CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

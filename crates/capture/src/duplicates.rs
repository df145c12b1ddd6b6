//! Packets that were captured twice on their way: at two interfaces of a host (`tcpdump -i any`, a bridge, a router),
//! in a tunnel and out of it, or at two ports that are mirrored. Each is one message.
//!
//! It is the same packet if addresses, the identification of IP, ports, and what it carries are the same within a few
//! milliseconds, at another place. What a client sends again has another identification, comes later, or is captured at
//! the same place: that is never taken for the same packet.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use crate::frame::Frame;
use crate::hash::{KeyHasher, mixed, with, with_address};
use crate::link::{Content, Packet, has_no_interface};

/// The packets of the last milliseconds.
#[derive(Default)]
pub(crate) struct Duplicates {
    seen: HashMap<u64, Sighting, BuildHasherDefault<KeyHasher>>,
    /// In the order of the capture.
    order: VecDeque<(u64, u64)>,
}

/// When and where a packet was captured.
#[derive(Clone, Copy)]
struct Sighting {
    at_unix_ns: u64,
    place: u64,
}

impl Duplicates {
    /// Whether the packet in a frame was captured before.
    pub(crate) fn has(&mut self, frame: &Frame, octets: &[u8], packet: &Packet<'_>) -> bool {
        let Some(at_unix_ns) = frame.at_unix_ns else { return false };
        self.forget_until(at_unix_ns);
        let key = key(packet);
        let place = place(frame, octets, packet);
        if let Some(seen) = self.seen.get(&key)
            && seen.at_unix_ns.abs_diff(at_unix_ns) <= LONGEST_WAY_NS
        {
            // Of all interfaces at once, of which it is not said which one: the identification tells it.
            let is_unsaid =
                has_no_interface(frame.link) && packet.identification.is_some_and(|number| number > 0);
            if seen.place != place || is_unsaid {
                return true;
            }
        }
        self.seen.insert(key, Sighting { at_unix_ns, place });
        self.order.push_back((at_unix_ns, key));
        false
    }

    fn forget_until(&mut self, now_unix_ns: u64) {
        while let Some((at_unix_ns, key)) = self.order.front().copied() {
            if at_unix_ns.abs_diff(now_unix_ns) <= LONGEST_WAY_NS && self.order.len() < MAX_SEEN {
                return;
            }
            self.order.pop_front();
            if self.seen.get(&key).is_some_and(|seen| seen.at_unix_ns == at_unix_ns) {
                self.seen.remove(&key);
            }
        }
    }
}

/// What stays the same on the way of a packet: neither the hop limit, nor the checksums, which a network card may fill
/// in later.
fn key(packet: &Packet<'_>) -> u64 {
    let addresses = with_address(with_address(0, packet.source), packet.destination);
    let head = with(addresses, &packet.identification.map_or([0; 3], |n| [1, (n >> 8) as u8, n as u8]));
    let without_checksum = |transport: &[u8], at: usize| {
        let (before, behind) = transport.split_at(at.min(transport.len()));
        with(with(head, before), behind.get(2..).unwrap_or_default())
    };
    mixed(match &packet.content {
        Content::Udp(udp) => without_checksum(udp.slice(), UDP_CHECKSUM_AT),
        Content::Tcp(tcp) => without_checksum(tcp.slice(), TCP_CHECKSUM_AT),
        Content::Fragment(fragment) => {
            let place = with(head, &fragment.offset.value().to_be_bytes());
            with(with(place, &fragment.identification.to_be_bytes()), fragment.payload)
        }
    })
}

/// Where a packet was captured: the interface, the header of its link, and in how many tunnels it was.
fn place(frame: &Frame, octets: &[u8], packet: &Packet<'_>) -> u64 {
    let link_header = octets.get(..packet.link_header_len).unwrap_or_default();
    let interface = with(packet.tunnels as u64, &frame.interface.to_be_bytes());
    mixed(with(interface, link_header))
}

/// From one interface of a host or switch to the next, also where it is busy. Clients wait longer before asking again.
const LONGEST_WAY_NS: u64 = 20_000_000;

/// Packets that are remembered: 20 ms of 1.6 million a second.
const MAX_SEEN: usize = 1 << 15;

const UDP_CHECKSUM_AT: usize = 6;
const TCP_CHECKSUM_AT: usize = 16;

#[cfg(test)]
mod tests;

//! What `ethtool` shows of a network interface: rings, coalescing, offloads, speed. Generic netlink, since Linux 5.6.

use std::collections::BTreeSet;
use std::io;

use super::generic::{self, COMMAND, command};
use super::{Extent, Netlink, attribute, attributes, encoded, text, u32_at};

/// The drivers of the network namespace in which this was opened.
#[derive(Debug)]
pub struct Ethtool {
    netlink: Netlink,
    family: u16,
}

/// The settings of a network interface; `None` where its driver has no such thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicSettings {
    /// Mbit/s.
    pub speed_mbps: Option<u32>,
    /// Packets that the receive ring holds, and may hold.
    pub rx_ring: Option<u32>,
    /// See `rx_ring`.
    pub rx_ring_max: Option<u32>,
    /// Packets that the send ring holds, and may hold.
    pub tx_ring: Option<u32>,
    /// See `tx_ring`.
    pub tx_ring_max: Option<u32>,
    /// How long an interrupt waits for more packets to arrive.
    pub rx_usecs: Option<u32>,
    /// For how many packets.
    pub rx_frames: Option<u32>,
    /// How long an interrupt waits for more packets that were sent.
    pub tx_usecs: Option<u32>,
    /// Whether the driver chooses the time for packets that arrive.
    pub adaptive_rx: Option<bool>,
    /// See `adaptive_rx`, for those that were sent.
    pub adaptive_tx: Option<bool>,
    /// The offloads that are on, by the kernel's names (`rx-gro`, `tx-tcp-segmentation`); `None` where not read.
    pub features: Option<BTreeSet<String>>,
}

impl Ethtool {
    /// Opens it; needs no privilege. An error where the kernel does not have it.
    pub fn open() -> io::Result<Ethtool> {
        let (netlink, family) = generic::open(b"ethtool\0")?;
        Ok(Ethtool { netlink, family })
    }

    /// The settings of an interface, as far as its driver tells them.
    pub fn settings(&mut self, interface: u32) -> NicSettings {
        let mut settings = NicSettings::default();
        for (question, read) in QUESTIONS {
            let header = encoded(HEADER | NESTED, &encoded(HEADER_INDEX, &interface.to_ne_bytes()));
            let request = [command(question), header].concat();
            // Refused: the driver has no such thing.
            let _ = self.netlink.ask(self.family, Extent::One, &request, |message| {
                read(message.get(COMMAND..).unwrap_or_default(), &mut settings);
            });
        }
        settings
    }
}

/// What is asked, and what reads the reply.
type Question = (u8, fn(&[u8], &mut NicSettings));

const QUESTIONS: [Question; 4] = [
    (GET_LINK_MODES, |reply, settings| {
        settings.speed_mbps = number(reply, 5).filter(|speed| *speed > 0 && *speed != UNKNOWN_SPEED);
    }),
    (GET_FEATURES, |reply, settings| {
        settings.features = Some(names(attribute(reply, 4)).collect());
    }),
    (GET_RINGS, |reply, settings| {
        settings.rx_ring_max = number(reply, 2);
        settings.tx_ring_max = number(reply, 5);
        settings.rx_ring = number(reply, 6);
        settings.tx_ring = number(reply, 9);
    }),
    (GET_COALESCING, |reply, settings| {
        settings.rx_usecs = number(reply, 2);
        settings.rx_frames = number(reply, 3);
        settings.tx_usecs = number(reply, 6);
        settings.adaptive_rx = attribute(reply, 11).first().map(|on| *on != 0);
        settings.adaptive_tx = attribute(reply, 12).first().map(|on| *on != 0);
    }),
];

/// The names in a set of bits that holds those that are on.
fn names(bits: &[u8]) -> impl Iterator<Item = String> {
    let bits = attributes(attribute(bits, BITS)).map(|(_, bit)| text(attribute(bit, BIT_NAME)));
    bits.filter(|name| !name.is_empty())
}

fn number(reply: &[u8], kind: u16) -> Option<u32> {
    u32_at(attribute(reply, kind), 0)
}

/// Of `linux/ethtool_netlink.h`, as the numbers of attributes above.
const GET_LINK_MODES: u8 = 4;
const GET_FEATURES: u8 = 11;
const GET_RINGS: u8 = 15;
const GET_COALESCING: u8 = 19;
const HEADER: u16 = 1;
const HEADER_INDEX: u16 = 1;
const NESTED: u16 = 1 << 15;
const BITS: u16 = 3;
const BIT_NAME: u16 = 2;
const UNKNOWN_SPEED: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interface;

    #[test]
    fn the_offloads_of_the_loopback_are_read() {
        let lo = Interface::named("lo").unwrap();
        let mut ethtool = match Ethtool::open() {
            Ok(ethtool) => ethtool,
            Err(error) => return println!("skipped: this kernel has no ethtool over netlink: {error}"),
        };
        let settings = ethtool.settings(lo.index());
        let features = settings.features.unwrap();
        assert_eq!(features.contains("rx-gro"), lo.joins_arrivals().unwrap(), "{features:?}");
        // The loopback has neither rings nor a speed.
        assert_eq!((settings.rx_ring, settings.speed_mbps), (None, None));
        assert_eq!(ethtool.settings(u32::MAX >> 1), NicSettings::default());
    }

    #[test]
    fn replies_are_read_by_the_numbers_of_their_attributes() {
        let word = |kind, value: u32| encoded(kind, &value.to_ne_bytes());
        let mut settings = NicSettings::default();
        let bit = |name: &[u8]| encoded(1, &[word(1, 7), encoded(BIT_NAME, name)].concat());
        let features =
            encoded(4, &[encoded(1, &[]), encoded(BITS, &[bit(b"rx-gro\0"), bit(b"")].concat())].concat());
        for (at, reply) in [
            word(5, UNKNOWN_SPEED),
            features,
            [word(2, 4_096), word(5, 4_096), word(6, 512), word(9, 256)].concat(),
            [word(2, 50), word(3, 64), word(6, 8), encoded(11, &[1]), encoded(12, &[0])].concat(),
        ]
        .iter()
        .enumerate()
        {
            QUESTIONS[at].1(reply, &mut settings);
        }
        let expected = NicSettings {
            speed_mbps: None,
            rx_ring: Some(512),
            rx_ring_max: Some(4_096),
            tx_ring: Some(256),
            tx_ring_max: Some(4_096),
            rx_usecs: Some(50),
            rx_frames: Some(64),
            tx_usecs: Some(8),
            adaptive_rx: Some(true),
            adaptive_tx: Some(false),
            features: Some(["rx-gro".to_owned()].into()),
        };
        assert_eq!(settings, expected);
    }
}

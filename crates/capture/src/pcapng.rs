//! pcapng: sections, each with its byte order and its interfaces, and their packets.
//!
//! ```text
//!   section header | interface 0 | interface 1 | packet (0) | packet (1) | … | section header | interface 0 | …
//! ```

use dnsdyno_measure::CaptureCounts;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, InterfaceDescriptionBlock, Linktype, OptionCode, parse_block_be, parse_block_le};

use crate::error::Stop;
use crate::frame::{Frame, missing, parse_next};
use crate::input::Input;

/// A pcapng file, at some place in one of its sections.
#[derive(Default)]
pub(crate) struct Pcapng {
    is_big_endian: bool,
    interfaces: Vec<Interface>,
}

/// What is needed of an interface to read its packets.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Linktype,
    snap_len: u32,
    units_per_second: u64,
    offset_s: i64,
}

/// What a block is to the reader.
enum Found {
    Section {
        is_big_endian: bool,
    },
    Interface(Interface),
    Frame(Frame),
    UnknownInterface,
    /// A block that tells of packets and holds none.
    Other,
    /// A block of a type that is not known here: whether it holds packets is not known either.
    Unknown,
}

impl Pcapng {
    /// The next frame, and the length of its block in the input; `None` at the end.
    pub(crate) fn next(
        &mut self,
        input: &mut Input,
        counts: &mut CaptureCounts,
    ) -> Result<Option<(usize, Frame)>, Stop> {
        loop {
            let Some((len, found)) = parse_next(input, |data| self.parse(data))? else { return Ok(None) };
            match found {
                Found::Frame(frame) => return Ok(Some((len, frame))),
                Found::Section { is_big_endian } => {
                    *self = Pcapng { is_big_endian, interfaces: std::mem::take(&mut self.interfaces) };
                    self.interfaces.clear();
                }
                Found::Interface(_) if self.interfaces.len() == MAX_INTERFACES => {
                    return Err(Stop::Damaged("a section has more than 65,536 interfaces"));
                }
                Found::Interface(interface) => self.interfaces.push(interface),
                Found::UnknownInterface => {
                    return Err(Stop::Damaged(
                        "a packet names an interface that its section does not describe",
                    ));
                }
                Found::Unknown => counts.unknown_blocks += 1,
                Found::Other => {}
            }
            input.consume(len);
        }
    }

    fn parse<'a>(
        &self,
        data: &'a [u8],
    ) -> Result<(usize, Found), pcap_parser::nom::Err<pcap_parser::PcapError<&'a [u8]>>> {
        // The parsers would take what they need of a block that is not there as a whole.
        let head: &[u8; 8] = data.first_chunk().ok_or_else(|| missing(8 - data.len()))?;
        let is_section_header = head[..4] == SECTION_HEADER;
        let is_big_endian = if is_section_header {
            let magic: &[u8; 12] = data.first_chunk().ok_or_else(|| missing(12 - data.len()))?;
            magic[8..] == BIG_ENDIAN_MAGIC
        } else {
            self.is_big_endian
        };
        let len = [head[4], head[5], head[6], head[7]];
        let len = if is_big_endian { u32::from_be_bytes(len) } else { u32::from_le_bytes(len) } as usize;
        if data.len() < len {
            return Err(missing(len - data.len()));
        }
        let parse = if is_big_endian { parse_block_be } else { parse_block_le };
        let (rest, block) = parse(data)?;
        Ok((data.len() - rest.len(), self.found(&block, is_big_endian)))
    }

    fn found(&self, block: &Block<'_>, is_big_endian: bool) -> Found {
        match block {
            Block::SectionHeader(_) => Found::Section { is_big_endian },
            Block::InterfaceDescription(interface) => Found::Interface(described(interface, is_big_endian)),
            Block::EnhancedPacket(packet) => {
                let Some(interface) = self.interfaces.get(packet.if_id as usize) else {
                    return Found::UnknownInterface;
                };
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                Found::Frame(Frame {
                    at_unix_ns: Some(interface.unix_ns(units)),
                    link: interface.link,
                    interface: packet.if_id,
                    place: ENHANCED_HEADER..ENHANCED_HEADER + packet.packet_data().len(),
                    is_cut: packet.origlen > packet.caplen,
                })
            }
            Block::SimplePacket(packet) => {
                // It has no number: it is of the first interface, whose snapshot length is what was captured of it.
                let Some(interface) = self.interfaces.first() else { return Found::UnknownInterface };
                let snap_len = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
                let captured = packet.origlen.min(snap_len) as usize;
                Found::Frame(Frame {
                    at_unix_ns: None,
                    link: interface.link,
                    interface: 0,
                    place: SIMPLE_HEADER..SIMPLE_HEADER + captured.min(packet.data.len()),
                    is_cut: packet.origlen as usize > captured.min(packet.data.len()),
                })
            }
            Block::Unknown(block)
                if [OBSOLETE_PACKET, OBSOLETE_PACKET.swap_bytes()].contains(&block.block_type) =>
            {
                self.obsolete_packet(block.data, is_big_endian)
            }
            Block::Unknown(_) | Block::Custom(_) => Found::Unknown,
            _ => Found::Other,
        }
    }

    /// A packet as older programs wrote it: interface 2, drops 2, instant 8, captured length 4, length 4, octets.
    fn obsolete_packet(&self, body: &[u8], is_big_endian: bool) -> Found {
        let half = |at: usize| {
            let octets = body.get(at..).and_then(|rest| rest.first_chunk::<2>());
            octets.map(|octets| match is_big_endian {
                true => u16::from_be_bytes(*octets),
                false => u16::from_le_bytes(*octets),
            })
        };
        let word = |at: usize| {
            let (first, second) = (u32::from(half(at)?), u32::from(half(at + 2)?));
            Some(if is_big_endian { first << 16 | second } else { second << 16 | first })
        };
        let head = || Some((half(0)?, word(4)?, word(8)?, word(12)?, word(16)?));
        let Some((number, high, low, captured, original)) = head() else { return Found::Unknown };
        let Some(interface) = self.interfaces.get(usize::from(number)) else {
            return Found::UnknownInterface;
        };
        let there = body.len() - OBSOLETE_HEADER;
        // Options may follow the octets, whose number a damaged block states wrongly.
        let captured = (captured as usize).min(there);
        Found::Frame(Frame {
            at_unix_ns: Some(interface.unix_ns(u64::from(high) << 32 | u64::from(low))),
            link: interface.link,
            interface: number.into(),
            place: BLOCK_HEADER + OBSOLETE_HEADER..BLOCK_HEADER + OBSOLETE_HEADER + captured,
            is_cut: original as usize > captured,
        })
    }
}

impl Interface {
    /// The instant of a packet.
    fn unix_ns(&self, units: u64) -> u64 {
        let whole_ns = i128::from(units / self.units_per_second) * 1_000_000_000;
        let part_ns =
            u128::from(units % self.units_per_second) * 1_000_000_000 / u128::from(self.units_per_second);
        let ns = whole_ns + i128::from(self.offset_s) * 1_000_000_000 + part_ns as i128;
        ns.clamp(0, i128::from(u64::MAX)) as u64
    }
}

fn described(block: &InterfaceDescriptionBlock<'_>, is_big_endian: bool) -> Interface {
    let offset = block.options.iter().find(|option| option.code == OptionCode::IfTsoffset);
    // The parser reads this option in little-endian order always.
    let offset_s = match offset.and_then(|option| option.value.first_chunk::<8>()) {
        Some(octets) if is_big_endian => i64::from_be_bytes(*octets),
        Some(octets) => i64::from_le_bytes(*octets),
        None => 0,
    };
    Interface {
        link: block.linktype,
        snap_len: block.snaplen,
        units_per_second: units_per_second(block.if_tsresol),
        offset_s,
    }
}

/// The resolution of instants: a power of ten, or of two where the highest bit is set. What cannot be is taken as
/// microseconds, which are the default.
fn units_per_second(resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f);
    let units = if resolution & 0x80 == 0 { 10u64.checked_pow(exponent) } else { 1u64.checked_shl(exponent) };
    units.unwrap_or(1_000_000)
}

const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BIG_ENDIAN_MAGIC: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];

/// Where the packet begins in its block.
const ENHANCED_HEADER: usize = 28;
const SIMPLE_HEADER: usize = 12;
const BLOCK_HEADER: usize = 8;
const OBSOLETE_HEADER: usize = 20;

/// The type of the block that enhanced packets have replaced.
const OBSOLETE_PACKET: u32 = 2;

/// No host has more.
const MAX_INTERFACES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_converted_from_each_resolution() {
        let interface = |resolution, offset_s| Interface {
            link: Linktype::ETHERNET,
            snap_len: 0,
            units_per_second: units_per_second(resolution),
            offset_s,
        };
        assert_eq!(interface(6, 0).unix_ns(1_500_000), 1_500_000_000);
        assert_eq!(interface(9, 0).unix_ns(1_500_000_001), 1_500_000_001);
        assert_eq!(interface(0, 7).unix_ns(3), 10_000_000_000);
        // 2^10 units a second.
        assert_eq!(interface(0x8a, 0).unix_ns(1536), 1_500_000_000);
        assert_eq!(interface(19, 0).unix_ns(u64::MAX), 1_844_674_407);
        assert_eq!(interface(0, 0).unix_ns(u64::MAX), u64::MAX);
        assert_eq!(interface(6, i64::MIN).unix_ns(5), 0);
        // Neither 10^20 nor 2^127 can be.
        assert_eq!(interface(20, 0).unix_ns(1), 1_000);
        assert_eq!(interface(0xff, 0).unix_ns(1), 1_000);
    }
}

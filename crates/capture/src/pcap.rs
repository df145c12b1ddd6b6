//! pcap: a header, and then packets. In microseconds or nanoseconds, in both byte orders.

use pcap_parser::nom::IResult;
use pcap_parser::{
    LegacyPcapBlock, Linktype, PcapError, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};

use crate::error::Stop;
use crate::frame::{Frame, parse_next};
use crate::input::Input;

/// A pcap file whose header was read.
pub(crate) struct Pcap {
    link: Linktype,
    /// Nanoseconds of a unit of the second part of an instant.
    unit_ns: u64,
    parse: ParsePacket,
    packet_header_len: usize,
}

type ParsePacket = fn(&[u8]) -> IResult<&[u8], LegacyPcapBlock<'_>, PcapError<&[u8]>>;

impl Pcap {
    /// Reads the header of the file.
    pub(crate) fn open(input: &mut Input) -> Result<Self, Stop> {
        let header = parse_next(input, |data| {
            parse_pcap_header(data).map(|(rest, header)| (data.len() - rest.len(), header))
        })?;
        let (len, header) = header.ok_or(Stop::Cut)?;
        input.consume(len);
        let (parse, packet_header_len): (ParsePacket, usize) = match header {
            _ if header.is_modified_format() => (parse_pcap_frame_modified, 24),
            _ if header.is_bigendian() => (parse_pcap_frame_be, 16),
            _ => (parse_pcap_frame, 16),
        };
        Ok(Pcap {
            // The upper bits say whether a frame ends with its check sequence, which nothing here reads.
            link: Linktype(header.network.0 & LINK_TYPE_BITS),
            unit_ns: if header.is_nanosecond_precision() { 1 } else { 1_000 },
            parse,
            packet_header_len,
        })
    }

    /// The link type of all frames.
    pub(crate) fn link(&self) -> Linktype {
        self.link
    }

    /// The next frame, and the length of its packet in the input; `None` at the end.
    pub(crate) fn next(&self, input: &mut Input) -> Result<Option<(usize, Frame)>, Stop> {
        let header_len = self.packet_header_len;
        parse_next(input, |data| {
            let (_, packet) = (self.parse)(data)?;
            let place = header_len..header_len + packet.data.len();
            let frame = Frame {
                at_unix_ns: Some(
                    u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_usec) * self.unit_ns,
                ),
                link: self.link,
                interface: 0,
                is_cut: packet.origlen > packet.caplen,
                place,
            };
            Ok((frame.place.end, frame))
        })
    }
}

const LINK_TYPE_BITS: i32 = 0x03ff_ffff;

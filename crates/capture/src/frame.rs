//! A frame of a packet capture, and the blocks that hold frames.

use std::num::NonZero;
use std::ops::Range;

use pcap_parser::nom::{Err as NomErr, Needed};
use pcap_parser::{Linktype, PcapError};

use crate::error::Stop;
use crate::input::Input;

/// A frame: where it is in the window of the input, and when it was captured.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) at_unix_ns: Option<u64>,
    pub(crate) link: Linktype,
    /// The number of its interface, where the format has one.
    pub(crate) interface: u32,
    /// Its octets, in the window of the input.
    pub(crate) place: Range<usize>,
    /// Whether it was longer than what was captured of it.
    pub(crate) is_cut: bool,
}

/// Parses what is next in the input, and reads more of it until there is enough; `None` at the end of the input.
///
/// `parse` gives the length that it used, and what it found.
pub(crate) fn parse_next<T>(
    input: &mut Input,
    mut parse: impl FnMut(&[u8]) -> Result<(usize, T), NomErr<PcapError<&[u8]>>>,
) -> Result<Option<(usize, T)>, Stop> {
    loop {
        let missing = match parse(input.data()) {
            Ok(parsed) => return Ok(Some(parsed)),
            Err(NomErr::Incomplete(Needed::Size(missing))) => missing.get(),
            Err(NomErr::Incomplete(Needed::Unknown)) => 1,
            Err(NomErr::Error(_) | NomErr::Failure(_)) => return Err(Stop::Damaged(NOT_A_BLOCK)),
        };
        let wanted = input.data().len().saturating_add(missing);
        if wanted > MAX_BLOCK_BYTES {
            return Err(Stop::Damaged(TOO_LONG));
        }
        if !input.need(wanted)? {
            return if input.data().is_empty() { Ok(None) } else { Err(Stop::Cut) };
        }
    }
}

/// How much more is needed, as the parsers say it.
pub(crate) fn missing(octets: usize) -> NomErr<PcapError<&'static [u8]>> {
    NomErr::Incomplete(NonZero::new(octets).map_or(Needed::Unknown, Needed::Size))
}

const NOT_A_BLOCK: &str = "what follows is not a packet or block of its format";
const TOO_LONG: &str = "a packet says that it is longer than 16 MiB";

/// No interface gives longer frames: those of a loopback interface with segmentation offload have 64 kB, or with BIG
/// TCP some hundred kB.
const MAX_BLOCK_BYTES: usize = 16 << 20;

//! Why a capture cannot be read or written.

use std::io;

/// Why a capture cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("cannot open the capture {origin}: {source}")]
    Open {
        /// The file.
        origin: String,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be read further, or its compression is damaged.
    #[error(
        "cannot read the capture {origin} after {frames} packets, at byte {at_byte} (unpacked): {source}"
    )]
    Read {
        /// The file.
        origin: String,
        /// Packets read before.
        frames: u64,
        /// Octets read before, after decompression.
        at_byte: u64,
        /// Why.
        source: io::Error,
    },
    /// The file is empty.
    #[error("the capture {origin} is empty")]
    Empty {
        /// The file.
        origin: String,
    },
    /// The file is not a capture.
    #[error("{origin} is not a capture: it is neither pcap, pcapng nor dnstap{hint}")]
    NotACapture {
        /// The file.
        origin: String,
        /// What else it is, where that is known.
        hint: &'static str,
    },
    /// The frames are of a link type that cannot be read.
    #[error(
        "the frames of {origin} have the link type {name}, which is not supported: capture with `tcpdump -y EN10MB`, \
         or on `any`"
    )]
    LinkType {
        /// The file.
        origin: String,
        /// The number of the link type, with its name where it is known.
        name: String,
    },
    /// The file ends within its header.
    #[error("the capture {origin} is cut short within its header, at byte {ends_at}")]
    HeaderCut {
        /// The file.
        origin: String,
        /// The length of the file after decompression.
        ends_at: u64,
    },
    /// The file ends within a packet.
    #[error(
        "{origin} is cut short: it ends at byte {ends_at} (unpacked), within packet {packet}, which begins at byte \
         {begins_at}; the {} packets before it were read", packet.saturating_sub(1)
    )]
    Cut {
        /// The file.
        origin: String,
        /// The packet, from 1.
        packet: u64,
        /// Where it begins.
        begins_at: u64,
        /// The length of the file after decompression.
        ends_at: u64,
    },
    /// What follows is not what the format demands.
    #[error(
        "{origin} is damaged: at byte {at_byte} (unpacked), after {frames} packets, {what}; what is before it was read"
    )]
    Damaged {
        /// The file.
        origin: String,
        /// Where.
        at_byte: u64,
        /// Packets read before.
        frames: u64,
        /// What is wrong.
        what: &'static str,
    },
}

/// What stopped a reader of a format, before the name of the file and the packet are added.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Reading failed.
    Io(io::Error),
    /// The input ends within a packet or block.
    Cut,
    /// It is not what the format demands.
    Damaged(&'static str),
    /// All frames would be of a link type that cannot be read.
    LinkType(i32),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

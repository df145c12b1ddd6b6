//! Captures of DNS traffic, read and written: pcap, pcapng and dnstap, compressed or not.
//!
//! ```text
//!              ┌─ pcap, pcapng ─► frames ─► link ─► IP, fragments put together ─► UDP ─────────────┐
//! file ─unpack─┤                                                                └► TCP put together ┼─► DnsMessage
//!              └─ dnstap ─► Frame Streams ─► protobuf ──────────────────────────────────────────────┘
//! ```
//!
//! Whoever made the capture may have invented it: nothing that is read makes a reader panic, or hold more memory than
//! the bounds at the end of each file.
#![forbid(unsafe_code)]

mod client;
mod compression;
pub mod contents;
mod dnstap;
mod duplicates;
mod error;
mod format;
mod found;
mod fragments;
mod frame;
mod hash;
mod input;
mod link;
mod merge;
mod message;
mod order;
mod packets;
mod pass;
mod pcap;
mod pcapng;
mod reader;
#[cfg(test)]
mod sample;
mod select;
mod settings;
mod streams;
mod tunnel;
mod write;

pub use compression::{Compression, unpack};
pub use dnstap::DnstapKind;
pub use error::CaptureError;
pub use format::is_capture;
pub use merge::Merge;
pub use message::{DnsMessage, Protocol};
pub use order::ORDERED_WITHIN_NS;
pub use pass::{contents_of, copy};
pub use reader::CaptureReader;
pub use select::{NotAPrefix, Prefix, Selection, When};
pub use settings::ReadSettings;

pub use write::{CaptureFile, MessageWriter, OutputFormat, WriteError};

pub use dnsdyno_measure::{CaptureCounts, SkipReason, WrittenCounts};

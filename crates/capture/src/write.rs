//! Messages as files: captures, or the formats that `dnsdyno run` and other generators read.
//!
//! ```text
//!   DnsMessage ─► MessageWriter ─► octets of a format ─► CaptureFile: compressed, and under its name when it is whole
//! ```

mod binary;
mod dnstap;
mod file;
mod packets;
mod text;

pub use file::{CaptureFile, WriteError};

use std::io::{self, Write};
use std::path::Path;

use dnsdyno_measure::WrittenCounts;

use crate::compression::Compression;
use crate::message::DnsMessage;

/// A format that messages are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// pcap: Ethernet frames, with instants in nanoseconds.
    Pcap,
    /// pcapng: the same.
    Pcapng,
    /// dnstap in Frame Streams.
    Dnstap,
    /// Query names and types, one a line, as dnsperf reads them.
    Text,
    /// Queries, each behind its length, as `dnsperf -B` reads them.
    Binary,
}

impl OutputFormat {
    /// All formats.
    pub const ALL: [OutputFormat; 5] = [
        OutputFormat::Pcap,
        OutputFormat::Pcapng,
        OutputFormat::Dnstap,
        OutputFormat::Text,
        OutputFormat::Binary,
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            OutputFormat::Pcap => "pcap",
            OutputFormat::Pcapng => "pcapng",
            OutputFormat::Dnstap => "dnstap",
            OutputFormat::Text => "text",
            OutputFormat::Binary => "binary",
        }
    }

    /// What it holds, in a line of the help.
    pub fn about(self) -> &'static str {
        match self {
            OutputFormat::Pcap => "Ethernet frames, instants in nanoseconds (.pcap, .cap)",
            OutputFormat::Pcapng => "the same as pcapng (.pcapng)",
            OutputFormat::Dnstap => "dnstap in Frame Streams (.dnstap, .tap, .fstrm)",
            OutputFormat::Text => "names and types of the queries, one a line, as dnsperf reads them (.txt)",
            OutputFormat::Binary => {
                "the queries, each behind its length in two octets, as dnsperf -B reads them (.bin)"
            }
        }
    }

    /// The format of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }

    /// The format and the compression that the name of a file says.
    pub fn of_file(path: &Path) -> (Option<Self>, Option<Compression>) {
        let last = extension(path);
        let compression = last.as_deref().and_then(Compression::by_extension);
        let of_format = match compression {
            Some(_) => path.file_stem().and_then(|stem| extension(Path::new(stem))),
            None => last,
        };
        let format = of_format.and_then(|extension| match extension.as_str() {
            "pcap" | "cap" | "dmp" => Some(OutputFormat::Pcap),
            "pcapng" | "ntar" => Some(OutputFormat::Pcapng),
            "dnstap" | "tap" | "fstrm" => Some(OutputFormat::Dnstap),
            "txt" | "queries" => Some(OutputFormat::Text),
            "bin" => Some(OutputFormat::Binary),
            _ => None,
        });
        (format, compression)
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase())
}

/// Writes messages in a format.
pub struct MessageWriter<W: Write> {
    out: W,
    encoder: Encoder,
    counts: WrittenCounts,
    /// The octets of one message in its format.
    memory: Vec<u8>,
}

enum Encoder {
    Packets(Box<packets::Packets>),
    Dnstap(Box<dnstap::Writer>),
    Text,
    Binary,
}

impl<W: Write> MessageWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Writing failed.
    pub fn new(format: OutputFormat, mut out: W) -> io::Result<Self> {
        let mut memory = Vec::new();
        let encoder = match format {
            OutputFormat::Pcap => {
                packets::begin_pcap(&mut memory);
                Encoder::Packets(Box::new(packets::Packets::new(packets::Wrapping::Pcap)))
            }
            OutputFormat::Pcapng => {
                packets::begin_pcapng(&mut memory);
                Encoder::Packets(Box::new(packets::Packets::new(packets::Wrapping::Pcapng)))
            }
            OutputFormat::Dnstap => {
                dnstap::begin(&mut memory);
                Encoder::Dnstap(Box::default())
            }
            OutputFormat::Text => Encoder::Text,
            OutputFormat::Binary => Encoder::Binary,
        };
        out.write_all(&memory)?;
        Ok(MessageWriter { out, encoder, counts: WrittenCounts::default(), memory })
    }

    /// Writes a message, where the format can hold it; what it cannot hold is counted.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write(&mut self, message: &DnsMessage<'_>) -> io::Result<()> {
        self.memory.clear();
        let left_out_before = self.left_out();
        let is_written = match &mut self.encoder {
            Encoder::Packets(packets) => packets.encode(message, &mut self.memory, &mut self.counts),
            Encoder::Dnstap(dnstap) => dnstap.encode(message, &mut self.memory),
            Encoder::Text => text::encode(message, &mut self.memory, &mut self.counts),
            Encoder::Binary => binary::encode(message, &mut self.memory, &mut self.counts),
        };
        self.counts.messages += u64::from(is_written);
        let is_counted = self.left_out() > left_out_before;
        self.counts.unsuitable_left_out += u64::from(!is_written && !is_counted);
        self.out.write_all(&self.memory)
    }

    fn left_out(&self) -> u64 {
        self.counts.responses_left_out + self.counts.unsuitable_left_out
    }

    /// What was written so far.
    pub fn counts(&self) -> &WrittenCounts {
        &self.counts
    }

    /// Ends the file; gives what it was written to.
    ///
    /// # Errors
    /// Writing failed.
    pub fn finish(mut self) -> io::Result<(W, WrittenCounts)> {
        if let Encoder::Dnstap(_) = self.encoder {
            self.memory.clear();
            dnstap::end(&mut self.memory);
            self.out.write_all(&self.memory)?;
        }
        self.out.flush()?;
        Ok((self.out, self.counts))
    }
}

//! The DNS messages of a capture, one after the other.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dnsdyno_measure::CaptureCounts;

use crate::compression::unpack;
use crate::dnstap::Dnstap;
use crate::error::{CaptureError, Stop};
use crate::format::{Format, hint};
use crate::found::Place;
use crate::input::Input;
use crate::link;
use crate::message::DnsMessage;
use crate::packets::{Blocks, Packets};
use crate::pcap::Pcap;
use crate::pcapng::Pcapng;
use crate::settings::ReadSettings;

/// Reads the DNS messages of a pcap, pcapng or dnstap file, compressed or not, in bounded memory.
pub struct CaptureReader {
    origin: String,
    input: Input,
    source: Source,
    counts: CaptureCounts,
    latest_unix_ns: u64,
}

enum Source {
    Packets(Box<Packets>),
    Dnstap(Box<Dnstap>),
}

impl CaptureReader {
    /// Opens a capture.
    ///
    /// # Errors
    /// The file cannot be opened, or is not a capture that can be read.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Self::open_with(path, &ReadSettings::default())
    }

    /// As [`open`](Self::open), of other ports or kinds of dnstap messages than the usual ones.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: &Path, settings: &ReadSettings) -> Result<Self, CaptureError> {
        let origin = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::from_reader_with(Box::new(file), &origin, settings),
            Err(source) => Err(CaptureError::Open { origin, source }),
        }
    }

    /// As [`open`](Self::open), from any input; `origin` names it in errors.
    ///
    /// # Errors
    /// The input cannot be read, or is not a capture that can be read.
    pub fn from_reader(input: Box<dyn Read + Send>, origin: &str) -> Result<Self, CaptureError> {
        Self::from_reader_with(input, origin, &ReadSettings::default())
    }

    /// As [`from_reader`](Self::from_reader), with settings.
    ///
    /// # Errors
    /// As [`from_reader`](Self::from_reader).
    pub fn from_reader_with(
        input: Box<dyn Read + Send>,
        origin: &str,
        settings: &ReadSettings,
    ) -> Result<Self, CaptureError> {
        let origin = origin.to_owned();
        let read = |source| CaptureError::Read { origin: origin.clone(), frames: 0, at_byte: 0, source };
        let mut input = Input::new(unpack(input).map_err(read)?);
        input.need(FIRST_BYTES).map_err(read)?;
        if input.data().is_empty() {
            return Err(CaptureError::Empty { origin });
        }
        let Some(format) = Format::of(input.data()) else {
            let hint = hint(input.data());
            return Err(CaptureError::NotACapture { origin, hint });
        };
        let counts = CaptureCounts::default();
        match Source::open(format, &mut input, settings) {
            Ok(source) => Ok(CaptureReader { origin, input, source, counts, latest_unix_ns: 0 }),
            Err(stop) => Err(error(stop, &origin, &input, &counts)),
        }
    }

    /// What was read so far.
    pub fn counts(&self) -> &CaptureCounts {
        &self.counts
    }

    /// The name of the file, as in errors.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The next DNS message, in the order of the capture; `None` at its end.
    ///
    /// # Errors
    /// The capture cannot be read further. What was given before is sound.
    #[allow(
        clippy::should_implement_trait,
        reason = "what it gives borrows the reader, which an iterator's cannot"
    )]
    pub fn next(&mut self) -> Result<Option<DnsMessage<'_>>, CaptureError> {
        let found = match &mut self.source {
            Source::Packets(packets) => packets.next(&mut self.input, &mut self.counts),
            Source::Dnstap(dnstap) => dnstap.next(&mut self.input, &mut self.counts),
        };
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(stop) => return Err(error(stop, &self.origin, &self.input, &self.counts)),
        };
        self.counts.messages += 1;
        self.counts.out_of_order += u64::from(found.at_unix_ns < self.latest_unix_ns);
        self.latest_unix_ns = self.latest_unix_ns.max(found.at_unix_ns);
        let bytes = match (&self.source, found.place) {
            (_, Place::Window(place)) => self.input.data().get(place).unwrap_or_default(),
            (Source::Packets(packets), Place::Assembled(place)) => packets.assembled().octets(place),
            (Source::Dnstap(dnstap), Place::Query) => dnstap.query(),
            (Source::Dnstap(dnstap), Place::Response) => dnstap.response(),
            _ => &[],
        };
        Ok(Some(DnsMessage {
            at_unix_ns: found.at_unix_ns,
            protocol: found.protocol,
            source: found.source,
            destination: found.destination,
            bytes,
        }))
    }
}

impl Source {
    fn open(format: Format, input: &mut Input, settings: &ReadSettings) -> Result<Self, Stop> {
        let blocks = match format {
            Format::Pcap => Blocks::Pcap(Pcap::open(input)?),
            Format::Pcapng => Blocks::Pcapng(Pcapng::default()),
            Format::Dnstap => return Ok(Source::Dnstap(Box::new(Dnstap::new(settings.kinds.clone())))),
        };
        Packets::new(blocks, settings.ports.clone()).map(|packets| Source::Packets(Box::new(packets)))
    }
}

/// The error of what stopped a reader.
fn error(stop: Stop, origin: &str, input: &Input, counts: &CaptureCounts) -> CaptureError {
    let origin = origin.to_owned();
    let (frames, at_byte, ends_at) = (counts.frames, input.at_byte(), input.read_up_to_byte());
    match stop {
        Stop::Io(source) => CaptureError::Read { origin, frames, at_byte: ends_at, source },
        Stop::Cut if at_byte == 0 => CaptureError::HeaderCut { origin, ends_at },
        Stop::Cut => CaptureError::Cut { origin, packet: frames + 1, begins_at: at_byte, ends_at },
        Stop::Damaged(what) => CaptureError::Damaged { origin, at_byte, frames, what },
        Stop::LinkType(number) => CaptureError::LinkType { origin, name: link::name(number) },
    }
}

/// As much as tells the formats apart.
const FIRST_BYTES: usize = 12;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;

//! The DNS messages of a capture, one after the other.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dnsdyno_measure::CaptureCounts;

use crate::compression::unpack;
use crate::dnstap::Dnstap;
use crate::error::{CaptureError, Stop};
use crate::format::{Format, hint};
use crate::found::{Found, Place};
use crate::input::Input;
use crate::link;
use crate::message::DnsMessage;
use crate::order::Order;
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
    order: Order,
    /// The instant of the message that was given last.
    given_unix_ns: u64,
    is_at_end: bool,
    /// Why it ends, where that is not its end: told when all before it is given.
    error: Option<CaptureError>,
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
            Ok(source) => Ok(CaptureReader {
                origin,
                input,
                source,
                counts,
                order: Order::default(),
                given_unix_ns: 0,
                is_at_end: false,
                error: None,
            }),
            Err(stop) => Err(told(stop, &origin, &input, &counts)),
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

    /// The next DNS message, in the order of time as far as [`ORDERED_WITHIN_NS`](crate::ORDERED_WITHIN_NS) goes;
    /// `None` at the end of the capture.
    ///
    /// # Errors
    /// The capture cannot be read further. What was given before is sound.
    #[allow(
        clippy::should_implement_trait,
        reason = "what it gives borrows the reader, which an iterator's cannot"
    )]
    pub fn next(&mut self) -> Result<Option<DnsMessage<'_>>, CaptureError> {
        let CaptureReader { order, counts, given_unix_ns, is_at_end, error, .. } = self;
        while !order.is_next_complete(*is_at_end) && !*is_at_end {
            match self.source.next(&mut self.input, counts) {
                Ok(Some(found)) => {
                    let bytes = self.source.octets(&self.input, &found.place);
                    let ends = (found.source, found.destination);
                    let is_late = order.push(found.at_unix_ns, found.protocol, ends, bytes);
                    counts.reordered += u64::from(is_late);
                }
                Ok(None) => *is_at_end = true,
                Err(stop) => {
                    *is_at_end = true;
                    *error = Some(told(stop, &self.origin, &self.input, counts));
                }
            }
        }
        let Some(held) = order.next(*is_at_end) else { return error.take().map_or(Ok(None), Err) };
        counts.messages += 1;
        counts.out_of_order += u64::from(held.at_unix_ns < *given_unix_ns);
        *given_unix_ns = held.at_unix_ns;
        Ok(Some(DnsMessage {
            at_unix_ns: held.at_unix_ns,
            protocol: held.protocol,
            source: held.source,
            destination: held.destination,
            bytes: &held.bytes,
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

    fn next(&mut self, input: &mut Input, counts: &mut CaptureCounts) -> Result<Option<Found>, Stop> {
        match self {
            Source::Packets(packets) => packets.next(input, counts),
            Source::Dnstap(dnstap) => dnstap.next(input, counts),
        }
    }

    fn octets<'a>(&'a self, input: &'a Input, place: &Place) -> &'a [u8] {
        match (self, place) {
            (_, Place::Window(place)) => input.data().get(place.clone()).unwrap_or_default(),
            (Source::Packets(packets), Place::Assembled(place)) => packets.assembled().octets(place.clone()),
            (Source::Dnstap(dnstap), Place::Query) => dnstap.query(),
            (Source::Dnstap(dnstap), Place::Response) => dnstap.response(),
            _ => &[],
        }
    }
}

/// The error of what stopped a reader.
fn told(stop: Stop, origin: &str, input: &Input, counts: &CaptureCounts) -> CaptureError {
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

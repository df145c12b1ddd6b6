//! Messages and captures for the tests.

use std::io::Cursor;
use std::net::SocketAddr;

use dnsdyno_measure::CaptureCounts;
use dnsdyno_wire::{QueryForm, encode_name};

use crate::{CaptureError, CaptureReader, DnsMessage, MessageWriter, OutputFormat, Protocol, ReadSettings};

/// A message, with its octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) at_unix_ns: u64,
    pub(crate) protocol: Protocol,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn borrowed(&self) -> DnsMessage<'_> {
        DnsMessage {
            at_unix_ns: self.at_unix_ns,
            protocol: self.protocol,
            source: self.source,
            destination: self.destination,
            bytes: &self.bytes,
        }
    }
}

impl From<DnsMessage<'_>> for Message {
    fn from(message: DnsMessage<'_>) -> Self {
        Message {
            at_unix_ns: message.at_unix_ns,
            protocol: message.protocol,
            source: message.source,
            destination: message.destination,
            bytes: message.bytes.to_vec(),
        }
    }
}

/// The octets of a query for `name` of type A.
pub(crate) fn query_octets(name: &str) -> Vec<u8> {
    let (mut wire, mut query) = (Vec::new(), Vec::new());
    encode_name(name.as_bytes(), &mut wire).unwrap();
    QueryForm::default().encode(&wire, 1, &mut query);
    query
}

/// A query of client `client` after `ms` milliseconds.
pub(crate) fn query(ms: u64, client: u8, protocol: Protocol) -> Message {
    let mut bytes = query_octets(&format!("q{ms}.example.com"));
    bytes[..2].copy_from_slice(&(ms as u16).to_be_bytes());
    Message {
        at_unix_ns: START_NS + ms * 1_000_000,
        protocol,
        source: SocketAddr::from(([192, 0, 2, client], 40_000 + u16::from(client))),
        destination: SocketAddr::from(([198, 51, 100, 1], 53)),
        bytes,
    }
}

/// The response to a query, `ms` milliseconds later.
pub(crate) fn response(to: &Message, ms: u64, rcode: u8) -> Message {
    let mut bytes = to.bytes.clone();
    bytes[2] |= 0x80;
    bytes[3] |= rcode;
    let at_unix_ns = to.at_unix_ns + ms * 1_000_000;
    Message { at_unix_ns, source: to.destination, destination: to.source, bytes, ..to.clone() }
}

/// Some queries and responses of three clients, over UDP and TCP.
pub(crate) fn some() -> Vec<Message> {
    let queries = (0..20).map(|n| {
        let protocol = if n % 4 == 3 { Protocol::Tcp } else { Protocol::Udp };
        query(n * 10, 1 + (n % 3) as u8, protocol)
    });
    queries.flat_map(|query| [query.clone(), response(&query, 5, 0)]).collect()
}

/// The messages as a file of a format.
pub(crate) fn written(format: OutputFormat, messages: &[Message]) -> Vec<u8> {
    let mut writer = MessageWriter::new(format, Vec::new()).unwrap();
    messages.iter().for_each(|message| writer.write(&message.borrowed()).unwrap());
    writer.finish().unwrap().0
}

/// What a file gives, and its counts; then the error, where there is one.
pub(crate) fn read(file: Vec<u8>) -> (Vec<Message>, CaptureCounts, Option<CaptureError>) {
    read_with(file, &ReadSettings::default())
}

/// As [`read`], with settings.
pub(crate) fn read_with(
    file: Vec<u8>,
    settings: &ReadSettings,
) -> (Vec<Message>, CaptureCounts, Option<CaptureError>) {
    let mut reader = match CaptureReader::from_reader_with(Box::new(Cursor::new(file)), "c.pcap", settings) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), CaptureCounts::default(), Some(error)),
    };
    let mut messages = Vec::new();
    let error = loop {
        match reader.next() {
            Ok(Some(message)) => messages.push(Message::from(message)),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let counts = *reader.counts();
    // Whatever was read, in each test: no frame and no message is without its count, and none has two.
    assert_eq!(counts.frames, counts.used + counts.skipped.total(), "{counts:?}");
    assert_eq!(counts.messages, messages.len() as u64);
    (messages, counts, error)
}

/// Noon of a day in 2024.
pub(crate) const START_NS: u64 = 1_718_884_800_000_000_000;

//! dnstap: what a server says of its queries and responses, as protobuf in Frame Streams.
//!
//! ```text
//!   0 | length | START, content type | length | message | length | message | … | 0 | length | STOP
//! ```
//!
//! A file that was written from a socket may begin with READY, and end with FINISH.

mod kind;
mod repeats;

pub use kind::DnstapKind;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dnsdyno_measure::{CaptureCounts, SkipReason};
use dnsdyno_wire::HEADER_LEN;
use prost::Message as _;

use crate::error::Stop;
use crate::found::{Found, Place};
use crate::input::Input;
use crate::message::Protocol;

use self::repeats::{Repeats, Source, query_id};

/// Reads a dnstap file.
pub(crate) struct Dnstap {
    current: Envelope,
    /// The kinds to give; all, where none is named.
    kinds: Vec<DnstapKind>,
    repeats: Repeats,
    next: Option<Found>,
}

impl Dnstap {
    pub(crate) fn new(kinds: Vec<DnstapKind>) -> Self {
        Dnstap { current: Envelope::default(), kinds, repeats: Repeats::default(), next: None }
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(
        &mut self,
        input: &mut Input,
        counts: &mut CaptureCounts,
    ) -> Result<Option<Found>, Stop> {
        if let Some(found) = self.next.take() {
            counts.without_instant += u64::from(self.own_instant(&found.place).is_none());
            return Ok(Some(found));
        }
        while let Some(len) = next_frame(input)? {
            let frame = &input.data()[LENGTH_LEN..LENGTH_LEN + len];
            counts.frames += 1;
            counts.frame_bytes += len as u64;
            self.current.clear();
            let is_read = self.current.merge(frame).is_ok();
            input.consume(LENGTH_LEN + len);
            match if is_read { self.found(counts) } else { Err(SkipReason::NoMessage) } {
                Ok(found) => {
                    counts.used += 1;
                    counts.without_instant += u64::from(self.own_instant(&found.place).is_none());
                    return Ok(Some(found));
                }
                Err(reason) => counts.skipped.add(reason, 1),
            }
        }
        Ok(None)
    }

    pub(crate) fn query(&self) -> &[u8] {
        &self.current.message.query_message
    }

    pub(crate) fn response(&self) -> &[u8] {
        &self.current.message.response_message
    }

    /// The instant that the current message has of its query, or of its response.
    fn own_instant(&self, place: &Place) -> Option<u64> {
        match place {
            Place::Response => self.current.message.response_time(),
            _ => self.current.message.query_time(),
        }
    }

    /// What the current message holds: a query, a response, or both.
    fn found(&mut self, counts: &mut CaptureCounts) -> Result<Found, SkipReason> {
        let message = &self.current.message;
        let number = usize::try_from(message.kind).ok().and_then(|kind| kind.checked_sub(1));
        let number = number.filter(|_| self.current.kind == MESSAGE).ok_or(SkipReason::NoMessage)?;
        let kind = *DnstapKind::ALL.get(number / 2).ok_or(SkipReason::NoMessage)?;
        if !self.kinds.is_empty() && !self.kinds.contains(&kind) {
            return Err(SkipReason::OtherKind);
        }
        let source = if number % 2 == 1 { Source::Response } else { Source::OwnMessage };
        let query = is_dns(&message.query_message).map(|()| {
            let id = query_id(kind, message.asker(), &message.query_message);
            let found = message.query();
            let is_repeated = self.repeats.is_repeated(id, source, found.at_unix_ns);
            (!is_repeated).then_some(found)
        });
        if source == Source::OwnMessage {
            return query?.ok_or(SkipReason::RepeatedQuery);
        }
        let response = is_dns(&message.response_message).map(|()| message.response());
        match query {
            Ok(Some(query)) => {
                self.next = response.ok();
                Ok(query)
            }
            Ok(None) => {
                counts.repeated_queries += u64::from(response.is_ok());
                response.map_err(|_| SkipReason::RepeatedQuery)
            }
            Err(_) => response,
        }
    }
}

/// Whether octets can be a DNS message, by their number.
fn is_dns(octets: &[u8]) -> Result<(), SkipReason> {
    match octets.len() {
        HEADER_LEN..=LONGEST_MESSAGE => Ok(()),
        1..HEADER_LEN => Err(SkipReason::TooShort),
        _ => Err(SkipReason::NoMessage),
    }
}

/// The length of the next data frame, which is then in the window after its length; `None` at the end.
fn next_frame(input: &mut Input) -> Result<Option<usize>, Stop> {
    loop {
        let Some(len) = length(input, 0)? else { return Ok(None) };
        if len > 0 {
            return match len {
                _ if len > MAX_FRAME_BYTES => Err(Stop::Damaged("a frame says that it is longer than 1 MiB")),
                _ if !input.need(LENGTH_LEN + len)? => Err(Stop::Cut),
                _ => Ok(Some(len)),
            };
        }
        // An escape: a control frame follows.
        let len = length(input, LENGTH_LEN)?.ok_or(Stop::Cut)?;
        if !(LENGTH_LEN..=MAX_CONTROL_BYTES).contains(&len) {
            return Err(Stop::Damaged("a control frame has a length that is not possible"));
        }
        let whole = 2 * LENGTH_LEN + len;
        if !input.need(whole)? {
            return Err(Stop::Cut);
        }
        let control = &input.data()[2 * LENGTH_LEN..whole];
        let (kind, fields) = control.split_at(LENGTH_LEN);
        match kind {
            [0, 0, 0, START | READY | ACCEPT] => {
                if !fields.is_empty() && !fields.windows(CONTENT_TYPE.len()).any(|part| part == CONTENT_TYPE)
                {
                    return Err(Stop::Damaged("Frame Streams begin whose content is not dnstap"));
                }
            }
            // Several files may follow each other.
            [0, 0, 0, STOP | FINISH] => {}
            _ => return Err(Stop::Damaged("a control frame is of an unknown type")),
        }
        input.consume(whole);
    }
}

/// The length that is at `at` in the window; `None` where the input ends before the window's first octet.
fn length(input: &mut Input, at: usize) -> Result<Option<usize>, Stop> {
    if !input.need(at + LENGTH_LEN)? {
        return if input.data().is_empty() { Ok(None) } else { Err(Stop::Cut) };
    }
    let octets = input.data().get(at..).and_then(|rest| rest.first_chunk::<LENGTH_LEN>());
    Ok(octets.map(|octets| u32::from_be_bytes(*octets) as usize))
}

/// `Dnstap` of dnstap.proto, as far as it is used. It is cleared and filled again, so that nothing is allocated for a
/// message.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Envelope {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) identity: Vec<u8>,
    #[prost(message, required, tag = "14")]
    pub(crate) message: Message,
    #[prost(int32, tag = "15")]
    pub(crate) kind: i32,
}

/// `Message` of dnstap.proto, as far as it is used. An empty field is one that is not there.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Message {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(int32, tag = "2")]
    pub(crate) socket_family: i32,
    #[prost(int32, tag = "3")]
    pub(crate) socket_protocol: i32,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) query_address: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) response_address: Vec<u8>,
    #[prost(uint32, tag = "6")]
    pub(crate) query_port: u32,
    #[prost(uint32, tag = "7")]
    pub(crate) response_port: u32,
    #[prost(uint64, optional, tag = "8")]
    pub(crate) query_time_sec: Option<u64>,
    #[prost(fixed32, optional, tag = "9")]
    pub(crate) query_time_nsec: Option<u32>,
    #[prost(bytes = "vec", tag = "10")]
    pub(crate) query_message: Vec<u8>,
    #[prost(uint64, optional, tag = "12")]
    pub(crate) response_time_sec: Option<u64>,
    #[prost(fixed32, optional, tag = "13")]
    pub(crate) response_time_nsec: Option<u32>,
    #[prost(bytes = "vec", tag = "14")]
    pub(crate) response_message: Vec<u8>,
}

impl Message {
    fn query(&self) -> Found {
        let at_unix_ns = self.query_time().or_else(|| self.response_time());
        self.found(at_unix_ns, self.asker(), self.asked(), Place::Query)
    }

    fn response(&self) -> Found {
        let at_unix_ns = self.response_time().or_else(|| self.query_time());
        self.found(at_unix_ns, self.asked(), self.asker(), Place::Response)
    }

    fn found(
        &self,
        at_unix_ns: Option<u64>,
        source: SocketAddr,
        destination: SocketAddr,
        place: Place,
    ) -> Found {
        Found { at_unix_ns, protocol: protocol(self.socket_protocol), source, destination, place }
    }

    fn query_time(&self) -> Option<u64> {
        instant(self.query_time_sec, self.query_time_nsec)
    }

    fn response_time(&self) -> Option<u64> {
        instant(self.response_time_sec, self.response_time_nsec)
    }

    fn asker(&self) -> SocketAddr {
        address(&self.query_address, self.query_port, self.socket_family)
    }

    fn asked(&self) -> SocketAddr {
        address(&self.response_address, self.response_port, self.socket_family)
    }
}

fn instant(seconds: Option<u64>, ns: Option<u32>) -> Option<u64> {
    Some(seconds?.saturating_mul(1_000_000_000).saturating_add(ns.unwrap_or(0).into()))
}

fn address(octets: &[u8], port: u32, family: i32) -> SocketAddr {
    let ip = match octets.len() {
        4 => octets.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        16 => octets.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
        _ => None,
    };
    let unspecified: IpAddr =
        if family == INET6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip.unwrap_or(unspecified), u16::try_from(port).unwrap_or(0))
}

/// DNSCrypt has no word of its own: it counts as what carries it.
fn protocol(number: i32) -> Protocol {
    match number {
        2 | 6 => Protocol::Tcp,
        3 => Protocol::Dot,
        4 => Protocol::Doh,
        7 => Protocol::Doq,
        _ => Protocol::Udp,
    }
}

/// `Dnstap.Type.MESSAGE`.
pub(crate) const MESSAGE: i32 = 1;

/// `SocketFamily`.
pub(crate) const INET: i32 = 1;
pub(crate) const INET6: i32 = 2;

/// The content type of dnstap in Frame Streams.
pub(crate) const CONTENT_TYPE: &[u8] = b"protobuf:dnstap.Dnstap";

/// Types of control frames.
pub(crate) const ACCEPT: u8 = 1;
pub(crate) const START: u8 = 2;
pub(crate) const STOP: u8 = 3;
pub(crate) const READY: u8 = 4;
pub(crate) const FINISH: u8 = 5;

const LONGEST_MESSAGE: usize = u16::MAX as usize;

/// Of a length.
const LENGTH_LEN: usize = 4;

/// The largest control frame and data frame that the library of Frame Streams reads.
const MAX_CONTROL_BYTES: usize = 512;
const MAX_FRAME_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;

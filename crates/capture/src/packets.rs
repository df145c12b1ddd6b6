//! The DNS messages of a packet capture: frame by frame, with fragments and TCP put together.

use std::net::{IpAddr, SocketAddr};

use dnsdyno_measure::{CaptureCounts, SkipReason};
use dnsdyno_wire::HEADER_LEN;
use etherparse::{TcpSlice, UdpSlice};

use crate::duplicates::Duplicates;
use crate::error::Stop;
use crate::found::{Assembled, Found, Place};
use crate::fragments::Fragments;
use crate::frame::Frame;
use crate::input::Input;
use crate::link::{self, Content, Packet, offset_in};
use crate::message::Protocol;
use crate::pcap::Pcap;
use crate::pcapng::Pcapng;
use crate::streams::{Segment, Streams};
use crate::tunnel;

/// Reads a packet capture.
pub(crate) struct Packets {
    blocks: Blocks,
    ports: Vec<u16>,
    duplicates: Duplicates,
    fragments: Fragments,
    streams: Streams,
    assembled: Assembled,
    last_unix_ns: Option<u64>,
    /// The link type of a frame that could not be read.
    unsupported: Option<i32>,
    /// What of the window was given, and is consumed at the next call.
    given: usize,
}

/// The two formats.
pub(crate) enum Blocks {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Packets {
    pub(crate) fn new(blocks: Blocks, ports: Vec<u16>) -> Result<Self, Stop> {
        if let Blocks::Pcap(pcap) = &blocks
            && !link::is_supported(pcap.link())
        {
            return Err(Stop::LinkType(pcap.link().0));
        }
        Ok(Packets {
            blocks,
            ports,
            duplicates: Duplicates::default(),
            fragments: Fragments::default(),
            streams: Streams::default(),
            assembled: Assembled::default(),
            last_unix_ns: None,
            unsupported: None,
            given: 0,
        })
    }

    pub(crate) fn assembled(&self) -> &Assembled {
        &self.assembled
    }

    /// The next message; `None` at the end.
    pub(crate) fn next(
        &mut self,
        input: &mut Input,
        counts: &mut CaptureCounts,
    ) -> Result<Option<Found>, Stop> {
        loop {
            if let Some(found) = self.assembled.pop() {
                return Ok(Some(found));
            }
            input.consume(std::mem::take(&mut self.given));
            let next = match &mut self.blocks {
                Blocks::Pcap(pcap) => pcap.next(input),
                Blocks::Pcapng(pcapng) => pcapng.next(input, counts),
            };
            // What waits is given before the end, and before the error that says where the capture is cut.
            let Some((len, frame)) = next.as_ref().ok().and_then(Option::as_ref) else {
                if self.streams.finish_one(counts, &mut self.assembled) {
                    continue;
                }
                self.fragments.finish(counts);
                return next.and_then(|_| self.end(counts));
            };
            self.given = *len;
            counts.frames += 1;
            counts.frame_bytes += frame.place.len() as u64;
            match self.message(input, frame, counts) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {}
                Err(reason) => counts.skipped.add(reason, 1),
            }
        }
    }

    fn end(&self, counts: &CaptureCounts) -> Result<Option<Found>, Stop> {
        match self.unsupported {
            Some(link) if counts.skipped.of(SkipReason::LinkType) == counts.frames => {
                Err(Stop::LinkType(link))
            }
            _ => Ok(None),
        }
    }

    /// The message of a frame, where it has one of its own; what is put together goes to `assembled`.
    fn message(
        &mut self,
        input: &Input,
        frame: &Frame,
        counts: &mut CaptureCounts,
    ) -> Result<Option<Found>, SkipReason> {
        let octets = input.data().get(frame.place.clone()).ok_or(SkipReason::BadHeader)?;
        counts.without_instant += u64::from(frame.at_unix_ns.is_none());
        let at_unix_ns = frame.at_unix_ns.or(self.last_unix_ns);
        self.last_unix_ns = at_unix_ns;
        let packet = link::packet(frame, octets, &self.ports).inspect_err(|reason| {
            if *reason == SkipReason::LinkType {
                self.unsupported = Some(frame.link.0);
            }
        })?;
        let is_of_dns = packet.ports().is_none_or(|ports| self.is_of_dns(ports).is_ok());
        if is_of_dns && self.duplicates.has(frame, octets, &packet) {
            return Err(SkipReason::Duplicate);
        }
        let Content::Udp(udp) = &packet.content else {
            return self
                .put_together(&Part { at_unix_ns, packet, frames: 1, nested: 0 }, counts)
                .map(|()| None);
        };
        let ends = Ends { at_unix_ns, source: packet.source, destination: packet.destination };
        let (found, payload) = self.datagram(&ends, udp, packet.is_cut)?;
        counts.used += 1;
        let start = frame.place.start + offset_in(octets, payload);
        Ok(Some(found(Place::Window(start..start + payload.len()))))
    }

    /// Takes what is put together of several packets, and what comes of it. Its frames are counted here, as far as it
    /// gives no error.
    fn put_together(&mut self, part: &Part<'_>, counts: &mut CaptureCounts) -> Result<(), SkipReason> {
        let Part { at_unix_ns, packet, frames, nested } = part;
        let (at_unix_ns, addresses) = (*at_unix_ns, (packet.source, packet.destination));
        let ends = Ends { at_unix_ns, source: packet.source, destination: packet.destination };
        let fragment = match &packet.content {
            Content::Udp(udp) => {
                let (found, payload) = self.datagram(&ends, udp, packet.is_cut)?;
                self.assembled.push(payload, found);
                counts.used += frames;
                return Ok(());
            }
            Content::Tcp(tcp) => {
                self.segment(&ends, tcp, packet.is_cut, counts)?;
                counts.used += frames;
                return Ok(());
            }
            Content::Fragment(fragment) => fragment,
        };
        if !tunnel::may_carry(fragment.protocol) {
            return Err(SkipReason::NotUdpOrTcp);
        }
        if packet.is_cut {
            return Err(SkipReason::CutShort);
        }
        let whole = self.fragments.add(addresses, fragment, (at_unix_ns.unwrap_or(0), *frames), counts);
        let Some((whole, frames)) = whole else { return Ok(()) };
        let nested = nested + 1;
        let taken = match link::packet_of_fragments(addresses, fragment.protocol, &whole, &self.ports) {
            Ok(_) if nested > MOST_NESTED => Err(SkipReason::Tunnel),
            Ok(packet) => self.put_together(&Part { at_unix_ns, packet, frames, nested }, counts),
            Err(reason) => Err(reason),
        };
        // All of its frames, of which the last one is at hand, end in the same count.
        taken.unwrap_or_else(|reason| counts.skipped.add(reason, frames));
        Ok(())
    }

    /// The payload of a UDP datagram, and the message that it is.
    fn datagram<'a>(
        &self,
        ends: &Ends,
        udp: &UdpSlice<'a>,
        is_cut: bool,
    ) -> Result<(impl FnOnce(Place) -> Found + use<>, &'a [u8]), SkipReason> {
        self.is_of_dns((udp.source_port(), udp.destination_port()))?;
        if is_cut || usize::from(udp.length()) > udp.slice().len() {
            return Err(SkipReason::CutShort);
        }
        match udp.payload().len() {
            0..HEADER_LEN => return Err(SkipReason::TooShort),
            // Only a header without a length can be that of a datagram which is longer than any.
            LONGER_THAN_ANY.. => return Err(SkipReason::BadHeader),
            _ => {}
        }
        let (source, destination) = ends.with_ports(udp.source_port(), udp.destination_port());
        let at_unix_ns = ends.at_unix_ns;
        let found = move |place| Found { at_unix_ns, protocol: Protocol::Udp, source, destination, place };
        Ok((found, udp.payload()))
    }

    fn segment(
        &mut self,
        ends: &Ends,
        tcp: &TcpSlice<'_>,
        is_cut: bool,
        counts: &mut CaptureCounts,
    ) -> Result<(), SkipReason> {
        self.is_of_dns((tcp.source_port(), tcp.destination_port()))?;
        let (from, to) = ends.with_ports(tcp.source_port(), tcp.destination_port());
        let segment = Segment {
            at_unix_ns: ends.at_unix_ns,
            from,
            to,
            sequence: tcp.sequence_number(),
            is_syn: tcp.syn(),
            is_end: tcp.fin(),
            is_reset: tcp.rst(),
            payload: tcp.payload(),
        };
        self.streams.add(&segment, counts, &mut self.assembled);
        // What was captured of it is used; the rest is a gap.
        if is_cut { Err(SkipReason::CutShort) } else { Ok(()) }
    }

    /// Whether the ports are of DNS that can be read.
    fn is_of_dns(&self, (source, destination): (u16, u16)) -> Result<(), SkipReason> {
        let is_any_of = |ports: &[u16]| ports.contains(&source) || ports.contains(&destination);
        match () {
            () if is_any_of(&self.ports) => Ok(()),
            () if is_any_of(&ENCRYPTED_PORTS) => Err(SkipReason::Encrypted),
            () => Err(SkipReason::OtherPort),
        }
    }
}

/// A packet that is not used where it lies, with the frames that it was in, and how many datagrams of fragments it was
/// in: within tunnels they may be in each other.
struct Part<'a> {
    at_unix_ns: Option<u64>,
    packet: Packet<'a>,
    frames: u64,
    nested: u8,
}

/// When a packet was captured, and of whom.
struct Ends {
    at_unix_ns: Option<u64>,
    source: IpAddr,
    destination: IpAddr,
}

impl Ends {
    fn with_ports(&self, source: u16, destination: u16) -> (SocketAddr, SocketAddr) {
        (SocketAddr::new(self.source, source), SocketAddr::new(self.destination, destination))
    }
}

/// Datagrams of fragments within each other.
const MOST_NESTED: u8 = 3;

/// One octet more than the longest message.
const LONGER_THAN_ANY: usize = 1 << 16;

/// DoT and DoQ, DoH.
const ENCRYPTED_PORTS: [u16; 2] = [853, 443];

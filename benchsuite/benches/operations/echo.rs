//! A transport in memory that returns each query as its response. Benchmarks over it thus measure only the engine, and
//! for AF_XDP also the work on the frames.

use dnsdyno_measure::NotSentReason;
use dnsdyno_sys::packet::HEADER_ROOM;
use dnsdyno_transport::xdp::frame::{Ethernet, Header, read};
use dnsdyno_transport::{Batch, Group, NextClient, Resources, Sent, Sink, Transport, Wake};

/// The transport that the echo replaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Clients with an open connection.
    Tcp,
    /// The sockets of a mix with one member.
    MixOfOne,
    /// Channels with messages in Ethernet frames.
    Xdp,
}

/// The channels of one worker.
pub(crate) struct Echo<const CONNECTS: bool> {
    kind: Kind,
    header: Header,
    now_ns: u64,
    next: usize,
    /// Responses that wait to be read: channel, and end in `bytes`.
    waiting: Vec<(usize, usize)>,
    bytes: Vec<u8>,
}

impl<const CONNECTS: bool> Echo<CONNECTS> {
    pub(crate) fn new(kind: Kind) -> Self {
        let ethernet = Ethernet { ours: [2; 6], next_hop: [4; 6], vlan: None };
        let header = Header::new(&ethernet, ([192, 0, 2, 1], 40_000).into(), ([192, 0, 2, 53], 53).into());
        Echo { kind, header, now_ns: 0, next: 0, waiting: Vec::new(), bytes: Vec::new() }
    }

    fn next_channel(&mut self) -> usize {
        self.next = (self.next + 1) % CHANNELS;
        self.next
    }
}

impl<const CONNECTS: bool> Transport for Echo<CONNECTS> {
    const CONNECTS: bool = CONNECTS;

    fn begin(&mut self, _: u64) {}

    fn channels(&self) -> usize {
        CHANNELS
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn send(&mut self, channel: usize, batch: &Batch) -> Sent {
        for message in batch.iter() {
            if self.kind == Kind::Xdp {
                let start = self.bytes.len();
                self.bytes.resize(start + message.len() + HEADER_ROOM, 0);
                let length = self.header.write(message, &mut self.bytes[start..]);
                self.bytes.truncate(start + length);
            } else {
                self.bytes.extend_from_slice(message);
            }
            self.waiting.push((channel, self.bytes.len()));
        }
        Sent { accepted: batch.len(), stopped: None }
    }

    fn receive(&mut self, sink: &mut impl Sink) {
        let mut start = 0;
        for (channel, end) in self.waiting.drain(..) {
            let bytes = &mut self.bytes[start..end];
            start = end;
            match self.kind {
                Kind::Xdp => {
                    bytes[FLAGS_IN_FRAME] |= 0x80;
                    let Some(packet) = read(bytes) else { continue };
                    sink.packet(channel, self.now_ns, packet.payload);
                }
                Kind::MixOfOne => {
                    bytes[2] |= 0x80;
                    sink.packet(channel, self.now_ns, bytes);
                }
                Kind::Tcp => {
                    bytes[2] |= 0x80;
                    sink.answer(channel, self.now_ns, 0, None, bytes);
                }
            }
        }
        self.bytes.clear();
    }

    fn wait(&mut self, until_ns: u64, _: Wake) {
        self.now_ns = self.now_ns.max(until_ns);
    }

    fn next_client(&mut self) -> Result<NextClient, NotSentReason> {
        Ok(NextClient { channel: self.next, capacity: 16 })
    }

    fn next_client_of(&mut self, _: usize) -> Result<NextClient, NotSentReason> {
        Ok(NextClient { channel: self.next_channel(), capacity: usize::MAX })
    }

    fn pass(&mut self, _: usize) {
        self.next_channel();
    }

    fn groups(&self) -> Vec<Group> {
        let connects = self.kind == Kind::Tcp;
        vec![Group {
            channels: CHANNELS,
            connects,
            most_outstanding: None,
            at_once: 64,
            member: 0,
            is_fallback: false,
        }]
    }

    fn resources(&mut self) -> Resources {
        Resources::default()
    }
}

const CHANNELS: usize = 8;

/// The position of the QR bit in a frame without VLAN tag, over IPv4.
const FLAGS_IN_FRAME: usize = 14 + 20 + 8 + 2;

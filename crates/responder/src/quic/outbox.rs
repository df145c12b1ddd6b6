//! Packets that are sent at the end of a round.

use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use dnsdyno_sys::udp::{Addresses, Messages, Sender};
use quinn_proto::Transmit;

/// Packets back to back, and their addresses. Packets of one length to one client that follow one
/// another are sent with one header (UDP GSO) by the sender.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    addresses: Vec<Addresses>,
    packet: Vec<u8>,
}

impl Outbox {
    /// Takes all packets that a connection has to send now.
    pub(crate) fn take_packets(&mut self, quic: &mut quinn_proto::Connection) {
        let now = Instant::now();
        loop {
            let mut packet = std::mem::take(&mut self.packet);
            packet.clear();
            let transmit = quic.poll_transmit(now, TRANSMIT_PACKETS, &mut packet);
            if let Some(transmit) = &transmit {
                self.push(transmit, &packet);
            }
            self.packet = packet;
            if transmit.is_none() {
                return;
            }
        }
    }

    /// Appends what is at the start of `bytes`: one packet, or several of one length and a shorter last.
    pub(crate) fn push(&mut self, transmit: &Transmit, bytes: &[u8]) {
        let bytes = &bytes[..transmit.size.min(bytes.len())];
        for packet in bytes.chunks(transmit.segment_size.unwrap_or(bytes.len()).max(1)) {
            self.bytes.extend_from_slice(packet);
            self.ends.push(self.bytes.len() as u32);
            self.addresses.push(Addresses { peer: transmit.destination, local: transmit.src_ip });
        }
    }

    /// Sends all packets. What the kernel does not accept is lost, and QUIC retransmits its contents.
    pub(crate) fn send(&mut self, sender: &mut Sender, socket: &UdpSocket) {
        let mut first = 0;
        let mut tries = 0;
        while first < self.ends.len() {
            let last = (first + SEND_BATCH).min(self.ends.len());
            let messages = Messages::new(&self.bytes, &self.ends[..last]).skip(first);
            let sent = sender.send_to(socket, messages, &self.addresses[first..last]);
            first += sent.accepted;
            match sent.error {
                Some(error) if error.kind() == io::ErrorKind::WouldBlock && tries < SEND_TRIES => {
                    tries += 1;
                    std::thread::sleep(SEND_PAUSE);
                }
                Some(_) => first += 1,
                None => tries = 0,
            }
        }
        self.bytes.clear();
        self.ends.clear();
        self.addresses.clear();
    }
}

/// Packets in one send call.
pub(crate) const SEND_BATCH: usize = 64;

/// Packets of one connection that are taken at a time.
const TRANSMIT_PACKETS: usize = 16;

/// A full send buffer empties at the speed of the interface: retried for 10 ms.
const SEND_TRIES: u32 = 200;
const SEND_PAUSE: Duration = Duration::from_micros(50);

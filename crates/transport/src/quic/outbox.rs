//! Packets to be sent by one socket.

use std::io;
use std::net::UdpSocket;
use std::time::Instant;

use dnsdyno_sys::udp::{Messages, Sender};

/// Packets back to back. Packets of one length that follow one another are sent with one header (UDP GSO)
/// by the sender.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// How many of them were sent.
    gone: usize,
    /// Where the library writes packets to, which it does at the start of a buffer only.
    fresh: Vec<u8>,
}

impl Outbox {
    /// Takes the packets that a connection has to send now, as far as there is space; true where
    /// there may be more.
    pub(crate) fn take_packets(&mut self, quic: &mut quinn_proto::Connection, now: Instant) -> bool {
        while self.ends.len() < MOST_PACKETS {
            self.fresh.clear();
            let Some(transmit) = quic.poll_transmit(now, TRANSMIT_PACKETS, &mut self.fresh) else {
                return false;
            };
            let fresh = &self.fresh[..transmit.size.min(self.fresh.len())];
            for packet in fresh.chunks(transmit.segment_size.unwrap_or(fresh.len()).max(1)) {
                self.bytes.extend_from_slice(packet);
                self.ends.push(self.bytes.len() as u32);
            }
        }
        true
    }

    /// Whether no packet waits to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.gone == self.ends.len()
    }

    /// Sends what the kernel accepts. An error concerns one packet, which is lost; `Ok(false)` where
    /// the socket is full.
    pub(crate) fn send(&mut self, sender: &mut Sender, socket: &UdpSocket) -> io::Result<bool> {
        while self.gone < self.ends.len() {
            let last = (self.gone + SEND_BATCH).min(self.ends.len());
            let messages = Messages::new(&self.bytes, &self.ends[..last]).skip(self.gone);
            let sent = sender.send(socket, messages);
            self.gone += sent.accepted;
            match sent.error {
                None => {}
                Some(error) if is_full(&error) => return Ok(false),
                Some(error) => {
                    // QUIC retransmits its contents where needed.
                    self.gone = (self.gone + 1).min(self.ends.len());
                    return Err(error);
                }
            }
        }
        self.bytes.clear();
        self.ends.clear();
        self.gone = 0;
        Ok(true)
    }
}

/// A socket, and the packets to be sent by it.
pub(crate) struct SendSocket {
    pub(crate) socket: UdpSocket,
    pub(crate) outbox: Outbox,
    /// Whether the kernel accepted no more packets the last time.
    pub(crate) is_full: bool,
    /// Whether its error queue must be read, because a call on it failed.
    pub(crate) has_error: bool,
}

impl SendSocket {
    pub(crate) fn send(&mut self, sender: &mut Sender) {
        self.is_full = false;
        // Each error consumes one packet, so this ends.
        loop {
            match self.outbox.send(sender, &self.socket) {
                Ok(is_all) => return self.is_full = !is_all,
                Err(_) => self.has_error = true,
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM))
}

/// Packets a send call.
pub(crate) const SEND_BATCH: usize = 64;

/// Packets that wait to be sent; one call of the library may exceed it by the packets of that call.
const MOST_PACKETS: usize = 256;

/// Packets of one connection that are taken at a time.
const TRANSMIT_PACKETS: usize = 16;

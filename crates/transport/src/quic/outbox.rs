//! Packets on their way out of one socket.

use std::io;
use std::net::UdpSocket;
use std::time::Instant;

use dnsdyno_sys::udp::{Messages, Sender};

/// Packets back to back. Those of one connection that are equally long leave in one header; the sender
/// sees to that.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Of these, so many have left.
    gone: usize,
    /// What the library writes to, which it does at the start of a buffer only.
    fresh: Vec<u8>,
}

impl Outbox {
    /// Takes what a connection has to send now. What does not fit is asked for after the next sending;
    /// true where there may be more.
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

    /// Whether nothing waits here.
    pub(crate) fn is_empty(&self) -> bool {
        self.gone == self.ends.len()
    }

    /// Sends what the kernel takes. An error is that of a packet, which is lost; `Ok(false)` where the
    /// socket is full.
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
                    // QUIC sends its contents again, if anything takes them.
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

/// A socket, and what leaves by it.
pub(crate) struct SendSocket {
    pub(crate) socket: UdpSocket,
    pub(crate) outbox: Outbox,
    /// Whether the kernel would take no more, the last time.
    pub(crate) is_full: bool,
    /// Whether its error queue must be looked at, because a call on it failed.
    pub(crate) has_error: bool,
}

impl SendSocket {
    pub(crate) fn send(&mut self, sender: &mut Sender) {
        self.is_full = false;
        // Each error takes one packet away, so this ends.
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

/// Packets that wait for one sending; a call of the library may go past it by as many as it gives.
const MOST_PACKETS: usize = 256;

/// Packets of one connection that are asked for at a time.
const TRANSMIT_PACKETS: usize = 16;

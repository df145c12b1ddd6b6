//! What a UDP socket sends: at once, or when it is due.
//!
//! ```text
//!   appended to `message` ──► due now ──► back to back ──► sendmmsg, 64 at a time
//!                        │                     ▲
//!                        └──► due later ──► delay queue
//! ```

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::socket;
use dnsdyno_sys::udp::{Addresses, Messages, Sender};

use crate::queue::DelayQueue;

/// The messages that one UDP socket is to send, each with what its owner books when it was sent.
pub struct Departures<T> {
    sender: Sender,
    bytes: Vec<u8>,
    /// Where each message that is due now ends in `bytes`.
    ends: Vec<u32>,
    addresses: Vec<Addresses>,
    booked: Vec<T>,
    held: DelayQueue<Held<T>>,
    held_bytes: usize,
    most_held_bytes: usize,
    /// Buffers of messages that were held, for the next ones.
    free_buffers: Vec<Vec<u8>>,
}

/// A message that is not due yet.
struct Held<T> {
    booked: T,
    copy: Option<T>,
    addresses: Addresses,
    bytes: Vec<u8>,
}

/// A message has no space: so many octets are held already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBound;

impl<T: Copy> Departures<T> {
    /// Of this socket. Messages that are not due hold up to so many octets.
    pub fn new(socket: &UdpSocket, most_held_bytes: usize) -> Departures<T> {
        Departures {
            sender: Sender::new(BATCH, socket::can_segment(socket)),
            bytes: Vec::new(),
            ends: Vec::new(),
            addresses: Vec::new(),
            booked: Vec::new(),
            held: DelayQueue::new(),
            held_bytes: 0,
            most_held_bytes,
            free_buffers: Vec::new(),
        }
    }

    /// Where the next message is appended.
    #[inline]
    pub fn message(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Removes the message that was appended.
    #[inline]
    pub fn discard(&mut self) {
        self.bytes.truncate(self.begin());
    }

    /// Takes the message that was appended; it is sent again directly after itself where `copy` says what is booked of
    /// that.
    ///
    /// # Errors
    /// It would have to be held, and there is no space for it.
    #[inline]
    pub fn add(
        &mut self,
        booked: T,
        copy: Option<T>,
        addresses: Addresses,
        due_ns: u64,
        now_ns: u64,
    ) -> Result<(), OverBound> {
        if due_ns <= now_ns {
            self.close(booked, copy, addresses);
            return Ok(());
        }
        let message = &self.bytes[self.begin()..];
        let has_space = self.held_bytes + message.len() <= self.most_held_bytes;
        if has_space {
            let mut bytes = self.free_buffers.pop().unwrap_or_default();
            bytes.clear();
            bytes.extend_from_slice(message);
            self.held_bytes += bytes.len();
            self.held.push(due_ns, Held { booked, copy, addresses, bytes });
        }
        self.discard();
        if has_space { Ok(()) } else { Err(OverBound) }
    }

    /// Moves a held message that is due to those that are sent; `false` where there is none.
    #[inline]
    pub fn release(&mut self, now_ns: u64) -> bool {
        let Some(held) = self.held.pop_due(now_ns) else { return false };
        self.held_bytes -= held.bytes.len();
        self.bytes.extend_from_slice(&held.bytes);
        self.close(held.booked, held.copy, held.addresses);
        if self.free_buffers.len() < SPARE_BUFFERS {
            self.free_buffers.push(held.bytes);
        }
        true
    }

    /// Whether it is time to send: what is there still is in the CPU's cache.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.bytes.len() >= MANY_BYTES
    }

    /// Sends what is due. `book` is given each message, with the instant of its sending, or `None` where it could not
    /// be sent.
    pub fn send(&mut self, socket: &UdpSocket, mut book: impl FnMut(T, Option<u64>)) {
        let mut first = 0;
        let mut tries = 0;
        while first < self.ends.len() {
            // A few at a time, so that the instant is that of each of them.
            let last = (first + BATCH).min(self.ends.len());
            let messages = Messages::new(&self.bytes, &self.ends[..last]).skip(first);
            let sent_ns = monotonic_ns();
            let sent = self.sender.send_to(socket, messages, &self.addresses[first..last]);
            self.booked[first..first + sent.accepted].iter().for_each(|booked| book(*booked, Some(sent_ns)));
            first += sent.accepted;
            match sent.error {
                Some(error) if error.kind() == io::ErrorKind::WouldBlock && tries < SEND_TRIES => {
                    tries += 1;
                    std::thread::sleep(SEND_PAUSE);
                }
                Some(_) => {
                    book(self.booked[first], None);
                    first += 1;
                }
                None => tries = 0,
            }
        }
        self.bytes.clear();
        self.ends.clear();
        self.addresses.clear();
        self.booked.clear();
    }

    /// How long no held message is due, in ns; `u64::MAX` where none is held.
    pub fn due_in_ns(&self) -> u64 {
        self.held.next_due_ns().map_or(u64::MAX, |due_ns| due_ns.saturating_sub(monotonic_ns()))
    }

    /// Messages that are held.
    pub fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// Where the message begins that is being appended.
    fn begin(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    #[inline]
    fn close(&mut self, booked: T, copy: Option<T>, addresses: Addresses) {
        let message = self.begin()..self.bytes.len();
        self.push(booked, addresses);
        if let Some(booked) = copy {
            self.bytes.extend_from_within(message);
            self.push(booked, addresses);
        }
    }

    #[inline]
    fn push(&mut self, booked: T, addresses: Addresses) {
        // At most MANY_BYTES and one message twice: far below 4 GiB.
        self.ends.push(self.bytes.len() as u32);
        self.addresses.push(addresses);
        self.booked.push(booked);
    }
}

/// Packets of a send call, and packets that share one instant of sending.
const BATCH: usize = 64;

const MANY_BYTES: usize = 256 * 1024;

const SPARE_BUFFERS: usize = 65_536;

/// A full send buffer empties at the speed of the interface: retried for 10 ms.
const SEND_TRIES: u32 = 200;
const SEND_PAUSE: Duration = Duration::from_micros(50);

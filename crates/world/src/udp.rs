//! The UDP side of a world: one socket at all addresses, a thread each.
//!
//! ```text
//!  recvmmsg ──► world ──► due now ──► outbox ──► sendmmsg, from the address that was asked
//!                 │                     ▲
//!                 └──► due later ──► delay queue: one heap for all servers
//! ```

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dnsdyno_responder::{DelayQueue, Shared};
use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket;
use dnsdyno_sys::thread::set_timer_slack_ns;
use dnsdyno_sys::udp::{Addresses, Messages, Receiver, Sender};

use crate::book::Book;
use crate::world::{Effect, World};
use crate::{Transport, WorldError};

/// Serves one UDP socket.
pub(crate) struct UdpWorker {
    socket: UdpSocket,
    world: Arc<World>,
    book: Arc<Shared<Book>>,
    stop: Arc<AtomicBool>,
    start_ns: u64,
    poller: Poller,
    receiver: Receiver,
    sender: Sender,
    outbox: Outbox,
    queue: DelayQueue<(Addresses, Vec<u8>)>,
    held_bytes: usize,
    /// Buffers of answers that were sent, for the next ones.
    free_buffers: Vec<Vec<u8>>,
}

/// Answers to be sent now, back to back.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    addresses: Vec<Addresses>,
}

impl UdpWorker {
    pub(crate) fn new(
        socket: UdpSocket,
        world: Arc<World>,
        book: Arc<Shared<Book>>,
        stop: Arc<AtomicBool>,
        start_ns: u64,
    ) -> Result<UdpWorker, WorldError> {
        let poller = Poller::new(1).map_err(WorldError::Start)?;
        poller.add(&socket, 0).map_err(WorldError::Start)?;
        socket::join_received(&socket);
        let sender = Sender::new(SEND_BATCH, socket::can_segment(&socket));
        Ok(UdpWorker {
            socket,
            world,
            book,
            stop,
            start_ns,
            poller,
            receiver: Receiver::new(RECEIVE_BATCH),
            sender,
            outbox: Outbox::default(),
            queue: DelayQueue::new(),
            held_bytes: 0,
            free_buffers: Vec::new(),
        })
    }

    /// Serves until it is stopped.
    pub(crate) fn run(mut self) {
        // Without it, answers are sent up to 50 µs later.
        let _ = set_timer_slack_ns(1);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.round() {
                self.book.write().failures.push(format!("a UDP socket failed: {error}"));
                break;
            }
        }
        self.book.write().ends.held += self.queue.len() as u64;
    }

    /// Handles what was received, sends what is due, and waits where there was neither.
    fn round(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.book);
        let mut book = shared.write();
        let received = self.receiver.receive(&self.socket)?;
        let now_ns = monotonic_ns();
        if received > 0 {
            self.handle_received(now_ns, &mut book);
        }
        while let Some((addresses, bytes)) = self.queue.pop_due(now_ns) {
            self.held_bytes -= bytes.len();
            self.outbox.bytes.extend_from_slice(&bytes);
            self.outbox.close(addresses);
            if self.free_buffers.len() < SPARE_BUFFERS {
                self.free_buffers.push(bytes);
            }
            if self.outbox.bytes.len() >= OUTBOX_BYTES {
                self.outbox.send(&mut self.sender, &self.socket, &mut book);
            }
        }
        self.outbox.send(&mut self.sender, &self.socket, &mut book);
        drop(book);
        if received > 0 {
            return Ok(());
        }
        let due_in_ns =
            self.queue.next_due_ns().map_or(u64::MAX, |due_ns| due_ns.saturating_sub(monotonic_ns()));
        if due_in_ns > SPIN_NS {
            let _ready = self.poller.wait(Some((due_in_ns - SPIN_NS).min(STOP_CHECK_NS)))?;
        }
        Ok(())
    }

    fn handle_received(&mut self, now_ns: u64, book: &mut Book) {
        let second = (now_ns.saturating_sub(self.start_ns) / 1_000_000_000) as u32;
        for (piece, packet) in self.receiver.packets() {
            let Some(addresses) = self.receiver.addresses(piece) else { continue };
            let Some(local) = addresses.local else { continue };
            let begin = self.outbox.bytes.len();
            let port = addresses.peer.port();
            let handled = self.world.handle(packet, local, port, Transport::Udp, &mut self.outbox.bytes);
            book.note(&handled, Transport::Udp, second);
            if !matches!(handled.effect, Effect::Answered { .. }) {
                self.outbox.bytes.truncate(begin);
                continue;
            }
            let due_ns = now_ns + handled.delay.as_nanos() as u64;
            if due_ns <= now_ns {
                self.outbox.close(addresses);
                if self.outbox.bytes.len() >= OUTBOX_BYTES {
                    self.outbox.send(&mut self.sender, &self.socket, book);
                }
                continue;
            }
            let answer = &self.outbox.bytes[begin..];
            if self.held_bytes + answer.len() > HELD_BYTES {
                book.ends.over_bound += 1;
            } else {
                let mut bytes = self.free_buffers.pop().unwrap_or_default();
                bytes.clear();
                bytes.extend_from_slice(answer);
                self.held_bytes += bytes.len();
                self.queue.push(due_ns, (addresses, bytes));
            }
            self.outbox.bytes.truncate(begin);
        }
    }
}

impl Outbox {
    /// Ends the answer whose octets were just appended.
    fn close(&mut self, addresses: Addresses) {
        // At most OUTBOX_BYTES and one answer: far below 4 GiB.
        self.ends.push(self.bytes.len() as u32);
        self.addresses.push(addresses);
    }

    /// Sends and books all, and is empty then.
    fn send(&mut self, sender: &mut Sender, socket: &UdpSocket, book: &mut Book) {
        let mut first = 0;
        let mut tries = 0;
        while first < self.ends.len() {
            let last = (first + SEND_BATCH).min(self.ends.len());
            let messages = Messages::new(&self.bytes, &self.ends[..last]).skip(first);
            let sent = sender.send_to(socket, messages, &self.addresses[first..last]);
            book.ends.sent += sent.accepted as u64;
            first += sent.accepted;
            match sent.error {
                Some(error) if error.kind() == io::ErrorKind::WouldBlock && tries < SEND_TRIES => {
                    tries += 1;
                    std::thread::sleep(SEND_PAUSE);
                }
                Some(_) => {
                    book.ends.send_errors += 1;
                    first += 1;
                }
                None => tries = 0,
            }
        }
        self.bytes.clear();
        self.ends.clear();
        self.addresses.clear();
    }
}

/// Pieces a receive call: with UDP GRO each may hold 64 packets.
const RECEIVE_BATCH: usize = 32;

/// Packets a send call.
const SEND_BATCH: usize = 64;

/// The outbox is sent when it has this length: it then still is in the CPU's cache.
const OUTBOX_BYTES: usize = 256 * 1024;

/// Octets of answers that wait for their distance in one thread; further ones are dropped. A hundred thousand a second
/// of 200 octets, each for half a second, take a sixth of it.
const HELD_BYTES: usize = 64 << 20;

const SPARE_BUFFERS: usize = 16_384;

/// The last microseconds before an answer is due are spent polling: waking takes about this long.
const SPIN_NS: u64 = 20_000;

/// How often a thread without work looks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

/// A full send buffer empties at the speed of the interface: retried for 10 ms.
const SEND_TRIES: u32 = 200;
const SEND_PAUSE: Duration = Duration::from_micros(50);

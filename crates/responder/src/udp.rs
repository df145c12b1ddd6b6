//! The UDP side: one thread a socket.
//!
//! ```text
//!  recvmmsg ──► intake ──► due now ──► outbox ──► sendmmsg, 64 at a time
//!                  │                     ▲
//!                  └──► due later ──► delay queue
//! ```
//!
//! A thread waits for its socket until the next response is due, and wakes a little before it: the
//! rest it spends asking the socket, because a sleep that short would end too late.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket;
use dnsdyno_sys::thread::set_timer_slack_ns;
use dnsdyno_sys::udp::{Addresses, Messages, Receiver, Sender};

use crate::book::{ResponseInfo, Side};
use crate::intake::Intake;
use crate::queue::DelayQueue;
use crate::shared::SharedBook;

/// Serves one UDP socket.
pub(crate) struct UdpWorker {
    socket: UdpSocket,
    intake: Intake,
    book: Arc<SharedBook>,
    stop: Arc<AtomicBool>,
    poller: Poller,
    receiver: Receiver,
    sender: Sender,
    outbox: Outbox,
    queue: DelayQueue<Held>,
    /// Bytes of the responses in the queue.
    held_bytes: usize,
    /// Buffers of responses that were sent, for the next ones.
    free_buffers: Vec<Vec<u8>>,
}

/// A response in the queue.
struct Held {
    info: ResponseInfo,
    addresses: Addresses,
    bytes: Vec<u8>,
}

/// Responses to be sent now, back to back.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    addresses: Vec<Addresses>,
    /// `None` for the second copy of a duplicate.
    infos: Vec<Option<ResponseInfo>>,
}

impl UdpWorker {
    pub(crate) fn new(
        socket: UdpSocket,
        intake: Intake,
        book: Arc<SharedBook>,
        stop: Arc<AtomicBool>,
    ) -> io::Result<UdpWorker> {
        let poller = Poller::new(1)?;
        poller.add(&socket, 0)?;
        socket::join_received(&socket);
        let sender = Sender::new(SEND_BATCH, socket::can_segment(&socket));
        Ok(UdpWorker {
            socket,
            intake,
            book,
            stop,
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
        // Without it, responses are sent up to 50 µs later.
        let _ = set_timer_slack_ns(1);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.round() {
                self.book.write().failures.push(format!("the UDP socket failed: {error}"));
                break;
            }
        }
        self.book.write().udp.counts.held_at_stop += self.queue.len() as u64;
    }

    /// Processes what was received, sends what is due, and waits where there was neither.
    fn round(&mut self) -> io::Result<()> {
        let shared = Arc::clone(&self.book);
        let mut book = shared.write();
        let received = self.receiver.receive(&self.socket)?;
        let now_ns = monotonic_ns();
        if received > 0 {
            self.process_received(now_ns, &mut book.udp);
        }
        self.release_due(now_ns, &mut book.udp);
        self.outbox.send(&mut self.sender, &self.socket, &mut book.udp);
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

    fn process_received(&mut self, now_ns: u64, side: &mut Side) {
        for (piece, packet) in self.receiver.packets() {
            let Some(addresses) = self.receiver.addresses(piece) else { continue };
            let begin = self.outbox.bytes.len();
            let Ok(taken) = self.intake.process(packet, now_ns, side, &mut self.outbox.bytes) else {
                continue;
            };
            if taken.due_ns <= now_ns {
                self.outbox.close(taken.info, addresses);
                if self.outbox.bytes.len() >= OUTBOX_BYTES {
                    self.outbox.send(&mut self.sender, &self.socket, side);
                }
                continue;
            }
            let answer = &self.outbox.bytes[begin..];
            if self.held_bytes + answer.len() > HELD_BYTES {
                side.counts.over_bound += 1;
            } else {
                let mut bytes = self.free_buffers.pop().unwrap_or_default();
                bytes.clear();
                bytes.extend_from_slice(answer);
                self.held_bytes += bytes.len();
                self.queue.push(taken.due_ns, Held { info: taken.info, addresses, bytes });
            }
            self.outbox.bytes.truncate(begin);
        }
    }

    fn release_due(&mut self, now_ns: u64, side: &mut Side) {
        while let Some(held) = self.queue.pop_due(now_ns) {
            self.held_bytes -= held.bytes.len();
            self.outbox.bytes.extend_from_slice(&held.bytes);
            self.outbox.close(held.info, held.addresses);
            if self.free_buffers.len() < SPARE_BUFFERS {
                self.free_buffers.push(held.bytes);
            }
            if self.outbox.bytes.len() >= OUTBOX_BYTES {
                self.outbox.send(&mut self.sender, &self.socket, side);
            }
        }
    }
}

impl Outbox {
    /// Ends the response whose bytes were just appended.
    #[inline]
    fn close(&mut self, info: ResponseInfo, addresses: Addresses) {
        let begin = self.ends.last().map_or(0, |end| *end as usize);
        let end = self.bytes.len();
        self.push(end, Some(info), addresses);
        if info.fault == Some(crate::faults::Fault::Duplicate) {
            self.bytes.extend_from_within(begin..end);
            self.push(self.bytes.len(), None, addresses);
        }
    }

    fn push(&mut self, end: usize, info: Option<ResponseInfo>, addresses: Addresses) {
        // At most OUTBOX_BYTES and one response twice: far below 4 GiB.
        self.ends.push(end as u32);
        self.infos.push(info);
        self.addresses.push(addresses);
    }

    /// Sends and books all, and is empty then.
    fn send(&mut self, sender: &mut Sender, socket: &UdpSocket, side: &mut Side) {
        let mut first = 0;
        let mut tries = 0;
        while first < self.ends.len() {
            // A few at a time, so that the instant is that of each of them.
            let last = (first + SEND_BATCH).min(self.ends.len());
            let messages = Messages::new(&self.bytes, &self.ends[..last]).skip(first);
            let sent_ns = monotonic_ns();
            let sent = sender.send_to(socket, messages, &self.addresses[first..last]);
            let infos = &self.infos[first..first + sent.accepted];
            for info in infos {
                match info {
                    Some(info) => side.book_sent(info, sent_ns),
                    None => side.counts.duplicated += 1,
                }
            }
            first += sent.accepted;
            match sent.error {
                Some(error) if error.kind() == io::ErrorKind::WouldBlock && tries < SEND_TRIES => {
                    tries += 1;
                    std::thread::sleep(SEND_PAUSE);
                }
                Some(_) => {
                    side.counts.send_errors += u64::from(self.infos[first].is_some());
                    first += 1;
                }
                None => tries = 0,
            }
        }
        self.bytes.clear();
        self.ends.clear();
        self.addresses.clear();
        self.infos.clear();
    }
}

/// Pieces a receive call: with UDP GRO each may hold 64 packets.
const RECEIVE_BATCH: usize = 32;

/// Packets a send call, and packets that share one instant of sending.
const SEND_BATCH: usize = 64;

/// The outbox is sent when it has this length: it then still is in the CPU's cache.
const OUTBOX_BYTES: usize = 256 * 1024;

/// Bytes of held responses in one thread; further ones are dropped. A stall of a second at a million
/// responses of 100 bytes takes a tenth of it.
const HELD_BYTES: usize = 1 << 30;

const SPARE_BUFFERS: usize = 65_536;

/// The last microseconds before a response is due are spent polling: waking takes about this long.
const SPIN_NS: u64 = 20_000;

/// How often a thread without work looks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

/// A full send buffer empties at the speed of the interface: retried for 10 ms.
const SEND_TRIES: u32 = 200;
const SEND_PAUSE: Duration = Duration::from_micros(50);

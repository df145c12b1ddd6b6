//! The UDP side: one thread a socket.
//!
//! ```text
//!  recvmmsg ──► intake ──► departures ──► sendmmsg
//! ```
//!
//! A thread waits for its socket until the next response is due, and wakes a little before it: the
//! rest it spends asking the socket, because a sleep that short would end too late.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket;
use dnsdyno_sys::thread::set_timer_slack_ns;
use dnsdyno_sys::udp::Receiver;

use crate::book::{ResponseInfo, Side};
use crate::departures::Departures;
use crate::faults::Fault;
use crate::intake::Intake;
use crate::shared::SharedBook;

/// Serves one UDP socket.
pub(crate) struct UdpWorker {
    socket: UdpSocket,
    intake: Intake,
    book: Arc<SharedBook>,
    stop: Arc<AtomicBool>,
    poller: Poller,
    receiver: Receiver,
    /// With `None` for the second copy of a duplicate.
    departures: Departures<Option<ResponseInfo>>,
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
        let departures = Departures::new(&socket, HELD_BYTES);
        Ok(UdpWorker {
            socket,
            intake,
            book,
            stop,
            poller,
            receiver: Receiver::new(RECEIVE_BATCH),
            departures,
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
        self.book.write().udp.counts.held_at_stop += self.departures.held();
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
        while self.departures.release(now_ns) {
            if self.departures.are_many() {
                self.send(&mut book.udp);
            }
        }
        self.send(&mut book.udp);
        drop(book);
        if received > 0 {
            return Ok(());
        }
        let due_in_ns = self.departures.due_in_ns();
        if due_in_ns > SPIN_NS {
            let _ready = self.poller.wait(Some((due_in_ns - SPIN_NS).min(STOP_CHECK_NS)))?;
        }
        Ok(())
    }

    fn process_received(&mut self, now_ns: u64, side: &mut Side) {
        let UdpWorker { socket, intake, receiver, departures, .. } = self;
        for (piece, packet) in receiver.packets() {
            let Some(addresses) = receiver.addresses(piece) else { continue };
            let Ok(taken) = intake.process(packet, now_ns, side, departures.message()) else { continue };
            let copy = (taken.info.fault == Some(Fault::Duplicate)).then_some(None);
            if departures.add(Some(taken.info), copy, addresses, taken.due_ns, now_ns).is_err() {
                side.counts.over_bound += 1;
            }
            if departures.are_many() {
                departures.send(socket, |info, sent_ns| book(side, info, sent_ns));
            }
        }
    }

    fn send(&mut self, side: &mut Side) {
        self.departures.send(&self.socket, |info, sent_ns| book(side, info, sent_ns));
    }
}

/// Books a response that was sent, or could not be.
fn book(side: &mut Side, info: Option<ResponseInfo>, sent_ns: Option<u64>) {
    match (info, sent_ns) {
        (Some(info), Some(sent_ns)) => side.book_sent(&info, sent_ns),
        (None, Some(_)) => side.counts.duplicated += 1,
        (info, None) => side.counts.send_errors += u64::from(info.is_some()),
    }
}

/// Pieces a receive call: with UDP GRO each may hold 64 packets.
const RECEIVE_BATCH: usize = 32;

/// Bytes of held responses in one thread; further ones are dropped. A stall of a second at a million
/// responses of 100 bytes takes a tenth of it.
const HELD_BYTES: usize = 1 << 30;

/// The last microseconds before a response is due are spent polling: waking takes about this long.
const SPIN_NS: u64 = 20_000;

/// How often a thread without work looks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

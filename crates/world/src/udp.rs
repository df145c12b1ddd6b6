//! The UDP side of a world: one socket at all addresses, a thread each.
//!
//! ```text
//!  recvmmsg ──► world ──► departures ──► sendmmsg, from the address that was asked
//! ```

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dnsdyno_responder::{Departures, Shared};
use dnsdyno_sys::clock::monotonic_ns;
use dnsdyno_sys::poll::Poller;
use dnsdyno_sys::socket;
use dnsdyno_sys::thread::set_timer_slack_ns;
use dnsdyno_sys::udp::Receiver;

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
    departures: Departures<()>,
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
        let departures = Departures::new(&socket, HELD_BYTES);
        Ok(UdpWorker {
            socket,
            world,
            book,
            stop,
            start_ns,
            poller,
            receiver: Receiver::new(RECEIVE_BATCH),
            departures,
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
        self.book.write().ends.held += self.departures.held();
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
        while self.departures.release(now_ns) {
            if self.departures.are_many() {
                self.send(&mut book);
            }
        }
        self.send(&mut book);
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

    fn handle_received(&mut self, now_ns: u64, book: &mut Book) {
        let second = (now_ns.saturating_sub(self.start_ns) / 1_000_000_000) as u32;
        let UdpWorker { socket, world, receiver, departures, .. } = self;
        for (piece, packet) in receiver.packets() {
            let Some(addresses) = receiver.addresses(piece) else { continue };
            let Some(local) = addresses.local else { continue };
            let port = addresses.peer.port();
            let handled = world.handle(packet, local, port, Transport::Udp, departures.message());
            book.note(&handled, Transport::Udp, second);
            if !matches!(handled.effect, Effect::Answered { .. }) {
                departures.discard();
                continue;
            }
            let due_ns = now_ns + handled.delay.as_nanos() as u64;
            if departures.add((), None, addresses, due_ns, now_ns).is_err() {
                book.ends.over_bound += 1;
            }
            if departures.are_many() {
                departures.send(socket, |(), sent_ns| book_end(book, sent_ns));
            }
        }
    }

    fn send(&mut self, book: &mut Book) {
        self.departures.send(&self.socket, |(), sent_ns| book_end(book, sent_ns));
    }
}

/// Books an answer that was sent, or could not be.
fn book_end(book: &mut Book, sent_ns: Option<u64>) {
    match sent_ns {
        Some(_) => book.ends.sent += 1,
        None => book.ends.send_errors += 1,
    }
}

/// Pieces a receive call: with UDP GRO each may hold 64 packets.
const RECEIVE_BATCH: usize = 32;

/// Octets of answers that wait for their distance in one thread; further ones are dropped. A hundred thousand a second
/// of 200 octets, each for half a second, take a sixth of it.
const HELD_BYTES: usize = 64 << 20;

/// The last microseconds before an answer is due are spent polling: waking takes about this long.
const SPIN_NS: u64 = 20_000;

/// How often a thread without work looks whether it is to stop.
const STOP_CHECK_NS: u64 = 20_000_000;

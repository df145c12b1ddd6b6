//! The relay's thread: it waits until something arrives or is due, takes in what has arrived, and passes on what is
//! due.
//!
//! One thread has both directions, UDP and TCP: the path is one thing, with one rate and one order.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use dnsdyno_sys::clock::{monotonic_and_wall_ns, monotonic_ns};
use dnsdyno_sys::poll::{Poller, Ready};
use dnsdyno_sys::sleeper::Sleeper;
use dnsdyno_sys::thread::set_timer_slack_ns;

use crate::relay::changes::Order;
use crate::relay::counts::RelayCounts;
use crate::relay::datagrams::{Outgoing, UdpSide};
use crate::relay::streams::Streams;
use crate::relay::tokens::{STREAM, TCP_LISTENER, UDP_LISTENER};
use crate::relay::toward::Toward;
use crate::relay::transit::{Due, Transit};
use crate::shared::Shared;

/// The thread and all that it has.
pub(crate) struct Worker {
    transit: Transit,
    udp: UdpSide,
    streams: Option<Streams>,
    poller: Poller,
    ready: Vec<Ready>,
    sleeper: Sleeper,
    shared: Arc<Shared<RelayCounts>>,
    stop: Arc<AtomicBool>,
    /// Changes of the path.
    orders: Receiver<Order>,
    began_ns: u64,
    next_tick_ns: u64,
}

impl Worker {
    pub(crate) fn new(
        transit: Transit,
        udp: UdpSide,
        streams: Option<Streams>,
        (shared, stop): (Arc<Shared<RelayCounts>>, Arc<AtomicBool>),
        orders: Receiver<Order>,
    ) -> io::Result<Worker> {
        let poller = Poller::new(EVENTS)?;
        poller.add(udp.listener(), UDP_LISTENER)?;
        if let Some(streams) = &streams {
            poller.add_stream(streams.listener(), TCP_LISTENER)?;
        }
        Ok(Worker {
            transit,
            udp,
            streams,
            poller,
            ready: Vec::with_capacity(EVENTS),
            sleeper: Sleeper::default(),
            shared,
            stop,
            orders,
            began_ns: monotonic_ns(),
            next_tick_ns: 0,
        })
    }

    /// Works until it is stopped.
    pub(crate) fn run(mut self) {
        self.sleeper = Sleeper::of_this_thread();
        // Without it, the kernel wakes us up to 50 µs later.
        let _ = set_timer_slack_ns(1);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = self.round() {
                self.shared.write().failures.push(format!("the relay ended early: {error}"));
                break;
            }
        }
        let mut counts = self.shared.write();
        self.udp.clients.count_all_drops(&mut counts.kernel_drops);
        self.udp.count_drops(&mut counts.kernel_drops);
        for toward in Toward::BOTH {
            counts.way_mut(toward).datagrams.held_at_stop += self.transit.held(toward);
        }
        counts.connections.open_at_stop += self.streams.as_ref().map_or(0, Streams::open);
    }

    fn round(&mut self) -> io::Result<()> {
        self.wait()?;
        let shared = Arc::clone(&self.shared);
        let mut counts = shared.write();
        while let Ok(order) = self.orders.try_recv() {
            let (now_ns, wall_ns) = monotonic_and_wall_ns();
            order.carry_out([now_ns.saturating_sub(self.began_ns), wall_ns], &mut self.transit, &mut counts);
        }
        let mut all_ready = std::mem::take(&mut self.ready);
        for ready in all_ready.drain(..) {
            self.take_in(ready, &mut counts)?;
        }
        self.ready = all_ready;
        self.pass_on(&mut counts);
        let now_ns = monotonic_ns();
        if now_ns >= self.next_tick_ns {
            self.tick(now_ns, &mut counts);
        }
        Ok(())
    }

    /// Waits until a socket is ready, or the next is due.
    fn wait(&mut self) -> io::Result<()> {
        let Worker { poller, ready, sleeper, .. } = self;
        let mut failed = None;
        let mut look =
            |now_ns: u64, until_ns: u64| match poller.wait_ready(Some(until_ns.saturating_sub(now_ns))) {
                Ok(found) => {
                    ready.extend(found);
                    !ready.is_empty()
                }
                Err(error) => {
                    failed = Some(error);
                    true
                }
            };
        let due_ns = self.transit.next_due_ns().unwrap_or(u64::MAX);
        let is_ready = look(0, 0);
        // A wait for the tick is not exact: it must not end after something is due.
        if !is_ready && due_ns <= self.next_tick_ns.saturating_add(NEAR_TICK_NS) {
            sleeper.wait_until_ns(due_ns, true, look);
        } else if !is_ready {
            sleeper.wait_until_ns(self.next_tick_ns, false, look);
        }
        failed.map_or(Ok(()), Err)
    }

    /// Takes in what has arrived at a socket.
    fn take_in(&mut self, ready: Ready, counts: &mut RelayCounts) -> io::Result<()> {
        match (ready.token, &mut self.streams) {
            (UDP_LISTENER, _) => self.udp.receive_from_clients(&mut self.transit, &self.poller, counts)?,
            (TCP_LISTENER, Some(streams)) => streams.accept(&self.poller, &mut self.transit, counts),
            (token, Some(streams)) if token & STREAM != 0 => {
                streams.serve(token & !STREAM, ready, &mut self.transit, counts);
            }
            (token, _) => self.udp.receive_from_server(token, &mut self.transit, counts),
        }
        Ok(())
    }

    /// Passes on what is due.
    fn pass_on(&mut self, counts: &mut RelayCounts) {
        let now_ns = monotonic_ns();
        while let Some((due_ns, due)) = self.transit.pop_due(now_ns) {
            match (due, &mut self.streams) {
                (Due::Datagram { toward, client, place, is_copy }, _) => {
                    let outgoing = Outgoing { client, place, due_ns, is_copy };
                    self.udp.add(toward, outgoing, &mut self.transit, counts);
                }
                (due, Some(streams)) => streams.pass_on(due, due_ns, &mut self.transit, counts),
                _ => {}
            }
        }
        self.udp.send(&mut self.transit, counts);
    }

    /// What is done now and then, a little at a time.
    fn tick(&mut self, now_ns: u64, counts: &mut RelayCounts) {
        self.next_tick_ns = now_ns + TICK_NS;
        self.udp.count_drops(&mut counts.kernel_drops);
        self.udp.clients.count_drops(&mut counts.kernel_drops);
        self.udp.clients.close_idle(now_ns, &mut counts.clients, &mut counts.kernel_drops);
        if let Some(streams) = &mut self.streams {
            streams.accept_again(now_ns, &self.poller, &mut self.transit, counts);
        }
    }
}

/// Sockets that one wait reports: what is due does not wait for more of them.
const EVENTS: usize = 32;

/// How often the thread looks at least whether it is to stop or to change the path, and at a few of its clients.
const TICK_NS: u64 = 10_000_000;

/// What is due this soon after a tick is waited for instead of it.
const NEAR_TICK_NS: u64 = 2_000_000;

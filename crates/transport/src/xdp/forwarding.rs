//! Forwards responses that were received by one worker to the worker that sent the query.
//!
//! The network card selects a response's queue by a hash of its own, and the kernel passes the packets of
//! a queue to the sockets of that queue only; the query may have been sent by another worker. Between any
//! two workers is a wait-free ring of bytes, and a worker that sleeps is woken. For the same reason a
//! worker that has finished keeps receiving until all have: the host would get the packets of a queue
//! whose socket is closed.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use rtrb::{Consumer, Producer, RingBuffer};

/// One worker's ends of the rings.
pub(super) struct Forwarding {
    /// From the other workers.
    incoming: Vec<Consumer<u8>>,
    /// To each worker, by number; `None` for the worker itself.
    outgoing: Vec<Option<Outgoing>>,
    wakeup: UnixStream,
    /// Keeps the other end of `wakeup` open when the other workers have ended, or where there are
    /// none: otherwise it would always be readable.
    _own_waker: UnixStream,
    is_asleep: Arc<AtomicBool>,
    message: Vec<u8>,
    lost: u64,
}

struct Outgoing {
    ring: Producer<u8>,
    wakeup: UnixStream,
    is_asleep: Arc<AtomicBool>,
}

impl Forwarding {
    /// For `workers` workers, each connected with each.
    pub(super) fn for_all(workers: usize) -> io::Result<Vec<Forwarding>> {
        let mut all = Vec::with_capacity(workers);
        let mut wakers = Vec::with_capacity(workers);
        for _ in 0..workers {
            let (waker, wakeup) = UnixStream::pair()?;
            waker.set_nonblocking(true)?;
            wakeup.set_nonblocking(true)?;
            wakers.push(waker.try_clone()?);
            all.push(Forwarding {
                incoming: Vec::new(),
                outgoing: Vec::new(),
                wakeup,
                _own_waker: waker,
                is_asleep: Arc::default(),
                message: vec![0; HEAD + LONGEST],
                lost: 0,
            });
        }
        for from in 0..workers {
            for to in 0..workers {
                if from == to {
                    all[from].outgoing.push(None);
                    continue;
                }
                let (ring, other_end) = RingBuffer::new(RING_BYTES);
                all[to].incoming.push(other_end);
                let (wakeup, is_asleep) = (wakers[to].try_clone()?, all[to].is_asleep.clone());
                all[from].outgoing.push(Some(Outgoing { ring, wakeup, is_asleep }));
            }
        }
        Ok(all)
    }

    /// Becomes readable when another worker wants this one to wake up.
    pub(super) fn wakeup(&self) -> &UnixStream {
        &self.wakeup
    }

    /// Whether there is no other worker.
    pub(super) fn is_alone(&self) -> bool {
        self.incoming.is_empty()
    }

    /// Packets that did not fit into a ring.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Forwards a response to the worker that sent its query.
    pub(super) fn send(&mut self, worker: usize, channel: u32, at_ns: u64, bytes: &[u8]) {
        let Some(Some(to)) = self.outgoing.get_mut(worker) else { return };
        let length = HEAD + bytes.len();
        let Some(message) = self.message.get_mut(..length) else {
            self.lost += 1;
            return;
        };
        message[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        message[4..8].copy_from_slice(&channel.to_le_bytes());
        message[8..HEAD].copy_from_slice(&at_ns.to_le_bytes());
        message[HEAD..].copy_from_slice(bytes);
        // All of it or nothing, so that the reader never sees a part.
        if to.ring.push_entire_slice(message).is_err() {
            self.lost += 1;
            return;
        }
        // Either the sleeping worker finds the message in its last check, or this one sees that it
        // sleeps.
        fence(Ordering::SeqCst);
        if to.is_asleep.load(Ordering::Relaxed) && to.is_asleep.swap(false, Ordering::Relaxed) {
            // The socket is full of unread wake-ups: it will wake without this one.
            let _ = (&to.wakeup).write(&[1]);
        }
    }

    /// Passes all forwarded packets to `each`: channel, time of arrival, bytes.
    pub(super) fn receive(&mut self, mut each: impl FnMut(u32, u64, &[u8])) {
        for ring in &mut self.incoming {
            for _ in 0..MOST_AT_ONCE {
                if ring.slots() < HEAD {
                    break;
                }
                let (head, rest) = self.message.split_at_mut(HEAD);
                if ring.pop_entire_slice(head).is_err() {
                    break;
                }
                let number = |from: usize, to: usize| {
                    head[from..to].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
                };
                let (length, channel, at_ns) = (number(0, 4) as usize, number(4, 8) as u32, number(8, HEAD));
                let Some(bytes) = rest.get_mut(..length) else { break };
                if ring.pop_entire_slice(bytes).is_err() {
                    break;
                }
                each(channel, at_ns, bytes);
            }
        }
    }

    /// Announces that this worker is about to sleep; false where a message has arrived and it must
    /// not.
    pub(super) fn fall_asleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_empty = self.incoming.iter().all(|ring| ring.is_empty());
        if !is_empty {
            self.is_asleep.store(false, Ordering::Relaxed);
        }
        is_empty
    }

    /// Announces that this worker is awake, and empties the wake-up socket if it was used.
    pub(super) fn wake_up(&mut self, rang: bool) {
        self.is_asleep.store(false, Ordering::Relaxed);
        if !rang {
            return;
        }
        let mut rings = [0; 64];
        while (&self.wakeup).read(&mut rings).is_ok_and(|count| count == rings.len()) {}
    }
}

/// Length, channel and time.
const HEAD: usize = 16;

/// The longest response that fits into a frame.
const LONGEST: usize = 4_096;

/// Bytes between two workers: some thousand small responses.
const RING_BYTES: usize = 1 << 18;

/// Messages that are taken from one ring before it is time to send again.
const MOST_AT_ONCE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    use dnsdyno_sys::poll::Poller;

    fn letters(forwarding: &mut Forwarding) -> Vec<(u32, u64, Vec<u8>)> {
        let mut letters = Vec::new();
        forwarding.receive(|channel, at_ns, bytes| letters.push((channel, at_ns, bytes.to_vec())));
        letters
    }

    #[test]
    fn forwarded_packets_arrive_whole_in_order_and_at_their_worker_only() {
        let mut all = Forwarding::for_all(3).unwrap();
        let sent: Vec<_> =
            (0..100u32).map(|i| (i, u64::from(i) << 33, vec![i as u8; i as usize * 7])).collect();
        for round in 0..50 {
            for (channel, at_ns, bytes) in &sent {
                all[round % 2].send(2, *channel, *at_ns, bytes);
            }
            assert_eq!(letters(&mut all[2]), sent);
        }
        assert!(letters(&mut all[0]).is_empty() && letters(&mut all[1]).is_empty());
        assert_eq!(all[0].lost() + all[1].lost(), 0);
    }

    #[test]
    fn packets_that_do_not_fit_are_counted_and_the_others_are_whole() {
        let mut all = Forwarding::for_all(2).unwrap();
        let count = 2 * RING_BYTES / 1_016;
        (0..count).for_each(|i| all[0].send(1, i as u32, 0, &[7; 1_000]));
        all[0].send(1, 0, 0, &[0; LONGEST + 1]);
        let mut arrived = 0;
        loop {
            let some = letters(&mut all[1]);
            assert!(some.iter().all(|(_, _, bytes)| bytes == &[7; 1_000]));
            if some.is_empty() {
                break;
            }
            arrived += some.len();
        }
        assert!(arrived > 100);
        assert_eq!(all[0].lost() as usize, count - arrived + 1);
    }

    #[test]
    fn a_forwarded_packet_wakes_a_sleeping_worker_or_prevents_its_sleep() {
        let mut all = Forwarding::for_all(2).unwrap();
        all[0].send(1, 0, 0, b"early");
        assert!(!all[1].fall_asleep());
        letters(&mut all[1]);
        let mut poller = Poller::new(1).unwrap();
        poller.add(all[1].wakeup(), 0).unwrap();
        assert!(all[1].fall_asleep());
        let [first, second] = &mut all[..] else { unreachable!() };
        std::thread::scope(|scope| {
            scope.spawn(|| first.send(1, 0, 0, b"late"));
            let start = Instant::now();
            assert_eq!(poller.wait(Some(5_000_000_000)).unwrap().count(), 1);
            assert!(start.elapsed() < Duration::from_secs(4));
        });
        second.wake_up(true);
        assert_eq!(poller.wait(Some(0)).unwrap().count(), 0, "the wakeup is silent again");
        assert_eq!(letters(second).len(), 1);
    }
}

//! Answers that came to the wrong worker, on their way to the right one.
//!
//! The card chooses an answer's queue by a hash of its own, and the kernel hands a queue's packets
//! to the sockets of that queue alone; the query may have left by another worker. Between any two
//! workers lies a wait-free ring of bytes, and a worker that sleeps is woken.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use rtrb::{Consumer, Producer, RingBuffer};

/// One worker's letter boxes.
pub(super) struct Mailbox {
    /// What others send us.
    incoming: Vec<Consumer<u8>>,
    /// To each worker, by number; ourselves have none.
    outgoing: Vec<Option<Outgoing>>,
    bell: UnixStream,
    /// Held so that the bell has a rope when all others have left, or were never there: one
    /// without is always readable.
    _rope: UnixStream,
    is_asleep: Arc<AtomicBool>,
    letter: Vec<u8>,
    lost: u64,
}

struct Outgoing {
    ring: Producer<u8>,
    bell: UnixStream,
    is_asleep: Arc<AtomicBool>,
}

impl Mailbox {
    /// Boxes for `workers` workers, each connected with each.
    pub(super) fn for_all(workers: usize) -> io::Result<Vec<Mailbox>> {
        let mut boxes = Vec::with_capacity(workers);
        let mut ropes = Vec::with_capacity(workers);
        for _ in 0..workers {
            let (rope, bell) = UnixStream::pair()?;
            rope.set_nonblocking(true)?;
            bell.set_nonblocking(true)?;
            ropes.push(rope.try_clone()?);
            boxes.push(Mailbox {
                incoming: Vec::new(),
                outgoing: Vec::new(),
                bell,
                _rope: rope,
                is_asleep: Arc::default(),
                letter: vec![0; HEAD + LONGEST],
                lost: 0,
            });
        }
        for from in 0..workers {
            for to in 0..workers {
                if from == to {
                    boxes[from].outgoing.push(None);
                    continue;
                }
                let (ring, other_end) = RingBuffer::new(RING_BYTES);
                boxes[to].incoming.push(other_end);
                let (bell, is_asleep) = (ropes[to].try_clone()?, boxes[to].is_asleep.clone());
                boxes[from].outgoing.push(Some(Outgoing { ring, bell, is_asleep }));
            }
        }
        Ok(boxes)
    }

    /// What becomes readable when somebody wants us awake.
    pub(super) fn bell(&self) -> &UnixStream {
        &self.bell
    }

    /// Whether there is no other worker.
    pub(super) fn is_alone(&self) -> bool {
        self.incoming.is_empty()
    }

    /// Packets that did not fit into a ring.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Sends a packet on to the worker whose query it answers.
    pub(super) fn send(&mut self, worker: usize, channel: u32, at_ns: u64, bytes: &[u8]) {
        let Some(Some(to)) = self.outgoing.get_mut(worker) else { return };
        let length = HEAD + bytes.len();
        let Some(letter) = self.letter.get_mut(..length) else {
            self.lost += 1;
            return;
        };
        letter[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        letter[4..8].copy_from_slice(&channel.to_le_bytes());
        letter[8..HEAD].copy_from_slice(&at_ns.to_le_bytes());
        letter[HEAD..].copy_from_slice(bytes);
        // Whole or not at all, so that the reader never sees half a letter.
        if to.ring.push_entire_slice(letter).is_err() {
            self.lost += 1;
            return;
        }
        // Either the sleeper sees the letter in its last look, or we see it asleep.
        fence(Ordering::SeqCst);
        if to.is_asleep.load(Ordering::Relaxed) && to.is_asleep.swap(false, Ordering::Relaxed) {
            // Full of rings that were not heard yet: it will wake without this one.
            let _ = (&to.bell).write(&[1]);
        }
    }

    /// Hands all that came to `each`: channel, time of arrival, bytes.
    pub(super) fn receive(&mut self, mut each: impl FnMut(u32, u64, &[u8])) {
        for ring in &mut self.incoming {
            for _ in 0..MOST_AT_ONCE {
                if ring.slots() < HEAD {
                    break;
                }
                let (head, rest) = self.letter.split_at_mut(HEAD);
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

    /// Says that we are about to sleep; false where a letter has come and we should not.
    pub(super) fn fall_asleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_empty = self.incoming.iter().all(|ring| ring.is_empty());
        if !is_empty {
            self.is_asleep.store(false, Ordering::Relaxed);
        }
        is_empty
    }

    /// Says that we are awake, and silences the bell where it rang.
    pub(super) fn wake_up(&mut self, rang: bool) {
        self.is_asleep.store(false, Ordering::Relaxed);
        if !rang {
            return;
        }
        let mut rings = [0; 64];
        while (&self.bell).read(&mut rings).is_ok_and(|count| count == rings.len()) {}
    }
}

/// Length, channel and time.
const HEAD: usize = 16;

/// The longest answer that fits into a frame.
const LONGEST: usize = 4_096;

/// Room between two workers: some thousand small answers.
const RING_BYTES: usize = 1 << 18;

/// Letters that are taken from one ring before sending gets its turn.
const MOST_AT_ONCE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    use dnsdyno_sys::poll::Poller;

    fn letters(mailbox: &mut Mailbox) -> Vec<(u32, u64, Vec<u8>)> {
        let mut letters = Vec::new();
        mailbox.receive(|channel, at_ns, bytes| letters.push((channel, at_ns, bytes.to_vec())));
        letters
    }

    #[test]
    fn letters_arrive_whole_and_in_order_at_their_worker_alone() {
        let mut boxes = Mailbox::for_all(3).unwrap();
        let sent: Vec<_> =
            (0..100u32).map(|i| (i, u64::from(i) << 33, vec![i as u8; i as usize * 7])).collect();
        for round in 0..50 {
            for (channel, at_ns, bytes) in &sent {
                boxes[round % 2].send(2, *channel, *at_ns, bytes);
            }
            assert_eq!(letters(&mut boxes[2]), sent);
        }
        assert!(letters(&mut boxes[0]).is_empty() && letters(&mut boxes[1]).is_empty());
        assert_eq!(boxes[0].lost() + boxes[1].lost(), 0);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_the_rest_is_whole() {
        let mut boxes = Mailbox::for_all(2).unwrap();
        let count = 2 * RING_BYTES / 1_016;
        (0..count).for_each(|i| boxes[0].send(1, i as u32, 0, &[7; 1_000]));
        boxes[0].send(1, 0, 0, &[0; LONGEST + 1]);
        let mut arrived = 0;
        loop {
            let some = letters(&mut boxes[1]);
            assert!(some.iter().all(|(_, _, bytes)| bytes == &[7; 1_000]));
            if some.is_empty() {
                break;
            }
            arrived += some.len();
        }
        assert!(arrived > 100);
        assert_eq!(boxes[0].lost() as usize, count - arrived + 1);
    }

    #[test]
    fn a_letter_wakes_a_sleeper_and_keeps_one_who_is_about_to_sleep_awake() {
        let mut boxes = Mailbox::for_all(2).unwrap();
        boxes[0].send(1, 0, 0, b"early");
        assert!(!boxes[1].fall_asleep());
        letters(&mut boxes[1]);
        let mut poller = Poller::new(1).unwrap();
        poller.add(boxes[1].bell(), 0).unwrap();
        assert!(boxes[1].fall_asleep());
        let [first, second] = &mut boxes[..] else { unreachable!() };
        std::thread::scope(|scope| {
            scope.spawn(|| first.send(1, 0, 0, b"late"));
            let start = Instant::now();
            assert_eq!(poller.wait(Some(5_000_000_000)).unwrap().count(), 1);
            assert!(start.elapsed() < Duration::from_secs(4));
        });
        second.wake_up(true);
        assert_eq!(poller.wait(Some(0)).unwrap().count(), 0, "the bell is silent again");
        assert_eq!(letters(second).len(), 1);
    }
}

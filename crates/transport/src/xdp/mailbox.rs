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
            ropes.push(rope);
            boxes.push(Mailbox {
                incoming: Vec::new(),
                outgoing: Vec::new(),
                bell,
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
        letter[..4].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        letter[4..8].copy_from_slice(&channel.to_ne_bytes());
        letter[8..HEAD].copy_from_slice(&at_ns.to_ne_bytes());
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
                let number = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
                let length = number(0) as usize;
                let at_ns = u64::from(number(8)) | u64::from(number(12)) << 32;
                let at_ns = if cfg!(target_endian = "little") { at_ns } else { at_ns.rotate_left(32) };
                let Some(bytes) = rest.get_mut(..length) else { break };
                if ring.pop_entire_slice(bytes).is_err() {
                    break;
                }
                each(number(4), at_ns, bytes);
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

    /// Says that we are awake, and silences the bell.
    pub(super) fn wake_up(&mut self) {
        self.is_asleep.store(false, Ordering::Relaxed);
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

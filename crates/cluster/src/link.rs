//! A link between coordinator and agent: its two halves, which carry frames, whatever it is made of.

use std::io::{self, BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::frame::{Frame, Kind};

/// The half of a link that takes frames for the other side.
pub trait Send: std::marker::Send {
    /// Sends a frame. Blocks while the other side takes nothing.
    ///
    /// # Errors
    /// The link has ended.
    fn send(&mut self, frame: &Frame) -> io::Result<()>;
}

/// The half of a link that gives the frames of the other side.
pub trait Receive: std::marker::Send {
    /// Waits for the next frame; `None` where the other side has ended.
    ///
    /// # Errors
    /// The link has ended, or carries something else.
    fn receive(&mut self) -> io::Result<Option<Frame>>;

    /// Why the link has ended, in words of what it is made of: those of `ssh`. Called once it has.
    fn last_words(&mut self) -> String {
        String::new()
    }
}

/// Both halves.
pub struct Link {
    /// To the other side.
    pub send: Box<dyn Send>,
    /// From the other side.
    pub receive: Box<dyn Receive>,
}

impl Link {
    /// A link over two streams of octets.
    pub fn over(
        from: impl Read + std::marker::Send + 'static,
        to: impl Write + std::marker::Send + 'static,
    ) -> Link {
        Link { send: Box::new(Writes(to)), receive: Box::new(Reads(BufReader::new(from))) }
    }
}

/// Writes frames.
pub(crate) struct Writes<W>(pub(crate) W);

impl<W: Write + std::marker::Send> Send for Writes<W> {
    fn send(&mut self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut self.0)
    }
}

/// Reads frames.
struct Reads<R>(BufReader<R>);

impl<R: Read + std::marker::Send> Receive for Reads<R> {
    fn receive(&mut self) -> io::Result<Option<Frame>> {
        Frame::read(&mut self.0)
    }
}

/// The frames that wait to be sent: whoever gives one does not wait for the other side. A thread sends them in order.
#[derive(Clone)]
pub(crate) struct Outbox {
    waiting: Sender<Frame>,
    half: Arc<Mutex<Box<dyn Send>>>,
    backlog: Arc<Backlog>,
}

/// What waits to be sent over a link.
#[derive(Default)]
struct Backlog {
    octets: AtomicUsize,
    has_ended: AtomicBool,
}

impl Outbox {
    pub(crate) fn new(half: Box<dyn Send>) -> io::Result<Outbox> {
        let (waiting, frames): (Sender<Frame>, Receiver<Frame>) = channel();
        let half = Arc::new(Mutex::new(half));
        let sending = Arc::clone(&half);
        let backlog = Arc::<Backlog>::default();
        let left = Arc::clone(&backlog);
        thread::Builder::new().name("link".to_owned()).spawn(move || {
            // A link that has ended is noticed where it is read.
            while let Ok(frame) = frames.recv() {
                if sending.lock().unwrap_or_else(PoisonError::into_inner).send(&frame).is_err() {
                    left.has_ended.store(true, Ordering::Relaxed);
                    return;
                }
                left.octets.fetch_sub(frame.octets.len(), Ordering::Relaxed);
            }
        })?;
        Ok(Outbox { waiting, half, backlog })
    }

    /// Sends a message after those that wait.
    pub(crate) fn message(&self, message: &impl Serialize) {
        self.frame(encoded(message));
    }

    /// Sends a frame after those that wait.
    pub(crate) fn frame(&self, frame: Frame) {
        self.backlog.octets.fetch_add(frame.octets.len(), Ordering::Relaxed);
        // Where the thread has ended, so has the link.
        let _ = self.waiting.send(frame);
    }

    /// The same of a part of a file, once few octets wait: a file may be larger than the memory. `false` where the link
    /// has ended, takes nothing for long, or `goes_on` says no.
    pub(crate) fn part_of_file(&self, octets: Vec<u8>, goes_on: impl Fn() -> bool) -> bool {
        let waiting = || self.backlog.octets.load(Ordering::Relaxed);
        let (mut before, mut since) = (waiting(), Instant::now());
        while waiting() > MOST_WAITING_OCTETS {
            if waiting() != before {
                (before, since) = (waiting(), Instant::now());
            }
            if self.backlog.has_ended.load(Ordering::Relaxed) || since.elapsed() > TAKES_NOTHING || !goes_on()
            {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.frame(Frame { kind: Kind::File, octets });
        true
    }

    /// Sends a message now, past those that wait: for clocks. `message` is made when nothing else is being sent.
    pub(crate) fn message_now<M: Serialize>(&self, message: impl FnOnce() -> M) {
        let mut half = self.half.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = half.send(&encoded(&message()));
    }
}

/// Of files, in the memory of the coordinator for each link.
const MOST_WAITING_OCTETS: usize = 4 << 20;

/// After so long in which a link takes nothing, nothing more of a file is given to it: who reads it says why.
const TAKES_NOTHING: Duration = Duration::from_secs(30);

fn encoded(message: &impl Serialize) -> Frame {
    // Messages are made of what JSON can hold.
    let octets = serde_json::to_vec(message).unwrap_or_default();
    Frame { kind: Kind::Message, octets }
}

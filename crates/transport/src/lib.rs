//! Moving bytes: a batch out, a batch in, and the time at which it happened.
//!
//! A [`Transport`] belongs to one worker. It owns the worker's sockets, here called *channels*
//! because a connection will be one too, and the worker's clock, because the imaginary link
//! ([`sim`]) has a time of its own. It never decides what to send, when, or whether again.
#![forbid(unsafe_code)]

mod batch;
pub mod sim;
mod sleeper;
pub mod udp;
mod worker_clock;
pub mod xdp;

pub use batch::Batch;

use dnsdyno_measure::NotSentReason;

/// One worker's way to the server.
pub trait Transport {
    /// Makes the instant `epoch_ns` (on the clock of the host, or none at all in an imaginary
    /// link) the start of the run, and waits for it. Called once, on the worker's thread.
    fn begin(&mut self, epoch_ns: u64);

    /// How many channels there are; each has its own space of message IDs.
    fn channels(&self) -> usize;

    /// Nanoseconds since the start of the run, the same for all workers of the run.
    fn now_ns(&self) -> u64;

    /// Sends the messages of `batch`, in order, over one channel, without waiting.
    fn send(&mut self, channel: usize, batch: &Batch) -> Sent;

    /// Hands everything that has come to `sink`, without waiting, and returns.
    ///
    /// Takes a bounded number of packets, so that a flood of answers cannot keep the worker
    /// from sending.
    fn receive(&mut self, sink: &mut impl Sink);

    /// Waits until `until_ns`, or shorter, as `wake` has it.
    fn wait(&mut self, until_ns: u64, wake: Wake);

    /// By how much the host's timer has lately been late to end a wait; 0 where it is not known.
    fn oversleep_ns(&self) -> u64 {
        0
    }

    /// Whether answers of other workers come over this transport, so that it must be received from
    /// until all of them are done.
    fn serves_others(&self) -> bool {
        false
    }

    /// What the host has spent on this worker and taken from it, since the start of the run.
    fn resources(&mut self) -> Resources;
}

/// What ends a wait before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something has come.
    OnArrival,
    /// Nothing need do so. A transport that learns the instant of an arrival afterwards sleeps
    /// through, which saves a wake-up for each answer; another one looks at once all the same.
    AtTime,
    /// As `AtTime`, and some microseconds sooner or later will do: nothing is spent awake.
    AboutTime,
}

/// Receives what a transport brings.
pub trait Sink {
    /// A packet came, at `at_ns`.
    fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]);

    /// The network refused a message of ours that starts with the bytes `quoted`.
    fn refused(&mut self, channel: usize, at_ns: u64, quoted: &[u8]);
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The first so many messages left.
    pub accepted: usize,
    /// What holds up the next one; `None` where all left.
    pub stopped: Option<Stopped>,
}

/// Why a message did not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// There is no room now; the same message may leave later.
    Full,
    /// The message cannot leave, and trying it again would not help.
    Failed(NotSentReason),
}

/// What the host has spent on a worker, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// CPU time, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Time in the run queue, ready but without a CPU, in nanoseconds.
    pub cpu_wait_ns: u64,
    /// Packets dropped at the worker's sockets for want of buffer.
    pub socket_drops: u64,
}

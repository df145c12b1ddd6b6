//! Moving bytes: a batch out, a batch in, and the time at which it happened.
//!
//! A [`Transport`] belongs to one worker. It owns the worker's sockets, here called *channels*
//! because a connection will be one too, and the worker's clock, because the imaginary link
//! ([`sim`]) has a time of its own. It never decides what to send, when, or whether again.
#![forbid(unsafe_code)]

mod batch;
mod chance;
mod description;
pub mod mixed;
mod open;
pub mod quic;
pub mod sim;
mod sleeper;
pub mod stream;
mod table;
pub mod tls;
pub mod udp;
mod worker_clock;
pub mod xdp;

pub use batch::Batch;
pub use description::{
    Description, Kind, MemberDescription, Open, OpenError, PartDescription, PartKind, XdpDescription,
};
pub use open::{Opened, Visitor, files, open};

use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, HandshakeFailure, HandshakeKind, NotSentReason, StreamFailure,
};

/// One worker's way to the server.
pub trait Transport {
    /// Whether each channel is a client that has one connection at a time. Such a transport is
    /// asked whose [next client](Self::next_client) it is, and tells the [`Sink`] of its connections.
    const CONNECTS: bool = false;

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

    /// The client that is to ask next, or why none can now; for transports that
    /// [connect](Self::CONNECTS).
    fn next_client(&mut self) -> Result<NextClient, NotSentReason> {
        Ok(NextClient { channel: 0, capacity: usize::MAX })
    }

    /// The client whose turn it is cannot ask: it is the next one's.
    fn pass(&mut self, _channel: usize) {}

    /// How many queries a channel takes now, at least 1, or why it can take none; for queries that only this channel
    /// may send.
    fn capacity_of(&self, _channel: usize) -> Result<usize, NotSentReason> {
        Ok(usize::MAX)
    }

    /// Its channels by kind, in their order.
    fn groups(&self) -> Vec<Group> {
        vec![Group {
            channels: self.channels(),
            connects: Self::CONNECTS,
            most_outstanding: self.most_outstanding(),
            member: 0,
            is_fallback: false,
        }]
    }

    /// The member of the mix whose query the next one is.
    fn next_member(&mut self) -> u8 {
        0
    }

    /// As [next client](Self::next_client), of the channels of one group that connects.
    fn next_client_of(&mut self, _group: usize) -> Result<NextClient, NotSentReason> {
        self.next_client()
    }

    /// How many queries a channel can have under way; `None` = as many as there are IDs.
    fn most_outstanding(&self) -> Option<u32> {
        None
    }

    /// A query of this channel has timed out: nothing waits for its answer any more.
    fn expired(&mut self, _channel: usize) {}

    /// Ends every connection; called once, after the last query has ended.
    fn finish(&mut self, _sink: &mut impl Sink) {}

    /// What the host has spent on this worker and taken from it, since the start of the run.
    fn resources(&mut self) -> Resources;
}

/// Channels of one kind that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many.
    pub channels: usize,
    /// Whether each is a client that has one connection at a time.
    pub connects: bool,
    /// How many queries a channel can have under way; `None` = as many as there are IDs.
    pub most_outstanding: Option<u32>,
    /// The member of the mix that they belong to.
    pub member: u8,
    /// Whether only queries of the group before leave here, whose answers were truncated.
    pub is_fallback: bool,
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

    /// A message came, at `at_ns`, over a connection that queries could leave on from `since_ns` on.
    fn answer(&mut self, channel: usize, at_ns: u64, _since_ns: u64, bytes: &[u8]) -> MessageKind {
        self.packet(channel, at_ns, bytes);
        MessageKind::Answer
    }

    /// Something happened to the connection of a channel.
    fn connection(&mut self, _channel: usize, _at_ns: u64, _news: ConnectionEvent) {}

    /// So many queries left over connections that had carried one before.
    fn reused(&mut self, _queries: u64) {}

    /// An HTTP response came, with this status.
    fn status(&mut self, _status: u16) {}

    /// The stream that the query `id` of this channel had left on at `asked_ns` is over, and brought no
    /// answer. Whoever counts queries decides whether it is asked again, and ends it if not; tells
    /// whether that query was still under way.
    fn stream_failed(&mut self, _channel: usize, _id: u16, _asked_ns: u64, _why: StreamFailure) -> bool {
        false
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextClient {
    /// The client's channel.
    pub channel: usize,
    /// How many queries it takes now; at least 1.
    pub capacity: usize,
}

/// What a message over a connection turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A response that ended an outstanding query.
    Answer,
    /// A response that ended none.
    Unmatched,
    /// No DNS message: nothing that follows on this connection can be trusted.
    Malformed,
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// It was begun: a SYN is on its way.
    Opened,
    /// It could not even be begun. No query was handed over.
    NotOpened(ConnectFailure),
    /// It came to be; it had been begun at `opened_ns`.
    Established {
        /// When the SYN left.
        opened_ns: u64,
    },
    /// Its handshake is done.
    Handshaken {
        /// How.
        kind: HandshakeKind,
        /// When it was begun.
        begun_ns: u64,
    },
    /// Its handshake will not be done; that it has ended is told apart.
    HandshakeFailed(HandshakeFailure),
    /// The server has not taken the queries that travelled with the first flight of its handshake: they
    /// have left again since.
    EarlyRejected,
    /// The first byte came over it.
    FirstByte {
        /// When the SYN left.
        opened_ns: u64,
    },
    /// It did not come to be. Its queries have not been answered, nor will be.
    Failed(ConnectFailure),
    /// It is over. The queries on it that have not been answered will not be.
    Ended {
        /// What ended it.
        end: ConnectionEnd,
        /// Queries that were answered over it.
        answers: u64,
    },
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
    /// There is no way for it now, for this reason; the same message may leave later.
    Later(NotSentReason),
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
    /// IP fragments of responses that AF_XDP could not join, on the interface that all workers share.
    pub fragments: u64,
}

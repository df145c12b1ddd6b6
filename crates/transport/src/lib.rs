//! Moves DNS messages between a worker and the server, and reads the time at which they move.
//!
//! Each worker owns one [`Transport`]: its sockets or connections, called *channels*, and its clock. The clock belongs
//! to the transport because the simulated link ([`sim`]) has a time of its own. A transport does not decide what to
//! send, when to send it, or whether to retry it: the engine does. It reports what it receives to the engine's
//! [`Sink`].
//!
//! A new kind of transport is a module that implements [`Transport`] and [`Open`], and a row in `table.rs`.
#![forbid(unsafe_code)]

mod allowance;
mod batch;
mod bounds;
mod description;
mod explained;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
pub mod mixed;
mod open;
mod proxy;
mod queued;
pub mod quic;
mod random;
pub mod sim;
pub mod stream;
mod table;
pub mod tls;
pub mod udp;
mod worker_clock;
pub mod xdp;

pub use batch::Batch;
pub use description::{
    Description, Kind, MemberDescription, Open, OpenError, PartDescription, PartKind, Pause, SourceEnds,
    SourceLimit, XdpDescription,
};
pub use open::{Opened, Visitor, files, open};
pub use proxy::ProxySource;

use dnsdyno_measure::{
    ConnectFailure, ConnectionEnd, Explanation, HandshakeFailure, HandshakeKind, NotSentReason, StreamFailure,
};

/// The channels of one worker, and its clock.
///
/// A channel is one socket, one source port (AF_XDP), or one client with at most one connection at a time. Channels are
/// numbered from 0, and message IDs are unique within a channel only. All instants are in nanoseconds since the start
/// of the run.
///
/// The worker calls [`begin`](Self::begin) once, then in a loop [`send`](Self::send), [`receive`](Self::receive) and
/// [`wait`](Self::wait), and at the end [`finish`](Self::finish). Only `begin` and `wait` may block. The methods called
/// in the loop should not allocate memory, take a lock or write a log.
///
/// Methods with a default concern some transports only: those with connections, a mix, AF_XDP.
pub trait Transport {
    /// Whether any channels are clients with connections. If so, the worker chooses channels with
    /// [`next_client_of`](Self::next_client_of), and the transport reports its connections to the [`Sink`].
    const CONNECTS: bool = false;

    /// Whether a program of ours in the kernel works for it, which the worker's thread asks and detaches.
    const HAS_PROGRAM: bool = false;

    /// Makes `epoch_ns` the start of the run, and waits for it. `epoch_ns` is an instant of the host's monotonic clock;
    /// the simulated link ignores it. Called once, on the worker's thread.
    fn begin(&mut self, epoch_ns: u64);

    /// The number of channels.
    fn channels(&self) -> usize;

    /// The number of messages that a batch should have at most.
    fn messages_at_once(&self) -> usize {
        Batch::USUAL
    }

    /// The time since the start of the run. All workers of a run have the same time.
    fn now_ns(&self) -> u64;

    /// Sends the messages of `batch` in order over one channel, without blocking. May send only the first of them.
    fn send(&mut self, channel: usize, batch: &Batch) -> Sent;

    /// Passes what has been received to `sink`, without blocking.
    ///
    /// Reads a bounded number of packets, so that a flood of responses cannot keep the worker from sending.
    fn receive(&mut self, sink: &mut impl Sink);

    /// Waits until `until_ns`, or for a shorter time, as `wake` allows.
    fn wait(&mut self, until_ns: u64, wake: Wake);

    /// By how much the host's timer has recently ended waits too late; 0 if unknown.
    fn oversleep_ns(&self) -> u64 {
        0
    }

    /// Whether this transport also receives the responses of other workers. The worker then calls
    /// [`receive`](Self::receive) until all workers are done.
    fn serves_others(&self) -> bool {
        false
    }

    /// The client to send the next queries, or why no client can send now. Only for transports that
    /// [connect](Self::CONNECTS).
    fn next_client(&mut self) -> Result<NextClient, NotSentReason> {
        Ok(NextClient { channel: 0, capacity: usize::MAX })
    }

    /// The client returned by [`next_client`](Self::next_client) has no free message ID: skips it.
    fn pass(&mut self, _channel: usize) {}

    /// How many queries this channel can accept now, at least 1, or why it can accept none. For queries that must use
    /// this channel.
    fn capacity_of(&self, _channel: usize) -> Result<usize, NotSentReason> {
        Ok(usize::MAX)
    }

    /// The channels by kind, in the order of their numbers.
    fn groups(&self) -> Vec<Group> {
        vec![Group {
            channels: self.channels(),
            connects: Self::CONNECTS,
            most_outstanding: self.most_outstanding(),
            at_once: self.messages_at_once(),
            member: 0,
            is_fallback: false,
        }]
    }

    /// The member of the mix that sends the next query.
    fn next_member(&mut self) -> u8 {
        0
    }

    /// The same as [`next_client`](Self::next_client), for a group whose channels are clients.
    fn next_client_of(&mut self, _group: usize) -> Result<NextClient, NotSentReason> {
        self.next_client()
    }

    /// The largest number of outstanding queries of a channel; `None` = limited by the message IDs only.
    fn most_outstanding(&self) -> Option<u32> {
        None
    }

    /// A query of this channel has timed out: its response is no longer expected. Returns whether it has left.
    fn expired(&mut self, _channel: usize, _id: u16) -> Expired {
        Expired::Sent
    }

    /// Closes all connections. Called once, after every query has ended.
    fn finish(&mut self, _sink: &mut impl Sink) {}

    /// What the host has spent on this worker since the start of the run.
    fn resources(&mut self) -> Resources;

    /// What was behind the failures that were reported to the [`Sink`], in words: the first of each kind. Called after
    /// the loop.
    fn explanations(&mut self) -> Vec<Explanation> {
        Vec::new()
    }

    /// What the server has shown of itself in the first completed handshake; `None` before it, and for transports
    /// without one.
    fn peer(&self) -> Option<Peer> {
        None
    }
}

/// What a server shows of itself in a handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// The version of TLS: `TLS 1.3`.
    pub tls_version: Option<String>,
    /// The cipher suite by its IANA name.
    pub cipher_suite: Option<String>,
    /// The protocol that was agreed on (ALPN).
    pub alpn: Option<String>,
    /// The certificates in DER, the server's own first.
    pub certificates: Vec<Vec<u8>>,
}

/// What has become of a query that has timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// It was sent.
    Sent,
    /// Its connection was still being opened, and it has not left over it.
    Waited,
    /// It has waited for the server all the time, over an open connection.
    NeverSent(NeverSent),
}

/// A query that was passed to a connection, and never left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverSent {
    /// Why not.
    pub why: NotSentReason,
    /// The length of its message in octets.
    pub bytes: usize,
}

/// Consecutive channels of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The number of channels.
    pub channels: usize,
    /// Whether each is a client with at most one connection at a time.
    pub connects: bool,
    /// The largest number of outstanding queries of a channel; `None` = limited by the message IDs only.
    pub most_outstanding: Option<u32>,
    /// The number of messages of a batch at most.
    pub at_once: usize,
    /// The member of the mix that the channels belong to.
    pub member: u8,
    /// Whether the group only sends queries of the group before it, after truncated responses.
    pub is_fallback: bool,
}

/// How a wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The arrival of a packet ends the wait. Where not, a transport that gets the time of an arrival from the kernel
    /// sleeps until the end, which saves a wakeup per response; other transports end the wait on arrival.
    pub on_arrival: bool,
    /// The wait is not to end late: CPU time may be spent on precision. Where not, it may also end some microseconds
    /// early.
    pub exactly: bool,
}

impl Wake {
    /// By an arrival, or about at the end.
    pub const ON_ARRIVAL: Wake = Wake { on_arrival: true, exactly: false };
}

/// Gets what a transport receives. All instants are in nanoseconds since the start of the run.
pub trait Sink {
    /// A packet was received at `at_ns`.
    fn packet(&mut self, channel: usize, at_ns: u64, bytes: &[u8]);

    /// The network refused a message that starts with `quoted` (ICMP).
    fn refused(&mut self, channel: usize, at_ns: u64, quoted: &[u8]);

    /// The kernel has stamped the departure of a message over UDP, or the stamp that it was asked for has not come.
    fn departed(&mut self, _departure: Departure) {}

    /// A message was received at `at_ns` over a connection that could carry queries from `ready_ns` on; where each
    /// query has a stream, on that of a query sent at `asked_ns`.
    fn answer(
        &mut self,
        channel: usize,
        at_ns: u64,
        _ready_ns: u64,
        _asked_ns: Option<u64>,
        bytes: &[u8],
    ) -> MessageKind {
        self.packet(channel, at_ns, bytes);
        MessageKind::Answer
    }

    /// The connection of a channel changed its state.
    fn connection(&mut self, _channel: usize, _at_ns: u64, _event: ConnectionEvent) {}

    /// This many queries were sent over connections that had carried a query before.
    fn reused(&mut self, _queries: u64) {}

    /// An HTTP response with this status was received.
    fn status(&mut self, _status: u16) {}

    /// The stream over which query `id` was sent at `sent_ns` has ended without a response. The sink decides whether
    /// the query is retried, and ends it otherwise. Returns whether the query was still outstanding.
    fn stream_failed(&mut self, _channel: usize, _id: u16, _sent_ns: u64, _why: StreamFailure) -> bool {
        false
    }
}

/// The departure of a message, as the kernel stamps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When it was sent.
    pub sent_ns: u64,
    /// How long after that it was passed to the network interface; `None` if no stamp came.
    pub after_ns: Option<u64>,
    /// The mark of the message, if it is the one [marked](Batch::mark) in its batch.
    pub mark: Option<u64>,
}

/// The client that sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextClient {
    /// The client's channel.
    pub channel: usize,
    /// How many queries it can accept now; at least 1.
    pub capacity: usize,
}

/// What a message received over a connection was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A response that ended an outstanding query.
    Answer,
    /// A response that ended none.
    Unmatched,
    /// Not a DNS response: the rest of this connection cannot be parsed reliably.
    Malformed,
}

/// A change of the state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// An attempt to connect started: a SYN was sent.
    Opened,
    /// The attempt could not start. No query was passed to the connection.
    NotOpened(ConnectFailure),
    /// The connection is established.
    Established {
        /// When the attempt started.
        opened_ns: u64,
    },
    /// The handshake is complete.
    Handshaken {
        /// The kind of handshake.
        kind: HandshakeKind,
        /// When the handshake started.
        begun_ns: u64,
    },
    /// The handshake failed. The end of the connection is reported separately.
    HandshakeFailed(HandshakeFailure),
    /// The server rejected the queries sent with the first flight of the handshake (0-RTT). They have been sent again.
    EarlyRejected,
    /// The first byte was received.
    FirstByte {
        /// When the attempt started.
        opened_ns: u64,
    },
    /// None of its queries has left over the connection; its end is reported next.
    NothingSent,
    /// The connection was not established. Its queries get no response over it.
    Failed(ConnectFailure),
    /// The connection has ended. Its outstanding queries get no response over it.
    Ended {
        /// What ended it.
        end: ConnectionEnd,
        /// The number of queries answered over it.
        answers: u64,
    },
}

/// The result of sending a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The number of messages sent: the first ones of the batch.
    pub accepted: usize,
    /// Why the next message was not sent; `None` if all were.
    pub stopped: Option<Stopped>,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The send buffer is full; the same message may be sent later.
    Full,
    /// It cannot be sent now, for this reason; the same message may be sent later.
    Later(NotSentReason),
    /// It cannot be sent, and another attempt would not help.
    Failed(NotSentReason),
}

/// What the host has spent on a worker since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// CPU time, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Time in the run queue, ready but without a CPU, in nanoseconds.
    pub cpu_wait_ns: u64,
    /// Packets dropped at the worker's sockets because their receive buffers were full.
    pub socket_drops: u64,
    /// IP fragments of responses, which AF_XDP cannot reassemble, on the interface that all workers share.
    pub fragments: u64,
}

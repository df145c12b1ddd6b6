//! The layer between the bytes of a connection and DNS messages: a length, TLS, or HTTP over TLS.
//!
//! ```text
//!   messages ── encode ──► session ──► bytes to be written
//!   bytes read ─ read ──► session ──► responses, and bytes to be written
//! ```
//!
//! A session has no socket and no clock. It may hold queries back until its handshake is done. The
//! clients around it, their connections and their counters are the same for all kinds.

use dnsdyno_measure::{
    ConnectionEnd, Explanation, HandshakeFailure, HandshakeKind, NotSentReason, StreamFailure,
};

use super::config::StreamOpenError;
use super::pool::BufferPool;
use crate::explained::Explained;
use crate::{Batch, ConnectionEvent, MessageKind, Peer, Sink};

/// The session of one connection.
pub trait Session: Sized + Send {
    /// The configuration of the sessions of a run.
    type Setup;
    /// What the sessions of a worker have in common.
    type Shared: Send;
    /// Whether a session needs the time at which a query is sent.
    const NEEDS_TIME: bool = false;

    /// What the sessions of a worker with `clients` clients have in common.
    ///
    /// # Errors
    /// Where TLS cannot be set up.
    fn shared(setup: &Self::Setup, clients: usize) -> Result<Self::Shared, StreamOpenError>;

    /// A new session; appends its first bytes to `out`. `None` where it cannot start.
    fn begin(shared: &mut Self::Shared, out: &mut Vec<u8>) -> Option<Self>;

    /// Writes the messages of `batch`, in order, as far as there is capacity; appends what is to be
    /// sent now to `out`. Returns how many were accepted.
    fn encode(&mut self, shared: &mut Self::Shared, batch: &Batch, now_ns: u64, out: &mut Vec<u8>) -> usize;

    /// Reads bytes received over the connection; appends what is to be sent to `out`.
    ///
    /// # Errors
    /// Where the connection cannot be used any more. What is in `out` should still be sent.
    fn read<K: Sink>(
        &mut self,
        shared: &mut Self::Shared,
        pool: &mut BufferPool,
        bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken>;

    /// How many messages it accepts now.
    fn capacity(&self) -> usize {
        usize::MAX
    }

    /// Why it accepts none, where it accepts none: too many are outstanding, or the server allows none.
    fn blocked_by(&self) -> NotSentReason {
        NotSentReason::NoFreeConnection
    }

    /// Bytes that it holds back until the handshake is done.
    fn held_back(&self) -> usize {
        0
    }

    /// Whether its handshake is not done.
    fn is_handshaking(&self) -> bool {
        false
    }

    /// Whether queries were sent with the first flight of the handshake.
    fn has_sent_early(&self) -> bool {
        false
    }

    /// Why the connection accepts no more messages, if it does not, though outstanding queries may
    /// still be answered.
    fn closing(&self) -> Option<ConnectionEnd> {
        None
    }

    /// Cancels queries that were sent before `sent_ns` and are still outstanding, where they occupy
    /// streams.
    fn cancel_before<K: Sink>(
        &mut self,
        _shared: &mut Self::Shared,
        _pool: &mut BufferPool,
        _sent_ns: u64,
        _out: &mut Vec<u8>,
        _reader: &mut Reader<'_, K>,
    ) {
    }

    /// Appends the last bytes before the connection is closed, where there are any.
    fn close(&mut self, _out: &mut Vec<u8>) {}

    /// Returns its buffers.
    fn end(self, pool: &mut BufferPool);

    /// Where the clients of a worker note what was behind a failure, if there are any words for it.
    fn explained(_shared: &mut Self::Shared) -> Option<&mut Explained> {
        None
    }

    /// What was behind the failures of a worker's connections, in words.
    fn explanations(shared: &mut Self::Shared) -> Vec<Explanation> {
        Self::explained(shared).map(Explained::take).unwrap_or_default()
    }

    /// What the server has shown of itself in the first completed handshake.
    fn peer(_shared: &Self::Shared) -> Option<Peer> {
        None
    }
}

/// Why a connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Its handshake failed.
    Handshake(HandshakeFailure),
    /// It has ended, or must be ended, for this reason.
    Ended(ConnectionEnd),
}

/// Takes what a session reads from the bytes of one call, and passes it to the sink.
pub struct Reader<'a, K> {
    pub(super) sink: &'a mut K,
    pub(super) news: &'a mut Vec<(u32, u64, ConnectionEvent)>,
    pub(super) channel: usize,
    pub(super) at_ns: u64,
    /// From when on queries could be sent over the connection.
    pub(super) since_ns: u64,
    /// When the connection was established.
    pub(super) established_ns: u64,
    /// Responses so far that ended a query.
    pub(super) answers: u32,
    /// Outstanding queries that have ended so far.
    pub(super) ended: u32,
    /// Whether a complete message, or handshake, was received.
    pub(super) has_received: bool,
}

impl<'a, K: Sink> Reader<'a, K> {
    /// For what is received at `at_ns`, over a connection with these `since_ns` and `established_ns`.
    pub(super) fn new(
        sink: &'a mut K,
        news: &'a mut Vec<(u32, u64, ConnectionEvent)>,
        channel: usize,
        at_ns: u64,
        (since_ns, established_ns): (u64, u64),
    ) -> Self {
        Reader {
            sink,
            news,
            channel,
            at_ns,
            since_ns,
            established_ns,
            answers: 0,
            ended: 0,
            has_received: false,
        }
    }

    /// A message was received.
    #[inline]
    pub(super) fn answer(&mut self, message: &[u8]) -> MessageKind {
        self.answer_on_stream(None, message)
    }

    /// The same, on the stream of a query that was sent at `asked_ns`.
    #[inline]
    pub(super) fn answer_on_stream(&mut self, asked_ns: Option<u64>, message: &[u8]) -> MessageKind {
        self.has_received = true;
        let came = self.sink.answer(self.channel, self.at_ns, self.since_ns, asked_ns, message);
        if came == MessageKind::Answer {
            self.answers += 1;
            self.ended += 1;
        }
        came
    }

    /// The handshake is done.
    pub(super) fn handshaken(&mut self, kind: HandshakeKind) {
        self.has_received = true;
        let begun_ns = self.established_ns;
        self.report(ConnectionEvent::Handshaken { kind, begun_ns });
        if kind != HandshakeKind::Early {
            self.since_ns = self.at_ns;
        }
    }

    /// Something happened to the connection.
    pub(super) fn report(&mut self, news: ConnectionEvent) {
        self.news.push((self.channel as u32, self.at_ns, news));
    }

    /// An HTTP response was received.
    pub(super) fn status(&mut self, status: u16) {
        self.has_received = true;
        self.sink.status(status);
    }

    /// A stream ended without a response.
    pub(super) fn stream_failed(&mut self, id: u16, sent_ns: u64, why: StreamFailure) {
        self.ended += u32::from(self.sink.stream_failed(self.channel, id, sent_ns, why));
    }
}

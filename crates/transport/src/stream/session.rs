//! What stands between the bytes of a connection and DNS messages: nothing but a length, TLS, or HTTP over
//! TLS.
//!
//! ```text
//!   messages ── ask ──► session ──► bytes to be written
//!   bytes read ─ take ─► session ──► answers, and what it says in return
//! ```
//!
//! A session has no socket and no clock. It may hold back what it is asked until its handshake is done.

use dnsdyno_measure::{ConnectionEnd, HandshakeFailure, HandshakeKind, StreamFailure};

use super::config::StreamOpenError;
use super::pool::BufferPool;
use crate::{Batch, Came, ConnectionNews, Sink};

/// The session of one connection.
pub trait Session: Sized + Send {
    /// What a run says of its sessions.
    type Setup;
    /// What the sessions of a worker have in common.
    type Shared: Send;
    /// Whether a session must know when it was asked.
    const NEEDS_TIME: bool = false;

    /// What the sessions of a worker with `clients` clients have in common.
    ///
    /// # Errors
    /// Where TLS has nothing to offer.
    fn shared(setup: &Self::Setup, clients: usize) -> Result<Self::Shared, StreamOpenError>;

    /// A new session; appends what it says first to `out`. `None` where there is no way to begin.
    fn begin(shared: &mut Self::Shared, out: &mut Vec<u8>) -> Option<Self>;

    /// Asks the messages of `batch`, in order, as far as there is room; appends what is to travel now to
    /// `out`. Tells how many were taken.
    fn encode(&mut self, shared: &mut Self::Shared, batch: &Batch, now_ns: u64, out: &mut Vec<u8>) -> usize;

    /// Takes what came over the connection; appends what is to be said in return to `out`.
    ///
    /// # Errors
    /// Where the connection is of no use any more. What is in `out` should still be said.
    fn read<K: Sink>(
        &mut self,
        shared: &mut Self::Shared,
        pool: &mut BufferPool,
        bytes: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken>;

    /// How many messages it takes now.
    fn capacity(&self) -> usize {
        usize::MAX
    }

    /// Bytes that it holds back.
    fn held_back(&self) -> usize {
        0
    }

    /// Whether its handshake is not done.
    fn is_handshaking(&self) -> bool {
        false
    }

    /// Whether it will never take another message, though those under way may be answered; and what the
    /// connection then ends of.
    fn closing(&self) -> Option<ConnectionEnd> {
        None
    }

    /// Gives up what was asked before `sent_ns` and has not been answered, where that takes room.
    fn cancel_before<K: Sink>(
        &mut self,
        _kit: &mut Self::Shared,
        _asked_ns: u64,
        _out: &mut Vec<u8>,
        _reader: &mut Reader<'_, K>,
    ) {
    }

    /// Appends the last words, where there are any.
    fn close(&mut self, _out: &mut Vec<u8>) {}

    /// Gives its buffers back.
    fn end(self, pool: &mut BufferPool);
}

/// Why a connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Its handshake failed.
    Handshake(HandshakeFailure),
    /// It has to end, or has ended, like this.
    Ended(ConnectionEnd),
}

/// Takes what a session finds in the bytes of one reading, and hands it on.
pub struct Reader<'a, K> {
    pub(super) sink: &'a mut K,
    pub(super) news: &'a mut Vec<(u32, u64, ConnectionNews)>,
    pub(super) channel: usize,
    pub(super) at_ns: u64,
    /// When queries could first leave over the connection.
    pub(super) since_ns: u64,
    /// When the connection came to be.
    pub(super) established_ns: u64,
    /// Answers so far.
    pub(super) answers: u32,
    /// Queries under way that have ended so far.
    pub(super) ended: u32,
    /// Whether anything whole has come.
    pub(super) has_received: bool,
}

impl<K: Sink> Reader<'_, K> {
    /// A message came.
    #[inline]
    pub(super) fn answer(&mut self, message: &[u8]) -> Came {
        self.has_received = true;
        let came = self.sink.answer(self.channel, self.at_ns, self.since_ns, message);
        if came == Came::Answer {
            self.answers += 1;
            self.ended += 1;
        }
        came
    }

    /// The handshake is done.
    pub(super) fn handshaken(&mut self, kind: HandshakeKind) {
        self.has_received = true;
        let begun_ns = self.established_ns;
        self.report(ConnectionNews::Handshaken { kind, begun_ns });
        if kind != HandshakeKind::Early {
            self.since_ns = self.at_ns;
        }
    }

    /// Something happened to the connection.
    pub(super) fn report(&mut self, news: ConnectionNews) {
        self.news.push((self.channel as u32, self.at_ns, news));
    }

    /// An HTTP response came.
    pub(super) fn status(&mut self, status: u16) {
        self.has_received = true;
        self.sink.status(status);
    }

    /// A stream ended without an answer.
    pub(super) fn stream_failed(&mut self, id: u16, sent_ns: u64, why: StreamFailure) {
        self.ended += u32::from(self.sink.stream_failed(self.channel, id, sent_ns, why));
    }
}

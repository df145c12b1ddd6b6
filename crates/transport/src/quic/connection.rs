//! One QUIC connection: each query on a stream of its own, its response on the same stream (RFC 9250, 4.2; RFC 9114,
//! 4). What else is on a stream, its [`Protocol`] knows.
//!
//! ```text
//!   stream 0, 4, 8 ... of QUIC:    ended │ open │ ended │ open │ open │ ──► the next to be opened
//!                                   first ^
//! ```
//!
//! Streams are numbered in the order of opening, so those that have not ended are a range, indexed by
//! their number.

use std::collections::{HashMap, VecDeque};

use bytes::{Bytes, BytesMut};
use dnsdyno_measure::{ConnectionEnd, StreamFailure};
use quinn_proto::{ConnectionHandle, Dir, StreamId, VarInt, WriteError};

use crate::bounds::Unfinished;
use crate::description::Description;
use crate::explained::Explained;
use crate::tls::Tls;
use crate::{Batch, Sink};

/// What is on the streams of a connection: DNS over QUIC, or HTTP/3. The state that it has for each connection.
pub trait Protocol: Default + Send + 'static {
    /// Its name in the handshake (ALPN).
    const ALPN: &'static [u8];
    /// Unidirectional streams that a server may have open.
    const SERVER_STREAMS: u32;
    /// The receive window of a stream, in octets.
    const STREAM_WINDOW: u32;
    /// The error code of a regular end.
    const NO_ERROR: VarInt;
    /// That of a violation.
    const PROTOCOL_ERROR: VarInt;
    /// That of a query whose response is not wanted any more.
    const REQUEST_CANCELLED: VarInt;
    /// That of a server that makes us hold too much.
    const EXCESSIVE_LOAD: VarInt;

    /// What all connections of a worker have in common.
    type Shared: Send;
    /// A response that was received in part.
    type Partial: Partial;

    /// What all connections of a worker have in common.
    fn shared(description: &Description, tls: &Tls) -> Self::Shared;

    /// Makes of each message of a batch what its stream carries, as a part of `bytes`.
    fn frame(shared: &mut Self::Shared, batch: &Batch, framed: &mut Vec<Framed>, bytes: &mut BytesMut);

    /// Streams can be opened from here on: at the beginning, and again where the server has rejected early data.
    fn begin(_connection: &mut Connection<Self>) {}

    /// A query was sent over the connection.
    #[inline]
    fn note_query(&mut self) {}

    /// More can be written, or more streams can be opened.
    fn write_more(_connection: &mut Connection<Self>) {}

    /// The server reads no more of this stream.
    fn take_stop(_connection: &mut Connection<Self>, _stream: StreamId) -> Arrival {
        Arrival::Nothing
    }

    /// Reads what was received on a stream. A complete message is put into `turn.message`, with the ID that the
    /// worker gave the query.
    fn read<K: Sink>(
        connection: &mut Connection<Self>,
        stream: StreamId,
        turn: &mut Turn<'_, Self, K>,
    ) -> Arrival;

    /// Of the last response, which is no DNS message, in words for a user; `None` where the connection is not usable
    /// after one.
    fn garbage_words(_shared: &Self::Shared) -> Option<String> {
        None
    }

    /// How the reset of a stream with this code is counted.
    fn reset_failure(_code: VarInt) -> StreamFailure {
        StreamFailure::Reset
    }

    /// The name of an error code.
    fn name_of(code: VarInt) -> String;
}

/// A part of a response.
pub trait Partial: Default + Send {
    /// Octets of memory that it holds.
    fn held_bytes(&self) -> usize;
}

/// What a connection uses while it reads.
pub struct Turn<'a, P: Protocol, K> {
    pub(crate) shared: &'a mut P::Shared,
    pub(crate) message: &'a mut Vec<u8>,
    pub(crate) unfinished: &'a mut Unfinished,
    pub(crate) explained: &'a mut Explained,
    pub(crate) sink: &'a mut K,
    pub(crate) at_ns: u64,
}

/// A query as it is written to a stream.
#[derive(Clone, Debug)]
pub struct Framed {
    /// Its ID in the worker's table.
    pub(crate) id: u16,
    /// The length of its message.
    pub(crate) message_bytes: u16,
    pub(crate) bytes: Bytes,
}

/// A connection, and its outstanding queries.
pub struct Connection<P: Protocol> {
    pub(crate) quic: quinn_proto::Connection,
    pub(crate) handle: ConnectionHandle,
    /// When the next of its timers that the worker knows of is due.
    pub(crate) timer_ns: Option<u64>,
    /// The number of the first stream in `streams`.
    first: u64,
    /// Those that have ended before an older one are `None`.
    streams: VecDeque<Option<StreamQuery>>,
    /// Responses that were received in part.
    pub(super) partial: HashMap<u64, P::Partial>,
    /// Queries that QUIC has not accepted completely, and the rest of them.
    unwritten: VecDeque<(StreamId, Bytes)>,
    /// What was sent as early data: to be sent again if the server rejects it.
    early: VecDeque<Framed>,
    pub(super) protocol: P,
}

/// A query on a stream of its own.
#[derive(Clone, Copy, Debug)]
pub struct StreamQuery {
    /// Its ID in the worker's table.
    pub(crate) id: u16,
    /// When the stream was opened.
    pub(crate) at_ns: u64,
}

/// The result of reading a stream.
#[derive(Debug)]
pub enum Arrival {
    /// A complete message is in the buffer, with the ID of this query.
    Message(StreamQuery),
    /// The server has reset the stream of this query, with this error code.
    Reset(StreamQuery, VarInt),
    /// The stream of this query has ended without a response, which is explained.
    Failed(StreamQuery, StreamFailure),
    /// The server violates the protocol: the connection must not be used any more.
    Broken(Break),
    /// The worker's connections hold too much of unfinished responses.
    TooMuch,
    /// The server takes no more queries, and has not processed those of streams from this number on.
    GoneFrom(u64),
    /// Part of a message was received.
    Part,
    /// Nothing was received.
    Nothing,
}

/// Why a connection must not be used any more.
#[derive(Debug)]
pub struct Break {
    /// The error code that the server is told.
    pub(crate) code: VarInt,
    /// What it is counted as.
    pub(crate) end: ConnectionEnd,
    /// What the server did.
    pub(crate) words: String,
}

impl<P: Protocol> Connection<P> {
    pub(crate) fn new(quic: quinn_proto::Connection, handle: ConnectionHandle) -> Self {
        Connection {
            quic,
            handle,
            timer_ns: None,
            first: 0,
            streams: VecDeque::new(),
            partial: HashMap::new(),
            unwritten: VecDeque::new(),
            early: VecDeque::new(),
            protocol: P::default(),
        }
    }

    /// Sends a query on a stream of its own; returns it where the server allows no further stream
    /// now.
    pub(crate) fn open_stream(&mut self, framed: Framed, at_ns: u64) -> Result<(), Framed> {
        let Some(stream) = self.quic.streams().open(Dir::Bi) else { return Err(framed) };
        // The library numbers them in order; this keeps `streams` right should it ever start
        // again.
        if self.streams.is_empty() {
            self.first = stream.index();
        }
        self.streams.push_back(Some(StreamQuery { id: framed.id, at_ns }));
        if self.quic.is_handshaking() {
            self.early.push_back(framed.clone());
        }
        self.protocol.note_query();
        let bytes = framed.bytes;
        let rest = if self.unwritten.is_empty() { self.write(stream, bytes) } else { Some(bytes) };
        self.unwritten.extend(rest.map(|rest| (stream, rest)));
        Ok(())
    }

    /// Streams can be opened from here on.
    pub(crate) fn begin(&mut self) {
        P::begin(self);
    }

    /// Passes the rest of the queries to QUIC, as far as it accepts them.
    pub(crate) fn write_rest(&mut self) {
        P::write_more(self);
        while let Some((stream, rest)) = self.unwritten.pop_front() {
            if let Some(rest) = self.write(stream, rest) {
                return self.unwritten.push_front((stream, rest));
            }
        }
    }

    /// Writes a query and finishes our side of the stream; returns what was not accepted.
    fn write(&mut self, stream: StreamId, framed: Bytes) -> Option<Bytes> {
        let mut send = self.quic.send_stream(stream);
        let mut chunks = [framed];
        while !chunks[0].is_empty() {
            match send.write_chunks(&mut chunks) {
                Ok(_) => {}
                Err(WriteError::Blocked) => return Some(std::mem::take(&mut chunks[0])),
                // The server needs no more of the query; it may still answer it.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return None,
            }
        }
        let _ = send.finish();
        None
    }

    /// Cancels the oldest stream if it was opened before `before_ns`.
    pub(crate) fn cancel_oldest(
        &mut self,
        before_ns: u64,
        unfinished: &mut Unfinished,
    ) -> Option<StreamQuery> {
        let oldest = (*self.streams.front()?).filter(|oldest| oldest.at_ns < before_ns)?;
        self.cancel(self.first, P::REQUEST_CANCELLED, unfinished);
        Some(oldest)
    }

    /// Forgets all streams, because the server has rejected the early data; returns the queries to be
    /// sent again.
    pub(crate) fn forget_streams(&mut self, unfinished: &mut Unfinished) -> VecDeque<Framed> {
        self.streams.clear();
        self.release(unfinished);
        self.unwritten.clear();
        self.first = 0;
        self.protocol = P::default();
        std::mem::take(&mut self.early)
    }

    /// The server has accepted the early data.
    pub(crate) fn forget_early(&mut self) {
        self.early = VecDeque::new();
    }

    /// Whether any stream is open: the server has allowed one.
    pub(crate) fn has_streams(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Whether any stream was ever opened.
    pub(crate) fn has_had_streams(&self) -> bool {
        self.first > 0 || self.has_streams()
    }

    /// Gives up the responses that were received in part.
    pub(crate) fn release(&mut self, unfinished: &mut Unfinished) {
        self.partial.drain().for_each(|(_, held)| unfinished.release_bytes(held.held_bytes()));
    }

    /// Takes all streams from this number on out of use, the last first.
    pub(crate) fn cancel_from(&mut self, number: u64, unfinished: &mut Unfinished) -> Vec<StreamQuery> {
        let mut cancelled = Vec::new();
        while let Some(last) = (self.first + self.streams.len() as u64).checked_sub(1)
            && last >= number.max(self.first)
            && let Some(query) = self.streams.back().copied()
        {
            if query.is_some() {
                self.cancel(last, P::REQUEST_CANCELLED, unfinished);
            }
            cancelled.extend(query);
            self.streams.pop_back();
        }
        cancelled
    }

    /// Tells the server that nothing more of this stream is wanted.
    pub(super) fn cancel(&mut self, number: u64, code: VarInt, unfinished: &mut Unfinished) {
        let stream = StreamId::new(quinn_proto::Side::Client, Dir::Bi, number);
        // A stream that has ended cannot be stopped.
        let _ = self.quic.recv_stream(stream).stop(code);
        self.partial.remove(&number).iter().for_each(|held| unfinished.release_bytes(held.held_bytes()));
        self.end(number);
    }

    /// The outstanding query on this stream, if there is one.
    pub(super) fn query_on(&self, number: u64) -> Option<StreamQuery> {
        *self.streams.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?
    }

    pub(super) fn end(&mut self, number: u64) {
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(stream) = place.and_then(|place| self.streams.get_mut(place)) {
            *stream = None;
        }
        while self.streams.front().is_some_and(Option::is_none) {
            self.streams.pop_front();
            self.first += 1;
        }
    }
}

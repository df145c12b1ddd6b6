//! One QUIC connection: each query on a stream of its own, its response on the same stream (RFC 9250,
//! 4.2).
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
use dnsdyno_wire::peek;
use quinn_proto::{ConnectionHandle, Dir, ReadError, StreamId, VarInt, WriteError};

use crate::bounds::{LONGEST_MESSAGE, Unfinished};

/// A connection, and its outstanding queries.
pub(crate) struct Connection {
    pub(crate) quic: quinn_proto::Connection,
    pub(crate) handle: ConnectionHandle,
    /// When the next of its timers that the worker knows of is due.
    pub(crate) timer_ns: Option<u64>,
    /// The number of the first stream in `streams`.
    first: u64,
    /// Those that have ended before an older one are `None`.
    streams: VecDeque<Option<StreamQuery>>,
    /// Responses that were received in part.
    partial: HashMap<u64, Vec<u8>>,
    /// Queries that QUIC has not accepted completely, and the rest of them.
    unwritten: VecDeque<(StreamId, Bytes)>,
    /// What was sent as early data: to be sent again if the server rejects it.
    early: VecDeque<Early>,
}

/// A query on a stream of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamQuery {
    /// Its ID in the worker's table.
    pub(crate) id: u16,
    /// When the stream was opened.
    pub(crate) at_ns: u64,
}

/// A query that was sent as early data.
pub(crate) struct Early {
    /// Its ID in the worker's table.
    pub(crate) id: u16,
    /// The message with its length before it, as it is sent.
    pub(crate) framed: Bytes,
}

/// The result of reading a stream.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A complete message is in the buffer, with the ID of its query.
    Message,
    /// The server has reset the stream of this query, with this error code.
    Reset(StreamQuery, VarInt),
    /// The server violates RFC 9250, by this: the connection must not be used any more.
    Broken(&'static str),
    /// The worker's connections hold too much of unfinished responses.
    TooMuch,
    /// Part of a message was received.
    Part,
    /// Nothing was received.
    Nothing,
}

impl Connection {
    pub(crate) fn new(quic: quinn_proto::Connection, handle: ConnectionHandle) -> Connection {
        Connection {
            quic,
            handle,
            timer_ns: None,
            first: 0,
            streams: VecDeque::new(),
            partial: HashMap::new(),
            unwritten: VecDeque::new(),
            early: VecDeque::new(),
        }
    }

    /// Sends a query on a stream of its own; returns it where the server allows no further stream
    /// now.
    pub(crate) fn open_stream(&mut self, id: u16, framed: Bytes, at_ns: u64) -> Result<(), Bytes> {
        let Some(stream) = self.quic.streams().open(Dir::Bi) else { return Err(framed) };
        // The library numbers them in order; this keeps `streams` right should it ever start
        // again.
        if self.streams.is_empty() {
            self.first = stream.index();
        }
        self.streams.push_back(Some(StreamQuery { id, at_ns }));
        if self.quic.is_handshaking() {
            self.early.push_back(Early { id, framed: framed.clone() });
        }
        let rest = if self.unwritten.is_empty() { self.write(stream, framed) } else { Some(framed) };
        self.unwritten.extend(rest.map(|rest| (stream, rest)));
        Ok(())
    }

    /// Passes the rest of the queries to QUIC, as far as it accepts them.
    pub(crate) fn write_rest(&mut self) {
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

    /// Reads what was received on a stream. A complete message is put into `message`, with the ID
    /// that the worker gave the query.
    pub(crate) fn read(
        &mut self,
        stream: StreamId,
        message: &mut Vec<u8>,
        unfinished: &mut Unfinished,
    ) -> Arrival {
        let number = stream.index();
        let mut receive = self.quic.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return Arrival::Nothing };
        let mut held = if self.partial.is_empty() { None } else { self.partial.remove(&number) };
        held.iter().for_each(|held| unfinished.release(held));
        let (mut is_ended, mut reset, mut has_read) = (false, None, false);
        // Nearly every response is received in one piece.
        let mut whole = Bytes::new();
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    has_read = true;
                    match &mut held {
                        Some(held) => held.extend_from_slice(&chunk.bytes),
                        None if whole.is_empty() => whole = chunk.bytes,
                        None => held = Some([&whole[..], &chunk.bytes].concat()),
                    }
                }
                Ok(None) => is_ended = true,
                Err(ReadError::Blocked) => {}
                Err(ReadError::Reset(code)) => reset = Some(code),
            }
            let length = held.as_ref().map_or(whole.len(), Vec::len);
            if is_ended || reset.is_some() || !has_read || length > MOST_BYTES {
                break;
            }
            has_read = false;
        }
        let _ = chunks.finalize();
        let received = held.as_deref().unwrap_or(&whole);
        let query = self.query_on(number);
        let arrival = match reset {
            Some(code) => query.map_or(Arrival::Nothing, |query| Arrival::Reset(query, code)),
            None => take(received, is_ended, query.map(|query| query.id), message),
        };
        match arrival {
            Arrival::Part => {
                let held = held.unwrap_or_else(|| whole.to_vec());
                let is_bounded = unfinished.hold(&held);
                self.partial.insert(number, held);
                return is_bounded.map_or(Arrival::TooMuch, |()| Arrival::Part);
            }
            Arrival::Message | Arrival::Reset(..) => self.end(number),
            Arrival::Broken(_) | Arrival::TooMuch | Arrival::Nothing => {}
        }
        arrival
    }

    /// Cancels the oldest stream if it was opened before `before_ns`.
    pub(crate) fn cancel_oldest(
        &mut self,
        before_ns: u64,
        unfinished: &mut Unfinished,
    ) -> Option<StreamQuery> {
        let oldest = (*self.streams.front()?).filter(|oldest| oldest.at_ns < before_ns)?;
        self.cancel(self.first, unfinished);
        Some(oldest)
    }

    /// Forgets all streams, because the server has rejected the early data; returns the queries to be
    /// sent again.
    pub(crate) fn forget_streams(&mut self, unfinished: &mut Unfinished) -> VecDeque<Early> {
        self.streams.clear();
        self.release(unfinished);
        self.unwritten.clear();
        self.first = 0;
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
        self.partial.drain().for_each(|(_, held)| unfinished.release(&held));
    }

    fn cancel(&mut self, number: u64, unfinished: &mut Unfinished) {
        let stream = StreamId::new(quinn_proto::Side::Client, Dir::Bi, number);
        // A stream that has ended cannot be stopped.
        let _ = self.quic.recv_stream(stream).stop(REQUEST_CANCELLED);
        self.partial.remove(&number).iter().for_each(|held| unfinished.release(held));
        self.end(number);
    }

    /// The outstanding query on this stream, if there is one.
    fn query_on(&self, number: u64) -> Option<StreamQuery> {
        *self.streams.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?
    }

    fn end(&mut self, number: u64) {
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

/// Interprets the bytes of a stream; `query` is the ID of its query.
pub(super) fn take(received: &[u8], is_ended: bool, query: Option<u16>, message: &mut Vec<u8>) -> Arrival {
    let Some(id) = query else {
        // After the message of an ended stream nothing but the end may follow.
        let more = Arrival::Broken("more than one message on a stream");
        return if received.is_empty() { Arrival::Nothing } else { more };
    };
    let told = received.first_chunk().map(|length| LENGTH_BYTES + usize::from(u16::from_be_bytes(*length)));
    match told {
        Some(told) if received.len() > told => Arrival::Broken("more than one message on a stream"),
        Some(told) if received.len() == told => {
            message.clear();
            message.extend_from_slice(&received[LENGTH_BYTES..]);
            // An ID other than 0 violates 4.2.1. A malformed message is reported by the code
            // that pairs it.
            if message.first_chunk() != Some(&[0, 0]) && peek(message).is_ok() {
                return Arrival::Broken("a response with another ID than 0");
            }
            if let Some(place) = message.first_chunk_mut() {
                *place = id.to_be_bytes();
            }
            Arrival::Message
        }
        // The stream ended before its message was complete (4.3.3).
        _ if is_ended => Arrival::Broken("a response that ends before its length"),
        _ if received.is_empty() => Arrival::Nothing,
        _ => Arrival::Part,
    }
}

/// Puts messages behind their lengths, with the ID that they have over QUIC, into `bytes`. Gives each
/// with its original ID.
pub(crate) fn frame<'a>(
    messages: impl Iterator<Item = &'a [u8]>,
    framed: &mut Vec<(u16, Bytes)>,
    bytes: &mut BytesMut,
) {
    framed.clear();
    for message in messages {
        let id = message.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
        bytes.extend_from_slice(&(message.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&[0; ID_BYTES][..ID_BYTES.min(message.len())]);
        bytes.extend_from_slice(message.get(ID_BYTES..).unwrap_or_default());
        framed.push((id, bytes.split().freeze()));
    }
}

/// Bytes of the length before a message, and of the ID at its start.
pub(crate) const LENGTH_BYTES: usize = 2;
const ID_BYTES: usize = 2;

/// A message with its length; more is an error.
const MOST_BYTES: usize = LENGTH_BYTES + LONGEST_MESSAGE;

/// Error codes of RFC 9250 §4.3.
pub(crate) const NO_ERROR: VarInt = VarInt::from_u32(0);
pub(crate) const PROTOCOL_ERROR: VarInt = VarInt::from_u32(2);
const REQUEST_CANCELLED: VarInt = VarInt::from_u32(3);
pub(crate) const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(4);

#[cfg(test)]
mod tests {
    use super::*;

    /// A response to a query for `a.`, with this ID, preceded by its length.
    fn answer(id: u16) -> Vec<u8> {
        let mut message = Vec::new();
        dnsdyno_wire::QueryForm::default().encode(b"\x01a\x00", 1, &mut message);
        message[..2].copy_from_slice(&id.to_be_bytes());
        message[2] |= 0x80;
        [&(message.len() as u16).to_be_bytes()[..], &message].concat()
    }

    fn taken(received: &[u8], is_ended: bool) -> (Arrival, Vec<u8>) {
        let mut message = Vec::new();
        (take(received, is_ended, Some(0x1234), &mut message), message)
    }

    #[test]
    fn a_response_gets_the_id_of_its_query_back_whether_or_not_the_stream_has_ended() {
        for is_ended in [false, true] {
            let (arrival, message) = taken(&answer(0), is_ended);
            assert!(matches!(arrival, Arrival::Message), "{arrival:?}");
            assert_eq!((&message[..2], &message[3..]), (&[0x12, 0x34][..], &answer(0)[5..]));
        }
    }

    #[test]
    fn violations_of_dns_over_quic_are_distinguished_from_incomplete_messages() {
        let whole = answer(0);
        let more = [&whole[..], b"x"].concat();
        for (received, is_ended) in
            [(&answer(7)[..], true), (&more[..], false), (&whole[..9], true), (b"\0", true), (b"", true)]
        {
            let (arrival, _) = taken(received, is_ended);
            assert!(matches!(arrival, Arrival::Broken(_)), "{arrival:?} of {received:?}");
        }
        assert!(matches!(taken(&whole[..9], false).0, Arrival::Part));
        assert!(matches!(taken(b"", false).0, Arrival::Nothing));
        // Not a message: the code that pairs it reports that.
        assert!(matches!(taken(b"\0\x03abc", true).0, Arrival::Message));
        assert!(matches!(take(b"x", false, None, &mut Vec::new()), Arrival::Broken(_)));
        assert!(matches!(take(b"", true, None, &mut Vec::new()), Arrival::Nothing));
    }

    #[test]
    fn messages_are_sent_with_their_length_and_id_0() {
        let mut framed = Vec::new();
        frame([&b"\x12\x34rest"[..], b"\x00\x05", b"x"].into_iter(), &mut framed, &mut BytesMut::new());
        let expected: [(u16, &[u8]); 3] = [(0x1234, b"\0\x06\0\0rest"), (5, b"\0\x02\0\0"), (0, b"\0\x01\0")];
        assert_eq!(framed.len(), 3);
        for ((id, bytes), (expected_id, expected)) in framed.iter().zip(expected) {
            assert_eq!((*id, &bytes[..]), (expected_id, expected));
        }
    }
}

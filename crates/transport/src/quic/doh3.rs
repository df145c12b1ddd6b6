//! DNS over HTTP/3 on the streams of a connection (RFC 8484, RFC 9114): a request and its response on each, and what
//! the server says over streams of its own.
//!
//! ```text
//!   query ─► HEADERS (, DATA) ─► stream 0, 4, 8 ... ─► HEADERS, DATA ─► response, or why there is none
//!                  SETTINGS ─► our control stream, and the server's ─► GOAWAY
//! ```
//!
//! A request refers to the static table of QPACK and has the rest as literals: without a dynamic table no response
//! waits for another stream.

use std::collections::HashMap;

use bytes::BytesMut;
use dnsdyno_http::h3::code::{self, Violation};
use dnsdyno_http::h3::frame::{DATA, HEADERS, put_frame};
use dnsdyno_http::h3::qpack::{Decoder, RequestFields};
use dnsdyno_http::h3::unidirectional::{Incoming, Peer, Reader, Said, put_control};
use dnsdyno_http::h3::{Response, Wrong};
use dnsdyno_http::{Carried, Head, OtherType, message_of, words_of};
use dnsdyno_measure::StreamFailure;
use quinn_proto::{Dir, ReadError, StreamId, VarInt};

use super::connection::{Arrival, Break, Connection, Framed, Partial, Protocol, StreamQuery, Turn};
use crate::allowance::{Allowance, TOO_MANY_IDLE};
use crate::bounds::{HEADER_BLOCK_BYTES, HTTP_STREAM_WINDOW, SHOWN_CHARACTERS};
use crate::description::Description;
use crate::tls::Tls;
use crate::{Batch, Sink};

/// DNS over HTTP/3, and what a connection of it has said beside requests and responses.
pub struct Doh3 {
    /// Our control stream, once the server allows it.
    control: Option<StreamId>,
    /// What is to be sent over it, and was not yet.
    unsent: Vec<u8>,
    /// What the server has said over its streams.
    server: Peer,
    /// Those of them that it has not ended.
    incoming: HashMap<u64, Incoming>,
    /// Frames that bring no response and are still accepted.
    allowance: Allowance,
}

/// What the connections of a worker have in common.
pub struct Doh3Shared {
    carried: Carried,
    fields: RequestFields,
    section: Vec<u8>,
    request: Vec<u8>,
    decoder: Decoder,
    other_type: OtherType,
    /// For the next response; most are received in one piece, and it is used for all of these.
    fresh: Response,
    /// The head of the last complete response.
    head: Head,
}

impl Partial for Response {
    fn held_bytes(&self) -> usize {
        Response::held_bytes(self)
    }
}

impl Default for Doh3 {
    fn default() -> Self {
        Doh3 {
            control: None,
            unsent: Vec::new(),
            server: Peer::new(Reader::Client),
            incoming: HashMap::new(),
            allowance: Allowance::new(),
        }
    }
}

impl Protocol for Doh3 {
    /// RFC 9114, 3.1.
    const ALPN: &'static [u8] = b"h3";
    /// Three that a server needs, and some of types that nobody knows.
    const SERVER_STREAMS: u32 = 8;
    const STREAM_WINDOW: u32 = HTTP_STREAM_WINDOW;
    const NO_ERROR: VarInt = VarInt::from_u32(code::NO_ERROR as u32);
    const PROTOCOL_ERROR: VarInt = VarInt::from_u32(code::GENERAL_PROTOCOL_ERROR as u32);
    const REQUEST_CANCELLED: VarInt = VarInt::from_u32(code::REQUEST_CANCELLED as u32);
    const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(code::EXCESSIVE_LOAD as u32);

    type Shared = Doh3Shared;
    type Partial = Response;

    fn shared(description: &Description, tls: &Tls) -> Doh3Shared {
        let authority = tls.authority(description.server.port());
        let (path, is_get) = (&description.http_path, description.http_get);
        Doh3Shared {
            carried: Carried::new(path, is_get),
            fields: RequestFields::new(&authority, path, is_get),
            section: Vec::new(),
            request: Vec::new(),
            decoder: Decoder::default(),
            other_type: OtherType::default(),
            fresh: Response::default(),
            head: Head::default(),
        }
    }

    fn frame(shared: &mut Doh3Shared, batch: &Batch, framed: &mut Vec<Framed>, bytes: &mut BytesMut) {
        framed.clear();
        let Doh3Shared { carried, fields, section, request, .. } = shared;
        for message in batch.iter() {
            let id = carried.take(message);
            section.clear();
            fields.put(section, carried.path(), message.len());
            request.clear();
            put_frame(request, HEADERS, section.len());
            request.extend_from_slice(section);
            if let Some(body) = carried.body() {
                put_frame(request, DATA, body.len());
                request.extend_from_slice(body);
            }
            bytes.extend_from_slice(request);
            framed.push(Framed { id, message_bytes: message.len() as u16, bytes: bytes.split().freeze() });
        }
    }

    fn begin(connection: &mut Connection<Doh3>) {
        let unsent = &mut connection.protocol.unsent;
        unsent.clear();
        put_control(unsent, HEADER_BLOCK_BYTES);
        Self::write_more(connection);
    }

    fn note_query(&mut self) {
        self.allowance.note_query();
    }

    fn write_more(connection: &mut Connection<Doh3>) {
        let Connection { quic, protocol: Doh3 { control, unsent, .. }, .. } = connection;
        if unsent.is_empty() {
            return;
        }
        if control.is_none() {
            *control = quic.streams().open(Dir::Uni);
        }
        let Some(stream) = *control else { return };
        let mut send = quic.send_stream(stream);
        // The server should know our settings before our requests.
        let _ = send.set_priority(1);
        if let Ok(written) = send.write(unsent) {
            unsent.drain(..written);
        }
    }

    fn take_stop(_: &mut Connection<Doh3>, stream: StreamId) -> Arrival {
        match stream.dir() {
            Dir::Uni => broken(&CONTROL_STOPPED),
            Dir::Bi => Arrival::Nothing,
        }
    }

    fn read<K: Sink>(
        connection: &mut Connection<Doh3>,
        stream: StreamId,
        turn: &mut Turn<'_, Doh3, K>,
    ) -> Arrival {
        match stream.dir() {
            Dir::Bi => read_response(connection, stream, turn),
            Dir::Uni => read_unidirectional(connection, stream, turn.at_ns),
        }
    }

    fn garbage_words(shared: &Doh3Shared) -> Option<String> {
        let (why, other) = (StreamFailure::NoMessage, &shared.other_type);
        Some(words_of(why, &shared.head, other, SHOWN_CHARACTERS))
    }

    fn reset_failure(code: VarInt) -> StreamFailure {
        match code.into_inner() {
            code::REQUEST_REJECTED => StreamFailure::Refused,
            _ => StreamFailure::Reset,
        }
    }

    fn name_of(code: VarInt) -> String {
        code::name_of(code.into_inner())
    }
}

/// How far a stream could be read.
enum Reached {
    End,
    /// More follows later.
    Pause,
    Reset(VarInt),
    Wrong(Wrong),
}

/// Reads what was received of a response.
fn read_response<K: Sink>(
    connection: &mut Connection<Doh3>,
    stream: StreamId,
    turn: &mut Turn<'_, Doh3, K>,
) -> Arrival {
    let number = stream.index();
    let query = connection.query_on(number);
    let mut receive = connection.quic.recv_stream(stream);
    let Ok(mut chunks) = receive.read(true) else { return Arrival::Nothing };
    let held = if connection.partial.is_empty() { None } else { connection.partial.remove(&number) };
    held.iter().for_each(|held| turn.unfinished.release_bytes(held.held_bytes()));
    let mut has_begun = held.is_some();
    let Doh3Shared { decoder, other_type, fresh, .. } = &mut *turn.shared;
    let mut response = held.unwrap_or_else(|| std::mem::take(fresh));
    let mut idle = 0;
    let reached = loop {
        match chunks.next(usize::MAX) {
            // Of a query that has ended.
            Ok(Some(_)) if query.is_none() => idle += 1,
            Ok(Some(chunk)) => {
                has_begun = true;
                match response.take(&chunk.bytes, decoder, other_type, HEADER_BLOCK_BYTES) {
                    Ok(taken) => {
                        idle += taken.idle;
                        taken.status.into_iter().for_each(|status| turn.sink.status(status));
                    }
                    Err(wrong) => break Reached::Wrong(wrong),
                }
            }
            Ok(None) => break Reached::End,
            Err(ReadError::Blocked) => break Reached::Pause,
            Err(ReadError::Reset(code)) => break Reached::Reset(code),
        }
    };
    let _ = chunks.finalize();
    let Some(query) = query else { return allowed(connection, idle, turn.at_ns, Arrival::Nothing) };
    let arrival = match reached {
        Reached::Pause if has_begun => {
            let is_bounded = turn.unfinished.hold_bytes(response.held_bytes());
            connection.partial.insert(number, std::mem::take(&mut response));
            is_bounded.map_or(Arrival::TooMuch, |()| Arrival::Part)
        }
        Reached::Pause => Arrival::Nothing,
        Reached::Reset(code) => {
            connection.end(number);
            Arrival::Reset(query, code)
        }
        Reached::Wrong(wrong) => failed(connection, number, query, wrong, turn),
        Reached::End => match response.end() {
            Ok((head, body)) => {
                connection.end(number);
                complete(query, head, body, turn)
            }
            Err(wrong) => failed(connection, number, query, wrong, turn),
        },
    };
    response.clear();
    turn.shared.fresh = response;
    allowed(connection, idle, turn.at_ns, arrival)
}

/// A complete response.
fn complete<K>(query: StreamQuery, head: Head, body: &[u8], turn: &mut Turn<'_, Doh3, K>) -> Arrival {
    match message_of(&head, body) {
        Ok(message) => {
            turn.message.clear();
            turn.message.extend_from_slice(message);
            if let Some(id) = turn.message.first_chunk_mut() {
                *id = query.id.to_be_bytes();
            }
            turn.shared.head = head;
            Arrival::Message(query)
        }
        Err(why) => {
            let other = &turn.shared.other_type;
            turn.explained.stream(why, || words_of(why, &head, other, SHOWN_CHARACTERS));
            Arrival::Failed(query, why)
        }
    }
}

/// The server violates HTTP/3 on the stream of this query.
#[cold]
fn failed<K>(
    connection: &mut Connection<Doh3>,
    number: u64,
    query: StreamQuery,
    wrong: Wrong,
    turn: &mut Turn<'_, Doh3, K>,
) -> Arrival {
    let (code, what) = match wrong {
        Wrong::Connection(violation) => return broken(&violation),
        Wrong::Stream(Violation { code, what }) => (code, what),
        Wrong::TooLong => (code::REQUEST_CANCELLED, "a body longer than any DNS message"),
    };
    let code = VarInt::from_u64(code).unwrap_or(Doh3::PROTOCOL_ERROR);
    connection.cancel(number, code, turn.unfinished);
    let why = StreamFailure::Protocol;
    turn.explained.stream(why, || format!("the server sent {what}"));
    Arrival::Failed(query, why)
}

/// Reads what the server says over a stream of its own.
fn read_unidirectional(connection: &mut Connection<Doh3>, stream: StreamId, at_ns: u64) -> Arrival {
    let Connection { quic, protocol, .. } = connection;
    let mut receive = quic.recv_stream(stream);
    let Ok(mut chunks) = receive.read(true) else { return Arrival::Nothing };
    let mut incoming = protocol.incoming.remove(&stream.index()).unwrap_or_default();
    // A stream that says nothing counts, too.
    let (mut sum, mut is_ended) = (Ok(Said { idle: 1, ..Said::default() }), false);
    while let (Ok(said), false) = (&mut sum, is_ended) {
        let next = match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => incoming.take(&mut protocol.server, &chunk.bytes, false),
            Ok(None) | Err(ReadError::Reset(_)) => {
                is_ended = true;
                incoming.take(&mut protocol.server, &[], true)
            }
            Err(ReadError::Blocked) => break,
        };
        match next {
            Ok(next) => {
                said.idle = said.idle.saturating_add(next.idle);
                said.gone_from = next.gone_from.or(said.gone_from);
                said.is_unwanted = next.is_unwanted;
            }
            Err(violation) => sum = Err(violation),
        }
        if matches!(sum, Ok(Said { is_unwanted: true, .. })) {
            break;
        }
    }
    let _ = chunks.finalize();
    let Said { idle, gone_from, is_unwanted } = match sum {
        Ok(said) => said,
        Err(violation) => return broken(&violation),
    };
    if is_unwanted {
        let _ = quic.recv_stream(stream).stop(UNWANTED);
    } else if !is_ended {
        protocol.incoming.insert(stream.index(), incoming);
    }
    // The identifiers of streams for requests are multiples of 4.
    let arrival = gone_from.map_or(Arrival::Nothing, |identifier| Arrival::GoneFrom(identifier / 4));
    allowed(connection, idle, at_ns, arrival)
}

/// What arrived, unless the server has sent too much that brings no response.
#[inline]
fn allowed(connection: &mut Connection<Doh3>, idle: u32, at_ns: u64, arrival: Arrival) -> Arrival {
    if idle > 0 && connection.protocol.allowance.take(idle, at_ns).is_err() {
        return broken(&TOO_MANY);
    }
    arrival
}

#[cold]
fn broken(violation: &Violation) -> Arrival {
    let code = VarInt::from_u64(violation.code).unwrap_or(Doh3::PROTOCOL_ERROR);
    Arrival::Broken(Break { code, end: violation.end(), words: violation.words() })
}

const UNWANTED: VarInt = VarInt::from_u32(code::STREAM_CREATION_ERROR as u32);
const TOO_MANY: Violation = Violation::new(code::EXCESSIVE_LOAD, TOO_MANY_IDLE);
const CONTROL_STOPPED: Violation =
    Violation::new(code::CLOSED_CRITICAL_STREAM, "STOP_SENDING for our control stream");

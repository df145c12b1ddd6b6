//! HTTP/3 on the streams of one connection (RFC 9114): requests as they arrive, responses as they are sent, and what
//! both sides say over streams of their own.

use std::collections::HashMap;

use dnsdyno_http::h3::code::{self, Violation};
use dnsdyno_http::h3::frame::{DATA, HEADERS, put_frame};
use dnsdyno_http::h3::qpack::{Decoder, MessageFields, put_response};
use dnsdyno_http::h3::unidirectional::{Incoming, Peer, Reader, Said, put_control, put_goaway};
use dnsdyno_http::h3::{Request, RequestHead, Wrong};
use quinn_proto::{Dir, ReadError, StreamId, VarInt};

use super::query::Query;
use crate::doh::{Asked, HEADER_BYTES, check};
use crate::faults::{Fault, WRONG_LENGTH_BY};
use crate::freshness::freshness_s;

/// The HTTP of one connection.
pub(crate) struct Http3 {
    client: Peer,
    incoming: HashMap<StreamId, Incoming>,
    requests: HashMap<StreamId, Asking>,
    decoder: Decoder,
    /// Our control stream, once the client allows it.
    control: Option<StreamId>,
    /// What is to be sent over it, and was not yet.
    unsent: Vec<u8>,
    /// The stream after the last one that the client has opened.
    next: u64,
    /// Streams from this one on are not processed, once GOAWAY was sent.
    gone_from: Option<u64>,
}

/// A request that is not complete.
#[derive(Default)]
struct Asking {
    request: Request,
    is_checked: bool,
    /// The message of a GET.
    message: Option<Vec<u8>>,
}

impl Http3 {
    pub(crate) fn new() -> Self {
        let mut unsent = Vec::new();
        put_control(&mut unsent, HEADER_BYTES as usize);
        Http3 {
            client: Peer::new(Reader::Server),
            incoming: HashMap::new(),
            requests: HashMap::new(),
            decoder: Decoder::default(),
            control: None,
            unsent,
            next: 0,
            gone_from: None,
        }
    }

    /// Sends what our control stream has to say, as far as the client accepts it.
    pub(crate) fn write_control(&mut self, quic: &mut quinn_proto::Connection) {
        if self.unsent.is_empty() {
            return;
        }
        if self.control.is_none() {
            self.control = quic.streams().open(Dir::Uni);
        }
        let Some(stream) = self.control else { return };
        if let Ok(written) = quic.send_stream(stream).write(&self.unsent) {
            self.unsent.drain(..written);
        }
    }

    /// Announces that no further request is processed; false where it has been announced.
    pub(crate) fn goaway(&mut self) -> bool {
        if self.gone_from.is_some() {
            return false;
        }
        self.gone_from = Some(self.next);
        put_goaway(&mut self.unsent, self.next);
        true
    }

    /// Whether GOAWAY was sent.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone_from.is_some()
    }

    /// Whether requests are not complete.
    pub(crate) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Reads what was received on a stream.
    pub(crate) fn read(&mut self, quic: &mut quinn_proto::Connection, stream: StreamId) -> Query {
        match stream.dir() {
            Dir::Uni => self.read_unidirectional(quic, stream),
            Dir::Bi => self.read_request(quic, stream),
        }
    }

    fn read_request(&mut self, quic: &mut quinn_proto::Connection, stream: StreamId) -> Query {
        let identifier = VarInt::from(stream).into_inner();
        if self.gone_from.is_some_and(|from| identifier >= from) {
            refuse(quic, stream, code::REQUEST_REJECTED);
            return Query::Nothing;
        }
        self.next = self.next.max(identifier + 4);
        let mut receive = quic.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return Query::Nothing };
        let asking = self.requests.entry(stream).or_default();
        let mut found = Ok(None);
        let is_over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => found = asking.take(&chunk.bytes, &mut self.decoder),
                Ok(None) => {
                    found = asking.end().map(Some);
                    break true;
                }
                Err(ReadError::Blocked) => break false,
                // Cancelled before it was complete: not a query.
                Err(ReadError::Reset(_)) => break true,
            }
            if !matches!(found, Ok(None)) {
                break true;
            }
        };
        let _ = chunks.finalize();
        if is_over {
            self.requests.remove(&stream);
        }
        match found {
            Ok(None) => Query::Nothing,
            Ok(Some(Request3::Message(message))) => Query::Message(message),
            Ok(Some(Request3::Refused(status))) => {
                // The rest of it is not needed.
                let _ = quic.recv_stream(stream).stop(NO_ERROR);
                Query::Refused(status)
            }
            Err(Wrong::Connection(violation)) => error(&violation),
            Err(Wrong::TooLong) => {
                let _ = quic.recv_stream(stream).stop(NO_ERROR);
                Query::Refused(413)
            }
            Err(Wrong::Stream(Violation { code, .. })) => {
                refuse(quic, stream, code);
                Query::Nothing
            }
        }
    }

    fn read_unidirectional(&mut self, quic: &mut quinn_proto::Connection, stream: StreamId) -> Query {
        let mut receive = quic.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return Query::Nothing };
        let mut incoming = self.incoming.remove(&stream).unwrap_or_default();
        let (mut said, mut is_ended) = (Ok(Said::default()), false);
        while let (Ok(Said { is_unwanted: false, .. }), false) = (&said, is_ended) {
            said = match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => incoming.take(&mut self.client, &chunk.bytes, false),
                Err(ReadError::Blocked) => break,
                Ok(None) | Err(ReadError::Reset(_)) => {
                    is_ended = true;
                    incoming.take(&mut self.client, &[], true)
                }
            };
        }
        let _ = chunks.finalize();
        match said {
            Err(violation) => return error(&violation),
            Ok(Said { is_unwanted: true, .. }) => {
                let _ = quic.recv_stream(stream).stop(UNWANTED);
            }
            Ok(_) if !is_ended => drop(self.incoming.insert(stream, incoming)),
            Ok(_) => {}
        }
        Query::Nothing
    }
}

/// A request that was read as far as is needed.
enum Request3 {
    Message(Vec<u8>),
    Refused(u16),
}

impl Asking {
    /// Takes the next octets; what refuses the request is known before its end.
    fn take(&mut self, bytes: &[u8], decoder: &mut Decoder) -> Result<Option<Request3>, Wrong> {
        let has_head = self.request.take(bytes, decoder, HEADER_BYTES as usize)?;
        if !has_head || std::mem::replace(&mut self.is_checked, true) {
            return Ok(None);
        }
        match checked(self.request.head()) {
            Ok(message) => {
                self.message = message;
                Ok(None)
            }
            Err(status) => Ok(Some(Request3::Refused(status))),
        }
    }

    /// The stream has ended.
    fn end(&mut self) -> Result<Request3, Wrong> {
        let body = self.request.end()?;
        Ok(Request3::Message(self.message.take().unwrap_or_else(|| body.to_vec())))
    }
}

fn checked(head: &RequestHead) -> Result<Option<Vec<u8>>, u16> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| 400u16);
    let whole = text(&head.path)?;
    let (path, query) = whole.split_once('?').map_or((whole, None), |(path, query)| (path, Some(query)));
    let content_type = head.content_type.as_deref().map(text).transpose()?;
    let method = text(&head.method)?;
    check(Asked { method, path, query, content_type, content_length: head.content_length })
}

/// The frames of a response with a message, as the fault of its query demands.
pub(crate) fn response(message: &[u8], fault: Option<Fault>) -> Vec<u8> {
    if fault == Some(Fault::ServerError) {
        return refusal(500);
    }
    let by = if fault == Some(Fault::WrongLength) { WRONG_LENGTH_BY } else { 0 };
    let fields = MessageFields { declared_bytes: message.len() + by, fresh_s: freshness_s(message) };
    let mut frames = head(200, Some(fields));
    put_frame(&mut frames, DATA, message.len());
    frames.extend_from_slice(message);
    frames
}

/// The frames of a response with a status and nothing else.
pub(crate) fn refusal(status: u16) -> Vec<u8> {
    head(status, None)
}

fn head(status: u16, message: Option<MessageFields>) -> Vec<u8> {
    let (mut section, mut frames) = (Vec::new(), Vec::new());
    put_response(&mut section, status, message);
    put_frame(&mut frames, HEADERS, section.len());
    frames.extend_from_slice(&section);
    frames
}

/// Ends a stream in both directions.
fn refuse(quic: &mut quinn_proto::Connection, stream: StreamId, code: u64) {
    let code = VarInt::from_u64(code).unwrap_or(NO_ERROR);
    let _ = quic.recv_stream(stream).stop(code);
    let _ = quic.send_stream(stream).reset(code);
}

fn error(violation: &Violation) -> Query {
    Query::Error(VarInt::from_u64(violation.code).unwrap_or(NO_ERROR))
}

const NO_ERROR: VarInt = VarInt::from_u32(code::NO_ERROR as u32);
const UNWANTED: VarInt = VarInt::from_u32(code::STREAM_CREATION_ERROR as u32);

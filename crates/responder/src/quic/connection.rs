//! One QUIC connection: a query on each stream, its response on the same.

use std::collections::HashMap;
use std::time::Instant;

use bytes::Bytes;
use dnsdyno_http::h3::code;
use quinn_proto::{ReadError, StreamId, VarInt, WriteError};

use super::http::Http3;
use super::query::Query;
use crate::book::ResponseInfo;
use crate::faults::{ConnectionFault, DRIBBLE_NS, Fault};
use crate::kind::Transport;

/// A connection, and its outstanding queries.
pub(crate) struct Connection {
    pub(crate) quic: quinn_proto::Connection,
    /// The state of HTTP/3; none over DoQ.
    pub(crate) http: Option<Http3>,
    pub(crate) codes: Codes,
    /// Handles are used again; this is not.
    pub(crate) serial: u64,
    pub(crate) fault: Option<ConnectionFault>,
    /// When its first packet was received.
    pub(crate) accepted_ns: u64,
    /// Queries that are not complete, and the rest of streams that are answered.
    reading: HashMap<StreamId, Reading>,
    /// Responses that QUIC has not accepted completely.
    pub(crate) writing: HashMap<StreamId, Writing>,
    /// Streams whose response the client has not acknowledged.
    pub(crate) unacknowledged: usize,
    /// A response that waits for another one to be sent first, and how long.
    pub(crate) kept_back: Option<KeptBack>,
    /// Responses that were started.
    pub(crate) answers: u64,
    /// Its responses in the delay queue.
    pub(crate) held: usize,
    /// When the next timer of it in the delay queue is due.
    pub(crate) timer_ns: Option<u64>,
    pub(crate) is_asked: bool,
    pub(crate) is_connected: bool,
    pub(crate) is_resumed: bool,
    /// Its end is booked.
    pub(crate) is_over: bool,
}

#[derive(Default)]
struct Reading {
    bytes: Vec<u8>,
    is_taken: bool,
}

/// A response that is being written to QUIC.
pub(crate) struct Writing {
    frame: Vec<u8>,
    at: usize,
    info: ResponseInfo,
    /// When the next byte may be sent, where they are sent one at a time.
    pub(crate) slow_next_ns: Option<u64>,
}

/// A response that was not begun yet.
pub(crate) struct Response {
    pub(crate) stream: StreamId,
    /// The message as its stream carries it.
    pub(crate) frame: Vec<u8>,
    pub(crate) info: ResponseInfo,
}

/// A response that lets another one be sent first.
pub(crate) struct KeptBack {
    pub(crate) response: Response,
    pub(crate) until_ns: u64,
}

/// The result of writing to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// QUIC has accepted the whole response.
    Done(ResponseInfo),
    /// The stream accepts no more now, or the next byte is not due.
    Waits,
    /// The client does not want it any more.
    Lost,
}

impl Connection {
    pub(crate) fn new(
        quic: quinn_proto::Connection,
        transport: Transport,
        serial: u64,
        accepted_ns: u64,
    ) -> Connection {
        let is_http = transport == Transport::Doh3;
        Connection {
            quic,
            http: is_http.then(Http3::new),
            codes: if is_http { HTTP_CODES } else { DOQ_CODES },
            serial,
            fault: None,
            accepted_ns,
            reading: HashMap::new(),
            writing: HashMap::new(),
            unacknowledged: 0,
            kept_back: None,
            answers: 0,
            held: 0,
            timer_ns: None,
            is_asked: false,
            is_connected: false,
            is_resumed: false,
            is_over: false,
        }
    }

    /// Reads what was received on a stream.
    pub(crate) fn read(&mut self, stream: StreamId) -> Query {
        if let Some(http) = &mut self.http {
            return http.read(&mut self.quic, stream);
        }
        let mut receive = self.quic.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return Query::Nothing };
        let reading = self.reading.entry(stream).or_default();
        let is_ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => reading.bytes.extend_from_slice(&chunk.bytes),
                Ok(None) => break true,
                Err(ReadError::Blocked) => break false,
                Err(ReadError::Reset(_)) => {
                    // Cancelled before it was complete: not a query.
                    let _ = chunks.finalize();
                    self.reading.remove(&stream);
                    return Query::Nothing;
                }
            }
            if reading.bytes.len() > MOST_BYTES {
                break false;
            }
        };
        let _ = chunks.finalize();
        let query = reading.next_query(is_ended);
        if is_ended {
            self.reading.remove(&stream);
        }
        query
    }

    /// Starts to write a response.
    pub(crate) fn begin(&mut self, response: Response, now_ns: u64) {
        let Response { stream, frame, info } = response;
        let slow_next_ns = (info.fault == Some(Fault::Dribble)).then_some(now_ns);
        self.writing.insert(stream, Writing { frame, at: 0, info, slow_next_ns });
    }

    /// Passes half a response to QUIC, after which nothing follows.
    pub(crate) fn begin_half(&mut self, stream: StreamId, half: &[u8]) {
        let _ = self.quic.send_stream(stream).write(half);
    }

    /// Passes to QUIC what it accepts of a response. The caller removes a finished one from
    /// `writing`.
    pub(crate) fn write(&mut self, stream: StreamId, now_ns: u64) -> Progress {
        let Some(writing) = self.writing.get_mut(&stream) else { return Progress::Waits };
        let mut send = self.quic.send_stream(stream);
        while writing.at < writing.frame.len() {
            let mut end = writing.frame.len();
            if let Some(next_ns) = &mut writing.slow_next_ns {
                if now_ns < *next_ns {
                    return Progress::Waits;
                }
                *next_ns = now_ns + DRIBBLE_NS;
                end = writing.at + 1;
            }
            match send.write(&writing.frame[writing.at..end]) {
                Ok(count) => writing.at += count,
                Err(WriteError::Blocked) => return Progress::Waits,
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return Progress::Lost,
            }
        }
        match send.finish() {
            Ok(()) => {
                self.unacknowledged += 1;
                Progress::Done(writing.info)
            }
            Err(_) => Progress::Lost,
        }
    }

    /// Writes a short response that is no answer, and ends the stream.
    pub(crate) fn write_alone(&mut self, stream: StreamId, frame: &[u8]) {
        let mut send = self.quic.send_stream(stream);
        let is_written = send.write(frame).is_ok_and(|count| count == frame.len());
        if is_written && send.finish().is_ok() {
            self.unacknowledged += 1;
        } else {
            self.reset(stream);
        }
    }

    /// Resets a stream instead of answering on it.
    pub(crate) fn reset(&mut self, stream: StreamId) {
        let _ = self.quic.send_stream(stream).reset(self.codes.internal_error);
    }

    /// Closes the connection with an error code of its protocol.
    pub(crate) fn close(&mut self, now: Instant, code: VarInt) {
        self.quic.close(now, code, Bytes::new());
    }

    /// When something is to be done without a packet: QUIC's own timer, the next byte of a slow
    /// response, or the end of waiting for another response. `to_ns` converts QUIC's time into ours.
    pub(crate) fn next_ns(&mut self, to_ns: impl Fn(Instant) -> u64) -> Option<u64> {
        let quic_ns = self.quic.poll_timeout().map(to_ns);
        let slow_ns = self.writing.values().filter_map(|writing| writing.slow_next_ns).min();
        let kept_ns = self.kept_back.as_ref().map(|kept| kept.until_ns);
        [quic_ns, slow_ns, kept_ns].into_iter().flatten().min()
    }

    /// Whether no query is being read or answered, and the client has all responses.
    pub(crate) fn is_idle(&self) -> bool {
        let is_reading = self.http.as_ref().is_some_and(Http3::has_requests);
        self.unsent() + self.held + self.unacknowledged == 0 && !is_reading
    }

    /// Whether GOAWAY was sent.
    pub(crate) fn is_gone(&self) -> bool {
        self.http.as_ref().is_some_and(Http3::is_gone)
    }

    /// Queries whose response QUIC has not accepted completely, without those in the delay queue.
    pub(crate) fn unsent(&self) -> usize {
        self.writing.len() + usize::from(self.kept_back.is_some())
    }
}

impl Reading {
    fn next_query(&mut self, is_ended: bool) -> Query {
        let declared = self.bytes.first_chunk().map(|length| usize::from(u16::from_be_bytes(*length)) + 2);
        match declared {
            Some(declared) if self.bytes.len() > declared => Query::Error(DOQ_CODES.protocol_error),
            Some(declared) if self.bytes.len() == declared => {
                if std::mem::replace(&mut self.is_taken, true) {
                    return Query::Nothing;
                }
                Query::Message(self.bytes[2..].to_vec())
            }
            // A stream that ends before its message does, or without one.
            _ if is_ended => Query::Error(DOQ_CODES.protocol_error),
            _ => Query::Nothing,
        }
    }
}

/// Error codes of a protocol over QUIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    pub(crate) no_error: VarInt,
    pub(crate) internal_error: VarInt,
    pub(crate) protocol_error: VarInt,
}

/// RFC 9250 §4.3.
const DOQ_CODES: Codes = Codes {
    no_error: VarInt::from_u32(0),
    internal_error: VarInt::from_u32(1),
    protocol_error: VarInt::from_u32(2),
};

/// RFC 9114 §8.1.
const HTTP_CODES: Codes = Codes {
    no_error: VarInt::from_u32(code::NO_ERROR as u32),
    internal_error: VarInt::from_u32(code::INTERNAL_ERROR as u32),
    protocol_error: VarInt::from_u32(code::GENERAL_PROTOCOL_ERROR as u32),
};

/// A message, and the length before it; more is an error.
const MOST_BYTES: usize = 65_537;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_holds_one_message_and_nothing_else() {
        let read =
            |bytes: &[u8], is_ended| Reading { bytes: bytes.to_vec(), is_taken: false }.next_query(is_ended);
        assert_eq!(read(b"\0\x02ab", false), Query::Message(b"ab".to_vec()));
        assert_eq!(read(b"\0\x02ab", true), Query::Message(b"ab".to_vec()));
        assert_eq!(read(b"\0\x02a", false), Query::Nothing);
        for (bytes, is_ended) in [(&b"\0\x02a"[..], true), (b"\0\x02abc", false), (b"", true), (b"\0", true)]
        {
            assert_eq!(read(bytes, is_ended), Query::Error(DOQ_CODES.protocol_error), "{bytes:?}");
        }
        let mut taken = Reading { bytes: b"\0\x01a".to_vec(), is_taken: true };
        assert_eq!(taken.next_query(true), Query::Nothing);
    }
}

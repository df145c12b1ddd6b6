//! HTTP/2 as a DNS client needs it (RFC 9113, RFC 8484): a stream for each query, without a socket.
//!
//! ```text
//!   query ─► HEADERS (, DATA) ─► stream 1, 3, 5 ... ─► HEADERS, DATA ─► response, or why there is none
//! ```
//!
//! Own code, where the responder uses `h2`: a DNS client needs little of HTTP/2, and the worker's loop
//! must not allocate, lock or wake other threads. The two implementations also test each other.
//!
//! Requests are as short as HPACK allows: the first one inserts the headers into the server's table, the
//! others refer to them. The receive windows are extended before they are exhausted, so the server never
//! has to wait.

mod frame;
mod hpack;
mod huffman;

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dnsdyno_measure::{ConnectionEnd, StreamFailure};

use super::pool::BufferPool;
use super::session::{Broken, Reader};
use crate::{MessageKind, Sink};
use frame::{
    ACK, CANCEL, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, FRAME_HEADER, Frame, GOAWAY,
    HEADER_TABLE_SIZE, HEADERS, INITIAL_WINDOW_SIZE, LAST_STREAM, LONGEST_FRAME, MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE, PING, PRIORITY, PRIORITY_BYTES, PROTOCOL_ERROR, PUSH_PROMISE, REFUSED, RST_STREAM,
    SETTINGS, WINDOW_UPDATE, first_frame, number, put_data, put_header, put_headers, put_reset,
    put_window_update, without_padding,
};
use hpack::{Decoder, Head, RequestHead};

/// What the HTTP of a worker's connections has in common.
pub(super) struct HttpShared {
    head: RequestHead,
    /// For GET: the path up to the message. `None` = POST.
    get_path: Option<Vec<u8>>,
    /// A query with the ID 0.
    query: Vec<u8>,
    block: Vec<u8>,
    path: Vec<u8>,
    /// A response with the ID of its query.
    answer: Vec<u8>,
}

impl HttpShared {
    pub(super) fn new(authority: &str, path: &str, is_get: bool) -> Self {
        HttpShared {
            head: RequestHead::new(authority, path, is_get),
            get_path: is_get.then(|| format!("{path}?dns=").into_bytes()),
            query: Vec::new(),
            block: Vec::new(),
            path: Vec::new(),
            answer: Vec::new(),
        }
    }
}

/// The HTTP of one connection.
pub(super) struct Http {
    /// The beginning of a frame that was not received completely.
    inbox: Vec<u8>,
    decoder: Decoder,
    /// A header block that was not received completely.
    header_block: Option<HeaderBlock>,
    streams: HashMap<u32, Stream>,
    next_stream: u32,
    /// The rest of a body that exceeded the window; no other query is sent before it.
    unsent: Option<Unsent>,
    /// Streams that the server allows at once (SETTINGS_MAX_CONCURRENT_STREAMS).
    most_streams: usize,
    /// The longest frame that the server accepts (SETTINGS_MAX_FRAME_SIZE).
    most_frame: usize,
    /// Bytes of request bodies that the server accepts now, over the connection and over a new stream.
    window: i64,
    stream_window: i64,
    /// Bytes of bodies that were received since the last WINDOW_UPDATE of ours.
    unacknowledged: usize,
    server_table: ServerTable,
    /// The new size of the server's table, if it has to be announced.
    table_update: Option<usize>,
    /// Why the connection takes no more queries, if it does not.
    closing: Option<ConnectionEnd>,
}

/// A stream with an outstanding query.
struct Stream {
    query: u16,
    sent_ns: u64,
    head: Option<Head>,
    body: Vec<u8>,
}

/// The rest of a request body, which waits for the server to open its window.
struct Unsent {
    stream: u32,
    /// What the stream's window still allows; negative after the server has made it smaller.
    window: i64,
    body: Vec<u8>,
    sent: usize,
}

struct HeaderBlock {
    stream: u32,
    is_end: bool,
    block: Vec<u8>,
}

/// Whether the server's table holds the headers of requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerTable {
    Empty,
    Filled,
    TooSmall,
}

impl Http {
    /// Starts a connection; appends its first frames to `out`.
    pub(super) fn begin(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(PREFACE);
        let settings = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, STREAM_WINDOW)];
        put_header(out, 6 * settings.len(), SETTINGS, 0, 0);
        for (name, value) in settings {
            out.extend_from_slice(&u16::to_be_bytes(name));
            out.extend_from_slice(&u32::to_be_bytes(value));
        }
        put_window_update(out, CONNECTION_WINDOW - FIRST_WINDOW as u32);
        Http {
            inbox: Vec::new(),
            decoder: Decoder::new(),
            header_block: None,
            streams: HashMap::new(),
            next_stream: 1,
            unsent: None,
            most_streams: USUAL_STREAMS,
            most_frame: LONGEST_FRAME,
            window: FIRST_WINDOW,
            stream_window: FIRST_WINDOW,
            unacknowledged: 0,
            server_table: ServerTable::Empty,
            table_update: None,
            closing: None,
        }
    }

    /// How many queries it accepts now.
    pub(super) fn capacity(&self) -> usize {
        if self.closing.is_some() || self.unsent.is_some() || self.window < LOW_WINDOW {
            return 0;
        }
        self.most_streams.saturating_sub(self.streams.len())
    }

    pub(super) fn closing(&self) -> Option<ConnectionEnd> {
        self.closing
    }

    /// Writes `message` on a stream of its own; false where there is no capacity.
    pub(super) fn encode(
        &mut self,
        shared: &mut HttpShared,
        message: &[u8],
        now_ns: u64,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(id) = message.first_chunk::<2>().filter(|_| self.capacity() > 0) else { return false };
        let query = u16::from_be_bytes(*id);
        let HttpShared { query: text, block, path, .. } = shared;
        text.clear();
        // With an ID of 0 equal queries are equal requests, which caches recognize (RFC 8484,
        // 4.1).
        text.extend_from_slice(&[0, 0]);
        text.extend_from_slice(&message[2..]);
        block.clear();
        if let Some(bytes) = self.table_update.take() {
            hpack::put_table_size(block, bytes);
        }
        let form = match self.server_table {
            ServerTable::Empty => &shared.head.inserting,
            ServerTable::Filled => &shared.head.indexed,
            ServerTable::TooSmall => &shared.head.literal,
        };
        if self.server_table == ServerTable::Empty {
            self.server_table = ServerTable::Filled;
        }
        block.extend_from_slice(&form.before_path);
        let is_get = shared.get_path.as_ref().is_some_and(|beginning| {
            path.clear();
            path.extend_from_slice(beginning);
            let (at, length) = (path.len(), text.len().div_ceil(3) * 4);
            path.resize(at + length, 0);
            // Cannot fail: the path has the length of the longest encoding, and is truncated
            // afterwards.
            let written = URL_SAFE_NO_PAD.encode_slice(&*text, &mut path[at..]).unwrap_or(0);
            path.truncate(at + written);
            hpack::put_path(block, path);
            true
        });
        block.extend_from_slice(&form.after_path);
        if !is_get {
            hpack::put_content_length(block, text.len());
        }
        let stream = self.next_stream;
        put_headers(out, block, stream, is_get, self.most_frame);
        self.streams.insert(stream, Stream { query, sent_ns: now_ns, head: None, body: Vec::new() });
        if !is_get {
            let sent = text.len().min(self.window.min(self.stream_window).max(0) as usize);
            self.window -= sent as i64;
            put_data(out, &text[..sent], stream, sent == text.len(), self.most_frame);
            if sent < text.len() {
                let window = self.stream_window - sent as i64;
                self.unsent = Some(Unsent { stream, window, body: text[sent..].to_vec(), sent: 0 });
            }
        }
        self.next_stream += 2;
        if self.next_stream >= LAST_STREAM {
            self.closing = Some(ConnectionEnd::ByUs);
        }
        true
    }

    /// Reads received bytes; appends frames that are to be sent to `out`.
    pub(super) fn read<K: Sink>(
        &mut self,
        shared: &mut HttpShared,
        pool: &mut BufferPool,
        received: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let is_fresh = inbox.is_empty();
        if !is_fresh {
            inbox.extend_from_slice(received);
        }
        let bytes = if is_fresh { received } else { &inbox[..] };
        let mut at = 0;
        while let Some(frame) = first_frame(&bytes[at..])? {
            at += FRAME_HEADER + frame.payload.len();
            self.take_frame(shared, pool, &frame, out, reader)?;
        }
        if is_fresh && at < received.len() {
            inbox = pool.take();
            inbox.extend_from_slice(&received[at..]);
        } else if !is_fresh {
            inbox.drain(..at);
            if inbox.is_empty() {
                pool.give_back(std::mem::take(&mut inbox));
            }
        }
        self.inbox = inbox;
        self.send_rest(out);
        if self.unacknowledged > CONNECTION_WINDOW as usize / 2 {
            put_window_update(out, self.unacknowledged as u32);
            self.unacknowledged = 0;
        }
        Ok(())
    }

    /// Cancels the streams of queries that were sent before this instant.
    pub(super) fn cancel_before<K: Sink>(
        &mut self,
        sent_ns: u64,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) {
        self.streams.retain(|stream, open| {
            let is_kept = open.sent_ns >= sent_ns;
            if !is_kept {
                put_reset(out, *stream, CANCEL);
                reader.stream_failed(open.query, open.sent_ns, StreamFailure::GivenUp);
            }
            is_kept
        });
        self.send_rest(out);
    }

    pub(super) fn end(self, pool: &mut BufferPool) {
        pool.give_back(self.inbox);
    }

    /// Sends as much of the unsent body as the windows allow now.
    fn send_rest(&mut self, out: &mut Vec<u8>) {
        let Some(unsent) = &mut self.unsent else { return };
        // The server may have ended the stream without waiting for all of it.
        if !self.streams.contains_key(&unsent.stream) {
            self.unsent = None;
            return;
        }
        let rest = &unsent.body[unsent.sent..];
        let count = rest.len().min(self.window.min(unsent.window).max(0) as usize);
        put_data(out, &rest[..count], unsent.stream, count == rest.len(), self.most_frame);
        self.window -= count as i64;
        unsent.window -= count as i64;
        unsent.sent += count;
        if unsent.sent == unsent.body.len() {
            self.unsent = None;
        }
    }

    fn take_frame<K: Sink>(
        &mut self,
        shared: &mut HttpShared,
        pool: &mut BufferPool,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        if self.header_block.is_some() && frame.kind != CONTINUATION {
            return Err(PROTOCOL_ERROR);
        }
        match frame.kind {
            DATA => self.take_data(shared, pool, frame, out, reader),
            HEADERS => {
                let mut block = without_padding(frame)?;
                if frame.flags & PRIORITY != 0 {
                    block = block.get(PRIORITY_BYTES..).ok_or(PROTOCOL_ERROR)?;
                }
                let is_end = frame.flags & END_STREAM != 0;
                if frame.flags & END_HEADERS == 0 {
                    let block = block.to_vec();
                    self.header_block = Some(HeaderBlock { stream: frame.stream, is_end, block });
                    return Ok(());
                }
                self.take_headers(shared, pool, frame.stream, is_end, block, reader)
            }
            CONTINUATION => {
                let mut header_block = self.header_block.take().ok_or(PROTOCOL_ERROR)?;
                header_block.block.extend_from_slice(frame.payload);
                if header_block.stream != frame.stream || header_block.block.len() > HEADER_BYTES {
                    return Err(PROTOCOL_ERROR);
                }
                if frame.flags & END_HEADERS == 0 {
                    self.header_block = Some(header_block);
                    return Ok(());
                }
                let HeaderBlock { stream, is_end, block } = header_block;
                self.take_headers(shared, pool, stream, is_end, &block, reader)
            }
            RST_STREAM => {
                let code = number(frame.payload)?;
                let why = if code == REFUSED { StreamFailure::Refused } else { StreamFailure::Reset };
                self.fail(frame.stream, why, pool, reader);
                Ok(())
            }
            SETTINGS => self.take_settings(shared, frame, out),
            PING if frame.flags & ACK == 0 => {
                put_header(out, frame.payload.len(), PING, ACK, 0);
                out.extend_from_slice(frame.payload);
                Ok(())
            }
            GOAWAY => self.take_goaway(pool, frame, reader),
            WINDOW_UPDATE => {
                let opened = i64::from(number(frame.payload)? & LAST_STREAM);
                match &mut self.unsent {
                    _ if frame.stream == 0 => self.window += opened,
                    Some(unsent) if unsent.stream == frame.stream => unsent.window += opened,
                    // All of that stream's body has been sent already.
                    _ => {}
                }
                if self.window > MOST_WINDOW {
                    return Err(PROTOCOL_ERROR);
                }
                Ok(())
            }
            PUSH_PROMISE => Err(PROTOCOL_ERROR),
            _ => Ok(()),
        }
    }

    fn take_data<K: Sink>(
        &mut self,
        shared: &mut HttpShared,
        pool: &mut BufferPool,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        self.unacknowledged += frame.payload.len();
        let data = without_padding(frame)?;
        let is_end = frame.flags & END_STREAM != 0;
        // Of a cancelled stream data may still be received.
        let Some(open) = self.streams.get_mut(&frame.stream) else { return Ok(()) };
        if open.body.len() + data.len() > LONGEST_BODY {
            put_reset(out, frame.stream, CANCEL);
            self.fail(frame.stream, StreamFailure::Protocol, pool, reader);
            return Ok(());
        }
        if is_end && open.body.is_empty() {
            if let Some(open) = self.streams.remove(&frame.stream) {
                deliver(shared, &open, data, reader);
            }
            return Ok(());
        }
        if open.body.capacity() == 0 {
            open.body = pool.take();
        }
        open.body.extend_from_slice(data);
        if is_end {
            self.finish(shared, pool, frame.stream, reader);
        }
        Ok(())
    }

    fn take_headers<K: Sink>(
        &mut self,
        shared: &mut HttpShared,
        pool: &mut BufferPool,
        stream: u32,
        is_end: bool,
        block: &[u8],
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        // Decoded in any case: later blocks may refer to it.
        let head = self.decoder.decode(block).ok_or(PROTOCOL_ERROR)?;
        let Some(open) = self.streams.get_mut(&stream) else { return Ok(()) };
        let is_informational = (100..200).contains(&head.status);
        // Headers after a body are trailers, which are ignored.
        if open.head.is_none() && !is_informational {
            if head.status == 0 {
                self.fail(stream, StreamFailure::Protocol, pool, reader);
                return Ok(());
            }
            open.head = Some(head);
            reader.status(head.status);
        }
        if is_end {
            self.finish(shared, pool, stream, reader);
        }
        Ok(())
    }

    /// Handles the regular end of a stream.
    fn finish<K: Sink>(
        &mut self,
        shared: &mut HttpShared,
        pool: &mut BufferPool,
        stream: u32,
        reader: &mut Reader<'_, K>,
    ) {
        if let Some(mut open) = self.streams.remove(&stream) {
            let body = std::mem::take(&mut open.body);
            deliver(shared, &open, &body, reader);
            pool.give_back(body);
        }
    }

    fn fail<K: Sink>(
        &mut self,
        stream: u32,
        why: StreamFailure,
        pool: &mut BufferPool,
        reader: &mut Reader<'_, K>,
    ) {
        if let Some(open) = self.streams.remove(&stream) {
            pool.give_back(open.body);
            reader.stream_failed(open.query, open.sent_ns, why);
        }
    }

    fn take_settings(
        &mut self,
        shared: &HttpShared,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        if frame.flags & ACK != 0 {
            return Ok(());
        }
        if !frame.payload.len().is_multiple_of(6) {
            return Err(PROTOCOL_ERROR);
        }
        for setting in frame.payload.chunks_exact(6) {
            let (name, value) = (u16::from_be_bytes([setting[0], setting[1]]), number(&setting[2..])?);
            match name {
                HEADER_TABLE_SIZE if (value as usize) < hpack::TABLE_BYTES => {
                    self.table_update = Some(value as usize);
                    // A table too small for the headers is not used for them.
                    if (value as usize) < shared.head.table_bytes() {
                        self.server_table = ServerTable::TooSmall;
                    }
                }
                MAX_CONCURRENT_STREAMS => self.most_streams = value as usize,
                INITIAL_WINDOW_SIZE if i64::from(value) > MOST_WINDOW => return Err(PROTOCOL_ERROR),
                INITIAL_WINDOW_SIZE => {
                    // It applies to open streams, too (RFC 9113, 6.9.2).
                    let change = i64::from(value) - self.stream_window;
                    self.stream_window += change;
                    self.unsent.iter_mut().for_each(|unsent| unsent.window += change);
                }
                MAX_FRAME_SIZE if !(LONGEST_FRAME..1 << 24).contains(&(value as usize)) => {
                    return Err(PROTOCOL_ERROR);
                }
                MAX_FRAME_SIZE => self.most_frame = value as usize,
                _ => {}
            }
        }
        put_header(out, 0, SETTINGS, ACK, 0);
        Ok(())
    }

    /// The server accepts no more requests: those it has not processed may be retried elsewhere.
    fn take_goaway<K: Sink>(
        &mut self,
        pool: &mut BufferPool,
        frame: &Frame<'_>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let last = number(frame.payload)? & LAST_STREAM;
        let code = number(frame.payload.get(4..).unwrap_or_default())?;
        self.closing = Some(if code == 0 { ConnectionEnd::GoneAway } else { ConnectionEnd::Error });
        let mut beyond: Vec<u32> = self.streams.keys().copied().filter(|stream| *stream > last).collect();
        beyond.sort_unstable();
        for stream in beyond {
            self.fail(stream, StreamFailure::GoneAway, pool, reader);
        }
        Ok(())
    }
}

/// Reports a response, or why it is none.
fn deliver<K: Sink>(shared: &mut HttpShared, open: &Stream, body: &[u8], reader: &mut Reader<'_, K>) {
    let failed = |reader: &mut Reader<'_, K>, why| reader.stream_failed(open.query, open.sent_ns, why);
    let Some(head) = open.head else { return failed(reader, StreamFailure::Protocol) };
    if head.length.is_some_and(|length| length != body.len() as u64) {
        return failed(reader, StreamFailure::Protocol);
    }
    if head.status != 200 {
        return failed(reader, StreamFailure::Status);
    }
    shared.answer.clear();
    // A body of another type is not a message, whatever its content is.
    if head.is_message {
        shared.answer.extend_from_slice(body);
    }
    if let Some(id) = shared.answer.first_chunk_mut::<2>() {
        // The query had the ID 0; a wrong ID stays wrong.
        *id = (u16::from_be_bytes(*id) ^ open.query).to_be_bytes();
    }
    if reader.answer(&shared.answer) == MessageKind::Malformed {
        failed(reader, StreamFailure::NoMessage);
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The initial windows of the standard, and the largest that it allows.
const FIRST_WINDOW: i64 = 65_535;
const MOST_WINDOW: i64 = 0x7fff_ffff;

/// Our receive windows: for a stream more than the longest message, for the connection more than is
/// received between two reads.
const STREAM_WINDOW: u32 = 128 << 10;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// With a smaller window no query is sent, so that few bodies have to wait for the rest.
const LOW_WINDOW: i64 = 1_024;

/// Concurrent streams until the server announces its limit; the standard recommends to allow as many.
const USUAL_STREAMS: usize = 100;

/// The longest DNS message.
const LONGEST_BODY: usize = 65_535;

/// Longer header blocks are treated as an attack.
const HEADER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests;

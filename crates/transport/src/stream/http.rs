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

mod control;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod hpack;
mod receiving;
mod state;
mod violation;

use std::collections::HashMap;

use dnsdyno_measure::{ConnectionEnd, NotSentReason, StreamFailure};

use super::pool::BufferPool;
use super::session::Reader;
use crate::Sink;
use crate::allowance::Allowance;
use crate::bounds::{HEADER_BLOCK_BYTES, HTTP_CONNECTION_WINDOW, HTTP_STREAM_WINDOW};
use frame::{
    ENABLE_PUSH, FIRST_WINDOW, INITIAL_WINDOW_SIZE, LAST_STREAM, LONGEST_FRAME, MAX_HEADER_LIST_SIZE,
    SETTINGS, put_data, put_header, put_headers, put_reset, put_window_update,
};
use hpack::Decoder;
pub(super) use state::{Http, HttpShared};
use state::{ServerTable, Stream, Unsent};
use violation::CANCEL;

impl Http {
    /// Starts a connection; appends its first frames to `out`.
    pub(super) fn begin(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(PREFACE);
        let settings = [
            (ENABLE_PUSH, 0),
            (INITIAL_WINDOW_SIZE, HTTP_STREAM_WINDOW),
            (MAX_HEADER_LIST_SIZE, HEADER_BLOCK_BYTES as u32),
        ];
        put_header(out, 6 * settings.len(), SETTINGS, 0, 0);
        for (name, value) in settings {
            out.extend_from_slice(&u16::to_be_bytes(name));
            out.extend_from_slice(&u32::to_be_bytes(value));
        }
        put_window_update(out, HTTP_CONNECTION_WINDOW - FIRST_WINDOW as u32);
        Http {
            inbox: Vec::new(),
            decoder: Decoder::new(),
            header_block: None,
            streams: HashMap::new(),
            next_stream: 1,
            unsent: None,
            has_begun: false,
            allowance: Allowance::new(),
            most_streams: USUAL_STREAMS,
            most_frame: LONGEST_FRAME,
            window: FIRST_WINDOW,
            stream_window: FIRST_WINDOW,
            most_credit: 0,
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

    /// Why it accepts none, where it accepts none.
    pub(super) fn blocked_by(&self) -> NotSentReason {
        // Streams in use become free; what the server does not allow at all is no lack of clients.
        let is_allowed = self.most_streams > 0 && self.unsent.is_none() && self.window >= LOW_WINDOW;
        match self.closing.is_some() || is_allowed {
            true => NotSentReason::NoFreeConnection,
            false => NotSentReason::NoStream,
        }
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
        if self.capacity() == 0 {
            return false;
        }
        let HttpShared { carried, block, .. } = shared;
        let query = carried.take(message);
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
        if let Some(path) = carried.path() {
            hpack::put_path(block, path);
        }
        block.extend_from_slice(&form.after_path);
        let body = carried.body();
        if let Some(text) = body {
            hpack::put_content_length(block, text.len());
        }
        let stream = self.next_stream;
        put_headers(out, block, stream, body.is_none(), self.most_frame);
        let mut credit = 0;
        if let Some(text) = body {
            let sent = text.len().min(self.window.min(self.stream_window).max(0) as usize);
            self.window -= sent as i64;
            credit = -(sent as i64);
            put_data(out, &text[..sent], stream, sent == text.len(), self.most_frame);
            if sent < text.len() {
                self.unsent = Some(Unsent { stream, body: text[sent..].to_vec(), sent: 0 });
            }
        }
        self.streams.insert(stream, Stream { query, sent_ns: now_ns, head: None, body: Vec::new(), credit });
        self.allowance.note_query();
        self.next_stream += 2;
        if self.next_stream >= LAST_STREAM {
            self.closing = Some(ConnectionEnd::ByUs);
        }
        true
    }

    /// Cancels the streams of queries that were sent before this instant.
    pub(super) fn cancel_before<K: Sink>(
        &mut self,
        shared: &mut HttpShared,
        pool: &mut BufferPool,
        sent_ns: u64,
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) {
        let waits = self.unsent.as_ref().map(|unsent| unsent.stream);
        self.streams.retain(|stream, open| {
            let is_kept = open.sent_ns >= sent_ns;
            if !is_kept {
                put_reset(out, *stream, CANCEL);
                pool.release(std::mem::take(&mut open.body));
                if waits == Some(*stream) {
                    shared.explained.stream(StreamFailure::GivenUp, || WINDOW_CLOSED.to_owned());
                    shared.explained.not_sent(NotSentReason::NoStream, || WINDOW_CLOSED.to_owned());
                }
                reader.stream_failed(open.query, open.sent_ns, StreamFailure::GivenUp);
            }
            is_kept
        });
        self.send_rest(out);
    }

    /// Sends as much of the unsent body as the windows allow now.
    fn send_rest(&mut self, out: &mut Vec<u8>) {
        let Some(unsent) = &mut self.unsent else { return };
        // The server may have ended the stream without waiting for all of it.
        let Some(open) = self.streams.get_mut(&unsent.stream) else {
            self.unsent = None;
            return;
        };
        let rest = &unsent.body[unsent.sent..];
        let window = self.window.min(self.stream_window + open.credit);
        let count = rest.len().min(window.max(0) as usize);
        put_data(out, &rest[..count], unsent.stream, count == rest.len(), self.most_frame);
        self.window -= count as i64;
        open.credit -= count as i64;
        unsent.sent += count;
        if unsent.sent == unsent.body.len() {
            self.unsent = None;
        }
    }

    /// Returns the buffers.
    pub(super) fn end(self, pool: &mut BufferPool) {
        pool.give_back(self.inbox);
        self.streams.into_values().for_each(|open| pool.release(open.body));
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// With a smaller window no query is sent, so that few bodies have to wait for the rest.
const LOW_WINDOW: i64 = 1_024;

/// Concurrent streams until the server announces its limit; the standard recommends to allow as many.
const USUAL_STREAMS: usize = 100;

const WINDOW_CLOSED: &str = "the server does not open its HTTP/2 window for request bodies (INITIAL_WINDOW_SIZE and \
                             WINDOW_UPDATE), so that queries wait: try --http-method get";

#[cfg(test)]
mod tests;

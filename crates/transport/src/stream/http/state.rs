//! The state of HTTP/2 over one connection, and what the connections of a worker have in common.

use std::collections::HashMap;

use dnsdyno_http::{Carried, Head};
use dnsdyno_measure::{ConnectionEnd, StreamFailure};

use super::hpack::{Decoder, RequestHead};
use crate::Sink;
use crate::allowance::Allowance;
use crate::explained::Explained;
use crate::stream::pool::BufferPool;
use crate::stream::session::Reader;

/// What the HTTP of a worker's connections has in common.
pub(in crate::stream) struct HttpShared {
    pub(super) head: RequestHead,
    pub(super) carried: Carried,
    pub(super) block: Vec<u8>,
    /// A response with the ID of its query.
    pub(super) answer: Vec<u8>,
    /// What was behind the failures.
    pub(in crate::stream) explained: Explained,
}

impl HttpShared {
    pub(in crate::stream) fn new(authority: &str, path: &str, is_get: bool) -> Self {
        HttpShared {
            head: RequestHead::new(authority, path, is_get),
            carried: Carried::new(path, is_get),
            block: Vec::new(),
            answer: Vec::new(),
            explained: Explained::default(),
        }
    }
}

/// The HTTP of one connection.
pub(in crate::stream) struct Http {
    /// The beginning of a frame that was not received completely.
    pub(super) inbox: Vec<u8>,
    pub(super) decoder: Decoder,
    /// A header block that was not received completely.
    pub(super) header_block: Option<HeaderBlock>,
    pub(super) streams: HashMap<u32, Stream>,
    pub(super) next_stream: u32,
    /// The rest of a body that exceeded the window; no other query is sent before it.
    pub(super) unsent: Option<Unsent>,
    /// Whether the SETTINGS with which a server has to begin were received.
    pub(super) has_begun: bool,
    /// Frames that bring no response and are still accepted.
    pub(super) allowance: Allowance,
    /// Streams that the server allows at once (SETTINGS_MAX_CONCURRENT_STREAMS).
    pub(super) most_streams: usize,
    /// The longest frame that the server accepts (SETTINGS_MAX_FRAME_SIZE).
    pub(super) most_frame: usize,
    /// Octets of request bodies that the server accepts now, over the connection and over a new stream.
    pub(super) window: i64,
    pub(super) stream_window: i64,
    /// No stream has more credit than this.
    pub(super) most_credit: i64,
    /// Octets of bodies that were received since the last WINDOW_UPDATE of ours.
    pub(super) unacknowledged: usize,
    pub(super) server_table: ServerTable,
    /// The new size of the server's table, if it has to be announced.
    pub(super) table_update: Option<usize>,
    /// Why the connection takes no more queries, if it does not.
    pub(super) closing: Option<ConnectionEnd>,
}

/// A stream with an outstanding query.
pub(super) struct Stream {
    pub(super) query: u16,
    pub(super) sent_ns: u64,
    pub(super) head: Option<Head>,
    pub(super) body: Vec<u8>,
    /// What its window has more than that of a new stream; negative once a body was sent.
    pub(super) credit: i64,
}

/// The rest of a request body, which waits for the server to open its window.
pub(super) struct Unsent {
    pub(super) stream: u32,
    pub(super) body: Vec<u8>,
    pub(super) sent: usize,
}

pub(super) struct HeaderBlock {
    pub(super) stream: u32,
    pub(super) is_end: bool,
    pub(super) block: Vec<u8>,
}

/// Whether the server's table holds the headers of requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerTable {
    Empty,
    Filled,
    TooSmall,
}

/// What a connection uses while it reads.
pub(super) struct Turn<'a, 'r, K> {
    pub(super) shared: &'a mut HttpShared,
    pub(super) pool: &'a mut BufferPool,
    /// Frames to be sent.
    pub(super) out: &'a mut Vec<u8>,
    pub(super) reader: &'a mut Reader<'r, K>,
}

/// What a stream is to a frame that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    /// We have not opened it: stream 0, one of the server's, or one to come.
    Idle,
    /// Its query is outstanding.
    Open,
    /// Its query has ended; frames may still be received if we have cancelled it.
    Closed,
}

impl Http {
    pub(super) fn state_of(&self, stream: u32) -> StreamState {
        if self.streams.contains_key(&stream) {
            StreamState::Open
        } else if stream.is_multiple_of(2) || stream >= self.next_stream {
            StreamState::Idle
        } else {
            StreamState::Closed
        }
    }

    /// Ends a stream without a response.
    pub(super) fn fail<K: Sink>(&mut self, stream: u32, why: StreamFailure, turn: &mut Turn<'_, '_, K>) {
        if let Some(open) = self.streams.remove(&stream) {
            turn.pool.release(open.body);
            turn.reader.stream_failed(open.query, open.sent_ns, why);
        }
    }
}

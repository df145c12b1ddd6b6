//! Pairs the queries of a capture with the responses that were captured after them.
//!
//! ```text
//!   queries in the order of the capture   q1 ─ q2 ─ q3 ─ q4 ◄── the next one read
//!                                         ▲          ▲
//!                       given first, when ┘          └─ a response is paired by client, server, ID and question
//!                       it has its response,
//!                       or none came in time
//! ```

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use dnsdyno_capture::{CaptureError, DnsMessage};
use dnsdyno_wire::{peek, same_question};

/// The queries that wait for their response, in the order of the capture.
#[derive(Default)]
pub(super) struct Answers {
    waiting: VecDeque<Asked>,
    /// The number of the first of them, counted over the capture.
    first: u64,
    /// The newest query without a response of each client, server and ID.
    open: HashMap<(SocketAddr, SocketAddr, u16), u64>,
    held_bytes: usize,
    /// The instant of the newest message.
    now_unix_ns: u64,
    is_at_end: bool,
    /// Why the capture could not be read further.
    error: Option<CaptureError>,
}

/// A query of the capture.
pub(super) struct Asked {
    pub(super) at_unix_ns: u64,
    pub(super) client: SocketAddr,
    pub(super) message: Vec<u8>,
    pub(super) response: Option<Vec<u8>>,
    server: SocketAddr,
    id: u16,
}

impl Answers {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// There are no more messages: the remaining queries are given as they are.
    pub(super) fn end(&mut self) {
        self.is_at_end = true;
    }

    /// The capture cannot be read further: the remaining queries are given first.
    pub(super) fn fail(&mut self, error: CaptureError) {
        self.is_at_end = true;
        self.error = Some(error);
    }

    /// Why the capture could not be read further.
    pub(super) fn take_error(&mut self) -> Option<CaptureError> {
        self.error.take()
    }

    /// A query was captured.
    pub(super) fn ask(&mut self, captured: &DnsMessage<'_>) {
        let (client, server, id) = (captured.source, captured.destination, id_of(captured.bytes));
        let mut message = captured.bytes.to_vec();
        message.iter_mut().take(2).for_each(|octet| *octet = 0);
        self.now_unix_ns = self.now_unix_ns.max(captured.at_unix_ns);
        self.held_bytes += message.len();
        self.open.insert((client, server, id), self.first + self.waiting.len() as u64);
        let at_unix_ns = captured.at_unix_ns;
        self.waiting.push_back(Asked { at_unix_ns, client, message, response: None, server, id });
    }

    /// A response was captured; gives whether it is that of a query before it.
    pub(super) fn respond(&mut self, captured: &DnsMessage<'_>) -> bool {
        self.now_unix_ns = self.now_unix_ns.max(captured.at_unix_ns);
        let key = (captured.destination, captured.source, id_of(captured.bytes));
        let Some(place) = self.open.get(&key).and_then(|number| number.checked_sub(self.first)) else {
            return false;
        };
        let Some(asked) = self.waiting.get_mut(place as usize) else { return false };
        let is_its = match (peek(&asked.message), peek(captured.bytes)) {
            (Ok(query), Ok(response)) => {
                same_question(query.question, response.question)
                    || (response.question.is_empty() && response.rcode != 0)
            }
            _ => false,
        };
        if is_its {
            self.held_bytes += captured.bytes.len();
            asked.response = Some(captured.bytes.to_vec());
            self.open.remove(&key);
        }
        is_its
    }

    /// The first query, if it has its response or none is to be expected.
    pub(super) fn take_ready(&mut self) -> Option<Asked> {
        let asked = self.waiting.front()?;
        let is_over = asked.response.is_some()
            || self.is_at_end
            || self.now_unix_ns.saturating_sub(asked.at_unix_ns) >= LONGEST_NS
            || self.waiting.len() > MOST_WAITING
            || self.held_bytes > MOST_HELD_BYTES;
        if !is_over {
            return None;
        }
        let asked = self.waiting.pop_front()?;
        let key = (asked.client, asked.server, asked.id);
        if self.open.get(&key) == Some(&self.first) {
            self.open.remove(&key);
        }
        self.first += 1;
        let response_bytes = asked.response.as_ref().map_or(0, Vec::len);
        self.held_bytes = self.held_bytes.saturating_sub(asked.message.len() + response_bytes);
        Some(asked)
    }
}

fn id_of(message: &[u8]) -> u16 {
    message.first_chunk().map_or(0, |id| u16::from_be_bytes(*id))
}

/// A response that comes later than this is not the answer that the client got.
const LONGEST_NS: u64 = 10_000_000_000;

/// Queries that wait for their responses at most, and the octets of both.
const MOST_WAITING: usize = 1 << 18;
const MOST_HELD_BYTES: usize = 64 << 20;

//! One client: its connection, if it has one, and what waits for it.
//!
//! ```text
//!   Vacant ──► Opening ──► Open ──► Ending ──► Vacant
//!                 └──────────────────^
//! ```

use std::collections::VecDeque;

use bytes::Bytes;

use super::config::Seen;
use super::connection::Connection;

/// A client and its connection.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) connection: Option<Box<Connection>>,
    pub(crate) phase: Phase,
    /// Whether it stands in the line of those that can ask.
    pub(crate) in_line: bool,
    /// Whether its connection is among those that may have packets to send.
    pub(crate) is_touched: bool,
    /// Whether an answer, or a part of one, came over this connection.
    pub(crate) has_read: bool,
    /// What a look at the server's certificate came to, if there was one.
    pub(crate) seen: Option<Seen>,
    /// Whether it was asked before its handshake was done, and no session for the next has come since.
    pub(crate) awaits_ticket: bool,
    /// Until when it stays at most, though it has carried all that it is to carry.
    pub(crate) lingers_until_ns: Option<u64>,
    /// Number of its connections so far: tells a timer of this one from one of an earlier one.
    pub(crate) generation: u32,
    /// Queries handed over for this connection.
    pub(crate) asked: u32,
    /// Those of them that have not ended.
    pub(crate) under_way: u32,
    /// Those of them that were answered over it.
    pub(crate) answers: u32,
    /// When this connection was begun.
    pub(crate) opened_ns: u64,
    /// From when on queries could leave on it.
    pub(crate) since_ns: u64,
    /// When an answer last came over it; at first, when it was begun.
    pub(crate) read_ns: u64,
    /// Queries that have no stream yet, the oldest first.
    pub(crate) waiting: VecDeque<Waiting>,
}

/// A query that waits for the handshake, or for a stream that the server allows.
pub(crate) struct Waiting {
    /// Its ID in the worker's table.
    pub(crate) id: u16,
    /// Since when.
    pub(crate) since_ns: u64,
    /// The message behind its length, as it travels.
    pub(crate) framed: Bytes,
}

/// How far the connection of a client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There is none.
    #[default]
    Vacant,
    /// Its handshake is under way.
    Opening,
    /// Its handshake is done.
    Open,
    /// It is over, and the worker has not been told yet.
    Ending,
}

impl Client {
    /// Whether the client could be handed a query now, given how many a connection carries.
    pub(crate) fn can_ask(&self, limit: u32) -> bool {
        self.phase != Phase::Ending && self.asked < limit && self.waiting.len() < MOST_WAITING
    }

    /// Whether the connection has carried all that it is to carry.
    pub(crate) fn is_spent(&self, limit: u32) -> bool {
        self.asked >= limit && self.under_way == 0
    }

    /// Whether nothing is under way on the open connection.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.under_way == 0
    }

    /// Since when nothing has come over it.
    pub(crate) fn quiet_since_ns(&self) -> u64 {
        self.read_ns.max(self.since_ns)
    }

    /// Forgets the connection; the next one is of the next generation.
    pub(crate) fn vacate(&mut self) {
        *self = Client {
            in_line: self.in_line,
            is_touched: self.is_touched,
            generation: self.generation.wrapping_add(1),
            ..Client::default()
        };
    }
}

/// A client with so many queries that wait for a stream asks nothing more.
const MOST_WAITING: usize = 1_024;

//! One client: its connection, if it has one, and what waits for it.
//!
//! ```text
//!   Vacant ──► Opening ──► Open ──► Ending ──► Vacant
//!                 └──────────────────^
//! ```

use std::collections::VecDeque;

use bytes::Bytes;

use super::config::Verification;
use super::connection::Connection;

/// A client and its connection.
#[derive(Default)]
pub(crate) struct Client {
    pub(crate) connection: Option<Box<Connection>>,
    pub(crate) phase: Phase,
    /// Whether it stands in the sending of those that can ask.
    pub(crate) is_queued: bool,
    /// Whether its connection is among those that may have packets to send.
    pub(crate) is_touched: bool,
    pub(crate) acknowledgements: Acknowledgements,
    /// Whether an answer, or a part of one, came over this connection.
    pub(crate) has_read: bool,
    /// What a look at the server's certificate came to, if there was one.
    pub(crate) verification: Option<Verification>,
    /// Whether it was asked before its handshake was done, and no session for the next has come since.
    pub(crate) awaits_ticket: bool,
    /// Until when it stays at most, though it has carried all that it is to carry.
    pub(crate) lingers_until_ns: Option<u64>,
    /// Number of its connections so far: tells a timer of this one from one of an earlier one.
    pub(crate) generation: u32,
    /// Queries handed over for this connection.
    pub(crate) queries: u32,
    /// Those of them that have not ended.
    pub(crate) outstanding: u32,
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

/// What has come since a connection last sent anything. Acknowledgements of a few packets wait for the next
/// query to travel with: alone, they would be every third packet that a busy client sends.
#[derive(Clone, Copy, Default)]
pub(crate) struct Acknowledgements {
    /// Packets that came.
    pub(crate) packets: u32,
    /// Whether there is more to send than acknowledgements.
    pub(crate) has_data: bool,
    /// Until when they wait at most, where they do.
    pub(crate) wait_until_ns: Option<u64>,
}

impl Acknowledgements {
    /// Whether there is nothing else to send, and this can wait.
    pub(crate) fn may_wait(&mut self, now_ns: u64, is_open: bool) -> bool {
        if self.has_data || !is_open || !(FIRST_OWED..=MOST_OWED).contains(&self.packets) {
            return false;
        }
        now_ns < *self.wait_until_ns.get_or_insert(now_ns + LONGEST_WAIT_NS)
    }
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
    pub(crate) fn can_send(&self, limit: u32) -> bool {
        self.phase != Phase::Ending && self.queries < limit && self.waiting.len() < MOST_WAITING
    }

    /// Whether the connection has carried all that it is to carry.
    pub(crate) fn is_spent(&self, limit: u32) -> bool {
        self.queries >= limit && self.outstanding == 0
    }

    /// Whether nothing is under way on the open connection.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.outstanding == 0
    }

    /// Since when nothing has come over it.
    pub(crate) fn quiet_since_ns(&self) -> u64 {
        self.read_ns.max(self.since_ns)
    }

    /// Forgets the connection; the next one is of the next generation.
    pub(crate) fn vacate(&mut self) {
        *self = Client {
            is_queued: self.is_queued,
            is_touched: self.is_touched,
            generation: self.generation.wrapping_add(1),
            ..Client::default()
        };
    }
}

/// A client with so many queries that wait for a stream asks nothing more.
const MOST_WAITING: usize = 1_024;

/// Of one packet, the library makes the acknowledgement wait itself.
const FIRST_OWED: u32 = 2;

/// More packets than this may be all that a server sends without a word from us (RFC 9002, 7.2: ten).
const MOST_OWED: u32 = 3;

/// Less than half of what we have told the server that an acknowledgement may wait (25 ms, RFC 9000, 18.2).
const LONGEST_WAIT_NS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_of_a_few_packets_wait_for_company_and_not_for_long() {
        let may_wait = |packets, has_data, is_open, after_ns| {
            let mut owed = Acknowledgements { packets, has_data, wait_until_ns: None };
            let at_once = owed.may_wait(1_000, is_open);
            at_once && owed.may_wait(1_000 + after_ns, is_open)
        };
        assert!(may_wait(2, false, true, LONGEST_WAIT_NS - 1) && may_wait(3, false, true, 0));
        assert!(!may_wait(2, false, true, LONGEST_WAIT_NS), "its time is over");
        assert!(!may_wait(1, false, true, 0) && !may_wait(4, false, true, 0));
        assert!(!may_wait(2, true, true, 0), "it has company");
        assert!(!may_wait(2, false, false, 0), "a handshake waits for nothing");
    }
}

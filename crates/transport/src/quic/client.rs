//! One client: its connection, if it has one, and the queries that wait for it.
//!
//! ```text
//!   Vacant ──► Opening ──► Open ──► Ending ──► Vacant
//!                 └──────────────────^
//! ```

use std::collections::VecDeque;

use dnsdyno_measure::{ConnectionEnd, NotSentReason};

use super::config::Verification;
use super::connection::{Connection, Framed, Protocol};

/// A client and its connection.
pub(crate) struct Client<P: Protocol> {
    pub(crate) connection: Option<Box<Connection<P>>>,
    pub(crate) phase: Phase,
    /// Whether it is in the queue of clients that can send.
    pub(crate) is_queued: bool,
    /// Whether its connection is among those that may have packets to send.
    pub(crate) is_touched: bool,
    pub(crate) acknowledgements: Acknowledgements,
    /// Whether a response, or a part of one, was received over this connection.
    pub(crate) has_read: bool,
    /// The result of verifying the server's certificate, if it was verified.
    pub(crate) verification: Option<Verification>,
    /// Whether queries were sent as early data, and no session ticket for the next connection was
    /// received since.
    pub(crate) awaits_ticket: bool,
    /// What the connection ends with once its streams have ended, where the server accepts no more queries over it.
    pub(crate) closing: Option<ConnectionEnd>,
    /// Until when it is kept open at most, though all its queries were answered.
    pub(crate) lingers_until_ns: Option<u64>,
    /// Number of its connections so far; it distinguishes timers of this connection from those of an
    /// earlier one.
    pub(crate) generation: u32,
    /// Queries handed over for this connection.
    pub(crate) queries: u32,
    /// Those of them that have not ended.
    pub(crate) outstanding: u32,
    /// Those of them that were answered over it.
    pub(crate) answers: u32,
    /// When this connection was started.
    pub(crate) opened_ns: u64,
    /// From when on queries could be sent over it.
    pub(crate) since_ns: u64,
    /// When a response was last received over it; at first, when it was started.
    pub(crate) read_ns: u64,
    /// When a query was sent that nothing has followed, where none was outstanding before it.
    pub(crate) asked_ns: u64,
    /// Queries that have no stream yet, the oldest first.
    pub(crate) waiting: VecDeque<Waiting>,
}

/// What was received since a connection last sent anything. Acknowledgements of a few packets wait for
/// the next query, to be sent with it: sent alone, they would be every third packet of a busy client.
#[derive(Clone, Copy, Default)]
pub(crate) struct Acknowledgements {
    /// Packets received.
    pub(crate) packets: u32,
    /// Whether there is more to send than acknowledgements.
    pub(crate) has_data: bool,
    /// Until when they wait at most, where they do.
    pub(crate) wait_until_ns: Option<u64>,
}

impl Acknowledgements {
    /// Whether there are only acknowledgements to send, and they can wait.
    pub(crate) fn may_wait(&mut self, now_ns: u64, is_open: bool) -> bool {
        if self.has_data || !is_open || !(FIRST_OWED..=MOST_OWED).contains(&self.packets) {
            return false;
        }
        now_ns < *self.wait_until_ns.get_or_insert(now_ns + LONGEST_WAIT_NS)
    }
}

/// A query that waits for the handshake, or for a stream that the server allows.
pub(crate) struct Waiting {
    /// Whether it has been sent as early data that the server rejected.
    pub(crate) was_sent: bool,
    /// The query as it is sent.
    pub(crate) framed: Framed,
}

/// The state of a client's connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There is none.
    #[default]
    Vacant,
    /// The handshake has started.
    Opening,
    /// Its handshake is done.
    Open,
    /// It has ended, and the worker has not been informed yet.
    Ending,
}

impl<P: Protocol> Default for Client<P> {
    fn default() -> Self {
        Client {
            connection: None,
            phase: Phase::default(),
            is_queued: false,
            is_touched: false,
            acknowledgements: Acknowledgements::default(),
            has_read: false,
            verification: None,
            awaits_ticket: false,
            closing: None,
            lingers_until_ns: None,
            generation: 0,
            queries: 0,
            outstanding: 0,
            answers: 0,
            opened_ns: 0,
            since_ns: 0,
            read_ns: 0,
            asked_ns: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<P: Protocol> Client<P> {
    /// Whether the client can be given a query now; a connection carries `limit`.
    pub(crate) fn can_send(&self, limit: u32) -> bool {
        let is_taking = self.phase != Phase::Ending && self.closing.is_none();
        is_taking && self.queries < limit && self.waiting.len() < MOST_WAITING
    }

    /// Forgets a query that waits. Returns the length of its message if it has waited for a stream only, and never
    /// left; `None` if it does not wait, or may have left.
    pub(crate) fn forget_waiting(&mut self, id: u16) -> Option<usize> {
        let place = self.waiting.iter().position(|waiting| waiting.framed.id == id)?;
        let waiting = self.waiting.remove(place)?;
        let never_left = self.phase == Phase::Open && !waiting.was_sent;
        never_left.then_some(usize::from(waiting.framed.message_bytes))
    }

    /// Why it cannot be given a query: the server allows no stream at all, or those of this connection are in use.
    pub(crate) fn blocked_by(&self) -> NotSentReason {
        let is_waiting = self.phase == Phase::Open && self.waiting.len() >= MOST_WAITING;
        match &self.connection {
            Some(connection) if is_waiting && !connection.has_streams() => NotSentReason::NoStream,
            _ => NotSentReason::NoFreeConnection,
        }
    }

    /// Whether the connection has carried all its queries and none is outstanding.
    pub(crate) fn is_spent(&self, limit: u32) -> bool {
        match self.closing {
            None => self.queries >= limit && self.outstanding == 0,
            // Queries that must use this client wait for its next connection.
            Some(_) => self.outstanding as usize <= self.waiting.len(),
        }
    }

    /// What a connection ends with that is spent.
    pub(crate) fn spent_end(&self) -> ConnectionEnd {
        self.closing.unwrap_or(ConnectionEnd::ByUs)
    }

    /// Whether no query is outstanding on the open connection.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.outstanding == 0
    }

    /// Whether no query has left over the connection, which is still being opened, or was when it ended.
    pub(crate) fn has_sent_nothing(&self) -> bool {
        // With early data queries can leave from the start.
        matches!(self.phase, Phase::Opening | Phase::Ending) && self.since_ns == u64::MAX
    }

    /// Since when nothing was received over it, though a query was to be answered.
    pub(crate) fn quiet_since_ns(&self) -> u64 {
        self.read_ns.max(self.since_ns).max(self.asked_ns)
    }

    /// Notes the first query after a time in which none was outstanding and nothing was missed.
    pub(crate) fn note_asked(&mut self, now_ns: u64) {
        if self.asked_ns <= self.read_ns.max(self.since_ns) {
            self.asked_ns = now_ns;
        }
    }

    /// Drops the connection; the next one is of the next generation.
    pub(crate) fn vacate(&mut self) {
        *self = Client {
            is_queued: self.is_queued,
            is_touched: self.is_touched,
            generation: self.generation.wrapping_add(1),
            ..Client::default()
        };
    }
}

/// A client with so many queries that wait for a stream is given no more queries.
const MOST_WAITING: usize = 1_024;

/// The library itself delays the acknowledgement of a single packet.
const FIRST_OWED: u32 = 2;

/// A server may send no more packets than ten without an acknowledgement (RFC 9002, 7.2).
const MOST_OWED: u32 = 3;

/// Less than half of the delay that we have announced to the server (25 ms, RFC 9000, 18.2).
const LONGEST_WAIT_NS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_of_a_few_packets_wait_for_data_but_not_for_long() {
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

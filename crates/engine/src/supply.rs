//! The queries of one worker, whatever their source.

use dnsdyno_measure::Arrivals;
use dnsdyno_queries::{Maker, Queries};
use dnsdyno_wire::Peek;

use crate::question::asks;
use crate::upcoming::Upcoming;

/// The queries of one worker. A query has a number from when it is taken until it has ended.
pub(crate) trait Supply {
    /// The message of a query, with ID 0.
    fn message(&self, query: u32) -> &[u8];

    /// The question of a query, as on the wire.
    fn question(&self, query: u32) -> &[u8];

    /// The client that sends a query; `None` where any client may.
    fn client(&self, query: u32) -> Option<u32>;

    /// The response that was recorded for a query; empty where there is none.
    fn expected(&self, _query: u32) -> &[u8] {
        &[]
    }

    /// The maker that changes each message when it is sent.
    fn maker(&self) -> Option<&dyn Maker> {
        None
    }

    /// Whether a response has the question of the query in this slot.
    fn may_answer(&self, slot: u32, query: u32, response: &Peek<'_>) -> bool;

    /// A query was sent from this slot of the table. Returns the slot of its type.
    fn sent(&mut self, slot: u32, query: u32) -> u8;

    /// What is next, for the pace, where the queries are not all known. `needs_one` says whether the worker would
    /// send a query that is due.
    fn upcoming(&mut self, _now_ns: u64, _needs_one: bool) -> Option<Upcoming> {
        None
    }

    /// Takes the next query of a source whose queries are not all known, after [`upcoming`](Self::upcoming) has
    /// returned one; and the member of the mix that its client is, where the source has clients of members.
    fn take_next(&mut self) -> (u32, Option<u8>) {
        (0, None)
    }

    /// Whether what is next may depend on responses.
    fn follows_responses(&self) -> bool {
        false
    }

    /// A query was answered, and so has ended.
    fn answered(&mut self, query: u32, _at_ns: u64, _response: &[u8]) {
        self.release(query);
    }

    /// A query has ended without a response: nothing more is asked about it.
    fn release(&mut self, query: u32);

    /// How the worker has waited for the reader of the source.
    fn reader_waits(&self) -> ReaderWaits {
        ReaderWaits::default()
    }

    /// Adds what simulated clients have counted since the last call; with `is_end`, nothing more is asked.
    fn count_clients(&mut self, _counts: &mut Arrivals, _now_ns: u64, _is_end: bool) {}
}

/// How often and how long a worker waited for the reader of the source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReaderWaits {
    pub(crate) times: u64,
    pub(crate) total_ns: u64,
}

/// A block, which each worker has whole.
impl Supply for &Queries {
    fn message(&self, query: u32) -> &[u8] {
        Queries::message(self, query as usize)
    }

    fn question(&self, query: u32) -> &[u8] {
        Queries::question(self, query as usize)
    }

    fn client(&self, query: u32) -> Option<u32> {
        Queries::client(self, query as usize)
    }

    fn maker(&self) -> Option<&dyn Maker> {
        Queries::maker(self)
    }

    fn may_answer(&self, _slot: u32, query: u32, response: &Peek<'_>) -> bool {
        asks(response, Queries::question(self, query as usize))
    }

    fn sent(&mut self, _slot: u32, query: u32) -> u8 {
        self.type_slot(query as usize) as u8
    }

    fn release(&mut self, _query: u32) {}
}

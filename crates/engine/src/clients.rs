//! Queries that clients ask as their users need them: what is asked next depends on the responses to what was asked
//! before.
//!
//! ```text
//!   ClientModel (the clients of a worker) ──► query ──► sent, paired and counted like any other
//!      ▲                                                     │
//!      └── response, or that there was none ◄────────────────┘
//! ```
//!
//! The load is open: a query is due when its client needs it, however slow the server is.

use dnsdyno_measure::Arrivals;
use dnsdyno_wire::Peek;

use crate::question::{SentQuestions, is_error_without_question};
use crate::supply::Supply;
use crate::upcoming::Upcoming;

/// The clients of one worker.
///
/// A query has a number from [`take_next`](Self::take_next) until it has [ended](Self::ended), after which the number
/// may be used again.
pub trait ClientModel: Send {
    /// What is asked next. Instants are in nanoseconds since the start of the run; `now_ns` is never smaller than in an
    /// earlier call.
    fn upcoming(&mut self, now_ns: u64) -> Upcoming;

    /// Takes the query that [`upcoming`](Self::upcoming) has returned.
    fn take_next(&mut self) -> u32;

    /// The message of a query, with ID 0.
    fn message(&self, query: u32) -> &[u8];

    /// The question of a query, as on the wire.
    fn question(&self, query: u32) -> &[u8];

    /// The number of the client that asks it. Its number modulo the number of workers is that of its worker.
    fn client(&self, query: u32) -> u32;

    /// The place of the query's type in [`ClientModels::types`].
    fn type_slot(&self, query: u32) -> u8;

    /// The member of the mix that it is sent over; `None`: the mix decides.
    fn member(&self, _query: u32) -> Option<u8> {
        None
    }

    /// A query has ended, with this response, or without any.
    fn ended(&mut self, query: u32, at_ns: u64, response: Option<&[u8]>);

    /// Adds what was counted since the last call, of all clients and by their kinds. With `is_end`, nothing more is
    /// asked: what is under way then counts as interrupted.
    fn count(&mut self, counts: &mut Arrivals, now_ns: u64, is_end: bool);
}

/// The clients of a run.
pub struct ClientModels {
    types: Vec<u16>,
    /// Makes the clients of a worker.
    of_worker: Box<dyn Fn(u32) -> Box<dyn ClientModel> + Sync>,
}

impl ClientModels {
    /// Clients that ask for these types; those of each worker are made on its thread.
    pub fn new(types: Vec<u16>, of_worker: impl Fn(u32) -> Box<dyn ClientModel> + Sync + 'static) -> Self {
        ClientModels { types, of_worker: Box::new(of_worker) }
    }

    /// The query types, in the order of their slots.
    pub fn types(&self) -> &[u16] {
        &self.types
    }
}

/// The clients of a worker, and what must be known of their queries after these have ended.
pub(crate) struct ClientQueries {
    clients: Box<dyn ClientModel>,
    sent_questions: SentQuestions,
    now_ns: u64,
}

impl ClientQueries {
    pub(crate) fn new(models: &ClientModels, worker: u32, slots: usize) -> Self {
        let clients = (models.of_worker)(worker);
        ClientQueries { clients, sent_questions: SentQuestions::new(slots), now_ns: 0 }
    }
}

impl Supply for ClientQueries {
    fn message(&self, query: u32) -> &[u8] {
        self.clients.message(query)
    }

    fn question(&self, query: u32) -> &[u8] {
        self.clients.question(query)
    }

    fn client(&self, query: u32) -> Option<u32> {
        Some(self.clients.client(query))
    }

    /// The number of an ended query may already be that of another one, so the question is compared with the one that
    /// was last sent from the slot.
    fn may_answer(&self, slot: u32, _query: u32, response: &Peek<'_>) -> bool {
        self.sent_questions.is_last(slot, response.question) || is_error_without_question(response)
    }

    fn sent(&mut self, slot: u32, query: u32) -> u8 {
        self.sent_questions.note(slot, self.clients.question(query));
        self.clients.type_slot(query)
    }

    fn upcoming(&mut self, now_ns: u64, _needs_one: bool) -> Option<Upcoming> {
        self.now_ns = now_ns;
        Some(self.clients.upcoming(now_ns))
    }

    fn take_next(&mut self) -> (u32, Option<u8>) {
        let query = self.clients.take_next();
        (query, self.clients.member(query))
    }

    fn follows_responses(&self) -> bool {
        true
    }

    fn answered(&mut self, query: u32, at_ns: u64, response: &[u8]) {
        // What was due before `now_ns` is taken as known: what follows from a response is not due earlier.
        self.clients.ended(query, at_ns.max(self.now_ns), Some(response));
    }

    /// The query has ended when the worker last looked for what is next, or shortly after that.
    fn release(&mut self, query: u32) {
        self.clients.ended(query, self.now_ns, None);
    }

    fn count_clients(&mut self, counts: &mut Arrivals, now_ns: u64, is_end: bool) {
        self.clients.count(counts, now_ns, is_end);
    }
}

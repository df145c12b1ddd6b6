//! The queries of a worker: all of the source in one block; or the chunks that it was given and whose queries have not
//! all ended; or those that clients ask, given the responses to the ones before.
//!
//! ```text
//!   chunk    7 (freed)      8            9           10, being sent
//!            ─────────  ───────────  ───────────  ───────│- - - - -
//!   index               8 « 12 | place of the query there
//! ```
//!
//! A chunk is freed when each of its queries has ended; of a query that ended before, the table keeps the slot, and
//! this supply the hash of its question, so that a late response is still recognised.

use std::collections::VecDeque;
use std::sync::Arc;

use dnsdyno_plan::source::{CHUNK_QUERIES, Chunk, Maker, Picker, Queries};
use dnsdyno_wire::Peek;

use crate::clients::{ClientModels, ClientQueries};
use crate::feed::{FeedOut, Feeds, Next};
use crate::question::{SentQuestions, asks};
use crate::share::Share;
use crate::upcoming::Upcoming;

/// Where the queries of a run come from.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// One block, repeated until the run ends.
    Whole(&'a Queries),
    /// Chunks, which are given to the workers while they run.
    Fed(&'a Feeds),
    /// What clients ask, given the responses that they get.
    Clients(&'a ClientModels),
}

impl Source<'_> {
    /// The query types, in the order of their slots.
    pub fn types(&self) -> &[u16] {
        match self {
            Source::Whole(queries) => queries.types(),
            Source::Fed(feeds) => feeds.types(),
            Source::Clients(models) => models.types(),
        }
    }

    /// Chooses the next query of a block. That of a chunk is the next one there.
    pub(crate) fn picker(&self, Share { worker, workers }: Share) -> Picker {
        match self {
            Source::Whole(queries) => queries.picker(worker, workers),
            Source::Fed(_) | Source::Clients(_) => Queries::default().picker(worker, workers),
        }
    }

    /// The number of queries, where it is known.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Source::Whole(queries) => Some(queries.len()),
            Source::Fed(_) | Source::Clients(_) => None,
        }
    }
}

/// The queries of one worker.
pub(crate) enum Supply<'a> {
    Whole(&'a Queries),
    Fed(Box<Fed>),
    Clients(Box<ClientQueries>),
}

/// How often and how long a worker waited for the reader of the source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReaderWaits {
    pub(crate) times: u64,
    pub(crate) total_ns: u64,
}

impl<'a> Supply<'a> {
    /// The queries of this worker, for a table with so many slots.
    pub(crate) fn new(source: Source<'a>, worker: u32, slots: usize) -> Self {
        match source {
            Source::Whole(queries) => Supply::Whole(queries),
            Source::Fed(feeds) => Supply::Fed(Box::new(Fed::new(feeds, worker, slots))),
            Source::Clients(models) => Supply::Clients(Box::new(ClientQueries::new(models, worker, slots))),
        }
    }

    /// The message of a query, with ID 0.
    pub(crate) fn message(&self, i: usize) -> &[u8] {
        match self {
            Supply::Whole(queries) => queries.message(i),
            Supply::Fed(fed) => fed.message(i),
            Supply::Clients(clients) => clients.message(i as u32),
        }
    }

    /// The question of a query, as on the wire.
    pub(crate) fn question(&self, i: usize) -> &[u8] {
        match self {
            Supply::Whole(queries) => queries.question(i),
            Supply::Fed(fed) => fed.question(i),
            Supply::Clients(clients) => clients.question(i as u32),
        }
    }

    /// The client that sends a query; `None` where any client may.
    #[inline]
    pub(crate) fn client(&self, i: usize) -> Option<u32> {
        match self {
            Supply::Whole(queries) => queries.client(i),
            Supply::Fed(fed) => fed.at(i).and_then(|(chunk, i)| chunk.queries.client(i)),
            Supply::Clients(clients) => Some(clients.client(i as u32)),
        }
    }

    /// The response that was recorded for a query; empty where there is none.
    pub(crate) fn expected(&self, i: usize) -> &[u8] {
        match self {
            Supply::Whole(_) | Supply::Clients(_) => &[],
            Supply::Fed(fed) => fed.at(i).map_or(&[], |(chunk, i)| chunk.expected(i)),
        }
    }

    /// The maker that changes each message when it is sent.
    #[inline]
    pub(crate) fn maker(&self) -> Option<&dyn Maker> {
        match self {
            Supply::Whole(queries) => queries.maker(),
            Supply::Fed(fed) => fed.maker.as_deref(),
            Supply::Clients(_) => None,
        }
    }

    /// Whether a response has the question of the query in this slot.
    pub(crate) fn may_answer(&self, slot: u32, query: u32, response: &Peek<'_>) -> bool {
        match self {
            Supply::Whole(queries) => asks(response, queries.question(query as usize)),
            Supply::Fed(fed) => fed.may_answer(slot, query, response),
            Supply::Clients(clients) => clients.may_answer(slot, response),
        }
    }

    /// A query was sent from this slot of the table. Returns the slot of its type.
    #[cold]
    pub(crate) fn sent(&mut self, slot: u32, query: u32) -> u8 {
        match self {
            Supply::Whole(queries) => queries.type_slot(query as usize) as u8,
            Supply::Fed(fed) => fed.sent(slot, query),
            Supply::Clients(clients) => clients.sent(slot, query),
        }
    }

    /// What is next, for the pace, where the queries are not all known. `needs_one` says whether the worker would
    /// send a query that is due.
    #[inline]
    pub(crate) fn upcoming(&mut self, now_ns: u64, needs_one: bool) -> Option<Upcoming> {
        match self {
            Supply::Whole(_) => None,
            Supply::Fed(fed) => Some(fed.upcoming(now_ns, needs_one)),
            Supply::Clients(clients) => Some(clients.upcoming(now_ns)),
        }
    }

    /// Takes the next query of a source whose queries are not all known, after [`upcoming`](Self::upcoming) has
    /// returned one; and the member of the mix that its client is, where the source has clients of members.
    #[cold]
    pub(crate) fn take_next(&mut self) -> (u32, Option<u8>) {
        match self {
            Supply::Whole(_) => (0, None),
            Supply::Fed(fed) => {
                let (query, of_client) = fed.take_next();
                (query, fed.has_clients().then_some(of_client))
            }
            Supply::Clients(clients) => (clients.take_next(), None),
        }
    }

    /// A query was answered, and so has ended.
    #[inline]
    pub(crate) fn answered(&mut self, query: u32, at_ns: u64, response: &[u8]) {
        match self {
            Supply::Whole(_) => {}
            Supply::Fed(fed) => fed.release(query),
            Supply::Clients(clients) => clients.answered(query, at_ns, response),
        }
    }

    /// A query has ended without a response: nothing more is asked about it.
    #[inline]
    pub(crate) fn release(&mut self, query: u32) {
        match self {
            Supply::Whole(_) => {}
            Supply::Fed(fed) => fed.release(query),
            Supply::Clients(clients) => clients.unanswered(query),
        }
    }
}

/// The chunks of one worker.
pub(crate) struct Fed {
    feed: Option<FeedOut>,
    /// From chunk `first` on; `None` = freed.
    chunks: VecDeque<Option<Live>>,
    first: u32,
    /// The index of the next query, and how many of its chunk are left.
    next: u32,
    left: u32,
    known_to_ns: u64,
    sent_questions: SentQuestions,
    has_clients: bool,
    maker: Option<Arc<dyn Maker>>,
    /// Since when the worker has waited for the reader.
    waiting_since_ns: Option<u64>,
    pub(crate) waits: ReaderWaits,
}

/// A chunk with queries that have not ended.
struct Live {
    chunk: Chunk,
    unended: u32,
}

impl Fed {
    fn new(feeds: &Feeds, worker: u32, slots: usize) -> Self {
        Fed {
            feed: feeds.take(worker),
            chunks: VecDeque::new(),
            first: 0,
            next: 0,
            left: 0,
            known_to_ns: 0,
            sent_questions: SentQuestions::new(slots),
            has_clients: feeds.has_clients(),
            maker: feeds.maker(),
            waiting_since_ns: None,
            waits: ReaderWaits::default(),
        }
    }

    /// Whether the source says which client sends each query.
    fn has_clients(&self) -> bool {
        self.has_clients
    }

    /// The next query. `needs_one` says whether the worker would send a query that is due.
    fn upcoming(&mut self, now_ns: u64, needs_one: bool) -> Upcoming {
        loop {
            if self.left > 0 {
                let (due_ns, number) = self.at(self.next as usize).map_or((0, 0), |(chunk, i)| {
                    (chunk.due_ns(i), chunk.numbers.get(i).copied().unwrap_or(0))
                });
                return Upcoming::Query { due_ns, number };
            }
            let Some(feed) = &mut self.feed else { return Upcoming::Over };
            match feed.next() {
                Next::Chunk(chunk) => self.begin(chunk, now_ns),
                Next::Over => {
                    self.end_waiting(now_ns);
                    self.feed = None;
                    return Upcoming::Over;
                }
                Next::NotYet if feed.stops_time => std::thread::yield_now(),
                Next::NotYet => {
                    if needs_one && now_ns >= self.known_to_ns && !feed.is_held() {
                        self.waiting_since_ns.get_or_insert(now_ns);
                    }
                    return Upcoming::NotYet { known_to_ns: self.known_to_ns };
                }
            }
        }
    }

    /// Takes the next query, after [`upcoming`](Self::upcoming) has returned one: its index and its member of the mix.
    fn take_next(&mut self) -> (u32, u8) {
        let taken = self.next;
        let member = self.at(taken as usize).and_then(|(chunk, i)| chunk.members.get(i).copied());
        self.next = self.next.wrapping_add(1);
        self.left = self.left.saturating_sub(1);
        (taken, member.unwrap_or(0))
    }

    /// The next chunk becomes the one whose queries are sent.
    fn begin(&mut self, chunk: Chunk, now_ns: u64) {
        self.known_to_ns = self.known_to_ns.max(chunk.known_to_ns);
        let queries = chunk.queries.len() as u32;
        if queries == 0 {
            return self.give_back(chunk);
        }
        self.end_waiting(now_ns);
        self.next = self.first.wrapping_add(self.chunks.len() as u32) << PLACE_BITS;
        self.left = queries;
        self.chunks.push_back(Some(Live { chunk, unended: queries }));
    }

    fn end_waiting(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.waiting_since_ns.take() {
            self.waits.times += 1;
            self.waits.total_ns += now_ns - since_ns;
        }
    }

    fn message(&self, query: usize) -> &[u8] {
        self.at(query).map_or(&[], |(chunk, i)| chunk.queries.message(i))
    }

    fn question(&self, query: usize) -> &[u8] {
        self.at(query).map_or(&[], |(chunk, i)| chunk.queries.question(i))
    }

    fn may_answer(&self, slot: u32, query: u32, response: &Peek<'_>) -> bool {
        match self.at(query as usize) {
            Some((chunk, i)) => asks(response, chunk.queries.question(i)),
            None => self.sent_questions.is_last(slot, response.question),
        }
    }

    /// The chunk of a query and its place there; `None` if the chunk was freed.
    #[inline]
    fn at(&self, query: usize) -> Option<(&Chunk, usize)> {
        let place = self.place_of(query as u32);
        let live = self.chunks.get(place)?.as_ref()?;
        Some((&live.chunk, query % CHUNK_QUERIES))
    }

    /// The position of the chunk of a query in `chunks`.
    #[inline]
    fn place_of(&self, query: u32) -> usize {
        ((query >> PLACE_BITS).wrapping_sub(self.first) & LAST_CHUNK) as usize
    }

    /// Keeps the question of a query, by the slot from which it was sent. Returns the slot of its type.
    fn sent(&mut self, slot: u32, query: u32) -> u8 {
        let place = self.place_of(query);
        let Some(Some(Live { chunk, .. })) = self.chunks.get(place) else { return 0 };
        let i = query as usize % CHUNK_QUERIES;
        self.sent_questions.note(slot, chunk.queries.question(i));
        chunk.queries.type_slot(i) as u8
    }

    #[cold]
    fn release(&mut self, query: u32) {
        let place = self.place_of(query);
        let Some(chunk) = self.chunks.get_mut(place) else { return };
        let Some(live) = chunk else { return };
        live.unended = live.unended.saturating_sub(1);
        if live.unended > 0 {
            return;
        }
        let freed = chunk.take();
        while let Some(None) = self.chunks.front() {
            self.chunks.pop_front();
            self.first = self.first.wrapping_add(1) & LAST_CHUNK;
        }
        if let Some(Live { chunk, .. }) = freed {
            self.give_back(chunk);
        }
    }

    /// Returns a chunk to the reader. If that has enough of them, it is freed.
    fn give_back(&mut self, chunk: Chunk) {
        if let Some(feed) = &mut self.feed {
            let _ = feed.spent.push(chunk);
        }
    }
}

/// The bits of the place of a query in its chunk.
const PLACE_BITS: u32 = CHUNK_QUERIES.trailing_zeros();

/// The largest number of a chunk. Numbers are used again after four billion queries.
const LAST_CHUNK: u32 = u32::MAX >> PLACE_BITS;

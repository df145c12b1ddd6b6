//! The queries of a worker that come in chunks while the run lasts: those it was given and that have not all ended.
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

use dnsdyno_queries::{CHUNK_QUERIES, Chunk, Maker};
use dnsdyno_wire::Peek;

use crate::feed::{FeedOut, Feeds, Next};
use crate::question::{SentQuestions, asks};
use crate::supply::{ReaderWaits, Supply};
use crate::upcoming::Upcoming;

/// The chunks of one worker.
pub(crate) struct StreamedQueries {
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
    waits: ReaderWaits,
}

/// A chunk with queries that have not ended.
struct Live {
    chunk: Chunk,
    unended: u32,
}

impl StreamedQueries {
    pub(crate) fn new(feeds: &Feeds, worker: u32, slots: usize) -> Self {
        StreamedQueries {
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

    /// The next query. `needs_one` says whether the worker would send a query that is due.
    fn next_of_chunks(&mut self, now_ns: u64, needs_one: bool) -> Upcoming {
        loop {
            if self.left > 0 {
                let (due_ns, number) = self.at(self.next).map_or((0, 0), |(chunk, i)| {
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

    /// The chunk of a query and its place there; `None` if the chunk was freed.
    #[inline]
    fn at(&self, query: u32) -> Option<(&Chunk, usize)> {
        let live = self.chunks.get(self.place_of(query))?.as_ref()?;
        Some((&live.chunk, query as usize % CHUNK_QUERIES))
    }

    /// The position of the chunk of a query in `chunks`.
    #[inline]
    fn place_of(&self, query: u32) -> usize {
        ((query >> PLACE_BITS).wrapping_sub(self.first) & LAST_CHUNK) as usize
    }

    /// Returns a chunk to the reader. If that has enough of them, it is freed.
    fn give_back(&mut self, chunk: Chunk) {
        if let Some(feed) = &mut self.feed {
            let _ = feed.spent.push(chunk);
        }
    }
}

impl Supply for StreamedQueries {
    fn message(&self, query: u32) -> &[u8] {
        self.at(query).map_or(&[], |(chunk, i)| chunk.queries.message(i))
    }

    fn question(&self, query: u32) -> &[u8] {
        self.at(query).map_or(&[], |(chunk, i)| chunk.queries.question(i))
    }

    fn client(&self, query: u32) -> Option<u32> {
        self.at(query).and_then(|(chunk, i)| chunk.queries.client(i))
    }

    fn expected(&self, query: u32) -> &[u8] {
        self.at(query).map_or(&[], |(chunk, i)| chunk.expected(i))
    }

    fn maker(&self) -> Option<&dyn Maker> {
        self.maker.as_deref()
    }

    fn may_answer(&self, slot: u32, query: u32, response: &Peek<'_>) -> bool {
        match self.at(query) {
            Some((chunk, i)) => asks(response, chunk.queries.question(i)),
            None => self.sent_questions.is_last(slot, response.question),
        }
    }

    /// Keeps the question of the query.
    fn sent(&mut self, slot: u32, query: u32) -> u8 {
        let place = self.place_of(query);
        let Some(Some(Live { chunk, .. })) = self.chunks.get(place) else { return 0 };
        let i = query as usize % CHUNK_QUERIES;
        self.sent_questions.note(slot, chunk.queries.question(i));
        chunk.queries.type_slot(i) as u8
    }

    fn upcoming(&mut self, now_ns: u64, needs_one: bool) -> Option<Upcoming> {
        Some(self.next_of_chunks(now_ns, needs_one))
    }

    fn take_next(&mut self) -> (u32, Option<u8>) {
        let taken = self.next;
        let member = self.at(taken).and_then(|(chunk, i)| chunk.members.get(i).copied());
        self.next = self.next.wrapping_add(1);
        self.left = self.left.saturating_sub(1);
        (taken, self.has_clients.then(|| member.unwrap_or(0)))
    }

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

    fn reader_waits(&self) -> ReaderWaits {
        self.waits
    }
}

/// The bits of the place of a query in its chunk.
const PLACE_BITS: u32 = CHUNK_QUERIES.trailing_zeros();

/// The largest number of a chunk. Numbers are used again after four billion queries.
const LAST_CHUNK: u32 = u32::MAX >> PLACE_BITS;

//! A part of a source that is too long to be loaded: some thousand queries of one worker, with all that belongs to
//! them.
//!
//! ```text
//!   source ──► chunk │ chunk │ chunk ──► the worker that sends them
//!     ▲                                            │
//!     └─────────── empty chunks, to be filled ◄────┘
//! ```
//!
//! A chunk also says up to which instant the schedule of its worker is known, so that an interval in which the worker
//! has no query can be closed.

use super::queries::{Full, Own, Queries, QueriesBuilder};

/// Queries of one chunk, at most: a power of two, so that a query is addressed by the number of its chunk and its place
/// there.
pub const CHUNK_QUERIES: usize = 4_096;

/// Some queries of one worker, in the order in which they are due.
#[derive(Debug, Clone, Default)]
pub struct Chunk {
    /// The messages, with their instants (none in a closed loop) and clients.
    pub queries: Queries,
    /// The number of each query in the run.
    pub numbers: Vec<u64>,
    /// The member of the mix that sends each query; empty where there is no mix.
    pub members: Vec<u8>,
    /// No query of a later chunk is due before this instant, in nanoseconds since the start of the run.
    pub known_to_ns: u64,
    /// The recorded responses, one after the other, and where each ends; none where answers are not compared.
    expected: Vec<u8>,
    expected_ends: Vec<u32>,
}

/// A query of a streamed source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streamed<'a> {
    /// Its number in the run.
    pub number: u64,
    /// When it is due, and the client that sends it.
    pub own: Own,
    /// The member of the mix that sends it; `None` where there is no mix.
    pub member: Option<u8>,
    /// The whole message.
    pub message: &'a [u8],
    /// The response that was recorded; `None` where answers are not compared, empty where there was none.
    pub expected: Option<&'a [u8]>,
}

impl Chunk {
    /// When query `i` is due; 0 in a closed loop.
    #[inline]
    pub fn due_ns(&self, i: usize) -> u64 {
        self.queries.instants().get(i).copied().unwrap_or(0)
    }

    /// The recorded response to query `i`; empty where there is none.
    pub fn expected(&self, i: usize) -> &[u8] {
        let end = |i: usize| self.expected_ends.get(i).map_or(0, |end| *end as usize);
        let start = if i == 0 { 0 } else { end(i - 1) };
        self.expected.get(start..end(i)).unwrap_or_default()
    }
}

/// Fills the chunks of one worker.
#[derive(Debug)]
pub struct ChunkBuilder {
    builder: QueriesBuilder,
    chunk: Chunk,
}

impl ChunkBuilder {
    /// For a source with these types (see [`QueriesBuilder::of_types`]).
    pub fn new(types: &[u16]) -> ChunkBuilder {
        ChunkBuilder { builder: QueriesBuilder::of_types(types), chunk: Chunk::default() }
    }

    /// The number of queries so far.
    pub fn len(&self) -> usize {
        self.builder.len()
    }

    /// Whether there are none yet.
    pub fn is_empty(&self) -> bool {
        self.builder.is_empty()
    }

    /// Whether the chunk has no room for another query: it must be [taken](Self::take) first.
    pub fn is_full(&self) -> bool {
        self.len() >= CHUNK_QUERIES || self.chunk.expected.len() >= MOST_EXPECTED_BYTES
    }

    /// Adds a query.
    ///
    /// # Errors
    /// If the message is longer than a DNS message can be.
    pub fn push(&mut self, query: &Streamed<'_>) -> Result<(), Full> {
        self.builder.push_message(query.message, query.own)?;
        self.chunk.numbers.push(query.number);
        self.chunk.members.extend(query.member);
        if let Some(expected) = query.expected {
            self.chunk.expected.extend_from_slice(expected);
            self.chunk.expected_ends.push(self.chunk.expected.len() as u32);
        }
        Ok(())
    }

    /// The queries so far, and up to where the schedule is known. The next are collected in the memory of `spent`.
    pub fn take(&mut self, known_to_ns: u64, mut spent: Chunk) -> Chunk {
        spent.numbers.clear();
        spent.members.clear();
        spent.expected.clear();
        spent.expected_ends.clear();
        let queries = self.builder.take(std::mem::take(&mut spent.queries));
        Chunk { queries, known_to_ns, ..std::mem::replace(&mut self.chunk, spent) }
    }
}

/// Recorded responses of a chunk, at most: with long ones a chunk has fewer queries.
const MOST_EXPECTED_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OTHER_TYPES;

    fn message(qtype: u8, tail: usize) -> Vec<u8> {
        let mut message = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a', 0, 0, qtype, 0, 1];
        message.resize(message.len() + tail, 9);
        message
    }

    #[test]
    fn chunks_have_the_types_of_the_source_and_use_memory_again() {
        let types = [1, 28, OTHER_TYPES];
        let mut builder = ChunkBuilder::new(&types);
        let push = |builder: &mut ChunkBuilder, number: u64, qtype: u8, tail: usize| {
            let message = message(qtype, tail);
            let own = Own { at_ns: Some(number * 10), client: Some(number as u32) };
            let expected = vec![number as u8; tail];
            let member = Some(1);
            let query = Streamed { number, own, member, message: &message, expected: Some(&expected) };
            builder.push(&query).unwrap();
        };
        push(&mut builder, 5, 28, 0);
        push(&mut builder, 6, 16, 3);
        push(&mut builder, 9, 1, 1);
        let first = builder.take(100, Chunk::default());
        assert_eq!((first.numbers.clone(), first.members.clone()), (vec![5, 6, 9], vec![1, 1, 1]));
        assert_eq!([0, 1, 2].map(|i| first.queries.type_slot(i)), [1, 2, 0]);
        assert_eq!([0, 1, 2].map(|i| first.due_ns(i)), [50, 60, 90]);
        assert_eq!([0, 1, 2].map(|i| first.expected(i)), [&[][..], &[6, 6, 6], &[9]]);
        assert_eq!((first.known_to_ns, first.queries.types()), (100, &types[..]));
        push(&mut builder, 7, 1, 2);
        let second = builder.take(200, first);
        assert_eq!((second.queries.len(), second.queries.message(0)), (1, &message(1, 2)[..]));
        assert_eq!((second.expected(0), second.queries.client(0)), (&[7, 7][..], Some(7)));
        push(&mut builder, 8, 28, 1);
        let third = builder.take(300, second);
        assert_eq!(
            (third.numbers.clone(), third.expected(0), third.queries.question(0).len()),
            (vec![8], &[8][..], 7)
        );
        assert!(builder.is_empty() && !builder.is_full());
    }
}

//! Iterates over the instants of one worker's queries along a curve, without searching.

use std::sync::Arc;

use super::span::{Instants, Span};

/// One worker's share of a curve: every `stride`-th query, in order. Never goes back.
///
/// ```text
/// two workers:   n = 0 1 2 3 4 5 …     worker 0: cursor(0, 2)  ->  0, 2, 4, …
///                                      worker 1: cursor(1, 2)  ->  1, 3, 5, …
/// ```
#[derive(Debug, Clone)]
pub struct Cursor {
    instants: Instants,
    /// The index of `span` among the pieces.
    at: usize,
    /// A copy of the current piece, so that a step reads nothing else.
    span: Span,
    n: u64,
    stride: u64,
    /// The end: the first query number that is excluded.
    limit: u64,
    /// When query `n` is due; `None` at the end.
    due_ns: Option<u64>,
}

impl Cursor {
    pub(super) fn new(instants: Instants, first: u64, stride: u64) -> Cursor {
        let span = match &instants {
            Instants::OfPieces(spans) => spans[0],
            Instants::OfEach(_) => Span::default(),
        };
        let mut cursor =
            Cursor { instants, at: 0, span, n: first, stride: stride.max(1), limit: u64::MAX, due_ns: None };
        cursor.settle();
        cursor
    }

    /// A cursor without queries.
    pub fn ended() -> Cursor {
        Cursor::new(Instants::OfEach(Arc::default()), 0, 1)
    }

    /// The same cursor, ending before query `count` (counted in the whole curve, over all workers).
    pub fn up_to(mut self, count: u64) -> Cursor {
        self.limit = self.limit.min(count);
        self.settle();
        self
    }

    /// The number of the next query. Not valid once [`Cursor::due_ns`] is `None`.
    #[inline]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// When the next query is due, in nanoseconds since the start; `None` at the end.
    #[inline]
    pub fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// Advances to this worker's next query.
    #[inline]
    pub fn advance(&mut self) {
        self.n = self.n.saturating_add(self.stride);
        if self.n < self.span.end && self.n < self.limit {
            self.due_ns = Some(self.span.due_ns(self.n));
        } else {
            self.settle();
        }
    }

    /// Returns the number and instant of the next query, and advances.
    #[inline]
    pub fn next_due(&mut self) -> Option<(u64, u64)> {
        let due = (self.n, self.due_ns?);
        self.advance();
        Some(due)
    }

    /// Finds the piece that contains query `n`, starting at the current piece.
    fn settle(&mut self) {
        self.due_ns = None;
        if self.n >= self.limit {
            return;
        }
        match &self.instants {
            Instants::OfPieces(spans) => {
                while self.n >= self.span.end {
                    let Some(&next) = spans.get(self.at + 1) else { return };
                    self.at += 1;
                    self.span = next;
                }
            }
            Instants::OfEach(instants) => {
                let Some(&due_ns) = instants.get(self.n as usize) else { return };
                self.span = Span::of_one(self.n, due_ns);
            }
        }
        self.due_ns = Some(self.span.due_ns(self.n));
    }
}

impl Iterator for Cursor {
    type Item = (u64, u64);

    /// As [`Cursor::next_due`].
    fn next(&mut self) -> Option<(u64, u64)> {
        self.next_due()
    }
}

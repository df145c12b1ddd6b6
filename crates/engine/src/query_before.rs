//! The queries that have timed out and whose IDs are used again: a response to one of them has the ID of a later query.

/// The questions of such queries, by slot; the last one is first. Empty until an ID is used again.
#[derive(Default)]
pub(crate) struct QueriesBefore(Vec<[u32; KEPT]>);

/// What a slot had before it is used again.
pub(crate) enum Before {
    /// A query that has timed out, with the index of its question.
    TimedOut(u32),
    /// A query that ended otherwise.
    Ended,
    /// No message was sent since the query before.
    Nothing,
}

impl QueriesBefore {
    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes what the slot had, when its ID is used again.
    pub(crate) fn note(&mut self, slots: usize, index: u32, before: &Before) {
        self.0.resize(slots, [NONE; KEPT]);
        let question = match before {
            Before::TimedOut(question) => *question,
            Before::Ended => NONE,
            Before::Nothing => return,
        };
        let Some(kept) = self.0.get_mut(index as usize) else { return };
        kept.rotate_right(1);
        kept[0] = question;
    }

    /// Whether one of the queries before in this slot has timed out, and `is_question` holds for the index of its
    /// question. Says so once.
    pub(crate) fn take(&mut self, index: u32, is_question: impl Fn(u32) -> bool) -> bool {
        let kept = self.0.get_mut(index as usize).into_iter().flatten();
        let found = kept.filter(|question| **question != NONE).find(|question| is_question(**question));
        found.map(|question| *question = NONE).is_some()
    }
}

/// The index of no question.
const NONE: u32 = u32::MAX;

/// Queries of each slot. At 100,000 queries a second over two sockets, an ID is used again after 1.3 s: so many reach
/// back for five seconds, which a server may answer late when its queue is long.
const KEPT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_the_last_queries_that_timed_out_is_known_once() {
        let mut queries = QueriesBefore::default();
        for question in 0..6 {
            queries.note(2, 1, &Before::TimedOut(question));
            queries.note(2, 1, &Before::Nothing);
        }
        let mut has = |wanted: u32| queries.take(1, |question| question == wanted);
        assert_eq!([5, 3, 5, 2, 1].map(&mut has), [true, true, false, true, false]);
        queries.note(2, 1, &Before::Ended);
        assert!(!queries.take(1, |question| question == 1) && !queries.take(0, |_| true));
        assert!(queries.take(1, |question| question == 4), "the one that is left");
    }
}

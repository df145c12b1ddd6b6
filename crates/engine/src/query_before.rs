//! The queries that have timed out and whose IDs are used again: a response to one of them has the ID of a later query.

/// The questions of such queries, by slot. Empty until an ID is used again.
#[derive(Default)]
pub(crate) struct QueriesBefore(Vec<u32>);

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
        self.0.resize(slots, NONE);
        let Some(question) = self.0.get_mut(index as usize) else { return };
        match before {
            Before::TimedOut(timed_out) => *question = *timed_out,
            Before::Ended => *question = NONE,
            Before::Nothing => {}
        }
    }

    /// Whether the query before in this slot has timed out, and `is_question` holds for the index of its question. Says
    /// so once.
    pub(crate) fn take(&mut self, index: u32, is_question: impl FnOnce(u32) -> bool) -> bool {
        let Some(before) = self.0.get_mut(index as usize) else { return false };
        let is_it = *before != NONE && is_question(*before);
        if is_it {
            *before = NONE;
        }
        is_it
    }
}

/// The index of no question.
const NONE: u32 = u32::MAX;

//! Whether a response has the question of its query, or of the query that was sent before from its slot.

use dnsdyno_wire::{Peek, same_question};

/// Whether a response has this question. A server that cannot parse a query may respond with an error and without a
/// question, and a query may have no question: then only the ID can be compared.
#[inline]
pub(crate) fn asks(response: &Peek<'_>, sent: &[u8]) -> bool {
    same_question(response.question, sent) || sent.is_empty() || is_error_without_question(response)
}

/// Whether a response is an error of a server that could not read the question.
#[inline]
pub(crate) fn is_error_without_question(response: &Peek<'_>) -> bool {
    response.question.is_empty() && response.rcode != 0
}

/// By slot of the table: the hash of the question that was last sent from it. For sources that keep a question only
/// until its query has ended: a late response is still recognised.
pub(crate) struct SentQuestions(Box<[u32]>);

impl SentQuestions {
    pub(crate) fn new(slots: usize) -> Self {
        SentQuestions(vec![0; slots].into())
    }

    /// A question was sent from this slot. A query whose response is not waited for has none.
    pub(crate) fn note(&mut self, slot: u32, question: &[u8]) {
        if let Some(kept) = self.0.get_mut(slot as usize) {
            *kept = hash(question);
        }
    }

    /// Whether this question was the last one sent from the slot.
    pub(crate) fn is_last(&self, slot: u32, question: &[u8]) -> bool {
        self.0.get(slot as usize).is_some_and(|sent| *sent == hash(question))
    }
}

/// FNV-1a that ignores ASCII case, as the comparison of names does (RFC 4343). A length octet is never a letter.
fn hash(question: &[u8]) -> u32 {
    question.iter().fold(0x811C_9DC5, |hash, octet| {
        (hash ^ u32::from(octet.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    })
}

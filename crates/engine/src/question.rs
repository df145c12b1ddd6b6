//! Whether a response has the question of its query.

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

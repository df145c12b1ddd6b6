//! Changes to a query at the time it is sent: a unique label, a signature, an option.

use std::fmt::Debug;

/// Makes the messages of a source when they are sent. Each worker calls it in its loop: it must be fast, must not
/// block, and must not allocate except in the buffer.
pub trait Maker: Debug + Send + Sync {
    /// Rewrites or extends `message`: a copy of the message of query `number` (counted over the whole run), which
    /// has its ID already. The same number must always give the same question, because a retried query is made
    /// again. A response is matched by the question of the message that was made.
    fn make(&self, number: u64, message: &mut Vec<u8>);
}

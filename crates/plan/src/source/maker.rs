//! What is made of a query only when it is sent: a label that nobody asked for before, a signature, an option.

use std::fmt::Debug;

/// Makes the messages of a source when they are sent. Each worker calls it in its loop: it must be quick, must not
/// wait, and asks for no memory but that of the buffer.
pub trait Maker: Debug + Send + Sync {
    /// Rewrites or extends `message`: a copy of the message of query `number` (counted over the whole run), which
    /// has its ID already. The same number gives the same question each time: a query is made again where it is
    /// retried. The response must carry the question that the message has then.
    fn make(&self, number: u64, message: &mut Vec<u8>);
}

//! Entry points for `fuzz/`: what a server may send, as we read it. Each returns, whatever the bytes are.

pub use crate::stream::fuzzing::tls_records;

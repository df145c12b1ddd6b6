//! DNS over HTTPS (RFC 8484) without a socket and without a clock: what HTTP/2 and HTTP/3 have in common, and HTTP/3
//! itself (RFC 9114), which both a client and a server read and write with this.
//!
//! ```text
//!   query ─► carried ─► section of fields, body        section, body ─► head ─► DNS message, or why there is none
//!                        h3::qpack, h3::frame           h3::message, h3::unidirectional
//! ```
//!
//! HTTP/2 of the client is in `transport`, with its HPACK; that of the responder is the library `h2`.
#![forbid(unsafe_code)]

mod carried;
pub mod h3;
mod head;
mod huffman;
mod literal;
mod response;
mod words;

pub use carried::Carried;
pub use head::{Field, Head, MESSAGE_TYPE, OtherType, is_message_type};
pub use literal::{put_decimal, put_integer, put_string, read_integer, read_string};
pub use response::{message_of, words_of};

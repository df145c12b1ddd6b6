//! HTTP/3 (RFC 9114) as both a client and a server of DNS read and write it, from the octets of single streams.
//!
//! ```text
//!   request stream:        HEADERS (1xx), HEADERS, DATA ..., HEADERS (trailers)      message
//!   unidirectional stream: type, then SETTINGS, GOAWAY ... or what QPACK says        unidirectional
//! ```
//!
//! The table of QPACK has a capacity of 0 on both sides, which is what a peer gets that announces nothing. So no
//! section of fields waits for another, and streams for the instructions of QPACK are not opened (RFC 9204, 4.2).

pub mod code;
pub mod frame;
mod message;
pub mod qpack;
mod request;
mod response;
pub mod unidirectional;

pub use message::Wrong;
pub use request::{Request, RequestHead};
pub use response::{Response, Taken};

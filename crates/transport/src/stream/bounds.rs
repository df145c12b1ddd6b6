//! How much a server can make a connection over TCP hold, and how much work it can make of one turn: all bounds of
//! what is below HTTP, with their reasons.
//!
//! ```text
//!   received:  one turn's bytes │ an unfinished message, or an unfinished handshake
//!   to send:   replies that the server made us write, and does not read
//! ```
//!
//! Who passes a bound has its connection closed, which is counted: a handshake as `too_long`, later as `excess`.
//! A message over TCP is bounded by its own length field: 65,535 bytes, beside which a chunk may wait. What TLS holds
//! of records is bounded by the library: 65,535 bytes of an unfinished handshake message, one record otherwise.

/// Bytes that one call reads: the longest message, and of short ones more than a batch.
pub(super) const CHUNK_BYTES: usize = 64 << 10;

/// Full chunks that are read of one connection in a turn of the worker; then the other clients have theirs.
pub(super) const CHUNKS_A_TURN: usize = 4;

/// Bytes of records until the handshake is done: twice the longest message that the library takes. Chains of
/// certificates have some kilobytes.
pub(super) const HANDSHAKE_BYTES: usize = 128 << 10;

/// Bytes of records in a row without a byte of data, once the handshake is done. Session tickets and new keys have some
/// hundred bytes each, and a server sends a few of them.
pub(super) const BYTES_WITHOUT_DATA: usize = 64 << 10;

/// Bytes of replies that wait because the server does not read: those of TLS and HTTP/2 to control messages, and the
/// queries of one batch that waited for the handshake.
pub(super) const REPLY_BYTES: usize = 1 << 20;

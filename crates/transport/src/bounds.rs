//! How much memory a server can make a client use, and how much work in one turn: all bounds, with their reasons.
//!
//! ```text
//!   for each connection:  an unfinished message │ an unfinished handshake │ an unfinished HTTP/2 frame or header block
//!                         replies that the server does not read │ data behind a gap (QUIC)
//!   for each worker:      unfinished responses of all its connections over HTTP/2 and QUIC
//! ```
//!
//! A server that passes a bound that a protocol announces (windows, sizes of frames and tables) violates the protocol.
//! One that passes another bound has its connection closed, which is counted: a handshake as `too_long`, later as
//! `excess`. A message over TCP is bounded by its own length field: 65,535 bytes, beside which a chunk may wait. What
//! TLS holds of records is bounded by the library: 65,535 bytes of an unfinished handshake message, else one record.

/// Bytes that one call reads: the longest message, and of short ones more than a batch.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// Full chunks that are read of one connection in a turn of the worker; then the other clients have theirs.
pub(crate) const CHUNKS_A_TURN: usize = 4;

/// Bytes of records until the handshake is done: twice the longest message that the library takes. Chains of
/// certificates have some kilobytes.
pub(crate) const HANDSHAKE_BYTES: usize = 128 << 10;

/// Bytes of records in a row without a byte of data, once the handshake is done. Session tickets and new keys have some
/// hundred bytes each, and a server sends a few of them.
pub(crate) const BYTES_WITHOUT_DATA: usize = 64 << 10;

/// Bytes of replies that wait because the server does not read: those of TLS and HTTP/2 to control messages, and the
/// queries of one batch that waited for the handshake.
pub(crate) const REPLY_BYTES: usize = 1 << 20;

/// Octets of unfinished responses that a worker holds: 500 of the longest.
pub(crate) const UNFINISHED_BYTES: usize = 32 << 20;

/// The longest DNS message.
pub(crate) const LONGEST_MESSAGE: usize = 65_535;

/// The receive windows of HTTP/2. For a stream more than the longest message; for a connection more than is received
/// between two reads: what is held of it counts as unfinished responses.
pub(crate) const HTTP_STREAM_WINDOW: u32 = 128 << 10;
pub(crate) const HTTP_CONNECTION_WINDOW: u32 = 16 << 20;

/// Octets of a header block. Headers of a DNS response have some hundred.
pub(crate) const HEADER_BLOCK_BYTES: usize = 16 << 10;

/// Frames that bring no response (PING, SETTINGS, WINDOW_UPDATE, those of closed streams and of unknown types, empty
/// ones): so many are accepted at once, and again so many for each query and each second. A server needs about three
/// for a query, and a PING now and then. Replies have 17 octets at most, so 70 kB of them can wait to be sent.
pub(crate) const MOST_CONTROL_FRAMES: u32 = 4_096;
pub(crate) const CONTROL_FRAMES_A_QUERY: u32 = 16;
pub(crate) const CONTROL_FRAMES_A_SECOND: u64 = 16;

/// The receive window of a QUIC stream: the longest message and its length.
pub(crate) const QUIC_STREAM_WINDOW: u32 = 2 + LONGEST_MESSAGE as u32;

/// The receive window of a QUIC connection, which bounds what waits behind gaps.
///
/// It has to hold what a server sends within a round trip: 1 MiB are 800 responses of 1,232 octets. Many clients share
/// the bound of the worker, but each can receive the longest message.
pub(crate) fn quic_connection_window(clients: usize) -> u32 {
    let share = UNFINISHED_BYTES / clients.max(1);
    share.clamp(QUIC_STREAM_WINDOW as usize, MOST_QUIC_WINDOW) as u32
}

const MOST_QUIC_WINDOW: usize = 1 << 20;

/// Octets of handshake messages that wait behind a gap over QUIC. The longest chains of certificates have less.
pub(crate) const QUIC_HANDSHAKE_BYTES: usize = 16 << 10;

/// Octets of a block that received QUIC packets are parts of. A packet behind a gap keeps its whole block, so a block
/// is not much longer than a packet.
pub(crate) const QUIC_BLOCK_BYTES: usize = 4 << 10;

/// Octets of text from a server (a reason, a content type) that an explanation shows.
pub(crate) const SHOWN_CHARACTERS: usize = 120;

/// What the unfinished responses of a worker's connections hold.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    held_bytes: usize,
}

/// The bound of the unfinished responses would be passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuch;

impl Unfinished {
    /// An unfinished response is held from here on. Also where that is too much it has to be released.
    pub(crate) fn hold(&mut self, body: &Vec<u8>) -> Result<(), TooMuch> {
        self.hold_bytes(body.capacity())
    }

    /// The same of one that holds so many octets.
    pub(crate) fn hold_bytes(&mut self, bytes: usize) -> Result<(), TooMuch> {
        self.held_bytes += bytes;
        if self.held_bytes > UNFINISHED_BYTES { Err(TooMuch) } else { Ok(()) }
    }

    /// A response was finished or given up, and is not held any more.
    pub(crate) fn release(&mut self, body: &Vec<u8>) {
        self.release_bytes(body.capacity());
    }

    /// The same of one that has held so many octets.
    pub(crate) fn release_bytes(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }

    /// Octets of memory that are held.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_with_its_capacity_until_it_is_released() {
        let (mut unfinished, half) = (Unfinished::default(), Vec::with_capacity(UNFINISHED_BYTES / 2));
        assert_eq!((unfinished.hold(&half), unfinished.hold(&half)), (Ok(()), Ok(())));
        let small = vec![0];
        assert_eq!(unfinished.hold(&small), Err(TooMuch));
        unfinished.release(&small);
        unfinished.release(&half);
        assert_eq!((unfinished.hold(&small), unfinished.held_bytes()), (Ok(()), UNFINISHED_BYTES / 2 + 1));
    }

    #[test]
    fn each_quic_connection_can_receive_the_longest_message_and_many_share_a_bound() {
        assert_eq!(quic_connection_window(1), 1 << 20);
        assert_eq!(quic_connection_window(128), (32 << 20) / 128);
        assert_eq!(quic_connection_window(50_000), QUIC_STREAM_WINDOW);
    }
}

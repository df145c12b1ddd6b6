//! Frames of HTTP/2 (RFC 9113, 4.1): reading received ones, and writing.
//!
//! ```text
//!   0          3      4       5           9
//!   +----------+------+-------+-----------+-------------------+
//!   | length   | type | flags | stream    | payload           |
//!   +----------+------+-------+-----------+-------------------+
//! ```

use super::violation::{FRAME_SIZE_ERROR, PROTOCOL_ERROR, Violation};

/// A received frame.
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: &'a [u8],
}

/// The complete frame at the start of `bytes`, if there is one.
pub(super) fn first_frame(bytes: &[u8]) -> Result<Option<Frame<'_>>, Violation> {
    let Some(header) = bytes.first_chunk::<FRAME_HEADER>() else { return Ok(None) };
    let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
    if length > LONGEST_FRAME {
        return Err(Violation::new(FRAME_SIZE_ERROR, "a frame of more than 16,384 octets"));
    }
    let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) & LAST_STREAM;
    let payload = bytes.get(FRAME_HEADER..FRAME_HEADER + length);
    Ok(payload.map(|payload| Frame { kind: header[3], flags: header[4], stream, payload }))
}

/// The payload of a frame without its padding.
pub(super) fn without_padding<'a>(frame: &Frame<'a>) -> Result<&'a [u8], Violation> {
    if frame.flags & PADDED == 0 {
        return Ok(frame.payload);
    }
    let (padding, rest) = frame.payload.split_first().ok_or(TOO_MUCH_PADDING)?;
    let length = rest.len().checked_sub(usize::from(*padding)).ok_or(TOO_MUCH_PADDING)?;
    Ok(&rest[..length])
}

/// The number that a payload of four octets consists of.
pub(super) fn number(payload: &[u8]) -> Result<u32, Violation> {
    let wrong = Violation::new(FRAME_SIZE_ERROR, "a RST_STREAM or WINDOW_UPDATE of other than 4 octets");
    payload.try_into().map(u32::from_be_bytes).map_err(|_| wrong)
}

pub(super) fn put_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Appends a header block, in CONTINUATION frames after the first one where it exceeds a frame.
pub(super) fn put_headers(out: &mut Vec<u8>, block: &[u8], stream: u32, is_end: bool, most_frame: usize) {
    let (mut kind, mut flags) = (HEADERS, if is_end { END_STREAM } else { 0 });
    let mut rest = block;
    loop {
        let (piece, after) = rest.split_at(rest.len().min(most_frame));
        flags |= if after.is_empty() { END_HEADERS } else { 0 };
        put_header(out, piece.len(), kind, flags, stream);
        out.extend_from_slice(piece);
        if after.is_empty() {
            return;
        }
        (kind, flags, rest) = (CONTINUATION, 0, after);
    }
}

/// Appends a body, or a piece of it, in as many DATA frames as it needs.
pub(super) fn put_data(out: &mut Vec<u8>, body: &[u8], stream: u32, is_end: bool, most_frame: usize) {
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(most_frame));
        put_header(out, piece.len(), DATA, if is_end && after.is_empty() { END_STREAM } else { 0 }, stream);
        out.extend_from_slice(piece);
        rest = after;
    }
}

pub(super) fn put_window_update(out: &mut Vec<u8>, bytes: u32) {
    put_header(out, 4, WINDOW_UPDATE, 0, 0);
    out.extend_from_slice(&bytes.to_be_bytes());
}

pub(super) fn put_reset(out: &mut Vec<u8>, stream: u32, code: u32) {
    put_header(out, 4, RST_STREAM, 0, stream);
    out.extend_from_slice(&code.to_be_bytes());
}

/// The end of our connection, with the reason. No stream of the server was processed: it has none.
pub(super) fn put_goaway(out: &mut Vec<u8>, code: u32) {
    put_header(out, 8, GOAWAY, 0, 0);
    out.extend_from_slice(&0u32.to_be_bytes());
    out.extend_from_slice(&code.to_be_bytes());
}

const TOO_MUCH_PADDING: Violation = Violation::new(PROTOCOL_ERROR, "more padding than a frame has octets");

pub(super) const FRAME_HEADER: usize = 9;

// Types of frames.
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

// Flags of frames.
pub(super) const ACK: u8 = 0x1;
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITY: u8 = 0x20;

/// Bytes before the headers of a stream with a priority.
pub(super) const PRIORITY_BYTES: usize = 5;

// Settings.
pub(super) const HEADER_TABLE_SIZE: u16 = 1;
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;
pub(super) const MAX_HEADER_LIST_SIZE: u16 = 6;

/// The longest frame that either side accepts before it says otherwise (RFC 9113, 4.2); we never do.
pub(super) const LONGEST_FRAME: usize = 16_384;

/// The last number of a stream, which is also the mask of one.
pub(super) const LAST_STREAM: u32 = 0x7fff_ffff;

/// The initial windows of the standard, and the largest that it allows.
pub(super) const FIRST_WINDOW: i64 = 65_535;
pub(super) const MOST_WINDOW: i64 = 0x7fff_ffff;

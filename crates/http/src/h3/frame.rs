//! Frames of HTTP/3, found in the octets of a stream in pieces of any size (RFC 9114, 7), and their integers (RFC 9000,
//! 16).
//!
//! ```text
//!   +-----------+-------------+-------------------+
//!   | type      | length      | payload           |
//!   +-----------+-------------+-------------------+
//!     1 to 8      1 to 8        length octets
//! ```

/// The body of a message.
pub const DATA: u64 = 0;
/// A section of fields.
pub const HEADERS: u64 = 1;
/// A push that is not wanted.
pub const CANCEL_PUSH: u64 = 3;
/// What a peer accepts.
pub const SETTINGS: u64 = 4;
/// A request that the server makes itself.
pub const PUSH_PROMISE: u64 = 5;
/// No more requests are accepted.
pub const GOAWAY: u64 = 7;
/// Pushes that a client allows.
pub const MAX_PUSH_ID: u64 = 13;

/// Whether it is a type of HTTP/2 that HTTP/3 must not use (RFC 9114, 7.2.8).
#[inline]
pub fn is_reserved(kind: u64) -> bool {
    matches!(kind, 2 | 6 | 8 | 9)
}

/// Finds the frames of one stream. Payloads are handed on in the pieces that they arrive in, so it holds nothing but
/// the beginning of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames {
    header: [u8; LONGEST_HEADER],
    header_bytes: u8,
    /// The frame whose payload is not complete, and how many octets of it are left.
    open: Option<(u64, u64)>,
}

/// What comes next on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A frame of this type begins; its payload has so many octets.
    Begin {
        /// Its type.
        kind: u64,
        /// Octets of its payload.
        length: u64,
    },
    /// Some of its payload.
    Payload {
        /// The type of its frame.
        kind: u64,
        /// The octets.
        bytes: &'a [u8],
        /// Whether the frame ends here.
        is_last: bool,
    },
}

impl Frames {
    /// Takes the next piece from `rest`; `None` where more octets are needed, all of `rest` having been taken.
    #[inline]
    pub fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Option<Piece<'a>> {
        if let Some((kind, left)) = self.open {
            if rest.is_empty() {
                return None;
            }
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
            let (bytes, after) = rest.split_at(count);
            *rest = after;
            let left = left - count as u64;
            self.open = (left > 0).then_some((kind, left));
            return Some(Piece::Payload { kind, bytes, is_last: left == 0 });
        }
        while let Some((byte, after)) = rest.split_first() {
            *rest = after;
            let at = usize::from(self.header_bytes);
            self.header[at] = *byte;
            let mut header = &self.header[..=at];
            if let (Some(kind), Some(length)) = (read_varint(&mut header), read_varint(&mut header)) {
                self.header_bytes = 0;
                self.open = (length > 0).then_some((kind, length));
                return Some(Piece::Begin { kind, length });
            }
            self.header_bytes += 1;
        }
        None
    }

    /// Whether no frame has begun that is not complete.
    #[inline]
    pub fn is_between(&self) -> bool {
        self.header_bytes == 0 && self.open.is_none()
    }
}

/// Appends the beginning of a frame.
#[inline]
pub fn put_frame(out: &mut Vec<u8>, kind: u64, length: usize) {
    put_varint(out, kind);
    put_varint(out, length as u64);
}

/// Appends an integer below 2^62; one that is not loses its highest two bits.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Reads an integer; `None` where it is not complete.
#[inline]
pub fn read_varint(rest: &mut &[u8]) -> Option<u64> {
    let first = *rest.first()?;
    let (bytes, after) = rest.split_at_checked(1 << (first >> 6))?;
    *rest = after;
    let beginning = u64::from(first & 0x3f);
    Some(bytes[1..].iter().fold(beginning, |value, byte| value << 8 | u64::from(*byte)))
}

/// Octets of the longest beginning of a frame.
const LONGEST_HEADER: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_standard_are_read() {
        // RFC 9000, A.1.
        let cases: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in cases {
            assert_eq!(read_varint(&mut &bytes[..]), Some(value));
            assert_eq!(read_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
    }

    proptest! {
        #[test]
        fn integers_are_read_as_they_are_written(value in 0..1u64 << 62, short in 0..70_000u64) {
            for value in [value, short] {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                prop_assert_eq!(read_varint(&mut &out[..]), Some(value));
            }
        }

        #[test]
        fn frames_are_found_in_pieces_of_any_size(
            frames in prop::collection::vec((0..1u64 << 62, prop::collection::vec(any::<u8>(), 0..90)), 0..9),
            step in 1..40usize,
        ) {
            let mut stream = Vec::new();
            for (kind, payload) in &frames {
                put_frame(&mut stream, *kind, payload.len());
                stream.extend_from_slice(payload);
            }
            let (mut reader, mut found) = (Frames::default(), Vec::<(u64, Vec<u8>)>::new());
            for mut rest in stream.chunks(step) {
                while let Some(piece) = reader.next(&mut rest) {
                    match piece {
                        Piece::Begin { kind, .. } => found.push((kind, Vec::new())),
                        Piece::Payload { kind, bytes, .. } => {
                            let last = found.last_mut().expect("a frame has begun");
                            prop_assert_eq!(last.0, kind);
                            last.1.extend_from_slice(bytes);
                        }
                    }
                }
            }
            prop_assert!(reader.is_between());
            prop_assert_eq!(found, frames);
        }
    }

    #[test]
    fn a_frame_that_is_not_complete_is_noticed_at_each_octet() {
        let mut stream = Vec::new();
        put_frame(&mut stream, HEADERS, 300);
        stream.extend_from_slice(&[7; 300]);
        for end in 1..stream.len() {
            let (mut reader, mut rest) = (Frames::default(), &stream[..end]);
            while reader.next(&mut rest).is_some() {}
            assert!(!reader.is_between() && rest.is_empty(), "{end}");
        }
    }

    #[test]
    fn a_payload_of_any_length_is_held_by_nobody() {
        let mut stream = Vec::new();
        put_varint(&mut stream, 0x21);
        put_varint(&mut stream, (1 << 62) - 1);
        stream.extend_from_slice(b"some");
        let (mut reader, mut rest) = (Frames::default(), &stream[..]);
        assert_eq!(reader.next(&mut rest), Some(Piece::Begin { kind: 0x21, length: (1 << 62) - 1 }));
        assert_eq!(
            reader.next(&mut rest),
            Some(Piece::Payload { kind: 0x21, bytes: b"some", is_last: false })
        );
        assert_eq!((reader.next(&mut rest), reader.is_between()), (None, false));
    }
}

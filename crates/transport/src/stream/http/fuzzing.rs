//! What a server may send over HTTP/2, fed to a connection with some open streams, without TLS and sockets.

use super::frame::{SETTINGS, put_header};
use super::hpack::Decoder;
use super::state::{Http, HttpShared};
use crate::Sink;
use crate::stream::pool::BufferPool;
use crate::stream::session::Reader;

/// Frames of a server. The first byte says whether queries travel in the path, whether the server has begun as it has
/// to, and in pieces of which size the rest is received.
///
/// # Panics
/// Where a server makes the client write or hold more than its bounds.
pub fn http2_frames(bytes: &[u8]) {
    let Some((how, frames)) = bytes.split_first() else { return };
    let mut shared = HttpShared::new("dns.example", "/dns-query", how & 1 != 0);
    let (mut pool, mut out, mut news, mut nobody) = (BufferPool::default(), Vec::new(), Vec::new(), Nobody);
    let mut http = Http::begin(&mut out);
    if how & 2 != 0 {
        let mut begin = Vec::new();
        put_header(&mut begin, 0, SETTINGS, 0, 0);
        let mut reader = Reader::new(&mut nobody, &mut news, 0, 1, (0, 0));
        let _ = http.read(&mut shared, &mut pool, &begin, &mut out, &mut reader);
    }
    for id in 0..QUERIES {
        http.encode(&mut shared, &[id, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1], id.into(), &mut out);
    }
    let written = out.len();
    for (piece, now_ns) in frames.chunks(usize::from(how >> 2).pow(2) + 1).zip(1..) {
        let mut reader = Reader::new(&mut nobody, &mut news, 0, now_ns, (0, 0));
        if http.read(&mut shared, &mut pool, piece, &mut out, &mut reader).is_err() {
            break;
        }
        http.capacity();
        http.blocked_by();
    }
    let mut reader = Reader::new(&mut nobody, &mut news, 0, u64::MAX, (0, 0));
    http.cancel_before(&mut shared, &mut pool, u64::MAX, &mut out, &mut reader);
    // The shortest frame that is replied to has 9 octets, the longest reply 17.
    assert!(
        out.len() - written <= 2 * frames.len() + MOST_LAST_WORDS,
        "{} octets of replies",
        out.len() - written
    );
    http.end(&mut pool);
    assert_eq!(pool.held_bytes(), 0, "a response is still held");
    shared.explained.take();
}

/// The answers to one query, as a POST on stream 1, in the frames of a server. Without the IDs, which are ours.
pub fn http2_answers(frames: &[u8]) -> Vec<Vec<u8>> {
    let mut shared = HttpShared::new("dns.example", "/dns-query", false);
    let (mut pool, mut out, mut news, mut got) =
        (BufferPool::default(), Vec::new(), Vec::new(), Answers::default());
    let mut http = Http::begin(&mut out);
    http.encode(&mut shared, &[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1], 0, &mut out);
    let mut reader = Reader::new(&mut got, &mut news, 0, 1, (0, 0));
    // An answer before a violation is one.
    let _ = http.read(&mut shared, &mut pool, frames, &mut out, &mut reader);
    http.end(&mut pool);
    got.0
}

/// Header blocks of a server, each preceded by its length in two octets.
pub fn hpack(bytes: &[u8]) {
    let (mut decoder, mut rest) = (Decoder::new(), bytes);
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (block, after) = after.split_at(usize::from(u16::from_be_bytes(*length)).min(after.len()));
        if decoder.decode(block).is_none() {
            return;
        }
        rest = after;
    }
}

struct Nobody;

impl Sink for Nobody {
    fn packet(&mut self, _: usize, _: u64, _: &[u8]) {}
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

/// Keeps what it is given.
#[derive(Default)]
struct Answers(Vec<Vec<u8>>);

impl Sink for Answers {
    fn packet(&mut self, _: usize, _: u64, message: &[u8]) {
        self.0.push(message.get(2..).unwrap_or_default().to_vec());
    }
    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}
}

const QUERIES: u8 = 8;

/// Rests of bodies, resets of all streams, a GOAWAY, and WINDOW_UPDATE.
const MOST_LAST_WORDS: usize = QUERIES as usize * (17 + 9 + 13) + 17 + 13;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Frames with plausible types, flags and streams.
    fn frames() -> impl Strategy<Value = Vec<u8>> {
        let payload = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            // As settings, and as a status of 200 with a content type.
            (1..7u8, any::<u32>()).prop_map(|(name, value)| [&[0, name][..], &value.to_be_bytes()].concat()),
            Just(b"\x88\x5f\x18application/dns-message".to_vec()),
            prop::collection::vec(any::<u8>(), 8..=8),
        ];
        let frame = (0..11u8, any::<u8>(), 0..20u32, payload).prop_map(|(kind, flags, stream, payload)| {
            let mut frame = Vec::new();
            put_header(&mut frame, payload.len(), kind, flags & 0x2d, stream);
            [frame, payload].concat()
        });
        prop::collection::vec(frame, 0..60).prop_map(|frames| frames.concat())
    }

    proptest! {
        #[test]
        fn any_frames_are_read_within_the_bounds(how in any::<u8>(), frames in frames()) {
            http2_frames(&[&[how | 2][..], &frames].concat());
        }

        #[test]
        fn any_octets_are_read_as_frames_and_as_headers(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            http2_frames(&bytes);
            hpack(&bytes);
        }
    }
}

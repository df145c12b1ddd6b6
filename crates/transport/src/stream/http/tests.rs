//! A server by hand: every frame it may send, whole and in pieces.

mod hostile;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_HEADER, GOAWAY, HEADER_TABLE_SIZE, HEADERS,
    MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, PADDED, PING, PRIORITY, PUSH_PROMISE, RST_STREAM, WINDOW_UPDATE,
    first_frame,
};
use super::violation::{
    COMPRESSION_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, HTTP_1_1_REQUIRED, PROTOCOL_ERROR,
    REFUSED_STREAM,
};
use super::*;
use crate::bounds::{HEADER_BLOCK_BYTES, MOST_CONTROL_FRAMES, UNFINISHED_BYTES};
use crate::stream::session::Broken;
use crate::{ConnectionEvent, MessageKind};

/// Keeps what is received, and accepts what has a QR bit.
#[derive(Default)]
struct Told {
    answers: Vec<Vec<u8>>,
    statuses: Vec<u16>,
    failed: Vec<(u16, StreamFailure)>,
}

impl Sink for Told {
    fn packet(&mut self, _: usize, _: u64, bytes: &[u8]) {
        self.answers.push(bytes.to_vec());
    }

    fn refused(&mut self, _: usize, _: u64, _: &[u8]) {}

    fn answer(&mut self, channel: usize, at_ns: u64, _: u64, _: Option<u64>, bytes: &[u8]) -> MessageKind {
        self.packet(channel, at_ns, bytes);
        if bytes.get(2).is_some_and(|flags| flags & 0x80 != 0) {
            MessageKind::Answer
        } else {
            MessageKind::Malformed
        }
    }

    fn status(&mut self, status: u16) {
        self.statuses.push(status);
    }

    fn stream_failed(&mut self, _: usize, id: u16, _: u64, why: StreamFailure) -> bool {
        self.failed.push((id, why));
        true
    }
}

/// A client, what it has received, and what it has sent.
struct Scene {
    http: Http,
    shared: HttpShared,
    pool: BufferPool,
    told: Told,
    news: Vec<(u32, u64, ConnectionEvent)>,
    said: Vec<u8>,
    ended: u32,
}

impl Scene {
    /// After the server's SETTINGS.
    fn new(is_get: bool) -> Scene {
        let mut scene = Scene::before_settings(is_get);
        scene.take(&frame(SETTINGS, 0, 0, &[])).unwrap();
        scene.said.clear();
        scene
    }

    fn before_settings(is_get: bool) -> Scene {
        let mut said = Vec::new();
        let http = Http::begin(&mut said);
        let shared = HttpShared::new("dns.example", "/dns-query", is_get);
        assert!(said.starts_with(PREFACE));
        said.clear();
        let (pool, told) = (BufferPool::default(), Told::default());
        Scene { http, shared, pool, told, news: Vec::new(), said, ended: 0 }
    }

    /// Asks with this ID, at the instant of the same number.
    fn encode(&mut self, id: u16) -> bool {
        self.http.encode(&mut self.shared, &message(id, 0x01), u64::from(id), &mut self.said)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut reader = Reader::new(&mut self.told, &mut self.news, 0, 0, (0, 0));
        let taken = self.http.read(&mut self.shared, &mut self.pool, bytes, &mut self.said, &mut reader);
        self.ended += reader.ended;
        taken
    }

    /// Receives what has to end the connection; returns the code of the GOAWAY, its reason and its words.
    fn ends_after(&mut self, bytes: &[u8]) -> (u32, ConnectionEnd, String) {
        self.said.clear();
        let Err(Broken::Ended(end)) = self.take(bytes) else { panic!("accepted: {bytes:x?}") };
        let (kind, _, stream, payload) = self.frames().pop().expect("a last frame");
        assert_eq!((kind, stream, payload.len()), (GOAWAY, 0, 8));
        let words = self.shared.explained.take().pop().expect("words").words;
        (u32::from_be_bytes([payload[4], payload[5], payload[6], payload[7]]), end, words)
    }

    /// The frames sent since the last call: kind, flags, stream, payload.
    fn frames(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        let said = std::mem::take(&mut self.said);
        let (mut frames, mut at) = (Vec::new(), 0);
        while let Some(frame) = first_frame(&said[at..]).expect("frames of ours") {
            at += FRAME_HEADER + frame.payload.len();
            frames.push((frame.kind, frame.flags, frame.stream, frame.payload.to_vec()));
        }
        assert_eq!(at, said.len(), "whole frames");
        frames
    }
}

/// A query of so many bytes, all different from their neighbours.
fn long_query(id: u16, length: usize) -> Vec<u8> {
    let mut query = message(id, 0x01);
    query.extend((query.len()..length).map(|at| at as u8));
    query
}

fn setting(name: u16, value: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

/// Kind, flags and length of each frame, which may be longer than we accept ourselves.
fn shapes(mut said: &[u8]) -> Vec<(u8, u8, usize)> {
    let mut shapes = Vec::new();
    while let Some(header) = said.first_chunk::<FRAME_HEADER>() {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        shapes.push((header[3], header[4], length));
        said = &said[FRAME_HEADER + length..];
    }
    shapes
}

fn message(id: u16, flags: u8) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[flags, 0], &[0; 8], b"\x01a\x00\x00\x01\x00\x01"].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_header(&mut bytes, payload.len(), kind, flags, stream);
    bytes.extend_from_slice(payload);
    bytes
}

/// Headers of a response, each value as a literal.
fn head(status: &str, content_type: &str, length: Option<usize>) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let mut block = [&[0x08][..], &text(status), &[0x0f, 0x10], &text(content_type)].concat();
    if let Some(length) = length {
        hpack::put_content_length(&mut block, length);
    }
    block
}

const DNS: &str = "application/dns-message";

#[test]
fn a_post_carries_the_message_with_id_0_and_its_response_gets_the_id_back() {
    let mut scene = Scene::new(false);
    assert!(scene.encode(0x1234) && scene.encode(0x4321));
    let said = scene.frames();
    assert_eq!(
        said.iter().map(|frame| (frame.0, frame.1, frame.2)).collect::<Vec<_>>(),
        [(HEADERS, END_HEADERS, 1), (DATA, END_STREAM, 1), (HEADERS, END_HEADERS, 3), (DATA, END_STREAM, 3)]
    );
    assert_eq!((&said[1].3, said[2].3.len()), (&message(0, 0x01), 6 + 5), "the second points to the first");
    let answer = message(0, 0x80);
    // The second first: a slow answer holds up no other.
    for stream in [3, 1] {
        scene.take(&frame(HEADERS, END_HEADERS, stream, &head("200", DNS, Some(answer.len())))).unwrap();
        scene.take(&frame(DATA, END_STREAM, stream, &answer)).unwrap();
    }
    assert_eq!(scene.told.answers, [message(0x4321, 0x80), message(0x1234, 0x80)]);
    assert_eq!((scene.told.statuses.as_slice(), scene.ended), (&[200, 200][..], 2));
    assert!(scene.http.streams.is_empty() && scene.told.failed.is_empty());
}

#[test]
fn a_get_carries_the_message_in_its_path() {
    let mut scene = Scene::new(true);
    assert!(scene.encode(7));
    let said = scene.frames();
    assert_eq!((said.len(), said[0].1), (1, END_HEADERS | END_STREAM));
    let path = format!("/dns-query?dns={}", URL_SAFE_NO_PAD.encode(message(0, 0x01)));
    let block = String::from_utf8_lossy(&said[0].3).into_owned();
    assert!(block.contains(&path), "{block:?}");
    let accept = block.find("application/dns-message").expect("it accepts messages");
    assert!(block.find(&path).is_some_and(|at| at < accept), "names with a colon come first");
}

#[test]
fn a_response_may_come_in_pieces_of_any_kind() {
    let mut scene = Scene::new(false);
    assert!(scene.encode(5));
    let (block, answer) = (head("200", DNS, None), message(0, 0x80));
    let (first, rest) = block.split_at(9);
    let padded = [&[3][..], &answer[..10], &[0; 3]].concat();
    let bytes = [
        frame(SETTINGS, 0, 0, &[]),
        // Early hints before the response itself.
        frame(HEADERS, END_HEADERS, 1, &head("103", "text/plain", None)),
        frame(HEADERS, PRIORITY, 1, &[&[0; 5], first].concat()),
        frame(CONTINUATION, END_HEADERS, 1, rest),
        frame(DATA, PADDED, 1, &padded),
        frame(0xbe, 0xff, 9, b"of an unknown type"),
        frame(DATA, 0, 1, &answer[10..]),
        // Trailers end it.
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &head("", "x", None)[2..]),
    ]
    .concat();
    for byte in &bytes {
        scene.take(std::slice::from_ref(byte)).unwrap();
    }
    assert_eq!((scene.told.answers, scene.told.statuses), (vec![message(5, 0x80)], vec![200]));
    assert!(scene.http.inbox.is_empty() && scene.told.failed.is_empty());
}

#[test]
fn each_kind_of_failed_response_is_reported_as_such() {
    /// Status, content type, content length, body, and the result.
    type Case<'a> = (&'a str, &'a str, Option<usize>, &'a [u8], StreamFailure);
    let (answer, query) = (message(0, 0x80), message(0, 0x01));
    let cases: [Case<'_>; 6] = [
        ("404", "text/html", None, b"no", StreamFailure::Status),
        ("500", DNS, None, &answer, StreamFailure::Status),
        ("200", "text/html", None, &answer, StreamFailure::NoMessage),
        ("200", DNS, None, &query, StreamFailure::NoMessage),
        ("200", DNS, None, b"", StreamFailure::NoMessage),
        ("200", DNS, Some(999), &answer, StreamFailure::Protocol),
    ];
    for (status, content_type, length, body, why) in cases {
        let mut scene = Scene::new(false);
        assert!(scene.encode(9));
        scene.take(&frame(HEADERS, END_HEADERS, 1, &head(status, content_type, length))).unwrap();
        scene.take(&frame(DATA, END_STREAM, 1, body)).unwrap();
        assert_eq!(scene.told.failed, [(9, why)], "{status} {content_type}");
        assert_eq!(scene.told.statuses, [status.parse::<u16>().unwrap()]);
        assert_eq!(scene.ended, 1);
    }
    // Headers alone, and no status at all.
    for (block, why) in [(head("204", DNS, None), StreamFailure::Status), (vec![], StreamFailure::Protocol)] {
        let mut scene = Scene::new(false);
        assert!(scene.encode(9));
        scene.take(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)).unwrap();
        assert_eq!(scene.told.failed, [(9, why)]);
    }
}

#[test]
fn a_response_with_another_id_ends_its_own_query_and_no_other() {
    let mut scene = Scene::new(false);
    assert!(scene.encode(1) && scene.encode(3));
    scene.take(&frame(HEADERS, END_HEADERS, 1, &head("200", DNS, None))).unwrap();
    // Combined with the ID of its own query this would be the ID of the other.
    scene.take(&frame(DATA, END_STREAM, 1, &message(1 ^ 3, 0x80))).unwrap();
    assert_eq!((scene.told.answers.len(), scene.http.streams.len()), (0, 1));
    assert_eq!(scene.told.failed, [(1, StreamFailure::WrongId)]);
    assert_eq!(scene.shared.explained.take()[0].about, "stream.wrong_id");
}

#[test]
fn a_reset_ends_its_stream_only_and_a_refused_stream_is_reported_separately() {
    let mut scene = Scene::new(false);
    (1..=3).for_each(|id| assert!(scene.encode(id)));
    scene.take(&frame(RST_STREAM, 0, 1, &REFUSED_STREAM.to_be_bytes())).unwrap();
    scene.take(&frame(RST_STREAM, 0, 3, &2u32.to_be_bytes())).unwrap();
    scene.take(&frame(RST_STREAM, 0, 3, &2u32.to_be_bytes())).unwrap();
    assert_eq!(scene.told.failed, [(1, StreamFailure::Refused), (2, StreamFailure::Reset)]);
    assert_eq!((scene.http.streams.len(), scene.http.closing()), (1, None));
}

#[test]
fn after_goaway_no_query_is_sent_and_unprocessed_ones_are_reported() {
    for (code, end) in [(0u32, ConnectionEnd::GoneAway), (11, ConnectionEnd::Error)] {
        let mut scene = Scene::new(false);
        (1..=3).for_each(|id| assert!(scene.encode(id)));
        scene.take(&frame(GOAWAY, 0, 0, &[3u32.to_be_bytes(), code.to_be_bytes()].concat())).unwrap();
        assert_eq!(scene.told.failed, [(3, StreamFailure::GoneAway)]);
        assert_eq!((scene.http.closing(), scene.http.capacity(), scene.encode(4)), (Some(end), 0, false));
        scene.take(&frame(HEADERS, END_HEADERS, 3, &head("200", DNS, None))).unwrap();
        scene.take(&frame(DATA, END_STREAM, 3, &message(0, 0x80))).unwrap();
        assert_eq!(scene.told.answers, [message(2, 0x80)], "what was taken is answered");
    }
}

#[test]
fn no_more_streams_are_opened_than_the_server_allows() {
    let mut scene = Scene::new(false);
    assert_eq!(scene.http.capacity(), USUAL_STREAMS);
    let setting = |name: u16, value: u32| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    scene.take(&frame(SETTINGS, 0, 0, &setting(MAX_CONCURRENT_STREAMS, 2))).unwrap();
    assert_eq!(scene.frames(), [(SETTINGS, ACK, 0, vec![])]);
    assert_eq!((scene.encode(1), scene.encode(2), scene.encode(3)), (true, true, false));
    scene.take(&frame(RST_STREAM, 0, 1, &[0; 4])).unwrap();
    assert!(scene.encode(3));

    // A window that closes holds queries up until it opens.
    let mut scene = Scene::new(false);
    scene.take(&frame(SETTINGS, 0, 0, &setting(MAX_CONCURRENT_STREAMS, 1_000_000))).unwrap();
    let asked = (0..10_000).take_while(|id| scene.encode(*id)).count();
    let length = message(0, 0).len();
    assert!(
        (FIRST_WINDOW - LOW_WINDOW) as usize / length <= asked && asked * length <= FIRST_WINDOW as usize
    );
    scene.take(&frame(WINDOW_UPDATE, 0, 0, &65_535u32.to_be_bytes())).unwrap();
    assert!(scene.http.capacity() > 0 && scene.encode(1));
}

#[test]
fn a_body_longer_than_a_frame_is_split() {
    let mut scene = Scene::new(false);
    let query = long_query(1, 40_000);
    assert!(scene.http.encode(&mut scene.shared, &query, 0, &mut scene.said));
    let frames = scene.frames();
    let shapes_of: Vec<_> = frames.iter().map(|frame| (frame.0, frame.1, frame.3.len())).collect();
    let data = [(DATA, 0, 16_384), (DATA, 0, 16_384), (DATA, END_STREAM, 40_000 - 2 * 16_384)];
    assert_eq!((shapes_of[0].0, &shapes_of[1..]), (HEADERS, &data[..]));
    let body: Vec<u8> = frames[1..].iter().flat_map(|frame| frame.3.clone()).collect();
    assert!(body[..2] == [0, 0] && body[2..] == query[2..]);

    // A server may accept longer ones, of a length that the standard allows.
    let mut scene = Scene::new(false);
    scene.take(&setting(MAX_FRAME_SIZE, 20_000)).unwrap();
    scene.said.clear();
    assert!(scene.http.encode(&mut scene.shared, &query, 0, &mut scene.said));
    assert_eq!(shapes(&scene.said)[1..], [(DATA, 0, 20_000), (DATA, END_STREAM, 20_000)]);
    for value in [16_383, 1 << 24] {
        assert_eq!(Scene::new(false).ends_after(&setting(MAX_FRAME_SIZE, value)).0, PROTOCOL_ERROR);
    }
}

#[test]
fn a_path_longer_than_a_frame_is_continued() {
    let mut scene = Scene::new(true);
    let query = long_query(0, 65_535);
    assert!(scene.http.encode(&mut scene.shared, &query, 0, &mut scene.said));
    let frames = scene.frames();
    let last = frames.len() - 1;
    assert_eq!(frames.len(), 6, "87 kB in frames of 16 kB");
    for (at, (kind, flags, stream, _)) in frames.iter().enumerate() {
        let expected_kind = if at == 0 { HEADERS } else { CONTINUATION };
        let expected_flags = if at == 0 { END_STREAM } else { 0 } | if at == last { END_HEADERS } else { 0 };
        assert_eq!((*kind, *flags, *stream), (expected_kind, expected_flags, 1));
    }
    let block: Vec<u8> = frames.iter().flat_map(|frame| frame.3.clone()).collect();
    assert!(Decoder::new().decode(&block).is_some());
    let path = URL_SAFE_NO_PAD.encode(&query);
    assert!(block.windows(path.len()).any(|window| window == path.as_bytes()));
}

#[test]
fn a_body_longer_than_the_window_waits_for_it_to_open() {
    let mut scene = Scene::new(false);
    scene.take(&setting(INITIAL_WINDOW_SIZE, 10_000)).unwrap();
    scene.said.clear();
    let query = long_query(1, 35_000);
    assert!(scene.http.encode(&mut scene.shared, &query, 1, &mut scene.said));
    assert_eq!(shapes(&scene.said)[1..], [(DATA, 0, 10_000)]);
    assert_eq!((scene.http.capacity(), scene.encode(2)), (0, false), "the rest is sent first");
    let said = |scene: &mut Scene, bytes: &[u8]| {
        scene.said.clear();
        scene.take(bytes).unwrap();
        shapes(&scene.said)
    };
    let update = |stream, bytes: u32| frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
    // The connection's window is not what holds it up.
    assert_eq!(said(&mut scene, &update(0, 10)), []);
    assert_eq!(said(&mut scene, &update(1, 9_000)), [(DATA, 0, 9_000)]);
    // Settings change the window of an open stream too: it may close further, and opens again.
    let acknowledged = (SETTINGS, ACK, 0);
    assert_eq!(said(&mut scene, &setting(INITIAL_WINDOW_SIZE, 5_000)), [acknowledged]);
    assert_eq!(said(&mut scene, &update(1, 6_000)), [(DATA, 0, 1_000)]);
    assert_eq!(
        said(&mut scene, &setting(INITIAL_WINDOW_SIZE, 65_535)),
        [acknowledged, (DATA, END_STREAM, 15_000)]
    );
    // The connection's window: 65,535 and 10, of which 35,000 are used.
    let query = long_query(3, 40_000);
    assert!(scene.http.encode(&mut scene.shared, &query, 3, &mut scene.said));
    assert_eq!(said(&mut scene, &update(0, 9_000)), [(DATA, 0, 9_000)]);
    assert_eq!(said(&mut scene, &update(0, 455)), [(DATA, END_STREAM, 455)]);
    assert_eq!(scene.ends_after(&setting(INITIAL_WINDOW_SIZE, 1 << 31)).0, FLOW_CONTROL_ERROR);
}

#[test]
fn a_query_whose_stream_failed_does_not_wait_for_a_window() {
    let mut scene = Scene::new(false);
    scene.take(&setting(INITIAL_WINDOW_SIZE, 0)).unwrap();
    assert!(scene.encode(1) && scene.http.capacity() == 0);
    scene.take(&frame(RST_STREAM, 0, 1, &REFUSED_STREAM.to_be_bytes())).unwrap();
    assert_eq!(scene.told.failed, [(1, StreamFailure::Refused)]);
    assert_eq!(scene.http.capacity(), USUAL_STREAMS);
}

#[test]
fn a_server_with_a_small_table_is_sent_literal_headers() {
    let mut scene = Scene::new(false);
    assert!(scene.encode(1));
    let none = [&HEADER_TABLE_SIZE.to_be_bytes()[..], &[0; 4]].concat();
    scene.take(&frame(SETTINGS, 0, 0, &none)).unwrap();
    scene.frames();
    assert!(scene.encode(2) && scene.encode(3));
    let said = scene.frames();
    assert_eq!(said[0].3[0], 0x20, "its table is to be empty from here on");
    let mut decoder = Decoder::new();
    for at in [0, 2] {
        assert!(decoder.decode(&said[at].3).is_some());
        assert!(String::from_utf8_lossy(&said[at].3).contains("/dns-query"));
    }
    assert!(said[2].3.len() < said[0].3.len(), "said once");
}

#[test]
fn pings_are_answered_and_receive_windows_extended() {
    let mut scene = Scene::new(false);
    scene.take(&frame(PING, 0, 0, b"12345678")).unwrap();
    scene.take(&frame(PING, ACK, 0, b"12345678")).unwrap();
    assert_eq!(scene.frames(), [(PING, ACK, 0, b"12345678".to_vec())]);
    // Of streams that are gone too: what they bring fills the window all the same.
    assert!(scene.encode(1));
    scene.take(&frame(RST_STREAM, 0, 1, &[0; 4])).unwrap();
    scene.frames();
    let data = frame(DATA, 0, 1, &[0; LONGEST_FRAME]);
    let before_half = HTTP_CONNECTION_WINDOW as usize / 2 / LONGEST_FRAME;
    (0..before_half).for_each(|_| scene.take(&data).unwrap());
    assert_eq!(scene.frames(), []);
    scene.take(&data).unwrap();
    let opened = ((before_half + 1) * LONGEST_FRAME) as u32;
    assert_eq!(scene.frames(), [(WINDOW_UPDATE, 0, 0, opened.to_be_bytes().to_vec())]);
}

#[test]
fn data_of_a_cancelled_stream_is_ignored() {
    let mut scene = Scene::new(false);
    assert!(scene.encode(10) && scene.encode(20));
    scene.frames();
    let mut reader = Reader::new(&mut scene.told, &mut scene.news, 0, 0, (0, 0));
    scene.http.cancel_before(&mut scene.shared, &mut scene.pool, 15, &mut scene.said, &mut reader);
    assert_eq!(scene.told.failed, [(10, StreamFailure::GivenUp)]);
    assert_eq!(scene.frames(), [(RST_STREAM, 0, 1, CANCEL.to_be_bytes().to_vec())]);
    scene.take(&frame(HEADERS, END_HEADERS, 1, &head("200", DNS, None))).unwrap();
    scene.take(&frame(DATA, END_STREAM, 1, &message(0, 0x80))).unwrap();
    assert_eq!((scene.told.answers.len(), scene.http.streams.len()), (0, 1));
}

#[test]
fn a_body_longer_than_any_message_ends_its_stream() {
    let mut scene = Scene::new(false);
    assert!(scene.encode(1));
    scene.frames();
    scene.take(&frame(HEADERS, END_HEADERS, 1, &head("200", DNS, None))).unwrap();
    (0..4).for_each(|_| scene.take(&frame(DATA, 0, 1, &[0; LONGEST_FRAME])).unwrap());
    assert_eq!(scene.told.failed, [(1, StreamFailure::Protocol)]);
    assert_eq!(scene.frames(), [(RST_STREAM, 0, 1, CANCEL.to_be_bytes().to_vec())]);
}

//! A server that violates HTTP/2, floods the client, or allows it nothing; and the words about it.

use super::*;

#[test]
fn each_violation_ends_the_connection_with_its_code() {
    let settings = |name, value: u32| setting(name, value);
    let update = |stream, bytes: u32| frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
    let response = |stream| frame(HEADERS, END_HEADERS, stream, &head("200", DNS, None));
    let header_block = frame(HEADERS, 0, 1, &head("200", DNS, None));
    let cases = [
        (frame(PUSH_PROMISE, END_HEADERS, 1, &[0; 8]), PROTOCOL_ERROR),
        (frame(CONTINUATION, END_HEADERS, 1, &[]), PROTOCOL_ERROR),
        ([&header_block[..], &frame(DATA, 0, 1, b"")].concat(), PROTOCOL_ERROR),
        ([&header_block[..], &frame(CONTINUATION, END_HEADERS, 3, b"")].concat(), PROTOCOL_ERROR),
        (frame(HEADERS, END_HEADERS, 1, &[0x80]), COMPRESSION_ERROR),
        (frame(HEADERS, END_HEADERS, 1, b"\x88\x20"), COMPRESSION_ERROR),
        (frame(HEADERS, END_HEADERS, 1, b"\x3f\xe2\x1f\x88"), COMPRESSION_ERROR),
        (frame(HEADERS, END_HEADERS | PRIORITY, 1, &[0; 4]), PROTOCOL_ERROR),
        (response(0), PROTOCOL_ERROR),
        (response(2), PROTOCOL_ERROR),
        (response(5), PROTOCOL_ERROR),
        (frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR),
        (frame(DATA, 0, 5, b"x"), PROTOCOL_ERROR),
        (frame(DATA, PADDED, 1, &[9, 0]), PROTOCOL_ERROR),
        (frame(SETTINGS, 0, 0, &[0; 5]), FRAME_SIZE_ERROR),
        (frame(SETTINGS, ACK, 0, &[0; 6]), FRAME_SIZE_ERROR),
        (frame(SETTINGS, 0, 1, &[]), PROTOCOL_ERROR),
        (settings(ENABLE_PUSH, 1), PROTOCOL_ERROR),
        (settings(INITIAL_WINDOW_SIZE, u32::MAX), FLOW_CONTROL_ERROR),
        (frame(PING, 0, 0, &[0; 7]), FRAME_SIZE_ERROR),
        (frame(PING, 0, 0, &[0; LONGEST_FRAME]), FRAME_SIZE_ERROR),
        (frame(PING, 0, 1, &[0; 8]), PROTOCOL_ERROR),
        (frame(GOAWAY, 0, 0, &[0; 7]), FRAME_SIZE_ERROR),
        (frame(GOAWAY, 0, 1, &[0; 8]), PROTOCOL_ERROR),
        (frame(RST_STREAM, 0, 1, &[0; 3]), FRAME_SIZE_ERROR),
        (frame(RST_STREAM, 0, 0, &[0; 4]), PROTOCOL_ERROR),
        (frame(RST_STREAM, 0, 5, &[0; 4]), PROTOCOL_ERROR),
        (frame(WINDOW_UPDATE, 0, 0, &[1; 5]), FRAME_SIZE_ERROR),
        (update(0, 0), PROTOCOL_ERROR),
        (update(0, 0x7fff_ffff), FLOW_CONTROL_ERROR),
        (update(5, 1), PROTOCOL_ERROR),
        ([update(1, 70_000), settings(INITIAL_WINDOW_SIZE, 0x7fff_ffff)].concat(), FLOW_CONTROL_ERROR),
        (vec![0xff; FRAME_HEADER], FRAME_SIZE_ERROR),
    ];
    for (bytes, code) in cases {
        let mut scene = Scene::new(false);
        assert!(scene.encode(1) && scene.encode(3));
        let (told, end, words) = scene.ends_after(&bytes);
        assert_eq!((told, end), (code, ConnectionEnd::Protocol), "{words}: {bytes:x?}");
        assert!(words.starts_with("the server sent ") && words.contains("_ERROR)"), "{words}");
    }
}

#[test]
fn a_server_that_does_not_begin_with_settings_does_not_speak_http_2() {
    for bytes in [frame(PING, 0, 0, &[0; 8]), frame(SETTINGS, ACK, 0, &[])] {
        assert_eq!(Scene::before_settings(false).ends_after(&bytes).0, PROTOCOL_ERROR);
    }
    let (code, _, words) = Scene::before_settings(false).ends_after(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(code == HTTP_1_1_REQUIRED && words.contains("HTTP/1.1"), "{words}");
}

#[test]
fn a_violation_on_a_stream_ends_that_stream_only() {
    let update = |bytes: u32| frame(WINDOW_UPDATE, 0, 1, &bytes.to_be_bytes());
    let response = |status| frame(HEADERS, END_HEADERS, 1, &head(status, DNS, None));
    let cases = [
        (update(0), PROTOCOL_ERROR),
        (update(0x7fff_ffff), FLOW_CONTROL_ERROR),
        (frame(DATA, 0, 1, b"before the headers"), PROTOCOL_ERROR),
        (response("+200"), PROTOCOL_ERROR),
        (response("0200"), PROTOCOL_ERROR),
        (response("099"), PROTOCOL_ERROR),
        (frame(HEADERS, END_HEADERS | END_STREAM, 1, &head("103", DNS, None)), PROTOCOL_ERROR),
        ([response("200"), response("200")].concat(), PROTOCOL_ERROR),
    ];
    for (bytes, code) in cases {
        let mut scene = Scene::new(false);
        assert!(scene.encode(1) && scene.encode(3));
        scene.frames();
        scene.take(&bytes).unwrap();
        assert_eq!(scene.told.failed, [(1, StreamFailure::Protocol)], "{bytes:x?}");
        assert_eq!(scene.frames(), [(RST_STREAM, 0, 1, code.to_be_bytes().to_vec())], "{bytes:x?}");
        assert_eq!((scene.http.streams.len(), scene.shared.explained.take().len()), (1, 1));
    }
}

/// Repeats a frame until the connection ends; returns how often, and the bytes of our replies.
fn flooded(scene: &mut Scene, bytes: &[u8]) -> (u32, usize) {
    let (mut times, mut replies) = (0, 0);
    loop {
        scene.said.clear();
        let taken = scene.take(bytes);
        replies += scene.said.len();
        if taken.is_err() {
            assert_eq!(taken, Err(Broken::Ended(ConnectionEnd::Excess)));
            let words = scene.shared.explained.take().pop().expect("words").words;
            assert!(words.contains("ENHANCE_YOUR_CALM"), "{words}");
            return (times, replies);
        }
        times += 1;
        assert!(times < 1_000_000, "no bound");
    }
}

#[test]
fn a_flood_of_frames_that_bring_no_response_ends_the_connection() {
    let early_hints = frame(HEADERS, END_HEADERS, 1, &head("103", DNS, None));
    let floods = [
        frame(PING, 0, 0, &[0; 8]),
        frame(PING, ACK, 0, &[0; 8]),
        frame(SETTINGS, 0, 0, &[]),
        setting(MAX_CONCURRENT_STREAMS, 7),
        frame(WINDOW_UPDATE, 0, 1, &1u32.to_be_bytes()),
        frame(RST_STREAM, 0, 3, &[0; 4]),
        frame(DATA, 0, 3, b"of a stream that has ended"),
        frame(0xbe, 0, 0, b"of an unknown type"),
        frame(GOAWAY, 0, 0, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
        early_hints,
    ];
    for bytes in floods {
        let mut scene = Scene::new(false);
        assert!(scene.encode(1) && scene.encode(2));
        scene.take(&frame(RST_STREAM, 0, 3, &[0; 4])).unwrap();
        let (times, replies) = flooded(&mut scene, &bytes);
        assert!(times <= MOST_CONTROL_FRAMES && times > MOST_CONTROL_FRAMES / 2, "{times}");
        assert!(replies <= 32 * MOST_CONTROL_FRAMES as usize, "{replies}");
    }
    // Empty pieces of a response, and of its headers.
    let mut scene = Scene::new(false);
    assert!(scene.encode(1));
    scene.take(&frame(HEADERS, END_HEADERS, 1, &head("200", DNS, None))).unwrap();
    assert!(flooded(&mut scene, &frame(DATA, 0, 1, b"")).0 <= MOST_CONTROL_FRAMES);
    let mut scene = Scene::new(false);
    assert!(scene.encode(1));
    scene.take(&frame(HEADERS, 0, 1, &[])).unwrap();
    assert!(flooded(&mut scene, &frame(CONTINUATION, 0, 1, b"")).0 <= MOST_CONTROL_FRAMES);
}

#[test]
fn headers_without_end_end_the_connection() {
    let mut scene = Scene::new(false);
    assert!(scene.encode(1));
    scene.take(&frame(HEADERS, 0, 1, &[])).unwrap();
    let (times, _) = flooded(&mut scene, &frame(CONTINUATION, 0, 1, &[0; 1_000]));
    assert_eq!(times as usize, HEADER_BLOCK_BYTES / 1_000);
}

#[test]
fn unfinished_responses_are_held_up_to_a_bound_over_all_streams() {
    let mut scene = Scene::new(true);
    scene.take(&setting(MAX_CONCURRENT_STREAMS, 10_000)).unwrap();
    let held = 60_000;
    let streams = 2 * UNFINISHED_BYTES / held;
    let mut ended_at = None;
    for number in 0..streams as u32 {
        assert!(scene.encode(number as u16));
        let stream = 2 * number + 1;
        scene.take(&frame(HEADERS, END_HEADERS, stream, &head("200", DNS, None))).unwrap();
        if let Some(taken) =
            (0..6).map(|_| scene.take(&frame(DATA, 0, stream, &[0; 10_000]))).find(Result::is_err)
        {
            assert_eq!(taken, Err(Broken::Ended(ConnectionEnd::Excess)));
            ended_at = Some(number);
            break;
        }
    }
    let held = ended_at.expect("a bound") as usize * held;
    assert!((UNFINISHED_BYTES / 4..=UNFINISHED_BYTES).contains(&held), "{held}");
    assert!(scene.pool.held_bytes() >= held);
    let Scene { http, mut pool, .. } = scene;
    http.end(&mut pool);
    assert_eq!(pool.held_bytes(), 0);
}

#[test]
fn finished_and_cancelled_responses_hold_nothing() {
    let mut scene = Scene::new(true);
    let piece = |stream| frame(DATA, 0, stream, &[0; 10_000]);
    for number in 0..4 {
        assert!(scene.encode(number as u16));
        scene.take(&frame(HEADERS, END_HEADERS, 2 * number + 1, &head("200", DNS, None))).unwrap();
        scene.take(&piece(2 * number + 1)).unwrap();
    }
    scene.take(&frame(DATA, END_STREAM, 1, b"x")).unwrap();
    scene.take(&frame(RST_STREAM, 0, 3, &[0; 4])).unwrap();
    (0..6).for_each(|_| scene.take(&piece(5)).unwrap());
    let mut reader = Reader::new(&mut scene.told, &mut scene.news, 0, 0, (0, 0));
    scene.http.cancel_before(&mut scene.shared, &mut scene.pool, 9, &mut scene.said, &mut reader);
    assert_eq!(scene.pool.held_bytes(), 0);
}

#[test]
fn a_server_that_allows_nothing_is_told_from_one_whose_streams_are_in_use() {
    let limit = |most| setting(MAX_CONCURRENT_STREAMS, most);
    let mut scene = Scene::new(false);
    scene.take(&limit(1)).unwrap();
    assert!(scene.encode(1) && !scene.encode(2));
    assert_eq!(scene.http.blocked_by(), NotSentReason::NoFreeConnection);
    scene.take(&limit(0)).unwrap();
    assert_eq!((scene.http.capacity(), scene.http.blocked_by()), (0, NotSentReason::NoStream));
    let explained = scene.shared.explained.take();
    assert!(explained[0].about == "not_sent.no_stream" && explained[0].words.contains("no HTTP/2 stream"));
    // No window for the body of a request.
    let mut scene = Scene::new(false);
    scene.take(&setting(INITIAL_WINDOW_SIZE, 0)).unwrap();
    assert!(scene.encode(1) && !scene.encode(2));
    assert_eq!(scene.http.blocked_by(), NotSentReason::NoStream);
    let mut reader = Reader::new(&mut scene.told, &mut scene.news, 0, 0, (0, 0));
    scene.http.cancel_before(&mut scene.shared, &mut scene.pool, 9, &mut scene.said, &mut reader);
    assert_eq!(scene.told.failed, [(1, StreamFailure::GivenUp)]);
    let about: Vec<_> = scene.shared.explained.take().into_iter().map(|one| one.about).collect();
    assert_eq!(about, ["stream.given_up", "not_sent.no_stream"]);
}

#[test]
fn the_reasons_of_failures_are_in_words_that_a_terminal_can_show() {
    let words = |bytes: &[u8]| {
        let mut scene = Scene::new(false);
        assert!(scene.encode(1));
        scene.take(bytes).unwrap();
        let one = scene.shared.explained.take().remove(0);
        (one.about, one.words)
    };
    let response = |status, kind| {
        let headers = frame(HEADERS, END_HEADERS, 1, &head(status, kind, None));
        words(&[headers, frame(DATA, END_STREAM, 1, b"<html>")].concat())
    };
    let goaway = |code: u8, reason: &[u8]| {
        words(&frame(GOAWAY, 0, 0, &[&[0, 0, 0, 1, 0, 0, 0, code], reason].concat()))
    };
    let cases: [((String, String), &str, &[&str]); 7] = [
        (response("404", "text/html"), "stream.status", &["404", "--http-path"]),
        (response("429", DNS), "stream.status", &["429", "rate"]),
        (response("200", "text/\u{1b}[2Jhtml"), "stream.no_message", &["text/\\u{1b}[2Jhtml", "--http-path"]),
        (response("200", DNS), "stream.no_message", &["no DNS response"]),
        (words(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 2])), "stream.reset", &["INTERNAL_ERROR"]),
        (goaway(11, b"too\x1bmuch"), "connection.error", &["ENHANCE_YOUR_CALM", "too\\u{1b}much"]),
        (goaway(200, b""), "connection.error", &["error code 200"]),
    ];
    for ((about, words), expected, parts) in cases {
        assert_eq!(about, expected);
        assert!(parts.iter().all(|part| words.contains(part)), "{words}");
    }
}

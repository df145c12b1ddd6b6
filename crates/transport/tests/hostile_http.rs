//! DoH against a server that does what HTTP/2 forbids, and what nobody expects: frames by hand, inside real TLS.
//!
//! Each case ends: with an answer, with a counted and worded failure of a stream, or with the end of the connection.

mod hostile;

use std::sync::Arc;
use std::time::{Duration, Instant};

use dnsdyno_measure::{ConnectionEnd, NotSentReason, StreamFailure};
use dnsdyno_transport::stream::DohTransport;
use dnsdyno_transport::{ConnectionEvent, Description, Transport};
use hostile::{Hostile, Meeting, Secure, answer, description, tls_config, within_bound};

type Doh = Meeting<DohTransport>;

/// The server's side of HTTP/2 over one connection.
struct Frames<'a> {
    secure: Secure<'a>,
    received: Vec<u8>,
}

impl Frames<'_> {
    /// Sends frames; false once the connection has ended.
    fn send(&mut self, frames: &[u8]) -> bool {
        self.secure.send(frames)
    }

    /// The next frame of the client: its type, flags, stream and payload. `None` once the connection has ended.
    fn next(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        loop {
            if let Some(header) = self.received.first_chunk::<9>() {
                let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
                if self.received.len() >= 9 + length {
                    let frame: Vec<u8> = self.received.drain(..9 + length).collect();
                    let stream = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]);
                    return Some((frame[3], frame[4], stream, frame[9..].to_vec()));
                }
            }
            let more = self.secure.hear();
            if more.is_empty() {
                return None;
            }
            self.received.extend(more);
        }
    }

    /// Waits for the next query, and returns its stream.
    fn query(&mut self) -> Option<u32> {
        loop {
            match self.next()? {
                (HEADERS, _, stream, _) => return Some(stream),
                _ => continue,
            }
        }
    }

    /// Reads until the connection has ended; returns the error code of the client's GOAWAY.
    fn goaway(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some((kind, _, _, payload)) = self.next() {
            if let (GOAWAY, Some(bytes)) = (kind, payload.last_chunk::<4>()) {
                code = Some(u32::from_be_bytes(*bytes));
            }
        }
        code
    }
}

/// A server of HTTP/2, each of whose connections is served by `script` after the client's preface and our SETTINGS.
fn server(settings: &[u8], script: impl Fn(&mut Frames<'_>, usize) + Send + Sync + 'static) -> Hostile {
    let (config, settings) = (Arc::new(tls_config(&[b"h2"])), frame(SETTINGS, 0, 0, settings));
    Hostile::start(move |conversation| {
        let number = conversation.number;
        let Some(secure) = conversation.secure(&config) else { return };
        let mut frames = Frames { secure, received: Vec::new() };
        while frames.received.len() < PREFACE_BYTES {
            let more = frames.secure.hear();
            if more.is_empty() {
                return;
            }
            frames.received.extend(more);
        }
        frames.received.drain(..PREFACE_BYTES);
        if frames.send(&settings) {
            script(&mut frames, number);
        }
    })
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn setting(name: u16, value: u32) -> Vec<u8> {
    [&name.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

/// HEADERS of a response with this status and content type.
fn head(stream: u32, status: &str, content_type: &str) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let block = [&[0x08][..], &text(status), &[0x0f, 0x10], &text(content_type)].concat();
    frame(HEADERS, END_HEADERS, stream, &block)
}

fn response(stream: u32, message: &[u8]) -> Vec<u8> {
    [head(stream, "200", DNS), frame(DATA, END_STREAM, stream, message)].concat()
}

/// A client that has sent so many queries, with the IDs from 1 on.
fn asking(server: &Hostile, clients: usize, queries: u16) -> Doh {
    let mut meeting = Doh::begin(&Description { clients, ..description(server.address) });
    (1..=queries).for_each(|id| meeting.ask(id));
    meeting
}

fn words_about(meeting: &mut Doh, about: &str) -> String {
    let all = meeting.transport.explanations();
    let one = all.iter().find(|one| one.about == about);
    one.unwrap_or_else(|| panic!("nothing about {about}: {all:?}")).words.clone()
}

/// The end of the connection over which the server sends `frames` again and again, and the words about it.
fn end_after(frames: Vec<u8>, is_repeated: bool) -> (ConnectionEnd, String, Option<u32>) {
    within_bound(move || {
        let (told, code) = std::sync::mpsc::channel();
        let told = std::sync::Mutex::new(told);
        let server = server(&[], move |client, _| {
            client.query();
            while client.send(&frames) && is_repeated {}
            let _ = told.lock().unwrap().send(client.goaway());
        });
        let mut meeting = asking(&server, 1, 1);
        let ConnectionEvent::Ended { end, .. } = meeting.until_end() else { panic!("{:?}", meeting.seen) };
        let words = words_about(&mut meeting, &format!("connection.{}", end.key()));
        // What a flooding server is sent last may be lost with the connection.
        let code = if is_repeated { None } else { code.recv().unwrap() };
        (end, words, code)
    })
}

#[test]
fn a_flood_of_control_frames_ends_the_connection_and_says_why() {
    let floods = [
        ("PING", frame(PING, 0, 0, &[0; 8]).repeat(1_000)),
        ("SETTINGS", frame(SETTINGS, 0, 0, &[]).repeat(1_000)),
        ("unknown", frame(0xbe, 0, 0, &[0; 1_000]).repeat(100)),
        ("empty DATA", [head(1, "200", DNS), frame(DATA, 0, 1, &[]).repeat(1_000)].concat()),
    ];
    for (flood, frames) in floods {
        let (end, words, _) = end_after(frames, true);
        let is_expected = match flood {
            // The headers are repeated, too.
            "empty DATA" => matches!(end, ConnectionEnd::Excess | ConnectionEnd::Protocol),
            _ => end == ConnectionEnd::Excess && words.contains("ENHANCE_YOUR_CALM"),
        };
        assert!(is_expected, "{flood}: {end:?}: {words}");
    }
}

#[test]
fn a_frame_that_the_standard_forbids_ends_the_connection_with_its_code() {
    let cases = [
        (frame(PING, 0, 0, &[0; 16_384]), FRAME_SIZE_ERROR, "a PING of other than 8 octets"),
        (frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR, "stream that is not open"),
        (head(7, "200", DNS), PROTOCOL_ERROR, "stream that is not open"),
        (frame(WINDOW_UPDATE, 0, 0, &[0; 4]), PROTOCOL_ERROR, "WINDOW_UPDATE of 0"),
        (frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), FLOW_CONTROL_ERROR, "window"),
        (frame(SETTINGS, 0, 0, &setting(INITIAL_WINDOW_SIZE, u32::MAX)), FLOW_CONTROL_ERROR, "window"),
        (frame(HEADERS, END_HEADERS, 1, b"\x88\x20"), COMPRESSION_ERROR, "headers"),
    ];
    for (frames, code, part) in cases {
        let (end, words, told) = end_after(frames, false);
        assert_eq!((end, told), (ConnectionEnd::Protocol, Some(code)), "{words}");
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn a_flood_on_one_connection_leaves_the_other_clients_their_answers() {
    within_bound(|| {
        let server = server(&[], |client, number| {
            if number == 0 {
                let pings = frame(PING, 0, 0, &[0; 8]).repeat(1_000);
                while client.send(&pings) {}
            }
            while let Some(stream) = client.query() {
                client.send(&response(stream, &answer(0)));
            }
        });
        let mut meeting = asking(&server, 4, 400);
        meeting.until("the answers of the other clients", |seen| seen.answers.len() >= 300);
    });
}

#[test]
fn unfinished_responses_are_held_up_to_a_bound_and_then_the_connection_ends() {
    within_bound(|| {
        let server = server(&setting(MAX_CONCURRENT_STREAMS, 2_000), |client, _| {
            let piece = [0; 10_000];
            while let Some(stream) = client.query() {
                let body = frame(DATA, 0, stream, &piece).repeat(6);
                if !client.send(&[head(stream, "200", DNS), body].concat()) {
                    return;
                }
            }
        });
        let mut meeting = asking(&server, 1, 1);
        meeting.until("the server's SETTINGS", |seen| !seen.statuses.is_empty());
        for id in 2..=1_000 {
            if meeting.seen.end().is_none() {
                meeting.ask(id);
            }
        }
        let ConnectionEvent::Ended { end, .. } = meeting.until_end() else { panic!("{:?}", meeting.seen) };
        assert_eq!(end, ConnectionEnd::Excess);
        assert!(words_about(&mut meeting, "connection.excess").contains("32 MiB"));
    });
}

#[test]
fn a_response_with_another_id_ends_the_query_of_its_stream_only() {
    within_bound(|| {
        let server = server(&[], |client, _| {
            let streams = [client.query(), client.query()];
            if let [Some(first), Some(second)] = streams {
                // 1 and 3 are the IDs of the queries in the worker's table.
                client.send(&response(first, &answer(1 ^ 3)));
                client.send(&response(second, &answer(0)));
            }
            client.goaway();
        });
        let mut meeting = Doh::begin(&description(server.address));
        meeting.ask(1);
        meeting.ask(3);
        meeting.until("both responses", |seen| seen.answers.len() + seen.stream_failures.len() == 2);
        assert_eq!(meeting.seen.stream_failures, [StreamFailure::WrongId]);
        assert_eq!(meeting.seen.answers, [answer(3)]);
        assert!(words_about(&mut meeting, "stream.wrong_id").contains("another ID"));
    });
}

#[test]
fn a_status_is_three_digits() {
    for status in ["+200", "0200", "20"] {
        within_bound(move || {
            let server = server(&[], move |client, _| {
                let Some(stream) = client.query() else { return };
                let body = frame(DATA, END_STREAM, stream, &answer(0));
                client.send(&[head(stream, status, DNS), body].concat());
                client.goaway();
            });
            let mut meeting = asking(&server, 1, 1);
            meeting.until("the failure", |seen| !seen.stream_failures.is_empty());
            assert_eq!(meeting.seen.stream_failures, [StreamFailure::Protocol], "{status}");
            assert!(meeting.seen.answers.is_empty() && meeting.seen.statuses.is_empty());
        });
    }
}

#[test]
fn what_is_no_dns_message_is_said_with_its_status_and_its_type() {
    let cases = [
        ("404", "text/html", StreamFailure::Status, "stream.status", "check --http-path"),
        ("415", "text/html", StreamFailure::Status, "stream.status", "415"),
        ("502", "text/html", StreamFailure::Status, "stream.status", "resolver behind it"),
        ("200", "text/\u{1b}[31mhtml", StreamFailure::NoMessage, "stream.no_message", "text/\\u{1b}[31mhtml"),
    ];
    for (status, kind, failure, about, part) in cases {
        within_bound(move || {
            let server = server(&[], move |client, _| {
                let Some(stream) = client.query() else { return };
                client.send(&[head(stream, status, kind), frame(DATA, END_STREAM, stream, b"<p>")].concat());
                client.goaway();
            });
            let mut meeting = asking(&server, 1, 1);
            meeting.until("the failure", |seen| !seen.stream_failures.is_empty());
            assert_eq!(meeting.seen.stream_failures, [failure]);
            let words = words_about(&mut meeting, about);
            assert!(words.contains(part), "{words}");
        });
    }
}

#[test]
fn a_reset_and_a_goaway_are_said_with_the_names_of_their_codes() {
    within_bound(|| {
        let server = server(&[], |client, _| {
            let Some(stream) = client.query() else { return };
            client.send(&frame(RST_STREAM, 0, stream, &2u32.to_be_bytes()));
            let goaway = [&[0, 0, 0, 1, 0, 0, 0, 11][..], b"slow\r\ndown"].concat();
            client.send(&frame(GOAWAY, 0, 0, &goaway));
            client.goaway();
        });
        let mut meeting = asking(&server, 1, 1);
        let end = meeting.until_end();
        assert!(matches!(end, ConnectionEvent::Ended { end: ConnectionEnd::Error, .. }), "{end:?}");
        let all = meeting.transport.explanations();
        let words = |about: &str| all.iter().find(|one| one.about == about).expect(about).words.clone();
        assert!(words("stream.reset").contains("INTERNAL_ERROR"));
        let goaway = words("connection.error");
        assert!(goaway.contains("ENHANCE_YOUR_CALM") && goaway.contains("slow\\u{d}\\u{a}down"), "{goaway}");
    });
}

#[test]
fn a_server_that_allows_no_stream_or_no_octet_is_named_as_the_reason() {
    for limit in [setting(MAX_CONCURRENT_STREAMS, 0), setting(INITIAL_WINDOW_SIZE, 0)] {
        within_bound(move || {
            let server = server(&limit, |client, _| while client.query().is_some() {});
            let mut meeting = asking(&server, 1, 1);
            let deadline = Instant::now() + Duration::from_secs(30);
            // Until the server's SETTINGS are read it can be asked, and without a window one query begins.
            let mut blocked_by = None;
            for id in 2.. {
                match meeting.transport.next_client() {
                    Ok(_) if id < 90 => meeting.ask(id),
                    Ok(_) => {}
                    Err(why) => blocked_by = Some(why),
                }
                if blocked_by.is_some() || Instant::now() >= deadline {
                    break;
                }
                meeting.turn();
            }
            assert_eq!(blocked_by, Some(NotSentReason::NoStream));
        });
    }
}

#[test]
fn a_server_of_http_1_behind_the_right_alpn_is_named_as_such() {
    within_bound(|| {
        let config = Arc::new(tls_config(&[b"h2"]));
        let server = Hostile::start(move |conversation| {
            let Some(mut secure) = conversation.secure(&config) else { return };
            secure.hear();
            secure.send(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            secure.hear_all();
        });
        let mut meeting = asking(&server, 1, 1);
        let end = meeting.until_end();
        assert!(matches!(end, ConnectionEvent::Ended { end: ConnectionEnd::Protocol, .. }), "{end:?}");
        assert!(words_about(&mut meeting, "connection.protocol").contains("HTTP/1.1"));
    });
}

const DNS: &str = "application/dns-message";
const PREFACE_BYTES: usize = 24;

// Frames, flags, settings and errors of RFC 9113.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;

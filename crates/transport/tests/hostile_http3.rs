//! DoH/3 against a server that does what RFC 9114 and RFC 9204 forbid, and what nobody expects.

mod hostile;
#[path = "hostile/http3.rs"]
mod http3;
#[path = "hostile/http3_ends.rs"]
mod http3_ends;

use dnsdyno_measure::{ConnectionEnd, StreamFailure};
use dnsdyno_transport::{ConnectionEvent, Description, Transport};
use quinn_proto::{Dir, TransportConfig, VarInt};

use hostile::quic::Server;
use hostile::{answer, description, within_bound};
use http3::{
    CLOSED_CRITICAL_STREAM, CONTROL, DECODER_STREAM_ERROR, DECOMPRESSION_FAILED, DNS, Doh3,
    ENCODER_STREAM_ERROR, EXCESSIVE_LOAD, FRAME_ERROR, FRAME_UNEXPECTED, HEADERS, ID_ERROR, MISSING_SETTINGS,
    SETTINGS_ERROR, STREAM_CREATION_ERROR, Then, answering, data, ends_with, frame, head, head_with, length,
    response, say, serving, usual, words_about,
};

#[test]
fn each_violation_over_a_stream_of_the_server_ends_the_connection_with_its_code() {
    within_bound(|| {
        let after = |frames: &[u8]| [CONTROL, frames].concat();
        let long_settings = [&b"\x00\x04\x44\x01"[..], &[6; 1_025]].concat();
        let cases: [(&str, Vec<u8>, u64); 39] = [
            ("GOAWAY before SETTINGS", b"\x00\x07\x01\x00".to_vec(), MISSING_SETTINGS),
            ("DATA before SETTINGS", b"\x00\x00\x01x".to_vec(), MISSING_SETTINGS),
            ("an unknown frame before SETTINGS", b"\x00\x21\x00".to_vec(), MISSING_SETTINGS),
            ("SETTINGS twice", after(b"\x04\x00"), FRAME_UNEXPECTED),
            ("DATA", after(b"\x00\x01x"), FRAME_UNEXPECTED),
            ("HEADERS", after(b"\x01\x02\x00\x00"), FRAME_UNEXPECTED),
            ("PUSH_PROMISE", after(b"\x05\x03\x00\x00\x00"), FRAME_UNEXPECTED),
            ("reserved 2", after(b"\x02\x00"), FRAME_UNEXPECTED),
            ("reserved 6", after(b"\x06\x00"), FRAME_UNEXPECTED),
            ("reserved 8", after(b"\x08\x00"), FRAME_UNEXPECTED),
            ("reserved 9", after(b"\x09\x00"), FRAME_UNEXPECTED),
            ("MAX_PUSH_ID", after(b"\x0d\x01\x00"), FRAME_UNEXPECTED),
            ("CANCEL_PUSH", after(b"\x03\x01\x00"), ID_ERROR),
            ("an empty GOAWAY", after(b"\x07\x00"), FRAME_ERROR),
            ("a GOAWAY of two numbers", after(b"\x07\x02\x04\x04"), FRAME_ERROR),
            ("half a GOAWAY", after(b"\x07\x01\x40"), FRAME_ERROR),
            ("a GOAWAY of 2^62 octets", after(b"\x07\xff\xff\xff\xff\xff\xff\xff\xff"), FRAME_ERROR),
            ("a GOAWAY of a push", after(b"\x07\x01\x03"), ID_ERROR),
            ("a later GOAWAY", after(b"\x07\x01\x04\x07\x01\x08"), ID_ERROR),
            ("a setting without a value", b"\x00\x04\x01\x06".to_vec(), FRAME_ERROR),
            ("half a setting", b"\x00\x04\x02\x06\x40".to_vec(), FRAME_ERROR),
            ("setting 2", b"\x00\x04\x02\x02\x00".to_vec(), SETTINGS_ERROR),
            ("setting 3", b"\x00\x04\x02\x03\x00".to_vec(), SETTINGS_ERROR),
            ("setting 4", b"\x00\x04\x02\x04\x00".to_vec(), SETTINGS_ERROR),
            ("setting 5", b"\x00\x04\x02\x05\x00".to_vec(), SETTINGS_ERROR),
            ("a setting twice", b"\x00\x04\x04\x06\x01\x06\x01".to_vec(), SETTINGS_ERROR),
            ("long SETTINGS", long_settings, EXCESSIVE_LOAD),
            ("SETTINGS of 2^62 octets", b"\x00\x04\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(), EXCESSIVE_LOAD),
            ("a push", b"\x01\x00".to_vec(), ID_ERROR),
            ("a capacity of QPACK", b"\x02\x3f\xe1\x1f".to_vec(), ENCODER_STREAM_ERROR),
            ("an insertion of QPACK", b"\x02\xc1\x01x".to_vec(), ENCODER_STREAM_ERROR),
            ("an insertion with a name", b"\x02\x41x\x01x".to_vec(), ENCODER_STREAM_ERROR),
            ("a duplicate of QPACK", b"\x02\x00".to_vec(), ENCODER_STREAM_ERROR),
            ("an acknowledgement of a section", b"\x03\x80".to_vec(), DECODER_STREAM_ERROR),
            ("an increment of QPACK", b"\x03\x01".to_vec(), DECODER_STREAM_ERROR),
            ("an increment of 0", b"\x03\x00".to_vec(), DECODER_STREAM_ERROR),
            ("a second control stream", CONTROL.to_vec(), STREAM_CREATION_ERROR),
            ("a second encoder stream", b"\x02".to_vec(), STREAM_CREATION_ERROR),
            ("a second decoder stream", b"\x03".to_vec(), STREAM_CREATION_ERROR),
        ];
        for (what, bytes, code) in cases {
            let mut streams = vec![(bytes.clone(), Then::Stay)];
            if code == STREAM_CREATION_ERROR {
                streams.insert(0, (bytes, Then::Stay));
            }
            ends_with(what, &serving(streams, (Vec::new(), Then::Stay)), code);
        }
    });
}

#[test]
fn a_stream_that_has_to_stay_open_must_not_be_closed() {
    within_bound(|| {
        for bytes in [b"\x00", CONTROL, b"\x02", b"\x03"] {
            let server = serving(vec![(bytes.to_vec(), Then::Finish)], (Vec::new(), Then::Stay));
            ends_with(&format!("{bytes:x?}"), &server, CLOSED_CRITICAL_STREAM);
            // The type of a stream is lost with a reset that comes at once, which is no violation (6.2).
            let mut own = None;
            let server = Server::start(b"h3", usual, move |quic, stream, wire| match own {
                None => {
                    let opened = quic.streams().open(Dir::Uni).expect("the client allows it");
                    say(quic, opened, bytes, Then::Stay, wire);
                    wire.flush(quic, true);
                    say(quic, stream, &response(), Then::Finish, wire);
                    own = Some(opened);
                }
                Some(own) => quic.send_stream(own).reset(VarInt::from_u32(0x10c)).unwrap(),
            });
            let mut meeting = Doh3::begin(&description(server.address));
            meeting.ask(1);
            meeting.until("an answer", |seen| !seen.answers.is_empty());
            meeting.ask(2);
            let end = ConnectionEvent::Ended { end: ConnectionEnd::Protocol, answers: 1 };
            assert_eq!(meeting.until_end(), end, "{bytes:x?}");
            assert!(words_about(&mut meeting, "connection.protocol").contains("H3_CLOSED_CRITICAL_STREAM"));
        }
        let server = Server::start(b"h3", usual, |quic, _, _| {
            let control = quic.streams().accept(Dir::Uni).expect("our control stream");
            quic.recv_stream(control).stop(VarInt::from_u32(0)).unwrap();
        });
        ends_with("STOP_SENDING", &server, CLOSED_CRITICAL_STREAM);
    });
}

#[test]
fn each_violation_over_the_stream_of_a_query_ends_the_connection_with_its_code() {
    within_bound(|| {
        let trailers = [response(), frame(HEADERS, b"\0\0")].concat();
        let and = |before: &[u8], frame: &[u8]| [before, frame].concat();
        let section = |fields: &[u8]| frame(HEADERS, &[b"\0\0", fields].concat());
        let cases: [(&str, Vec<u8>, u64); 34] = [
            ("a body before the headers", data(b"x"), FRAME_UNEXPECTED),
            ("an empty body before the headers", data(b""), FRAME_UNEXPECTED),
            ("SETTINGS", b"\x04\x00".to_vec(), FRAME_UNEXPECTED),
            ("SETTINGS after the headers", and(&head(), b"\x04\x00"), FRAME_UNEXPECTED),
            ("GOAWAY", b"\x07\x01\x00".to_vec(), FRAME_UNEXPECTED),
            ("CANCEL_PUSH", b"\x03\x01\x00".to_vec(), FRAME_UNEXPECTED),
            ("MAX_PUSH_ID", b"\x0d\x01\x00".to_vec(), FRAME_UNEXPECTED),
            ("reserved 2", b"\x02\x00".to_vec(), FRAME_UNEXPECTED),
            ("reserved 6", b"\x06\x00".to_vec(), FRAME_UNEXPECTED),
            ("reserved 8", and(&head(), b"\x08\x00"), FRAME_UNEXPECTED),
            ("reserved 9", and(&head(), b"\x09\x00"), FRAME_UNEXPECTED),
            ("PUSH_PROMISE", b"\x05\x03\x00\x00\x00".to_vec(), ID_ERROR),
            ("a body after the trailers", and(&trailers, &data(b"x")), FRAME_UNEXPECTED),
            ("headers after the trailers", and(&trailers, &head()), FRAME_UNEXPECTED),
            ("trailers that cannot be read", and(&response(), &section(b"\x80")), DECOMPRESSION_FAILED),
            ("headers without an octet", frame(HEADERS, b""), DECOMPRESSION_FAILED),
            ("headers without a base", frame(HEADERS, b"\0"), DECOMPRESSION_FAILED),
            ("a section that waits", frame(HEADERS, b"\x02\0\xd9"), DECOMPRESSION_FAILED),
            ("a base below 0", frame(HEADERS, b"\0\x80\xd9"), DECOMPRESSION_FAILED),
            ("an entry of the dynamic table", section(b"\x80"), DECOMPRESSION_FAILED),
            ("a name of the dynamic table", section(b"\x40\x01x"), DECOMPRESSION_FAILED),
            ("an entry after the base", section(b"\x10"), DECOMPRESSION_FAILED),
            ("a name after the base", section(b"\x00\x01x"), DECOMPRESSION_FAILED),
            ("an entry beyond the static table", section(b"\xff\x24"), DECOMPRESSION_FAILED),
            ("a name beyond the static table", section(b"\x5f\x54\x01x"), DECOMPRESSION_FAILED),
            ("a string beyond its section", section(b"\x51\x7e\x01x"), DECOMPRESSION_FAILED),
            (
                "a length of 2^60",
                section(b"\x51\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x0f"),
                DECOMPRESSION_FAILED,
            ),
            (
                "an index of 2^64",
                section(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
                DECOMPRESSION_FAILED,
            ),
            ("padding of 30 ones in Huffman", section(b"\x51\x84\xff\xff\xff\xff"), DECOMPRESSION_FAILED),
            ("padding of zeros in Huffman", section(b"\x51\x83\x64\x02\x00"), DECOMPRESSION_FAILED),
            ("headers of 17,000 octets", [&b"\x01\x80\x00\x42\x68"[..], &[0; 100]].concat(), EXCESSIVE_LOAD),
            ("headers of 2^62 octets", b"\x01\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(), EXCESSIVE_LOAD),
            ("half a beginning of a frame", b"\x01\x40".to_vec(), FRAME_ERROR),
            ("half a body", and(&head(), b"\x00\x09abc"), FRAME_ERROR),
        ];
        for (what, bytes, code) in cases {
            // The end shows that a frame is cut.
            let then = if code == FRAME_ERROR { Then::Finish } else { Then::Stay };
            ends_with(what, &answering(bytes, then), code);
        }
    });
}

#[test]
fn what_is_wrong_with_one_response_fails_its_query_only() {
    within_bound(|| {
        let body = answer(0);
        let length = body.len().to_string();
        let sized = |status, kind, length: &str| [head_with(status, kind, length), data(&body)].concat();
        let many = [head(), data(&[0; 16_000]).repeat(5)].concat();
        let protocol = StreamFailure::Protocol;
        let cases: [(&str, Vec<u8>, Then, StreamFailure, &str); 28] = [
            ("no status", frame(HEADERS, b"\0\0\xec"), Then::Finish, protocol, "without a valid status"),
            ("no field", frame(HEADERS, b"\0\0"), Then::Finish, protocol, "without a valid status"),
            ("status +20", sized("+20", DNS, ""), Then::Finish, protocol, "without a valid status"),
            ("status 099", sized("099", DNS, ""), Then::Finish, protocol, "without a valid status"),
            ("status 2000", sized("2000", DNS, ""), Then::Finish, protocol, "without a valid status"),
            (
                "length -1",
                sized("200", DNS, "-1"),
                Then::Finish,
                protocol,
                "without a valid status or length",
            ),
            ("length x", sized("200", DNS, "x"), Then::Finish, protocol, "without a valid status or length"),
            ("a short length", sized("200", DNS, "7"), Then::Finish, protocol, "another length"),
            ("a long length", sized("200", DNS, "70000"), Then::Finish, protocol, "another length"),
            ("nothing", Vec::new(), Then::Finish, protocol, "without a response"),
            ("an unknown frame", b"\x21\x02ab".to_vec(), Then::Finish, protocol, "without a response"),
            ("hints only", head_with("103", "", ""), Then::Finish, protocol, "without a response"),
            ("a long body", many, Then::Stay, protocol, "longer than any DNS message"),
            (
                "a body of 65,536",
                [head(), b"\x00\x80\x01\x00\x00".to_vec()].concat(),
                Then::Stay,
                protocol,
                "longer",
            ),
            (
                "a body of 2^62",
                [head(), b"\x00\xff\xff\xff\xff\xff\xff\xff\xff".to_vec()].concat(),
                Then::Stay,
                protocol,
                "longer than any DNS message",
            ),
            (
                "status 404",
                sized("404", DNS, &length),
                Then::Finish,
                StreamFailure::Status,
                "HTTP status 404",
            ),
            ("status 204", head_with("204", "", ""), Then::Finish, StreamFailure::Status, "no content"),
            ("status 999", sized("999", DNS, ""), Then::Finish, StreamFailure::Status, "999"),
            (
                "HTML",
                sized("200", "text/\x1b[2Jhtml", ""),
                Then::Finish,
                StreamFailure::NoMessage,
                "text/\\u{1b}",
            ),
            (
                "no type",
                sized("200", "", &length),
                Then::Finish,
                StreamFailure::NoMessage,
                "content type none",
            ),
            ("no body", head(), Then::Finish, StreamFailure::NoMessage, "no DNS response"),
            (
                "garbage",
                [head(), data(b"\0\0garbage")].concat(),
                Then::Finish,
                StreamFailure::NoMessage,
                "no DNS",
            ),
            ("an octet", [head(), data(b"x")].concat(), Then::Finish, StreamFailure::NoMessage, "no DNS"),
            (
                "an ID",
                [head(), data(&answer(7))].concat(),
                Then::Finish,
                StreamFailure::WrongId,
                "another ID",
            ),
            ("a reset", Vec::new(), Then::Reset(0x102), StreamFailure::Reset, "H3_INTERNAL_ERROR"),
            ("a reset within", head(), Then::Reset(0x102), StreamFailure::Reset, "H3_INTERNAL_ERROR"),
            ("a late reset", response(), Then::Reset(0xbeef), StreamFailure::Reset, "error code 0xbeef"),
            ("a rejection", Vec::new(), Then::Reset(0x10b), StreamFailure::Refused, "H3_REQUEST_REJECTED"),
        ];
        for (what, bytes, then, why, part) in cases {
            let server = answering(bytes, then);
            let mut meeting = Doh3::begin(&description(server.address));
            (1..=2).for_each(|id| meeting.ask(id));
            meeting.until(what, |seen| seen.answers.len() + seen.stream_failures.len() == 2);
            assert_eq!(meeting.seen.stream_failures, [why], "{what}: {:?}", meeting.seen);
            assert_eq!(meeting.seen.answers, [answer(2)], "{what}");
            assert!(meeting.seen.end().is_none(), "{what}");
            let words = words_about(&mut meeting, &format!("stream.{}", why.key()));
            assert!(words.contains(part), "{what}: {words}");
            meeting.transport.finish(&mut meeting.seen);
            let end = ConnectionEvent::Ended { end: ConnectionEnd::ByUs, answers: 1 };
            assert_eq!(meeting.seen.end(), Some(end), "{what}");
        }
    });
}

#[test]
fn what_a_server_may_send_beside_its_response_is_skipped() {
    within_bound(|| {
        let hints = head_with("103", "", "");
        let whole = [
            &b"\x21\x03abc"[..],
            &hints,
            &hints,
            &head_with("200", DNS, &answer(0).len().to_string()),
            &b"\x40\x40\x00"[..],
            &data(&answer(0)[..5]),
            &data(b""),
            &data(&answer(0)[5..]),
            &frame(HEADERS, b"\0\0\xd9\x22xy\x01z"),
            &b"\x21\x00"[..],
        ]
        .concat();
        let streams = [
            [CONTROL, b"\x21\x03abc\x40\x40\x00"].concat(),
            b"\x02\x20\x20".to_vec(),
            b"\x03\x44\x7f\x81\x01".to_vec(),
            b"\x40\x21unknown".to_vec(),
        ];
        // Whole, and octet by octet, each in a packet of its own.
        for step in [usize::MAX, 1] {
            let (whole, streams) = (whole.clone(), streams.clone());
            let server = Server::start(b"h3", usual, move |quic, stream, wire| {
                for bytes in &streams {
                    let own = quic.streams().open(Dir::Uni).expect("the client allows it");
                    for piece in bytes.chunks(step) {
                        say(quic, own, piece, Then::Stay, wire);
                        wire.flush(quic, true);
                    }
                }
                for piece in whole.chunks(step) {
                    say(quic, stream, piece, Then::Stay, wire);
                    wire.flush(quic, true);
                }
                quic.send_stream(stream).finish().unwrap();
            });
            let mut meeting = Doh3::begin(&description(server.address));
            meeting.ask(7);
            meeting.until("the answer", |seen| !seen.answers.is_empty());
            assert_eq!((&meeting.seen.answers, &meeting.seen.statuses), (&vec![answer(7)], &vec![200]));
            assert!(meeting.seen.stream_failures.is_empty() && meeting.seen.end().is_none());
            let peer = meeting.transport.peer().expect("a completed handshake");
            assert_eq!(peer.alpn.as_deref(), Some("h3"));
        }
    });
}

/// A server that sends these octets again and again over a stream of its own, or over that of a query.
fn flooding(beginning: Vec<u8>, repeated: Vec<u8>, is_own: bool) -> Server {
    let mut is_first = true;
    Server::start(b"h3", usual, move |quic, stream, wire| {
        if std::mem::replace(&mut is_first, false) {
            let flooded = if is_own { quic.streams().open(Dir::Uni).expect("allowed") } else { stream };
            wire.unsent.push((flooded, [&beginning[..], &repeated.repeat(20_000)].concat()));
        }
    })
}

#[test]
fn a_flood_of_what_brings_no_response_ends_the_connection() {
    within_bound(|| {
        let hints = head_with("103", "", "");
        let cases = [
            ("unknown frames", CONTROL.to_vec(), b"\x21\x01x".to_vec(), true),
            ("empty unknown frames", CONTROL.to_vec(), b"\x21\x00".to_vec(), true),
            ("the same GOAWAY", CONTROL.to_vec(), b"\x07\x01\x10".to_vec(), true),
            ("capacities", b"\x02".to_vec(), b"\x20".to_vec(), true),
            ("cancellations", b"\x03".to_vec(), b"\x41".to_vec(), true),
            ("unknown frames before a response", Vec::new(), b"\x21\x01x".to_vec(), false),
            ("hints", Vec::new(), hints, false),
            ("empty bodies", head(), b"\x00\x00".to_vec(), false),
            ("unknown frames in a response", head(), b"\x21\x00".to_vec(), false),
            ("a frame without end", b"\x21\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(), vec![7; 700], false),
        ];
        for (what, beginning, repeated, is_own) in cases {
            let server = flooding(beginning, repeated, is_own);
            ends_with(what, &server, EXCESSIVE_LOAD);
        }
        // A stream for each.
        let server = Server::start(b"h3", usual, |_, _, wire| {
            wire.alone.extend((0..20_000).map(|_| b"\x21x".to_vec()));
        });
        ends_with("unknown streams", &server, EXCESSIVE_LOAD);
        let server = Server::start(b"h3", usual, |_, _, wire| {
            wire.alone.extend((0..20_000).map(|_| b"".to_vec()));
        });
        ends_with("empty streams", &server, EXCESSIVE_LOAD);
    });
}

#[test]
fn responses_without_end_are_held_up_to_a_bound() {
    let long_head = [&[HEADERS][..], &length(16_000), &[0; 15_999]].concat();
    let long_body = [head(), vec![0, 0x80, 0, 0xff, 0xff], vec![0xff; 65_534]].concat();
    for (unfinished, queries) in [(long_body, 900), (long_head, 3_000)] {
        within_bound(move || {
            let many = |transport: &mut TransportConfig| {
                transport.max_concurrent_bidi_streams(VarInt::from_u32(4_000));
            };
            let server = Server::start(b"h3", many, move |_, stream, wire| {
                wire.unsent.push((stream, unfinished.clone()));
            });
            let mut meeting = Doh3::begin(&Description { clients: 1, ..description(server.address) });
            let mut id = 0;
            while id < queries && meeting.seen.end().is_none() {
                match meeting.transport.next_client() {
                    Ok(_) => {
                        id += 1;
                        meeting.ask(id);
                    }
                    Err(_) => meeting.turn(),
                }
            }
            let ConnectionEvent::Ended { end, .. } = meeting.until_end() else {
                panic!("{:?}", meeting.seen)
            };
            assert_eq!(end, ConnectionEnd::Excess);
            assert!(words_about(&mut meeting, "connection.excess").contains("32 MiB"));
        });
    }
}

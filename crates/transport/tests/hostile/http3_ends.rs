//! How connections and streams of DoH/3 end: GOAWAY, a close with its reason, a reset that comes too late.

use dnsdyno_measure::{ConnectionEnd, StreamFailure};
use dnsdyno_transport::{ConnectionEvent, Description, Transport};
use quinn_proto::{Dir, VarInt};

use super::hostile::quic::Server;
use super::hostile::{description, within_bound};
use super::http3::{CONTROL, Doh3, NO_ERROR, Then, response, say, usual, words_about};

#[test]
fn after_goaway_no_query_is_sent_and_those_that_were_not_processed_are_told() {
    // A GOAWAY, and how many of four queries are answered.
    let cases: [(&[u8], usize); 6] = [
        (b"\x07\x01\x00", 0),
        (b"\x07\x01\x08", 2),
        (b"\x07\x01\x10", 4),
        (b"\x07\x08\xff\xff\xff\xff\xff\xff\xff\xfc", 4),
        (b"\x07\x01\x0c\x07\x01\x04", 1),
        (b"\x07\x01\x04\x07\x01\x04", 1),
    ];
    for (goaway, answered) in cases {
        within_bound(move || {
            let mut number = 0;
            let server = Server::start(b"h3", usual, move |quic, stream, wire| {
                number += 1;
                if number <= answered {
                    wire.unsent.push((stream, response()));
                }
                if number == 4 {
                    let own = quic.streams().open(Dir::Uni).expect("the client allows it");
                    say(quic, own, &[CONTROL, goaway].concat(), Then::Stay, wire);
                    wire.flush(quic, true);
                }
            });
            let mut meeting = Doh3::begin(&description(server.address));
            (1..=4).for_each(|id| meeting.ask(id));
            meeting.until("the GOAWAY", |seen| seen.stream_failures.len() == 4 - answered);
            assert!(meeting.seen.stream_failures.iter().all(|why| *why == StreamFailure::GoneAway));
            if answered < 4 {
                assert!(words_about(&mut meeting, "stream.gone_away").contains("GOAWAY"));
            }
            if answered == 0 {
                let end = ConnectionEvent::Ended { end: ConnectionEnd::GoneAway, answers: 0 };
                assert_eq!(meeting.until_end(), end);
                return;
            }
            // Its other queries are answered, without an end of their streams yet.
            while meeting.transport.next_client().is_ok() {
                meeting.turn();
            }
            assert!(meeting.seen.end().is_none());
        });
    }
}

#[test]
fn a_connection_ends_once_the_last_query_before_goaway_is_answered() {
    within_bound(|| {
        let server = Server::start(b"h3", usual, move |quic, stream, wire| {
            let own = quic.streams().open(Dir::Uni).expect("the client allows it");
            say(quic, own, &[CONTROL, b"\x07\x01\x04"].concat(), Then::Stay, wire);
            wire.flush(quic, true);
            say(quic, stream, &response(), Then::Finish, wire);
        });
        let mut meeting = Doh3::begin(&description(server.address));
        meeting.ask(1);
        let end = ConnectionEvent::Ended { end: ConnectionEnd::GoneAway, answers: 1 };
        assert_eq!(meeting.until_end(), end);
        meeting.until("the close at the server", |_| !server.closes.lock().unwrap().is_empty());
        assert_eq!(*server.closes.lock().unwrap(), [NO_ERROR]);
        // The client goes on with another connection.
        assert!(meeting.transport.next_client().is_ok());
    });
}

#[test]
fn the_close_of_a_connection_is_said_with_its_code_and_the_reason_of_the_server() {
    within_bound(|| {
        for (code, end, part) in [
            (0x100, ConnectionEnd::ByServer, ""),
            (0x107, ConnectionEnd::Error, "H3_EXCESSIVE_LOAD (0x107): too\\u{1b}[31m busy"),
            (0x0, ConnectionEnd::Error, "error code 0x0"),
        ] {
            let server = Server::start(b"h3", usual, move |quic, _, _| {
                let reason = bytes::Bytes::from_static(b"too\x1b[31m busy");
                quic.close(std::time::Instant::now(), VarInt::from_u32(code), reason);
            });
            let mut meeting = Doh3::begin(&description(server.address));
            meeting.ask(1);
            assert_eq!(meeting.until_end(), ConnectionEvent::Ended { end, answers: 0 });
            if !part.is_empty() {
                let words = words_about(&mut meeting, "connection.error");
                assert!(words.contains(part), "{words}");
            }
        }
    });
}

#[test]
fn a_reset_after_the_timeout_of_its_query_does_not_end_another_query() {
    within_bound(|| {
        let mut streams = Vec::new();
        let server = Server::start(b"h3", usual, move |quic, stream, wire| {
            streams.push(stream);
            match streams[..] {
                [_, second, _] => drop(quic.send_stream(second).reset(VarInt::from_u32(0x102))),
                [first, _, third, fourth] => {
                    for stream in [third, fourth, first] {
                        say(quic, stream, &response(), Then::Finish, wire);
                    }
                }
                _ => {}
            }
        });
        let limit = Description { queries_each: Some(4), ..description(server.address) };
        let mut meeting = Doh3::begin(&limit);
        (1..=2).for_each(|id| meeting.ask(id));
        meeting.expire(2);
        meeting.ask(3);
        meeting.until("the reset", |seen| !seen.stream_failures.is_empty());
        meeting.ask(4);
        let end = ConnectionEvent::Ended { end: ConnectionEnd::ByUs, answers: 3 };
        assert_eq!(meeting.until_end(), end, "{:?}", meeting.seen);
    });
}

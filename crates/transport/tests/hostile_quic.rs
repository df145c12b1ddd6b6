//! DoQ against a server that does what RFC 9250 forbids, and what nobody expects: the library's QUIC, driven by hand.

mod hostile;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use bytes::Bytes;
use dnsdyno_measure::{ConnectFailure, ConnectionEnd, HandshakeFailure, NotSentReason, StreamFailure};
use dnsdyno_transport::quic::DoqTransport;
use dnsdyno_transport::{ConnectionEvent, Description, Expired, NeverSent, Transport};
use hostile::quic::{Server, Wire};
use hostile::{Meeting, answer, description, framed, query, within_bound};
use quinn_proto::congestion::CubicConfig;
use quinn_proto::{Connection, StreamId, TransportConfig, VarInt, WriteError};

type Doq = Meeting<DoqTransport>;

/// A client that has sent so many queries, with the IDs from 1 on.
fn asking(server: &Server, queries: u16) -> Doq {
    let mut meeting = Doq::begin(&description(server.address));
    (1..=queries).for_each(|id| meeting.ask(id));
    meeting
}

fn words_about(meeting: &mut Doq, about: &str) -> String {
    let all = meeting.transport.explanations();
    let one = all.iter().find(|one| one.about == about);
    one.unwrap_or_else(|| panic!("nothing about {about}: {all:?}")).words.clone()
}

fn nothing(_: &mut TransportConfig) {}

/// How the connection of one query ends, and the words about it.
fn end_of(server: Server) -> (ConnectionEnd, String) {
    within_bound(move || {
        let mut meeting = asking(&server, 1);
        let ConnectionEvent::Ended { end, .. } = meeting.until_end() else { panic!("{:?}", meeting.seen) };
        let words = words_about(&mut meeting, &format!("connection.{}", end.key()));
        (end, words)
    })
}

/// Why the handshake with a server fails, and the words about it.
fn handshake_failure(server: Server, description: Description) -> (HandshakeFailure, String) {
    within_bound(move || {
        let description = Description { server: server.address, ..description };
        let mut meeting = Doq::begin(&description);
        meeting.ask(1);
        assert_eq!(meeting.until_end(), ConnectionEvent::Failed(ConnectFailure::Handshake));
        let failed = |event: &ConnectionEvent| match event {
            ConnectionEvent::HandshakeFailed(why) => Some(*why),
            _ => None,
        };
        let why = meeting.seen.events.iter().find_map(failed).expect("a failed handshake");
        let words = words_about(&mut meeting, &format!("handshake.{}", why.key()));
        (why, words)
    })
}

/// A server that sends these bytes over the stream of a query, and ends the stream.
fn sending(bytes: Vec<u8>) -> Server {
    Server::start(b"doq", nothing, move |quic, stream, _| {
        let _ = quic.send_stream(stream).write(&bytes);
        let _ = quic.send_stream(stream).finish();
    })
}

#[test]
fn what_a_doq_stream_must_not_carry_ends_the_connection_and_is_said() {
    let whole = framed(&answer(0));
    let cases = [
        (framed(&answer(7)), "another ID than 0"),
        ([&whole[..], b"x"].concat(), "more than one message"),
        (whole[..whole.len() - 1].to_vec(), "ends before its length"),
        (Vec::new(), "ends before its length"),
    ];
    for (bytes, part) in cases {
        let (end, words) = end_of(sending(bytes));
        assert_eq!(end, ConnectionEnd::Protocol, "{words}");
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn the_close_of_a_connection_is_said_with_its_code_and_the_reason_of_the_server() {
    let closing = |code: u32, reason: &'static [u8]| {
        Server::start(b"doq", nothing, move |quic, _, _| {
            quic.close(Instant::now(), VarInt::from_u32(code), Bytes::from_static(reason));
        })
    };
    let (end, words) = end_of(closing(4, b"too\x1b[31m busy"));
    assert_eq!(end, ConnectionEnd::Error);
    assert_eq!(words, "the server closed the connection with DOQ_EXCESSIVE_LOAD (0x4): too\\u{1b}[31m busy");
    assert!(end_of(closing(0x101, b"")).1.contains("HTTP/3"));
}

#[test]
fn the_reset_of_a_stream_is_said_with_its_code_and_other_streams_go_on() {
    within_bound(|| {
        let mut number = 0;
        let server = Server::start(b"doq", nothing, move |quic, stream, _| {
            number += 1;
            let mut send = quic.send_stream(stream);
            if number == 1 {
                send.reset(VarInt::from_u32(1)).unwrap();
            } else {
                send.write(&framed(&answer(0))).unwrap();
                send.finish().unwrap();
            }
        });
        let mut meeting = asking(&server, 2);
        meeting.until("both", |seen| seen.answers.len() + seen.stream_failures.len() == 2);
        assert_eq!(meeting.seen.stream_failures, [StreamFailure::Reset]);
        assert!(words_about(&mut meeting, "stream.reset").contains("DOQ_INTERNAL_ERROR"));
        let peer = meeting.transport.peer().expect("a completed handshake");
        assert_eq!((peer.alpn.as_deref(), peer.tls_version.as_deref()), (Some("doq"), Some("TLS 1.3")));
        assert_eq!(peer.certificates.len(), 1);
    });
}

#[test]
fn a_reset_after_the_timeout_of_its_query_does_not_end_another_query() {
    within_bound(|| {
        let mut streams = Vec::new();
        let server = Server::start(b"doq", nothing, move |quic, stream, wire| {
            streams.push(stream);
            match streams[..] {
                [_, second, _] => drop(quic.send_stream(second).reset(VarInt::from_u32(1))),
                [first, _, third, fourth] => {
                    wire.unsent.extend([third, fourth, first].map(|stream| (stream, framed(&answer(0)))));
                }
                _ => {}
            }
        });
        let limit = Description { queries_each: Some(4), ..description(server.address) };
        let mut meeting = Doq::begin(&limit);
        (1..=2).for_each(|id| meeting.ask(id));
        meeting.expire(2);
        meeting.ask(3);
        meeting.until("the reset", |seen| !seen.stream_failures.is_empty());
        meeting.ask(4);
        let ConnectionEvent::Ended { end, answers } = meeting.until_end() else {
            panic!("{:?}", meeting.seen)
        };
        assert_eq!((end, answers), (ConnectionEnd::ByUs, 3), "{:?}", meeting.seen);
        assert_eq!(meeting.seen.stream_failures, [StreamFailure::Reset]);
    });
}

#[test]
fn queries_that_never_get_a_stream_are_not_sent_and_the_server_is_named() {
    within_bound(|| {
        let allow_none = |transport: &mut TransportConfig| {
            transport.max_concurrent_bidi_streams(VarInt::from_u32(0));
        };
        let server = Server::start(b"doq", allow_none, |_, _, _| {});
        let mut meeting = asking(&server, 3);
        assert_eq!(
            meeting.transport.expired(0, 1),
            Expired::Waited,
            "during the handshake it is the server that is slow"
        );
        let is_established = |event: &ConnectionEvent| matches!(event, ConnectionEvent::Established { .. });
        meeting.until("a connection", |seen| seen.events.iter().any(is_established));
        let bytes = query(1).len();
        let never_sent = Expired::NeverSent(NeverSent { why: NotSentReason::NoStream, bytes });
        assert_eq!((2..=3).map(|id| meeting.transport.expired(0, id)).collect::<Vec<_>>(), [never_sent; 2]);
        assert_eq!(meeting.transport.expired(0, 3), Expired::Sent, "once");
        assert!(words_about(&mut meeting, "not_sent.no_stream").contains("allows no QUIC stream"));
        // As many as may wait for a stream.
        let mut id = 3;
        while meeting.transport.next_client().is_ok() {
            id += 1;
            meeting.ask(id);
        }
        assert_eq!(meeting.transport.next_client(), Err(NotSentReason::NoStream));
    });
}

#[test]
fn what_waits_behind_gaps_is_bounded_for_each_stream_and_for_the_connection() {
    within_bound(|| {
        let (told, totals) = channel();
        let wide = |transport: &mut TransportConfig| {
            let mut congestion = CubicConfig::default();
            congestion.initial_window(1 << 30);
            transport.congestion_controller_factory(Arc::new(congestion)).send_window(1 << 30);
            transport.max_concurrent_bidi_streams(VarInt::from_u32(QUERIES.into()));
        };
        let server = Server::start(b"doq", wide, filling(told));
        let mut meeting = Doq::begin(&description(server.address));
        (1..=QUERIES).for_each(|id| meeting.ask(id));
        let mut filled = Vec::new();
        meeting.until("full windows", |_| {
            filled.extend(totals.try_iter());
            filled.len() == usize::from(QUERIES)
        });
        let (longest, total) = (filled.iter().max().copied().unwrap(), filled.iter().sum::<usize>());
        assert_eq!(longest, 2 + 65_535, "{filled:?}");
        assert!((900_000..=1 << 20).contains(&total), "{total} octets: {filled:?}");
    });
}

/// Once all streams are open, sends on each as much as the client allows, and loses the first octet of each. Nothing of
/// the client is read meanwhile, so that nothing is sent again.
fn filling(told: Sender<usize>) -> impl FnMut(&mut Connection, StreamId, &mut Wire<'_>) + Send {
    let mut streams = Vec::new();
    move |quic, stream, wire| {
        streams.push(stream);
        if streams.len() < usize::from(QUERIES) {
            return;
        }
        for stream in &streams {
            let mut written = quic.send_stream(*stream).write(b"\xff").unwrap_or(0);
            wire.flush(quic, false);
            loop {
                match quic.send_stream(*stream).write(&[0xff; 8_192]) {
                    Ok(more) => written += more,
                    Err(WriteError::Blocked) => break,
                    Err(error) => panic!("{error}"),
                }
                wire.flush(quic, true);
            }
            let _ = told.send(written);
        }
    }
}

#[test]
fn responses_without_end_are_held_up_to_a_bound() {
    within_bound(|| {
        let many = |transport: &mut TransportConfig| {
            transport.max_concurrent_bidi_streams(VarInt::from_u32(2_000));
        };
        // Of 65,535 octets all but the last.
        let server = Server::start(b"doq", many, |_, stream, wire| {
            wire.unsent.push((stream, vec![0xff; 65_536]));
        });
        let mut meeting = asking(&server, 900);
        let ConnectionEvent::Ended { end, .. } = meeting.until_end() else { panic!("{:?}", meeting.seen) };
        assert_eq!(end, ConnectionEnd::Excess);
        assert!(words_about(&mut meeting, "connection.excess").contains("32 MiB"));
    });
}

#[test]
fn a_handshake_that_fails_is_said_in_words() {
    let (why, words) = handshake_failure(Server::start(b"h3", nothing, |_, _, _| {}), description(ANY));
    assert_eq!(why, HandshakeFailure::Alpn, "{words}");
    assert!(words.contains("doq"), "{words}");
    let mut trusting = description(ANY);
    trusting.tls.trust = dnsdyno_transport::tls::TlsTrust::System;
    let (why, words) = handshake_failure(Server::start(b"doq", nothing, |_, _, _| {}), trusting);
    assert_eq!(why, HandshakeFailure::Untrusted, "{words}");
    assert!(words.contains("--ca"), "{words}");
    // A packet of Version Negotiation, with a version that does not exist.
    let negotiating = Server::raw(|packet| {
        let (to, from) = (usize::from(packet[5]), usize::from(packet[6 + usize::from(packet[5])]));
        let (to, from) = (&packet[6..6 + to], &packet[7 + to..7 + to + from]);
        let ids = [&[from.len() as u8], from, &[to.len() as u8], to].concat();
        vec![[&[0x80, 0, 0, 0, 0][..], &ids, &[0xfa, 0xce, 0xb0, 0x0c]].concat()]
    });
    let (why, words) = handshake_failure(negotiating, description(ANY));
    assert_eq!(why, HandshakeFailure::Protocol, "{words}");
    assert!(words.contains("Version Negotiation"), "{words}");
}

#[test]
fn packets_of_any_content_neither_end_a_connection_nor_panic() {
    within_bound(|| {
        let server = Server::raw(|packet| {
            let mut longer = packet.to_vec();
            longer.rotate_left(7);
            vec![Vec::new(), vec![0x40], vec![0xff; 1_500], packet.to_vec(), longer]
        });
        let description = Description { handshake_timeout_ns: 200_000_000, ..description(server.address) };
        let mut meeting = Doq::begin(&description);
        meeting.ask(1);
        let end = meeting.until_end();
        assert_eq!(end, ConnectionEvent::Failed(ConnectFailure::TimedOut));
        assert!(words_about(&mut meeting, "handshake.timed_out").contains("QUIC on this port"));
    });
}

/// Streams of the test of gaps: more than the connection's window holds.
const QUERIES: u16 = 20;

const ANY: SocketAddr = SocketAddr::V4(std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 9));

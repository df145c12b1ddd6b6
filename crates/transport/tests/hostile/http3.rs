//! What a server of DoH/3 says here, octet by octet, and how the connection of its client ends.

use dnsdyno_measure::ConnectionEnd;
use dnsdyno_transport::quic::Doh3Transport;
use dnsdyno_transport::{ConnectionEvent, Transport};
use quinn_proto::{Connection, Dir, StreamId, TransportConfig, VarInt};

use super::hostile::quic::{Server, Wire};
use super::hostile::{Meeting, answer, description};

pub(crate) type Doh3 = Meeting<Doh3Transport>;

/// A frame.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind], &length(payload.len())[..], payload].concat()
}

/// An integer of two octets.
pub(crate) fn length(value: usize) -> [u8; 2] {
    (value as u16 | 0x4000).to_be_bytes()
}

/// The head of a response with a DNS message: entries 25 and 44 of the static table.
pub(crate) fn head() -> Vec<u8> {
    frame(HEADERS, b"\0\0\xd9\xec")
}

/// A head with this status, content type, and content length, as literals.
pub(crate) fn head_with(status: &str, kind: &str, length: &str) -> Vec<u8> {
    let mut section = b"\0\0".to_vec();
    for (name, value) in [(24u8, status), (44, kind), (4, length)] {
        if !value.is_empty() {
            section.push(0x50 | name.min(15));
            section.extend((name >= 15).then(|| name - 15));
            section.push(value.len() as u8);
            section.extend_from_slice(value.as_bytes());
        }
    }
    frame(HEADERS, &section)
}

pub(crate) fn data(bytes: &[u8]) -> Vec<u8> {
    frame(DATA, bytes)
}

/// A good response.
pub(crate) fn response() -> Vec<u8> {
    [head(), data(&answer(0))].concat()
}

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const DNS: &str = "application/dns-message";

/// The beginning of a control stream, without settings.
pub(crate) const CONTROL: &[u8] = b"\x00\x04\x00";

pub(crate) fn usual(_: &mut TransportConfig) {}

/// How a stream of the server ends.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Stay,
    Finish,
    Reset(u32),
}

pub(crate) fn say(quic: &mut Connection, stream: StreamId, bytes: &[u8], then: Then, wire: &mut Wire<'_>) {
    let written = quic.send_stream(stream).write(bytes).unwrap_or(0);
    assert_eq!(written, bytes.len(), "it fits the windows");
    match then {
        Then::Stay => {}
        Then::Finish => quic.send_stream(stream).finish().unwrap(),
        Then::Reset(code) => {
            // Otherwise nothing of it would be sent.
            wire.flush(quic, true);
            quic.send_stream(stream).reset(VarInt::from_u32(code)).unwrap();
        }
    }
}

/// A server that opens these streams, and then answers each query with these octets.
pub(crate) fn serving(streams: Vec<(Vec<u8>, Then)>, response: (Vec<u8>, Then)) -> Server {
    let mut is_first = true;
    Server::start(b"h3", usual, move |quic, stream, wire| {
        if std::mem::replace(&mut is_first, false) {
            for (bytes, then) in &streams {
                let own = quic.streams().open(Dir::Uni).expect("the client allows it");
                say(quic, own, bytes, *then, wire);
            }
        }
        let (bytes, then) = &response;
        say(quic, stream, bytes, *then, wire);
    })
}

/// The same with a good control stream; the first query gets `first`, all others a good response.
pub(crate) fn answering(first: Vec<u8>, then: Then) -> Server {
    let mut number = 0;
    Server::start(b"h3", usual, move |quic, stream, wire| {
        number += 1;
        if number == 1 {
            let own = quic.streams().open(Dir::Uni).expect("the client allows it");
            say(quic, own, CONTROL, Then::Stay, wire);
            say(quic, stream, &first, then, wire);
        } else {
            say(quic, stream, &response(), Then::Finish, wire);
        }
    })
}

pub(crate) fn words_about(meeting: &mut Doh3, about: &str) -> String {
    let all = meeting.transport.explanations();
    let one = all.iter().find(|one| one.about == about);
    one.unwrap_or_else(|| panic!("nothing about {about}: {all:?}")).words.clone()
}

/// How the connection of one query ends: counted, told to the server, and said.
pub(crate) fn end_of(server: &Server) -> (ConnectionEnd, u64, String) {
    let mut meeting = Doh3::begin(&description(server.address));
    meeting.ask(1);
    let ConnectionEvent::Ended { end, .. } = meeting.until_end() else { panic!("{:?}", meeting.seen) };
    let words = words_about(&mut meeting, &format!("connection.{}", end.key()));
    meeting.until("the close at the server", |_| !server.closes.lock().unwrap().is_empty());
    let code = server.closes.lock().unwrap()[0];
    (end, code, words)
}

#[track_caller]
pub(crate) fn ends_with(what: &str, server: &Server, code: u64) {
    let (end, told, words) = end_of(server);
    let expected = if code == EXCESSIVE_LOAD { ConnectionEnd::Excess } else { ConnectionEnd::Protocol };
    assert_eq!((end, told), (expected, code), "{what}: {words}");
    assert!(
        words.starts_with("the server sent ") && words.contains(&format!("({code:#x})")),
        "{what}: {words}"
    );
}

// RFC 9114, 8.1; RFC 9204, 6.
pub(crate) const NO_ERROR: u64 = 0x100;
pub(crate) const STREAM_CREATION_ERROR: u64 = 0x103;
pub(crate) const CLOSED_CRITICAL_STREAM: u64 = 0x104;
pub(crate) const FRAME_UNEXPECTED: u64 = 0x105;
pub(crate) const FRAME_ERROR: u64 = 0x106;
pub(crate) const EXCESSIVE_LOAD: u64 = 0x107;
pub(crate) const ID_ERROR: u64 = 0x108;
pub(crate) const SETTINGS_ERROR: u64 = 0x109;
pub(crate) const MISSING_SETTINGS: u64 = 0x10a;
pub(crate) const DECOMPRESSION_FAILED: u64 = 0x200;
pub(crate) const ENCODER_STREAM_ERROR: u64 = 0x201;
pub(crate) const DECODER_STREAM_ERROR: u64 = 0x202;

//! What a hostile TLS server may do: each connection ends, by its own reason, and the others go on.

mod hostile;

use std::sync::Arc;

use dnsdyno_measure::{ConnectionEnd, HandshakeFailure};
use dnsdyno_transport::ConnectionEvent;
use dnsdyno_transport::stream::DotTransport;

use hostile::{Hostile, Meeting, answer, description, framed, records, tls_config, within_bound};

const HANDSHAKE: u8 = 22;

/// Reports of a client over DoT whose server says `flight` after the ClientHello.
fn events_after(flight: Vec<u8>) -> Vec<ConnectionEvent> {
    within_bound(move || {
        let server = Hostile::start(move |conversation| {
            conversation.hear();
            conversation.send(&flight);
            conversation.hear_all();
        });
        let mut meeting = Meeting::<DotTransport>::begin(&description(server.address));
        meeting.ask(1);
        meeting.until_end();
        meeting.seen.events
    })
}

/// A message of the handshake.
fn message(kind: u8, length: usize) -> Vec<u8> {
    let bytes = (length as u32).to_be_bytes();
    [&[kind, bytes[1], bytes[2], bytes[3]], &vec![0; length][..]].concat()
}

#[test]
fn a_handshake_message_longer_than_the_library_takes_ends_the_connection() {
    for (length, step) in [(0xfff0, 1_000), (0xffff, 16_000), (0xffff, 100)] {
        let events = events_after(records(HANDSHAKE, &message(2, length), step));
        let failed = |event: &ConnectionEvent| matches!(event, ConnectionEvent::HandshakeFailed(_));
        assert!(events.iter().any(failed), "{length} bytes in records of {step}: {events:?}");
    }
}

#[test]
fn an_honest_server_answers() {
    let server = Hostile::start(|conversation| {
        let config = Arc::new(tls_config(&[]));
        let Some(mut secure) = conversation.secure(&config) else { return };
        secure.hear();
        secure.send(&framed(&answer(1)));
        secure.hear_all();
    });
    let mut meeting = Meeting::<DotTransport>::begin(&description(server.address));
    meeting.ask(1);
    meeting.until("an answer", |seen| seen.answers.len() == 1);
    let _ = (HandshakeFailure::Closed, ConnectionEnd::Error);
}

//! What a hostile server may do over TCP: a flood costs the worker's other clients nothing but a bounded time.

mod hostile;

use std::net::SocketAddr;

use dnsdyno_measure::ConnectionEnd;
use dnsdyno_transport::ConnectionEvent;
use dnsdyno_transport::stream::TcpTransport;

use hostile::{Conversation, Hostile, Meeting, answer, description, framed, within_bound};

#[test]
fn a_flood_of_answers_leaves_each_turn_to_the_other_clients_too() {
    // Of what the first connection gets there is no end; the second is answered.
    let script = |conversation: &mut Conversation| {
        conversation.hear();
        if conversation.number > 0 {
            conversation.send(&framed(&answer(2)));
            return conversation.hear_all();
        }
        let flood = framed(&answer(9)).repeat(1_000);
        while conversation.send(&flood) {}
    };
    let server = Hostile::start(script);
    let mut description = description(server.address);
    description.clients = 2;
    let mut meeting = Meeting::<TcpTransport>::begin(&description);
    meeting.ask(1);
    meeting.until("the flood", |seen| !seen.answers.is_empty());
    meeting.ask(2);
    meeting.until("the other client's answer", |seen| seen.answers.contains(&answer(2)));
    let mut most = 0;
    for _ in 0..50 {
        let before = meeting.seen.answers.len();
        meeting.turn();
        most = most.max(meeting.seen.answers.len() - before);
    }
    let bound = (4 * 65_536) / framed(&answer(9)).len() + 1;
    assert!(most <= bound, "{most} answers in a turn");
}

#[test]
fn a_message_that_never_ends_is_no_answer_and_what_is_no_message_ends_the_connection() {
    let ended = |flight: &'static [u8]| {
        within_bound(move || {
            let server = Hostile::start(move |conversation| {
                conversation.hear();
                conversation.send(flight);
            });
            let mut meeting = Meeting::<TcpTransport>::begin(&description(server.address));
            meeting.ask(1);
            (meeting.until_end(), meeting.seen)
        })
    };
    let (end, seen) = ended(b"\xff\xff never so long");
    assert_eq!(end, ConnectionEvent::Ended { end: ConnectionEnd::ByServer, answers: 0 });
    assert!(seen.answers.is_empty() && seen.malformed == 0);
    let (end, seen) = ended(b"\0\x02hi");
    assert_eq!(end, ConnectionEvent::Ended { end: ConnectionEnd::Garbled, answers: 0 });
    assert_eq!(seen.malformed, 1);
}

#[test]
fn a_server_that_nobody_listens_at_refuses() {
    let address: SocketAddr = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let mut meeting = Meeting::<TcpTransport>::begin(&description(address));
    meeting.ask(1);
    assert!(matches!(meeting.until_end(), ConnectionEvent::Failed(_)));
}

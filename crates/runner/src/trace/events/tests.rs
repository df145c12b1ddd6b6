//! Single queries and steps as events of a trace.

use dnsdyno_engine::{TracedFallback, TracedSend};
use dnsdyno_measure::{HandshakeKind, NotSentReason};

use super::*;
use crate::trace::file::TraceFile;

fn answered(number: u64) -> TracedQuery {
    TracedQuery {
        number,
        how: Some(How::Answered),
        response: Some((3, 99)),
        question: b"\x03www\x07example\0\0\x1c\0\x01".to_vec(),
        member: 0,
        due_ns: 1_000_000,
        sent: Some(TracedSend { at_ns: 1_002_345, channel: 4, id: 77 }),
        fallback: None,
        received_ns: Some(1_502_345),
        connection: None,
        ended_ns: 1_503_000,
    }
}

fn events_of(steps: &[TraceStep]) -> Vec<Value> {
    let mut events = Events::new(0);
    steps.iter().for_each(|step| events.add(2, step));
    serde_json::from_str(&format!("[{}]", events.text())).unwrap()
}

/// Name, phase and instant of each event.
fn seen(events: &[Value]) -> Vec<(&str, &str, f64)> {
    let of = |event: &'_ Value| event["ts"].as_f64().unwrap();
    events
        .iter()
        .map(|event| (event["name"].as_str().unwrap(), event["ph"].as_str().unwrap(), of(event)))
        .collect()
}

#[test]
fn a_query_is_an_event_with_its_parts_one_after_the_other() {
    let events = events_of(&[
        TraceStep::Departed { number: 255, at_ns: 1_003_000 },
        TraceStep::Ended(Box::new(answered(255))),
    ]);
    let expected = [
        ("departed", "n", 1003.0),
        ("www.example AAAA", "b", 1000.0),
        ("waiting", "b", 1000.0),
        ("waiting", "e", 1002.345),
        ("server", "b", 1002.345),
        ("server", "e", 1502.345),
        ("pairing", "b", 1502.345),
        ("pairing", "e", 1503.0),
        ("www.example AAAA", "e", 1503.0),
    ];
    assert_eq!(seen(&events), expected);
    assert!(events.iter().all(|event| event["id"] == "0xff" && event["tid"] == 2 && event["cat"] == "query"));
    let arguments = &events[1]["args"];
    assert_eq!((&arguments["end"], &arguments["rcode"]), (&"answered".into(), &"NXDOMAIN".into()));
    assert_eq!((&arguments["response_ns"], &arguments["service_ns"]), (&502_345.into(), &500_000.into()));
}

#[test]
fn a_fallback_and_its_connection_are_parts_of_the_query() {
    let sent = Some(TracedSend { at_ns: 1_700_000, channel: 9, id: 1 });
    let query = TracedQuery {
        fallback: Some(TracedFallback { truncated_ns: 1_600_000, sent }),
        connection: Some(TracedConnection {
            opened_ns: 1_700_500,
            established_ns: Some(1_800_000),
            handshake: Some((HandshakeKind::Full, 1_800_000, 1_900_000)),
        }),
        received_ns: Some(2_000_000),
        ended_ns: 2_000_000,
        ..answered(1)
    };
    let events = events_of(&[TraceStep::Ended(Box::new(query))]);
    let begins: Vec<_> = seen(&events).into_iter().filter(|(_, phase, _)| *phase == "b").collect();
    let expected = [
        ("www.example AAAA", "b", 1000.0),
        ("waiting", "b", 1000.0),
        ("UDP", "b", 1002.345),
        ("waiting for a client", "b", 1600.0),
        ("server", "b", 1700.0),
        ("connect", "b", 1700.5),
        ("handshake", "b", 1800.0),
        ("pairing", "b", 2000.0),
    ];
    assert_eq!(begins, expected);
    // Of a connection that was there before, the query has waited for nothing.
    let old = TracedConnection {
        opened_ns: 5,
        established_ns: Some(6),
        handshake: Some((HandshakeKind::Full, 6, 7)),
    };
    let events =
        events_of(&[TraceStep::Ended(Box::new(TracedQuery { connection: Some(old), ..answered(1) }))]);
    assert!(events.iter().all(|event| event["name"] != "connect" && event["name"] != "handshake"));
}

#[test]
fn a_query_that_was_not_sent_says_why() {
    let how = Some(How::NotSent(NotSentReason::NoFreeId));
    let query = TracedQuery { how, sent: None, received_ns: None, response: None, ..answered(1) };
    let events = events_of(&[TraceStep::Ended(Box::new(query))]);
    assert_eq!(events[0]["args"]["end"], "not_sent");
    assert_eq!(events[0]["args"]["reason"], "no_free_id");
    assert!(events.iter().all(|event| event["name"] != "server"));
}

#[test]
fn the_file_is_valid_json_after_each_addition_and_after_one_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let mut file = TraceFile::create(&path).unwrap();
    let read = || -> Value { serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap() };
    assert_eq!(read()["otherData"]["queries"], 0);
    let mut events = Events::new(2);
    for number in 0..100 {
        events.add(0, &TraceStep::Ended(Box::new(answered(number))));
        file.append(&events).unwrap();
        events.written();
        assert_eq!(read()["otherData"]["queries"], number + 1);
    }
    let all = read();
    let begun = all["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "b");
    assert_eq!(begun.filter(|event| event["args"].is_object()).count(), 100);
}

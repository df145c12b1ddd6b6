//! What is counted, compared with messages whose contents are known.

use super::*;
use crate::sample::{Message, START_NS, query, response, some};

fn contents(messages: &[Message]) -> Contents {
    let mut survey = Survey::default();
    messages.iter().for_each(|message| survey.add(&message.borrowed()));
    survey.contents(CaptureCounts::default())
}

fn names(shares: &[Share]) -> Vec<(&str, u64)> {
    shares.iter().map(|share| (share.name.as_str(), share.count)).collect()
}

#[test]
fn queries_responses_transports_clients_and_times_are_counted() {
    let contents = contents(&some());
    assert_eq!((contents.queries, contents.responses, contents.malformed), (20, 20, 0));
    assert_eq!((contents.from_unix_ns, contents.to_unix_ns), (Some(START_NS), Some(START_NS + 195_000_000)));
    let transports: Vec<_> = contents.transports.iter().map(|t| (t.name, t.queries, t.responses)).collect();
    assert_eq!(transports, [("udp", 15, 15), ("tcp", 5, 5)]);
    assert_eq!((contents.clients.clients, contents.clients.top[0].queries), (3, 7));
    assert_eq!(contents.servers[0].messages, 40);
    assert_eq!((names(&contents.types), names(&contents.rcodes)), (vec![("A", 20)], vec![("NOERROR", 20)]));
    assert_eq!((contents.rate.part_ns, contents.rate.queries.len()), (10_000_000, 20));
    assert_eq!((contents.rate.queries.iter().sum::<u64>(), contents.rate.responses[0]), (20, 1));
}

#[test]
fn the_time_from_query_to_response_is_measured() {
    let queries: Vec<_> = (0..100).map(|n| query(n, (n % 3) as u8, Protocol::Udp)).collect();
    let responses = queries.iter().enumerate().map(|(n, query)| response(query, n as u64 + 1, 0));
    let mut messages: Vec<_> = queries.iter().cloned().chain(responses.take(90)).collect();
    messages.push(response(&query(7_777, 9, Protocol::Udp), 1, 0));
    messages.sort_by_key(|message| message.at_unix_ns);
    messages.push(queries[95].clone());
    let pairs = contents(&messages).pairs;
    assert_eq!((pairs.answered, pairs.unanswered, pairs.without_query, pairs.repeated), (90, 10, 1, 1));
    let of = |name| pairs.latency.iter().find(|percentile| percentile.name == name).unwrap().ns;
    for (name, want_ms) in [("p50", 45.0), ("p90", 81.0), ("max", 90.0)] {
        let ratio = of(name) as f64 / (want_ms * 1e6);
        assert!((0.99..1.01).contains(&ratio), "{name}: {} ns", of(name));
    }
}

#[test]
fn a_query_that_has_the_id_of_an_unanswered_one_is_no_repetition() {
    let first = query(0, 1, Protocol::Udp);
    let again = |at_ns: u64| {
        let mut again = first.clone();
        again.at_unix_ns += at_ns;
        again
    };
    let mut other = again(1_000_000);
    let last_of_name = other.bytes.len() - 6;
    other.bytes[last_of_name] ^= 1;
    // Another question, and the same an hour later: the first two are unanswered.
    let last = again(3_600_000_000_000);
    let mut messages = vec![first.clone(), other.clone(), last.clone(), response(&last, 1, 0)];
    let pairs = contents(&messages).pairs;
    assert_eq!((pairs.answered, pairs.unanswered, pairs.repeated), (1, 2, 0));
    assert!(pairs.latency.iter().all(|percentile| percentile.ns < 1_100_000), "{:?}", pairs.latency);
    // A response to another question is not its.
    messages = vec![first.clone(), response(&other, 1, 0)];
    let pairs = contents(&messages).pairs;
    assert_eq!((pairs.answered, pairs.unanswered, pairs.without_query), (0, 1, 1));
}

#[test]
fn classes_opcodes_rcodes_edns_and_malformed_messages_are_counted() {
    let plain = query(1, 1, Protocol::Udp);
    let mut chaos = plain.clone();
    *chaos.bytes.last_mut().unwrap() = 3;
    let mut update = plain.clone();
    update.bytes[2] = 5 << 3;
    let mut malformed = plain.clone();
    malformed.bytes[12] = 0xff;
    let mut with_edns = plain.clone();
    with_edns.bytes[11] = 1;
    with_edns.bytes.extend([0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 4, 0, 3, 0, 0]);
    let mut truncated = response(&plain, 1, 3);
    truncated.bytes[2] |= 2;
    let contents = contents(&[plain, chaos, update, malformed, with_edns, truncated]);
    assert_eq!(contents.malformed, 1);
    assert_eq!(names(&contents.other_classes), [("CH", 1)]);
    assert_eq!(names(&contents.other_opcodes), [("UPDATE", 1)]);
    assert_eq!((names(&contents.rcodes), contents.truncated), (vec![("NXDOMAIN", 1)], 1));
    assert_eq!((contents.edns.queries, contents.edns.dnssec_ok), (1, 1));
    assert_eq!(
        (names(&contents.edns.sizes), names(&contents.edns.options)),
        (vec![("1232", 1)], vec![("NSID", 1)])
    );
}

#[test]
fn a_capture_of_days_has_longer_parts_and_loses_no_message() {
    let messages: Vec<_> = (0..3_000).map(|n| query(n * 60_000, 1, Protocol::Udp)).collect();
    let rate = contents(&messages).rate;
    assert_eq!((rate.part_ns, rate.queries.iter().sum::<u64>()), (100_000_000_000, 3_000));
    let mut far = query(0, 1, Protocol::Udp);
    far.at_unix_ns = u64::MAX;
    let rate = contents(&[query(0, 1, Protocol::Udp), far]).rate;
    assert!(rate.queries.len() <= 6_000);
    assert_eq!(rate.queries.iter().sum::<u64>(), 2);
}

#[test]
fn an_empty_capture_has_empty_contents() {
    let contents = contents(&[]);
    assert_eq!((contents.queries, contents.from_unix_ns, contents.clients.clients), (0, None, 0));
}

//! dnstap files of several writers.

use dnsdyno_measure::CaptureCounts;
use prost::Message as _;

use super::*;
use crate::sample::{self, Message as Sample, query, read_with, response, some, written};
use crate::{OutputFormat, ReadSettings};

/// A file of the messages.
fn file(messages: &[Message]) -> Vec<u8> {
    let mut file = written(OutputFormat::Dnstap, &[]);
    file.truncate(file.len() - 12);
    for message in messages {
        let envelope = Envelope { kind: MESSAGE, message: message.clone(), identity: Vec::new() };
        file.extend((envelope.encoded_len() as u32).to_be_bytes());
        file.extend(envelope.encode_to_vec());
    }
    file.extend([0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 3]);
    file
}

fn message(kind: i32, query: Option<&Sample>, response: Option<&Sample>) -> Message {
    let mut message = Message { kind, socket_family: INET, socket_protocol: 1, ..Message::default() };
    (message.query_address, message.query_port) = (vec![192, 0, 2, 1], 40_001);
    (message.response_address, message.response_port) = (vec![198, 51, 100, 1], 53);
    if let Some(query) = query {
        message.query_time_sec = Some(query.at_unix_ns / 1_000_000_000);
        message.query_time_nsec = Some((query.at_unix_ns % 1_000_000_000) as u32);
        message.query_message = query.bytes.clone();
    }
    if let Some(response) = response {
        message.response_time_sec = Some(response.at_unix_ns / 1_000_000_000);
        message.response_time_nsec = Some((response.at_unix_ns % 1_000_000_000) as u32);
        message.response_message = response.bytes.clone();
    }
    message
}

fn read(file: Vec<u8>, kinds: &[DnstapKind]) -> (Vec<Sample>, CaptureCounts) {
    let settings = ReadSettings { kinds: kinds.to_vec(), ..ReadSettings::default() };
    let (messages, counts, error) = read_with(file, &settings);
    assert!(error.is_none(), "{error:?}");
    (messages, counts)
}

fn pair() -> (Sample, Sample) {
    let query = query(7, 1, Protocol::Udp);
    let response = response(&query, 3, 2);
    (query, response)
}

#[test]
fn a_response_with_its_query_gives_both() {
    let (query, response) = pair();
    let (messages, counts) = read(file(&[message(6, Some(&query), Some(&response))]), &[]);
    assert_eq!(messages, [query, response]);
    assert_eq!((counts.frames, counts.messages), (1, 2));
}

#[test]
fn a_query_that_has_a_message_of_its_own_is_not_given_again_with_its_response() {
    let (query, response) = pair();
    let both = [message(5, Some(&query), None), message(6, Some(&query), Some(&response))];
    let (messages, counts) = read(file(&both), &[]);
    assert_eq!(messages, [query.clone(), response.clone()]);
    assert_eq!((counts.repeated_queries, counts.skipped.total()), (1, 0));
    // The other way round: two threads of a server write.
    let both = [message(6, Some(&query), Some(&response)), message(5, Some(&query), None)];
    let (messages, counts) = read(file(&both), &[]);
    assert_eq!(messages, [query.clone(), response.clone()]);
    assert_eq!((counts.skipped.of(SkipReason::RepeatedQuery), counts.skipped.total()), (1, 1));
    // Those of another kind are other queries.
    let both = [message(5, Some(&query), None), message(4, Some(&query), Some(&response))];
    assert_eq!(read(file(&both), &[]).0.len(), 3);
}

#[test]
fn messages_of_every_kind_are_given_or_those_that_are_asked_for() {
    let (query, response) = pair();
    let all: Vec<_> = (1..=14)
        .map(|kind| match kind % 2 {
            1 => message(kind, Some(&query), None),
            _ => message(kind, None, Some(&response)),
        })
        .collect();
    assert_eq!(read(file(&all), &[]).0.len(), 14);
    let (messages, counts) = read(file(&all), &[DnstapKind::Client, DnstapKind::Tool]);
    assert_eq!((messages.len(), counts.skipped.of(SkipReason::OtherKind)), (4, 10));
}

#[test]
fn a_message_without_addresses_or_instants_is_given_without_them() {
    let (query, _) = pair();
    let bare =
        Message { kind: 5, query_message: query.bytes.clone(), socket_family: INET6, ..Message::default() };
    let (messages, _) = read(file(&[bare]), &[]);
    assert_eq!((messages[0].at_unix_ns, messages[0].source.to_string()), (0, "[::]:0".to_owned()));
}

#[test]
fn frames_without_a_dns_message_are_counted() {
    let (query, _) = pair();
    let empty = message(5, None, None);
    let unknown = message(99, Some(&query), None);
    let mut short = message(5, Some(&query), None);
    short.query_message.truncate(5);
    let mut octets = file(&[empty, unknown, short]);
    let end = octets.split_off(octets.len() - 12);
    octets.extend([0, 0, 0, 3, 0xff, 0xff, 0xff]);
    octets.extend(end);
    let (messages, counts) = read(octets, &[]);
    assert!(messages.is_empty());
    assert_eq!(counts.skipped.of(SkipReason::NoMessage), 3);
    assert_eq!(counts.skipped.of(SkipReason::TooShort), 1);
}

#[test]
fn a_file_from_a_socket_and_files_behind_each_other_are_read() {
    let plain = written(OutputFormat::Dnstap, &some());
    let ready = [&[0u8, 0, 0, 0][..], &plain[4..8], &[0, 0, 0, 4], &plain[12..42]].concat();
    let finish = [0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5];
    let from_a_socket = [&ready, &plain[..], &finish].concat();
    assert_eq!(read(from_a_socket, &[]).0, some());
    assert_eq!(read([&plain[..], &plain].concat(), &[]).0.len(), 2 * some().len());
}

#[test]
fn frame_streams_of_other_content_are_refused() {
    let mut other = written(OutputFormat::Dnstap, &some());
    other[25] ^= 1;
    let error = sample::read(other).2.unwrap().to_string();
    assert!(error.contains("whose content is not dnstap"), "{error}");
}

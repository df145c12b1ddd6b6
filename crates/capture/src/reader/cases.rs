//! The files in `tests/cases`: each is of a kind that was once read wrongly, with what is right for it.

use std::fs;
use std::path::Path;

use dnsdyno_measure::{CaptureCounts, SkipReason};

use crate::contents::{Contents, Survey};
use crate::sample::{Message, read};
use crate::{MessageWriter, OutputFormat};

/// The messages of a file, and what was counted.
fn case(name: &str) -> (Vec<Message>, CaptureCounts) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    let (messages, counts, error) = read(fs::read(path).unwrap());
    assert!(error.is_none(), "{name}: {error:?}");
    (messages, counts)
}

/// What `dnsdyno capture show` counts of a file.
fn contents(name: &str) -> Contents {
    let (messages, counts) = case(name);
    let mut survey = Survey::default();
    messages.iter().for_each(|message| survey.add(&message.borrowed()));
    survey.contents(counts)
}

#[test]
fn obsolete_packet_blocks_of_pcapng_hold_packets() {
    let contents = contents("01-obsolete-packet-block.pcapng");
    assert_eq!((contents.queries, contents.read.frames, contents.read.unknown_blocks), (1, 1, 0));
}

/// Queries, responses, and queries with their response.
fn numbers(contents: &Contents) -> (u64, u64, u64) {
    (contents.queries, contents.responses, contents.pairs.answered)
}

#[test]
fn a_query_of_dnstap_is_given_once_whether_it_is_alone_or_with_its_response() {
    let contents = contents("02-responses-with-queries.dnstap");
    assert_eq!(numbers(&contents), (3, 3, 3));
    assert_eq!((contents.read.repeated_queries, contents.read.without_instant), (1, 0));
}

#[test]
fn queries_that_only_responses_have_are_given_although_messages_of_queries_are_there() {
    let contents = contents("02b-empty-query-frames.dnstap");
    assert_eq!(numbers(&contents), (3, 3, 3));
    assert_eq!(contents.read.skipped.of(SkipReason::NoMessage), 3);
}

#[test]
fn a_query_without_an_instant_has_that_of_its_neighbour_and_is_counted() {
    let contents = contents("14-query-without-time.dnstap");
    assert_eq!((contents.queries, contents.read.without_instant), (2, 1));
    assert_eq!(contents.from_unix_ns, contents.to_unix_ns);
}

#[test]
fn a_capture_whose_times_go_back_is_put_in_order() {
    let (messages, counts) = case("15-time-goes-back.pcap");
    let seconds: Vec<_> = messages.iter().map(|message| message.at_unix_ns / 1_000_000_000).collect();
    assert_eq!(seconds, [1, 2, 3, 4, 5].map(|s| 1_700_000_000 + s));
    assert_eq!((counts.reordered, counts.out_of_order), (4, 0));
}

#[test]
fn two_threads_of_a_server_that_write_by_turns_make_one_even_rate() {
    let (messages, counts) = case("16-two-threads.dnstap");
    let first_unix_ns = messages[0].at_unix_ns;
    let mut halves = [0; 8];
    messages
        .iter()
        .for_each(|message| halves[((message.at_unix_ns - first_unix_ns) / 500_000_000) as usize] += 1);
    assert_eq!(halves.iter().filter(|count| **count > 0).collect::<Vec<_>>(), [&100; 8]);
    assert!(messages.is_sorted_by_key(|message| message.at_unix_ns));
    assert_eq!(counts.out_of_order, 0);
}

#[test]
fn a_response_that_was_captured_before_its_query_is_paired() {
    let contents = contents("23-response-first.pcap");
    assert_eq!(numbers(&contents), (10, 10, 10));
    let latency = &contents.pairs.latency;
    assert!(latency.iter().all(|part| (990_000..1_010_000).contains(&part.ns)), "{latency:?}");
}

#[test]
fn a_query_in_each_tunnel_and_of_each_link_type_is_read() {
    for name in [
        "19-erspan.pcap",
        "19-gre.pcap",
        "19-mpls.pcap",
        "19-pppoe.pcap",
        "19-vxlan.pcap",
        "20-nflog.pcap",
        "20-ppp.pcap",
    ] {
        let contents = contents(name);
        assert_eq!((contents.queries, contents.read.skipped.total()), (1, 0), "{name}");
        assert_eq!(contents.clients.top[0].address.to_string(), "192.0.2.10", "{name}");
    }
}

#[test]
fn a_message_that_a_format_cannot_hold_is_counted_as_left_out() {
    let (messages, _) = case("04-no-question.pcap");
    for (format, written) in [(OutputFormat::Text, 0), (OutputFormat::Binary, 1), (OutputFormat::Pcapng, 1)] {
        let mut writer = MessageWriter::new(format, Vec::new()).unwrap();
        messages.iter().for_each(|message| writer.write(&message.borrowed()).unwrap());
        let counts = writer.counts();
        assert_eq!((counts.messages, counts.unsuitable_left_out), (written, 1 - written), "{format:?}");
    }
}

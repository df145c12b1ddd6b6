//! The files of `crates/capture/tests/cases`, replayed.

use std::path::Path;

use dnsdyno_measure::ReplayCounts;

use super::*;

fn plan(name: &str, check_answers: bool) -> ReplayPlan {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/tests/cases");
    ReplayPlan { file: Some(cases.join(name)), speed: 1.0, check_answers, ..ReplayPlan::default() }
}

fn scan(name: &str) -> Scan {
    let reader = plan(name, false).open().expect("a capture");
    Scan::of(reader, &mut |_| (), &mut |_| true).expect("a capture").expect("nobody stops it")
}

/// The instants of the queries, in nanoseconds after the first, and what was read.
fn replayed(name: &str, check_answers: bool) -> (Vec<u64>, ReplayCounts) {
    let mut reader = plan(name, check_answers).open().expect("a capture");
    let mut instants = Vec::new();
    while let Some(query) = reader.next_query().expect("a capture") {
        instants.push(query.at_unix_ns);
    }
    let counts = reader.counts();
    let answered = if check_answers { counts.queries - counts.without_recorded_answer } else { 0 };
    let all = counts.queries + counts.to_other_servers + counts.malformed + counts.responses + answered;
    assert_eq!(all, counts.capture.messages, "each message ends in one count: {counts:?}");
    let first_unix_ns = instants[0];
    instants.iter_mut().for_each(|instant| *instant -= first_unix_ns);
    (instants, counts)
}

#[test]
fn times_that_go_back_are_replayed_over_as_long_as_they_lie_apart() {
    let scan = scan("15-time-goes-back.pcap");
    assert_eq!((scan.queries, scan.lasted_ns), (5, 4_000_000_000));
    let (instants, counts) = replayed("15-time-goes-back.pcap", false);
    assert_eq!(instants, [0, 1, 2, 3, 4].map(|s| s * 1_000_000_000));
    assert_eq!(counts.capture.reordered, 4);
}

#[test]
fn a_query_without_an_instant_makes_no_replay_of_decades() {
    let scan = scan("14-query-without-time.dnstap");
    assert_eq!((scan.queries, scan.lasted_ns), (2, 0));
    assert_eq!(replayed("14-query-without-time.dnstap", false).1.capture.without_instant, 1);
}

#[test]
fn queries_that_only_responses_have_are_replayed() {
    for name in ["02-responses-with-queries.dnstap", "02b-empty-query-frames.dnstap"] {
        let (instants, counts) = replayed(name, true);
        assert_eq!(instants.len(), 3, "{name}");
        assert_eq!((counts.queries, counts.without_recorded_answer), (3, 0), "{name}");
    }
}

#[test]
fn two_threads_of_a_server_are_replayed_at_one_even_rate() {
    let (instants, _) = replayed("16-two-threads.dnstap", false);
    let of_half = |half: u64| instants.iter().filter(|instant| **instant / 500_000_000 == half).count();
    assert_eq!((0..8).map(of_half).collect::<Vec<_>>(), [100; 8]);
}

#[test]
fn a_response_that_was_captured_before_its_query_is_its_recorded_answer() {
    let (instants, counts) = replayed("23-response-first.pcap", true);
    assert_eq!((instants.len(), counts.without_recorded_answer), (10, 0));
}

//! Streams of segments in every order, with losses.

use std::collections::VecDeque;

use super::*;
use crate::sample::query_octets;

/// Puts segments together and collects what comes out.
#[derive(Default)]
struct Case {
    streams: Streams,
    counts: CaptureCounts,
    out: Assembled,
    got: Vec<Vec<u8>>,
    at_unix_ns: u64,
}

const FIRST: u32 = u32::MAX - 20;

impl Case {
    fn add(&mut self, from_port: u16, sequence: u32, is_syn: bool, payload: &[u8]) {
        self.take(Segment { is_syn, ..self.segment(from_port, sequence, payload) });
    }

    fn segment<'a>(&self, from_port: u16, sequence: u32, payload: &'a [u8]) -> Segment<'a> {
        Segment {
            at_unix_ns: Some(self.at_unix_ns),
            from: ([192, 0, 2, 1], from_port).into(),
            to: ([192, 0, 2, 2], 53).into(),
            sequence,
            is_syn: false,
            is_end: false,
            is_reset: false,
            payload,
        }
    }

    fn take(&mut self, segment: Segment<'_>) {
        self.streams.add(&segment, &mut self.counts, &mut self.out);
        self.collect();
    }

    fn syn(&mut self) {
        self.add(4000, FIRST.wrapping_sub(1), true, &[]);
    }

    /// The octets `range` of the stream.
    fn part(&mut self, stream: &[u8], range: std::ops::Range<usize>) {
        self.add(4000, FIRST.wrapping_add(range.start as u32), false, &stream[range]);
    }

    fn finish(&mut self) {
        while self.streams.finish_one(&mut self.counts, &mut self.out) {
            self.collect();
        }
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(found) = self.out.pop() {
            let crate::found::Place::Assembled(place) = found.place else { panic!("{found:?}") };
            self.got.push(self.out.octets(place).to_vec());
        }
    }
}

fn messages(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| query_octets(&format!("q{n}.example.com"))).collect()
}

/// The messages, each behind its length.
fn stream(messages: &[Vec<u8>]) -> Vec<u8> {
    messages
        .iter()
        .flat_map(|message| [&(message.len() as u16).to_be_bytes()[..], message].concat())
        .collect()
}

#[test]
fn messages_are_found_however_the_stream_is_cut_into_segments() {
    let want = messages(5);
    let stream = stream(&want);
    for size in 1..stream.len() {
        let mut case = Case::default();
        case.syn();
        for start in (0..stream.len()).step_by(size) {
            case.part(&stream, start..(start + size).min(stream.len()));
        }
        assert_eq!(case.got, want, "segments of {size} octets");
        assert_eq!(case.counts, CaptureCounts::default(), "segments of {size} octets");
    }
}

#[test]
fn segments_in_reverse_and_repeated_ones_are_put_in_order() {
    let want = messages(6);
    let stream = stream(&want);
    let mut ranges: VecDeque<_> =
        (0..stream.len()).step_by(10).map(|start| start..(start + 10).min(stream.len())).collect();
    let mut case = Case::default();
    case.syn();
    while let Some(range) = ranges.pop_back() {
        case.part(&stream, range.clone());
        case.part(&stream, range.clone());
    }
    assert_eq!(case.got, want);
    let segments = stream.len().div_ceil(10) as u64;
    assert_eq!((case.counts.tcp_repeated, case.counts.tcp_reordered), (segments, segments - 1));
    assert_eq!((case.counts.tcp_gaps, case.counts.tcp_lost_bytes), (0, 0));
}

#[test]
fn segments_that_overlap_give_each_octet_once() {
    let want = messages(3);
    let stream = stream(&want);
    let mut case = Case::default();
    case.syn();
    for start in (0..stream.len()).step_by(7) {
        case.part(&stream, start.saturating_sub(3)..(start + 12).min(stream.len()));
    }
    assert_eq!(case.got, want);
}

#[test]
fn after_a_lost_segment_the_next_message_at_a_segments_start_is_found() {
    let want = messages(4);
    let each = stream(&want).len() / 4;
    let stream = stream(&want);
    let mut case = Case::default();
    case.syn();
    case.part(&stream, 0..each + 5);
    // The rest of the second message is lost.
    case.part(&stream, 2 * each..3 * each);
    case.part(&stream, 3 * each..4 * each);
    assert_eq!(case.got, want[..1], "the gap may still be filled");
    case.at_unix_ns += LONGEST_WAIT_NS;
    case.add(5000, 1, true, &[]);
    assert_eq!(case.got, [&want[..1], &want[2..]].concat());
    assert_eq!((case.counts.tcp_gaps, case.counts.tcp_lost_bytes), (1, 5));
}

#[test]
fn a_gap_at_the_end_of_the_capture_loses_nothing_after_it() {
    let want = messages(3);
    let each = stream(&want).len() / 3;
    let stream = stream(&want);
    let mut case = Case::default();
    case.syn();
    case.part(&stream, 0..each);
    case.part(&stream, 2 * each..3 * each);
    case.finish();
    assert_eq!(case.got, [want[0].clone(), want[2].clone()]);
}

#[test]
fn a_stream_without_its_start_is_read_from_the_first_message_found() {
    let want = messages(4);
    let each = stream(&want).len() / 4;
    let stream = stream(&want);
    let mut case = Case::default();
    case.part(&stream, each / 2..each);
    case.part(&stream, each..2 * each);
    // A length alone in its segment, as some clients send it.
    case.part(&stream, 2 * each..2 * each + 2);
    case.part(&stream, 2 * each + 2..4 * each);
    assert_eq!(case.got, want[1..]);
    assert_eq!((case.counts.tcp_without_start, case.counts.tcp_lost_bytes), (1, (each - each / 2) as u64));
}

#[test]
fn the_same_ports_used_again_are_another_connection() {
    let want = messages(2);
    let stream = stream(&want);
    let mut case = Case::default();
    case.syn();
    case.part(&stream, 0..stream.len() - 4);
    // A repeated SYN changes nothing.
    case.syn();
    case.part(&stream, stream.len() - 4..stream.len());
    case.add(4000, 77, true, &[]);
    case.add(4000, 78, false, &stream);
    assert_eq!(case.got, [&want[..], &want[..]].concat());
}

#[test]
fn a_connection_that_begins_with_the_same_sequence_number_is_another_one() {
    let want = messages(2);
    let stream = stream(&want);
    let end = |is_reset: bool, of_server: bool| {
        move |case: &mut Case| {
            let next = FIRST.wrapping_add(stream_len());
            let mut segment = case.segment(4000, next, &[]);
            (segment.is_end, segment.is_reset) = (!is_reset, is_reset);
            if of_server {
                (segment.from, segment.to) = (segment.to, segment.from);
            }
            case.take(segment);
        }
    };
    fn stream_len() -> u32 {
        super::tests::stream(&messages(2)).len() as u32
    }
    let later = |seconds: u64| move |case: &mut Case| case.at_unix_ns += seconds * 1_000_000_000;
    type Between = Box<dyn Fn(&mut Case)>;
    let cases: [(&str, Between, usize); 6] = [
        ("ended", Box::new(end(false, false)), 4),
        ("reset", Box::new(end(true, false)), 4),
        ("reset by the server", Box::new(end(true, true)), 4),
        ("minutes later", Box::new(later(300)), 4),
        ("the same, captured again", Box::new(later(1)), 2),
        ("ended by the server only", Box::new(end(false, true)), 2),
    ];
    for (what, between, count) in cases {
        let mut case = Case { at_unix_ns: 1_000_000_000, ..Case::default() };
        for _ in 0..2 {
            case.syn();
            case.part(&stream, 0..30);
            case.part(&stream, 30..stream.len());
            between(&mut case);
        }
        assert_eq!(case.got.len(), count, "{what}");
        assert_eq!(case.counts.tcp_repeated, if count == 2 { 2 } else { 0 }, "{what}");
    }
}

#[test]
fn a_last_message_that_comes_with_the_end_is_given() {
    let stream = stream(&messages(1));
    let mut case = Case::default();
    for _ in 0..2 {
        case.syn();
        let segment = case.segment(4000, FIRST, &stream);
        case.take(Segment { is_end: true, ..segment });
    }
    assert_eq!(case.got.len(), 2);
}

#[test]
fn what_is_not_dns_is_given_up_and_counted() {
    let mut case = Case::default();
    case.syn();
    case.part(&[0; 5_000], 0..5_000);
    case.add(4001, 0, true, b"GET / HTTP/1.1\r\n\r\n");
    case.finish();
    assert!(case.got.is_empty());
    assert_eq!(case.counts.tcp_short_messages, 1);
    assert_eq!(case.counts.tcp_lost_bytes, 5_000 + 18);
}

#[test]
fn streams_that_never_complete_a_message_take_bounded_memory() {
    let mut case = Case::default();
    let ahead = vec![1; 30_000];
    for n in 0..6_000u32 {
        let port = (n % 60_000) as u16 + 1;
        case.add(port, 1, true, &[]);
        case.add(port, 100, false, &ahead);
        assert!(case.streams.held_bytes <= MAX_HELD_BYTES + ahead.len() * 2);
    }
    assert!(case.counts.forgotten > 0);
    assert!(case.streams.deadlines.len() <= case.streams.open.len());
    let mut case = Case::default();
    for n in 0..2_000u32 {
        // Every other segment of one stream.
        case.add(1, 1 + n * 3_000, n == 0, &ahead[..1_000]);
        assert!(case.streams.held_bytes <= MAX_AHEAD_BYTES + (64 << 10) + 4_000);
    }
    assert!(case.counts.tcp_gaps > 0);
}

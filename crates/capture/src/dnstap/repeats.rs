//! Queries that a dnstap file tells twice: in a message of their own, and with their response. Each is given once,
//! whichever comes first, and those that only responses carry are given too.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::net::SocketAddr;

use dnsdyno_wire::{MAX_NAME_LEN, QUESTION_FIXED_LEN, peek};

use super::kind::DnstapKind;
use crate::hash::{KeyHasher, mixed, with, with_address};

/// Where a query was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In a message of its own.
    OwnMessage,
    /// In the message of its response.
    Response,
}

/// The queries that were told in one way only, so far.
#[derive(Default)]
pub(super) struct Repeats {
    open: HashMap<u64, Query, BuildHasherDefault<KeyHasher>>,
    /// In the order in which they came, with the number of each.
    order: VecDeque<(u64, u64)>,
    number: u64,
}

struct Query {
    source: Source,
    /// How often: a client may send the same query again.
    times: u32,
    at_unix_ns: Option<u64>,
    number: u64,
}

impl Repeats {
    /// Whether this query was told in the other way before; each telling is held against one of the other way.
    pub(super) fn is_repeated(&mut self, query: u64, source: Source, at_unix_ns: Option<u64>) -> bool {
        self.number += 1;
        if let Some(open) = self.open.get_mut(&query) {
            let is_near = open.at_unix_ns.zip(at_unix_ns).is_none_or(|(a, b)| a.abs_diff(b) <= FARTHEST_NS);
            if is_near && open.source != source {
                open.times -= 1;
                if open.times == 0 {
                    self.open.remove(&query);
                }
                return true;
            }
            if is_near {
                open.times = open.times.saturating_add(1);
                return false;
            }
        }
        if self.order.len() >= MAX_OPEN
            && let Some((oldest, number)) = self.order.pop_front()
            && self.open.get(&oldest).is_some_and(|open| open.number == number)
        {
            self.open.remove(&oldest);
        }
        self.open.insert(query, Query { source, times: 1, at_unix_ns, number: self.number });
        self.order.push_back((query, self.number));
        false
    }
}

/// What the two tellings of a query have in common: who asked what, with which ID. The rest of the message may be there
/// in one of them only.
pub(super) fn query_id(kind: DnstapKind, asker: SocketAddr, message: &[u8]) -> u64 {
    let id = message.first_chunk::<2>().map_or(0, |id| u64::from(u16::from_be_bytes(*id)));
    let port = with(kind as u64 | id << 8, &asker.port().to_be_bytes());
    let head = with_address(port, asker.ip());
    let Ok(query) = peek(message) else { return mixed(with(head, message)) };
    // No length of a label is a letter.
    let mut question = [0; LONGEST_QUESTION];
    let length = query.question.len().min(LONGEST_QUESTION);
    question[..length].copy_from_slice(&query.question[..length]);
    question[..length].make_ascii_lowercase();
    mixed(with(head, &question[..length]))
}

/// The two tellings of a query say when it came, by the same clock: nothing waits for a response longer than this.
const FARTHEST_NS: u64 = 60_000_000_000;

/// A name, a type and a class.
const LONGEST_QUESTION: usize = MAX_NAME_LEN + QUESTION_FIXED_LEN;

/// Queries that are remembered, of some 60 octets each.
const MAX_OPEN: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_telling_is_held_against_one_of_the_other_way() {
        let mut repeats = Repeats::default();
        let mut told = |source, at_s: u64| repeats.is_repeated(7, source, Some(at_s * 1_000_000_000));
        assert!(!told(Source::OwnMessage, 1) && !told(Source::OwnMessage, 2), "sent again");
        assert!(told(Source::Response, 1) && told(Source::Response, 2));
        assert!(!told(Source::Response, 3), "the response may be written before the query");
        assert!(told(Source::OwnMessage, 3));
        assert!(!told(Source::OwnMessage, 4));
        assert!(!told(Source::Response, 400), "another query of the same ID");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut repeats = Repeats::default();
        for query in 0..MAX_OPEN as u64 + 9 {
            assert!(!repeats.is_repeated(query, Source::OwnMessage, None));
        }
        assert_eq!((repeats.open.len(), repeats.order.len()), (MAX_OPEN, MAX_OPEN));
        assert!(!repeats.is_repeated(1, Source::Response, None), "the oldest are forgotten");
        assert!(repeats.is_repeated(1_000, Source::Response, None));
    }
}

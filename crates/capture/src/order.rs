//! Messages in the order of their instants. Captures of several queues, interfaces or threads of a server are not: each
//! writes what it has when its own memory is full.
//!
//! ```text
//!   as captured ─► held: later than all before │ earlier than one before ─► the earliest, when nothing before it
//!                                                                             can come any more, or too much is held
//! ```
//!
//! A message that is earlier than all of that, because a clock was set back or a writer was slower, begins again: what
//! is held is given before it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;

use crate::message::Protocol;

/// The messages that are held until nothing earlier can come.
#[derive(Default)]
pub(crate) struct Order {
    /// Those that were later than all before them.
    ascending: VecDeque<Position>,
    /// Those that were not.
    late: BinaryHeap<Reverse<Position>>,
    /// A message that is earlier than everything that can be put in order, while something is held.
    apart: Option<Position>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The slot that was given last: its octets are in use until the next one is given.
    given: Option<u32>,
    held_bytes: usize,
    /// Messages so far.
    number: u64,
    /// The latest instant among those held or given, since the order began or began again.
    latest_unix_ns: u64,
    /// The instant of the message that was captured last.
    last_unix_ns: Option<u64>,
}

/// A place in the order: the instant, then the place in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    at_unix_ns: u64,
    number: u64,
    slot: u32,
}

/// A message that is held. Its memory is used again.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) at_unix_ns: u64,
    pub(crate) protocol: Protocol,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

impl Order {
    /// Takes the next message of the capture. Without an instant it has that of the message before it; the first ones
    /// have that of the first that has one.
    ///
    /// Returns whether it is earlier than one before it, and is put in order.
    pub(crate) fn push(
        &mut self,
        at_unix_ns: Option<u64>,
        protocol: Protocol,
        (source, destination): (SocketAddr, SocketAddr),
        bytes: &[u8],
    ) -> bool {
        if let (None, Some(first_unix_ns)) = (self.last_unix_ns, at_unix_ns) {
            self.date(first_unix_ns);
        }
        self.last_unix_ns = at_unix_ns.or(self.last_unix_ns);
        let at_unix_ns = self.last_unix_ns.unwrap_or(0);
        let slot = self.slot();
        let Some(held) = self.slots.get_mut(slot as usize) else { return false };
        held.bytes.clear();
        held.bytes.extend_from_slice(bytes);
        (held.at_unix_ns, held.protocol, held.source, held.destination) =
            (at_unix_ns, protocol, source, destination);
        self.held_bytes += bytes.len() + HELD_BYTES;
        self.number += 1;
        let position = Position { at_unix_ns, number: self.number, slot };
        match self.latest_unix_ns.saturating_sub(at_unix_ns) > ORDERED_WITHIN_NS {
            true if self.len() == 0 => self.begin_again(position),
            true => self.apart = Some(position),
            false => return self.insert(position),
        }
        false
    }

    /// Whether there is a message that no other can come before. At the end none comes.
    pub(crate) fn is_next_complete(&self, is_at_end: bool) -> bool {
        self.apart.is_some()
            || self.len() > MAX_HELD
            || self.held_bytes > MAX_HELD_BYTES
            || self.first().is_some_and(|first| {
                is_at_end || self.latest_unix_ns.saturating_sub(first.at_unix_ns) >= ORDERED_WITHIN_NS
            })
    }

    /// The next message in order; `None` while one before it may still come.
    pub(crate) fn next(&mut self, is_at_end: bool) -> Option<&Slot> {
        if let Some(given) = self.given.take() {
            self.give_back(given);
        }
        if !self.is_next_complete(is_at_end) {
            return None;
        }
        let first = self.first()?;
        if self.ascending.front() == Some(&first) {
            self.ascending.pop_front();
        } else {
            self.late.pop();
        }
        if self.len() == 0
            && let Some(apart) = self.apart.take()
        {
            self.begin_again(apart);
        }
        self.given = Some(first.slot);
        self.slots.get(first.slot as usize)
    }

    fn first(&self) -> Option<Position> {
        let first_late = self.late.peek().map(|Reverse(position)| *position);
        self.ascending.front().copied().into_iter().chain(first_late).min()
    }

    fn begin_again(&mut self, first: Position) {
        self.latest_unix_ns = first.at_unix_ns;
        self.insert(first);
    }

    fn insert(&mut self, position: Position) -> bool {
        let is_late = self.ascending.back().is_some_and(|last| *last > position);
        if is_late {
            self.late.push(Reverse(position));
        } else {
            self.ascending.push_back(position);
        }
        self.latest_unix_ns = self.latest_unix_ns.max(position.at_unix_ns);
        is_late
    }

    /// Gives the messages before the first instant that instant: all that are held.
    fn date(&mut self, at_unix_ns: u64) {
        for position in &mut self.ascending {
            position.at_unix_ns = at_unix_ns;
            if let Some(held) = self.slots.get_mut(position.slot as usize) {
                held.at_unix_ns = at_unix_ns;
            }
        }
    }

    fn slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let unspecified = SocketAddr::from(([0, 0, 0, 0], 0));
            self.slots.push(Slot {
                at_unix_ns: 0,
                protocol: Protocol::Udp,
                source: unspecified,
                destination: unspecified,
                bytes: Vec::new(),
            });
            (self.slots.len() - 1) as u32
        })
    }

    fn give_back(&mut self, slot: u32) {
        let Some(held) = self.slots.get_mut(slot as usize) else { return };
        self.held_bytes = self.held_bytes.saturating_sub(held.bytes.len() + HELD_BYTES);
        if held.bytes.capacity() > MOST_KEPT_BYTES {
            held.bytes = Vec::new();
        }
        self.free.push(slot);
    }

    fn len(&self) -> usize {
        self.ascending.len() + self.late.len()
    }
}

/// Messages that are farther apart than this are not put in order: longer than the memory of any queue of a network
/// card, and than the second after which a thread of a server writes its dnstap messages.
pub const ORDERED_WITHIN_NS: u64 = 5_000_000_000;

/// Messages that are held at most: more than a second of 100,000 a second.
const MAX_HELD: usize = 1 << 17;

/// What they take at most. A message beyond it may be one of 64 kB.
const MAX_HELD_BYTES: usize = 64 << 20;

/// What a message takes beside its octets.
const HELD_BYTES: usize = size_of::<Slot>() + size_of::<Position>();

/// Longer memory is given back, so that slots which once held long messages do not keep it all.
const MOST_KEPT_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The instants in the order given, and how many were put in order.
    fn ordered(instants: &[Option<u64>]) -> (Vec<(u64, u8)>, usize) {
        let (mut order, mut given, mut late) = (Order::default(), Vec::new(), 0);
        let ends = (([0; 4], 1).into(), ([0; 4], 2).into());
        for (number, at_unix_ns) in instants.iter().enumerate() {
            late += usize::from(order.push(*at_unix_ns, Protocol::Udp, ends, &[number as u8]));
            while let Some(held) = order.next(false) {
                given.push((held.at_unix_ns, held.bytes[0]));
            }
        }
        while let Some(held) = order.next(true) {
            given.push((held.at_unix_ns, held.bytes[0]));
        }
        assert!(order.held_bytes == 0 && order.free.len() == order.slots.len());
        (given, late)
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_is_within_the_window_is_put_in_order_and_equal_instants_stay_as_they_were() {
        let (given, late) = ordered(&[5, 3, 4, 3, 1].map(|s| Some(s * S)));
        assert_eq!(given, [(S, 4), (3 * S, 1), (3 * S, 3), (4 * S, 2), (5 * S, 0)]);
        assert_eq!(late, 4);
    }

    #[test]
    fn a_clock_that_was_set_back_begins_again_and_loses_nothing() {
        assert_eq!(ordered(&[Some(100 * S), Some(50 * S), Some(1)]).0.len(), 3);
        let (given, late) = ordered(&[100, 101, 10, 9, 11, 200, 12].map(|s| Some(s * S)));
        let instants: Vec<_> = given.iter().map(|(at, _)| at / S).collect();
        assert_eq!((instants, late), (vec![100, 101, 9, 10, 11, 200, 12], 1));
    }

    #[test]
    fn messages_without_an_instant_have_that_of_the_one_before_and_the_first_that_of_the_next() {
        let (given, _) = ordered(&[None, None, Some(7 * S), None, Some(9 * S)]);
        assert_eq!(given, [(7 * S, 0), (7 * S, 1), (7 * S, 2), (7 * S, 3), (9 * S, 4)]);
        assert_eq!(ordered(&[None, None]).0, [(0, 0), (0, 1)]);
    }

    #[test]
    fn what_is_held_is_bounded_by_number_and_octets() {
        let ends = (([0; 4], 1).into(), ([0; 4], 2).into());
        for (length, most) in [(1, MAX_HELD), (60_000, MAX_HELD_BYTES / 60_000)] {
            let (mut order, message) = (Order::default(), vec![0; length]);
            for n in 0..most as u64 + 50 {
                // Each earlier than the one before: the worst order.
                order.push(Some(S - n), Protocol::Udp, ends, &message);
                while order.next(false).is_some() {}
                assert!(order.len() <= most);
            }
        }
    }

    proptest! {
        #[test]
        fn each_message_is_given_once_and_in_order_where_all_are_within_the_window(
            instants in prop::collection::vec(prop::option::weighted(0.9, 0u64..6), 0..50)
        ) {
            let instants: Vec<_> = instants.iter().map(|at| at.map(|at| at * S)).collect();
            let (given, _) = ordered(&instants);
            let mut numbers: Vec<_> = given.iter().map(|(_, number)| usize::from(*number)).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..instants.len()).collect::<Vec<_>>());
            if instants.iter().flatten().all(|at| *at <= ORDERED_WITHIN_NS) {
                prop_assert!(given.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            }
        }
    }
}

//! Pauses of clients whose connections fail again and again, so that a server that is down is not stormed.
//!
//! ```text
//!   connection fails ──► fails again ──► pause ──► fails again ──► longer pause ──► answered: as new
//! ```
//!
//! The first failure has no pause: it may be an idle connection that the server closed. From the second on a client
//! pauses for a quarter of the time that it has failed for. A recovery is so noticed within a quarter of the outage,
//! and of the attempts there are about thirty in the first four seconds, then one a second. An answer to a client that
//! had failed ends the pauses of all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::groups::Groups;

/// The failures in a row of each client, and the pauses.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    clients: Vec<Client>,
    /// The end of each pause, with its client; the earliest is on top.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    /// By group of channels: its first channel, and how many of its clients pause.
    groups: Vec<(usize, usize)>,
    longest_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct Client {
    /// How many of its connections in a row failed: were not established, or ended without a response.
    failures: u32,
    is_paused: bool,
    /// When the first of them failed.
    failing_since_ns: u64,
    /// When its last connection was begun.
    begun_ns: u64,
}

impl Pauses {
    /// For `clients` clients in these groups, whose queries have this timeout.
    pub(crate) fn new(clients: usize, groups: &Groups, timeout_ns: u64) -> Self {
        Pauses {
            clients: vec![Client::default(); clients],
            ends: BinaryHeap::with_capacity(clients),
            groups: groups.all.iter().map(|queue| (queue.first_channel, 0)).collect(),
            longest_ns: LONGEST_NS.min(timeout_ns / 2).max(SHORTEST_NS),
        }
    }

    /// Records that a connection of this client was begun.
    pub(crate) fn note_begun(&mut self, channel: usize, now_ns: u64) {
        if let Some(client) = self.clients.get_mut(channel) {
            client.begun_ns = now_ns;
        }
    }

    /// Records a failure of this client's connection. Returns how many there were in a row, and for how long it pauses
    /// from now on.
    pub(crate) fn note_failure(&mut self, channel: usize, now_ns: u64) -> (u32, Option<u64>) {
        let longest_ns = self.longest_ns;
        let Some(client) = self.clients.get_mut(channel) else { return (1, None) };
        client.failures = client.failures.saturating_add(1);
        if client.failures == 1 {
            client.failing_since_ns = now_ns;
            return (1, None);
        }
        let failures = client.failures;
        if client.is_paused {
            return (failures, None);
        }
        let failing_ns = now_ns.saturating_sub(client.failing_since_ns);
        let pause_ns = (failing_ns / PART_OF_FAILING).clamp(SHORTEST_NS, longest_ns);
        // An attempt that took as long is no storm: one that timed out, or a connection that was silent.
        let pause_ns = pause_ns.saturating_sub(now_ns.saturating_sub(client.begun_ns));
        if pause_ns == 0 {
            return (failures, None);
        }
        client.is_paused = true;
        self.ends.push(Reverse((now_ns + pause_ns, channel as u32)));
        self.group_of(channel).1 += 1;
        (failures, Some(pause_ns))
    }

    /// Records that a connection of this client has carried responses.
    pub(crate) fn note_success(&mut self, channel: usize) {
        if let Some(client) = self.clients.get_mut(channel) {
            client.failures = 0;
        }
    }

    /// Records a response to this client, while any client pauses: if it had failed, all pauses end now.
    #[cold]
    pub(crate) fn note_response(&mut self, channel: usize, now_ns: u64) {
        let Some(client) = self.clients.get_mut(channel) else { return };
        if client.failures > 0 {
            client.failures = 0;
            self.ends.clear();
            let paused = self.clients.iter().enumerate().filter(|(_, client)| client.is_paused);
            self.ends.extend(paused.map(|(channel, _)| Reverse((now_ns, channel as u32))));
        }
    }

    /// Whether any client pauses.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Whether this client pauses.
    #[inline]
    pub(crate) fn is_paused(&self, channel: usize) -> bool {
        self.is_any() && self.clients.get(channel).is_some_and(|client| client.is_paused)
    }

    /// How many clients of this group pause.
    pub(crate) fn paused_in(&self, group: usize) -> usize {
        self.groups.get(group).map_or(0, |(_, paused)| *paused)
    }

    /// When the next pause ends.
    pub(crate) fn next_end_ns(&self) -> Option<u64> {
        self.ends.peek().map(|Reverse((end_ns, _))| *end_ns)
    }

    /// Ends the next pause that is over; returns its client.
    pub(crate) fn end_next(&mut self, now_ns: u64) -> Option<usize> {
        let channel = self.ends.peek().filter(|Reverse((end_ns, _))| *end_ns <= now_ns)?.0.1 as usize;
        self.ends.pop();
        self.clients[channel].is_paused = false;
        self.group_of(channel).1 -= 1;
        Some(channel)
    }

    fn group_of(&mut self, channel: usize) -> &mut (usize, usize) {
        let number = self.groups.partition_point(|(first, _)| *first <= channel);
        &mut self.groups[number.saturating_sub(1)]
    }
}

/// A pause takes this part of the time that the client has failed for.
const PART_OF_FAILING: u64 = 4;

/// The bounds of a pause. The longest is also bounded by half the timeout of queries: each can be tried.
const SHORTEST_NS: u64 = 1_000_000;
const LONGEST_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use dnsdyno_transport::Group;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn pauses(clients: &[usize]) -> Pauses {
        let group = |channels: &usize| Group {
            channels: *channels,
            connects: true,
            most_outstanding: None,
            at_once: 64,
            member: 0,
            is_fallback: false,
        };
        let groups = Groups::new(&clients.iter().map(group).collect::<Vec<_>>());
        Pauses::new(clients.iter().sum(), &groups, 5 * SECOND)
    }

    /// Lets a client fail, at once after each pause, until `end_ns`; returns the number of attempts.
    fn attempts_until(pauses: &mut Pauses, channel: usize, end_ns: u64) -> u32 {
        let (mut now_ns, mut attempts) = (0, 0);
        while now_ns < end_ns {
            attempts += 1;
            pauses.note_begun(channel, now_ns);
            let (_, pause_ns) = pauses.note_failure(channel, now_ns);
            now_ns += pause_ns.unwrap_or(0);
            assert_eq!(pauses.end_next(now_ns), pause_ns.map(|_| channel));
        }
        attempts
    }

    /// A connection that fails as soon as it is begun.
    fn fail(pauses: &mut Pauses, channel: usize, now_ns: u64) -> (u32, Option<u64>) {
        pauses.note_begun(channel, now_ns);
        pauses.note_failure(channel, now_ns)
    }

    #[test]
    fn a_client_that_fails_is_tried_at_once_and_then_ever_more_seldom() {
        let mut pauses = pauses(&[2]);
        assert_eq!(fail(&mut pauses, 1, 7), (1, None));
        assert_eq!(fail(&mut pauses, 1, 7), (2, Some(1_000_000)));
        assert!(pauses.is_paused(1) && !pauses.is_paused(0));
        assert_eq!((pauses.end_next(1_000_006), pauses.end_next(1_000_007)), (None, Some(1)));
        assert_eq!(fail(&mut pauses, 1, 2 * SECOND + 7), (3, Some(SECOND / 2)));
        assert_eq!(pauses.end_next(3 * SECOND), Some(1));
        assert_eq!(fail(&mut pauses, 1, 60 * SECOND), (4, Some(SECOND)));
    }

    #[test]
    fn an_attempt_that_took_as_long_as_a_pause_is_followed_by_none() {
        let mut pauses = pauses(&[1]);
        for attempt in 0..5 {
            pauses.note_begun(0, attempt * 5 * SECOND);
            assert_eq!(pauses.note_failure(0, (attempt + 1) * 5 * SECOND).1, None);
        }
        pauses.note_begun(0, 25 * SECOND);
        assert_eq!(pauses.note_failure(0, 25 * SECOND + 300_000_000).1, Some(700_000_000));
    }

    #[test]
    fn an_outage_of_ten_seconds_costs_some_forty_attempts() {
        let attempts = attempts_until(&mut pauses(&[1]), 0, 10 * SECOND);
        assert!((30..50).contains(&attempts), "{attempts}");
    }

    #[test]
    fn a_response_to_a_client_that_had_failed_ends_all_pauses_and_one_to_another_ends_none() {
        let mut pauses = pauses(&[4]);
        for channel in 0..3 {
            fail(&mut pauses, channel, 0);
            fail(&mut pauses, channel, 0);
        }
        assert_eq!(pauses.end_next(SECOND), Some(0));
        pauses.note_response(3, SECOND);
        assert!(pauses.is_paused(1) && pauses.is_paused(2));
        pauses.note_response(0, SECOND);
        assert_eq!([(); 3].map(|()| pauses.end_next(SECOND)), [Some(1), Some(2), None]);
        assert!(!pauses.is_any());
        assert_eq!(pauses.note_failure(0, SECOND).0, 1);
        assert_eq!(pauses.note_failure(1, SECOND).0, 3, "its own failures are not forgotten");
    }

    #[test]
    fn paused_clients_are_counted_by_group() {
        let mut pauses = pauses(&[3, 2]);
        for channel in [0, 4, 3] {
            fail(&mut pauses, channel, 0);
            fail(&mut pauses, channel, 0);
        }
        assert_eq!((pauses.paused_in(0), pauses.paused_in(1)), (1, 2));
        while pauses.end_next(SECOND).is_some() {}
        assert_eq!((pauses.paused_in(0), pauses.paused_in(1), pauses.next_end_ns()), (0, 0, None));
    }

    #[test]
    fn success_makes_a_client_as_new() {
        let mut pauses = pauses(&[1]);
        pauses.note_failure(0, 0);
        pauses.note_success(0);
        assert_eq!(pauses.note_failure(0, SECOND), (1, None));
    }
}

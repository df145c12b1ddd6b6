//! The connections of a worker's clients, and the queries to retry because their connection was lost.
//!
//! ```text
//!   connection lost ──► its unanswered queries ─┬─ retried on the next (RFC 7766, 6.2.4)
//!                                               └─ refused, if connections end without a response
//! ```

use std::collections::{HashMap, VecDeque};

use crate::pauses::Pauses;

/// The connections of a worker's clients.
#[derive(Default)]
pub(crate) struct Connections {
    /// The number of established connections.
    pub(crate) open: u64,
    pub(crate) retries: Retries,
    pub(crate) pauses: Pauses,
    /// The slots of queries that were asked again after they had left, each with the instant of its first sending.
    pub(crate) asked_again: HashMap<u32, u64>,
    /// Whether no query has left over the connection whose end is reported next.
    pub(crate) nothing_sent: bool,
    /// By client: whether it has a connection.
    is_connected: Vec<bool>,
}

impl Connections {
    /// For this many clients.
    pub(crate) fn new(clients: usize, pauses: Pauses) -> Self {
        Connections {
            open: 0,
            retries: Retries::new(clients),
            pauses,
            asked_again: HashMap::new(),
            nothing_sent: false,
            is_connected: vec![false; clients],
        }
    }

    /// Whether the transport has clients.
    pub(crate) fn is_used(&self) -> bool {
        !self.is_connected.is_empty()
    }

    /// Whether this client has a connection.
    pub(crate) fn is_connected(&self, channel: usize) -> bool {
        self.is_connected.get(channel).is_some_and(|is_connected| *is_connected)
    }

    /// Records that the connection of a client was established.
    pub(crate) fn note_established(&mut self, channel: usize) {
        self.open += 1;
        self.is_connected[channel] = true;
    }

    /// Records that the connection of a client has ended.
    pub(crate) fn note_ended(&mut self, channel: usize) {
        self.open -= 1;
        self.is_connected[channel] = false;
    }

    /// Keeps the queries of a client whose connection was lost; they are retried when it does not pause.
    pub(crate) fn retry_later(&mut self, channel: usize, lost: Vec<Retry>) {
        if self.pauses.is_paused(channel) {
            self.retries.of_client[channel] = lost;
        } else {
            self.retries.put_back(channel, lost);
        }
    }

    /// Ends the pauses that are over.
    #[cold]
    pub(crate) fn end_pauses(&mut self, now_ns: u64) {
        while let Some(channel) = self.pauses.end_next(now_ns) {
            let kept = self.retries.take(channel);
            self.retries.put_back(channel, kept);
        }
    }
}

/// Whether queries are retried after so many connections of their client in a row have ended without a response.
pub(crate) fn may_retry(failures: u32) -> bool {
    failures < MOST_WITHOUT_RESPONSE
}

/// Queries to retry, by client: the loss of a connection costs time only for its own client.
#[derive(Default)]
pub(crate) struct Retries {
    of_client: Vec<Vec<Retry>>,
    /// Clients with queries to retry, each once, in the order in which they got the first.
    clients: VecDeque<u32>,
    is_listed: Vec<bool>,
    /// Whether a server has refused streams since this was last read.
    pub(crate) refuses_streams: bool,
    /// No query is retried before this instant.
    pub(crate) paused_until_ns: u64,
}

/// A query whose connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) id: u16,
    /// Distinguishes it from a later query with the same ID.
    pub(crate) sent_ns: u64,
    /// Whether its last request has left, or may have: where not, that which is sent next is the same.
    pub(crate) has_left: bool,
}

impl Retries {
    fn new(clients: usize) -> Self {
        Retries {
            of_client: vec![Vec::new(); clients],
            is_listed: vec![false; clients],
            ..Retries::default()
        }
    }

    /// Whether there are no queries to retry.
    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// The number of clients with queries to retry.
    pub(crate) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Adds a query of a client.
    pub(crate) fn push(&mut self, channel: usize, retry: Retry) {
        self.of_client[channel].push(retry);
        if !std::mem::replace(&mut self.is_listed[channel], true) {
            self.clients.push_back(channel as u32);
        }
    }

    /// Takes the next client and its queries; the remaining ones must be [put back](Self::put_back).
    pub(crate) fn take_next(&mut self) -> Option<(usize, Vec<Retry>)> {
        let channel = self.clients.pop_front()? as usize;
        self.is_listed[channel] = false;
        Some((channel, self.take(channel)))
    }

    /// Takes the queries of a client.
    pub(crate) fn take(&mut self, channel: usize) -> Vec<Retry> {
        std::mem::take(&mut self.of_client[channel])
    }

    /// The query of a client with this ID that was sent at this instant, if it waits to be retried.
    pub(crate) fn find(&self, channel: usize, id: u16, sent_ns: u64) -> Option<Retry> {
        let own = self.of_client.get(channel)?.as_slice();
        let is_it = |other: &&Retry| other.id == id && other.sent_ns == sent_ns;
        // They are mostly in the order of their sending.
        let from = own.partition_point(|other| other.sent_ns < sent_ns);
        let near = own.iter().skip(from).take_while(|other| other.sent_ns == sent_ns).find(is_it);
        near.or_else(|| own.iter().find(is_it)).copied()
    }

    /// Replaces the queries of a client with the remaining ones.
    pub(crate) fn put_back(&mut self, channel: usize, remaining: Vec<Retry>) {
        let is_empty = remaining.is_empty();
        self.of_client[channel] = remaining;
        if !is_empty && !std::mem::replace(&mut self.is_listed[channel], true) {
            self.clients.push_back(channel as u32);
        }
    }
}

/// When this many connections of a client in a row have ended without a response, its queries count as refused. One
/// alone may be an idle connection that the server closed.
const MOST_WITHOUT_RESPONSE: u32 = 3;

#[cfg(test)]
mod tests {
    use dnsdyno_transport::Group;

    use super::*;
    use crate::groups::Groups;

    fn of(id: u16, sent_ns: u64) -> Retry {
        Retry { id, sent_ns, has_left: true }
    }

    #[test]
    fn the_queries_of_a_client_that_pauses_are_retried_after_its_pause() {
        let group = Group {
            channels: 2,
            connects: true,
            most_outstanding: None,
            at_once: 64,
            member: 0,
            is_fallback: false,
        };
        let pauses = Pauses::new(2, &Groups::new(&[group]), 5_000_000_000);
        let mut connections = Connections::new(2, pauses);
        let lost = vec![Retry { id: 7, sent_ns: 1, has_left: true }];
        for failures in 1..=2 {
            assert_eq!(connections.pauses.note_failure(0, 10).0, failures);
            connections.retry_later(0, lost.clone());
            assert_eq!(connections.retries.is_empty(), failures == 2);
            if failures == 1 {
                assert_eq!(connections.retries.take_next(), Some((0, lost.clone())));
            }
        }
        let end_ns = connections.pauses.next_end_ns().unwrap();
        connections.end_pauses(end_ns - 1);
        assert!(connections.retries.is_empty());
        connections.end_pauses(end_ns);
        assert_eq!(connections.retries.take_next(), Some((0, lost)));
    }

    #[test]
    fn a_client_that_loses_several_connections_is_listed_once_and_costs_other_clients_nothing() {
        let (clients, losses) = (1_000, 100);
        let mut retries = Retries::new(clients);
        let mut moved = 0;
        for sent_ns in 0..losses {
            for channel in 0..clients {
                let mut own = retries.take(channel);
                moved += own.len() + 2;
                own.clear();
                own.extend([of(1, sent_ns), of(2, sent_ns)]);
                retries.put_back(channel, own);
            }
        }
        // Linear: each loss moves the queries that the client had and those that it has now.
        assert_eq!(moved, (losses as usize * 2 - 1) * clients * 2);
        assert_eq!(retries.clients(), clients);
        for expected in 0..clients {
            let (channel, own) = retries.take_next().unwrap();
            assert_eq!(
                (channel, own.iter().map(|retry| retry.sent_ns).collect::<Vec<_>>()),
                (expected, vec![99, 99])
            );
        }
        assert!(retries.is_empty());
    }

    #[test]
    fn queries_that_a_client_could_not_send_wait_behind_the_other_clients() {
        let mut retries = Retries::new(2);
        for (channel, id) in [(0, 7), (1, 8), (0, 9)] {
            retries.push(channel, of(id, 0));
        }
        let (channel, own) = retries.take_next().unwrap();
        assert_eq!((channel, own.len(), retries.clients()), (0, 2, 1));
        retries.put_back(channel, own[1..].to_vec());
        assert_eq!(retries.take_next().map(|(channel, _)| channel), Some(1));
        assert_eq!(retries.take_next(), Some((0, vec![of(9, 0)])));
        assert_eq!(retries.take_next(), None);
    }

    #[test]
    fn a_query_that_waits_to_be_retried_is_found_in_any_order() {
        let mut retries = Retries::new(2);
        for (id, sent_ns) in [(3, 10), (4, 10), (5, 30), (6, 20)] {
            retries.push(1, of(id, sent_ns));
        }
        for (id, sent_ns, is_there) in
            [(3, 10, true), (4, 10, true), (6, 20, true), (5, 30, true), (5, 10, false)]
        {
            assert_eq!(retries.find(1, id, sent_ns), is_there.then(|| of(id, sent_ns)));
            assert_eq!(retries.find(0, id, sent_ns), None);
        }
    }
}

//! The connections of a worker's clients: which there are, and the queries to be retried because theirs was lost.
//!
//! ```text
//!   connection lost ──► its unanswered queries ─┬─ retried on the next (RFC 7766, 6.2.4)
//!                                               └─ refused, where connections bring no response
//! ```

use std::collections::VecDeque;

use dnsdyno_measure::ConnectionEnd;

/// The connections of a worker's clients.
#[derive(Default)]
pub(crate) struct Connections {
    /// How many are established now.
    pub(crate) open: u64,
    /// Whether one was refused of late, while there was none, or a client failed to shake hands again and again.
    pub(crate) is_turned_away: bool,
    pub(crate) retries: Retries,
    clients: Vec<Client>,
}

#[derive(Clone, Default)]
struct Client {
    is_connected: bool,
    /// How many of its connections ended in a row without one response.
    fruitless: u8,
}

impl Connections {
    /// Of `clients` clients.
    pub(crate) fn new(clients: usize) -> Self {
        Connections {
            clients: vec![Client::default(); clients],
            retries: Retries::new(clients),
            ..Connections::default()
        }
    }

    /// Whether there are clients at all.
    pub(crate) fn is_used(&self) -> bool {
        !self.clients.is_empty()
    }

    /// Whether this client has a connection.
    pub(crate) fn is_connected(&self, channel: usize) -> bool {
        self.clients.get(channel).is_some_and(|client| client.is_connected)
    }

    /// Notes that the connection of a client was established.
    pub(crate) fn note_established(&mut self, channel: usize) {
        self.open += 1;
        self.clients[channel].is_connected = true;
    }

    /// Notes that the connection of a client has ended.
    pub(crate) fn note_ended(&mut self, channel: usize) {
        self.open -= 1;
        self.clients[channel].is_connected = false;
    }

    /// Whether to retry what was outstanding: not for ever, where connections end without a response.
    pub(crate) fn may_retry(&mut self, channel: usize, end: ConnectionEnd, responses: u64) -> bool {
        let Some(Client { fruitless, .. }) = self.clients.get_mut(channel) else { return false };
        if responses > 0 || end == ConnectionEnd::ByUs {
            *fruitless = 0;
            return true;
        }
        *fruitless = (*fruitless + 1) % MOST_FRUITLESS;
        *fruitless != 0
    }
}

/// Queries to be retried, by client: losing a connection touches only those of its client.
#[derive(Default)]
pub(crate) struct Retries {
    of_client: Vec<Vec<Retry>>,
    /// Clients that have some, each once, in the order in which they got the first.
    clients: VecDeque<u32>,
    is_listed: Vec<bool>,
    /// Whether a server has refused streams since this was last looked at.
    pub(crate) refuses_streams: bool,
    /// Until then nothing is retried.
    pub(crate) paused_until_ns: u64,
}

/// A query that was sent on a connection which was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) id: u16,
    /// Distinguishes it from a later query with the same ID.
    pub(crate) sent_ns: u64,
}

impl Retries {
    fn new(clients: usize) -> Self {
        Retries {
            of_client: vec![Vec::new(); clients],
            is_listed: vec![false; clients],
            ..Retries::default()
        }
    }

    /// Whether no query is to be retried.
    pub(crate) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// Clients with queries to be retried.
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

    /// Takes the next client, and its queries: they are to be given [back](Self::put_back).
    pub(crate) fn take_next(&mut self) -> Option<(usize, Vec<Retry>)> {
        let channel = self.clients.pop_front()? as usize;
        self.is_listed[channel] = false;
        Some((channel, self.take(channel)))
    }

    /// Takes the queries of a client.
    pub(crate) fn take(&mut self, channel: usize) -> Vec<Retry> {
        std::mem::take(&mut self.of_client[channel])
    }

    /// Puts those that remain of a client's queries in the place of those it had.
    pub(crate) fn put_back(&mut self, channel: usize, remaining: Vec<Retry>) {
        let is_empty = remaining.is_empty();
        self.of_client[channel] = remaining;
        if !is_empty && !std::mem::replace(&mut self.is_listed[channel], true) {
            self.clients.push_back(channel as u32);
        }
    }
}

/// Connections of one client that may end one after the other without a response, before what was sent on them
/// counts as refused: a server that closes an idle connection does so once.
const MOST_FRUITLESS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_given_up_after_three_fruitless_connections_in_a_row() {
        let mut connections = Connections::new(2);
        let mut ended = |end, responses| connections.may_retry(1, end, responses);
        let by_server = ConnectionEnd::ByServer;
        assert_eq!([(); 3].map(|()| ended(by_server, 0)), [true, true, false]);
        assert_eq!([(); 2].map(|()| ended(by_server, 0)), [true, true]);
        assert!(ended(by_server, 1));
        assert_eq!([(); 3].map(|()| ended(by_server, 0)), [true, true, false]);
    }

    #[test]
    fn a_client_that_loses_its_connection_again_and_again_is_listed_once_and_touches_no_other() {
        let (clients, losses) = (1_000, 100);
        let mut retries = Retries::new(clients);
        let mut moved = 0;
        for sent_ns in 0..losses {
            for channel in 0..clients {
                let mut own = retries.take(channel);
                moved += own.len() + 2;
                own.clear();
                own.extend([Retry { id: 1, sent_ns }, Retry { id: 2, sent_ns }]);
                retries.put_back(channel, own);
            }
        }
        // Linear: at each loss those that the client had, and those it has now.
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
    fn what_a_client_could_not_send_waits_behind_the_other_clients() {
        let mut retries = Retries::new(2);
        for (channel, id) in [(0, 7), (1, 8), (0, 9)] {
            retries.push(channel, Retry { id, sent_ns: 0 });
        }
        let (channel, own) = retries.take_next().unwrap();
        assert_eq!((channel, own.len(), retries.clients()), (0, 2, 1));
        retries.put_back(channel, own[1..].to_vec());
        assert_eq!(retries.take_next().map(|(channel, _)| channel), Some(1));
        assert_eq!(retries.take_next(), Some((0, vec![Retry { id: 9, sent_ns: 0 }])));
        assert_eq!(retries.take_next(), None);
    }
}

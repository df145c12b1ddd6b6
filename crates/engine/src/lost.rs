//! What becomes of the queries of a connection that was lost: each is retried on the next connection of its client, or
//! ends as refused.

use std::collections::HashMap;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, FallbackFailure};

use crate::connections::{Retry, may_retry};
use crate::fallback::{failure_of_connect, failure_of_end};
use crate::inflight::SentQuery;
use crate::transactions::Transactions;

impl Transactions<'_> {
    /// The query to retry, if it is still outstanding.
    pub(crate) fn still_outstanding(&self, channel: usize, retry: Retry) -> Option<SentQuery> {
        self.table.live_at(channel, retry.id).filter(|sent_query| sent_query.sent_ns == retry.sent_ns)
    }

    /// Takes back the last request of a query, which has not left. What was added to its message stays counted.
    #[cold]
    pub(crate) fn note_unsent(&mut self, channel: usize, id: u16, sent_query: &SentQuery) {
        let bytes = self.queries.message(sent_query.question).len();
        let slot = self.table.slot_of(channel, id).unwrap_or(u32::MAX);
        let was_asked_again = self.connections.asked_again.get(&slot) == Some(&sent_query.sent_ns);
        self.ledger.request_unsent(sent_query, bytes, was_asked_again, self.fallback.tcp.contains(&channel));
    }

    /// Counts a query that was sent again, in a message of `bytes` octets. One that had not left is sent now.
    pub(crate) fn note_retried(
        &mut self,
        channel: usize,
        retry: Retry,
        sent_query: &SentQuery,
        bytes: usize,
    ) {
        if !retry.has_left {
            return;
        }
        if let Some(slot) = self.table.slot_of(channel, retry.id) {
            self.connections.asked_again.insert(slot, retry.sent_ns);
        }
        self.ledger.retried(sent_query, bytes);
        if self.fallback.tcp.contains(&channel) {
            let fallback = self.ledger.fallback(sent_query.intended_ns);
            fallback.tcp_requests += 1;
            fallback.tcp_retried += 1;
        }
    }

    /// Schedules the outstanding queries of a lost connection for a retry, or ends them as refused.
    fn settle_lost(&mut self, channel: usize, may_retry: bool, why: FallbackFailure) {
        if !self.connections.is_used() {
            return;
        }
        let has_left = !std::mem::take(&mut self.connections.nothing_sent);
        let mut lost = self.connections.retries.take(channel);
        // Those that wait to be retried were on an earlier connection.
        let waited: HashMap<(u16, u64), bool> =
            lost.drain(..).map(|retry| ((retry.id, retry.sent_ns), retry.has_left)).collect();
        self.table.each_since_last(channel, |id, SentQuery { sent_ns, .. }| {
            let has_left = waited.get(&(id, sent_ns)).copied().unwrap_or(has_left);
            lost.push(Retry { id, sent_ns, has_left });
        });
        if !may_retry {
            for retry in lost.drain(..) {
                if let Some(query) = self.table.live_at(channel, retry.id).filter(|_| !retry.has_left) {
                    self.note_unsent(channel, retry.id, &query);
                }
                self.refuse(channel, retry.id, why);
            }
        }
        self.connections.retry_later(channel, lost);
    }

    pub(crate) fn not_established(&mut self, channel: usize, at_ns: u64, why: ConnectFailure) {
        // Neither is the server's doing.
        if matches!(why, ConnectFailure::NoLocalPort | ConnectFailure::Abandoned) {
            return self.settle_lost(channel, false, failure_of_connect(why));
        }
        let failures = self.note_failure(channel, at_ns);
        let may_retry = match why {
            // The next attempt may succeed.
            ConnectFailure::TimedOut => true,
            // QUIC only: with other transports a failed handshake ends an established connection.
            ConnectFailure::Handshake => may_retry(failures),
            _ => false,
        };
        self.settle_lost(channel, may_retry, failure_of_connect(why));
    }

    /// An established connection has ended.
    pub(crate) fn note_ended(&mut self, channel: usize, at_ns: u64, end: ConnectionEnd, answers: u64) {
        self.connections.note_ended(channel);
        let may_retry = if answers > 0 || end == ConnectionEnd::ByUs {
            self.connections.pauses.note_success(channel);
            true
        } else {
            may_retry(self.note_failure(channel, at_ns))
        };
        self.settle_lost(channel, may_retry, failure_of_end(end));
    }

    /// Counts a failure of a client's connection and the pause that follows it. Returns how many there were in a row.
    fn note_failure(&mut self, channel: usize, at_ns: u64) -> u32 {
        let (failures, pause_ns) = self.connections.pauses.note_failure(channel, at_ns);
        if let Some(pause_ns) = pause_ns {
            let counts = self.ledger.arrivals().connections_mut();
            counts.pauses += 1;
            counts.paused_ns += pause_ns;
        }
        failures
    }
}

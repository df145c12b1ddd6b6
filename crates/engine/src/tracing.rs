//! What the events of a worker's queries mean for its trace.

use dnsdyno_transport::Batch;
use dnsdyno_wire::peek;

use crate::ends::At;
use crate::groups::Queue;
use crate::inflight::{Place, SentQuery};
use crate::pace::Due;
use crate::query_log::How;
use crate::trace::{NO_NUMBER, TracedQuery, TracedSend};
use crate::transactions::Transactions;

impl Transactions<'_> {
    /// Marks the first traced query in a batch that is about to be sent, so that the kernel stamps its departure. The
    /// batch has the first queries of this group.
    #[cold]
    pub(crate) fn mark_traced(&self, number: usize, batch: &mut Batch) {
        let Some(trace) = &self.trace else { return };
        let numbers = self.groups.all[number].waiting.iter().take(batch.len()).map(|query| query.due.number);
        let first = numbers.enumerate().find(|(_, number)| trace.takes(*number));
        if let Some((message, number)) = first {
            batch.mark(message, number);
        }
    }

    /// Messages of a batch were sent over a channel: the first queries of this group, which are still in its queue.
    #[cold]
    pub(crate) fn trace_sent(
        &mut self,
        number: usize,
        channel: usize,
        places: &[Place],
        batch: &Batch,
        sent_ns: u64,
    ) {
        let Some(trace) = &mut self.trace else { return };
        let Queue { group, waiting, .. } = &self.groups.all[number];
        for ((query, place), message) in waiting.iter().zip(places).zip(batch.iter()) {
            if !trace.takes(query.due.number) {
                continue;
            }
            let sent = TracedSend { at_ns: sent_ns, channel: channel as u32, id: place.id };
            if group.is_fallback {
                trace.sent_over_tcp(place.slot(), query.due.number, sent);
                continue;
            }
            let question = peek(message).map_or(&[][..], |peeked| peeked.question).to_vec();
            let traced = TracedQuery { sent: Some(sent), question, ..untaken(query.due, group.member, None) };
            match self.send_only {
                true => trace.sent_only(traced),
                false => trace.sent(place.slot(), traced),
            }
        }
    }

    /// A query was sent once more over a channel.
    #[inline]
    pub(crate) fn trace_retry(&mut self, channel: usize, id: u16, at_ns: u64) {
        if let (Some(trace), Some(slot)) = (&mut self.trace, self.table.slot_of(channel, id)) {
            trace.retried(slot, at_ns);
        }
    }

    /// The number of a query that falls back to TCP: where messages are not made anew and the query is not traced,
    /// nobody asks for it.
    pub(crate) fn number_of_fallback(&mut self, channel: usize, id: u16, truncated_ns: u64) -> u64 {
        let Some(slot) = self.table.slot_of(channel, id) else { return NO_NUMBER };
        let traced = self.trace.as_mut().and_then(|trace| trace.fell_back(slot, truncated_ns));
        traced
            .unwrap_or_else(|| if self.rewriter.is_empty() { NO_NUMBER } else { self.rewriter.number(slot) })
    }

    /// A query has ended, with this response, or without any.
    #[cold]
    pub(crate) fn trace_end(
        &mut self,
        query: &SentQuery,
        at: At,
        how: How,
        response: Option<(u64, u16, usize)>,
    ) {
        let Some(trace) = &mut self.trace else { return };
        match at {
            At::Channel(channel, id) => {
                if let Some(slot) = self.table.slot_of(channel, id) {
                    trace.ended_in(slot, how, response);
                }
            }
            At::Queue(number) => {
                let due = Due { number, intended_ns: query.intended_ns, is_new: true, free_ns: 0 };
                let question = || self.queries.question(query.question).to_vec();
                trace.ended_waiting(number, || TracedQuery {
                    question: question(),
                    ..untaken(due, query.member, Some(how))
                });
            }
        }
    }

    /// The user ended the run before this query was taken from its source.
    #[cold]
    pub(crate) fn trace_untaken(&mut self, due: Due, member: u8) {
        if let Some(trace) = &mut self.trace {
            trace.ended_waiting(due.number, || untaken(due, member, Some(How::Interrupted)));
        }
    }

    /// Hands over the traced queries that have ended since the last call.
    #[inline]
    pub(crate) fn hand_over_traced(&mut self, now_ns: impl FnOnce() -> u64) {
        if let Some(trace) = &mut self.trace {
            trace.hand_over(now_ns);
        }
    }
}

/// A query of which no more is known than when it is due.
fn untaken(due: Due, member: u8, how: Option<How>) -> TracedQuery {
    TracedQuery {
        number: due.number,
        how,
        response: None,
        question: Vec::new(),
        member,
        due_ns: due.intended_ns,
        sent: None,
        fallback: None,
        received_ns: None,
        connection: None,
        ended_ns: 0,
    }
}

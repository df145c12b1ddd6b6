//! Counts queries that were sent, and keeps them as outstanding.

use dnsdyno_measure::ShortDelay;
use dnsdyno_transport::Batch;

use crate::ends::{At, End};
use crate::fallback::Parts;
use crate::groups::Queue;
use crate::inflight::{Place, SentQuery};
use crate::job::UNMEASURED;
use crate::transactions::Transactions;

impl Transactions<'_> {
    /// Counts the messages of a batch that were sent over a channel of group `number`. They are the first ones in the
    /// queue of the group, and have these places in the table.
    #[inline]
    pub(crate) fn note_sent(&mut self, number: usize, places: &[Place], batch: &Batch, sent_ns: u64) {
        // Put back below: each query of it may end here.
        let mut waiting = std::mem::take(&mut self.groups.all[number].waiting);
        let Queue { group, held_before_ns, .. } = self.groups.all[number];
        let falls_back = self.fallback.group == number + 1;
        // The first query of a queue was due first.
        let own_delay = waiting.front().filter(|_| !group.is_fallback).map_or(ShortDelay::NONE, |first| {
            let late_ns = sent_ns.saturating_sub(Queue::free_ns(first, held_before_ns, sent_ns));
            let (due_ns, is_idle) = (first.due.intended_ns, self.table.live() == 0);
            self.ledger.sent_together(places.len(), due_ns, sent_ns, late_ns, is_idle)
        });
        for ((query, place), message) in waiting.iter().zip(places).zip(batch.iter()) {
            let question = query.question;
            if group.is_fallback {
                let sent_query = query.sent_query(group.member, query.sent_ns);
                let type_slot = self.queries.sent(place.slot(), question);
                if let Some(parts) = self.fallback.parts(place.slot()) {
                    *parts = Parts { truncated_ns: query.truncated_ns, handed_ns: sent_ns };
                }
                self.ledger.sent_over_tcp(&sent_query, message.len());
                self.table.insert_fallback(*place, SentQuery { type_slot, ..sent_query });
                continue;
            }
            let type_slot = match self.plain {
                Some(queries) => queries.type_slot(question as usize) as u8,
                None => self.queries.sent(place.slot(), question),
            };
            let sent_query = SentQuery { type_slot, own_delay, ..query.sent_query(group.member, sent_ns) };
            let free_ns = Queue::free_ns(query, held_before_ns, sent_ns);
            self.ledger.sent(&sent_query, free_ns, message.len());
            if self.send_only {
                self.end(&sent_query, At::Queue(query.due.number), End::SentOnly, None);
            } else if UNMEASURED {
                self.unpaired += 1;
            } else {
                self.table.insert(*place, sent_query);
            }
            if falls_back {
                self.ledger.fallback(sent_query.intended_ns).udp_requests += 1;
            }
        }
        waiting.drain(..places.len());
        self.groups.all[number].waiting = waiting;
    }
}

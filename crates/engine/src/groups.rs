//! The groups of a worker's channels, and the queue of queries of each group.
//!
//! A group has channels of one kind: the sockets of a UDP member of a mix, or the clients of a TCP member. A single
//! transport is a mix of one member with one group. A query for which its group has no capacity waits in the queue of
//! this group, and does not delay other groups: the shares of a mix are as scheduled even if a server stalls.

use std::collections::VecDeque;

use dnsdyno_measure::{NotSentReason, ShortDelay};
use dnsdyno_transport::{Batch, Group};

use crate::inflight::SentQuery;
use crate::pace::Due;

/// The groups of a worker, in the order of their channels.
pub(crate) struct Groups {
    pub(crate) all: Vec<Queue>,
    /// The group that first sends the queries of each member.
    group_of_member: Vec<usize>,
}

/// A group, and the queries that wait to be sent over it.
pub(crate) struct Queue {
    pub(crate) group: Group,
    pub(crate) first_channel: usize,
    /// In the order in which they are due; in the TCP part of a fallback, in the order of their first sending.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Why the first of them could not be sent at the last attempt.
    pub(crate) blocked_by: Option<NotSentReason>,
    /// A query that was due before this instant waited for room: for a connection, an ID or a local port. That is not
    /// our lateness.
    pub(crate) held_before_ns: u64,
    /// The next channel to use, in a group whose channels are not clients.
    next: usize,
}

/// A query that waits to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) due: Due,
    pub(crate) question: u32,
    /// In the TCP part of a fallback: when the query was first sent, and when its truncated response was received.
    pub(crate) sent_ns: u64,
    pub(crate) truncated_ns: u64,
    /// What late sends may have added to its response time so far.
    pub(crate) own_delay: ShortDelay,
}

impl Waiting {
    /// A query that has not been sent.
    #[inline]
    pub(crate) fn new(due: Due, question: u32) -> Waiting {
        Waiting { due, question, sent_ns: 0, truncated_ns: 0, own_delay: ShortDelay::NONE }
    }

    /// The query, as sent at this instant. Its type is not known here.
    pub(crate) fn sent_query(&self, member: u8, sent_ns: u64) -> SentQuery {
        let Waiting { due, question, own_delay, .. } = *self;
        SentQuery { intended_ns: due.intended_ns, sent_ns, question, member, type_slot: 0, own_delay }
    }
}

impl Queue {
    /// The next channel to use: all channels of the group in turn.
    pub(crate) fn next_channel(&mut self) -> usize {
        let channel = self.next;
        self.next = if channel + 1 == self.group.channels { 0 } else { channel + 1 };
        self.first_channel + channel
    }

    /// From when on a query that is sent now could be sent.
    #[inline]
    pub(crate) fn free_ns(query: &Waiting, held_before_ns: u64, sent_ns: u64) -> u64 {
        if query.due.free_ns < held_before_ns { sent_ns } else { query.due.free_ns }
    }

    /// The start of the timeout of a query in this queue.
    pub(crate) fn since_ns(&self, query: &Waiting) -> u64 {
        if self.group.is_fallback { query.sent_ns } else { query.due.intended_ns }
    }
}

impl Groups {
    pub(crate) fn new(groups: &[Group]) -> Self {
        let mut first_channel = 0;
        let mut all = Vec::with_capacity(groups.len());
        for group in groups {
            let waiting = VecDeque::with_capacity(group.at_once);
            let blocked_by = None;
            all.push(Queue { group: *group, first_channel, waiting, blocked_by, held_before_ns: 0, next: 0 });
            first_channel += group.channels;
        }
        let firsts = groups.iter().enumerate().filter(|(_, group)| !group.is_fallback);
        Groups { all, group_of_member: firsts.map(|(number, _)| number).collect() }
    }

    /// The number of members of the mix, at least one.
    pub(crate) fn members(&self) -> usize {
        self.group_of_member.len()
    }

    /// The number of the group in whose queue the queries of a member wait first.
    #[inline]
    pub(crate) fn of_member(&self, member: u8) -> usize {
        self.group_of_member[usize::from(member)]
    }

    /// The number of queries that wait to be sent.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.all.iter().map(|queue| queue.waiting.len() as u32).sum()
    }

    /// How many queries may be added to the queues. With one member, further queries stay in the schedule; with
    /// several, a member that waits must not block the others.
    pub(crate) fn capacity(&self) -> usize {
        match &self.group_of_member[..] {
            [only] => self.all[*only].group.at_once.saturating_sub(self.all[*only].waiting.len()),
            _ => Batch::USUAL,
        }
    }

    /// Whether the next due query could be sent without waiting for queued ones.
    pub(crate) fn takes_next(&self) -> bool {
        match &self.group_of_member[..] {
            [only] => self.all[*only].waiting.is_empty(),
            _ => true,
        }
    }
}

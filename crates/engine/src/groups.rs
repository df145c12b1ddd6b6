//! The groups of a worker's channels, and the queries that wait to be sent over each.
//!
//! A group is the channels of one kind: the sockets of a UDP member of a mix, the clients of a TCP member. A plain
//! transport is a mix of one member with one group. A query that finds no capacity in its group waits there, and
//! holds up only those behind it: the shares of a mix are those of the schedule, whatever a server does.

use std::collections::VecDeque;

use dnsdyno_measure::NotSentReason;
use dnsdyno_transport::Group;

use crate::inflight::SentQuery;
use crate::pace::Due;

/// Messages that are sent at once: what one system call moves well.
pub(crate) const BATCH: usize = 64;

/// The groups of a worker, in the order of their channels.
pub(crate) struct Groups {
    pub(crate) all: Vec<Queue>,
    /// The group in which the queries of each member are first sent.
    group_of_member: Vec<usize>,
}

/// A group, and the queries that wait for it.
pub(crate) struct Queue {
    pub(crate) group: Group,
    pub(crate) first_channel: usize,
    /// Those due first at the front; of the TCP part of a fallback, those first sent.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Why the first of them could not be sent the last time.
    pub(crate) held_up_by: Option<NotSentReason>,
    /// The channel that sends next, of a group whose channels do not connect.
    next: usize,
}

/// A query that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) due: Due,
    pub(crate) question: u32,
    /// Of the TCP part of a fallback: when the query was first sent, and when its truncated response was received.
    pub(crate) sent_ns: u64,
    pub(crate) truncated_ns: u64,
}

impl Waiting {
    pub(crate) fn departure(&self, member: u8, sent_ns: u64) -> SentQuery {
        SentQuery { intended_ns: self.due.intended_ns, sent_ns, question: self.question, member }
    }
}

impl Queue {
    /// The channel that is to send next, counted in the group, as each takes its turn.
    pub(crate) fn next_channel(&mut self) -> usize {
        let channel = self.next;
        self.next = if channel + 1 == self.group.channels { 0 } else { channel + 1 };
        self.first_channel + channel
    }

    /// From when on the timeout of a query that waits here is counted.
    pub(crate) fn since_ns(&self, query: &Waiting) -> u64 {
        if self.group.is_fallback { query.sent_ns } else { query.due.intended_ns }
    }
}

impl Groups {
    pub(crate) fn new(groups: &[Group]) -> Self {
        let mut first_channel = 0;
        let mut all = Vec::with_capacity(groups.len());
        for group in groups {
            let waiting = VecDeque::with_capacity(BATCH);
            all.push(Queue { group: *group, first_channel, waiting, held_up_by: None, next: 0 });
            first_channel += group.channels;
        }
        let firsts = groups.iter().enumerate().filter(|(_, group)| !group.is_fallback);
        Groups { all, group_of_member: firsts.map(|(number, _)| number).collect() }
    }

    /// Members of the mix, at least one.
    pub(crate) fn members(&self) -> usize {
        self.group_of_member.len()
    }

    /// Where the queries of a member are first sent.
    #[inline]
    pub(crate) fn of_member(&mut self, member: u8) -> &mut Queue {
        &mut self.all[self.group_of_member[usize::from(member)]]
    }

    /// Queries that wait to be sent.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.all.iter().map(|queue| queue.waiting.len() as u32).sum()
    }

    /// How many queries may join those that wait. Of one member, what has no capacity stays in the schedule; of
    /// several, a member that waits must not keep the others from theirs.
    pub(crate) fn capacity(&self) -> usize {
        match &self.group_of_member[..] {
            [only] => BATCH.saturating_sub(self.all[*only].waiting.len()),
            _ => BATCH,
        }
    }

    /// Whether a query that is due next could be sent before those that wait.
    pub(crate) fn takes_next(&self) -> bool {
        self.members() > 1 || self.capacity() == BATCH
    }
}

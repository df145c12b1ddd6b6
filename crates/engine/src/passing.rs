//! Clients that pause are passed over; where all pause, a query of an open loop ends as refused.

use dnsdyno_transport::Transport;

use crate::groups::Queue;
use crate::transactions::Transactions;

/// What became of the clients that pause.
pub(crate) enum Passed {
    /// The next client does not pause, or there is none.
    ToOther,
    /// All pause: the first query was ended.
    Refused,
    /// All that were looked at pause: the queries wait.
    All,
}

/// Passes clients that pause, so that the next client of a group does not; or ends the first query of its queue, if
/// there is no client for it that does not.
#[cold]
pub(crate) fn pass_paused<T: Transport>(
    transport: &mut T,
    transactions: &mut Transactions<'_>,
    number: usize,
    workers: u32,
    is_open: bool,
) -> Passed {
    let queue = &transactions.groups.all[number];
    let (channels, pauses) = (queue.group.channels, &transactions.connections.pauses);
    let source = queue.waiting.front().and_then(|query| transactions.client_of(query.question));
    let is_without_client = match source {
        Some(client) => pauses.is_paused(channel_of_source(queue, client, workers)),
        None => pauses.paused_in(number) >= channels,
    };
    if is_without_client {
        // A closed loop schedules the next query at once: without waiting, the number of refused queries would
        // only depend on the speed of this host.
        if !is_open {
            return Passed::All;
        }
        transactions.refuse_first(number);
        return Passed::Refused;
    }
    for _ in 0..PASSED_AT_ONCE.min(channels) {
        match transport.next_client_of(number) {
            Ok(next) if source.is_none() && pauses.is_paused(next.channel) => transport.pass(next.channel),
            _ => return Passed::ToOther,
        }
    }
    Passed::All
}

/// The channel of a client of the source in a group, of a run with so many workers.
pub(crate) fn channel_of_source(queue: &Queue, client: u32, workers: u32) -> usize {
    queue.first_channel + (client / workers) as usize % queue.group.channels
}

/// Clients that pause and are passed at once, at most; the next are passed a millisecond later.
const PASSED_AT_ONCE: usize = 1_024;
pub(crate) const PASSED_RETRY_NS: u64 = 1_000_000;

//! The fallback from UDP to TCP after truncated responses: the channels of both parts, and the data of a fallback that
//! the table of outstanding queries does not have.
//!
//! ```text
//!   due ──► UDP channel ──► truncated response ──► queue of the TCP group ──► client ──► response
//! ```

use std::ops::Range;

use dnsdyno_measure::{ConnectFailure, ConnectionEnd, FallbackFailure, NotSentReason};

use crate::groups::Groups;
use crate::truncated::TruncatedQuestions;

/// The fallback of a worker. Most runs have none, and no channels here.
#[derive(Default)]
pub(crate) struct Fallback {
    /// Channels whose queries fall back.
    pub(crate) udp: Range<usize>,
    /// Channels of the TCP part.
    pub(crate) tcp: Range<usize>,
    /// The group of the TCP part.
    pub(crate) group: usize,
    /// Whether queries are sent over TCP without their OPT record.
    pub(crate) strips_edns: bool,
    parts: Box<[Parts]>,
    first_slot: u32,
    /// Which questions have fallen back.
    pub(crate) truncated: TruncatedQuestions,
}

/// When the parts of a transaction started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    /// When the truncated response was received.
    pub(crate) truncated_ns: u64,
    /// When the query was passed to the client.
    pub(crate) handed_ns: u64,
}

impl Fallback {
    /// The fallback of these groups, if one of them is a fallback; its TCP part has these slots.
    pub(crate) fn of(groups: &Groups, slots: Range<u32>, strips_edns: bool) -> Self {
        let Some(group) = groups.all.iter().position(|queue| queue.group.is_fallback) else {
            return Fallback::default();
        };
        let channels = |number: usize| {
            let queue = &groups.all[number];
            queue.first_channel..queue.first_channel + queue.group.channels
        };
        Fallback {
            udp: channels(group - 1),
            tcp: channels(group),
            group,
            strips_edns,
            parts: vec![Parts::default(); slots.len()].into(),
            first_slot: slots.start,
            truncated: TruncatedQuestions::with_room(),
        }
    }

    /// The parts of the transaction with this slot in the TCP part.
    pub(crate) fn parts(&mut self, slot: u32) -> Option<&mut Parts> {
        self.parts.get_mut(slot.checked_sub(self.first_slot)? as usize)
    }
}

/// Why the TCP part of a transaction failed, if its query was not sent.
pub(crate) fn failure_unsent(blocked_by: Option<NotSentReason>) -> FallbackFailure {
    match blocked_by {
        Some(NotSentReason::NoFreeConnection | NotSentReason::NoFreeId) => FallbackFailure::NoClient,
        Some(NotSentReason::NoLocalPort) => FallbackFailure::NoLocalPort,
        _ => FallbackFailure::NotSent,
    }
}

/// Why the TCP part failed, if its connection was not established.
pub(crate) fn failure_of_connect(why: ConnectFailure) -> FallbackFailure {
    match why {
        ConnectFailure::Refused => FallbackFailure::ConnectRefused,
        ConnectFailure::TimedOut => FallbackFailure::ConnectTimedOut,
        ConnectFailure::NoLocalPort => FallbackFailure::NoLocalPort,
        _ => FallbackFailure::ConnectFailed,
    }
}

/// Why the TCP part failed, if its last connection ended.
pub(crate) fn failure_of_end(end: ConnectionEnd) -> FallbackFailure {
    match end {
        ConnectionEnd::Reset => FallbackFailure::Reset,
        ConnectionEnd::Garbled => FallbackFailure::Garbled,
        ConnectionEnd::ByUs | ConnectionEnd::Silent => FallbackFailure::QueryTimedOut,
        // The other reasons are for encrypted connections, which are not used for a fallback.
        _ => FallbackFailure::Closed,
    }
}

//! The trace of a sample of the queries: all instants of each of them, handed over when it has ended.
//!
//! ```text
//!   numbers   0 ······· 999 │ 1000 ····· 1999 │ 2000 ····· 2999 │      `--trace 1/1000`: of each thousand one,
//!   traced          ▲       │   ▲             │            ▲    │      drawn by the seed
//! ```
//!
//! One number of each block is drawn, and not each thousandth taken: a source whose length is a divisor of the block
//! would give the same question again and again. What a run without a trace pays is a branch for each batch that is
//! sent, for each end of a query, and for each round of the loop.

use std::collections::HashMap;

use dnsdyno_measure::HandshakeKind;
use dnsdyno_transport::ConnectionEvent;

use crate::query_log::How;

/// What a run traces.
#[derive(Clone, Copy)]
pub struct TraceJob<'a> {
    /// The sample.
    pub sample: TraceSample,
    /// Makes the log of each worker.
    pub logs: &'a (dyn Fn(u32) -> Box<dyn TraceLog> + Sync),
}

/// Gets the steps of the traced queries of one worker. It is called in the worker's loop, and must not wait.
pub trait TraceLog: Send {
    /// A step of a traced query.
    fn step(&mut self, step: TraceStep);

    /// A query that was to be traced is not, because too many traced ones are outstanding.
    fn lost(&mut self);
}

/// Which queries are traced: one of each block of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSample {
    /// The length of a block: at least 1.
    pub every: u64,
    /// Draws the number of each block.
    pub seed: u64,
}

impl TraceSample {
    /// Whether the query of this number, counted from 0 over all workers of a run, is traced.
    pub fn takes(&self, number: u64) -> bool {
        let (block, place) = (number / self.every, number % self.every);
        number != NO_NUMBER && place == mixed(self.seed ^ mixed(block)) % self.every
    }
}

/// Spreads the bits of a number over 64 bits (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// A step of a traced query. All instants are in nanoseconds since the start of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// The kernel has passed its message over UDP to the network interface.
    Departed {
        /// The number of the query.
        number: u64,
        /// The stamp of the kernel.
        at_ns: u64,
    },
    /// It was sent once more, because its connection was lost or the server had not processed it.
    Retried {
        /// The number of the query.
        number: u64,
        /// When.
        at_ns: u64,
    },
    /// It has ended. The last step of a query, except for a late [`Departed`](Self::Departed).
    Ended(Box<TracedQuery>),
}

/// A traced query that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedQuery {
    /// Its number in the run.
    pub number: u64,
    /// How it has ended; `None` if its response is not waited for.
    pub how: Option<How>,
    /// The extended RCODE of its response, and the length of that in octets.
    pub response: Option<(u16, usize)>,
    /// Its question as it was sent, as on the wire; empty if it was not taken from the source.
    pub question: Vec<u8>,
    /// The member of the mix.
    pub member: u8,
    /// When it was due.
    pub due_ns: u64,
    /// When, where and with which message ID it was sent first; `None` if it was not.
    pub sent: Option<TracedSend>,
    /// The truncated response, and the sending over TCP, of a query that fell back.
    pub fallback: Option<TracedFallback>,
    /// When its response was received.
    pub received_ns: Option<u64>,
    /// The connection that it was last sent over, where there are connections.
    pub connection: Option<TracedConnection>,
    /// When the worker was done with the round in which the query has ended.
    pub ended_ns: u64,
}

/// How a traced query was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedSend {
    /// When, by the clock of the worker.
    pub at_ns: u64,
    /// The channel of the worker: a socket, a source port or a client.
    pub channel: u32,
    /// The message ID.
    pub id: u16,
}

/// The fallback of a traced query to TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedFallback {
    /// When its truncated response was received.
    pub truncated_ns: u64,
    /// How it was sent over TCP; `None` if it was not.
    pub sent: Option<TracedSend>,
}

/// The last connection of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracedConnection {
    /// When it was begun.
    pub opened_ns: u64,
    /// When it was established.
    pub established_ns: Option<u64>,
    /// The handshake: its kind, its begin and its end.
    pub handshake: Option<(HandshakeKind, u64, u64)>,
}

/// The trace of a worker.
pub(crate) struct Trace {
    sample: TraceSample,
    log: Box<dyn TraceLog>,
    /// Traced queries that were sent and have not ended, by their numbers.
    live: HashMap<u64, TracedQuery>,
    /// The numbers of those that are outstanding, by slot.
    by_slot: HashMap<u32, u64>,
    /// Those that have ended in this round of the loop.
    ended: Vec<TracedQuery>,
    /// By channel, where they are clients.
    connections: Vec<TracedConnection>,
}

impl Trace {
    pub(crate) fn new(job: TraceJob<'_>, worker: u32, clients: usize) -> Box<Self> {
        Box::new(Trace {
            sample: job.sample,
            log: (job.logs)(worker),
            live: HashMap::with_capacity(MOST_LIVE),
            by_slot: HashMap::with_capacity(MOST_LIVE),
            ended: Vec::with_capacity(MOST_LIVE),
            connections: vec![TracedConnection::default(); clients],
        })
    }

    /// Whether a query of this number is traced.
    #[inline]
    pub(crate) fn takes(&self, number: u64) -> bool {
        self.sample.takes(number)
    }

    /// A query was sent from a slot: `query` knows all but the fallback.
    pub(crate) fn sent(&mut self, slot: u32, query: TracedQuery) {
        if self.live.len() >= MOST_LIVE {
            return self.log.lost();
        }
        self.by_slot.insert(slot, query.number);
        self.live.insert(query.number, query);
    }

    /// A query whose response is not waited for was sent.
    pub(crate) fn sent_only(&mut self, query: TracedQuery) {
        self.ended.push(query);
    }

    /// A query that fell back was sent from a slot of the TCP part.
    pub(crate) fn sent_over_tcp(&mut self, slot: u32, number: u64, sent: TracedSend) {
        let Some(query) = self.live.get_mut(&number) else { return };
        self.by_slot.insert(slot, number);
        if let Some(fallback) = &mut query.fallback {
            fallback.sent = Some(sent);
        }
    }

    /// The response to a query in this slot was truncated: it waits for a client. Returns its number.
    pub(crate) fn fell_back(&mut self, slot: u32, truncated_ns: u64) -> Option<u64> {
        let number = self.by_slot.remove(&slot)?;
        let query = self.live.get_mut(&number)?;
        query.fallback = Some(TracedFallback { truncated_ns, sent: None });
        Some(number)
    }

    /// The query in this slot is sent once more.
    pub(crate) fn retried(&mut self, slot: u32, at_ns: u64) {
        if let Some(number) = self.by_slot.get(&slot) {
            self.log.step(TraceStep::Retried { number: *number, at_ns });
        }
    }

    /// The kernel has stamped the departure of a message that was marked with the number of its query.
    pub(crate) fn departed(&mut self, number: u64, at_ns: u64) {
        self.log.step(TraceStep::Departed { number, at_ns });
    }

    /// What became of the connection of a channel.
    pub(crate) fn connection(&mut self, channel: usize, at_ns: u64, event: ConnectionEvent) {
        let Some(connection) = self.connections.get_mut(channel) else { return };
        match event {
            ConnectionEvent::Opened => {
                *connection = TracedConnection { opened_ns: at_ns, ..TracedConnection::default() };
            }
            ConnectionEvent::Established { opened_ns } => {
                connection.opened_ns = opened_ns;
                connection.established_ns = Some(at_ns);
            }
            ConnectionEvent::Handshaken { kind, begun_ns } => {
                connection.handshake = Some((kind, begun_ns, at_ns));
            }
            _ => {}
        }
    }

    /// The query in this slot has ended.
    #[cold]
    pub(crate) fn ended_in(&mut self, slot: u32, how: How, response: Option<(u64, u16, usize)>) {
        let Some(number) = self.by_slot.remove(&slot) else { return };
        let Some(query) = self.live.remove(&number) else { return };
        let last = query.fallback.and_then(|fallback| fallback.sent).or(query.sent);
        let connection = last.and_then(|sent| self.connections.get(sent.channel as usize).copied());
        self.ended.push(TracedQuery {
            how: Some(how),
            received_ns: response.map(|(at_ns, ..)| at_ns),
            response: response.map(|(_, rcode, length)| (rcode, length)),
            connection: connection.filter(|connection| connection.opened_ns > 0),
            ..query
        });
    }

    /// A query that waited has ended: one that fell back, or one that was never sent.
    #[cold]
    pub(crate) fn ended_waiting(&mut self, number: u64, unsent: impl FnOnce() -> TracedQuery) {
        match self.live.remove(&number) {
            Some(query) => self.ended.push(TracedQuery { how: unsent().how, ..query }),
            None if self.takes(number) => self.ended.push(unsent()),
            None => {}
        }
    }

    /// Hands over what has ended since the last call.
    #[inline]
    pub(crate) fn hand_over(&mut self, now_ns: impl FnOnce() -> u64) {
        if !self.ended.is_empty() {
            self.hand_over_all(now_ns());
        }
    }

    #[cold]
    fn hand_over_all(&mut self, now_ns: u64) {
        for query in self.ended.drain(..) {
            self.log.step(TraceStep::Ended(Box::new(TracedQuery { ended_ns: now_ns, ..query })));
        }
    }
}

/// The number of a query that is not known: of a query that falls back and is not traced.
pub(crate) const NO_NUMBER: u64 = u64::MAX;

/// Traced queries of a worker that are outstanding at once, at most.
const MOST_LIVE: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_block_one_query_is_traced_and_another_seed_traces_others() {
        let taken = |every: u64, seed: u64, queries: u64| -> Vec<u64> {
            let sample = TraceSample { every, seed };
            (0..queries).filter(|number| sample.takes(*number)).collect()
        };
        for every in [1, 2, 7, 1_000] {
            let of_one = taken(every, 1, 50 * every);
            let blocks: Vec<u64> = of_one.iter().map(|number| number / every).collect();
            assert_eq!(blocks, (0..50).collect::<Vec<_>>(), "1/{every}");
        }
        assert_eq!(taken(1_000, 1, 50_000), taken(1_000, 1, 50_000));
        assert_ne!(taken(1_000, 1, 50_000), taken(1_000, 2, 50_000));
        // Not always the same place of a block, which would be the same question of a source of a thousand.
        let places: std::collections::BTreeSet<u64> =
            taken(1_000, 1, 100_000).iter().map(|number| number % 1_000).collect();
        assert!(places.len() > 80, "{places:?}");
        assert!(!TraceSample { every: 1, seed: 1 }.takes(NO_NUMBER));
    }
}

//! Faults on command: which, for how many queries, and when.
//!
//! Each query draws one number, and the shares are consecutive ranges between 0 and 1:
//!
//! ```text
//!  0                                                                           1
//!  |loss|duplicate|wrong id|wrong question|garbage|reset|...|  answered normally  |
//! ```
//!
//! So a query has at most one fault, and each share is a share of all queries. What a generator must
//! count for each:
//!
//! | fault | over | what the responder does | what the generator counts |
//! |---|---|---|---|
//! | loss | all | sends nothing | a timeout |
//! | duplicate | UDP TCP DoT | sends the response twice | a response, and a duplicate |
//! | wrong ID | all | flips the top bit of the ID | an unexpected ID, and a timeout |
//! | wrong question | all | changes the first letter of the name (the type, where the name is the root) | a wrong
//! question, and a timeout |
//! | wrong answer | all | changes the last address or text of the answer; without one, NOERROR to NXDOMAIN and back | a
//! response, and with `--check-answers` a wrong one |
//! | garbage | all | sends 1 to 11 random bytes | a malformed message, and a timeout |
//! | reset | connections | resets the connection (QUIC: closes it with an internal error) | a refusal, for each
//! outstanding query on that connection |
//! | cut | connections | sends half of the response, then resets | the same |
//! | wrong length | connections | declares the message 16 bytes longer than it is (HTTP: in content-length) | a broken
//! connection or stream |
//! | dribble | connections | sends the response one byte at a time | a response, late |
//! | reorder | connections | holds the response until another one was sent on the connection | responses in another
//! order |
//! | server error | DoH DoH/3 | responds with HTTP status 500 | that status |
//! | stream reset | DoH DoQ DoH/3 | resets the stream instead of responding | a stream error |
//! | goaway | DoH DoH/3 | sends GOAWAY, answers outstanding queries, and closes | a connection that ends |
//!
//! Where a fault is not possible over a transport, the query is answered normally.
//!
//! Each connection draws a number of its own, from another random stream:
//!
//! | fault | over | what the responder does |
//! |---|---|---|
//! | silent | connections | accepts (with a handshake), then reads and never responds |
//! | no handshake | encrypted | accepts the connection and does not reply to the ClientHello |
//! | tls alert | encrypted | ends the handshake with a fatal alert |
//!
//! And `close_after` closes every connection regularly after so many responses.
//!
//! Garbage is shorter than a DNS header, so that it can never be taken for a response. The wrong ID is
//! half the ID space away from the right one: it can match another query of the same socket only where
//! more than 32,768 IDs were used within the timeout.
//!
//! A limit makes the responder a server that works on one query after another, over all its sockets, each for a time
//! that is fixed or drawn. The others wait; one that comes while the queue is full is not answered, whatever it drew.
//! The delay comes after the work.
//!
//! A leak keeps memory for each query, until the system ends the process or refuses it more memory, which ends it too.
//!
//! Delay and stall apply in addition to any fault. A query without a question (answered FORMERR with a
//! header only) is answered normally where it drew "wrong question".

mod decider;
mod delay;
mod error;
mod falsify;
mod text;
pub(crate) mod words;

use std::time::Duration;

use clap::Args;

pub use decider::Decider;
pub use delay::{Delay, LONGEST_DELAY};
pub use error::FaultsError;
pub use words::TextError;

use crate::kind::Transport;
pub(crate) use delay::Sampler;
use words::wait;

/// The faults of a responder. The default is none. Each is a flag of a command line too, with its help.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[group(skip)]
pub struct Faults {
    /// Delay each response: 5ms, uniform:1ms..5ms, normal:5ms,1ms, exp:2ms or lognormal:2ms,0.5
    #[arg(long, value_name = "DELAY", help_heading = FAULTS)]
    pub delay: Option<Delay>,
    /// Share of queries that get no response, such as 1%
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = FAULTS)]
    pub loss: Share,
    /// Share of queries whose response is sent twice
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = FAULTS)]
    pub duplicate: Share,
    /// Share of queries whose response has another ID
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = FAULTS)]
    pub wrong_id: Share,
    /// Share of queries whose response has another question
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = FAULTS)]
    pub wrong_question: Share,
    /// Share of queries that get another answer than they should
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = FAULTS)]
    pub wrong_answer: Share,
    /// With --wrong-answer: answer the first N queries of each socket as they should be
    #[arg(long, value_name = "N", default_value = "0", help_heading = FAULTS)]
    pub wrong_answer_after: u64,
    /// Share of queries whose response is a few random bytes
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = FAULTS)]
    pub garbage: Share,
    /// Send nothing from T1 to T2 after the first query, such as 3s..4s; then answer all queries received
    #[arg(long, value_name = "T1..T2", help_heading = FAULTS)]
    pub stall: Option<Stall>,
    /// Work on one query after another: 5k a second; or each for a time as of --delay, such as exp:200us; with
    /// @8s from 8 s after the first query on
    #[arg(long, value_name = "LIMIT", help_heading = FAULTS)]
    pub limit: Option<Limit>,
    /// Do not answer queries that come while the work of more than this waits for the limit
    #[arg(value_parser = wait, long, value_name = "T", default_value = "100ms", requires = "limit",
        help_heading = FAULTS)]
    pub limit_queue: Option<Duration>,
    /// Take this much memory for each query and never give it back, such as 16k: a server with a leak, which dies
    /// when the system has no more for it
    #[arg(long = "leak", value_name = "BYTES", default_value = "0", help_heading = FAULTS)]
    pub leak_bytes: usize,
    /// Random seed: the same seed and the same queries give the same faults
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = FAULTS)]
    pub seed: u64,
    /// Share of queries on which the connection is reset
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub reset: Share,
    /// Share of queries that get half a response, after which the connection is reset
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub cut: Share,
    /// Share of queries whose response declares 16 bytes more than it has
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub wrong_length: Share,
    /// Share of queries whose response is sent one byte at a time
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub dribble: Share,
    /// Share of queries whose response is sent after the next one on the connection
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub reorder: Share,
    /// Share of queries over DoH and DoH/3 that get status 500
    #[arg(long = "http-500", value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub server_error: Share,
    /// Share of queries over DoH, DoQ and DoH/3 whose stream is reset
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub stream_reset: Share,
    /// Share of queries over DoH and DoH/3 on which GOAWAY is sent
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub goaway: Share,
    /// Close each connection regularly after K responses
    #[arg(long, value_name = "K", help_heading = ON_CONNECTIONS)]
    pub close_after: Option<u64>,
    /// Share of connections that are accepted and never answered
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub silent: Share,
    /// Share of encrypted connections whose handshake gets no reply
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub no_handshake: Share,
    /// Share of encrypted connections whose handshake ends with an alert
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = ON_CONNECTIONS)]
    pub tls_alert: Share,
}

/// How much work may wait for the limit, where nothing is said: that of a server with a small receive buffer.
const USUAL_QUEUE: Duration = Duration::from_millis(100);

const FAULTS: &str = "Faults";
const ON_CONNECTIONS: &str = "Faults of connections (TCP, DoT, DoH, DoQ, DoH/3)";

/// A time, counted from the first query, in which queries are held; all of them are answered at
/// its end (or later, where their own delay says so). Text: `3s..4s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Its start, after the first query.
    pub from: Duration,
    /// Its end, after the first query.
    pub to: Duration,
}

/// The limit of a server that works on one query after another, over all sockets of a responder. Text: `5k` queries a
/// second, `exp:200us` for the work of each (as a [`Delay`]); with `@8min` from eight minutes after the first query on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// How long it works on a query.
    pub work: Delay,
    /// How long after the first query it begins.
    pub after: Duration,
}

/// A share of all queries, 0 to 1. Text: `1%` or `0.01`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// `None` outside of 0 to 1.
    pub fn new(share: f64) -> Option<Share> {
        (0.0..=1.0).contains(&share).then_some(Share(share))
    }

    /// The share, 0 to 1.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// The fault of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No response.
    Loss,
    /// The response twice.
    Duplicate,
    /// A response with another ID.
    WrongId,
    /// A response with another question.
    WrongQuestion,
    /// Another answer.
    WrongAnswer,
    /// Random bytes as a response.
    Garbage,
    /// The connection is reset.
    Reset,
    /// The connection is reset in the middle of the response.
    Cut,
    /// The declared length is wrong.
    WrongLength,
    /// One byte at a time.
    Dribble,
    /// Another response is sent first.
    Reorder,
    /// HTTP status 500.
    ServerError,
    /// The stream is reset.
    StreamReset,
    /// The response, and GOAWAY.
    GoAway,
}

impl Fault {
    /// Whether it can be done over `transport`.
    pub fn is_possible(self, transport: Transport) -> bool {
        match self {
            Fault::Loss | Fault::WrongId | Fault::WrongQuestion | Fault::WrongAnswer | Fault::Garbage => true,
            // A stream of HTTP or QUIC carries one response.
            Fault::Duplicate => !has_streams(transport),
            Fault::Reset | Fault::Cut | Fault::WrongLength | Fault::Dribble | Fault::Reorder => {
                transport != Transport::Udp
            }
            Fault::ServerError | Fault::GoAway => transport.is_http(),
            Fault::StreamReset => has_streams(transport),
        }
    }
}

/// Whether a connection has a stream for each query.
fn has_streams(transport: Transport) -> bool {
    matches!(transport, Transport::Doh | Transport::Doq | Transport::Doh3)
}

/// The fault of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFault {
    /// It is accepted, and never responded on.
    Silent,
    /// Its handshake gets no reply.
    NoHandshake,
    /// Its handshake ends with an alert.
    TlsAlert,
}

impl ConnectionFault {
    /// Whether it can be done over `transport`.
    pub fn is_possible(self, transport: Transport) -> bool {
        match self {
            ConnectionFault::Silent => transport != Transport::Udp,
            ConnectionFault::NoHandshake | ConnectionFault::TlsAlert => transport.has_handshake(),
        }
    }
}

/// The decision for one query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Its fault.
    pub fault: Option<Fault>,
    /// How long to hold the response, in nanoseconds.
    pub delay_ns: u64,
    /// How long the query is worked on, in nanoseconds; 0 where there is no limit.
    pub work_ns: u64,
}

impl Faults {
    /// Checks what the types do not guarantee.
    pub fn validate(&self) -> Result<(), FaultsError> {
        if let Some(percent) = over_100(self.shares().map(|(share, _)| share)) {
            return Err(FaultsError::Over100 { percent });
        }
        if let Some(percent) = over_100(self.connection_shares().map(|(share, _)| share)) {
            return Err(FaultsError::ConnectionsOver100 { percent });
        }
        if self.close_after == Some(0) {
            return Err(FaultsError::CloseAfter);
        }
        if let Some(delay) = &self.delay {
            delay.sampler()?;
        }
        if let Some(limit) = &self.limit {
            limit.work.sampler()?;
        }
        match self.stall {
            Some(stall) if stall.from > stall.to => Err(FaultsError::Stall),
            _ => Ok(()),
        }
    }

    /// Whether there is no fault. The seed of faults and the queue of a limit are none.
    pub(crate) fn are_none(&self) -> bool {
        let (seed, limit_queue) = (self.seed, self.limit_queue);
        *self == Faults { seed, limit_queue, ..Faults::default() }
    }

    /// How much work may wait for the limit before a query gets no response.
    pub(crate) fn queue(&self) -> Duration {
        self.limit_queue.unwrap_or(USUAL_QUEUE)
    }

    fn shares(&self) -> [(Share, Fault); 14] {
        [
            (self.loss, Fault::Loss),
            (self.duplicate, Fault::Duplicate),
            (self.wrong_id, Fault::WrongId),
            (self.wrong_question, Fault::WrongQuestion),
            (self.wrong_answer, Fault::WrongAnswer),
            (self.garbage, Fault::Garbage),
            (self.reset, Fault::Reset),
            (self.cut, Fault::Cut),
            (self.wrong_length, Fault::WrongLength),
            (self.dribble, Fault::Dribble),
            (self.reorder, Fault::Reorder),
            (self.server_error, Fault::ServerError),
            (self.stream_reset, Fault::StreamReset),
            (self.goaway, Fault::GoAway),
        ]
    }

    fn connection_shares(&self) -> [(Share, ConnectionFault); 3] {
        [
            (self.silent, ConnectionFault::Silent),
            (self.no_handshake, ConnectionFault::NoHandshake),
            (self.tls_alert, ConnectionFault::TlsAlert),
        ]
    }
}

/// The sum of the shares in percent, where it is over 100.
fn over_100<const N: usize>(shares: [Share; N]) -> Option<f64> {
    let sum: f64 = shares.iter().map(|share| share.0).sum();
    // A tolerance for shares such as ten times 10 %, whose sum is not exact.
    (sum > 1.0 + 1e-9).then(|| (sum * 1e4).round() / 1e2)
}

/// How many bytes longer than it is a message is declared to be, on command.
pub(crate) const WRONG_LENGTH_BY: usize = 16;

/// How long a response that is to be reordered waits for another one.
pub(crate) const KEEP_BACK_NS: u64 = 50_000_000;

/// Time between two bytes of a response that is sent one byte at a time.
pub(crate) const DRIBBLE_NS: u64 = 200_000;

#[cfg(test)]
mod tests;

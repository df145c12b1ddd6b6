//! Changes to a query at the time it is sent: a unique label, a signature, an option.

use std::fmt::Debug;

use dnsdyno_measure::TsigFailure;
use dnsdyno_wire::{HEADER_LEN, peek};

/// Makes the messages of a source when they are sent.
pub trait Maker: Debug + Send + Sync {
    /// The state of one worker: its part of the random numbers, its cookies.
    fn begin(&self, share: WorkerShare) -> Box<dyn WorkerMaker>;

    /// Whether a made message may have another question than that of the source.
    fn changes_question(&self) -> bool {
        true
    }

    /// Whether responses are passed to [`WorkerMaker::check`].
    fn checks_responses(&self) -> bool {
        false
    }

    /// The octets that it appends at most to a message.
    fn longest_addition(&self) -> usize {
        0
    }
}

/// Which worker a [`WorkerMaker`] works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerShare {
    /// The number of the worker.
    pub worker: u32,
    /// The number of workers, at least 1.
    pub workers: u32,
    /// The start of the run on the wall clock, in nanoseconds since 1970.
    pub start_unix_ns: u64,
}

/// The maker of one worker. It is called in the worker's loop: it must be fast, must not block, and must not allocate
/// except in the buffer.
pub trait WorkerMaker: Send {
    /// Rewrites or extends `message`: a copy of the message of a query, which has its ID already. The same number must
    /// always give the same question, because a retried query is made again. A response is matched by the question of
    /// the message that was made.
    fn make(&mut self, query: &QueryToMake, message: &mut Vec<u8>);

    /// The same for a message of header and question only, which is sent without EDNS: the retry over TCP with
    /// `--tcp-edns none`.
    fn make_bare(&mut self, query: &QueryToMake, message: &mut Vec<u8>) {
        self.make(query, message);
        strip(message);
    }

    /// Allocates what it keeps for each slot and for each channel. Called once, before the first message.
    fn prepare(&mut self, _slots: usize, _channels: usize) {}

    /// Checks a response that has the ID and the question of the query in its slot.
    fn check(&mut self, _response: &ResponseToCheck<'_>) -> Checked {
        Checked::default()
    }
}

/// Leaves header and question of a message.
pub fn strip(message: &mut Vec<u8>) {
    let question_len = peek(message).map_or(0, |peek| peek.question.len());
    message.truncate(HEADER_LEN + question_len);
    if let Some(counts) = message.get_mut(RECORD_COUNTS..HEADER_LEN) {
        counts.fill(0);
    }
}

/// Where the header has the numbers of answer, authority and additional records.
const RECORD_COUNTS: usize = 6;

/// A response that may end a query.
#[derive(Debug, Clone, Copy)]
pub struct ResponseToCheck<'a> {
    /// The slot of the query.
    pub slot: u32,
    /// The channel over which it came.
    pub channel: usize,
    /// When it came, in nanoseconds since the start of the run.
    pub at_ns: u64,
    /// Its extended RCODE.
    pub rcode: u16,
    /// The message.
    pub bytes: &'a [u8],
}

/// What was found in a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Its signature, where queries are signed.
    pub tsig: Option<TsigFound>,
    /// Its cookie, where queries carry cookies.
    pub cookie: Option<CookieFound>,
}

impl Checked {
    /// Whether the response may end its query.
    pub fn is_accepted(&self) -> bool {
        !matches!(self.tsig, Some(TsigFound::Failed(_)))
            && !matches!(self.cookie, Some(CookieFound::WrongClientCookie))
    }

    /// Both.
    pub(crate) fn and(self, other: Checked) -> Checked {
        Checked { tsig: self.tsig.or(other.tsig), cookie: self.cookie.or(other.cookie) }
    }
}

/// What was found of the signature of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TsigFound {
    /// It is valid; the server reported this TSIG error, 0 = none.
    Verified(u16),
    /// It is absent, and the response is an error; the server reported this TSIG error, 0 = none.
    UnsignedError(u16),
    /// It is not accepted.
    Failed(TsigFailure),
    /// It was not checked: a further message in response to a query whose first was valid.
    NotChecked,
}

/// What was found of the cookie of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CookieFound {
    /// A cookie of the server.
    ServerCookie,
    /// No COOKIE option.
    Absent,
    /// A COOKIE option that is malformed or has no cookie of the server.
    Malformed,
    /// Not our client cookie.
    WrongClientCookie,
}

/// A query that is about to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryToMake {
    /// Its number, counted over the whole run.
    pub number: u64,
    /// Its index in the source.
    pub question: u32,
    /// The channel of the worker that sends it: its socket or client.
    pub channel: usize,
    /// Its slot in the worker's table of outstanding queries; no other outstanding query has the same.
    pub slot: u32,
    /// When it was due, in nanoseconds since the start of the run.
    pub due_ns: u64,
    /// When it is sent, in nanoseconds since the start of the run.
    pub at_ns: u64,
}

//! A log of single queries, for programs that print or check each: how each query has ended, and what no query
//! explains.
//!
//! A run has none unless its [`Job`](crate::Job) asks for one; then each worker writes to its own. It is called in the
//! worker's loop, so a log that waits (for a terminal, a full queue) delays the queries that are due meanwhile.

use dnsdyno_measure::NotSentReason;

use crate::inflight::SentQuery;
use crate::supply::Supply;

/// Makes the log of each worker.
pub type QueryLogs<'a> = &'a (dyn Fn(u32) -> Box<dyn QueryLog> + Sync);

/// The log of one worker.
pub trait QueryLog: Send {
    /// A query has ended. Called once for each that was scheduled.
    fn ended(&mut self, end: &QueryEnd<'_>);

    /// A message was received that ends no query.
    fn unpaired(&mut self, _received: &Unpaired<'_>) {}
}

/// A query that has ended. Instants are in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct QueryEnd<'a> {
    /// How.
    pub how: How,
    /// The number of the query in the source.
    pub index: u32,
    /// The message as loaded, with ID 0.
    pub query: &'a [u8],
    /// The ID with which it was sent; 0 if it was not.
    pub id: u16,
    /// When it was due.
    pub due_ns: u64,
    /// When it was sent; when it was due if it was not.
    pub sent_ns: u64,
    /// When it was answered; otherwise 0.
    pub at_ns: u64,
    /// The extended RCODE of the response; otherwise 0.
    pub rcode: u16,
    /// The response; otherwise empty.
    pub response: &'a [u8],
    /// The response that was recorded for this query; empty where there is none.
    pub expected: &'a [u8],
}

/// How a query has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Answered in time.
    Answered,
    /// Answered in time, and not as the server answered before the load.
    AnsweredWrong,
    /// Not answered within the timeout.
    TimedOut,
    /// The network or the server refused it.
    Refused,
    /// Outstanding or waiting when the run was ended.
    Interrupted,
    /// Not sent, for this reason.
    NotSent(NotSentReason),
}

impl How {
    /// Its word in a trace.
    pub fn word(self) -> &'static str {
        match self {
            How::Answered => "answered",
            How::AnsweredWrong => "answered_wrong",
            How::TimedOut => "timed_out",
            How::Refused => "refused",
            How::Interrupted => "interrupted",
            How::NotSent(_) => "not_sent",
        }
    }

    /// Why it was not sent.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            How::NotSent(reason) => Some(reason.key()),
            _ => None,
        }
    }
}

/// A message that ends no query.
#[derive(Clone, Copy, Debug)]
pub struct Unpaired<'a> {
    /// Why not.
    pub why: Why,
    /// What was received.
    pub bytes: &'a [u8],
}

/// Why a message ends no query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is not a DNS response.
    Malformed,
    /// No outstanding query has its ID, or had it before: a late answer, a duplicate, or one that nobody asked for.
    Unexpected,
    /// The query with its ID had another question.
    WrongQuestion,
    /// Its signature or its cookie is not accepted.
    Rejected,
}

/// The log of a worker, if it has one.
pub(crate) struct Log(pub(crate) Option<Box<dyn QueryLog>>);

impl Log {
    /// Whether single queries are logged.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// An outstanding query was answered, with this ID and RCODE.
    #[cold]
    pub(crate) fn answered(
        &mut self,
        queries: &dyn Supply,
        sent_query: &SentQuery,
        (how, id, rcode): (How, u16, u16),
        at_ns: u64,
        response: &[u8],
    ) {
        let Some(log) = &mut self.0 else { return };
        let SentQuery { intended_ns: due_ns, sent_ns, question, .. } = *sent_query;
        let (query, expected) = (queries.message(question), queries.expected(question));
        let index = question;
        log.ended(&QueryEnd { how, index, query, id, due_ns, sent_ns, at_ns, rcode, response, expected });
    }

    /// An outstanding query has ended otherwise.
    pub(crate) fn unanswered(&mut self, queries: &dyn Supply, sent_query: &SentQuery, id: u16, how: How) {
        let Some(log) = &mut self.0 else { return };
        let SentQuery { intended_ns: due_ns, sent_ns, question, .. } = *sent_query;
        let (query, expected) = (queries.message(question), queries.expected(question));
        let (at_ns, rcode, response) = (0, 0, &[]);
        let index = question;
        log.ended(&QueryEnd { how, index, query, id, due_ns, sent_ns, at_ns, rcode, response, expected });
    }

    /// A message was received that ends no query.
    pub(crate) fn unpaired(&mut self, why: Why, bytes: &[u8]) {
        if let Some(log) = &mut self.0 {
            log.unpaired(&Unpaired { why, bytes });
        }
    }
}

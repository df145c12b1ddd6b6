//! Counters and histograms, without sockets and without a clock.
//!
//! A worker counts every query in a [`Tally`] (by the instant at which the query was due) and every packet in an
//! [`Arrivals`] (by the wall interval in which it arrived). Both are merged exactly, over workers and over time.
//! [`Latency`] gives percentiles that include the unanswered queries, and a [`Warning`] says where the generator
//! itself may have limited the result.
#![forbid(unsafe_code)]

pub mod bounded;
mod by;
mod capture;
mod checks;
mod clients;
mod code;
mod connections;
mod counter;
mod encrypted;
mod ends;
mod explanation;
mod facts;
mod fallback;
pub mod finite;
mod foreign;
mod histogram;
mod latency;
mod neighbour;
mod per_client;
mod replay;
pub mod series;
mod tally;
mod touched;
pub mod units;
mod verdict;
mod warning;
mod watched;
mod written;

pub use by::{By, Key};
pub use capture::{CaptureCounts, SkipReason, Skipped, WrittenCounts};
pub use checks::{Cookies, Tsig, TsigFailure};
pub use clients::{ByProcedure, CacheState, CachingClients, LookupStep, ProcedureKind};
pub use code::ByCode;
pub use connections::{ConnectFailure, ConnectionEnd, Connections};
pub use counter::{Counter, Group, Visitor};
pub use encrypted::{Encrypted, HandshakeFailure, HandshakeKind, Statuses, StreamFailure};
pub use ends::{Anomalies, Ends, NotSent, NotSentReason};
pub use explanation::{Explanation, add_explanations};
pub use facts::{Fact, Facts};
pub use fallback::{Fallback, FallbackFailure, Half};
pub use foreign::{acts_on_a_terminal, shown};
pub use histogram::{Bucket, CEILING_NS, ExactFigures, FLOOR_NS, Histogram};
pub use latency::{BEYOND, Latency, PERCENTILES, Percentiles, Quantile, WrittenLatency};
pub use neighbour::Neighbour;
pub use per_client::PerClient;
pub use replay::{AnswerCounts, ReplayCounts};
pub use tally::{Arrivals, MOST_MEMBERS, MOST_TYPES, MemberTally, Rcodes, Tally, TypeCount, WorkerUse};
pub use touched::Touched;
pub use verdict::{Evidence, Verdict, verdict};
pub use warning::Warning;
pub use watched::{
    LONGEST_SERIES_NAME, MOST_SERIES, MOST_WATCHED, SOFTWARE, Samples, Side, Watched, WatchedKind,
    merge_samples, read_samples,
};
pub use written::{Changes, bucket_number};

//! Counters and histograms, without sockets and without a clock.
//!
//! A worker counts every query in a [`Tally`] (by the instant at which the query was due) and every packet in an
//! [`Arrivals`] (by the wall interval in which it arrived). Both are merged exactly, over workers and over time.
//! [`Latency`] gives percentiles that include the unanswered queries, [`Bounds`] how much of a percentile may be the
//! generator's, [`Loss`] how many of the lost queries, [`OwnShare`] how much of a closed loop; and a [`Warning`] says
//! what the generator has met.
#![forbid(unsafe_code)]

mod bed;
mod bed_verdict;
pub mod bounded;
mod bounds;
mod by;
mod capture;
mod checks;
mod clients;
mod code;
mod connections;
mod counter;
mod encrypted;
mod ends;
mod evidence;
mod exceeded;
mod explanation;
mod facts;
mod fallback;
pub mod finite;
mod histogram;
mod latency;
mod loss;
mod losses_beside;
mod neighbour;
mod own_delay;
mod own_share;
mod per_client;
mod quota;
mod replay;
pub mod series;
mod stamps;
mod tally;
mod truncated;
mod verdict;
mod warning;
mod watched;
mod written;

pub use bed::{LossBeside, QuotaUse, ServerUse, TestBed};
pub use bounds::{BoundedLatency, Bounds, OwnPart};
pub use by::{By, Key};
pub use capture::{CaptureCounts, SkipReason, Skipped, WrittenCounts};
pub use checks::{Cookies, Tsig, TsigFailure};
pub use clients::{ByProcedure, CacheState, CachingClients, LookupStep, ProcedureKind};
pub use code::ByCode;
pub use connections::{ConnectFailure, ConnectionEnd, Connections};
pub use counter::{Counter, Group, Visitor};
pub use encrypted::{Encrypted, HandshakeFailure, HandshakeKind, Statuses, StreamFailure};
pub use ends::{Anomalies, Ends, NotSent, NotSentReason};
pub use evidence::Evidence;
pub use explanation::{Explanation, add_explanations};
pub use facts::{Fact, Facts};
pub use fallback::{Fallback, FallbackFailure, Half};
pub use histogram::{
    Bucket, CEILING_NS, ExactFigures, FLOOR_NS, Histogram, SIGNIFICANT_DIGITS, bucket_number,
};
pub use latency::{BEYOND, Latency, PERCENTILES, Percentiles, Quantile, WrittenLatency, percentile_name};
pub use loss::{BURST_NS, Loss};
pub use losses_beside::LossesBeside;
pub use neighbour::Neighbour;
pub use own_delay::{OwnDelay, ShortDelay};
pub use own_share::OwnShare;
pub use per_client::PerClient;
pub use replay::{AnswerChecks, AnswerCounts, ReplayCounts};
pub use stamps::SendStamps;
pub use tally::{
    Arrivals, MOST_KINDS, MOST_MEMBERS, MOST_TYPES, MemberTally, Rcodes, Tally, TypeCount, WorkerUse,
};
pub use truncated::{Truncated, TruncatedQuestion};
pub use verdict::{Verdict, verdict};
pub use warning::Warning;
pub use watched::{
    LONGEST_SERIES_NAME, MOST_SERIES, MOST_WATCHED, Samples, Side, Watched, WatchedKind, merge_samples,
    read_samples,
};
pub use written::Changes;

//! The content of a record as types: the header, the intervals, the events and the sum.
//!
//! All instants are nanoseconds since the start of the run on the monotonic clock. The header has the wall-clock time
//! of the start.

use std::net::{IpAddr, SocketAddr};

use dnsdyno_measure::{
    Arrivals, Evidence, Explanation, Histogram, Latency, PerClient, Tally, Verdict, Warning, WorkerUse,
    bounded,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::limits::{MOST_CHECKS, MOST_RANGES, MOST_WORKERS};
use crate::{Check, InterfaceCounts};

/// What is known before the first query is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Unique name of the run, the same on each line.
    #[serde(skip)]
    pub run_id: String,
    /// The start of the run by the wall clock, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// The program and its arguments, as typed.
    #[serde(skip)]
    pub command_line: Vec<String>,
    /// Version of the generator.
    #[serde(skip)]
    pub version: String,
    /// The name that the user gave to the run.
    #[serde(default)]
    pub name: Option<String>,
    /// The user's comment on the run.
    #[serde(default)]
    pub note: Option<String>,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Timeout of a query.
    pub timeout_ns: u64,
    /// Which latency is shown first.
    pub headline: Headline,
    /// Query types of the plan; [`Tally::types`] has the same order.
    #[serde(with = "crate::names")]
    #[schemars(with = "Vec<String>")]
    pub types: Vec<u16>,
    /// The parts of the load that a summary shows separately, in order.
    pub phases: Vec<Phase>,
    /// The server, as the user gave it.
    pub target: String,
    /// The address that the queries were sent to.
    #[schemars(with = "String")]
    pub address: SocketAddr,
    /// `udp`, or the name of another transport; `mix` where there are several.
    pub transport: String,
    /// The transports of a mix; [`Tally::members`] has the same order.
    #[serde(default)]
    pub mix: Vec<MemberInfo>,
    /// Sockets or AF_XDP.
    #[serde(default)]
    pub backend: BackendInfo,
    /// Number of workers (threads).
    pub workers: u32,
    /// Why so many, where the user gave no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers_reason: Option<String>,
    /// Sockets, clients with connections, or source ports of AF_XDP, over all workers.
    pub clients: u32,
    /// UDP sockets over all workers, where there are clients with connections too.
    #[serde(default)]
    pub udp_sockets: Option<u32>,
    /// Queries of one pass through the source.
    #[serde(alias = "questions")]
    pub queries: u64,
    /// The first 64 bits of the SHA-256 of the encoded queries in the order of their source, as 16 hexadecimal
    /// digits: runs with the same value had the same queries. `None` in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries_hash: Option<String>,
    /// Malformed lines of the source, which were skipped.
    pub bad_lines: u64,
    /// Whether the run did not wait for responses.
    pub send_only: bool,
    /// The load in words, one line: "50,000 queries/s for 30 s".
    pub load: String,
    /// What the server answered before the load, by transport; empty where it was not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_CHECKS>")]
    pub checks: Vec<Check>,
}

impl Header {
    /// The latency that a summary shows first.
    pub(crate) fn headline_of<'a>(&self, tally: &'a Tally) -> &'a Histogram {
        match self.headline {
            Headline::Response => &tally.response,
            Headline::Service => &tally.service,
        }
    }

    /// The latency that a summary shows first, including the unanswered queries.
    pub fn latency_of<'a>(&self, tally: &'a Tally) -> Latency<'a> {
        match self.headline {
            Headline::Response => tally.response_latency(),
            Headline::Service => tally.service_latency(),
        }
    }
}

/// One transport of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberInfo {
    /// Its name.
    pub transport: String,
    /// Its configured share of the queries, 0 to 1.
    pub share: f64,
    /// The address that its queries were sent to.
    #[schemars(with = "String")]
    pub address: SocketAddr,
}

/// The backend of a run: sockets of the kernel, or AF_XDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendInfo {
    /// Why, where dnsdyno chose it.
    pub why: Option<String>,
    /// The details of AF_XDP; `None` means sockets.
    pub xdp: Option<XdpInfo>,
}

/// AF_XDP as used in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct XdpInfo {
    /// The interface.
    pub interface: String,
    /// Its queues.
    pub queues: u32,
    /// Where the XDP program ran that selects the responses: `native` or `generic`.
    pub mode: String,
    /// Whether packets were passed without copying.
    pub zero_copy: bool,
    /// The first source address.
    #[schemars(with = "String")]
    pub source: IpAddr,
    /// The first source port.
    pub first_port: u16,
    /// The last source port.
    pub last_port: u16,
    /// The Ethernet address of the next hop.
    pub next_hop: String,
    /// The VLAN ID (802.1Q).
    pub vlan: Option<u16>,
    /// MTU of the interface, in bytes.
    pub mtu: u64,
}

/// The latency that a summary shows first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Headline {
    /// Response − intended instant: open loop, where a schedule says when a query is due.
    Response,
    /// Response − actual send: closed loop, where a response makes the next query due.
    Service,
}

/// A part of the load: a step of a stair, a ramp, a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Short description: "25,000 q/s".
    pub label: String,
    /// First instant of the phase.
    pub from_ns: u64,
    /// First instant after the phase.
    pub to_ns: u64,
}

/// One settled interval: all queries that were due in it have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Number of the interval, 0 for the first.
    pub index: u64,
    /// First instant of the interval.
    pub from_ns: u64,
    /// First instant after the interval.
    pub to_ns: u64,
    /// Scheduled rate, averaged over the interval; 0 in closed loop.
    #[serde(serialize_with = "dnsdyno_measure::finite::serialize")]
    pub asked_qps: f64,
    /// How the queries due in this interval ended.
    #[serde(flatten, skip_deserializing)]
    pub tally: Tally,
    /// What passed the sockets during this interval.
    pub arrivals: Arrivals,
    /// Queries and CPU time of each worker during this interval.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_WORKERS>")]
    pub workers: Vec<WorkerUse>,
}

/// Something notable that happened during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// The instant.
    pub at_ns: u64,
    /// The kind, in `snake_case`: "interrupt", "unreachable", "record_gap".
    pub kind: String,
    /// A sentence for people.
    pub message: String,
    /// The figures in the sentence, for programs.
    #[serde(deserialize_with = "crate::limits::figures")]
    pub figures: serde_json::Map<String, serde_json::Value>,
}

impl Event {
    /// The kind of the event that stands for lost lines of the record.
    pub(crate) const RECORD_GAP: &str = "record_gap";
}

/// The whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    /// When the last query ended.
    pub to_ns: u64,
    /// All intervals, with `late_after_settled` moved from timed out to answered late.
    #[serde(flatten, skip_deserializing)]
    pub tally: Tally,
    /// What passed the sockets during the run.
    pub arrivals: Arrivals,
    /// Why the figures may not be those of the server; none means `generator: ok`.
    #[serde(serialize_with = "with_texts")]
    #[schemars(with = "Vec<WarningWithText>")]
    pub warnings: Vec<Warning>,
    /// What the generator met that has moved no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "with_texts")]
    #[schemars(with = "Vec<WarningWithText>")]
    pub notes: Vec<Warning>,
    /// What ended the run.
    pub ended: Ended,
    /// The facts from which the warnings follow.
    pub evidence: Evidence,
    /// Responses that arrived after the interval of their query was written, with the query as timed out.
    pub late_after_settled: u64,
    /// Queries and CPU time of each worker, over the run.
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_WORKERS>")]
    pub workers: Vec<WorkerUse>,
    /// Time over which queries were due: the divisor of average rates.
    pub schedule_ns: u64,
    /// Passes through the source, with the fraction of the last one.
    #[serde(serialize_with = "dnsdyno_measure::finite::serialize")]
    pub passes: f64,
    /// Packets of the interface to the server; `None` where unknown.
    pub interface: Option<InterfaceCounts>,
    /// Queries by client (a connected client, or a UDP socket), without retries: for each number of queries, the
    /// clients that have sent so many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_RANGES>")]
    pub queries_per_client: Vec<PerClient>,
    /// What was behind counted failures, in words: the first of each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<Explanation>,
}

impl Sum {
    /// The same, with the verdict.
    pub fn judged(self, verdict: Verdict) -> Sum {
        Sum { warnings: verdict.doubts, notes: verdict.notes, ..self }
    }
}

/// A warning with its text for people.
#[derive(Serialize, JsonSchema)]
struct WarningWithText {
    #[serde(flatten)]
    warning: Warning,
    /// The figures and the advice, as the summary shows them.
    text: String,
}

fn with_texts<S: Serializer>(warnings: &[Warning], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        warnings
            .iter()
            .map(|warning| WarningWithText { warning: warning.clone(), text: warning.to_string() }),
    )
}

/// What ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// The end of the schedule, or of the duration.
    ByTime,
    /// The configured number of queries.
    ByCount,
    /// The configured number of passes.
    ByPasses,
    /// A condition of `--stop-when`.
    ByCondition {
        /// The condition as given.
        condition: String,
    },
    /// The user ended it with Ctrl-C (SIGINT).
    Interrupted,
    /// SIGTERM ended it.
    Terminated,
    /// SIGHUP ended it: its terminal was closed.
    HungUp,
    /// A failure of the generator.
    Failed {
        /// The failure, in words.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_is_an_object_with_its_reason() {
        let failed = Ended::Failed { why: "no socket".into() };
        let json = serde_json::to_string(&failed).unwrap();
        assert_eq!(json, r#"{"how":"failed","why":"no socket"}"#);
        assert_eq!(serde_json::from_str::<Ended>(&json).unwrap(), failed);
        assert_eq!(serde_json::to_string(&Ended::ByTime).unwrap(), r#"{"how":"by_time"}"#);
    }
}

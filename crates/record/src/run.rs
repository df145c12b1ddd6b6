//! What a record holds, as types: the header, the intervals, the events and the sum.
//!
//! All instants are nanoseconds since the start of the run on the monotonic clock; the wall
//! clock is kept once, in the header, to place them.

use std::net::{IpAddr, SocketAddr};

use dnsdyno_measure::{Arrivals, Evidence, Tally, Warning, WorkerUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::InterfaceCounts;

/// What is known before the first query leaves.
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
    /// A name the user gave to the run.
    #[serde(default)]
    pub name: Option<String>,
    /// A remark the user made on the run.
    #[serde(default)]
    pub note: Option<String>,
    /// Length of an interval.
    pub interval_ns: u64,
    /// How long an answer is waited for.
    pub timeout_ns: u64,
    /// Which latency stands first.
    pub headline: Headline,
    /// Query types of the plan; [`Tally::types`] has the same order.
    #[serde(with = "crate::names")]
    #[schemars(with = "Vec<String>")]
    pub types: Vec<u16>,
    /// The parts of the load that a reader may want to see apart, in order.
    pub phases: Vec<Phase>,
    /// The server as the user named it.
    pub target: String,
    /// Where the queries went.
    #[schemars(with = "String")]
    pub address: SocketAddr,
    /// `udp`, or the name of another transport; `mix` where there are several.
    pub transport: String,
    /// The transports of a mix; [`Tally::members`] has the same order.
    #[serde(default)]
    pub mix: Vec<MemberInfo>,
    /// What the queries leave by.
    #[serde(default)]
    pub backend: BackendInfo,
    /// Workers, one a core.
    pub workers: u32,
    /// Sockets, or source ports of AF_XDP, over all workers.
    pub clients: u32,
    /// UDP sockets over all workers, where there are clients beside them.
    #[serde(default)]
    pub udp_sockets: Option<u32>,
    /// Questions of one pass through the source.
    #[serde(alias = "questions")]
    pub queries: u64,
    /// Lines of the source that held no question and were skipped.
    pub bad_lines: u64,
    /// Whether answers were not waited for.
    pub send_only: bool,
    /// The load in words, one line: "50,000 queries/s for 30 s".
    pub load: String,
}

/// One transport of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberInfo {
    /// Its name.
    pub transport: String,
    /// Its share of the queries, as asked for; 0 to 1.
    pub share: f64,
    /// Where its queries went.
    #[schemars(with = "String")]
    pub address: SocketAddr,
}

/// What the queries of a run leave by: sockets of the kernel, or AF_XDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendInfo {
    /// Why, where the choice was left to the program.
    pub why: Option<String>,
    /// What was found of AF_XDP; `None` means sockets.
    pub xdp: Option<XdpInfo>,
}

/// AF_XDP as it was in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct XdpInfo {
    /// The interface.
    pub interface: String,
    /// Its queues.
    pub queues: u32,
    /// Where the program ran that picks out the answers: `native` or `generic`.
    pub mode: String,
    /// Whether packets passed without a copy.
    pub zero_copy: bool,
    /// The first address that queries came from.
    #[schemars(with = "String")]
    pub source: IpAddr,
    /// The first port that queries came from.
    pub first_port: u16,
    /// The last one.
    pub last_port: u16,
    /// The Ethernet address that queries went to.
    pub next_hop: String,
    /// Their 802.1Q tag.
    pub vlan: Option<u16>,
    /// Bytes of IP packet that the interface takes.
    pub mtu: u64,
}

/// The latency that stands first in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Headline {
    /// Answer − intended instant: open loop, where a schedule says when a query is due.
    Response,
    /// Answer − actual send: closed loop, where an answer makes the next query due.
    Service,
}

/// A part of the load: a step of a stair, a ramp, a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// A few words: "25,000 q/s".
    pub label: String,
    /// First instant of the phase.
    pub from_ns: u64,
    /// First instant after the phase.
    pub to_ns: u64,
}

/// One settled interval: each query that was due in it has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Number of the interval, 0 for the first.
    pub index: u64,
    /// First instant of the interval.
    pub from_ns: u64,
    /// First instant after the interval.
    pub to_ns: u64,
    /// Rate that the schedule asked for, on average over the interval; 0 in closed loop.
    #[serde(serialize_with = "dnsdyno_measure::finite::serialize")]
    pub asked_qps: f64,
    /// What became of the queries due in this interval.
    #[serde(flatten, skip_deserializing)]
    pub tally: Tally,
    /// What passed the sockets during this interval.
    pub arrivals: Arrivals,
    /// What each worker used during this interval.
    pub workers: Vec<WorkerUse>,
}

/// Something that happened at one instant and that a reader should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// What kind, in `snake_case`: "interrupt", "unreachable", "record_gap".
    pub kind: String,
    /// One sentence for a person.
    pub message: String,
    /// The figures in the sentence, for a program.
    pub figures: serde_json::Map<String, serde_json::Value>,
}

/// The whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    /// When the last query had ended.
    pub to_ns: u64,
    /// All intervals, with `late_after_settled` moved from timed out to answered late.
    #[serde(flatten, skip_deserializing)]
    pub tally: Tally,
    /// All that passed the sockets.
    pub arrivals: Arrivals,
    /// Why the figures may not be the server's; none means `generator: ok`.
    #[serde(serialize_with = "with_their_texts")]
    #[schemars(with = "Vec<Told>")]
    pub warnings: Vec<Warning>,
    /// What ended the run.
    pub ended: Ended,
    /// What the warnings were judged from.
    pub evidence: Evidence,
    /// Answers that came when the interval of their query had been written as timed out.
    pub late_after_settled: u64,
    /// What each worker used, over the run.
    pub workers: Vec<WorkerUse>,
    /// Time over which queries were due: what average rates divide by.
    pub schedule_ns: u64,
    /// Passes through the source, in fractions.
    #[serde(serialize_with = "dnsdyno_measure::finite::serialize")]
    pub passes: f64,
    /// What the interface towards the server counted; `None` where that is not known.
    pub interface: Option<InterfaceCounts>,
}

/// A warning with its sentence, which only people read.
#[derive(Serialize, JsonSchema)]
struct Told {
    #[serde(flatten)]
    warning: Warning,
    /// The figures and the advice, as the summary shows them.
    text: String,
}

fn with_their_texts<S: Serializer>(warnings: &[Warning], serializer: S) -> Result<S::Ok, S::Error> {
    serializer
        .collect_seq(warnings.iter().map(|warning| Told { warning: *warning, text: warning.to_string() }))
}

/// What ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// The schedule was over, or the time was up.
    ByTime,
    /// The number of queries asked for.
    ByCount,
    /// The number of passes asked for.
    ByPasses,
    /// The user ended it.
    Interrupted,
    /// A fault of the generator.
    Failed {
        /// The fault, in words.
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

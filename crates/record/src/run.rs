//! The content of a record as types: the header, the intervals, the events and the sum.
//!
//! All instants are nanoseconds since the start of the run on the monotonic clock. The header has the wall-clock time
//! of the start.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use dnsdyno_measure::{
    AnswerChecks, AnswerCounts, Arrivals, Evidence, Explanation, Histogram, Latency, MOST_KINDS,
    MOST_WATCHED, MemberTally, PerClient, ReplayCounts, Samples, Tally, Truncated, Verdict, Warning, Watched,
    WorkerUse, bounded, read_samples,
};
use dnsdyno_text::safe;
use serde::{Deserialize, Serialize, Serializer};

use crate::limits::{MOST_AGENTS, MOST_CHECKS, MOST_RANGES, MOST_WORKERS};
use crate::{AgentEnd, AgentInfo, Check, InterfaceCounts};

/// What is known before the first query is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub types: Vec<u16>,
    /// The parts of the load that a summary shows separately, in order.
    pub phases: Vec<Phase>,
    /// Whether the rate changes within a phase, by more than a tenth of the highest: then no row is a phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_slopes: bool,
    /// The server, as the user gave it.
    pub target: String,
    /// The address that the queries were sent to.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub address: SocketAddr,
    /// `udp`, or the name of another transport; `mix` where there are several.
    pub transport: String,
    /// The members of a mix, where there are several servers or transports; [`Tally::members`] has the same order.
    #[serde(default)]
    pub mix: Vec<MemberInfo>,
    /// Sockets or AF_XDP.
    #[serde(default)]
    pub backend: BackendInfo,
    /// Number of workers (threads); 0 where nothing was sent, and only watched.
    pub workers: u32,
    /// Why so many, where the user gave no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers_reason: Option<String>,
    /// Sockets, clients with connections, or source ports of AF_XDP, over all workers.
    pub clients: u32,
    /// UDP sockets over all workers, where there are clients with connections too.
    #[serde(default)]
    pub udp_sockets: Option<u32>,
    /// The kinds of simulated clients, where there are several; [`Arrivals::client_kinds`] has the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_KINDS>")]
    pub client_kinds: Vec<String>,
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
    /// The agents, where several hosts or processes make the load together; [`Interval::agents`] has the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_AGENTS>")]
    pub agents: Vec<AgentInfo>,
    /// The sources that are watched beside the load; [`Interval::watched`] has the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_WATCHED>")]
    pub watched: Vec<Watched>,
}

impl Header {
    /// Whether nothing was sent: the record has what was watched, and nothing else.
    pub fn is_watch_only(&self) -> bool {
        self.workers == 0
    }
}

impl Default for Header {
    /// What a run has that says nothing of itself: one worker with one UDP socket, in closed loop, to this host.
    fn default() -> Self {
        Header {
            run_id: String::new(),
            started_unix_ns: 0,
            command_line: Vec::new(),
            version: String::new(),
            name: None,
            note: None,
            interval_ns: 1_000_000_000,
            timeout_ns: 5_000_000_000,
            headline: Headline::Service,
            types: Vec::new(),
            phases: Vec::new(),
            has_slopes: false,
            target: String::new(),
            address: SocketAddr::from(([127, 0, 0, 1], 53)),
            transport: "udp".to_owned(),
            mix: Vec::new(),
            backend: BackendInfo::default(),
            workers: 1,
            workers_reason: None,
            clients: 1,
            udp_sockets: None,
            client_kinds: Vec::new(),
            queries: 0,
            queries_hash: None,
            bad_lines: 0,
            send_only: false,
            load: String::new(),
            checks: Vec::new(),
            agents: Vec::new(),
            watched: Vec::new(),
        }
    }
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

    /// What the members differ by; `None` where there is no mix.
    pub fn members_by(&self) -> Option<MembersBy> {
        fn are_alike<T: PartialEq>(values: &[T]) -> bool {
            values.windows(2).all(|pair| pair[0] == pair[1])
        }
        let transports: Vec<_> = self.mix.iter().map(|member| &member.transport).collect();
        let servers: Vec<_> = self.mix.iter().map(|member| &member.server).collect();
        let has_each_once = |known: HashSet<_>| known.len() == self.mix.len();
        let addresses = self.mix.iter().map(|member| member.address.to_string()).collect();
        match self.mix.is_empty() {
            true => None,
            false if are_alike(&transports) && has_each_once(addresses) => Some(MembersBy::Server),
            false if are_alike(&servers) && has_each_once(transports.into_iter().cloned().collect()) => {
                Some(MembersBy::Transport)
            }
            false => Some(MembersBy::Member),
        }
    }
}

/// One member of a mix: a server with a transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberInfo {
    /// Its name: the server, where members differ by that only. Empty in older records.
    #[serde(default)]
    pub name: String,
    /// The name of its transport.
    pub transport: String,
    /// The server, as the user gave it. Empty in older records.
    #[serde(default)]
    pub server: String,
    /// Its configured share of the queries, 0 to 1.
    pub share: f64,
    /// The address that its queries were sent to.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub address: SocketAddr,
}

impl MemberInfo {
    /// A member that is named as its transport.
    pub fn new(transport: &str, share: f64, address: SocketAddr) -> MemberInfo {
        let server = address.ip().to_string();
        MemberInfo { name: transport.to_owned(), transport: transport.to_owned(), server, share, address }
    }

    /// Its name; the transport in records without names.
    pub fn label(&self) -> &str {
        if self.name.is_empty() { &self.transport } else { &self.name }
    }
}

/// What the members of a mix differ by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MembersBy {
    /// The transport only.
    Transport,
    /// The server only.
    Server,
    /// More than one of both, or settings of their own.
    Member,
}

impl MembersBy {
    /// As a word before the list of members.
    pub fn word(self) -> &'static str {
        match self {
            MembersBy::Transport => "transport",
            MembersBy::Server => "server",
            MembersBy::Member => "member",
        }
    }
}

/// The backend of a run: sockets of the kernel, or AF_XDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackendInfo {
    /// Why, where dnsdyno chose it.
    pub why: Option<String>,
    /// The details of AF_XDP; `None` means sockets.
    pub xdp: Option<XdpInfo>,
}

/// AF_XDP as used in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct XdpInfo {
    /// The interface.
    pub interface: String,
    /// Its queues.
    pub queues: u32,
    /// Where the XDP program ran that selects the responses: `native` or `generic`.
    pub mode: String,
    /// Whether packets were passed without copying.
    pub zero_copy: bool,
    /// Whether queries were given to the driver beside the kernel's stack when very many were due at once.
    #[serde(default)]
    pub injects: bool,
    /// The first source address.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Headline {
    /// Response − intended instant: open loop, where a schedule says when a query is due.
    Response,
    /// Response − actual send: closed loop, where a response makes the next query due.
    Service,
}

/// A part of the load: a step of a stair, a ramp, a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Short description: "25,000 q/s".
    pub label: String,
    /// First instant of the phase.
    pub from_ns: u64,
    /// First instant after the phase.
    pub to_ns: u64,
}

/// One settled interval: all queries that were due in it have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Number of the interval, 0 for the first.
    pub index: u64,
    /// First instant of the interval.
    pub from_ns: u64,
    /// First instant after the interval.
    pub to_ns: u64,
    /// Time of the interval that the load covers, where that is not all of it: the divisor of its rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered_ns: Option<u64>,
    /// Scheduled rate, averaged over the time that the load covers; 0 in closed loop.
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
    /// What of it is of each agent, of a run on several hosts; `null` where its part is missing, and so is not in the
    /// figures of this interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_AGENTS>")]
    pub agents: Vec<Option<MemberTally>>,
    /// What was read during this interval, by the number of its source in `watched` of the header; `null` where a
    /// source was not read in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "read_samples")]
    pub watched: Vec<Option<Samples>>,
}

impl Interval {
    /// Whether the part of an agent is missing: it has no rate then.
    pub fn is_partial(&self) -> bool {
        self.agents.iter().any(Option::is_none)
    }

    /// Time that the load covers, from the first instant at which a query could be due to the last: less than the
    /// interval where the load begins or ends within it, 0 where the run only waits for responses.
    pub fn covered_ns(&self) -> u64 {
        let length_ns = self.to_ns.saturating_sub(self.from_ns);
        self.covered_ns.map_or(length_ns, |covered_ns| covered_ns.min(length_ns))
    }
}

/// Something notable that happened during the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// The instant.
    pub at_ns: u64,
    /// The kind, in `snake_case`: "interrupt", "unreachable", "record_gap", "note".
    pub kind: String,
    /// A sentence for people.
    pub message: String,
    /// The figures in the sentence, for programs.
    #[serde(deserialize_with = "crate::limits::figures")]
    pub figures: serde_json::Map<String, serde_json::Value>,
}

/// The figure of an event of the kind `condition`: the end of the interval with which the condition held, in ns.
pub const HELD_UNTIL: &str = "held_until_ns";

impl Event {
    /// The kind of the event that stands for lost lines of the record.
    pub(crate) const RECORD_GAP: &str = "record_gap";

    /// The kind of what somebody said during the run, with `dnsdyno note`.
    pub const NOTE: &str = "note";

    /// A note that was given during the run.
    pub fn note(at_ns: u64, text: String) -> Event {
        Event { at_ns, kind: Event::NOTE.to_owned(), message: text, figures: serde_json::Map::new() }
    }

    /// Whether it is what somebody said, not what was measured.
    pub fn is_note(&self) -> bool {
        self.kind == Event::NOTE
    }

    /// The sentence for people: of a note with a word that says so.
    pub fn words(&self) -> String {
        let message = safe(&self.message);
        if self.is_note() { format!("note: {message}") } else { message }
    }
}

/// The whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schema", schemars(with = "Vec<WarningWithText>"))]
    pub warnings: Vec<Warning>,
    /// What the generator met that has moved no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "with_texts")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<WarningWithText>"))]
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
    /// When the last response in time was received; `None` where none was, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_answer_ns: Option<u64>,
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
    /// How each agent ended its part, of a run on several hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_AGENTS>")]
    pub agents: Vec<AgentEnd>,
    /// What was behind counted failures, in words: the first of each kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanations: Vec<Explanation>,
    /// Which questions have fallen back from UDP to TCP; `None` where none has, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    /// What was read from the capture that was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayCounts>,
    /// Answers, compared with those of the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswerCounts>,
    /// Answers, compared with those before the load; `None` where they were not, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_checks: Option<AnswerChecks>,
    /// What was read beside the load, over the run: every series of each source, by its number in `watched` of the
    /// header.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "read_samples")]
    pub watched: Vec<Option<Samples>>,
}

impl Sum {
    /// The same, with the verdict.
    pub fn judged(self, verdict: Verdict) -> Sum {
        Sum { warnings: verdict.doubts, notes: verdict.notes, ..self }
    }
}

/// A warning with its text for people.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// The end of the schedule, or of the duration.
    #[default]
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

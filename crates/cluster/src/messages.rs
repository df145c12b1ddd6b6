//! What coordinator and agent say to each other, as JSON: one message a frame.
//!
//! ```text
//!   coordinator                      agent
//!     hello            ──►             ◄──  hello
//!     prepare          ──►             ◄──  lacks (files)
//!     nonce            ──►             ◄──  nonce            over a broker, where `signed` stands for `prepare`
//!     stored           ──►             ◄──  (not_stored)     over a broker with an object store
//!     calibrate        ──►             ◄──  calibrated       where the hosts may differ
//!     examine          ──►             ◄──  examined         for `dnsdyno agents`
//!     file, parts …    ──►             ◄──  said …, ready
//!     clock            ──►             ◄──  clock            many times
//!     start            ──►             ◄──  the lines of the record, passed …
//!     alive            ──►             ◄──  alive            twice a second, both ways
//!     stop             ──►             ◄──  ended
//!     received         ──►                                   the agent forgets the run
//! ```

use dnsdyno_measure::{Arrivals, Facts};
use dnsdyno_record::HostInfo;
use serde::{Deserialize, Serialize};

use crate::signed::{Nonce, Signed};

/// Of what both sides speak. A side that speaks another refuses the other before the load.
pub(crate) const PROTOCOL: u32 = 4;

/// From the coordinator to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The first message.
    Hello { protocol: u32, version: String },
    /// Make this run ready.
    Prepare(Box<Task>),
    /// Give a nonce for the signature of a task.
    Nonce,
    /// Make the run of this task ready: in the place of `prepare` where anyone may be at the other end of the link.
    Signed(Box<Signed>),
    /// A file follows, in frames: so many octets.
    File { hash: String, bytes: u64 },
    /// A file is in the object store of the broker, under its hash.
    Stored { hash: String, bytes: u64 },
    /// Say how fast the host is.
    Calibrate,
    /// Say what a doctor wants to know of the host.
    Examine,
    /// Say what time it is.
    Clock { number: u64 },
    /// The run starts at this instant of the agent's monotonic clock.
    Start { epoch_ns: u64 },
    /// The coordinator is there.
    Alive,
    /// Send no more queries, and wait for the outstanding ones; or end at once.
    Stop { how: Stop, at_once: bool },
    /// The whole record has come: the agent need not keep it.
    Received,
}

/// Why an agent is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stop {
    Interrupt,
    Terminate,
    HangUp,
    /// A condition of the plan, which the coordinator judges.
    Condition,
    NoLongerWaiting,
}

/// The part of a run that an agent makes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The name of the agent in this run.
    pub(crate) agent: String,
    /// The options of the run, as a plan file, with the part of this agent. A file is named by its hash: `sha256:…`.
    pub(crate) plan: String,
    /// What the agent watches, with what a URL has for its user, which no plan file has.
    pub(crate) watch: Option<Vec<String>>,
    /// Whether the user says that a public address may be loaded.
    pub(crate) may_load: bool,
    /// The key of signatures, which no plan file has.
    pub(crate) tsig: Option<String>,
    /// The files that the options name.
    pub(crate) files: Vec<FileInfo>,
}

/// Numbers the hosts that call themselves by the same name, such as those copied from one image: `debian`, `debian#2`.
pub(crate) fn name_apart(mut all: Vec<&mut AgentFacts>) {
    let mut hosts: Vec<(String, String)> = Vec::new();
    for facts in &mut all {
        let host = (facts.host.clone(), facts.boot.clone());
        if !hosts.contains(&host) {
            hosts.push(host.clone());
        }
        let number = hosts.iter().filter(|(name, _)| *name == host.0).position(|(_, boot)| *boot == host.1);
        if let Some(number @ 1..) = number {
            facts.host = format!("{}#{}", host.0, number + 1);
        }
    }
}

/// A file that the plan names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileInfo {
    /// The SHA-256 of its content, in hexadecimal.
    pub(crate) hash: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// Where the coordinator has it: an agent on the same host need not get it.
    pub(crate) path: String,
}

/// From an agent to the coordinator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The first message.
    Hello { protocol: u32, facts: AgentFacts },
    /// A nonce for one signature.
    Nonce(Nonce),
    /// Files of the task that the agent does not have, by their hashes.
    Lacks { hashes: Vec<String> },
    /// A file could not be had from the object store: send it.
    NotStored { hash: String },
    /// A message for the user.
    Said { words: String },
    /// Everything is open and checked; the workers need so much time from now on.
    Ready { preparation_ns: u64, host: Box<HostInfo> },
    /// How fast one CPU of the host sends and receives, in datagrams a second; `None` where that is not known now.
    Calibrated { speed: Option<f64> },
    /// The facts of the host; `None` where they could not be gathered now.
    Examined { facts: Option<Facts> },
    /// The monotonic clock, when the order came and when this was sent.
    Clock { number: u64, received_ns: u64, sent_ns: u64 },
    /// The agent is there.
    Alive,
    /// A wall interval is over.
    Passed(Box<Passed>),
    /// The run has ended; its whole record was sent.
    Ended,
    /// The run was not made, or could not be ended.
    Refused { why: String, cause: RefusalCause },
}

/// What a refusal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCause {
    /// The run would be refused everywhere.
    BadInput,
    /// The server did not answer as it should before the load.
    Check,
    /// The agent or its host.
    Other,
}

/// A wall interval of one agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Passed {
    pub(crate) index: u64,
    pub(crate) to_ns: u64,
    pub(crate) covered_ns: u64,
    pub(crate) asked_qps: f64,
    pub(crate) arrivals: Arrivals,
}

/// What an agent says of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentFacts {
    /// Version of dnsdyno.
    pub version: String,
    /// The name by which the host calls itself.
    pub host: String,
    /// What tells it from another host of that name: the number of its boot.
    pub boot: String,
    /// The kernel.
    pub kernel: String,
    /// CPUs that the agent may use.
    pub cpus: u32,
    /// By how much its wall clock can be wrong; `None` where nothing keeps that clock right.
    pub wall_clock_bound_ns: Option<u64>,
    /// Whether it has the rights for AF_XDP (root).
    pub may_use_xdp: bool,
    /// What the agent may load, in words.
    pub permission: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_one_name_are_numbered_and_agents_on_one_host_are_not() {
        let of = |(host, boot): (&str, &str)| AgentFacts {
            host: host.to_owned(),
            boot: boot.to_owned(),
            ..AgentFacts::default()
        };
        let mut all =
            [("debian", "1"), ("a", "1"), ("debian", "2"), ("debian", "1"), ("debian", "2"), ("debian", "3")]
                .map(of);
        name_apart(all.iter_mut().collect());
        let hosts = all.each_ref().map(|facts| facts.host.as_str());
        assert_eq!(hosts, ["debian", "a", "debian#2", "debian", "debian#2", "debian#3"]);
    }
}

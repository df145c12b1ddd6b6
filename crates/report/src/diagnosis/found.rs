//! What a diagnosis says, for people and programs: the types of `dnsdyno diagnose --json`.
//!
//! All texts are safe to print: what servers and records gave is escaped when they are made.

use serde::{Deserialize, Serialize};

/// What the evidence of a run shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The result in one sentence.
    pub verdict: String,
    /// Whether anything was watched beside the load: without it, only the generator's own side is known.
    pub watched: bool,
    /// Why the figures may not be those of the server: the generator's warnings. They come before any finding.
    pub generator: Vec<String>,
    /// What there is to explain.
    pub trouble: Trouble,
    /// The bottlenecks that the evidence shows, in the order of how much each explains, but a cause before what it
    /// causes.
    pub findings: Vec<Finding>,
    /// How many were counted at each place between the hosts, and where they differ.
    pub cross_check: Vec<Comparison>,
    /// What could not be compared, each with the reason.
    pub not_compared: Vec<String>,
    /// Queries without an answer that no finding explains.
    pub unexplained: u64,
}

/// The queries that got no answer in time, and the intervals in which responses were slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Queries without an answer in time, or with an answer that is an error.
    pub unanswered: u64,
    /// Queries due.
    pub due: u64,
    /// Intervals in which responses were slow.
    pub slow_intervals: u64,
    /// Intervals in which queries were due.
    pub intervals: u64,
}

/// A bottleneck, with its evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The name of the rule: `udp-receive-queue`.
    pub rule: String,
    /// What happened, as a part of a sentence: "the server's UDP receive queue overflowed".
    #[serde(default)]
    pub title: String,
    /// One sentence with its figures.
    pub sentence: String,
    /// What it explains.
    pub explains: Explained,
    /// What it explains, as a share: of the queries without an answer, or, where it explains none, of the slow
    /// intervals.
    pub share: f64,
    /// The series that show it, the nearest one to the queries first.
    pub evidence: Vec<Evidence>,
    /// The parameters that bear on it, with their present values.
    pub parameters: Vec<Parameter>,
    /// What to try, in words.
    pub advice: String,
    /// How to see that a change has helped.
    pub check: String,
    /// Where the knowledge of the rule is from.
    pub source: String,
}

/// What a finding explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// Queries without an answer.
    pub unanswered: u64,
    /// Of so many.
    pub of: u64,
    /// Slow intervals.
    pub slow_intervals: u64,
    /// Of so many.
    pub of_slow_intervals: u64,
}

/// A series that shows a bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The label of the source.
    pub source: String,
    /// The name of the series.
    pub series: String,
    /// By how much the counter rose over the run, or the highest value of the gauge.
    pub value: u64,
    /// The limit that the gauge reached, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A parameter that bears on a bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name in the configuration of the server, or in the kernel.
    pub name: String,
    /// Whose it is: the label of the source, or the software.
    pub of: String,
    /// The present value; "not set" where the configuration was read whole and does not have it, with the default of
    /// the server; "not known" where it was not read.
    pub value: String,
    /// What to try.
    pub r#try: String,
}

/// The same messages, counted at two places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// What was counted: "queries over UDP".
    pub messages: String,
    /// The first place: "sent by the generator".
    pub from: String,
    /// How many were counted there.
    pub from_count: u64,
    /// The place after it: "received by the server's host".
    pub to: String,
    /// How many were counted there.
    pub to_count: u64,
    /// What is between the two: `generator-host`, `path`, `server-kernel`, `server-queue`, `server`; `way` is all of
    /// them together.
    pub between: String,
    /// How many are missing at the second place; negative where there are more than at the first.
    pub missing: i64,
    /// The comparison in one sentence.
    pub sentence: String,
}

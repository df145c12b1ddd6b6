//! What a record says of the agents that made a load together.

use dnsdyno_measure::{MemberTally, Warning};
use serde::{Deserialize, Serialize};

/// An agent of a run: a process that makes a part of the load, on a host of its own or beside others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentInfo {
    /// Its name, unique in the run: the host, as the user gave it.
    pub name: String,
    /// The name by which its host calls itself; of a part that was merged, the number of its host's boot.
    pub host: String,
    /// Version of dnsdyno there.
    pub version: String,
    /// The kernel there.
    pub kernel: String,
    /// CPUs that it may use.
    pub cpus: u32,
    /// Its workers: its share of the load is their share of all workers.
    pub workers: u32,
    /// The first of them, from 0 on: which queries it sends.
    pub first_worker: u32,
    /// Its monotonic clock against the coordinator's, before the start; `None` in a record that was joined afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockOffset>,
    /// By how much its wall clock can be wrong, in nanoseconds, as its kernel says; `None` where nothing keeps that
    /// clock right (no NTP, chrony or PTP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_clock_bound_ns: Option<u64>,
}

/// The offset between two clocks, from exchanges of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClockOffset {
    /// The agent's clock less the coordinator's, in nanoseconds.
    pub offset_ns: i64,
    /// How wrong that can be: half of the shortest round trip.
    pub bound_ns: u64,
    /// Exchanges.
    pub exchanges: u64,
}

/// How an agent ended its part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentEnd {
    /// Its queries.
    pub tally: MemberTally,
    /// How late its first query left, by its own clock; `None` where it sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_send_late_ns: Option<u64>,
    /// Its clock after the run; the difference to that before it is the drift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockOffset>,
    /// Why it was lost, or its part is not whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Intervals without its part.
    pub missing_intervals: u64,
    /// Its own doubts of its figures.
    pub warnings: Vec<Warning>,
}

/// `partial: lg2 is missing`: which of these agents have no part in an interval with these parts; `None` where all
/// have.
pub fn missing_words(agents: &[AgentInfo], parts: &[Option<MemberTally>]) -> Option<String> {
    let missing = agents.iter().zip(parts).filter(|(_, part)| part.is_none());
    let names: Vec<&str> = missing.map(|(agent, _)| agent.name.as_str()).collect();
    match names[..] {
        [] if parts.iter().all(Option::is_some) => None,
        [] => Some("partial".to_owned()),
        [one] => Some(format!("partial: {one} is missing")),
        [one, other] => Some(format!("partial: {one} and {other} are missing")),
        [one, ..] => Some(format!("partial: {one} and {} more are missing", names.len() - 1)),
    }
}

impl AgentEnd {
    /// The difference between the earliest and the latest start of agents, and how wrong it can be: what the clocks of
    /// those that have started are uncertain by, where it is known of each. `None` where fewer than two have sent a
    /// query.
    pub fn start_spread_ns(agents: &[AgentInfo], ends: &[AgentEnd]) -> Option<(u64, Option<u64>)> {
        let started =
            || agents.iter().zip(ends).filter_map(|(agent, end)| Some((agent, end.first_send_late_ns?)));
        let late = started().map(|(_, late_ns)| late_ns);
        let (least, most) = (late.clone().min()?, late.max()?);
        let bounds: Option<Vec<u64>> = started().map(|(agent, _)| Some(agent.clock?.bound_ns)).collect();
        let widest = bounds.map(|mut bounds| {
            bounds.sort_unstable();
            bounds.iter().rev().take(2).sum()
        });
        (started().count() > 1).then_some((most - least, widest))
    }
}

//! What was read beside the load, on hosts and from servers: named series, by interval.
//!
//! ```text
//!   a source   the kernel of a host, a process, the statistics of a server     (Watched, once a run)
//!   a series   "udp.rcvbuf_errors": a counter or a gauge of one source
//!   samples    how much each counter rose in an interval, the highest value of each gauge
//! ```
//!
//! The unit is the end of a name: `_bytes`, `_ns`, `_hz`, `_celsius_milli`, `_permille`; a name without one is a count.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::bounded;

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WatchedKind {
    /// A host, or a network namespace of it: the counters of its kernel, its CPUs and its network interfaces.
    Host,
    /// A process, with its threads and its sockets.
    Process,
    /// The statistics that a server keeps about itself.
    Server,
}

impl WatchedKind {
    /// As in records.
    pub fn word(self) -> &'static str {
        match self {
            WatchedKind::Host => "host",
            WatchedKind::Process => "process",
            WatchedKind::Server => "server",
        }
    }
}

/// Whose counters a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Of the server under test, or the host or network namespace in which it runs.
    Server,
    /// Of the generator's host.
    Generator,
    /// Generator and server share it.
    Both,
    /// Of something else, such as a back end.
    Other,
}

/// A source that is watched, as it was found before the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watched {
    /// What it is.
    pub kind: WatchedKind,
    /// Whose counters it has.
    pub side: Side,
    /// For people: "this host", "named (4711)", "BIND at 127.0.0.1:8053".
    pub label: String,
    /// The software of a process or server, by its word in the catalogue of servers (`bind`); `None` where it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// Its version, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Parameters with their values: `net.core.rmem_max` of a host, `tcp-clients` of a server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(deserialize_with = "bounded::map::<_, _, MOST_SERIES>")]
    pub settings: BTreeMap<String, String>,
    /// Parameters that its configuration, which was read whole, does not set: each has its default. One that is neither
    /// here nor in `settings` is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_SERIES>")]
    pub unset: Vec<String>,
    /// What cannot be read of it, each with the reason and what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "bounded::list::<_, _, MOST_SERIES>")]
    pub missing: Vec<String>,
}

/// The series of one source in an interval, or over a run.
///
/// In an interval, a counter that has not risen and a gauge that is 0 are left out. In the sum of a run, no series is
/// left out: it tells 0 from "not read".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Samples {
    /// By how much each counter rose.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(deserialize_with = "bounded::map::<_, _, MOST_SERIES>")]
    pub counters: BTreeMap<String, u64>,
    /// The highest value of each gauge.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(deserialize_with = "bounded::map::<_, _, MOST_SERIES>")]
    pub gauges: BTreeMap<String, u64>,
}

impl Samples {
    /// Whether nothing has moved.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty() && self.gauges.is_empty()
    }

    /// By how much a counter rose; 0 if it did not, or was not read.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// The highest value of a gauge; 0 if it was not read.
    pub fn gauge(&self, name: &str) -> u64 {
        self.gauges.get(name).copied().unwrap_or(0)
    }

    /// Adds samples of other intervals of the same source. A series beyond [`MOST_SERIES`] is left out.
    pub fn merge(&mut self, other: &Samples) {
        each(&mut self.counters, &other.counters, u64::saturating_add);
        each(&mut self.gauges, &other.gauges, u64::max);
    }
}

fn each(series: &mut BTreeMap<String, u64>, others: &BTreeMap<String, u64>, join: fn(u64, u64) -> u64) {
    for (name, value) in others {
        let is_full = series.len() >= MOST_SERIES;
        match series.get_mut(name) {
            Some(joined) => *joined = join(*joined, *value),
            None if is_full => {}
            None => drop(series.insert(name.clone(), *value)),
        }
    }
}

/// Adds samples, by the number of their source; `None` where a source was not read.
pub fn merge_samples(all: &mut Vec<Option<Samples>>, others: &[Option<Samples>]) {
    all.resize(all.len().max(others.len()), None);
    for (samples, other) in all.iter_mut().zip(others) {
        if let Some(other) = other {
            samples.get_or_insert_default().merge(other);
        }
    }
}

/// Reads the samples of an interval, by the number of their source.
///
/// # Errors
/// There are more sources than a run can have, or more series than a source can have.
pub fn read_samples<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Option<Samples>>, D::Error> {
    bounded::list::<_, _, MOST_WATCHED>(deserializer)
}

/// Sources of a run.
pub const MOST_WATCHED: usize = 64;

/// Series of a source: a BIND with every counter, or a host with hundreds of CPUs and interrupts.
pub const MOST_SERIES: usize = 4_096;

/// Octets of the name of a series.
pub const LONGEST_SERIES_NAME: usize = bounded::LONGEST_NAME;

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(counter: u64, gauge: u64) -> Samples {
        Samples {
            counters: [("queries".into(), counter)].into(),
            gauges: [("tcp.open".into(), gauge)].into(),
        }
    }

    #[test]
    fn counters_are_added_and_of_gauges_the_highest_is_kept() {
        let mut all = vec![None, Some(samples(1, 5))];
        merge_samples(&mut all, &[Some(samples(2, 3)), Some(samples(4, 4)), None]);
        assert_eq!(all, [Some(samples(2, 3)), Some(samples(5, 5)), None]);
        assert_eq!(all[0].as_ref().unwrap().counter("queries"), 2);
        assert_eq!(all[0].as_ref().unwrap().gauge("none"), 0);
    }

    #[test]
    fn samples_are_read_as_they_were_written_and_what_has_not_moved_takes_no_space() {
        let written = serde_json::to_string(&[Some(samples(1, 2)), Some(Samples::default()), None]).unwrap();
        assert_eq!(written, r#"[{"counters":{"queries":1},"gauges":{"tcp.open":2}},{},null]"#);
        let read = read_samples(&mut serde_json::Deserializer::from_str(&written)).unwrap();
        assert_eq!(read, [Some(samples(1, 2)), Some(Samples::default()), None]);
        let many = format!("[{}]", vec!["null"; MOST_WATCHED + 1].join(","));
        assert!(read_samples(&mut serde_json::Deserializer::from_str(&many)).is_err());
    }
}

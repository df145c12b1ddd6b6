//! What is known of the generator at the end of a run, beside what was counted.

use serde::{Deserialize, Serialize};

use crate::Neighbour;

/// Facts about the generator at the end of a run, in addition to the tally.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Evidence {
    /// Whether the load followed a schedule (open loop), not a window.
    pub open_loop: bool,
    /// Time over which queries were due, in nanoseconds.
    pub schedule_ns: u64,
    /// Workers of the run; 0 in a record of before it was written.
    pub workers: u64,
    /// Queries that a closed loop keeps outstanding, over all workers; 0 in every other load.
    pub window: u64,
    /// Timeout of a query, in nanoseconds; 0 in a record of before it was written.
    pub timeout_ns: u64,
    /// When the last query of the schedule was scheduled, in nanoseconds after the start.
    pub scheduled_until_ns: u64,
    /// Packets dropped at our sockets.
    pub socket_drops: u64,
    /// IP fragments of responses, which AF_XDP does not reassemble.
    pub fragments: u64,
    /// Packets that the interface to the server sent during the run, including those of other programs; `None` where
    /// unknown, or where its driver may not count all.
    pub interface_packets: Option<u64>,
    /// Whether every query was sent in its own UDP datagram. Over TCP, TLS and QUIC a packet may contain several.
    pub datagrams_only: bool,
    /// Length of the run until its last query ended, in nanoseconds.
    pub lasted_ns: u64,
    /// How often a query waited for a free ID, over all workers.
    pub id_waits: u64,
    /// How often a query waited for a client with a free connection, over all workers; open loop only.
    pub connection_waits: u64,
    /// How often a worker waited for the reader of a streamed source, over all workers.
    pub reader_waits: u64,
    /// How long the worker waited for it that waited longest, in nanoseconds.
    pub reader_waited_ns: u64,
    /// Connections that found no free local port.
    pub connects_without_port: u64,
    /// The first local port that they could have; 0 where there were none, and in a record of before it was written.
    pub first_local_port: u64,
    /// The last one.
    pub last_local_port: u64,
    /// Sockets, over all workers.
    pub sockets: u64,
    /// CPU time of the busiest worker as a share of one CPU, over its worst five intervals.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub busiest_worker_cpu: f64,
    /// Time that the worst worker waited for a CPU, as a share of the run.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub worst_worker_wait: f64,
    /// Largest jump of the wall clock relative to the monotonic clock, in nanoseconds.
    pub clock_step_ns: i64,
    /// Processes that may run on our CPUs: the server, and others that used more than a tenth of a CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
}

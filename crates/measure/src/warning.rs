//! Doubt as a type: what the generator found wrong with itself, with the figure and the advice.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One reason not to take the run's figures for the server's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", content = "figures", rename_all = "snake_case")]
pub enum Warning {
    /// Queries left later than the schedule said.
    SendsLate {
        /// p99 of actual send − intended instant.
        p99_lateness_ns: u64,
        /// Average time between two queries of the schedule.
        gap_ns: u64,
    },
    /// Queries did not leave for a reason of our own.
    SendsMissing {
        /// Queries that never left.
        not_sent: u64,
        /// Queries that the schedule asked for.
        scheduled: u64,
    },
    /// The kernel took queries that never reached the interface.
    SendsVanished {
        /// Queries that the kernel took.
        taken: u64,
        /// Packets that the interface sent, those of other programs included.
        packets: u64,
    },
    /// The kernel dropped answers because we did not read them in time.
    SocketDrops {
        /// Packets dropped at our sockets; where the kernel had joined several, a lower bound.
        packets: u64,
        /// Queries that timed out in the same run.
        timed_out: u64,
    },
    /// Answers came in IP fragments, which AF_XDP does not join.
    AnswersInFragments {
        /// The fragments.
        fragments: u64,
        /// Queries that timed out in the same run.
        timed_out: u64,
    },
    /// A worker used up its CPU.
    CpuSaturated {
        /// The busiest worker's CPU time as a share of one CPU, 0 to 1.
        #[serde(serialize_with = "crate::finite::serialize")]
        share: f64,
    },
    /// A worker was ready to run and got no CPU.
    CpuStarved {
        /// The worst worker's waiting time as a share of the run, 0 to 1.
        #[serde(serialize_with = "crate::finite::serialize")]
        share: f64,
    },
    /// Queries waited for a free message ID.
    IdsExhausted {
        /// How often a due query found every ID in use.
        waits: u64,
        /// Sockets of the run.
        sockets: u64,
    },
    /// Queries waited because each client's connection had all it may carry.
    ClientsBusy {
        /// How often a due query found no connection that takes it.
        waits: u64,
        /// Clients of the run.
        clients: u64,
    },
    /// Connections found every local port in use.
    PortsExhausted {
        /// How many.
        connects: u64,
    },
    /// The wall clock jumped against the monotonic clock.
    ClockStepped {
        /// The largest jump, signed, in nanoseconds.
        step_ns: i64,
    },
}

impl Warning {
    /// The name in the record.
    pub const fn name(&self) -> &'static str {
        match self {
            Warning::SendsLate { .. } => "sends_late",
            Warning::SendsMissing { .. } => "sends_missing",
            Warning::SendsVanished { .. } => "sends_vanished",
            Warning::SocketDrops { .. } => "socket_drops",
            Warning::AnswersInFragments { .. } => "answers_in_fragments",
            Warning::CpuSaturated { .. } => "cpu_saturated",
            Warning::CpuStarved { .. } => "cpu_starved",
            Warning::IdsExhausted { .. } => "ids_exhausted",
            Warning::ClientsBusy { .. } => "clients_busy",
            Warning::PortsExhausted { .. } => "ports_exhausted",
            Warning::ClockStepped { .. } => "clock_stepped",
        }
    }

    /// What the user can do about it.
    pub const fn advice(&self) -> &'static str {
        match self {
            Warning::SendsLate { .. } => {
                "lower the rate, add --workers, or give the generator CPUs of its own"
            }
            Warning::SendsMissing { .. } => "see the reasons under \"not sent\"",
            Warning::SendsVanished { .. } => {
                "this host dropped them: does the next hop answer (`ip neigh`), is there a firewall, \
                 a full queue (`tc -s qdisc`)?"
            }
            Warning::SocketDrops { .. } => {
                "these are not the server's losses: raise --receive-buffer and net.core.rmem_max, or add --workers"
            }
            Warning::AnswersInFragments { .. } => {
                "not the server's losses: ask for smaller answers (--edns-size 1232), or use --backend sockets"
            }
            Warning::CpuSaturated { .. } => "the generator may be the limit: add --workers or CPUs",
            Warning::CpuStarved { .. } => "other processes take the generator's CPUs: free or pin them",
            Warning::IdsExhausted { .. } => "add --clients: each socket has 65,536 IDs",
            Warning::ClientsBusy { .. } => "add --clients: one that waits for its answers asks nothing more",
            Warning::PortsExhausted { .. } => {
                "send from more addresses (--local-address 127.0.1.0/24), widen net.ipv4.ip_local_port_range, \
                 or ask more over each connection (--queries-per-connection)"
            }
            Warning::ClockStepped { .. } => {
                "latencies are not touched (they use the monotonic clock), but wall times of the record are"
            }
        }
    }
}

/// The sentence of a summary: the figure, then the advice.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Warning::SendsLate { p99_lateness_ns, gap_ns } => write!(
                f,
                "sends late: p99 {:.3} ms behind the schedule (gap between queries {:.3} ms)",
                p99_lateness_ns as f64 * 1e-6,
                gap_ns as f64 * 1e-6
            ),
            Warning::SendsMissing { not_sent, scheduled } => {
                write!(f, "sends missing: {not_sent} of {scheduled} queries never left")
            }
            Warning::SendsVanished { taken, packets } => write!(
                f,
                "sends vanished: the kernel took {taken} queries, and the interface sent {packets} packets"
            ),
            Warning::SocketDrops { packets, timed_out } => write!(
                f,
                "socket drops: our own sockets dropped at least {packets} packets ({timed_out} queries timed out)"
            ),
            Warning::AnswersInFragments { fragments, timed_out } => write!(
                f,
                "answers in fragments: {fragments} IP fragments came, which AF_XDP does not join \
                 ({timed_out} queries timed out)"
            ),
            Warning::CpuSaturated { share } => {
                write!(f, "CPU saturated: the busiest worker used {:.0} % of a CPU", share * 100.0)
            }
            Warning::CpuStarved { share } => {
                write!(f, "CPU starved: a worker waited for a CPU {:.0} % of the time", share * 100.0)
            }
            Warning::IdsExhausted { waits, sockets } => {
                write!(f, "IDs exhausted: {waits} waits for a free ID on {sockets} sockets")
            }
            Warning::ClientsBusy { waits, clients } => {
                write!(
                    f,
                    "clients busy: {waits} waits for one of {clients} clients whose connection takes a query"
                )
            }
            Warning::PortsExhausted { connects } => {
                write!(f, "local ports exhausted: {connects} connections found no free one")
            }
            Warning::ClockStepped { step_ns } => {
                write!(f, "clock stepped: the wall clock jumped by {:.3} ms", step_ns as f64 * 1e-6)
            }
        }?;
        write!(f, "; {}", self.advice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_written_under_its_name_and_read_back() {
        for warning in [
            Warning::SendsLate { p99_lateness_ns: 3_100_000, gap_ns: 20_000 },
            Warning::SendsMissing { not_sent: 3, scheduled: 9 },
            Warning::SendsVanished { taken: 900, packets: 7 },
            Warning::SocketDrops { packets: 805, timed_out: 812 },
            Warning::AnswersInFragments { fragments: 6, timed_out: 3 },
            Warning::CpuSaturated { share: 0.1 + 0.2 },
            Warning::CpuStarved { share: 1.0 },
            Warning::IdsExhausted { waits: 1, sockets: 2 },
            Warning::ClientsBusy { waits: 8, clients: 4 },
            Warning::PortsExhausted { connects: 6 },
            Warning::ClockStepped { step_ns: -7_000_000 },
        ] {
            let json = serde_json::to_value(warning).unwrap();
            assert_eq!(json["name"], warning.name());
            assert_eq!(serde_json::from_value::<Warning>(json).unwrap(), warning);
        }
    }
}

//! Warnings of the generator about itself, each with its figures and advice.

use std::fmt;

use dnsdyno_text::units::{count, counted, duration, percent};
use serde::{Deserialize, Serialize};

use crate::Neighbour;

/// What the generator has met. Of the doubts of a verdict: a reason why rate and loss may not be those of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "name", content = "figures", rename_all = "snake_case")]
pub enum Warning {
    /// Queries were sent later than scheduled. What that may have added to a percentile is in its bounds.
    SendsLate {
        /// p99 of actual send − intended instant.
        p99_lateness_ns: u64,
        /// The largest of them; 0 in a record of before it was written.
        #[serde(default)]
        longest_ns: u64,
    },
    /// The load was not made in its time: the last query was scheduled after the end of the schedule.
    SendsBehind {
        /// How long after it.
        behind_ns: u64,
        /// Time over which queries were due.
        schedule_ns: u64,
        /// How often a due query found the connections of all clients in use.
        #[serde(default)]
        connection_waits: u64,
    },
    /// Queries that were sent late, in bursts, were lost more often than those sent in time.
    BurstsLost {
        /// Queries lost by that, at the most.
        lost: u64,
        /// All lost queries.
        of: u64,
    },
    /// In a closed loop, or held back by their window, queries spent a part of their time with the generator, which
    /// lowers the rate.
    OwnShare {
        /// That part, at the most, 0 to 1.
        #[serde(serialize_with = "crate::finite::serialize")]
        share: f64,
    },
    /// The source of the queries was read more slowly than they were due.
    ReaderBehind {
        /// How often a worker found no query that had been read.
        waits: u64,
        /// How long the worker waited that waited longest.
        waited_ns: u64,
    },
    /// Queries were not sent, for a reason on this host.
    SendsMissing {
        /// Queries not sent.
        not_sent: u64,
        /// Queries scheduled.
        scheduled: u64,
    },
    /// The kernel accepted queries that never reached the interface.
    SendsVanished {
        /// Queries that the kernel accepted.
        taken: u64,
        /// Packets that the interface sent, including those of other programs.
        packets: u64,
    },
    /// The interface dropped packets that the kernel had accepted.
    SendsDropped {
        /// Packets dropped before sending, including those of other programs.
        packets: u64,
        /// Queries that timed out in the same run.
        timed_out: u64,
    },
    /// The interface dropped packets that it had received.
    ResponsesDropped {
        /// Packets dropped on receipt, including those of other programs.
        packets: u64,
        /// Queries that timed out in the same run.
        timed_out: u64,
    },
    /// The kernel dropped responses, because we did not read them in time.
    SocketDrops {
        /// Packets dropped at our sockets; a lower bound, because the kernel may have joined several.
        packets: u64,
        /// Queries that timed out in the same run.
        timed_out: u64,
    },
    /// Responses arrived in IP fragments, which AF_XDP does not reassemble.
    AnswersInFragments {
        /// IP fragments received.
        fragments: u64,
        /// Queries that timed out in the same run.
        timed_out: u64,
    },
    /// A worker used all of its CPU.
    CpuSaturated {
        /// The busiest worker's CPU time as a share of one CPU, 0 to 1.
        #[serde(serialize_with = "crate::finite::serialize")]
        share: f64,
    },
    /// A worker waited for a CPU.
    CpuStarved {
        /// The worst worker's waiting time as a share of the run, 0 to 1.
        #[serde(serialize_with = "crate::finite::serialize")]
        share: f64,
    },
    /// Other processes may run on the CPUs of the workers.
    CpusShared {
        /// The server first.
        with: Vec<Neighbour>,
    },
    /// A server on this host waited for a CPU of it.
    ServerStarved {
        /// Time that a thread of it waited, in each interval the one that waited longest, in nanoseconds.
        waited_ns: u64,
        /// Length of the run, in nanoseconds.
        lasted_ns: u64,
        /// Queries lost in the seconds in which it waited, and that may have been lost by that.
        lost: u64,
        /// All lost queries.
        of: u64,
    },
    /// The control group of a server on this host had used up its quota of CPU time.
    ServerThrottled {
        /// Periods in which it stood still.
        throttled_periods: u64,
        /// Periods in which it was active.
        periods: u64,
        /// Time that it stood still, added up over the CPUs, in nanoseconds.
        throttled_ns: u64,
        /// Queries lost in the seconds in which it stood still, and that may have been lost by that.
        lost: u64,
        /// All lost queries.
        of: u64,
    },
    /// The generator's own control group had used up its quota of CPU time.
    Throttled {
        /// Periods in which it stood still.
        throttled_periods: u64,
        /// Periods in which it was active.
        periods: u64,
        /// Time that it stood still, added up over the CPUs, in nanoseconds.
        throttled_ns: u64,
        /// Queries lost in the seconds in which it stood still.
        lost: u64,
        /// All lost queries.
        of: u64,
    },
    /// The hypervisor took CPU time from this host.
    CpuStolen {
        /// Time that it took, in each interval from the CPU from which it took most, in nanoseconds.
        stolen_ns: u64,
        /// Length of the run, in nanoseconds.
        lasted_ns: u64,
        /// Queries lost in the seconds in which it took it, and that may have been lost by that.
        lost: u64,
        /// All lost queries.
        of: u64,
    },
    /// Queries waited for a free message ID.
    IdsExhausted {
        /// How often a due query found every ID in use.
        waits: u64,
        /// Sockets of the run.
        sockets: u64,
    },
    /// Queries waited because every client's connection was full.
    ClientsBusy {
        /// How often a due query found no free connection.
        waits: u64,
        /// Clients of the run.
        clients: u64,
    },
    /// Connections found every local port in use.
    PortsExhausted {
        /// Connections without a free local port.
        connects: u64,
        /// The first port that they could have; 0 in a record of before it was written.
        #[serde(default)]
        first_port: u64,
        /// The last one.
        #[serde(default)]
        last_port: u64,
    },
    /// Intervals lack the part of an agent, of a run on several hosts.
    PartialIntervals {
        /// How many.
        intervals: u64,
    },
    /// The wall clock jumped relative to the monotonic clock.
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
            Warning::SendsBehind { .. } => "sends_behind",
            Warning::BurstsLost { .. } => "bursts_lost",
            Warning::OwnShare { .. } => "own_share",
            Warning::ReaderBehind { .. } => "reader_behind",
            Warning::SendsMissing { .. } => "sends_missing",
            Warning::SendsVanished { .. } => "sends_vanished",
            Warning::SendsDropped { .. } => "sends_dropped",
            Warning::ResponsesDropped { .. } => "responses_dropped",
            Warning::SocketDrops { .. } => "socket_drops",
            Warning::AnswersInFragments { .. } => "answers_in_fragments",
            Warning::CpuSaturated { .. } => "cpu_saturated",
            Warning::CpuStarved { .. } => "cpu_starved",
            Warning::CpusShared { .. } => "cpus_shared",
            Warning::ServerStarved { .. } => "server_starved",
            Warning::ServerThrottled { .. } => "server_throttled",
            Warning::Throttled { .. } => "throttled",
            Warning::CpuStolen { .. } => "cpu_stolen",
            Warning::IdsExhausted { .. } => "ids_exhausted",
            Warning::ClientsBusy { .. } => "clients_busy",
            Warning::PortsExhausted { .. } => "ports_exhausted",
            Warning::PartialIntervals { .. } => "partial_intervals",
            Warning::ClockStepped { .. } => "clock_stepped",
        }
    }

    /// Whether it is about the CPUs of this host and the server on them, and not about the generator.
    pub const fn is_of_bed(&self) -> bool {
        matches!(
            self,
            Warning::ServerStarved { .. } | Warning::ServerThrottled { .. } | Warning::CpuStolen { .. }
        )
    }

    /// What the user can do about it.
    pub const fn advice(&self) -> &'static str {
        match self {
            Warning::SendsLate { .. } => {
                "give the generator CPUs of its own, add --workers, or lower the rate"
            }
            Warning::SendsBehind { connection_waits, .. } => if_behind(*connection_waits),
            Warning::BurstsLost { .. } => {
                "the server got them at once, which the schedule does not ask for: give the generator CPUs of its own, \
                 and repeat the run"
            }
            Warning::OwnShare { .. } => {
                "the rate is not the server's limit: add --workers or CPUs, or keep more queries outstanding \
                 (--outstanding)"
            }
            Warning::ReaderBehind { .. } => {
                "the rate and what was late are not the server's: unpack the file, or put it on a faster disk"
            }
            Warning::SendsMissing { .. } => "see the reasons under \"not sent\"",
            Warning::SendsVanished { .. } => {
                "this host dropped them: check the next hop (`ip neigh`), the firewall and the queues (`tc -s qdisc`)"
            }
            Warning::SendsDropped { .. } => "a queue was full: enlarge it (`ethtool -G`) or lower the rate",
            Warning::ResponsesDropped { .. } => "a queue was full: see `dnsdyno doctor`, or lower the rate",
            Warning::SocketDrops { .. } => {
                "these losses are not the server's: raise --receive-buffer and net.core.rmem_max, or add --workers"
            }
            Warning::AnswersInFragments { .. } => {
                "these losses are not the server's: request smaller responses (--edns-size 1232), or use \
                 --backend sockets"
            }
            Warning::CpuSaturated { .. } => "the generator may be the limit: add --workers or CPUs",
            Warning::CpuStarved { .. } => {
                "other processes use the generator's CPUs: stop them or pin them to other CPUs"
            }
            Warning::CpusShared { .. } => {
                "give the generator CPUs of its own (`taskset`), or run the server on another host"
            }
            Warning::ServerStarved { .. } => {
                "its delays and losses of that time are this host's: give the server CPUs of its own (`taskset`), or \
                 run it on another host"
            }
            Warning::ServerThrottled { .. } => {
                "this is the limit of its quota: raise it (`cpu.max`, CPUQuota=) if the limit of the server itself is \
                 asked"
            }
            Warning::Throttled { .. } => {
                "raise the generator's quota (`cpu.max`, CPUQuota=), or run it outside of the group"
            }
            Warning::CpuStolen { .. } => {
                "the machine below this one is too busy: repeat the run, or use one with CPUs of its own"
            }
            Warning::IdsExhausted { .. } => "add --clients: each socket has 65,536 IDs",
            Warning::ClientsBusy { .. } => {
                "add --clients: a client that waits for responses sends no more queries"
            }
            Warning::PortsExhausted { .. } => {
                "send from more addresses (--local-address 127.0.1.0/24), widen net.ipv4.ip_local_port_range, \
                 or send more queries over each connection (--queries-per-connection)"
            }
            Warning::PartialIntervals { .. } => {
                "their counts are not those of the load: see which agent is missing, and join the records with \
                 `dnsdyno merge` once it has given its own"
            }
            Warning::ClockStepped { .. } => {
                "latencies are correct (they use the monotonic clock), but the dates in the record are not"
            }
        }
    }
}

/// What can be done about a load that is behind its schedule, after so many waits for clients.
const fn if_behind(connection_waits: u64) -> &'static str {
    match connection_waits {
        0 => "this host cannot make this load in time: add --workers or CPUs, or lower the rate",
        _ => "queries waited for clients whose connections were in use: add --clients, or lower the rate",
    }
}

/// The sentence of a summary: the figure, then the advice.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", figures(self), self.advice())
    }
}

/// What was met, in figures.
fn figures(warning: &Warning) -> String {
    let queries = |number: &u64| counted(*number, "query", "queries");
    let packets = |number: &u64| counted(*number, "packet", "packets");
    match warning {
        Warning::SendsLate { p99_lateness_ns, longest_ns } => sends_late(*p99_lateness_ns, *longest_ns),
        Warning::SendsBehind { behind_ns, schedule_ns, .. } => {
            let schedule = duration(*schedule_ns);
            format!("sends behind: the load of {schedule} took {} longer to send", duration(*behind_ns))
        }
        Warning::BurstsLost { lost, of } => {
            let (lost, of) = (count(*lost), counted(*of, "lost query", "lost queries"));
            format!("bursts lost: {lost} of {of} may have been lost because they were sent late, together")
        }
        Warning::OwnShare { share } => {
            format!("own share: queries spent up to {} of their time with the generator", percent(*share))
        }
        Warning::ReaderBehind { waits, waited_ns } => {
            let (waits, waited) = (counted(*waits, "time", "times"), duration(*waited_ns));
            format!("reader behind: a worker waited {waits} for the queries to be read, {waited} in all")
        }
        Warning::SendsMissing { not_sent, scheduled } => {
            format!("sends missing: {} of {} never sent", count(*not_sent), queries(scheduled))
        }
        Warning::SendsVanished { taken, packets: sent } => {
            let (taken, sent) = (queries(taken), packets(sent));
            format!("sends vanished: the kernel accepted {taken}, but the interface sent {sent}")
        }
        Warning::SendsDropped { packets, timed_out } => sends_dropped(*packets, *timed_out),
        Warning::ResponsesDropped { packets, timed_out } => {
            dropped("responses dropped: the interface received and dropped", *packets, *timed_out)
        }
        Warning::SocketDrops { packets, timed_out } => {
            dropped("socket drops: our own sockets dropped at least", *packets, *timed_out)
        }
        Warning::AnswersInFragments { fragments, timed_out } => in_fragments(*fragments, *timed_out),
        Warning::CpuSaturated { share } => {
            format!("CPU saturated: the busiest worker used {:.0} % of a CPU", share * 100.0)
        }
        Warning::CpuStarved { share } => {
            format!("CPU starved: a worker waited for a CPU {:.0} % of the time", share * 100.0)
        }
        Warning::CpusShared { with } => cpus_shared(with),
        Warning::ServerStarved { waited_ns, lasted_ns, lost, of } => {
            let waited = of_time(*waited_ns, *lasted_ns);
            let lost = of_these_seconds(*lost, *of);
            format!("server starved: a thread of it waited {waited} for a CPU of this host{lost}")
        }
        Warning::ServerThrottled { throttled_periods, periods, throttled_ns, lost, of } => {
            let stood = stood_still(*throttled_periods, *periods, *throttled_ns);
            format!("server throttled: its control group {stood}{}", of_these_seconds(*lost, *of))
        }
        Warning::Throttled { throttled_periods, periods, throttled_ns, lost, of } => {
            let stood = stood_still(*throttled_periods, *periods, *throttled_ns);
            format!("throttled: the generator's control group {stood}{}", of_these_seconds(*lost, *of))
        }
        Warning::CpuStolen { stolen_ns, lasted_ns, lost, of } => {
            let stolen = of_time(*stolen_ns, *lasted_ns);
            let lost = of_these_seconds(*lost, *of);
            format!("CPU stolen: the hypervisor took {stolen} from a CPU of this host{lost}")
        }
        Warning::IdsExhausted { waits, sockets } => ids_exhausted(*waits, *sockets),
        Warning::ClientsBusy { waits, clients } => clients_busy(*waits, *clients),
        Warning::PortsExhausted { connects, first_port, last_port } => {
            ports_exhausted(*connects, *first_port, *last_port)
        }
        Warning::PartialIntervals { intervals } => partial(*intervals),
        Warning::ClockStepped { step_ns } => clock_stepped(*step_ns),
    }
}

fn sends_dropped(packets: u64, timed_out: u64) -> String {
    let by = "sends dropped: before sending, the interface dropped";
    match timed_out {
        // A run without responses.
        0 => format!("{by} {}", counted(packets, "packet", "packets")),
        timed_out => dropped(by, packets, timed_out),
    }
}

fn dropped(by: &str, packets: u64, timed_out: u64) -> String {
    let (packets, queries) = (counted(packets, "packet", "packets"), counted(timed_out, "query", "queries"));
    format!("{by} {packets} ({queries} timed out)")
}

fn in_fragments(fragments: u64, timed_out: u64) -> String {
    let fragments = counted(fragments, "IP fragment", "IP fragments");
    let queries = counted(timed_out, "query", "queries");
    format!(
        "answers in fragments: AF_XDP does not reassemble the {fragments} that arrived ({queries} timed out)"
    )
}

fn sends_late(p99_lateness_ns: u64, longest_ns: u64) -> String {
    let p99 = duration(p99_lateness_ns);
    let longest = match longest_ns {
        0 => String::new(),
        longest_ns => format!(", at most {}", duration(longest_ns)),
    };
    format!("sends late: p99 {p99}{longest} behind the schedule")
}

fn cpus_shared(with: &[Neighbour]) -> String {
    // A server has processes that do nothing under a load.
    let is_busy = |neighbour: &&Neighbour| neighbour.cpu_share >= 0.005;
    let has_busy = with.iter().any(|neighbour| is_busy(&neighbour));
    let named = with.iter().filter(|neighbour| !has_busy || is_busy(neighbour));
    let named: Vec<String> = named.map(ToString::to_string).collect();
    format!("CPUs shared: {}", named.join(", "))
}

fn partial(intervals: u64) -> String {
    format!("partial: {} without the part of an agent", counted(intervals, "interval", "intervals"))
}

fn ids_exhausted(waits: u64, sockets: u64) -> String {
    let (waits, sockets) = (count(waits), counted(sockets, "socket", "sockets"));
    format!("IDs exhausted: queries waited {waits} times for a free message ID on {sockets}")
}

fn clients_busy(waits: u64, clients: u64) -> String {
    let (waits, clients) = (count(waits), counted(clients, "client", "clients"));
    format!("clients busy: queries waited {waits} times for a free one of {clients}")
}

fn ports_exhausted(connects: u64, first_port: u64, last_port: u64) -> String {
    let connects = counted(connects, "connection", "connections");
    let which = if last_port == 0 { String::new() } else { format!(" from {first_port} to {last_port}") };
    format!("local ports exhausted: {connects} found no free local port{which}")
}

fn clock_stepped(step_ns: i64) -> String {
    let sign = if step_ns < 0 { "back" } else { "forward" };
    format!("clock stepped: the wall clock jumped {sign} by {}", duration(step_ns.unsigned_abs()))
}

/// A part of a time.
fn of_time(part_ns: u64, whole_ns: u64) -> String {
    format!("{} of {}", duration(part_ns), duration(whole_ns))
}

/// What was lost in the seconds of a warning.
fn of_these_seconds(lost: u64, of: u64) -> String {
    match (lost, of) {
        (_, 0) => String::new(),
        (0, _) => format!("; none of {} is of these seconds", counted(of, "lost query", "lost queries")),
        (_, _) => {
            let verb = if lost == 1 { "is" } else { "are" };
            format!(
                "; {} of {} {verb} of these seconds",
                count(lost),
                counted(of, "lost query", "lost queries")
            )
        }
    }
}

/// How often a group has used up its quota.
fn stood_still(throttled_periods: u64, periods: u64, throttled_ns: u64) -> String {
    let (throttled, periods) = (count(throttled_periods), counted(periods, "period", "periods"));
    let time = duration(throttled_ns);
    format!("had used up its quota in {throttled} of {periods}, and stood still for {time} (over its CPUs)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_written_under_its_name_and_read_back() {
        for warning in [
            Warning::SendsLate { p99_lateness_ns: 3_100_000, longest_ns: 50_000_000 },
            Warning::SendsBehind { behind_ns: 90_000_000, schedule_ns: 2_000_000_000, connection_waits: 0 },
            Warning::BurstsLost { lost: 730, of: 1_000 },
            Warning::OwnShare { share: 0.31 },
            Warning::ReaderBehind { waits: 3, waited_ns: 40_000_000 },
            Warning::SendsMissing { not_sent: 3, scheduled: 9 },
            Warning::SendsVanished { taken: 900, packets: 7 },
            Warning::SendsDropped { packets: 80, timed_out: 81 },
            Warning::ResponsesDropped { packets: 82, timed_out: 83 },
            Warning::SocketDrops { packets: 805, timed_out: 812 },
            Warning::AnswersInFragments { fragments: 6, timed_out: 3 },
            Warning::CpuSaturated { share: 0.1 + 0.2 },
            Warning::CpuStarved { share: 1.0 },
            Warning::CpusShared { with: vec![Neighbour { pid: Some(4_711), ..Neighbour::default() }] },
            Warning::ServerStarved { waited_ns: 4_500, lasted_ns: 5_000, lost: 7, of: 9 },
            Warning::ServerThrottled { throttled_periods: 8, periods: 9, throttled_ns: 77, lost: 6, of: 9 },
            Warning::Throttled { throttled_periods: 3, periods: 4, throttled_ns: 55, lost: 2, of: 3 },
            Warning::CpuStolen { stolen_ns: 2_000, lasted_ns: 5_000, lost: 0, of: 9 },
            Warning::IdsExhausted { waits: 1, sockets: 2 },
            Warning::ClientsBusy { waits: 8, clients: 4 },
            Warning::PortsExhausted { connects: 6, first_port: 32_768, last_port: 60_999 },
            Warning::ClockStepped { step_ns: -7_000_000 },
        ] {
            let json = serde_json::to_value(&warning).unwrap();
            assert_eq!(json["name"], warning.name());
            assert_eq!(serde_json::from_value::<Warning>(json).unwrap(), warning);
        }
    }

    #[test]
    fn shared_cpus_are_told_with_the_processes_that_use_them() {
        let server =
            Neighbour { pid: Some(4_711), name: "named".to_owned(), is_server: true, cpu_share: 0.62 };
        let other =
            Neighbour { pid: Some(12), name: "a\u{1b}b".to_owned(), is_server: false, cpu_share: 1.5 };
        let text = Warning::CpusShared { with: vec![server, other] }.to_string();
        assert!(text.starts_with(
            "CPUs shared: the server shares your CPUs: PID 4711 (named), 62 % of a CPU, PID 12 (a"
        ));
        assert!(text.contains("150 % of a CPU; give the generator") && !text.contains('\u{1b}'), "{text}");
        let unseen = Neighbour { is_server: true, ..Neighbour::default() };
        assert!(unseen.to_string().contains("the server is on this host"), "{unseen}");
    }

    #[test]
    fn a_warning_of_an_older_record_is_read() {
        let old = r#"{"name":"sends_late","figures":{"p99_lateness_ns":3100000,"gap_ns":20000}}"#;
        let read: Warning = serde_json::from_str(old).unwrap();
        assert_eq!(read, Warning::SendsLate { p99_lateness_ns: 3_100_000, longest_ns: 0 });
        assert!(read.to_string().starts_with("sends late: p99 3.10 ms behind the schedule; "), "{read}");
        let old = r#"{"name":"ports_exhausted","figures":{"connects":6}}"#;
        let read: Warning = serde_json::from_str(old).unwrap();
        let text = "local ports exhausted: 6 connections found no free local port; send from more addresses";
        assert!(read.to_string().starts_with(text), "{read}");
    }

    #[test]
    fn exhausted_ports_are_told_with_their_range() {
        let text = Warning::PortsExhausted { connects: 6, first_port: 32_768, last_port: 60_999 }.to_string();
        assert!(text.contains("6 connections found no free local port from 32768 to 60999;"), "{text}");
    }
}

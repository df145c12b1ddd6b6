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
    /// Queries that a closed loop keeps outstanding whose limit was not reached, or that may be beside a constant rate,
    /// over all workers of this process; 0 in every other load.
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
    /// Packets that this interface dropped before sending, including those of other programs; 0 where unknown, and in a
    /// record of before it was written.
    pub interface_send_drops: u64,
    /// Received packets that this interface dropped, likewise.
    #[serde(skip_serializing_if = "is_zero")]
    pub interface_receive_drops: u64,
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
    /// CPU time of the busiest worker as a share of one CPU, over the worst five intervals of the load.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub busiest_worker_cpu: f64,
    /// Time that the worst worker waited for a CPU, as a share of the run.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub worst_worker_wait: f64,
    /// Largest jump of the wall clock relative to the monotonic clock, in nanoseconds.
    pub clock_step_ns: i64,
    /// How late the first query left, in nanoseconds; in a closed loop, after the start of the run. `None` where none
    /// was sent, and in a record of before it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_send_late_ns: Option<u64>,
    /// Intervals that lack the part of an agent, of a run on several hosts.
    #[serde(skip_serializing_if = "is_zero")]
    pub partial_intervals: u64,
    /// Processes that may run on our CPUs: the server, and others that used more than a tenth of a CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
}

impl Evidence {
    /// How long queries of a schedule were still sent after its end, in nanoseconds: the window held them back, their
    /// clients were busy, or the host was too slow. 0 where it is too little to tell.
    pub fn overrun_ns(&self) -> u64 {
        let overrun_ns = self.scheduled_until_ns.saturating_sub(self.schedule_ns);
        let allowed_ns = (self.schedule_ns / OVERRUN_PART).max(OVERRUN_NS);
        if self.open_loop && overrun_ns > allowed_ns { overrun_ns } else { 0 }
    }

    /// Adds what is known of another generator that has made a part of the same load: shares and instants are those of
    /// the worse one.
    pub fn join(&mut self, other: &Evidence) {
        let larger = |mine: &mut u64, theirs: u64| *mine = (*mine).max(theirs);
        let more = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        self.open_loop |= other.open_loop;
        self.datagrams_only |= other.datagrams_only;
        larger(&mut self.schedule_ns, other.schedule_ns);
        larger(&mut self.scheduled_until_ns, other.scheduled_until_ns);
        larger(&mut self.lasted_ns, other.lasted_ns);
        larger(&mut self.timeout_ns, other.timeout_ns);
        larger(&mut self.reader_waited_ns, other.reader_waited_ns);
        larger(&mut self.last_local_port, other.last_local_port);
        larger(&mut self.partial_intervals, other.partial_intervals);
        more(&mut self.workers, other.workers);
        more(&mut self.window, other.window);
        more(&mut self.socket_drops, other.socket_drops);
        more(&mut self.fragments, other.fragments);
        more(&mut self.interface_send_drops, other.interface_send_drops);
        more(&mut self.interface_receive_drops, other.interface_receive_drops);
        more(&mut self.id_waits, other.id_waits);
        more(&mut self.connection_waits, other.connection_waits);
        more(&mut self.reader_waits, other.reader_waits);
        more(&mut self.connects_without_port, other.connects_without_port);
        more(&mut self.sockets, other.sockets);
        let ports = [self.first_local_port, other.first_local_port].into_iter().filter(|port| *port > 0);
        self.first_local_port = ports.min().unwrap_or(0);
        // Unknown for the whole where it is unknown for one.
        let packets = self.interface_packets.zip(other.interface_packets);
        self.interface_packets = packets.map(|(mine, theirs)| mine.saturating_add(theirs));
        self.first_send_late_ns = self.first_send_late_ns.max(other.first_send_late_ns);
        self.busiest_worker_cpu = self.busiest_worker_cpu.max(other.busiest_worker_cpu);
        self.worst_worker_wait = self.worst_worker_wait.max(other.worst_worker_wait);
        if other.clock_step_ns.unsigned_abs() > self.clock_step_ns.unsigned_abs() {
            self.clock_step_ns = other.clock_step_ns;
        }
        // Two generators of one host have the same ones.
        let is_known = |one: &&Neighbour| {
            self.neighbours.iter().any(|known| (known.pid, &known.name) == (one.pid, &one.name))
        };
        let more: Vec<Neighbour> = other.neighbours.iter().filter(|one| !is_known(one)).cloned().collect();
        self.neighbours.extend(more);
    }
}

/// The part of the schedule by which its end may be late: the rate is then off by as much.
const OVERRUN_PART: u64 = 100;

/// A shorter delay of the last query is that of one wakeup, not of the load.
const OVERRUN_NS: u64 = 10_000_000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generators_are_as_late_as_the_later_one_and_have_the_sockets_of_both() {
        let one = Evidence {
            open_loop: true,
            schedule_ns: 10,
            workers: 2,
            sockets: 4,
            socket_drops: 1,
            interface_packets: Some(5),
            first_send_late_ns: Some(70),
            busiest_worker_cpu: 0.2,
            clock_step_ns: -9,
            first_local_port: 0,
            ..Evidence::default()
        };
        let other = Evidence {
            scheduled_until_ns: 12,
            interface_packets: None,
            first_send_late_ns: Some(90),
            busiest_worker_cpu: 0.9,
            clock_step_ns: 3,
            first_local_port: 1_024,
            ..one.clone()
        };
        let mut both = one.clone();
        both.join(&other);
        assert_eq!((both.workers, both.sockets, both.socket_drops, both.schedule_ns), (4, 8, 2, 10));
        assert_eq!(
            (both.scheduled_until_ns, both.first_send_late_ns, both.clock_step_ns),
            (12, Some(90), -9)
        );
        assert_eq!(
            (both.busiest_worker_cpu, both.interface_packets, both.first_local_port),
            (0.9, None, 1_024)
        );
    }
}

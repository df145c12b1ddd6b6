//! Whether the generator itself limited the result: from evidence to warnings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NotSentReason, Quantile, Tally, Warning};

/// Facts about the generator at the end of a run, in addition to the tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// Whether the load followed a schedule (open loop), not a window.
    pub open_loop: bool,
    /// Time over which queries were due, in nanoseconds.
    pub schedule_ns: u64,
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
    /// Connections that found no free local port.
    pub connects_without_port: u64,
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
}

/// The warnings that follow from the evidence; none means `generator: ok`.
pub fn verdict(sum: &Tally, evidence: &Evidence) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(late_sends(sum, evidence));
    // The user configured the window, and the server its streams: queries that these hold back are not a fault of the
    // generator.
    let by_others = [NotSentReason::WindowFull, NotSentReason::NoStream];
    let held_back: u64 = by_others.into_iter().map(|reason| sum.ends.not_sent.of(reason)).sum();
    let not_sent = sum.ends.not_sent.total() - held_back;
    if not_sent > 0 {
        warnings.push(Warning::SendsMissing { not_sent, scheduled: sum.scheduled });
    }
    if evidence.socket_drops > 0 {
        warnings.push(Warning::SocketDrops {
            packets: evidence.socket_drops,
            timed_out: sum.ends.timed_out + sum.ends.answered_late,
        });
    }
    if evidence.fragments > 0 {
        warnings.push(Warning::AnswersInFragments {
            fragments: evidence.fragments,
            timed_out: sum.ends.timed_out + sum.ends.answered_late,
        });
    }
    if evidence.busiest_worker_cpu >= SATURATED_CPU_SHARE {
        warnings.push(Warning::CpuSaturated { share: evidence.busiest_worker_cpu });
    }
    if evidence.worst_worker_wait >= STARVED_WAIT_SHARE {
        warnings.push(Warning::CpuStarved { share: evidence.worst_worker_wait });
    }
    if evidence.id_waits > 0 {
        warnings.push(Warning::IdsExhausted { waits: evidence.id_waits, sockets: evidence.sockets });
    }
    if evidence.connection_waits > 0 {
        warnings.push(Warning::ClientsBusy { waits: evidence.connection_waits, clients: evidence.sockets });
    }
    if evidence.connects_without_port > 0 {
        warnings.push(Warning::PortsExhausted { connects: evidence.connects_without_port });
    }
    if evidence.clock_step_ns.unsigned_abs() >= CLOCK_STEP_NS {
        warnings.push(Warning::ClockStepped { step_ns: evidence.clock_step_ns });
    }
    warnings.extend(sends_vanished(sum, evidence));
    warnings
}

/// Whether the kernel lost queries before they reached the interface.
///
/// A packet in the interface's count contains at most 64 datagrams, the maximum of one segmented send. Some drivers
/// update their counts late: a count of 0 in a short run is no evidence.
fn sends_vanished(sum: &Tally, evidence: &Evidence) -> Option<Warning> {
    let packets = evidence.interface_packets.filter(|_| evidence.datagrams_only)?;
    let taken = sum.requests;
    let is_counted = packets > 0 || evidence.lasted_ns >= COUNTED_LATE_NS;
    let vanished = is_counted && taken > packets.saturating_mul(MOST_QUERIES_A_PACKET);
    vanished.then_some(Warning::SendsVanished { taken, packets })
}

/// Lateness is judged in open loop only: a closed loop has no schedule.
fn late_sends(sum: &Tally, evidence: &Evidence) -> Option<Warning> {
    if !evidence.open_loop || sum.scheduled == 0 {
        return None;
    }
    let lateness = crate::Latency { answered: &sum.lateness, unanswered: 0 };
    let Some(Quantile::At(p99_lateness_ns)) = lateness.quantile(0.99) else { return None };
    let gap_ns = evidence.schedule_ns / sum.scheduled;
    (p99_lateness_ns > LATE_NS).then_some(Warning::SendsLate { p99_lateness_ns, gap_ns })
}

/// Lateness is part of the response time, so the limit is a latency: above 1 ms it is as large as the latencies on a
/// local network; below, it cannot be distinguished from the kernel's wakeups on a busy host.
const LATE_NS: u64 = 1_000_000;

/// A worker that is idle for less than a tenth of its time has no reserve for a burst.
const SATURATED_CPU_SHARE: f64 = 0.9;

/// Above this share, the figures include the scheduling delay of this host.
const STARVED_WAIT_SHARE: f64 = 0.1;

/// The kernel splits one segmented send into at most this many datagrams.
const MOST_QUERIES_A_PACKET: u64 = 64;

/// After this time, drivers that poll the counters of their card have updated them.
const COUNTED_LATE_NS: u64 = 5_000_000_000;

/// NTP slews by less than 0.5 ms per second; a larger difference between two readings is a step.
const CLOCK_STEP_NS: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_with_lateness(lateness_ns: u64) -> Tally {
        let mut sum = Tally::new(1);
        sum.scheduled = 100;
        sum.ends.answered = 100;
        (0..100).for_each(|_| sum.lateness.record(lateness_ns));
        sum
    }

    const SECOND_NS: u64 = 1_000_000_000;

    const OK: Evidence = Evidence {
        open_loop: true,
        schedule_ns: 1_000_000_000,
        socket_drops: 0,
        fragments: 0,
        interface_packets: None,
        datagrams_only: true,
        lasted_ns: SECOND_NS,
        id_waits: 0,
        connection_waits: 0,
        connects_without_port: 0,
        sockets: 1,
        busiest_worker_cpu: 0.3,
        worst_worker_wait: 0.01,
        clock_step_ns: 1_000,
    };

    /// The verdict for `taken` queries accepted by the kernel and `packets` sent by the interface.
    fn with_interface(taken: u64, packets: u64, lasted_ns: u64, datagrams_only: bool) -> Vec<Warning> {
        let mut sum = sum_with_lateness(20_000);
        sum.requests = taken;
        verdict(&sum, &Evidence { interface_packets: Some(packets), datagrams_only, lasted_ns, ..OK })
    }

    #[test]
    fn more_queries_than_the_interface_can_have_sent_give_a_warning() {
        let udp = |taken, packets, lasted_ns| with_interface(taken, packets, lasted_ns, true);
        assert_eq!(udp(64_000, 1_000, SECOND_NS), [], "a packet may contain 64 queries");
        let vanished = [Warning::SendsVanished { taken: 64_001, packets: 1_000 }];
        assert_eq!(udp(64_001, 1_000, SECOND_NS), vanished);
        assert_eq!(udp(10, 0, SECOND_NS), [], "a driver may not have counted yet");
        assert_eq!(udp(10, 0, 6 * SECOND_NS).len(), 1);
        assert_eq!(udp(0, 0, 6 * SECOND_NS), []);
    }

    #[test]
    fn connections_may_send_any_number_of_queries_in_a_packet() {
        assert_eq!(with_interface(64_001, 1_000, SECOND_NS, false), []);
        assert_eq!(with_interface(10, 0, 6 * SECOND_NS, false), []);
    }

    #[test]
    fn a_run_without_evidence_is_ok() {
        assert_eq!(verdict(&sum_with_lateness(20_000), &OK), []);
    }

    #[test]
    fn late_sends_are_reported_with_their_gap_and_only_in_open_loop() {
        let sum = sum_with_lateness(3_000_000);
        let warnings = verdict(&sum, &OK);
        assert!(matches!(warnings[..], [Warning::SendsLate { p99_lateness_ns, gap_ns: 10_000_000 }]
                if p99_lateness_ns.abs_diff(3_000_000) < 30_000));
        assert_eq!(verdict(&sum, &Evidence { open_loop: false, ..OK }), []);
    }

    #[test]
    fn each_piece_of_evidence_gives_its_own_warning() {
        let mut sum = sum_with_lateness(20_000);
        sum.ends.timed_out = 4;
        let names = |evidence| verdict(&sum, &evidence).iter().map(Warning::name).collect::<Vec<_>>();
        assert_eq!(names(Evidence { socket_drops: 3, ..OK }), ["socket_drops"]);
        assert_eq!(names(Evidence { fragments: 2, ..OK }), ["answers_in_fragments"]);
        assert_eq!(names(Evidence { busiest_worker_cpu: 0.97, ..OK }), ["cpu_saturated"]);
        assert_eq!(names(Evidence { worst_worker_wait: 0.4, ..OK }), ["cpu_starved"]);
        assert_eq!(names(Evidence { id_waits: 1, ..OK }), ["ids_exhausted"]);
        assert_eq!(names(Evidence { connection_waits: 1, ..OK }), ["clients_busy"]);
        assert_eq!(names(Evidence { connects_without_port: 1, ..OK }), ["ports_exhausted"]);
        assert_eq!(names(Evidence { clock_step_ns: -2_000_000_000, ..OK }), ["clock_stepped"]);
    }

    #[test]
    fn queries_that_the_server_or_the_window_holds_back_are_no_doubt_about_the_generator() {
        let warnings = |reason| {
            let mut sum = sum_with_lateness(20_000);
            sum.ends.not_sent.add(reason, 7);
            verdict(&sum, &OK)
        };
        assert_eq!(warnings(NotSentReason::NoStream), []);
        assert_eq!(warnings(NotSentReason::WindowFull), []);
        assert_eq!(warnings(NotSentReason::NoFreeConnection).len(), 1);
    }

    #[test]
    fn every_warning_says_its_figure_and_what_to_do() {
        let warning = Warning::SocketDrops { packets: 805, timed_out: 812 };
        let text = warning.to_string();
        assert!(text.contains("805") && text.contains("812") && text.contains("--receive-buffer"), "{text}");
    }
}

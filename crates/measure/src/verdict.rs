//! The generator's verdict on itself: evidence in, warnings out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NotSentReason, Quantile, Tally, Warning};

/// What is known of the generator at the end of a run, beside the tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Evidence {
    /// Whether the load followed a schedule of time (open loop), not a window.
    pub open_loop: bool,
    /// Time over which the schedule asked for queries, in nanoseconds.
    pub schedule_ns: u64,
    /// Packets dropped at our sockets.
    pub socket_drops: u64,
    /// IP fragments of answers that AF_XDP could not join.
    pub fragments: u64,
    /// Packets that the interface towards the server sent during the run, those of other programs included;
    /// `None` where it is not known, or where its driver may leave some out.
    pub interface_packets: Option<u64>,
    /// Whether every query left in a UDP datagram of its own. Over TCP, TLS and QUIC the kernel and the
    /// protocol put any number of them into a packet.
    pub datagrams_only: bool,
    /// Length of the run, in nanoseconds, to the end of its last query.
    pub lasted_ns: u64,
    /// Waits for a free ID, over all workers.
    pub id_waits: u64,
    /// Waits for a client whose connection takes a query, over all workers; of an open loop.
    pub connection_waits: u64,
    /// Connections that found no local port.
    pub connects_without_port: u64,
    /// Sockets, over all workers.
    pub sockets: u64,
    /// CPU time of the busiest worker as a share of one CPU, over its worst five intervals.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub busiest_worker_cpu: f64,
    /// Waiting time for a CPU of the worst worker, as a share of the run.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub worst_worker_wait: f64,
    /// Largest jump of the wall clock against the monotonic one, in nanoseconds.
    pub clock_step_ns: i64,
}

/// The warnings that the evidence gives; none means `generator: ok`.
pub fn verdict(sum: &Tally, evidence: &Evidence) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(late_sends(sum, evidence));
    // What a full window holds back is the user's wish.
    let not_sent = sum.ends.not_sent.total() - sum.ends.not_sent.of(NotSentReason::WindowFull);
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

/// Whether queries that the kernel took got lost in it before the interface.
///
/// A packet of the interface's count is at most 64 of our datagrams, so many as one segmented send has.
/// Some drivers count late: what a short run has not been told of yet is no evidence.
fn sends_vanished(sum: &Tally, evidence: &Evidence) -> Option<Warning> {
    let packets = evidence.interface_packets.filter(|_| evidence.datagrams_only)?;
    let taken = sum.requests;
    let is_counted = packets > 0 || evidence.lasted_ns >= COUNTED_LATE_NS;
    let vanished = is_counted && taken > packets.saturating_mul(MOST_QUERIES_A_PACKET);
    vanished.then_some(Warning::SendsVanished { taken, packets })
}

/// Lateness counts in open loop only: a window has no schedule to be late against.
fn late_sends(sum: &Tally, evidence: &Evidence) -> Option<Warning> {
    if !evidence.open_loop || sum.scheduled == 0 {
        return None;
    }
    let lateness = crate::Latency { answered: &sum.lateness, unanswered: 0 };
    let Some(Quantile::At(p99_lateness_ns)) = lateness.quantile(0.99) else { return None };
    let gap_ns = evidence.schedule_ns / sum.scheduled;
    (p99_lateness_ns > LATE_NS).then_some(Warning::SendsLate { p99_lateness_ns, gap_ns })
}

/// Lateness is inside the response time, so it is judged as a latency: past 1 ms it is as large
/// as what one measures on a local network. Below that the kernel's wake-ups cannot be told
/// from it on a busy host.
const LATE_NS: u64 = 1_000_000;

/// A worker that sleeps less than a tenth of its time has no reserve for a burst.
const SATURATED_CPU_SHARE: f64 = 0.9;

/// A worker that stands in the run queue for a tenth of the run was measured with the host.
const STARVED_WAIT_SHARE: f64 = 0.1;

/// What the kernel cuts one send into, at most.
const MOST_QUERIES_A_PACKET: u64 = 64;

/// After this time even drivers that ask their card now and then have counted something.
const COUNTED_LATE_NS: u64 = 5_000_000_000;

/// Slewing by NTP stays under 0.5 ms a second; more between two looks is a step.
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

    const CALM: Evidence = Evidence {
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

    /// The verdict on queries that the kernel took, beside the packets that the interface sent.
    fn beside_the_interface(taken: u64, packets: u64, lasted_ns: u64, datagrams_only: bool) -> Vec<Warning> {
        let mut sum = sum_with_lateness(20_000);
        sum.requests = taken;
        verdict(&sum, &Evidence { interface_packets: Some(packets), datagrams_only, lasted_ns, ..CALM })
    }

    #[test]
    fn queries_that_no_interface_sent_have_vanished() {
        let anomalies = |taken, packets, lasted_ns| beside_the_interface(taken, packets, lasted_ns, true);
        assert_eq!(anomalies(64_000, 1_000, SECOND_NS), [], "each packet may be 64 queries");
        let vanished = [Warning::SendsVanished { taken: 64_001, packets: 1_000 }];
        assert_eq!(anomalies(64_001, 1_000, SECOND_NS), vanished);
        assert_eq!(anomalies(10, 0, SECOND_NS), [], "a driver may not have counted yet");
        assert_eq!(anomalies(10, 0, 6 * SECOND_NS).len(), 1);
        assert_eq!(anomalies(0, 0, 6 * SECOND_NS), []);
    }

    #[test]
    fn a_packet_of_a_connection_may_be_any_number_of_queries() {
        assert_eq!(beside_the_interface(64_001, 1_000, SECOND_NS, false), []);
        assert_eq!(beside_the_interface(10, 0, 6 * SECOND_NS, false), []);
    }

    #[test]
    fn a_calm_run_is_ok() {
        assert_eq!(verdict(&sum_with_lateness(20_000), &CALM), []);
    }

    #[test]
    fn late_sends_are_told_with_their_gap_and_only_in_open_loop() {
        let sum = sum_with_lateness(3_000_000);
        let warnings = verdict(&sum, &CALM);
        assert!(matches!(warnings[..], [Warning::SendsLate { p99_lateness_ns, gap_ns: 10_000_000 }]
                if p99_lateness_ns.abs_diff(3_000_000) < 30_000));
        assert_eq!(verdict(&sum, &Evidence { open_loop: false, ..CALM }), []);
    }

    #[test]
    fn each_piece_of_evidence_gives_its_own_warning() {
        let mut sum = sum_with_lateness(20_000);
        sum.ends.timed_out = 4;
        let names = |evidence| verdict(&sum, &evidence).iter().map(Warning::name).collect::<Vec<_>>();
        assert_eq!(names(Evidence { socket_drops: 3, ..CALM }), ["socket_drops"]);
        assert_eq!(names(Evidence { fragments: 2, ..CALM }), ["answers_in_fragments"]);
        assert_eq!(names(Evidence { busiest_worker_cpu: 0.97, ..CALM }), ["cpu_saturated"]);
        assert_eq!(names(Evidence { worst_worker_wait: 0.4, ..CALM }), ["cpu_starved"]);
        assert_eq!(names(Evidence { id_waits: 1, ..CALM }), ["ids_exhausted"]);
        assert_eq!(names(Evidence { connection_waits: 1, ..CALM }), ["clients_busy"]);
        assert_eq!(names(Evidence { connects_without_port: 1, ..CALM }), ["ports_exhausted"]);
        assert_eq!(names(Evidence { clock_step_ns: -2_000_000_000, ..CALM }), ["clock_stepped"]);
    }

    #[test]
    fn every_warning_says_its_figure_and_what_to_do() {
        let warning = Warning::SocketDrops { packets: 805, timed_out: 812 };
        let text = warning.to_string();
        assert!(text.contains("805") && text.contains("812") && text.contains("--receive-buffer"), "{text}");
    }
}

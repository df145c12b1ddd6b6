//! Whether the generator itself limited the result: from evidence to warnings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::touched::{Touched, of_lateness, touched};
use crate::{Neighbour, NotSentReason, Quantile, Tally, Warning};

/// Facts about the generator at the end of a run, in addition to the tally.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How often a worker waited for the reader of a streamed source, over all workers.
    pub reader_waits: u64,
    /// How long the worker waited for it that waited longest, in nanoseconds.
    pub reader_waited_ns: u64,
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
    /// Processes that may run on our CPUs: the server, and others that used more than a tenth of a CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
}

/// What the generator says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why the figures may not be those of the server; none means `generator: ok`.
    pub doubts: Vec<Warning>,
    /// What the generator met that has moved no figure.
    pub notes: Vec<Warning>,
}

/// The verdict that follows from the evidence.
///
/// Evidence that something was lost or never sent is a doubt in any number. Evidence that something was late, or had to
/// wait, is one where figures have moved: in a closed loop the rate itself depends on it; in an open loop the response
/// time then differs from the service time.
pub fn verdict(sum: &Tally, evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    let touched = if evidence.open_loop { touched(sum) } else { Vec::new() };
    let late = late_sends(sum, evidence, &touched);
    let is_late = late.is_some();
    verdict.doubts.extend(late);
    // The user configured the window, and the server its streams: queries that these hold back are not a fault of the
    // generator.
    let by_others = [NotSentReason::WindowFull, NotSentReason::NoStream];
    let held_back: u64 = by_others.into_iter().map(|reason| sum.ends.not_sent.of(reason)).sum();
    let not_sent = sum.ends.not_sent.total() - held_back;
    if not_sent > 0 {
        verdict.doubts.push(Warning::SendsMissing { not_sent, scheduled: sum.scheduled });
    }
    verdict.doubts.extend(lost_answers(sum, evidence));
    let mut add = |warning, is_doubt| match is_doubt {
        true => verdict.doubts.push(warning),
        false => verdict.notes.push(warning),
    };
    let slows = !evidence.open_loop || is_late;
    if evidence.busiest_worker_cpu >= SATURATED_CPU_SHARE {
        add(Warning::CpuSaturated { share: evidence.busiest_worker_cpu }, slows);
    }
    if evidence.worst_worker_wait >= STARVED_WAIT_SHARE {
        add(Warning::CpuStarved { share: evidence.worst_worker_wait }, slows);
    }
    if !evidence.neighbours.is_empty() {
        let has_waited = evidence.worst_worker_wait >= STARVED_WAIT_SHARE;
        let is_doubt = is_late || (!evidence.open_loop && has_waited);
        add(Warning::CpusShared { with: evidence.neighbours.clone() }, is_doubt);
    }
    // In the TCP part of a fallback, a wait is within the service time too.
    let is_hidden = not_sent > 0 || sum.fallback.is_some();
    let delays = !evidence.open_loop || !touched.is_empty() || is_hidden;
    if evidence.reader_waits > 0 {
        let (waits, waited_ns) = (evidence.reader_waits, evidence.reader_waited_ns);
        let has_slowed = evidence.open_loop || waited_ns >= evidence.lasted_ns / SLOW_READER_PART;
        add(Warning::ReaderBehind { waits, waited_ns }, delays && has_slowed);
    }
    if evidence.id_waits > 0 {
        add(Warning::IdsExhausted { waits: evidence.id_waits, sockets: evidence.sockets }, delays);
    }
    if evidence.connection_waits > 0 {
        add(Warning::ClientsBusy { waits: evidence.connection_waits, clients: evidence.sockets }, delays);
    }
    if evidence.connects_without_port > 0 {
        add(Warning::PortsExhausted { connects: evidence.connects_without_port }, delays);
    }
    if evidence.clock_step_ns.unsigned_abs() >= CLOCK_STEP_NS {
        // Latencies use the other clock.
        add(Warning::ClockStepped { step_ns: evidence.clock_step_ns }, false);
    }
    verdict.doubts.extend(sends_vanished(sum, evidence));
    verdict
}

/// Responses that this host has lost: the queries count as timed out, which is not the server's fault.
fn lost_answers(sum: &Tally, evidence: &Evidence) -> impl Iterator<Item = Warning> {
    let timed_out = sum.ends.timed_out + sum.ends.answered_late;
    let (packets, fragments) = (evidence.socket_drops, evidence.fragments);
    let drops = (packets > 0).then_some(Warning::SocketDrops { packets, timed_out });
    let fragments = (fragments > 0).then_some(Warning::AnswersInFragments { fragments, timed_out });
    drops.into_iter().chain(fragments)
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

/// Whether our own lateness is in the figures. A closed loop has no schedule, and nothing is late.
fn late_sends(sum: &Tally, evidence: &Evidence, touched: &[Touched]) -> Option<Warning> {
    let lateness = crate::Latency { answered: &sum.lateness, unanswered: 0 };
    let Some(Quantile::At(p99_lateness_ns)) = lateness.quantile(0.99).filter(|_| evidence.open_loop) else {
        return None;
    };
    if sum.ends.sent_only > 0 {
        // There are no latencies: the load itself is what this run makes.
        let figures = Vec::new();
        return (p99_lateness_ns > LATE_LOAD_NS).then_some(Warning::SendsLate { p99_lateness_ns, figures });
    }
    // Nothing else delays a query in a run without such a wait, so whatever differs is our lateness.
    let has_waited = sum.held_back > 0 || evidence.connection_waits > 0 || evidence.id_waits > 0;
    let figures = if has_waited { of_lateness(touched, sum) } else { touched.to_vec() };
    (!figures.is_empty()).then_some(Warning::SendsLate { p99_lateness_ns, figures })
}

/// In a run that does not wait for responses, the load is out of shape where sends are later than this.
const LATE_LOAD_NS: u64 = 1_000_000;

/// A worker that is idle for less than a tenth of its time has no reserve for a burst.
const SATURATED_CPU_SHARE: f64 = 0.9;

/// Above this share, the figures include the scheduling delay of this host.
const STARVED_WAIT_SHARE: f64 = 0.1;

/// In a closed loop, waiting for the reader of the source for less than this part of the run has not moved its rate.
const SLOW_READER_PART: u64 = 100;

/// The kernel splits one segmented send into at most this many datagrams.
const MOST_QUERIES_A_PACKET: u64 = 64;

/// After this time, drivers that poll the counters of their card have updated them.
const COUNTED_LATE_NS: u64 = 5_000_000_000;

/// NTP slews by less than 0.5 ms per second; a larger difference between two readings is a step.
const CLOCK_STEP_NS: u64 = 5_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// 2,000 queries that were answered in 200 µs and sent so late.
    fn sum_with_lateness(lateness_ns: u64) -> Tally {
        let mut sum = Tally::new(1);
        sum.scheduled = 2_000;
        sum.ends.answered = 2_000;
        for _ in 0..2_000 {
            sum.lateness.record(lateness_ns);
            sum.service.record(200_000);
            sum.response.record(200_000 + lateness_ns);
        }
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
        reader_waits: 0,
        reader_waited_ns: 0,
        connects_without_port: 0,
        sockets: 1,
        busiest_worker_cpu: 0.3,
        worst_worker_wait: 0.01,
        clock_step_ns: 1_000,
        neighbours: Vec::new(),
    };

    /// The verdict for `taken` queries accepted by the kernel and `packets` sent by the interface.
    fn with_interface(taken: u64, packets: u64, lasted_ns: u64, datagrams_only: bool) -> Vec<Warning> {
        let mut sum = sum_with_lateness(2_000);
        sum.requests = taken;
        verdict(&sum, &Evidence { interface_packets: Some(packets), datagrams_only, lasted_ns, ..OK }).doubts
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

    fn names(sum: &Tally, evidence: &Evidence) -> (Vec<&'static str>, Vec<&'static str>) {
        let Verdict { doubts, notes } = verdict(sum, evidence);
        (doubts.iter().map(Warning::name).collect(), notes.iter().map(Warning::name).collect())
    }

    #[test]
    fn a_run_without_evidence_is_ok() {
        assert_eq!(verdict(&sum_with_lateness(2_000), &OK), Verdict::default());
    }

    #[test]
    fn late_sends_are_a_doubt_where_they_touch_a_figure_and_only_in_open_loop() {
        let sum = sum_with_lateness(50_000);
        let doubts = verdict(&sum, &OK).doubts;
        let [Warning::SendsLate { p99_lateness_ns, figures }] = &doubts[..] else { panic!("{doubts:?}") };
        assert!(p99_lateness_ns.abs_diff(50_000) < 500 && figures.len() == 4, "{doubts:?}");
        assert_eq!(verdict(&sum, &Evidence { open_loop: false, ..OK }), Verdict::default());
    }

    #[test]
    fn a_full_window_is_no_lateness_and_lateness_beside_it_is() {
        let mut sum = sum_with_lateness(2_000);
        sum.response = sum_with_lateness(5_000_000).response;
        sum.held_back = 2_000;
        assert_eq!(names(&sum, &OK), (vec![], vec![]));
        sum.lateness = sum_with_lateness(50_000).lateness;
        assert_eq!(names(&sum, &OK), (vec!["sends_late"], vec![]));
    }

    #[test]
    fn without_responses_the_shape_of_the_load_is_judged() {
        let sent_only = |lateness_ns| {
            let mut sum = sum_with_lateness(lateness_ns);
            sum.ends = crate::Ends { sent_only: 2_000, ..crate::Ends::default() };
            (sum.response, sum.service) = Default::default();
            names(&sum, &OK).0
        };
        assert_eq!((sent_only(900_000), sent_only(1_100_000)), (vec![], vec!["sends_late"]));
    }

    #[test]
    fn what_was_lost_is_a_doubt_in_any_number() {
        let mut sum = sum_with_lateness(2_000);
        sum.ends.timed_out = 4;
        assert_eq!(names(&sum, &Evidence { socket_drops: 3, ..OK }).0, ["socket_drops"]);
        assert_eq!(names(&sum, &Evidence { fragments: 2, ..OK }).0, ["answers_in_fragments"]);
        sum.ends.not_sent.add(NotSentReason::WindowFull, 1);
        assert_eq!(names(&sum, &OK).0, [""; 0]);
        sum.ends.not_sent.add(NotSentReason::NoRoute, 1);
        assert_eq!(names(&sum, &OK).0, ["sends_missing"]);
    }

    #[test]
    fn what_delays_is_a_doubt_where_figures_have_moved_and_else_a_note() {
        let (quiet, moved) = (sum_with_lateness(2_000), sum_with_lateness(50_000));
        for (evidence, name) in [
            (Evidence { busiest_worker_cpu: 0.97, ..OK }, "cpu_saturated"),
            (Evidence { worst_worker_wait: 0.4, ..OK }, "cpu_starved"),
            (Evidence { id_waits: 1, ..OK }, "ids_exhausted"),
            (Evidence { connection_waits: 1, ..OK }, "clients_busy"),
            (Evidence { reader_waits: 2, reader_waited_ns: 50_000_000, ..OK }, "reader_behind"),
            (Evidence { connects_without_port: 1, ..OK }, "ports_exhausted"),
        ] {
            assert_eq!(names(&quiet, &evidence), (vec![], vec![name]));
            assert_eq!(names(&moved, &evidence), (vec!["sends_late", name], vec![]));
            let closed = Evidence { open_loop: false, ..evidence };
            assert_eq!(
                names(&quiet, &closed),
                (vec![name], vec![]),
                "the rate of a closed loop depends on it"
            );
        }
        let mut with_fallback = sum_with_lateness(2_000);
        with_fallback.fallback = Some(Box::default());
        let waits = Evidence { connection_waits: 1, ..OK };
        assert_eq!(names(&with_fallback, &waits), (vec!["clients_busy"], vec![]));
        let neighbours = vec![Neighbour { pid: Some(7), is_server: true, ..Neighbour::default() }];
        let shared = Evidence { neighbours, ..OK };
        assert_eq!(names(&quiet, &shared), (vec![], vec!["cpus_shared"]));
        assert_eq!(names(&moved, &shared), (vec!["sends_late", "cpus_shared"], vec![]));
        let closed = Evidence { open_loop: false, ..shared };
        assert_eq!(
            names(&quiet, &closed),
            (vec![], vec!["cpus_shared"]),
            "it had a CPU whenever it wanted one"
        );
        let starved = Evidence { worst_worker_wait: 0.4, ..closed };
        assert_eq!(names(&quiet, &starved), (vec!["cpu_starved", "cpus_shared"], vec![]));
        let stepped = Evidence { clock_step_ns: -2_000_000_000, open_loop: false, ..OK };
        assert_eq!(names(&moved, &stepped), (vec![], vec!["clock_stepped"]));
    }

    #[test]
    fn queries_that_the_server_or_the_window_holds_back_are_no_doubt_about_the_generator() {
        let warnings = |reason| {
            let mut sum = sum_with_lateness(2_000);
            sum.ends.not_sent.add(reason, 7);
            names(&sum, &OK).0
        };
        assert_eq!(warnings(NotSentReason::NoStream), [""; 0]);
        assert_eq!(warnings(NotSentReason::WindowFull), [""; 0]);
        assert_eq!(warnings(NotSentReason::NoFreeConnection), ["sends_missing"]);
    }

    #[test]
    fn every_warning_says_its_figure_and_what_to_do() {
        let warning = Warning::SocketDrops { packets: 805, timed_out: 812 };
        let text = warning.to_string();
        assert!(text.contains("805") && text.contains("812") && text.contains("--receive-buffer"), "{text}");
    }
}

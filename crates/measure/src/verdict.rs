//! Whether the generator itself limited the result: from evidence to warnings.

use crate::bed_verdict::bed_warnings;
use crate::bounds::WIDE_NS;
use crate::loss::{lost_by_bursts, not_sent_by_us, timed_out_over_tcp, without_tcp};
use crate::{Arrivals, Evidence, OwnPart, OwnShare, PERCENTILES, Quantile, Tally, Warning};

/// What the generator says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why rate and loss may not be those of the server; none means `generator: ok`.
    pub doubts: Vec<Warning>,
    /// What the generator has met beside that. What it may have added to a percentile is in the [bounds](crate::Bounds)
    /// of that percentile.
    pub notes: Vec<Warning>,
}

/// The verdict that follows from the evidence.
///
/// Rate and loss are in doubt where something has touched them: queries that were not sent or not in the time of the
/// schedule, packets that this host lost, bursts of ours that were lost, in a closed loop a large part of our own, and
/// CPU time that this host did not give to the server, or to us, in the seconds in which queries were lost. Everything
/// else that happened is a note.
pub fn verdict(sum: &Tally, arrivals: &Arrivals, evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    let partial = Warning::PartialIntervals { intervals: evidence.partial_intervals };
    verdict.doubts.extend((evidence.partial_intervals > 0).then_some(partial));
    verdict.doubts.extend(sends_behind(sum, evidence));
    let not_sent = not_sent_by_us(sum);
    if not_sent > 0 {
        verdict.doubts.push(Warning::SendsMissing { not_sent, scheduled: sum.scheduled });
    }
    verdict.doubts.extend(lost_here(sum, evidence));
    verdict.doubts.extend(bursts_lost(sum));
    verdict.doubts.extend(sends_vanished(sum, evidence));
    let own_share = OwnShare::of(sum, arrivals, evidence).filter(OwnShare::is_wide);
    verdict.doubts.extend(own_share.map(|share| Warning::OwnShare { share: share.most }));
    let of_bed = bed_warnings(sum, arrivals, evidence);
    let (doubts, notes): (Vec<_>, Vec<_>) = of_bed.into_iter().partition(|(_, is_doubt)| *is_doubt);
    verdict.doubts.extend(doubts.into_iter().map(|(warning, _)| warning));
    verdict.notes.extend(notes.into_iter().map(|(warning, _)| warning));
    let late = sends_late(sum, arrivals, evidence);
    // A run that does not wait for responses is its load, and nothing else.
    match sum.ends.sent_only > 0 {
        true => verdict.doubts.extend(late),
        false => verdict.notes.extend(late),
    }
    // What waits for a client or a port in the TCP part of a fallback is counted as lost where it gets none, or gets it
    // too late for an answer in time.
    let is_lost = |warning: &Warning| match warning {
        Warning::ClientsBusy { waits, .. } => {
            let too_late = timed_out_over_tcp(sum);
            without_tcp(sum) > 0 || (too_late > 0 && *waits >= too_late / WAITED_PART)
        }
        Warning::PortsExhausted { .. } => without_tcp(sum) > 0,
        _ => false,
    };
    let (doubts, notes): (Vec<_>, Vec<_>) = met(evidence).partition(is_lost);
    verdict.doubts.extend(doubts);
    verdict.notes.extend(notes);
    verdict
}

/// What the generator has met that is no loss.
fn met(evidence: &Evidence) -> impl Iterator<Item = Warning> {
    let Evidence { busiest_worker_cpu, worst_worker_wait, reader_waits, id_waits, .. } = *evidence;
    let Evidence { connection_waits, connects_without_port, clock_step_ns, sockets, .. } = *evidence;
    let ports_exhausted = Warning::PortsExhausted {
        connects: connects_without_port,
        first_port: evidence.first_local_port,
        last_port: evidence.last_local_port,
    };
    let waited_ns = evidence.reader_waited_ns;
    let neighbours = &evidence.neighbours;
    [
        (busiest_worker_cpu >= SATURATED_CPU_SHARE)
            .then_some(Warning::CpuSaturated { share: busiest_worker_cpu }),
        (worst_worker_wait >= STARVED_WAIT_SHARE).then_some(Warning::CpuStarved { share: worst_worker_wait }),
        (!neighbours.is_empty()).then(|| Warning::CpusShared { with: neighbours.clone() }),
        (reader_waits > 0).then_some(Warning::ReaderBehind { waits: reader_waits, waited_ns }),
        (id_waits > 0).then_some(Warning::IdsExhausted { waits: id_waits, sockets }),
        (connection_waits > 0).then_some(Warning::ClientsBusy { waits: connection_waits, clients: sockets }),
        (connects_without_port > 0).then_some(ports_exhausted),
        // Latencies use the other clock.
        (clock_step_ns.unsigned_abs() >= CLOCK_STEP_NS)
            .then_some(Warning::ClockStepped { step_ns: clock_step_ns }),
    ]
    .into_iter()
    .flatten()
}

/// Whether the load took longer than its schedule. A full window that held queries back is the user's, and what it does
/// to the load is in the figures.
fn sends_behind(sum: &Tally, evidence: &Evidence) -> Option<Warning> {
    let (behind_ns, schedule_ns) = (evidence.overrun_ns(), evidence.schedule_ns);
    let connection_waits = evidence.connection_waits;
    let is_behind = behind_ns > 0 && sum.held_back == 0;
    is_behind.then_some(Warning::SendsBehind { behind_ns, schedule_ns, connection_waits })
}

/// Whether bursts of ours have made a large part of the loss.
fn bursts_lost(sum: &Tally) -> Option<Warning> {
    let (lost, of) = (lost_by_bursts(sum), sum.ends.lost());
    let is_large = lost >= FEWEST_LOST && lost >= of / LOST_PART;
    is_large.then_some(Warning::BurstsLost { lost, of })
}

/// Queries and responses that this host has lost: they count as timed out, which is not the server's fault.
fn lost_here(sum: &Tally, evidence: &Evidence) -> impl Iterator<Item = Warning> {
    let timed_out = sum.ends.timed_out + sum.ends.answered_late;
    let (packets, fragments) = (evidence.socket_drops, evidence.fragments);
    let drops = (packets > 0).then_some(Warning::SocketDrops { packets, timed_out });
    let fragments = (fragments > 0).then_some(Warning::AnswersInFragments { fragments, timed_out });
    let unsent = unsent_here(sum, evidence, timed_out).into_iter();
    unsent.chain(unreceived_here(evidence, timed_out)).chain(drops).chain(fragments)
}

/// Whether a large part of the loss may be responses among the received packets that the interface has dropped. Some
/// drivers count there what no program of the host wants, so few say nothing.
fn unreceived_here(evidence: &Evidence, timed_out: u64) -> Option<Warning> {
    let packets = evidence.interface_receive_drops;
    let is_large = packets.min(timed_out) >= FEWEST_LOST && packets >= timed_out / LOST_PART;
    (evidence.datagrams_only && is_large).then_some(Warning::ResponsesDropped { packets, timed_out })
}

/// Whether queries may be among the packets that the interface has dropped before sending. Those of other programs are
/// counted too, so none is where every query got its response.
fn unsent_here(sum: &Tally, evidence: &Evidence, timed_out: u64) -> Option<Warning> {
    let packets = evidence.interface_send_drops;
    let may_be_ours = evidence.datagrams_only && (timed_out > 0 || sum.ends.sent_only > 0);
    (packets > 0 && may_be_ours).then_some(Warning::SendsDropped { packets, timed_out })
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

/// Whether queries were so late that a user should know: a printed percentile may contain too much of it, or a query
/// was very late. A closed loop has no schedule, and nothing is late.
fn sends_late(sum: &Tally, arrivals: &Arrivals, evidence: &Evidence) -> Option<Warning> {
    let lateness = crate::Latency { answered: &sum.lateness, unanswered: 0 };
    let Some(Quantile::At(p99_lateness_ns)) = lateness.quantile(0.99).filter(|_| evidence.open_loop) else {
        return None;
    };
    let longest_ns = sum.lateness.exact().map_or(0, |exact| exact.max_ns);
    // A wait for something else has its own warning.
    let part = OwnPart { has_waited: false, ..OwnPart::of(evidence, arrivals) };
    let is_wide = || {
        let percentiles = part.percentiles(sum);
        let bounds = PERCENTILES.iter().filter_map(|(.., q)| percentiles.at(*q));
        longest_ns > WIDE_NS && bounds.into_iter().any(|bounds| bounds.is_wide())
    };
    let is_late = match sum.ends.sent_only > 0 {
        true => p99_lateness_ns > LATE_LOAD_NS,
        false => longest_ns >= VERY_LATE_NS || is_wide(),
    };
    is_late.then_some(Warning::SendsLate { p99_lateness_ns, longest_ns })
}

/// In a run that does not wait for responses, the load is out of shape where sends are later than this.
const LATE_LOAD_NS: u64 = 1_000_000;

/// A worker that is idle for less than a tenth of its time has no reserve for a burst.
const SATURATED_CPU_SHARE: f64 = 0.9;

/// Above this share, the worker often had no CPU.
const STARVED_WAIT_SHARE: f64 = 0.1;

/// A query that is so late is told in any run: it is a stop of the generator, not its jitter.
const VERY_LATE_NS: u64 = 10_000_000;

/// Fewer lost queries are chance.
const FEWEST_LOST: u64 = 10;

/// The loss is in doubt where this part of it may be ours.
const LOST_PART: u64 = 10;

/// The kernel splits one segmented send into at most this many datagrams.
const MOST_QUERIES_A_PACKET: u64 = 64;

/// After this time, drivers that poll the counters of their card have updated them.
const COUNTED_LATE_NS: u64 = 5_000_000_000;

/// NTP slews by less than 0.5 ms per second; a larger difference between two readings is a step.
const CLOCK_STEP_NS: u64 = 5_000_000;

/// Queries that timed out over TCP may have waited for a client where as many as this part of them did.
const WAITED_PART: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ends, FallbackFailure, Neighbour, NotSentReason};

    /// 2,000 queries that were answered in 200 µs and sent so late.
    fn sum_with_lateness(lateness_ns: u64) -> Tally {
        let mut sum = Tally::new(1);
        sum.scheduled = 2_000;
        sum.ends.answered = 2_000;
        for _ in 0..2_000 {
            sum.lateness.record(lateness_ns);
            sum.own_delay.record(lateness_ns);
            sum.service.record(200_000);
            sum.response.record(200_000 + lateness_ns);
            sum.response_least.record(200_000);
        }
        sum
    }

    const SECOND_NS: u64 = 1_000_000_000;

    const OK: Evidence = Evidence {
        open_loop: true,
        schedule_ns: SECOND_NS,
        workers: 1,
        window: 0,
        timeout_ns: SECOND_NS,
        scheduled_until_ns: SECOND_NS,
        socket_drops: 0,
        fragments: 0,
        interface_packets: None,
        interface_send_drops: 0,
        interface_receive_drops: 0,
        datagrams_only: true,
        lasted_ns: SECOND_NS,
        id_waits: 0,
        connection_waits: 0,
        reader_waits: 0,
        reader_waited_ns: 0,
        connects_without_port: 0,
        first_local_port: 0,
        last_local_port: 0,
        sockets: 1,
        busiest_worker_cpu: 0.3,
        worst_worker_wait: 0.01,
        clock_step_ns: 1_000,
        first_send_late_ns: Some(30_000),
        partial_intervals: 0,
        neighbours: Vec::new(),
    };

    fn judge(sum: &Tally, evidence: &Evidence) -> Verdict {
        verdict(sum, &Arrivals::default(), evidence)
    }

    fn names(sum: &Tally, evidence: &Evidence) -> (Vec<&'static str>, Vec<&'static str>) {
        let Verdict { doubts, notes } = judge(sum, evidence);
        (doubts.iter().map(Warning::name).collect(), notes.iter().map(Warning::name).collect())
    }

    /// The verdict for `taken` queries accepted by the kernel and `packets` sent by the interface.
    fn with_interface(taken: u64, packets: u64, lasted_ns: u64, datagrams_only: bool) -> Vec<Warning> {
        let mut sum = sum_with_lateness(2_000);
        sum.requests = taken;
        judge(&sum, &Evidence { interface_packets: Some(packets), datagrams_only, lasted_ns, ..OK }).doubts
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
    fn packets_that_the_interface_dropped_are_not_losses_of_the_server() {
        let mut sum = sum_with_lateness(2_000);
        let dropped = Evidence { interface_send_drops: 3, datagrams_only: true, ..OK };
        assert_eq!(names(&sum, &dropped).0, [""; 0], "all were answered: they were of another program");
        sum.ends.timed_out += 1;
        assert_eq!(names(&sum, &dropped).0, ["sends_dropped"]);
        let sent_again = Evidence { datagrams_only: false, ..dropped };
        assert_eq!(names(&sum, &sent_again).0, [""; 0], "TCP has sent them again");
    }

    #[test]
    fn packets_that_the_interface_dropped_on_receipt_are_a_doubt_where_they_are_a_large_part_of_the_loss() {
        let mut sum = sum_with_lateness(2_000);
        let dropped = |packets| Evidence { interface_receive_drops: packets, datagrams_only: true, ..OK };
        assert_eq!(names(&sum, &dropped(300)).0, [""; 0], "all were answered");
        sum.ends.timed_out += 200;
        assert_eq!(names(&sum, &dropped(19)).0, [""; 0], "less than a tenth");
        assert_eq!(names(&sum, &dropped(20)).0, ["responses_dropped"]);
        let sent_again = Evidence { datagrams_only: false, ..dropped(20) };
        assert_eq!(names(&sum, &sent_again).0, [""; 0], "TCP has sent them again");
        sum.ends.timed_out -= 191;
        assert_eq!(names(&sum, &dropped(300)).0, [""; 0], "nine are chance");
    }

    #[test]
    fn connections_may_send_any_number_of_queries_in_a_packet() {
        assert_eq!(with_interface(64_001, 1_000, SECOND_NS, false), []);
        assert_eq!(with_interface(10, 0, 6 * SECOND_NS, false), []);
    }

    #[test]
    fn queries_that_time_out_over_tcp_are_ours_where_as_many_waited_for_a_client() {
        let mut sum = sum_with_lateness(2_000);
        let waited = |waits| Evidence { connection_waits: waits, ..OK };
        assert_eq!(names(&sum, &waited(40)), (vec![], vec!["clients_busy"]), "all were answered");
        sum.fallback_mut().add_failed(FallbackFailure::QueryTimedOut, 40);
        assert_eq!(names(&sum, &waited(40)), (vec!["clients_busy"], vec![]));
        assert_eq!(names(&sum, &waited(3)), (vec![], vec!["clients_busy"]), "a few are not the reason");
        sum.fallback_mut().add_failed(FallbackFailure::NoClient, 1);
        assert_eq!(names(&sum, &waited(3)), (vec!["clients_busy"], vec![]));
    }

    #[test]
    fn a_run_without_evidence_is_ok() {
        assert_eq!(judge(&sum_with_lateness(2_000), &OK), Verdict::default());
    }

    #[test]
    fn lateness_puts_neither_rate_nor_loss_in_doubt_and_is_noted_where_a_percentile_is_wide() {
        assert_eq!(names(&sum_with_lateness(40_000), &OK), (vec![], vec![]));
        let late = sum_with_lateness(400_000);
        assert_eq!(names(&late, &OK), (vec![], vec!["sends_late"]));
        assert_eq!(judge(&late, &Evidence { open_loop: false, ..OK }), Verdict::default());
    }

    #[test]
    fn a_stop_of_the_generator_is_told_also_where_it_moves_no_printed_percentile() {
        let mut sum = sum_with_lateness(2_000);
        sum.lateness.record(50_000_000);
        assert_eq!(names(&sum, &OK), (vec![], vec!["sends_late"]));
    }

    #[test]
    fn a_load_that_took_longer_than_its_schedule_puts_its_rate_in_doubt_unless_a_window_held_it_back() {
        let behind = |scheduled_until_ns| Evidence { scheduled_until_ns, ..OK };
        let mut sum = sum_with_lateness(2_000);
        assert_eq!(names(&sum, &behind(1_009_000_000)).0, [""; 0]);
        assert_eq!(names(&sum, &behind(1_020_000_000)).0, ["sends_behind"]);
        let busy = Evidence { connection_waits: 7, ..behind(1_020_000_000) };
        let doubts = verdict(&sum, &Arrivals::default(), &busy).doubts;
        assert!(doubts.len() == 1 && doubts[0].advice().contains("add --clients"), "{doubts:?}");
        sum.held_back = 1;
        assert_eq!(names(&sum, &behind(1_020_000_000)).0, [""; 0]);
    }

    #[test]
    fn losses_of_our_own_bursts_put_the_loss_in_doubt() {
        let mut sum = sum_with_lateness(2_000);
        (0..100).for_each(|_| sum.lateness.record(50_000_000));
        (sum.ends.timed_out, sum.lost_late) = (80, 75);
        assert_eq!(names(&sum, &OK), (vec!["bursts_lost"], vec!["sends_late"]));
        // A server that drops one in 25, whenever it is asked.
        sum.lost_late = 4;
        assert_eq!(names(&sum, &OK), (vec![], vec!["sends_late"]));
    }

    #[test]
    fn without_responses_the_shape_of_the_load_is_judged() {
        let sent_only = |lateness_ns| {
            let mut sum = sum_with_lateness(lateness_ns);
            sum.ends = Ends { sent_only: 2_000, ..Ends::default() };
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
    fn what_delays_or_may_delay_is_a_note() {
        let neighbours = vec![Neighbour { pid: Some(7), is_server: true, ..Neighbour::default() }];
        let quiet = sum_with_lateness(2_000);
        for (evidence, name) in [
            (Evidence { busiest_worker_cpu: 0.97, ..OK }, "cpu_saturated"),
            (Evidence { worst_worker_wait: 0.4, ..OK }, "cpu_starved"),
            (Evidence { id_waits: 1, ..OK }, "ids_exhausted"),
            (Evidence { connection_waits: 1, ..OK }, "clients_busy"),
            (Evidence { reader_waits: 2, reader_waited_ns: 50_000_000, ..OK }, "reader_behind"),
            (Evidence { connects_without_port: 1, ..OK }, "ports_exhausted"),
            (Evidence { neighbours, ..OK }, "cpus_shared"),
            (Evidence { clock_step_ns: -2_000_000_000, ..OK }, "clock_stepped"),
        ] {
            assert_eq!(names(&quiet, &evidence), (vec![], vec![name]));
            let closed = Evidence { open_loop: false, ..evidence };
            assert_eq!(names(&quiet, &closed), (vec![], vec![name]));
        }
    }

    #[test]
    fn clients_that_are_too_few_for_a_fallback_put_the_loss_in_doubt() {
        let mut sum = sum_with_lateness(2_000);
        let busy = Evidence { connection_waits: 1, ..OK };
        sum.fallback_mut().started = 1;
        assert_eq!(names(&sum, &busy), (vec![], vec!["clients_busy"]));
        sum.fallback_mut().add_failed(crate::FallbackFailure::NoClient, 1);
        assert_eq!(names(&sum, &busy), (vec!["clients_busy"], vec![]));
    }

    #[test]
    fn a_large_part_of_our_own_puts_the_rate_of_a_closed_loop_in_doubt() {
        // 2,000 queries of 200 µs in a second: 0.4 outstanding with the server.
        let window = |window| Evidence { open_loop: false, window, ..OK };
        let mut sum = sum_with_lateness(0);
        assert_eq!(names(&sum, &window(1)).0, ["own_share"]);
        (0..2_500).for_each(|_| sum.service.record(200_000));
        assert_eq!(names(&sum, &window(1)).0, [""; 0], "0.9 of one");
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

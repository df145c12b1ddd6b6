//! What the test bed has done to a run: from its counters to warnings.

use crate::quota::is_wait_for_quota;
use crate::{Arrivals, Evidence, LossBeside, QuotaUse, Tally, Warning};

/// The warnings about the CPUs of the generator's host, each with whether it puts rate and loss in doubt.
///
/// It does where queries were lost in the seconds in which it held up the run, and where a loop has waited for it.
/// Beside that it is noted where it was there for long: latencies contain it.
pub(crate) fn bed_warnings(sum: &Tally, arrivals: &Arrivals, evidence: &Evidence) -> Vec<(Warning, bool)> {
    let Some(bed) = arrivals.bed.as_deref() else { return Vec::new() };
    let (lasted_ns, of) = (evidence.lasted_ns, sum.ends.lost());
    let waits_for_responses = !evidence.open_loop || sum.held_back > 0;
    let warning = |held_ns: u64, noted_part: u64, beside: LossBeside, warning: Warning| {
        let has_lost = beside.lost > 0 && beside.lost >= of / LOST_PART;
        let is_long = |part: u64| held_ns > (lasted_ns / part).max(SHORTEST_NS);
        let has_slowed = waits_for_responses && is_long(SLOWED_PART);
        let is_noted = beside.lost > 0 || is_long(noted_part);
        (has_lost || has_slowed || is_noted).then_some((warning, has_lost || has_slowed))
    };
    let server = bed.server.as_deref();
    let waited_ns = server.map_or(0, |server| server.longest_wait_ns).min(lasted_ns);
    let server_quota = server.and_then(|server| server.quota.as_deref()).copied().unwrap_or_default();
    let is_starved = !is_wait_for_quota(waited_ns, server_quota.throttled_ns);
    let starved =
        LossBeside { lost: if is_starved { bed.server_starved.lost } else { 0 }, ..bed.server_starved };
    let server_starved = Warning::ServerStarved { waited_ns, lasted_ns, lost: starved.lost, of };
    let QuotaUse { periods, throttled_periods, throttled_ns } = server_quota;
    let lost = bed.server_throttled.lost;
    let server_throttled = Warning::ServerThrottled { throttled_periods, periods, throttled_ns, lost, of };
    let quota = bed.quota.as_deref().copied().unwrap_or_default();
    let QuotaUse { periods, throttled_periods, throttled_ns } = quota;
    let lost = bed.throttled.lost;
    let throttled = Warning::Throttled { throttled_periods, periods, throttled_ns, lost, of };
    let stolen_ns = bed.steal_ns.min(lasted_ns);
    let stolen = Warning::CpuStolen { stolen_ns, lasted_ns, lost: bed.stolen.lost, of };
    [
        warning(if is_starved { waited_ns } else { 0 }, NOTED_WAIT_PART, starved, server_starved),
        warning(server_quota.throttled_ns, NOTED_QUOTA_PART, bed.server_throttled, server_throttled),
        warning(quota.throttled_ns, NOTED_QUOTA_PART, bed.throttled, throttled),
        warning(stolen_ns, NOTED_WAIT_PART, bed.stolen, stolen),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The loss is in doubt where this part of it may be the test bed's.
const LOST_PART: u64 = 10;

/// A loop that was held up for more than this part of its time would have been more than a quarter faster without.
const SLOWED_PART: u64 = 5;

/// Some turns of a scheduler: a run that lasts no longer has seen how processes share a CPU, and not that one was short
/// of it.
const SHORTEST_NS: u64 = 10_000_000;

/// Of a wait for a CPU, and of what a hypervisor takes, this part of the time is noted also where nothing was lost.
const NOTED_WAIT_PART: u64 = 10;

/// Of what a quota takes, this part.
const NOTED_QUOTA_PART: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossesBeside, ServerUse, TestBed};

    const SECOND_NS: u64 = 1_000_000_000;

    /// A run of seconds, each with its lost queries, all of them dropped at the server's full buffer, and the
    /// milliseconds that the server waited.
    fn run(seconds: &[(u64, u64)]) -> (Tally, Arrivals, Evidence) {
        let (mut sum, mut arrivals) = (Tally::new(1), Arrivals::default());
        let mut beside = LossesBeside::default();
        for (lost, waited_ms) in seconds {
            let mut tally = Tally::new(1);
            (tally.scheduled, tally.ends.timed_out, tally.ends.answered) = (1_000, *lost, 1_000 - lost);
            let server = ServerUse {
                longest_wait_ns: waited_ms * 1_000_000,
                full_buffers: *lost,
                ..ServerUse::default()
            };
            let bed = TestBed { server: Some(Box::new(server)), ..TestBed::default() };
            let mut of_second = Arrivals { bed: Some(Box::new(bed)), ..Arrivals::default() };
            beside.count(SECOND_NS, &tally, &mut of_second);
            sum.merge(&tally);
            arrivals.merge_in_time(&of_second);
        }
        let lasted_ns = seconds.len() as u64 * SECOND_NS;
        (sum, arrivals, Evidence { open_loop: true, lasted_ns, ..Evidence::default() })
    }

    /// The names of the doubts and of the notes.
    fn names(
        (sum, arrivals, evidence): &(Tally, Arrivals, Evidence),
    ) -> (Vec<&'static str>, Vec<&'static str>) {
        let (doubts, notes): (Vec<_>, Vec<_>) =
            bed_warnings(sum, arrivals, evidence).into_iter().partition(|(_, is_doubt)| *is_doubt);
        let names = |warnings: Vec<(Warning, bool)>| warnings.iter().map(|(one, _)| one.name()).collect();
        (names(doubts), names(notes))
    }

    #[test]
    fn losses_in_the_seconds_of_the_wait_are_a_doubt_and_losses_in_others_a_note() {
        let starved = run(&[(0, 10), (400, 900), (390, 800), (0, 5)]);
        assert_eq!(names(&starved), (vec!["server_starved"], vec![]));
        let text = bed_warnings(&starved.0, &starved.1, &starved.2)[0].0.to_string();
        let (figures, _) = text.split_once("; its delays").unwrap();
        assert_eq!(
            figures,
            "server starved: a thread of it waited 1.72 s of 4.00 s for a CPU of this host; 790 of 790 lost queries \
             are of these seconds"
        );
        let beside = run(&[(400, 10), (0, 900), (0, 800), (390, 5)]);
        assert_eq!(names(&beside), (vec![], vec!["server_starved"]));
        assert_eq!(names(&run(&[(400, 10), (0, 40), (0, 30), (390, 5)])), (vec![], vec![]));
    }

    #[test]
    fn a_small_part_of_the_losses_is_noted() {
        assert_eq!(names(&run(&[(900, 10), (20, 300), (0, 0), (0, 0)])), (vec![], vec!["server_starved"]));
    }

    #[test]
    fn a_loop_that_has_waited_for_the_server_is_in_doubt_without_a_loss() {
        let loop_of = |waited_ms| {
            let (sum, arrivals, evidence) = run(&[(0, waited_ms), (0, waited_ms)]);
            names(&(sum, arrivals, Evidence { open_loop: false, ..evidence }))
        };
        assert_eq!(loop_of(300), (vec!["server_starved"], vec![]));
        assert_eq!(loop_of(150), (vec![], vec!["server_starved"]));
        // A loop of a millisecond.
        let (sum, mut arrivals, evidence) = run(&[(0, 0)]);
        arrivals.bed.as_mut().unwrap().server.as_mut().unwrap().longest_wait_ns = 500_000;
        let evidence = Evidence { open_loop: false, lasted_ns: 1_000_000, ..evidence };
        assert_eq!(names(&(sum, arrivals, evidence)), (vec![], vec![]));
        let (mut sum, arrivals, evidence) = run(&[(0, 300), (0, 300)]);
        sum.held_back = 1;
        assert_eq!(
            names(&(sum, arrivals, evidence)),
            (vec!["server_starved"], vec![]),
            "a window held it back"
        );
    }

    #[test]
    fn a_quota_that_was_used_up_is_named_instead_of_the_wait_that_it_makes() {
        let (sum, mut arrivals, evidence) = run(&[(300, 900)]);
        let bed = arrivals.bed.as_deref_mut().unwrap();
        let quota = QuotaUse { periods: 10, throttled_periods: 9, throttled_ns: SECOND_NS / 2 };
        bed.server.as_mut().unwrap().quota = Some(Box::new(quota));
        bed.server_throttled.lost = 300;
        assert_eq!(
            names(&(sum.clone(), arrivals.clone(), evidence.clone())),
            (vec!["server_throttled"], vec![])
        );
        let bed = TestBed { quota: Some(Box::new(quota)), steal_ns: SECOND_NS / 2, ..TestBed::default() };
        arrivals.bed = Some(Box::new(bed));
        assert_eq!(names(&(sum, arrivals, evidence)), (vec![], vec!["throttled", "cpu_stolen"]));
    }
}

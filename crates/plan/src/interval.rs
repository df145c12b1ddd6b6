//! The interval of the record: given, or the longest usual one that divides every phase.

use dnsdyno_text::notation::format_duration_ns;

use crate::error::PlanError;
use crate::schedule::Load;

/// Usual lengths, longest first. A second unless the load has shorter phases.
const USUAL_NS: [u64; 7] =
    [1_000_000_000, 500_000_000, 250_000_000, 200_000_000, 100_000_000, 50_000_000, 20_000_000];

/// Intervals of a phase from which it is told whether the latency grows in it.
const LEAST_OF_PHASE: u64 = 4;

/// Most intervals that may be open at once, while their queries are outstanding: each keeps histograms of about
/// 0.15 MB per worker in memory.
const MOST_OPEN_INTERVALS: u64 = 1_000;

/// The default interval for this load: no interval is in two phases, so that a report can show each phase alone, and
/// each of several phases has enough of them to tell whether a queue grew in it.
pub(crate) fn usual_interval_ns(load: &Load, timeout_ns: u64) -> u64 {
    let Some(curve) = load.curve() else { return USUAL_NS[0] };
    let phases = curve.phases();
    let begins_one = |interval_ns: u64| phases.iter().all(|phase| phase.from_ns.is_multiple_of(interval_ns));
    let shortest_ns = phases.iter().map(|phase| phase.to_ns.saturating_sub(phase.from_ns)).min();
    let has_enough = |interval_ns: u64| {
        phases.len() < 2 || shortest_ns.is_none_or(|shortest_ns| shortest_ns / interval_ns >= LEAST_OF_PHASE)
    };
    let usual = || USUAL_NS.into_iter().filter(|interval_ns| is_affordable(*interval_ns, timeout_ns));
    let fits = usual().find(|interval_ns| begins_one(*interval_ns) && has_enough(*interval_ns));
    fits.or_else(|| usual().find(|interval_ns| begins_one(*interval_ns))).unwrap_or(USUAL_NS[0])
}

/// Refuses intervals that are too short for the timeout: too many would be kept in memory.
pub(crate) fn check_interval(interval_ns: u64, timeout_ns: u64) -> Result<(), PlanError> {
    if is_affordable(interval_ns, timeout_ns) {
        return Ok(());
    }
    Err(PlanError::ShortInterval {
        interval: format_duration_ns(interval_ns),
        timeout: format_duration_ns(timeout_ns),
        shortest: format_duration_ns(timeout_ns.div_ceil(MOST_OPEN_INTERVALS)),
    })
}

fn is_affordable(interval_ns: u64, timeout_ns: u64) -> bool {
    timeout_ns.div_ceil(interval_ns.max(1)) <= MOST_OPEN_INTERVALS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Constant, Stair};

    const SECOND_NS: u64 = 1_000_000_000;

    fn stair(hold_ns: u64) -> Load {
        let stair = Stair { from_qps: 100.0, to_qps: 300.0, step_qps: 100.0, hold_ns };
        Load::Open { curve: stair.curve().unwrap(), window: None }
    }

    #[test]
    fn every_phase_starts_with_an_interval() {
        let curve = Constant { rate_qps: 1.0, duration_ns: None }.curve().unwrap();
        let constant = Load::Open { curve, window: None };
        let timeout_ns = 5 * SECOND_NS;
        assert_eq!(usual_interval_ns(&constant, timeout_ns), SECOND_NS);
        assert_eq!(usual_interval_ns(&stair(4 * SECOND_NS), timeout_ns), SECOND_NS);
        // Four in each step tell whether a queue grows in it.
        assert_eq!(usual_interval_ns(&stair(3 * SECOND_NS), timeout_ns), 500_000_000);
        assert_eq!(usual_interval_ns(&stair(1_500_000_000), timeout_ns), 250_000_000);
        assert_eq!(usual_interval_ns(&stair(300_000_000), timeout_ns), 50_000_000);
        assert_eq!(usual_interval_ns(&stair(1_234_567_890), timeout_ns), SECOND_NS);
    }

    #[test]
    fn a_long_timeout_needs_long_intervals() {
        assert!(check_interval(10_000_000, 5 * SECOND_NS).is_ok());
        assert!(check_interval(SECOND_NS, 600 * SECOND_NS).is_ok());
        let refused = check_interval(10_000_000, 600 * SECOND_NS).unwrap_err().to_string();
        assert!(refused.contains("--interval 10ms") && refused.contains("600ms"), "{refused}");
    }
}

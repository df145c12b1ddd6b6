//! The conditions that end a run early, judged on each interval when it has settled.
//!
//! ```text
//!   loss>1% for 3s      interval   1 s   2 s   3 s   4 s   5 s   6 s
//!                       loss       0 %   2 %   0 %   2 %   3 %   2 %  ──► the run ends
//! ```
//!
//! An interval in which no query was due neither fulfils a condition nor breaks it: a closed loop whose server is
//! silent sends nothing for a whole timeout. Nor does one that does not say whether the condition holds: with too few
//! queries for its percentile, or with a figure that may be the generator's.

use dnsdyno_plan::expect::{Durations, Figure, Metric, StopCondition};

use super::decision::{Decision, decide};
use super::measured::{Measured, measure};
use super::part::Part;
use crate::figures::lost;
use crate::{Header, Interval};

/// Watches the conditions of a run.
#[derive(Clone, Debug, Default)]
pub struct StopWatch {
    /// The conditions, and for how long each has held, in nanoseconds.
    conditions: Vec<(StopCondition, u64)>,
}

impl StopWatch {
    /// Watches these conditions.
    pub fn new(conditions: &[StopCondition]) -> StopWatch {
        StopWatch { conditions: conditions.iter().map(|condition| (condition.clone(), 0)).collect() }
    }

    /// Adds a settled interval; returns the first condition that has held for its time, with the figure of this
    /// interval.
    pub fn interval(&mut self, header: &Header, interval: &Interval) -> Option<(&StopCondition, Measured)> {
        if interval.tally.scheduled == 0 {
            return None;
        }
        let length_ns = interval.to_ns.saturating_sub(interval.from_ns);
        let part = Part::in_progress(header, &interval.tally, &interval.arrivals, interval.covered_ns());
        let mut met = None;
        for (condition, held_ns) in &mut self.conditions {
            let ends = measure(condition.holds.metric, &part);
            let decision = decide(&condition.holds, &ends);
            let is_met = decision.is_met() || is_beyond_all(condition, part);
            match is_met {
                true => *held_ns += length_ns,
                false if decision == Decision::Undecided => {}
                false if matches!(ends.measured, Measured::TooFew { .. }) => {}
                false => *held_ns = 0,
            }
            if is_met && *held_ns >= condition.for_ns && met.is_none() {
                met = Some((&*condition, ends.measured));
            }
        }
        met
    }
}

/// Whether no query of the interval was answered, so that each latency of it is above any bound.
fn is_beyond_all(condition: &StopCondition, part: Part<'_>) -> bool {
    let is_on_latency = match condition.holds.metric {
        Metric::Duration(which, figure) => which != Durations::Lateness && figure != Figure::Slowest,
        _ => false,
    };
    is_on_latency
        && condition.holds.comparison.is_upward()
        && part.tally.ends.answered == 0
        && lost(part.tally) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{header, interval};

    /// The number of the interval at which the condition ends a run of these seconds, each (due, lost).
    fn ends_at(condition: &str, seconds: &[(u64, u64)]) -> Option<u64> {
        let mut watch = StopWatch::new(&[StopCondition::parse(condition).unwrap()]);
        (0..)
            .zip(seconds)
            .find_map(|(i, (due, lost))| watch.interval(&header(0), &interval(i, *due, *lost)).map(|_| i))
    }

    #[test]
    fn a_condition_must_hold_in_each_interval_of_its_time() {
        let seconds = [(100, 0), (100, 2), (100, 2), (100, 1), (100, 2), (100, 3), (100, 2), (100, 2)];
        assert_eq!(ends_at("loss>1% for 3s", &seconds), Some(6));
        assert_eq!(ends_at("loss>1%", &seconds), Some(1));
        // Longer than two intervals, so three of them.
        assert_eq!(ends_at("loss>1% for 2500ms", &seconds), Some(6));
        assert_eq!(ends_at("loss>1% for 5s", &seconds), None);
    }

    #[test]
    fn an_interval_without_queries_neither_fulfils_nor_breaks_a_condition() {
        assert_eq!(ends_at("loss>1% for 2s", &[(10, 10), (0, 0), (0, 0), (10, 10)]), Some(3));
        assert_eq!(ends_at("loss<1%", &[(0, 0), (0, 0)]), None);
    }

    #[test]
    fn latencies_are_above_any_bound_where_nothing_was_answered() {
        assert_eq!(ends_at("p99>50ms", &[(10, 0), (10, 10)]), Some(1));
        assert_eq!(ends_at("p99<50ms", &[(10, 10)]), None);
        // Those that were answered in time were as fast as before.
        assert_eq!(ends_at("slowest>50ms", &[(10, 0), (10, 10), (10, 1)]), None);
        assert_eq!(ends_at("slowest>0.5ms", &[(10, 10), (10, 9)]), Some(1));
        // What we send late does not depend on answers.
        assert_eq!(ends_at("lateness.max>1s", &[(10, 0), (10, 10), (10, 10)]), None);
    }

    #[test]
    fn an_interval_with_too_few_queries_for_the_percentile_does_not_say_whether_it_holds() {
        assert_eq!(ends_at("p99>0.5ms", &[(999, 0), (1_000, 0)]), Some(1));
        assert_eq!(ends_at("p99>0.5ms for 2s", &[(1_000, 0), (999, 0), (1_000, 0)]), Some(2));
        assert_eq!(ends_at("p99>0.5ms", &[(999, 9)]), None);
    }

    #[test]
    fn a_latency_that_may_be_ours_ends_no_run() {
        let ends_by = |text: &str| {
            let mut second = interval(0, 1_000, 0);
            (0..1_000).for_each(|_| second.tally.lateness.record(900_000));
            StopWatch::new(&[StopCondition::parse(text).unwrap()]).interval(&header(0), &second).is_some()
        };
        assert!(!ends_by("p99>0.5ms") && ends_by("p99>0.05ms") && !ends_by("p99>2ms"));
    }

    #[test]
    fn the_first_condition_that_holds_is_named_with_its_figure() {
        let conditions = ["loss>50%", "loss>1%"].map(|text| StopCondition::parse(text).unwrap());
        let mut watch = StopWatch::new(&conditions);
        let (condition, measured) =
            watch.interval(&header(0), &interval(0, 100, 2)).map(|(c, m)| (c.clone(), m)).unwrap();
        assert_eq!((condition.text.as_str(), measured), ("loss>1%", Measured::Part { part: 2, whole: 100 }));
    }
}

//! The figures of a run as plain lines, for logs and for terminals without a screen: one a second, and after ten
//! minutes one a minute.

use dnsdyno_report::LiveFigures;

use crate::recent::Sum;
use crate::state::Passed;

/// Adds up intervals to lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The intervals since the last line.
    passed: Passed,
}

impl Lines {
    /// Adds a wall interval; returns the intervals of a line where one is due.
    pub(crate) fn add(&mut self, passed: &Passed) -> Option<Passed> {
        self.passed.add(passed);
        let from_ns = self.passed.to_ns.saturating_sub(self.passed.span.length_ns);
        let every_ns = if from_ns < OFTEN_UNTIL_NS { SECOND_NS } else { MINUTE_NS };
        (self.passed.span.length_ns >= every_ns).then(|| std::mem::take(&mut self.passed))
    }

    /// The intervals after the last line.
    pub(crate) fn rest(&mut self) -> Option<Passed> {
        (self.passed.span.length_ns > 0).then(|| std::mem::take(&mut self.passed))
    }
}

/// A line of at most `width` columns.
pub(crate) fn line(passed: &Passed, is_open: bool, timeout_ns: u64, width: usize) -> String {
    passed.figures(is_open, timeout_ns).line(width)
}

impl Passed {
    /// Their figures, in a run with this timeout.
    pub(crate) fn figures(&self, is_open: bool, timeout_ns: u64) -> LiveFigures<'_> {
        let over_ns = self.span.of_rates_ns().max(1);
        LiveFigures {
            to_ns: self.to_ns,
            length_ns: self.span.length_ns,
            over_ns,
            is_partial: false,
            asked_qps: is_open.then_some(self.asked / (over_ns as f64 * 1e-9)),
            timeout_ns,
            arrivals: &self.arrivals,
        }
    }
}

const SECOND_NS: u64 = 1_000_000_000;

const MINUTE_NS: u64 = 60 * SECOND_NS;

/// Until then, a line a second.
const OFTEN_UNTIL_NS: u64 = 10 * MINUTE_NS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// The ends of the lines of a run with such intervals, in nanoseconds.
    fn lines(interval_ns: u64, to_ns: u64) -> Vec<u64> {
        let mut lines = Lines::default();
        let passed = |i: u64| sample::passed(i, interval_ns, 100, 1);
        let mut ends: Vec<u64> =
            (0..to_ns / interval_ns).filter_map(|i| Some(lines.add(&passed(i))?.to_ns)).collect();
        ends.extend(lines.rest().map(|rest| rest.to_ns));
        ends
    }

    #[test]
    fn there_is_a_line_a_second_and_after_ten_minutes_one_a_minute() {
        let ends = lines(SECOND_NS, 13 * MINUTE_NS);
        assert_eq!(ends.len(), 600 + 3);
        assert_eq!((ends[0], ends[599], ends[600]), (SECOND_NS, 10 * MINUTE_NS, 11 * MINUTE_NS));
    }

    #[test]
    fn short_intervals_are_added_up_and_the_rest_has_a_line_too() {
        assert_eq!(lines(SECOND_NS / 4, 5 * SECOND_NS / 2), [SECOND_NS, 2 * SECOND_NS, 5 * SECOND_NS / 2]);
        assert_eq!(lines(20 * SECOND_NS, 40 * SECOND_NS), [20 * SECOND_NS, 40 * SECOND_NS]);
    }

    #[test]
    fn the_rates_of_the_last_line_are_over_the_time_that_the_load_covers() {
        // 4,000 queries a second for 2.2 s; then the run waits for responses.
        let quarter = |number: u64, sent: u64, covered_ns: u64| {
            let mut passed = sample::passed(number, SECOND_NS / 4, sent, 0);
            (passed.span.covered_ns, passed.asked) = (covered_ns, sent as f64);
            passed
        };
        let mut lines = Lines::default();
        assert!(lines.add(&quarter(8, 800, SECOND_NS / 5)).is_none());
        assert!(lines.add(&quarter(9, 0, 0)).is_none());
        let text = line(&lines.rest().unwrap(), true, 5 * SECOND_NS, usize::MAX);
        assert!(text.starts_with("   2.5 s  asked 4,000  sent 4,000  answered 4,000"), "{text}");
    }

    #[test]
    fn a_line_has_the_figures_of_its_intervals_together() {
        let mut lines = Lines::default();
        assert!(lines.add(&sample::passed(0, SECOND_NS / 2, 1_000, 0)).is_none());
        let both = lines.add(&sample::passed(1, SECOND_NS / 2, 500, 20)).unwrap();
        let text = line(&both, true, 5 * SECOND_NS, usize::MAX);
        assert_eq!(
            text,
            "     1 s  asked 1,500  sent 1,500  answered 1,480  p50 512 µs  p99 >5 s  timed out 20"
        );
    }
}

//! The points of a run: queries by the time at which they were due, with their answers; the file for gnuplot that is
//! made of them; and the highest throughput.

use std::fmt::Write;

use dnsdyno_record::Interval;

use crate::figures::{Connections, in_time};
use crate::resperf::settings::{Points, RampAndHold};

/// The points of a run so far.
pub(super) struct Plot {
    points: Points,
    counted: Vec<Point>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Point {
    queries: u64,
    responses: u64,
    failures: u64,
    latency_ns: u128,
    /// Connections that were established in this time.
    connections: u64,
    connecting_ns: u128,
}

/// The highest throughput of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Highest {
    pub(super) qps: f64,
    pub(super) lost_percent: f64,
}

impl Plot {
    pub(super) fn new(points: Points) -> Plot {
        Plot { points, counted: Vec::new() }
    }

    /// Adds an interval of the record.
    pub(super) fn add(&mut self, interval: &Interval) {
        let number = interval.index / self.points.intervals;
        // What comes later is the end of the wait.
        if number >= self.points.count {
            return;
        }
        let number = number as usize;
        if self.counted.len() <= number {
            self.counted.resize(number + 1, Point::default());
        }
        let (point, tally) = (&mut self.counted[number], &interval.tally);
        let is_failure = |rcode: &usize| !matches!(*rcode, NOERROR | NXDOMAIN);
        point.queries += tally.lateness.count();
        point.responses += tally.ends.answered;
        let by_rcode = in_time(tally).into_iter().enumerate();
        point.failures +=
            by_rcode.filter(|(rcode, _)| is_failure(rcode)).map(|(_, count)| count).sum::<u64>();
        point.latency_ns += tally.service.exact().map_or(0, |exact| exact.sum_ns);
        if let Some(connections) = interval.arrivals.connections.as_deref().map(Connections::of) {
            point.connections += connections.latency.count;
            point.connecting_ns += connections.latency.sum_ns;
        }
    }

    /// The load was ended early: the point in which it was is not complete. One point always stays.
    pub(super) fn cut_at(&mut self, at_ns: u64) {
        let complete = (at_ns / self.points.length_ns).max(1) as usize;
        self.counted.truncate(complete);
    }

    /// The file for gnuplot.
    pub(super) fn file(&self, load: &RampAndHold) -> String {
        let mut file = HEADER.to_owned();
        for (number, point) in self.counted.iter().enumerate() {
            let middle_ns = (number as f64 + 0.5) * load.length_ns() as f64 / self.points.count as f64;
            let _ = writeln!(
                file,
                "{:7.3} {:8.2} {:8.2} {:8.2} {:8.2} {:8.6} {:8.2} {:8.6}",
                middle_ns / SECOND_NS,
                load.rate_qps(middle_ns),
                self.per_second(point.queries),
                self.per_second(point.responses),
                self.per_second(point.failures),
                average_s(point.latency_ns, point.responses),
                self.per_second(point.connections),
                average_s(point.connecting_ns, point.connections),
            );
        }
        file
    }

    /// The highest throughput before the first point that lost more than so many percent.
    pub(super) fn highest(&self, max_loss_percent: f64) -> Highest {
        let mut highest = Highest::default();
        for point in &self.counted {
            let lost = point.queries.saturating_sub(point.responses);
            let lost_percent =
                if point.queries == 0 { 0.0 } else { lost as f64 / point.queries as f64 * 100.0 };
            if lost_percent > max_loss_percent {
                break;
            }
            let qps = self.per_second(point.responses);
            if qps > highest.qps {
                highest = Highest { qps, lost_percent };
            }
        }
        highest
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 * SECOND_NS / self.points.length_ns as f64
    }
}

fn average_s(sum_ns: u128, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum_ns as f64 / count as f64 / SECOND_NS }
}

const HEADER: &str = "# time target_qps actual_qps responses_per_sec failures_per_sec avg_latency connections \
                      conn_avg_latency\n";

const SECOND_NS: f64 = 1e9;
const NOERROR: usize = 0;
const NXDOMAIN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_measure::{Arrivals, Tally};

    /// Points of half a second over two seconds, each of one interval.
    const POINTS: Points = Points { count: 4, length_ns: 500_000_000, intervals: 1 };
    const LOAD: RampAndHold =
        RampAndHold { max_qps: 100.0, ramp_ns: 1_000_000_000, constant_ns: 1_000_000_000 };

    /// An interval with so many queries, of which the first are answered after 2 ms, all with this RCODE.
    fn interval(index: u64, queries: u64, answered: u64, rcode: u16) -> Interval {
        let mut tally = Tally::new(1);
        (0..queries).for_each(|_| tally.lateness.record(0));
        for _ in 0..answered {
            tally.ends.answered += 1;
            tally.rcodes.add(rcode, 1);
            tally.service.record(2_000_000);
        }
        let arrivals = Arrivals::default();
        let (from_ns, to_ns) = (index * 500_000_000, (index + 1) * 500_000_000);
        Interval {
            agents: Vec::new(),
            index,
            from_ns,
            to_ns,
            covered_ns: None,
            asked_qps: 0.0,
            tally,
            arrivals,
            workers: Vec::new(),
            watched: Vec::new(),
        }
    }

    fn plot() -> Plot {
        let mut plot = Plot::new(POINTS);
        for counted in
            [interval(0, 12, 12, 0), interval(1, 37, 37, 3), interval(2, 50, 40, 2), interval(3, 50, 45, 0)]
        {
            plot.add(&counted);
        }
        // After the load.
        plot.add(&interval(4, 0, 0, 0));
        plot
    }

    #[test]
    fn each_point_has_a_line_in_the_format_of_the_original() {
        let file = plot().file(&LOAD);
        let lines: Vec<&str> = file.lines().collect();
        assert!(
            lines[0].starts_with("# time target_qps actual_qps") && lines[0].ends_with(" conn_avg_latency")
        );
        assert_eq!(
            &lines[1..],
            [
                "  0.250    25.00    24.00    24.00     0.00 0.002000     0.00 0.000000",
                "  0.750    75.00    74.00    74.00     0.00 0.002000     0.00 0.000000",
                "  1.250   100.00   100.00    80.00    80.00 0.002000     0.00 0.000000",
                "  1.750   100.00   100.00    90.00     0.00 0.002000     0.00 0.000000",
            ]
        );
    }

    #[test]
    fn an_answer_that_came_late_or_was_wrong_is_no_failure() {
        let mut late = interval(0, 12, 6, 2);
        late.tally.rcodes.add(2, 4);
        late.tally.rcodes_late_or_wrong.add(2, 4);
        // BADVERS is NOERROR in the header, as resperf sees it.
        late.tally.rcodes.add(16, 1);
        let mut plot = Plot::new(POINTS);
        plot.add(&late);
        let file = plot.file(&LOAD);
        let columns: Vec<&str> = file.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(columns[3..5], ["12.00", "12.00"]);
    }

    #[test]
    fn the_highest_throughput_is_searched_up_to_the_first_point_with_more_loss() {
        assert_eq!(plot().highest(100.0), Highest { qps: 90.0, lost_percent: 10.0 });
        assert_eq!(plot().highest(15.0), Highest { qps: 74.0, lost_percent: 0.0 });
        assert_eq!(Plot::new(POINTS).highest(100.0), Highest::default());
    }

    #[test]
    fn the_point_in_which_a_load_was_ended_is_left_out_but_never_the_only_one() {
        let lines_of_cut = |at_ns| {
            let mut plot = plot();
            plot.cut_at(at_ns);
            plot.file(&LOAD).lines().count() - 1
        };
        assert_eq!([1, 499_999_999, 1_700_000_000].map(lines_of_cut), [1, 1, 3]);
    }
}

//! Whether the lines of a record fit together: what a run cannot have done was not written by one.
//!
//! ```text
//!   header   interval   interval   event   interval   sum
//!            └────────── later each time ─────────┘    └── the intervals together, and nothing after it
//! ```

use std::collections::BTreeMap;

use dnsdyno_measure::{Arrivals, Group, Histogram, Samples, Tally, Visitor, WorkerUse};

use crate::limits::{LARGEST_COUNT, LATEST_NS};
use crate::{Header, Interval, Line, Row, Sum};

/// What does not fit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// Queries without an end, or with several.
    #[error("its ends add up to {ends}, but {scheduled} queries were scheduled")]
    Ends {
        /// Queries that ended.
        ends: u64,
        /// Queries scheduled.
        scheduled: u64,
    },
    /// The sum is not that of the intervals.
    #[error("its `{counter}` is {sum}, but the intervals before it add up to {intervals}")]
    NotTheSum {
        /// Name of the counter, with the names of its groups.
        counter: String,
        /// In the sum.
        sum: u64,
        /// In the intervals.
        intervals: u64,
    },
    /// A line after the sum.
    #[error("it follows the sum, which ends a record")]
    AfterTheSum,
    /// An interval that is not after the one before it.
    #[error(
        "interval {index}, from {from_ns} ns, is not after the one before it, which ends at {after_ns} ns"
    )]
    Order {
        /// Its number.
        index: u64,
        /// Its first instant.
        from_ns: u64,
        /// The first instant after the interval before it.
        after_ns: u64,
    },
    /// A period that ends before it begins, a phase that begins before the last one ends.
    #[error("{what} from {from_ns} ns to {to_ns} ns does not exist")]
    Period {
        /// The period.
        what: &'static str,
        /// Its first instant.
        from_ns: u64,
        /// The first instant after it.
        to_ns: u64,
    },
    /// A figure that no run has.
    #[error("its `{figure}` is {value}, and the largest in a record is {largest}")]
    TooLarge {
        /// Its name.
        figure: String,
        /// Its value.
        value: u64,
        /// The bound.
        largest: u64,
    },
    /// A figure that cannot be 0.
    #[error("its `{0}` is 0")]
    Zero(&'static str),
}

/// Checks a header: its instants, and that its phases follow each other.
pub(crate) fn check_header(header: &Header) -> Result<(), Misfit> {
    if header.interval_ns == 0 {
        return Err(Misfit::Zero("interval_ns"));
    }
    at_most("interval_ns", header.interval_ns, LATEST_NS)?;
    at_most("timeout_ns", header.timeout_ns, LATEST_NS)?;
    let mut after_ns = 0;
    for phase in &header.phases {
        if phase.from_ns < after_ns || phase.to_ns < phase.from_ns {
            return Err(Misfit::Period { what: "a phase", from_ns: phase.from_ns, to_ns: phase.to_ns });
        }
        after_ns = phase.to_ns;
    }
    Ok(())
}

/// Checks one line after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order {
    next_index: u64,
    after_ns: u64,
    has_sum: bool,
}

impl Order {
    pub(crate) fn check(&mut self, line: &Line) -> Result<(), Misfit> {
        if self.has_sum {
            return Err(Misfit::AfterTheSum);
        }
        match line {
            Line::Interval(interval) => self.check_interval(interval),
            Line::Event(event) => at_most("at_ns", event.at_ns, LATEST_NS),
            Line::Sum(sum) => {
                self.has_sum = true;
                check_sum(sum)
            }
        }
    }

    fn check_interval(&mut self, interval: &Interval) -> Result<(), Misfit> {
        let Interval { index, from_ns, to_ns, .. } = *interval;
        self.check_period(index, index, from_ns, to_ns)?;
        check_counts(&interval.tally, &interval.arrivals, &interval.workers)?;
        at_most("covered_ns", interval.covered_ns.unwrap_or(0), to_ns - from_ns)?;
        at_most("asked_qps", interval.asked_qps as u64, LARGEST_COUNT)
    }

    /// Checks a row of the index, which stands for several intervals.
    pub(crate) fn check_row(&mut self, row: &Row) -> Result<(), Misfit> {
        at_most("intervals", row.intervals, LARGEST_COUNT)?;
        let last = row.index.saturating_add(row.intervals.saturating_sub(1));
        self.check_period(row.index, last, row.from_ns, row.to_ns)?;
        at_most("covered_ns", row.covered_ns, row.to_ns - row.from_ns)?;
        at_most("idle_ns", row.idle_ns, row.to_ns - row.from_ns - row.covered_ns)?;
        at_most("due_to_ns", row.due_to_ns, row.to_ns)?;
        check_counts(&row.tally, &row.arrivals, &row.workers)
    }

    fn check_period(&mut self, index: u64, last: u64, from_ns: u64, to_ns: u64) -> Result<(), Misfit> {
        if to_ns <= from_ns {
            return Err(Misfit::Period { what: "an interval", from_ns, to_ns });
        }
        at_most("to_ns", to_ns, LATEST_NS)?;
        at_most("index", last, LARGEST_COUNT)?;
        if index < self.next_index || from_ns < self.after_ns {
            return Err(Misfit::Order { index, from_ns, after_ns: self.after_ns });
        }
        (self.next_index, self.after_ns) = (last + 1, to_ns);
        Ok(())
    }
}

/// Checks the intervals so far, merged.
pub(crate) fn check_merged(merged: &Row) -> Result<(), Misfit> {
    check_counts(&merged.tally, &merged.arrivals, &merged.workers)
}

fn check_sum(sum: &Sum) -> Result<(), Misfit> {
    at_most("to_ns", sum.to_ns, LATEST_NS)?;
    at_most("late_after_settled", sum.late_after_settled, LARGEST_COUNT)?;
    check_counts(&sum.tally, &sum.arrivals, &sum.workers)
}

/// The bounds first: then the ends can be added.
fn check_counts(tally: &Tally, arrivals: &Arrivals, workers: &Vec<WorkerUse>) -> Result<(), Misfit> {
    let mut bounds = Bounds(Ok(()));
    let groups: [&dyn Group; 3] = [tally, arrivals, workers];
    groups.iter().for_each(|group| group.visit_each(&mut bounds));
    bounds.0?;
    let (ends, scheduled) = (tally.ends.total(), tally.scheduled);
    if ends == scheduled { Ok(()) } else { Err(Misfit::Ends { ends, scheduled }) }
}

/// Checks that the intervals, merged into `tally` and `arrivals`, add up to the sum; with a gap in the record, that
/// they are not more.
pub(crate) fn check_total(
    mut tally: Tally,
    arrivals: &Arrivals,
    sum: &Sum,
    has_gap: bool,
) -> Result<(), Misfit> {
    tally.ends.came_late_after_all(sum.late_after_settled);
    // Without its last intervals, timed out queries that were moved are missing too.
    let is_moved = |name: &str| has_gap && (name == "ends.timed_out" || name == "ends.answered_late");
    let fits = |sum: u64, intervals: u64| if has_gap { intervals <= sum } else { intervals == sum };
    let mut in_intervals: BTreeMap<String, u64> = counts_of(&tally, arrivals).into_iter().collect();
    for (counter, sum) in counts_of(&sum.tally, &sum.arrivals) {
        let intervals = in_intervals.remove(&counter).unwrap_or(0);
        if !fits(sum, intervals) && !is_moved(&counter) {
            return Err(Misfit::NotTheSum { counter, sum, intervals });
        }
    }
    match in_intervals.into_iter().find(|(counter, _)| !is_moved(counter)) {
        Some((counter, intervals)) => Err(Misfit::NotTheSum { counter, sum: 0, intervals }),
        None => Ok(()),
    }
}

/// Checks that no watched counter rose more in the intervals than in the sum, which also has what was read after the
/// last interval.
pub(crate) fn check_watched(intervals: &[Option<Samples>], sum: &[Option<Samples>]) -> Result<(), Misfit> {
    for (source, (intervals, sum)) in intervals.iter().zip(sum).enumerate() {
        let (Some(intervals), Some(sum)) = (intervals, sum) else { continue };
        for (name, rise) in &intervals.counters {
            if let Some(of_run) = sum.counters.get(name).filter(|of_run| *of_run < rise) {
                let counter = format!("watched.{source}.{}", dnsdyno_text::shown(name, LONGEST_SHOWN));
                return Err(Misfit::NotTheSum { counter, sum: *of_run, intervals: *rise });
            }
        }
    }
    Ok(())
}

/// Characters of a name in an error.
const LONGEST_SHOWN: usize = 100;

/// Every count above 0, in the order of the record.
fn counts_of(tally: &Tally, arrivals: &Arrivals) -> Vec<(String, u64)> {
    let mut figures = Figures::default();
    tally.visit_each(&mut figures);
    figures.group("arrivals", Some(arrivals));
    figures.counts
}

fn at_most(figure: &str, value: u64, largest: u64) -> Result<(), Misfit> {
    if value <= largest {
        Ok(())
    } else {
        Err(Misfit::TooLarge { figure: figure.to_owned(), value, largest })
    }
}

/// Finds a count that is too large. Nanoseconds are only shown, and their sums are limited where they are added.
struct Bounds(Result<(), Misfit>);

impl Visitor for Bounds {
    fn count(&mut self, key: &str, count: u64) {
        if self.0.is_ok() && !key.ends_with("_ns") {
            self.0 = at_most(key, count, LARGEST_COUNT);
        }
    }

    fn histogram(&mut self, key: &str, histogram: &Histogram) {
        self.count(key, histogram.count());
    }

    fn group(&mut self, _key: &str, group: Option<&dyn Group>) {
        if let Some(group) = group {
            group.visit_each(self);
        }
    }
}

/// Every count above 0 with its full name, in the order of the record.
#[derive(Default)]
struct Figures {
    within: String,
    counts: Vec<(String, u64)>,
}

impl Visitor for Figures {
    fn count(&mut self, key: &str, count: u64) {
        if count > 0 {
            self.counts.push((format!("{}{key}", self.within), count));
        }
    }

    fn histogram(&mut self, key: &str, histogram: &Histogram) {
        self.count(key, histogram.count());
    }

    fn group(&mut self, key: &str, group: Option<&dyn Group>) {
        let outside = self.within.len();
        self.within.extend([key, "."]);
        if let Some(group) = group {
            group.visit_each(self);
        }
        self.within.truncate(outside);
    }
}

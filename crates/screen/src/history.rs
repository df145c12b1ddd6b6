//! What the charts show over time: columns of counts, in bounded memory.
//!
//! ```text
//!   latest:  | | | | | | | |   columns of one length; the oldest leaves
//!   whole:   |   |   |   |     all of the run; with too many, neighbours are merged and columns are twice as long
//! ```

use std::collections::VecDeque;

use dnsdyno_measure::{Arrivals, FLOOR_NS, Histogram};

use crate::span::Span;

/// The counts of one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Column {
    /// The time of its intervals.
    pub(crate) span: Span,
    /// Queries due.
    pub(crate) asked: f64,
    /// Queries sent.
    pub(crate) sent: u64,
    /// Responses in time.
    pub(crate) answered: u64,
    /// Queries that ended without a response in time.
    pub(crate) unanswered: u64,
    /// Responses by latency, [`BINS_A_DECADE`] logarithmic bins a decade from 1 µs; without the empty bins at the end.
    pub(crate) bins: Vec<u32>,
}

impl Column {
    /// The counts of one wall interval.
    pub(crate) fn of(span: Span, asked: f64, arrivals: &Arrivals) -> Column {
        Column {
            span,
            asked,
            sent: arrivals.sent,
            answered: arrivals.answered,
            unanswered: arrivals.timed_out + arrivals.refused + arrivals.wrong + arrivals.not_sent,
            bins: bins_of(&arrivals.latency),
        }
    }

    /// Adds a later column.
    pub(crate) fn add(&mut self, later: &Column) {
        self.span.add(later.span);
        self.asked += later.asked;
        self.sent = self.sent.saturating_add(later.sent);
        self.answered = self.answered.saturating_add(later.answered);
        self.unanswered = self.unanswered.saturating_add(later.unanswered);
        self.bins.resize(self.bins.len().max(later.bins.len()), 0);
        self.bins.iter_mut().zip(&later.bins).for_each(|(bin, more)| *bin = bin.saturating_add(*more));
    }

    /// `count` as a rate.
    pub(crate) fn rate_qps(&self, count: f64) -> f64 {
        let over_ns = self.span.of_rates_ns();
        if over_ns == 0 { 0.0 } else { count / (over_ns as f64 * 1e-9) }
    }
}

/// The bin of a latency.
pub(crate) fn bin_of(latency_ns: u64) -> usize {
    let decades = (latency_ns.max(FLOOR_NS) as f64 / FLOOR_NS as f64).log10();
    (decades * BINS_A_DECADE as f64) as usize
}

fn bins_of(latency: &Histogram) -> Vec<u32> {
    let mut bins = Vec::new();
    for bucket in latency.buckets() {
        let bin = bin_of(bucket.from_ns);
        bins.resize(bins.len().max(bin + 1), 0_u32);
        let count = u32::try_from(bucket.count).unwrap_or(u32::MAX);
        bins[bin] = bins[bin].saturating_add(count);
    }
    bins
}

/// Columns of equal length, one after the other from the start of the run.
#[derive(Debug)]
pub(crate) struct History {
    column_ns: u64,
    /// Number of the first column.
    first: u64,
    columns: VecDeque<Column>,
    /// Whether the oldest column leaves when there are too many; otherwise neighbours are merged.
    forgets: bool,
}

/// Some columns of a history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stretch {
    /// Length of a column.
    pub(crate) column_ns: u64,
    /// Number of the first column, counted in this length from the start of the run.
    pub(crate) first: u64,
    /// The columns, oldest first.
    pub(crate) columns: Vec<Column>,
}

impl History {
    /// The latest columns of a run.
    pub(crate) fn latest(column_ns: u64) -> History {
        History { column_ns: column_ns.max(1), first: 0, columns: VecDeque::new(), forgets: true }
    }

    /// All of a run.
    pub(crate) fn whole(column_ns: u64) -> History {
        History { forgets: false, ..History::latest(column_ns) }
    }

    /// Adds the counts of an interval that begins at `from_ns`, not before those that were added earlier.
    pub(crate) fn add(&mut self, from_ns: u64, counts: &Column) {
        // A time without intervals, as behind a clock that stood still, is shown as a gap of at most all columns.
        let number = from_ns / self.column_ns;
        if number >= self.first.saturating_add((self.columns.len() + MOST_COLUMNS) as u64) {
            (self.first, self.columns) = (number, VecDeque::new());
        }
        while self.first + self.columns.len() as u64 <= number {
            self.columns.push_back(Column::default());
        }
        let place = number.saturating_sub(self.first) as usize;
        if let Some(column) = self.columns.get_mut(place) {
            column.add(counts);
        }
        while self.columns.len() > MOST_COLUMNS {
            match self.forgets {
                true => {
                    self.columns.pop_front();
                    self.first += 1;
                }
                false => self.double(),
            }
        }
    }

    /// Makes columns twice as long.
    fn double(&mut self) {
        let (first, old) = (self.first, std::mem::take(&mut self.columns));
        (self.column_ns, self.first) = (self.column_ns.saturating_mul(2), first / 2);
        for (number, column) in (first..).zip(old) {
            match self.columns.get_mut((number / 2 - self.first) as usize) {
                Some(merged) => merged.add(&column),
                None => self.columns.push_back(column),
            }
        }
    }

    /// The last `most` columns; of a whole run all, merged so that they are at most `most` until `end_ns`.
    pub(crate) fn stretch(&self, most: usize, end_ns: Option<u64>) -> Stretch {
        let most = most.max(1);
        if self.forgets {
            let skipped = self.columns.len().saturating_sub(most);
            let columns = self.columns.range(skipped..).cloned().collect();
            return Stretch { column_ns: self.column_ns, first: self.first + skipped as u64, columns };
        }
        let planned = end_ns.map_or(0, |end_ns| end_ns.div_ceil(self.column_ns));
        let planned = usize::try_from(planned).unwrap_or(usize::MAX);
        let together = self.columns.len().max(planned).div_ceil(most).max(1);
        let mut columns: Vec<Column> = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            match columns.get_mut(i / together) {
                Some(merged) => merged.add(column),
                None => columns.push(column.clone()),
            }
        }
        let column_ns = self.column_ns.saturating_mul(together as u64);
        Stretch { column_ns, first: self.first / together as u64, columns }
    }
}

/// Enough for a row of pixels to have its own bin on the tallest terminal.
pub(crate) const BINS_A_DECADE: usize = 32;

/// More than the columns of any terminal that shows them.
const MOST_COLUMNS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn column(answered: u64) -> Column {
        let mut arrivals = Arrivals { sent: answered, answered, ..Arrivals::default() };
        (0..answered).for_each(|_| arrivals.latency.record(2_000_000));
        Column::of(Span::new(SECOND, SECOND), answered as f64, &arrivals)
    }

    #[test]
    fn a_column_has_the_counts_of_its_interval_in_logarithmic_bins() {
        let mut arrivals = Arrivals { sent: 3, answered: 2, timed_out: 1, ..Arrivals::default() };
        [10_000, 1_500_000].iter().for_each(|ns| arrivals.latency.record(*ns));
        let column = Column::of(Span::new(SECOND, SECOND), 3.0, &arrivals);
        assert_eq!((column.sent, column.answered, column.unanswered, column.asked), (3, 2, 1, 3.0));
        let filled: Vec<usize> = (0..column.bins.len()).filter(|bin| column.bins[*bin] > 0).collect();
        assert_eq!(filled.len(), 2);
        // The bin of a bucket is that of its lower end, at most a bin below that of the value.
        assert!(filled[0].abs_diff(BINS_A_DECADE) <= 1 && filled[1].abs_diff(bin_of(1_500_000)) <= 1);
    }

    #[test]
    fn short_intervals_are_added_to_one_column() {
        let mut history = History::latest(SECOND);
        (0..8).for_each(|i| history.add(i * SECOND / 4, &column(10)));
        let stretch = history.stretch(100, None);
        assert_eq!(stretch.columns.iter().map(|column| column.answered).collect::<Vec<_>>(), [40, 40]);
    }

    #[test]
    fn the_latest_columns_forget_and_the_whole_run_is_merged() {
        let (mut latest, mut whole) = (History::latest(SECOND), History::whole(SECOND));
        for i in 0..5_000 {
            latest.add(i * SECOND, &column(1));
            whole.add(i * SECOND, &column(1));
        }
        let stretch = latest.stretch(70, None);
        assert_eq!((stretch.columns.len(), stretch.first), (70, 4_930));
        let stretch = whole.stretch(70, None);
        assert!((36..=70).contains(&stretch.columns.len()), "{}", stretch.columns.len());
        assert_eq!(stretch.columns.iter().map(|column| column.answered).sum::<u64>(), 5_000);
        assert!(whole.columns.len() <= MOST_COLUMNS && stretch.column_ns * 70 >= 5_000 * SECOND);
        let half = whole.stretch(70, Some(10_000 * SECOND));
        assert!(half.columns.len() <= 35 && half.column_ns * 70 >= 10_000 * SECOND);
    }

    #[test]
    fn a_time_without_intervals_is_a_gap() {
        let mut history = History::latest(SECOND);
        history.add(0, &column(1));
        history.add(3 * SECOND, &column(1));
        let answered: Vec<u64> =
            history.stretch(10, None).columns.iter().map(|column| column.answered).collect();
        assert_eq!(answered, [1, 0, 0, 1]);
        history.add(u64::MAX, &column(2));
        assert_eq!(history.stretch(10, None).columns.len(), 1);
    }
}

//! The summary of a record in bounded memory, built line by line.
//!
//! The writer builds it during the run and the reader builds it from the file, by the same calls: so the summary at
//! the end of a run and that of `dnsdyno show` are equal. For a long record the reader uses the roll-ups of the index
//! instead of the intervals. The result is the same, because only integers are added.
//!
//! ```text
//!   intervals  0 1 2 3 4 5 6 7 8 9 …             a week of seconds
//!   rows       [0 1][2 3][4 5][6 7][8 9] …       at most 24: with more, neighbours are merged
//!   or phases  [ 2,000 q/s ][ 3,000 q/s ] …      where the load has several parts
//! ```

use std::path::Path;

use dnsdyno_measure::{
    Arrivals, BoundedLatency, Bounds, Evidence, Loss, MemberTally, OwnPart, OwnShare, Samples, Tally,
    Verdict, Warning, WorkerUse, verdict,
};

use crate::fit::{self, Order};
use crate::index::Place;
use crate::lock::is_in_progress;
use crate::peak::Peak;
use crate::row::{GROUP_INTERVALS, MAX_EVENTS, MAX_ROWS};
use crate::worst::Worst;
use crate::{Ended, Event, Header, Headline, Interval, Line, ReadError, Row, RunReader, Sum};

/// The summary of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// The header of the record.
    pub header: Header,
    /// The sum; `None` where the run did not end regularly, or has not ended yet.
    pub sum: Option<Sum>,
    /// The first [`MAX_EVENTS`] events.
    pub events: Vec<Event>,
    /// Number of further events, which are not stored.
    pub more_events: u64,
    /// Intervals read.
    pub intervals: u64,
    /// Whether the file ends in the middle of a line.
    pub torn: bool,
    /// Of a record without a sum that was read: whether its run is in progress.
    pub in_progress: bool,
    rows: Vec<Row>,
    /// Whether there are rows: they are most of the memory of a digest.
    pub(crate) keeps_rows: bool,
    /// Intervals per row, where rows are not phases.
    row_intervals: u64,
    /// All intervals merged, for a record without a sum.
    merged: Row,
    /// Whether lines of the record are lost.
    has_gap: bool,
}

impl Digest {
    /// The digest of a record that has only its header.
    pub fn new(header: Header) -> Digest {
        let merged = Row::empty(header.types.len());
        Digest {
            header,
            sum: None,
            events: Vec::new(),
            more_events: 0,
            intervals: 0,
            torn: false,
            in_progress: false,
            rows: Vec::new(),
            keeps_rows: true,
            row_intervals: 1,
            merged,
            has_gap: false,
        }
    }

    /// That of a run that has begun, until it gets its sum.
    pub fn begun(header: Header) -> Digest {
        Digest { in_progress: true, ..Digest::new(header) }
    }

    /// Reads the record at `path`, a run's folder or its file.
    ///
    /// # Errors
    /// As [`RunReader`], and a sum that is not that of the intervals. A record without its last lines is not an error.
    pub fn read(path: &Path) -> Result<Digest, ReadError> {
        // Before it is read: a run may end meanwhile, and then the record has its sum.
        let in_progress = is_in_progress(path);
        let reader = RunReader::open(path)?;
        let places = reader.places();
        let with_index = Digest::new(reader.header().clone()).filled(reader, &places);
        // An index that does not fit to the record is not used.
        let mut digest = match with_index {
            Err(_) if !places.is_empty() => {
                let reader = RunReader::open(path)?;
                Digest::new(reader.header().clone()).filled(reader, &[])?
            }
            read => read?,
        };
        digest.in_progress = in_progress && digest.sum.is_none();
        Ok(digest)
    }

    /// With the groups at these places from the index, and all other lines of the record.
    fn filled(mut self, reader: RunReader, places: &[Place]) -> Result<Digest, ReadError> {
        let mut rest = self.add_roll_ups(reader, places)?;
        self.lines(&mut rest)?;
        self.torn = rest.is_torn();
        Ok(self)
    }

    fn lines(&mut self, reader: &mut RunReader) -> Result<(), ReadError> {
        while let Some(line) = reader.next() {
            let fits = match line? {
                Line::Interval(interval) => {
                    self.interval(&interval);
                    fit::check_merged(&self.merged)
                }
                Line::Event(event) => {
                    self.event(&event);
                    Ok(())
                }
                Line::Sum(sum) => {
                    self.sum(&sum);
                    let (tally, arrivals) = (self.merged.tally.clone(), &self.merged.arrivals);
                    fit::check_total(tally, arrivals, &sum, self.has_gap)
                        .and_then(|()| fit::check_watched(&self.merged.watched, &sum.watched))
                }
            };
            fits.map_err(|why| reader.misfit(why))?;
        }
        Ok(())
    }

    /// Adds an interval.
    pub fn interval(&mut self, interval: &Interval) {
        self.row(self.header.row_of(interval));
    }

    /// Adds an event.
    pub fn event(&mut self, event: &Event) {
        self.has_gap |= event.kind == Event::RECORD_GAP;
        if self.events.len() < MAX_EVENTS {
            self.events.push(event.clone());
        } else {
            self.more_events += 1;
        }
    }

    /// Adds the sum.
    pub fn sum(&mut self, sum: &Sum) {
        // Of very many phases not each has a row.
        debug_assert!(
            self.rows_are_phases()
                || !self.keeps_rows
                || self.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.tally.scheduled))
                    == self.merged.tally.scheduled,
            "the rows are not all intervals",
        );
        self.in_progress = false;
        self.sum = Some(sum.clone());
    }

    /// Whether the run ended regularly and the record is complete.
    pub fn is_complete(&self) -> bool {
        self.sum.is_some() && !self.torn
    }

    /// Whether lines of the record are lost: the disk was too slow, or full for a time.
    pub fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// Intervals that lack the part of an agent, of a run on several hosts: no rate is made from them.
    pub fn partial_intervals(&self) -> u64 {
        self.merged.partial_intervals
    }

    /// What of the run is of each agent, of a run on several hosts.
    pub fn agents(&self) -> &[MemberTally] {
        &self.merged.agents
    }

    /// How the run's queries ended: from the sum, or from the intervals where there is none.
    pub fn tally(&self) -> &Tally {
        self.sum.as_ref().map_or(&self.merged.tally, |sum| &sum.tally)
    }

    /// What passed the sockets.
    pub fn arrivals(&self) -> &Arrivals {
        self.sum.as_ref().map_or(&self.merged.arrivals, |sum| &sum.arrivals)
    }

    /// Queries and CPU time of each worker.
    pub fn workers(&self) -> &[WorkerUse] {
        self.sum.as_ref().map_or(&self.merged.workers, |sum| &sum.workers)
    }

    /// What was read beside the load, by source, over the run.
    pub fn watched(&self) -> &[Option<Samples>] {
        self.sum.as_ref().map_or(&self.merged.watched, |sum| &sum.watched)
    }

    /// Length of the run, until its last query ended.
    pub fn to_ns(&self) -> u64 {
        self.sum.as_ref().map_or(self.merged.to_ns, |sum| sum.to_ns)
    }

    /// Time over which queries were due.
    pub fn schedule_ns(&self) -> u64 {
        self.sum.as_ref().map_or(self.merged.due_to_ns, |sum| sum.schedule_ns)
    }

    /// Time over which queries were due, and after it those that had been held back were sent: the divisor of average
    /// rates.
    pub fn sending_ns(&self) -> u64 {
        let overrun_ns = self.sum.as_ref().map_or(0, |sum| sum.evidence.overrun_ns());
        self.schedule_ns().saturating_add(overrun_ns)
    }

    /// What ended the run, where known.
    pub fn ended(&self) -> Option<&Ended> {
        self.sum.as_ref().map(|sum| &sum.ended)
    }

    /// Why rate and loss may not be those of the server.
    ///
    /// Without a sum, only the warnings that follow from the intervals; then an empty list does not mean `ok`.
    pub fn warnings(&self) -> Vec<Warning> {
        self.sum.as_ref().map_or_else(|| self.judge(None).doubts, |sum| sum.warnings.clone())
    }

    /// What the generator has met beside that; none without a sum.
    pub fn notes(&self) -> &[Warning] {
        self.sum.as_ref().map_or(&[], |sum| &sum.notes)
    }

    /// The verdict, from the evidence in `sum` where the run has ended, else from the intervals.
    pub fn judge(&self, sum: Option<&Sum>) -> Verdict {
        let tally = sum.map_or(&self.merged.tally, |sum| &sum.tally);
        let arrivals = sum.map_or(&self.merged.arrivals, |sum| &sum.arrivals);
        verdict(tally, arrivals, &self.evidence(sum))
    }

    /// The percentiles of the headline latency of the run, with their ends.
    pub fn percentiles(&self) -> BoundedLatency<'_> {
        self.own_part(self.arrivals()).percentiles(self.tally())
    }

    /// The same of one row.
    pub fn percentiles_of<'r>(&self, row: &'r Row) -> BoundedLatency<'r> {
        self.own_part(&row.arrivals).percentiles(&row.tally)
    }

    /// A percentile of the run; `None` where too few queries are beyond it.
    pub fn percentile(&self, q: f64) -> Option<Bounds> {
        self.percentiles().at(q)
    }

    /// A percentile of one row.
    pub fn percentile_of(&self, row: &Row, q: f64) -> Option<Bounds> {
        self.percentiles_of(row).at(q)
    }

    /// The lost queries of the run, and how many of them may be ours.
    pub fn loss(&self) -> Loss {
        Loss::of(self.tally(), self.own_part(self.arrivals()).loses_answers)
    }

    /// The same of one row.
    pub fn loss_of(&self, row: &Row) -> Loss {
        Loss::of(&row.tally, self.own_part(&row.arrivals).loses_answers)
    }

    /// The generator's own share of a closed loop; `None` in any other.
    pub fn own_share(&self) -> Option<OwnShare> {
        OwnShare::of(self.tally(), self.arrivals(), &self.evidence(self.sum.as_ref()))
    }

    /// What is known of the generator's part, where `arrivals` passed the sockets.
    pub(crate) fn own_part<'a>(&self, arrivals: &'a Arrivals) -> OwnPart<'a> {
        let evidence = Evidence {
            open_loop: self.header.headline == Headline::Response,
            // Those of the whole run are in its arrivals.
            socket_drops: 0,
            ..self.evidence(self.sum.as_ref())
        };
        OwnPart::of(&evidence, arrivals)
    }

    fn evidence(&self, sum: Option<&Sum>) -> Evidence {
        let from_intervals = || Evidence {
            open_loop: self.header.headline == Headline::Response,
            schedule_ns: self.merged.due_to_ns,
            socket_drops: self.merged.arrivals.socket_drops,
            sockets: u64::from(self.header.clients),
            workers: u64::from(self.header.workers),
            lasted_ns: self.merged.to_ns,
            partial_intervals: self.merged.partial_intervals,
            ..Evidence::default()
        };
        sum.map_or_else(from_intervals, |sum| sum.evidence.clone())
    }

    /// The worst moments of the run.
    pub fn worst(&self) -> &Worst {
        &self.merged.worst
    }

    /// The busiest interval of the run, where anything was sent.
    pub fn peak(&self) -> Option<&Peak> {
        self.merged.peak.as_ref()
    }

    /// The merged intervals, in order, without the empty ones at the end of a run, in which the generator only waits
    /// for the last responses.
    pub fn rows(&self) -> &[Row] {
        let is_used = |row: &Row| row.tally.scheduled > 0 || row.asked_micro > 0;
        let used = self.rows.iter().rposition(is_used).map_or(0, |last| last + 1);
        &self.rows[..used]
    }

    /// Whether each row is a phase of the load: where there are several, and no interval belongs to two.
    pub fn rows_are_phases(&self) -> bool {
        self.header.rows_are_phases()
    }

    /// Adds the roll-ups of a long record, and returns a reader of the lines after them.
    ///
    /// A roll-up must not belong to two rows. Where rows are phases it does not, because a group of intervals belongs
    /// to one phase. Otherwise a row has at least as many intervals as a group, if there are too many intervals for
    /// rows of half a group.
    fn add_roll_ups(&mut self, reader: RunReader, places: &[Place]) -> Result<RunReader, ReadError> {
        let intervals = places.iter().fold(0, |sum: u64, place| sum.saturating_add(place.row.intervals));
        if !self.rows_are_phases() {
            if intervals <= MAX_ROWS as u64 * GROUP_INTERVALS / 2 {
                return Ok(reader);
            }
            self.row_intervals = GROUP_INTERVALS;
        }
        let (mut at_byte, mut lines, mut order) = (0, 0_u64, Order::default());
        for roll_up in reader.roll_ups().take(places.len()) {
            // A group without a roll-up has lost lines: its remaining lines are read.
            if at_byte < roll_up.from_byte {
                let mut between = reader.part(at_byte..roll_up.from_byte, lines)?;
                self.lines(&mut between)?;
                lines = between.lines_read();
            }
            (at_byte, lines) = (roll_up.to_byte, lines.saturating_add(roll_up.lines));
            roll_up.events.iter().for_each(|event| self.event(event));
            self.more_events = self.more_events.saturating_add(roll_up.more_events);
            order.check_row(&roll_up.row).map_err(|why| reader.misfit(why))?;
            self.row(roll_up.row);
            fit::check_merged(&self.merged).map_err(|why| reader.misfit(why))?;
        }
        if at_byte == 0 { Ok(reader) } else { reader.part(at_byte..u64::MAX, lines) }
    }

    /// Adds intervals that belong to one row.
    fn row(&mut self, mut row: Row) {
        self.intervals = self.intervals.saturating_add(row.intervals);
        if row.worst.is_empty() {
            // The roll-up of an older index does not say which of its intervals was the worst.
            row.worst = Worst::of(&row.tally, row.from_ns, row.to_ns);
        }
        let trend = std::mem::take(&mut row.trend);
        self.merged.merge(&row);
        row.trend = trend;
        row.watched.clear();
        row.agents.clear();
        if !self.keeps_rows {
            return;
        }
        if !self.rows_are_phases() {
            self.add_to_row(row);
            while self.rows.len() > MAX_ROWS {
                self.row_intervals *= 2;
                std::mem::take(&mut self.rows).into_iter().for_each(|row| self.add_to_row(row));
            }
        } else if let Some(phase) = self.header.phase_at(row.from_ns) {
            row.label = Some(self.header.phases[phase].label.clone());
            self.add_to_row(row);
        }
    }

    /// Adds to the last row, or starts another.
    fn add_to_row(&mut self, row: Row) {
        let is_one_row = |last: &Row| match self.rows_are_phases() {
            true => self.header.phase_at(last.from_ns) == self.header.phase_at(row.from_ns),
            false => last.index / self.row_intervals == row.index / self.row_intervals,
        };
        if self.rows.last().is_some_and(is_one_row) {
            if let Some(last) = self.rows.last_mut() {
                last.merge(&row);
            }
        } else {
            self.rows.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    fn header(phases: Vec<Phase>) -> Header {
        Header {
            run_id: "r".into(),
            version: "0".into(),
            timeout_ns: SECOND,
            headline: Headline::Response,
            types: vec![1],
            phases,
            target: "::1".into(),
            address: "[::1]:53".parse().unwrap(),
            queries: 1,
            load: "10 queries/s".into(),
            ..Header::default()
        }
    }

    fn interval(index: u64, scheduled: u64) -> Interval {
        let mut tally = Tally::new(1);
        tally.scheduled = scheduled;
        tally.ends.answered = scheduled;
        Interval {
            agents: Vec::new(),
            index,
            from_ns: index * SECOND,
            to_ns: (index + 1) * SECOND,
            covered_ns: None,
            asked_qps: scheduled as f64,
            tally,
            arrivals: Arrivals::default(),
            workers: vec![WorkerUse { sent: scheduled, ..WorkerUse::default() }],
            watched: Vec::new(),
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_short_run_has_a_row_per_interval_and_a_long_one_merges_neighbours() {
        let mut digest = Digest::new(header(Vec::new()));
        (0..20).for_each(|i| digest.interval(&interval(i, 10)));
        assert_eq!(digest.rows().len(), 20);
        (20..100).for_each(|i| digest.interval(&interval(i, 10)));
        // 100 seconds in rows of 8: twelve, and a half one.
        let rows = digest.rows();
        assert_eq!((rows.len(), rows[0].to_ns, rows[12].from_ns), (13, 8 * SECOND, 96 * SECOND));
        assert!(rows.iter().all(|row| row.asked_qps() == 10.0));
        assert_eq!(rows.iter().map(|row| row.tally.scheduled).sum::<u64>(), 1000);
        assert_eq!((digest.tally().scheduled, digest.workers()[0].sent), (1000, 1000));
    }

    #[test]
    fn a_stair_has_a_row_per_step_and_none_after_the_last_step() {
        let step = |n: u64| Phase {
            label: format!("step {n}"),
            from_ns: n * 3 * SECOND,
            to_ns: (n + 1) * 3 * SECOND,
        };
        let mut digest = Digest::new(header((0..3).map(step).collect()));
        (0..9).for_each(|i| digest.interval(&interval(i, 10 + i)));
        (9..12).for_each(|i| digest.interval(&interval(i, 0)));
        let rows = digest.rows();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[1].label.as_deref(), rows[1].from_ns), (Some("step 1"), 3 * SECOND));
        assert_eq!(rows[1].asked_qps(), 14.0);
        assert_eq!((digest.to_ns(), digest.schedule_ns()), (12 * SECOND, 9 * SECOND));
    }

    #[test]
    fn empty_intervals_have_a_row_in_the_middle_and_none_at_the_end() {
        let mut digest = Digest::new(header(Vec::new()));
        [5, 0, 5, 0, 0].into_iter().enumerate().for_each(|(i, n)| digest.interval(&interval(i as u64, n)));
        assert_eq!(digest.rows().len(), 3);
    }

    #[test]
    fn the_verdict_is_that_of_the_sum_or_without_it_that_of_the_intervals() {
        let mut digest = Digest::new(header(Vec::new()));
        let mut dropping = interval(0, 10);
        dropping.arrivals.socket_drops = 3;
        digest.interval(&dropping);
        let names = |warnings: &[Warning]| warnings.iter().map(Warning::name).collect::<Vec<_>>();
        assert_eq!(names(&digest.warnings()), ["socket_drops"]);
        let sum = Sum {
            to_ns: SECOND,
            tally: dropping.tally.clone(),
            arrivals: dropping.arrivals.clone(),
            evidence: Evidence { fragments: 2, clock_step_ns: SECOND as i64, ..Evidence::default() },
            schedule_ns: SECOND,
            passes: 1.0,
            ..Sum::default()
        };
        let verdict = digest.judge(Some(&sum));
        digest.sum(&sum.judged(verdict));
        assert_eq!(names(&digest.warnings()), ["answers_in_fragments"]);
        assert_eq!(names(digest.notes()), ["clock_stepped"]);
    }

    #[test]
    fn the_number_of_events_is_limited() {
        let mut digest = Digest::new(header(Vec::new()));
        let event = Event { at_ns: 0, kind: "k".into(), message: "m".into(), figures: Default::default() };
        (0..MAX_EVENTS + 3).for_each(|_| digest.event(&event));
        assert_eq!((digest.events.len(), digest.more_events), (MAX_EVENTS, 3));
    }

    #[test]
    fn rows_are_phases_only_where_no_interval_belongs_to_two() {
        let phase = |label: &str, from_ns, to_ns| Phase { label: label.into(), from_ns, to_ns };
        let uneven = vec![phase("1", 0, 3 * SECOND / 2), phase("2", 3 * SECOND / 2, 3 * SECOND)];
        // The last phase may end within an interval.
        let even = vec![phase("1", 0, 2 * SECOND), phase("2", 2 * SECOND, 5 * SECOND / 2)];
        for (phases, rows_are_phases) in [(uneven, false), (even, true)] {
            let mut digest = Digest::new(header(phases));
            (0..3).for_each(|index| digest.interval(&interval(index, 10)));
            assert_eq!(digest.rows_are_phases(), rows_are_phases);
            assert_eq!(digest.rows().iter().map(|row| row.tally.scheduled).sum::<u64>(), 30);
        }
    }
}

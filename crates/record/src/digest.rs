//! The summary of a record in bounded memory, built line by line.
//!
//! The writer builds it while the run goes on and the reader builds it from the file, by the
//! same calls in the same order: the text shown at the end of a run and the one that
//! `dnsdyno show` prints later cannot differ.
//!
//! ```text
//!   intervals  0 1 2 3 4 5 6 7 8 9 …             a week of seconds
//!   rows       [0 1][2 3][4 5][6 7][8 9] …       at most 24: too many, and neighbours merge
//!   or phases  [ 2,000 q/s ][ 3,000 q/s ] …      where the load has parts of its own
//! ```

use std::path::Path;

use dnsdyno_measure::{Arrivals, Evidence, Tally, Warning, verdict};

use crate::{Ended, Event, Header, Headline, Interval, Line, Phase, ReadError, RunReader, Sum, WorkerUse};

/// What a summary is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// The header of the record.
    pub header: Header,
    /// The sum; `None` where the run has not ended in order (or not yet).
    pub sum: Option<Sum>,
    /// The first [`MAX_EVENTS`] events.
    pub events: Vec<Event>,
    /// Further events, not kept.
    pub more_events: u64,
    /// Intervals read.
    pub intervals: u64,
    /// Whether the file ended in the middle of a line.
    pub torn: bool,
    rows: Vec<Row>,
    /// Intervals a row, where rows are not phases.
    row_intervals: u64,
    /// All intervals together, for a record without its sum.
    merged: Merged,
}

/// Neighbouring intervals, or those of one phase, put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The phase, where rows are phases.
    pub label: Option<String>,
    /// First instant of the first interval.
    pub from_ns: u64,
    /// First instant after the last interval.
    pub to_ns: u64,
    /// Time that the intervals cover: what rates divide by.
    pub covered_ns: u64,
    /// Queries that the schedule asked for; 0 in closed loop.
    pub asked: f64,
    /// What became of the queries due.
    pub tally: Tally,
    /// What passed the sockets.
    pub arrivals: Arrivals,
    /// Number of the row: of the phase, or of the group of intervals.
    place: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Merged {
    tally: Tally,
    arrivals: Arrivals,
    workers: Vec<WorkerUse>,
    to_ns: u64,
    /// End of the last interval in which a query was due.
    due_to_ns: u64,
}

impl Digest {
    /// A digest of a record that has only its header yet.
    pub fn new(header: Header) -> Digest {
        let merged = Merged {
            tally: Tally::new(header.types.len()),
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            to_ns: 0,
            due_to_ns: 0,
        };
        Digest {
            header,
            sum: None,
            events: Vec::new(),
            more_events: 0,
            intervals: 0,
            torn: false,
            rows: Vec::new(),
            row_intervals: 1,
            merged,
        }
    }

    /// Digests the record at `path`, a run's folder or its file.
    ///
    /// # Errors
    /// As [`RunReader`]; a record without its last lines is none.
    pub fn read(path: &Path) -> Result<Digest, ReadError> {
        let mut reader = RunReader::open(path)?;
        let mut digest = Digest::new(reader.header().clone());
        for line in &mut reader {
            match line? {
                Line::Interval(interval) => digest.interval(&interval),
                Line::Event(event) => digest.event(&event),
                Line::Sum(sum) => digest.sum(&sum),
            }
        }
        digest.torn = reader.is_torn();
        Ok(digest)
    }

    /// Takes in an interval.
    pub fn interval(&mut self, interval: &Interval) {
        self.intervals += 1;
        self.merged.interval(interval);
        if self.rows_are_phases() {
            self.phase_row(interval);
        } else {
            self.group_row(interval);
        }
    }

    /// Takes in an event.
    pub fn event(&mut self, event: &Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event.clone());
        } else {
            self.more_events += 1;
        }
    }

    /// Takes in the sum.
    pub fn sum(&mut self, sum: &Sum) {
        self.sum = Some(sum.clone());
    }

    /// Whether the run ended in order and the record holds all of it.
    pub fn is_complete(&self) -> bool {
        self.sum.is_some() && !self.torn
    }

    /// What became of the run's queries: the sum, or else what the intervals say.
    pub fn tally(&self) -> &Tally {
        self.sum.as_ref().map_or(&self.merged.tally, |sum| &sum.tally)
    }

    /// What passed the sockets.
    pub fn arrivals(&self) -> &Arrivals {
        self.sum.as_ref().map_or(&self.merged.arrivals, |sum| &sum.arrivals)
    }

    /// What each worker used.
    pub fn workers(&self) -> &[WorkerUse] {
        self.sum.as_ref().map_or(&self.merged.workers, |sum| &sum.workers)
    }

    /// Length of the run, to the end of its last query.
    pub fn to_ns(&self) -> u64 {
        self.sum.as_ref().map_or(self.merged.to_ns, |sum| sum.to_ns)
    }

    /// Time over which queries were due: what average rates divide by.
    pub fn schedule_ns(&self) -> u64 {
        self.sum.as_ref().map_or(self.merged.due_to_ns, |sum| sum.schedule_ns)
    }

    /// What ended the run, where that is known.
    pub fn ended(&self) -> Option<&Ended> {
        self.sum.as_ref().map(|sum| &sum.ended)
    }

    /// Why the figures may not be the server's.
    ///
    /// Without a sum, only what the intervals betray; none then does not mean `ok`.
    pub fn warnings(&self) -> Vec<Warning> {
        self.sum.as_ref().map_or_else(|| self.judge(None), |sum| sum.warnings.clone())
    }

    /// The verdict, from the evidence of `sum` where the run has ended, else from that of the intervals.
    pub fn judge(&self, sum: Option<&Sum>) -> Vec<Warning> {
        let betrayed = || Evidence {
            open_loop: self.header.headline == Headline::Response,
            schedule_ns: self.merged.due_to_ns,
            socket_drops: self.merged.arrivals.socket_drops,
            sockets: u64::from(self.header.clients),
            lasted_ns: self.merged.to_ns,
            ..Evidence::default()
        };
        let tally = sum.map_or(&self.merged.tally, |sum| &sum.tally);
        verdict(tally, &sum.map_or_else(betrayed, |sum| sum.evidence))
    }

    /// The condensed intervals, in order, without the empty ones at the end of a run (they only
    /// wait for the last answers).
    pub fn rows(&self) -> &[Row] {
        let is_used = |row: &Row| row.tally.scheduled > 0 || row.asked > 0.0;
        let used = self.rows.iter().rposition(is_used).map_or(0, |last| last + 1);
        &self.rows[..used]
    }

    /// Whether each row is a phase of the load: where there are a few, and no interval lies in two.
    pub fn rows_are_phases(&self) -> bool {
        let (phases, interval_ns) = (&self.header.phases, self.header.interval_ns.max(1));
        (2..=MAX_PHASE_ROWS).contains(&phases.len())
            && phases.iter().all(|phase| phase.from_ns.is_multiple_of(interval_ns))
    }

    /// An interval belongs to the phase it begins in; after the last phase, to none.
    fn phase_row(&mut self, interval: &Interval) {
        let phases = &self.header.phases;
        let begins_in = |phase: &Phase| (phase.from_ns..phase.to_ns).contains(&interval.from_ns);
        let Some(place) = phases.iter().position(begins_in) else {
            return;
        };
        let label = Some(phases[place].label.clone());
        self.add_to_row(place as u64, label, interval);
    }

    fn group_row(&mut self, interval: &Interval) {
        self.add_to_row(interval.index / self.row_intervals, None, interval);
        while self.rows.len() > MAX_ROWS {
            self.row_intervals *= 2;
            self.merge_neighbours();
        }
    }

    fn add_to_row(&mut self, place: u64, label: Option<String>, interval: &Interval) {
        let row = Row::new(place, label, interval);
        match self.rows.last_mut() {
            Some(last) if last.place == place => last.merge(&row),
            _ => self.rows.push(row),
        }
    }

    /// Each row moves to half its place, where it may meet the one before.
    fn merge_neighbours(&mut self) {
        for mut row in std::mem::take(&mut self.rows) {
            row.place /= 2;
            match self.rows.last_mut() {
                Some(last) if last.place == row.place => last.merge(&row),
                _ => self.rows.push(row),
            }
        }
    }
}

impl Row {
    /// Average rate that the schedule asked for; 0 in closed loop.
    pub fn asked_qps(&self) -> f64 {
        if self.covered_ns == 0 { 0.0 } else { self.asked / (self.covered_ns as f64 * 1e-9) }
    }

    fn new(place: u64, label: Option<String>, interval: &Interval) -> Row {
        let covered_ns = interval.to_ns.saturating_sub(interval.from_ns);
        let asked_qps = crate::own::finite(interval.asked_qps);
        Row {
            label,
            from_ns: interval.from_ns,
            to_ns: interval.to_ns,
            covered_ns,
            asked: asked_qps * (covered_ns as f64 * 1e-9),
            tally: interval.tally.clone(),
            arrivals: interval.arrivals.clone(),
            place,
        }
    }

    fn merge(&mut self, later: &Row) {
        self.to_ns = self.to_ns.max(later.to_ns);
        self.covered_ns += later.covered_ns;
        self.asked += later.asked;
        self.tally.merge(&later.tally);
        self.arrivals.merge_in_time(&later.arrivals);
    }
}

impl Merged {
    fn interval(&mut self, interval: &Interval) {
        self.tally.merge(&interval.tally);
        self.arrivals.merge_in_time(&interval.arrivals);
        if self.workers.len() < interval.workers.len() {
            self.workers.resize(interval.workers.len(), WorkerUse::default());
        }
        self.workers.iter_mut().zip(&interval.workers).for_each(|(mine, theirs)| mine.merge(theirs));
        self.to_ns = self.to_ns.max(interval.to_ns);
        if interval.tally.scheduled > 0 {
            self.due_to_ns = self.due_to_ns.max(interval.to_ns);
        }
    }
}

/// Events kept; a run that has more tells of the same thing again and again.
pub const MAX_EVENTS: usize = 100;

/// Most rows of equal groups of intervals: they fit on a screen.
pub const MAX_ROWS: usize = 24;

/// Most rows where each is a phase: who asks for fifty steps wants to see fifty.
pub const MAX_PHASE_ROWS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    fn header(phases: Vec<Phase>) -> Header {
        Header {
            run_id: "r".into(),
            started_unix_ns: 0,
            command_line: Vec::new(),
            version: "0".into(),
            name: None,
            note: None,
            interval_ns: SECOND,
            timeout_ns: SECOND,
            headline: Headline::Response,
            types: vec![1],
            phases,
            target: "::1".into(),
            address: "[::1]:53".parse().unwrap(),
            transport: "udp".into(),
            mix: Vec::new(),
            backend: Default::default(),
            workers: 1,
            clients: 1,
            udp_sockets: None,
            questions: 1,
            bad_lines: 0,
            send_only: false,
            load: "10 queries/s".into(),
        }
    }

    fn interval(index: u64, scheduled: u64) -> Interval {
        let mut tally = Tally::new(1);
        tally.scheduled = scheduled;
        tally.ends.answered = scheduled;
        Interval {
            index,
            from_ns: index * SECOND,
            to_ns: (index + 1) * SECOND,
            asked_qps: scheduled as f64,
            tally,
            arrivals: Arrivals::default(),
            workers: vec![WorkerUse { sent: scheduled, ..WorkerUse::default() }],
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_short_run_has_a_row_an_interval_and_a_long_one_merges_neighbours() {
        let mut digest = Digest::new(header(Vec::new()));
        (0..20).for_each(|i| digest.interval(&interval(i, 10)));
        assert_eq!(digest.rows().len(), 20);
        (20..100).for_each(|i| digest.interval(&interval(i, 10)));
        // 100 seconds in groups of 8: twelve whole ones and a half.
        let rows = digest.rows();
        assert_eq!((rows.len(), rows[0].to_ns, rows[12].from_ns), (13, 8 * SECOND, 96 * SECOND));
        assert!(rows.iter().all(|row| row.asked_qps() == 10.0));
        assert_eq!(rows.iter().map(|row| row.tally.scheduled).sum::<u64>(), 1000);
        assert_eq!((digest.tally().scheduled, digest.workers()[0].sent), (1000, 1000));
    }

    #[test]
    fn a_stair_has_a_row_a_step_and_what_follows_it_none() {
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
    fn empty_intervals_at_the_end_are_no_rows_and_those_of_a_stall_are() {
        let mut digest = Digest::new(header(Vec::new()));
        [5, 0, 5, 0, 0].into_iter().enumerate().for_each(|(i, n)| digest.interval(&interval(i as u64, n)));
        assert_eq!(digest.rows().len(), 3);
    }

    #[test]
    fn the_verdict_comes_from_the_sum_where_there_is_one_and_else_from_the_intervals() {
        let mut digest = Digest::new(header(Vec::new()));
        let mut dropping = interval(0, 10);
        dropping.arrivals.socket_drops = 3;
        digest.interval(&dropping);
        let names = |warnings: &[Warning]| warnings.iter().map(Warning::name).collect::<Vec<_>>();
        assert_eq!(names(&digest.warnings()), ["socket_drops"]);
        let mut sum = Sum {
            to_ns: SECOND,
            tally: dropping.tally.clone(),
            arrivals: dropping.arrivals.clone(),
            warnings: Vec::new(),
            ended: Ended::ByTime,
            evidence: Evidence { fragments: 2, clock_step_ns: SECOND as i64, ..Evidence::default() },
            late_after_settled: 0,
            workers: Vec::new(),
            schedule_ns: SECOND,
            passes: 1.0,
            interface: None,
        };
        sum.warnings = digest.judge(Some(&sum));
        digest.sum(&sum);
        assert_eq!(names(&digest.warnings()), ["answers_in_fragments", "clock_stepped"]);
    }

    #[test]
    fn events_have_a_limit() {
        let mut digest = Digest::new(header(Vec::new()));
        let event = Event { at_ns: 0, kind: "k".into(), message: "m".into(), figures: Default::default() };
        (0..MAX_EVENTS + 3).for_each(|_| digest.event(&event));
        assert_eq!((digest.events.len(), digest.more_events), (MAX_EVENTS, 3));
    }

    #[test]
    fn rows_are_phases_only_where_no_interval_lies_in_two_and_then_lose_no_query() {
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

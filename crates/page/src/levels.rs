//! A run at several resolutions. A coarser row is merged from the histograms of its intervals, so its percentiles are
//! those of all their queries.
//!
//! ```text
//!   factor 1    | | | | | | | | | | | | | | |        each interval
//!   factor 10   |         10        |   5   |        no row belongs to two phases of the load
//! ```

use std::collections::BTreeMap;
use std::io;

use dnsdyno_record::{Header, Row};

use crate::columns::{Columns, Finished};
use crate::data::{Column, Level, Place, Unit};
use crate::heat::Heat;
use crate::pack::Packer;
use crate::walk::{ALWAYS, put_row};
use crate::watched::Chosen;

/// The levels of a run, built interval by interval.
pub(crate) struct Levels {
    header: Header,
    chosen: Chosen,
    levels: Vec<Building>,
}

/// A level under construction.
struct Building {
    factor: u64,
    columns: Columns,
    heat: Heat,
    /// The row that is not complete yet, with its group of intervals.
    open: Option<((u64, usize), Row)>,
}

impl Levels {
    /// The levels that a run of so many intervals needs, with these watched series.
    pub(crate) fn new(header: &Header, intervals: u64, chosen: Chosen) -> Levels {
        let building =
            |factor| Building { factor, columns: Columns::with(&ALWAYS), heat: Heat::default(), open: None };
        Levels { header: header.clone(), chosen, levels: factors(intervals).map(building).collect() }
    }

    /// Adds an interval.
    pub(crate) fn add(&mut self, row: &Row) {
        let phase = self.header.phases.partition_point(|phase| phase.from_ns <= row.from_ns);
        self.levels.iter_mut().for_each(|level| level.add(&self.header, &self.chosen, phase, row));
    }

    /// The levels, finest first, with their columns in `packer`.
    pub(crate) fn finish(mut self, packer: &mut Packer) -> io::Result<Vec<Level>> {
        self.levels.iter_mut().for_each(|level| level.close(&self.header, &self.chosen));
        let mut coarsest_first = self.levels.into_iter().rev().peekable();
        let mut levels = Vec::new();
        while let Some(level) = coarsest_first.next() {
            // What the finest level cannot have, a coarser one has.
            let is_finest = coarsest_first.peek().is_none();
            let is_whole = !is_finest || levels.is_empty();
            levels.push(level.finish(packer, is_whole)?);
        }
        levels.reverse();
        Ok(levels)
    }
}

impl Building {
    fn add(&mut self, header: &Header, chosen: &Chosen, phase: usize, row: &Row) {
        if self.factor == 1 {
            self.put(header, chosen, row);
            return;
        }
        let group = (row.index / self.factor, phase);
        match &mut self.open {
            Some((known, open)) if *known == group => open.merge(row),
            _ => {
                self.close(header, chosen);
                self.open = Some((group, row.clone()));
            }
        }
    }

    fn close(&mut self, header: &Header, chosen: &Chosen) {
        if let Some((_, row)) = self.open.take() {
            self.put(header, chosen, &row);
        }
    }

    fn put(&mut self, header: &Header, chosen: &Chosen, row: &Row) {
        self.heat.row(header.latency_of(&row.tally).answered);
        put_row(&mut self.columns, header, chosen, row);
    }

    /// The level, whole or without the groups that do not fit.
    fn finish(self, packer: &mut Packer, is_whole: bool) -> io::Result<Level> {
        let rows = self.columns.rows();
        let mut groups: BTreeMap<u8, Vec<Finished>> = BTreeMap::new();
        let heat =
            self.heat.finish().map(|bytes| Finished { name: HEAT.to_owned(), unit: Unit::Count, bytes });
        for column in self.columns.finish().chain(heat) {
            let group = if is_whole { 0 } else { group_of(&column.name) };
            groups.entry(group).or_default().push(column);
        }
        let mut level =
            Level { factor: self.factor, rows, columns: Vec::new(), heat: None, left_out: Vec::new() };
        for (group, columns) in groups {
            let (names, bytes): (Vec<_>, Vec<_>) =
                columns.into_iter().map(|column| ((column.name, column.unit), column.bytes)).unzip();
            let places = match group {
                0 => Some(packer.add(bytes)?),
                _ if level.left_out.is_empty() => packer.add_if_it_fits(bytes)?,
                _ => None,
            };
            match places {
                Some(places) => level.take(names, places),
                None => level.left_out.extend(names.into_iter().map(|(name, _)| name)),
            }
        }
        Ok(level)
    }
}

impl Level {
    fn take(&mut self, names: Vec<(String, Unit)>, places: Vec<Place>) {
        for ((name, unit), place) in names.into_iter().zip(places) {
            match name.as_str() {
                HEAT => self.heat = Some(place),
                _ => self.columns.push(Column { name, unit, place }),
            }
        }
    }
}

/// How soon a column is left out of the finest level of a very long run; 0 never is.
fn group_of(name: &str) -> u8 {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match name {
        HEAT => 2,
        "latency.p50" | "latency.p99" | "latency.p99_9" => 0,
        "latency.min" | "latency.avg" | "latency.max" | "arrivals.cpu_ns" => 1,
        _ if begins(&["latency.", "lateness.", "arrivals.cpu_wait_ns"]) => 3,
        _ if begins(&["members.", "agents.", "types."]) => 4,
        _ if begins(&["service.", "response."]) => 5,
        _ if begins(&["bytes_", "query_bytes", "response_bytes"]) => 6,
        _ if begins(&["workers.", "arrivals.latency."]) => 7,
        _ if begins(&["watched."]) => 8,
        _ => 0,
    }
}

/// The heat map among the columns.
const HEAT: &str = "heat";

/// The factors, each with the number of intervals from which it is needed: a screen draws some thousand rows at once.
const FACTORS: [(u64, u64); 3] = [(1, 0), (10, 3_000), (60, 30_000)];

fn factors(intervals: u64) -> impl Iterator<Item = u64> {
    FACTORS.into_iter().filter(move |(_, from)| intervals >= *from).map(|(factor, _)| factor)
}

/// About how many rows a column has in the levels that leave none out: a run of so many intervals with one level, or
/// all but the finest.
pub(crate) fn rows_of_whole_levels(intervals: u64) -> u64 {
    match factors(intervals).filter(|factor| *factor > 1).map(|factor| intervals / factor).sum() {
        0 => intervals,
        rows => rows,
    }
}

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Arrivals, MemberTally, Tally, TypeCount, WorkerUse};
    use dnsdyno_record::Interval;
    use serde_json::json;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// With a phase that ends after 25 intervals.
    fn header() -> Header {
        let phase = |from_s: u64, to_s: u64| {
            let (from_ns, to_ns) = (from_s * SECOND_NS, to_s * SECOND_NS);
            json!({ "label": "p", "from_ns": from_ns, "to_ns": to_ns })
        };
        serde_json::from_value(json!({ "started_unix_ns": 0, "interval_ns": SECOND_NS, "timeout_ns": SECOND_NS,
            "headline": "response", "types": ["A"], "phases": [phase(0, 25), phase(25, 50)], "target": "::1",
            "address": "[::1]:53", "transport": "udp", "workers": 1, "clients": 1, "queries": 1, "bad_lines": 0,
            "send_only": false, "load": "" }))
        .unwrap()
    }

    /// A second with twenty answers, which are slower from second to second.
    fn second(index: u64) -> Row {
        let mut tally = Tally::new(1);
        (tally.scheduled, tally.ends.answered) = (20, 20);
        tally.types[0] = TypeCount { sent: 20, answered: 20 };
        (0..20).for_each(|n| tally.response.record(1_000_000 + index * 50_000 + n * 1_000));
        let (from_ns, to_ns) = (index * SECOND_NS, (index + 1) * SECOND_NS);
        let workers = vec![WorkerUse { cpu_ns: index * index * 7_919, ..WorkerUse::default() }];
        let arrivals = Arrivals::default();
        Row::of(&Interval {
            agents: Vec::new(),
            index,
            from_ns,
            to_ns,
            covered_ns: None,
            asked_qps: 20.0,
            tally,
            arrivals,
            workers,
            watched: Vec::new(),
        })
    }

    fn levels_of(intervals: u64, claimed: u64, most_bytes: usize) -> Vec<Level> {
        let mut levels = Levels::new(&header(), claimed, Chosen::default());
        (0..intervals).for_each(|index| levels.add(&second(index)));
        levels.finish(&mut Packer::new(most_bytes)).unwrap()
    }

    #[test]
    fn a_short_run_has_one_level_and_a_long_one_three() {
        let factors = |claimed| levels_of(1, claimed, 0).iter().map(|level| level.factor).collect::<Vec<_>>();
        assert_eq!([2_999, 3_000, 30_000].map(factors), [vec![1], vec![1, 10], vec![1, 10, 60]]);
    }

    #[test]
    fn a_coarser_row_ends_with_its_phase_and_with_the_run() {
        let rows = levels_of(47, 30_000, usize::MAX).iter().map(|level| level.rows).collect::<Vec<_>>();
        // 10, 10, 5 | 5, 10, 7 and 25 | 22.
        assert_eq!(rows, [47, 6, 2]);
    }

    #[test]
    fn a_coarser_row_has_the_percentiles_of_all_its_queries() {
        let mut merged = second(0);
        (1..10).for_each(|index| merged.merge(&second(index)));
        let mut columns = Columns::with(&ALWAYS);
        put_row(&mut columns, &header(), &Chosen::default(), &merged);
        let mut expected: Vec<_> = columns.finish().map(|column| (column.name, column.bytes)).collect();
        let mut levels = Levels::new(&header(), 3_000, Chosen::default());
        (0..10).for_each(|index| levels.add(&second(index)));
        levels.levels.iter_mut().for_each(|level| level.close(&header(), &Chosen::default()));
        let coarse = levels.levels.pop().unwrap().columns;
        let mut found: Vec<_> = coarse.finish().map(|column| (column.name, column.bytes)).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        assert!(found.iter().any(|(name, _)| name == "latency.p90"), "200 queries have a p90, 20 have none");
    }

    #[test]
    fn the_latencies_of_queries_are_where_the_page_looks_for_them() {
        let mut row = second(0);
        let response = row.tally.response.clone();
        row.tally.members = vec![MemberTally { scheduled: 21, response, ..MemberTally::default() }];
        row.tally.members[0].ends.timed_out = 1;
        row.tally.lateness.record(7);
        let mut columns = Columns::with(&ALWAYS);
        put_row(&mut columns, &header(), &Chosen::default(), &row);
        let columns: BTreeMap<_, _> =
            columns.finish().map(|column| (column.name, (column.unit, column.bytes))).collect();
        // 2 + 2 × 21, and the word for beyond the timeout.
        assert_eq!(columns["members.0.response.count"], (Unit::Count, vec![44]));
        assert_eq!(columns["members.0.response.max"], (Unit::Ns, vec![1]));
        assert_eq!(columns["members.0.service.count"].1, [4]);
        assert_eq!(columns["lateness.max"], (Unit::Ns, vec![16]));
        assert!(columns.contains_key("latency.p50") && columns.contains_key("types.A.answered"));
        assert!(columns.keys().all(|name| !name.starts_with("response.") && !name.starts_with("service.")));
    }

    #[test]
    fn what_does_not_fit_is_left_out_of_the_finest_level_of_a_long_run_only() {
        let names =
            |level: &Level| level.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
        let tight = levels_of(50, 3_000, 0);
        assert!(tight[0].left_out.contains(&"workers.0.cpu_ns".to_owned()), "{:?}", tight[0].left_out);
        assert!(tight[0].left_out.contains(&HEAT.to_owned()) && tight[0].heat.is_none());
        assert!(names(&tight[0]).contains(&"latency.p50".to_owned()) && tight[1].heat.is_some());
        let coarser = names(&tight[1]);
        assert!(tight[0].left_out.iter().all(|name| coarser.contains(name) || name == HEAT));
        assert_eq!(levels_of(50, 3_000, usize::MAX)[0].left_out, [""; 0]);
        assert_eq!(levels_of(50, 50, 0)[0].left_out, [""; 0]);
    }
}

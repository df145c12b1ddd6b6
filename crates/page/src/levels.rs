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

/// The levels of a run, built interval by interval.
pub(crate) struct Levels {
    header: Header,
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
    /// The levels that a run of so many intervals needs.
    pub(crate) fn new(header: &Header, intervals: u64) -> Levels {
        let factors = FACTORS.into_iter().filter(|(_, from)| intervals >= *from).map(|(factor, _)| factor);
        let building =
            |factor| Building { factor, columns: Columns::with(&ALWAYS), heat: Heat::default(), open: None };
        Levels { header: header.clone(), levels: factors.map(building).collect() }
    }

    /// Adds an interval.
    pub(crate) fn add(&mut self, row: &Row) {
        let phase = self.header.phases.partition_point(|phase| phase.from_ns <= row.from_ns);
        self.levels.iter_mut().for_each(|level| level.add(&self.header, phase, row));
    }

    /// The levels, finest first, with their columns in `packer`.
    pub(crate) fn finish(mut self, packer: &mut Packer) -> io::Result<Vec<Level>> {
        self.levels.iter_mut().for_each(|level| level.close(&self.header));
        let mut coarsest_first = self.levels.into_iter().rev().peekable();
        let mut levels = Vec::new();
        while let Some(level) = coarsest_first.next() {
            // What the finest level cannot have, a coarser one has.
            let is_finest = coarsest_first.peek().is_none();
            let is_whole = !(is_finest && !levels.is_empty());
            levels.push(level.finish(packer, is_whole)?);
        }
        levels.reverse();
        Ok(levels)
    }
}

impl Building {
    fn add(&mut self, header: &Header, phase: usize, row: &Row) {
        if self.factor == 1 {
            self.put(header, row);
            return;
        }
        let group = (row.index / self.factor, phase);
        match &mut self.open {
            Some((known, open)) if *known == group => open.merge(row),
            _ => {
                self.close(header);
                self.open = Some((group, row.clone()));
            }
        }
    }

    fn close(&mut self, header: &Header) {
        if let Some((_, row)) = self.open.take() {
            self.put(header, &row);
        }
    }

    fn put(&mut self, header: &Header, row: &Row) {
        self.heat.row(header.latency_of(&row.tally).answered);
        put_row(&mut self.columns, header, row);
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
        _ if begins(&["service.", "response.", "members.", "types.", "bytes_", "query_", "response_"]) => 4,
        _ if begins(&["workers.", "arrivals.latency."]) => 5,
        _ => 0,
    }
}

/// The heat map among the columns.
const HEAT: &str = "heat";

/// The factors, each with the number of intervals from which it is needed: a screen draws some thousand rows at once.
const FACTORS: [(u64, u64); 3] = [(1, 0), (10, 3_000), (60, 30_000)];

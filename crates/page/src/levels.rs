//! A run at several resolutions. A coarser row is merged from the histograms of its intervals, so its percentiles are
//! those of all their queries.
//!
//! ```text
//!   factor 1    | | | | | | | | | | | | | | |        each interval
//!   factor 10   |         10        |   5   |        no row belongs to two phases of the load
//! ```

use dnsdyno_record::{Header, Row};

use crate::columns::Columns;
use crate::data::{Level, Place};
use crate::heat::Heat;
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

    /// The levels, and the bytes of their columns.
    pub(crate) fn finish(mut self) -> (Vec<Level>, Vec<u8>) {
        let mut blob = Vec::new();
        self.levels.iter_mut().for_each(|level| level.close(&self.header));
        let levels = self.levels.into_iter().map(|level| level.write(&mut blob)).collect();
        (levels, blob)
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

    fn write(self, blob: &mut Vec<u8>) -> Level {
        let rows = self.columns.rows();
        let columns = self.columns.write(blob);
        let heat = self.heat.finish().map(|cells| {
            let place = Place { offset: blob.len(), bytes: cells.len() };
            blob.extend(cells);
            place
        });
        Level { factor: self.factor, rows, columns, heat }
    }
}

/// The factors, each with the number of intervals from which it is needed: a screen draws some thousand rows at once.
const FACTORS: [(u64, u64); 3] = [(1, 0), (10, 3_000), (60, 30_000)];

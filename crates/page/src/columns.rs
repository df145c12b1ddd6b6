//! Columns of integers as varints of differences: a row is written when it is known, and only the last value of each
//! column is kept.
//!
//! ```text
//!   values    5,000   5,003   5,003   none   beyond   5,001
//!   written    10002    8       2       0       1       5        0 none, 1 beyond, else 2 + zigzag(difference)
//! ```

use std::collections::HashMap;

use crate::data::Unit;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing was measured.
    Nothing,
    /// Beyond the timeout.
    Beyond,
    /// A number.
    Number(u64),
}

/// The columns of a level.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// Complete rows.
    rows: u64,
    places: HashMap<String, usize>,
    columns: Vec<Encoder>,
}

/// A complete column.
pub(crate) struct Finished {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug)]
struct Encoder {
    name: String,
    unit: Unit,
    /// What a row has that says nothing of this column.
    rest: Value,
    bytes: Vec<u8>,
    last: i64,
    rows: u64,
}

impl Columns {
    /// With these columns of counts, also where they are 0.
    pub(crate) fn with(always: &[(&str, Unit)]) -> Columns {
        let mut columns = Columns::default();
        for (name, unit) in always {
            columns.column(name, *unit, Value::Number(0));
        }
        columns
    }

    /// Complete rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// A count of the current row; one of 0 needs no call.
    pub(crate) fn count(&mut self, name: &str, unit: Unit, count: u64) {
        self.put(name, unit, Value::Number(0), Value::Number(count));
    }

    /// A figure of the current row that other rows may not have.
    pub(crate) fn figure(&mut self, name: &str, unit: Unit, value: Value) {
        if value != Value::Nothing {
            self.put(name, unit, Value::Nothing, value);
        }
    }

    /// Ends the row.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
        for column in self.columns.iter_mut().filter(|column| column.rows < self.rows) {
            column.put(column.rest);
        }
    }

    /// Each column with its bytes.
    pub(crate) fn finish(self) -> impl Iterator<Item = Finished> {
        self.columns.into_iter().map(|Encoder { name, unit, bytes, .. }| Finished { name, unit, bytes })
    }

    fn put(&mut self, name: &str, unit: Unit, rest: Value, value: Value) {
        let rows = self.rows;
        let column = self.column(name, unit, rest);
        // Twice in a row: the first counts.
        if column.rows == rows {
            column.put(value);
        }
    }

    fn column(&mut self, name: &str, unit: Unit, rest: Value) -> &mut Encoder {
        let next = self.columns.len();
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                self.places.insert(name.to_owned(), next);
                let mut column =
                    Encoder { name: name.to_owned(), unit, rest, bytes: Vec::new(), last: 0, rows: 0 };
                (0..self.rows).for_each(|_| column.put(rest));
                self.columns.push(column);
                next
            }
        };
        &mut self.columns[place]
    }
}

impl Encoder {
    fn put(&mut self, value: Value) {
        self.rows += 1;
        let code = match value {
            Value::Nothing => 0,
            Value::Beyond => 1,
            Value::Number(number) => {
                let number = number.min(LARGEST) as i64;
                let difference = number - self.last;
                self.last = number;
                2 + ((difference << 1) ^ (difference >> 63)) as u64
            }
        };
        put_varint(&mut self.bytes, code);
    }
}

/// Appends a number in LEB128.
pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The differences of such numbers are integers that a browser holds exactly.
const LARGEST: u64 = (1 << 51) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use Value::{Beyond, Nothing, Number};

    fn written(columns: Columns) -> Vec<Vec<u8>> {
        columns.finish().map(|column| column.bytes).collect()
    }

    #[test]
    fn a_column_has_differences_and_codes_for_what_is_no_number() {
        let mut columns = Columns::default();
        for value in [Number(5_000), Number(5_003), Number(5_003), Nothing, Beyond, Number(5_001)] {
            columns.figure("latency.p99", Unit::Ns, value);
            columns.end_row();
        }
        // 2 + 2 × 5,000 is 78 × 128 + 18.
        assert_eq!(written(columns), [[0x92, 78, 8, 2, 0, 1, 2 + 3]]);
    }

    #[test]
    fn a_column_that_begins_late_was_nothing_or_zero_before() {
        let mut columns = Columns::with(&[("scheduled", Unit::Count)]);
        columns.end_row();
        columns.count("ends.timed_out", Unit::Count, 3);
        columns.figure("latency.p50", Unit::Ns, Number(1));
        columns.end_row();
        columns.end_row();
        assert_eq!(columns.rows(), 3);
        assert_eq!(written(columns), [[2, 2, 2], [2, 8, 7], [0, 4, 0]]);
    }

    #[test]
    fn numbers_that_a_browser_cannot_hold_stay_at_the_largest() {
        let mut columns = Columns::default();
        columns.count("held_back_ns", Unit::Ns, u64::MAX);
        columns.end_row();
        assert_eq!(written(columns)[0].len(), 8);
    }
}

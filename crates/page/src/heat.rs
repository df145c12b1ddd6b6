//! The cells of the heat map: for each row the counts of its latency buckets, eight per octave.

use dnsdyno_measure::Histogram;

use crate::columns::put_varint;

/// The cells of all rows of a level.
#[derive(Debug, Default)]
pub(crate) struct Heat {
    bytes: Vec<u8>,
    has_cells: bool,
}

impl Heat {
    /// Adds a row.
    pub(crate) fn row(&mut self, latency: &Histogram) {
        let mut cells: Vec<(u64, u64)> = Vec::new();
        for bucket in latency.buckets() {
            let number = bucket_of(bucket.from_ns);
            match cells.last_mut() {
                Some((last, count)) if *last == number => *count += bucket.count,
                _ => cells.push((number, bucket.count)),
            }
        }
        self.has_cells |= !cells.is_empty();
        put_varint(&mut self.bytes, cells.len() as u64);
        let mut last = 0;
        for (number, count) in cells {
            put_varint(&mut self.bytes, number - last);
            put_varint(&mut self.bytes, count);
            last = number;
        }
    }

    /// The bytes; `None` where no row has a cell.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        self.has_cells.then_some(self.bytes)
    }
}

/// The bucket of a duration of at least 8 ns: from (8 + b % 8) × 2^(b / 8 - 3) ns on.
fn bucket_of(ns: u64) -> u64 {
    let octave = u64::from(ns.max(8).ilog2());
    8 * octave + (ns.max(8) >> (octave - 3)) % 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_ns(bucket: u64) -> u64 {
        (8 + bucket % 8) << (bucket / 8 - 3)
    }

    #[test]
    fn each_bucket_begins_where_the_one_before_it_ends() {
        for bucket in 24..400 {
            assert_eq!(bucket_of(from_ns(bucket)), bucket);
            assert_eq!(bucket_of(from_ns(bucket + 1) - 1), bucket);
        }
    }

    #[test]
    fn a_row_has_its_cells_and_every_response_is_in_one() {
        let mut latency = Histogram::new();
        [1_024, 1_030, 1_300, 1_000_000].iter().for_each(|ns| latency.record(*ns));
        let mut heat = Heat::default();
        heat.row(&latency);
        heat.row(&Histogram::new());
        // 1,024 is 8 << 7: bucket 80; 1,300 is in 10 << 7; a million in 15 << 16.
        assert_eq!(heat.finish().unwrap(), [3, 80, 2, 2, 1, 159 - 82, 1, 0].map(|n: u64| n as u8));
        assert_eq!(bucket_of(1_000_000), 8 * 19 + 7);
        let mut empty = Heat::default();
        empty.row(&Histogram::new());
        assert_eq!(empty.finish(), None);
    }
}

//! The series of a run, packed as the page holds them: raw deflate, which each browser inflates, within a limit.
//!
//! ```text
//!   | coarse levels | first level: what charts need | heat | more percentiles | by worker | end |
//!                                                           └─ left out, from the end on, where it does not fit
//! ```
//!
//! Each group of columns is a chunk of its own: so its packed size is known before it is taken.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::data::Place;

/// Packs groups of columns one after the other.
pub(crate) struct Packer {
    most_bytes: usize,
    packed: Vec<u8>,
    /// Bytes after inflating.
    bytes: usize,
    /// Where these bytes are: equal columns share their place.
    places: HashMap<Vec<u8>, Place>,
}

impl Packer {
    /// Takes optional groups up to this size.
    pub(crate) fn new(most_bytes: usize) -> Packer {
        Packer { most_bytes, packed: Vec::new(), bytes: 0, places: HashMap::new() }
    }

    /// Adds a group of columns.
    pub(crate) fn add(&mut self, columns: Vec<Vec<u8>>) -> io::Result<Vec<Place>> {
        let (places, chunk) = self.pack(columns)?;
        self.packed.extend(chunk);
        Ok(places)
    }

    /// Adds a group of columns; `None` where it does not fit. After that no other group may be added.
    pub(crate) fn add_if_it_fits(&mut self, columns: Vec<Vec<u8>>) -> io::Result<Option<Vec<Place>>> {
        let bytes = self.bytes;
        let (places, chunk) = self.pack(columns)?;
        if self.packed.len() + chunk.len() > self.most_bytes {
            self.bytes = bytes;
            return Ok(None);
        }
        self.packed.extend(chunk);
        Ok(Some(places))
    }

    /// The packed bytes, and their number after inflating.
    pub(crate) fn finish(mut self) -> (Vec<u8>, usize) {
        self.packed.extend(EMPTY_LAST_BLOCK);
        (self.packed, self.bytes)
    }

    fn pack(&mut self, columns: Vec<Vec<u8>>) -> io::Result<(Vec<Place>, Vec<u8>)> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        let mut places = Vec::new();
        for bytes in columns {
            let place = match self.places.get(&bytes) {
                Some(place) => *place,
                None => {
                    encoder.write_all(&bytes)?;
                    let place = Place { offset: self.bytes, bytes: bytes.len() };
                    self.bytes += bytes.len();
                    self.places.insert(bytes, place);
                    place
                }
            };
            places.push(place);
        }
        // Ends on a whole byte and not with the last block: another chunk may follow.
        encoder.flush()?;
        Ok((places, std::mem::take(encoder.get_mut())))
    }
}

/// The end of a deflate stream: a last block with nothing in it.
const EMPTY_LAST_BLOCK: [u8; 2] = [3, 0];

#[cfg(test)]
mod tests {
    use super::*;

    fn inflated(packed: &[u8]) -> Vec<u8> {
        let mut decoder = flate2::write::DeflateDecoder::new(Vec::new());
        decoder.write_all(packed).unwrap();
        decoder.finish().unwrap()
    }

    #[test]
    fn groups_follow_each_other_and_equal_columns_share_their_place() {
        let mut packer = Packer::new(1_000);
        let first = packer.add(vec![vec![1, 2, 3], vec![4; 100]]).unwrap();
        let second = packer.add_if_it_fits(vec![vec![4; 100], vec![5]]).unwrap().unwrap();
        assert_eq!((first[1], second[0]), (second[0], Place { offset: 3, bytes: 100 }));
        assert_eq!(second[1], Place { offset: 103, bytes: 1 });
        let (packed, bytes) = packer.finish();
        assert_eq!(bytes, 104);
        assert_eq!(inflated(&packed), [&[1, 2, 3][..], &[4; 100], &[5]].concat());
    }

    #[test]
    fn a_group_that_does_not_fit_leaves_no_trace() {
        let noise =
            |seed: u32| (0..5_000_u32).map(|n| (n.wrapping_mul(n ^ seed) >> 7) as u8).collect::<Vec<_>>();
        let mut packer = Packer::new(100);
        packer.add(vec![noise(1)]).unwrap();
        assert_eq!(packer.add_if_it_fits(vec![noise(2)]).unwrap(), None);
        let (packed, bytes) = packer.finish();
        assert_eq!((bytes, inflated(&packed)), (5_000, noise(1)));
    }

    #[test]
    fn no_columns_are_an_empty_stream() {
        let mut packer = Packer::new(0);
        assert_eq!(packer.add(Vec::new()).unwrap(), []);
        let (packed, bytes) = packer.finish();
        assert_eq!((inflated(&packed), bytes), (Vec::new(), 0));
    }
}

//! The file of a killed generator may end at any byte: it is read up to there.

mod common;

use std::fs;

use common::{header, write_run};
use dnsdyno_record::{Digest, Headline, RUN_FILE};

#[test]
fn a_file_truncated_anywhere_in_its_last_two_lines_is_read_up_to_there() {
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &header(Headline::Response, 0), 3);
    let path = dir.path().join(RUN_FILE);
    let whole = fs::read(&path).unwrap();
    let starts: Vec<usize> = line_starts(&whole);
    let [.., last_but_one, last] = starts[..] else { panic!("too few lines") };
    let cut_path = dir.path().join("cut.ndjson");
    let borders = [last_but_one, last, whole.len()];
    let is_tried =
        |cut: &usize| cut.is_multiple_of(61) || borders.iter().any(|border| border.abs_diff(*cut) < 20);
    for cut in (last_but_one..=whole.len()).filter(is_tried) {
        fs::write(&cut_path, &whole[..cut]).unwrap();
        let digest = Digest::read(&cut_path).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        // A line that lacks only its newline is complete.
        let intervals = if cut + 1 >= last { 3 } else { 2 };
        assert_eq!(digest.intervals, intervals, "cut at {cut}");
        assert_eq!(digest.is_complete(), cut + 1 >= whole.len(), "cut at {cut}");
        let at_border = [last_but_one, last - 1, last, whole.len() - 1, whole.len()].contains(&cut);
        assert_eq!(digest.torn, !at_border, "cut at {cut}");
        assert_eq!(
            digest.tally().scheduled,
            digest.rows().iter().map(|row| row.tally.scheduled).sum::<u64>()
        );
    }
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let after_newlines = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1);
    [0].into_iter().chain(after_newlines).filter(|start| *start < bytes.len()).collect()
}

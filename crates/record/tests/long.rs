//! A long run is compressed: the same lines, the same summary, readable from any group.

mod common;

use std::fs;
use std::path::Path;

use common::{SECOND, event, header, interval};
use dnsdyno_measure::Tally;
use dnsdyno_record::{
    Digest, Header, Headline, HostInfo, INDEX_FILE, Interval, Line, PACKED_FILE, RUN_FILE, RunReader,
    RunWriter,
};

/// Enough for the compression, and for further groups that are compressed line by line.
const INTERVALS: u64 = 1_300;

/// A run that has not ended, with an event in every tenth interval.
fn long_run(dir: &Path, header: &Header) -> (RunWriter, Vec<Interval>) {
    let intervals: Vec<_> = (0..INTERVALS).map(small).collect();
    let mut writer = RunWriter::create(dir, header, "", &HostInfo::default()).unwrap();
    for interval in &intervals {
        writer.interval(interval).unwrap();
        if interval.index % 10 == 3 {
            writer.event(&event(interval.to_ns)).unwrap();
        }
    }
    (writer, intervals)
}

/// An interval with few durations; every fiftieth has all counters.
fn small(index: u64) -> Interval {
    let mut one = interval(index % 7);
    if !index.is_multiple_of(50) {
        let mut tally = Tally::new(3);
        (tally.scheduled, tally.ends) = (one.tally.scheduled, one.tally.ends);
        (0..20).for_each(|n| tally.response.record(100_000 + (index * 7919 + n * 104_729) % 900_000));
        (one.tally, one.arrivals.connections) = (tally, None);
        one.arrivals.latency.clear();
    }
    (one.index, one.from_ns, one.to_ns) = (index, index * SECOND, (index + 1) * SECOND);
    one
}

#[test]
fn the_digest_is_the_same_live_from_the_roll_ups_and_from_all_lines() {
    for phases in [0, 3, 60] {
        let dir = tempfile::tempdir().unwrap();
        let (mut writer, intervals) = long_run(dir.path(), &header(Headline::Response, phases));
        writer.finish(&common::sum(&intervals)).unwrap();
        assert!(!dir.path().join(RUN_FILE).exists());
        let read = Digest::read(dir.path()).unwrap();
        assert!(read.is_complete() && read.intervals == INTERVALS && read.more_events == 30);
        assert!(&read == writer.digest(), "{phases} phases: from roll-ups");
        // A torn index changes nothing.
        let index = fs::read(dir.path().join(INDEX_FILE)).unwrap();
        let ends = [index.len() - 5, index.len() / 2, 3];
        for end in ends.into_iter().filter(|_| phases == 0) {
            fs::write(dir.path().join(INDEX_FILE), &index[..end]).unwrap();
            assert!(read == Digest::read(dir.path()).unwrap(), "{phases} phases, index cut at {end}");
        }
        fs::remove_file(dir.path().join(INDEX_FILE)).unwrap();
        assert!(read == Digest::read(dir.path()).unwrap(), "{phases} phases: from all lines");
        assert_eq!(RunReader::open(dir.path()).unwrap().count() as u64, INTERVALS + INTERVALS / 10 + 1);
    }
}

#[test]
fn a_summary_reads_the_index_only_and_a_range_of_time_only_its_groups() {
    let dir = tempfile::tempdir().unwrap();
    let (mut writer, intervals) = long_run(dir.path(), &header(Headline::Response, 0));
    writer.finish(&common::sum(&intervals)).unwrap();
    let path = dir.path().join(PACKED_FILE);
    let whole = fs::read(&path).unwrap();
    // All except the first frame and the last quarter is destroyed.
    let mut damaged = whole.clone();
    damaged[1_000..whole.len() * 3 / 4].fill(0);
    fs::write(&path, &damaged).unwrap();
    assert!(Digest::read(dir.path()).unwrap() == *writer.digest());

    let (from, to) = (1_240, 1_250);
    let reader = RunReader::open(dir.path()).unwrap();
    let lines =
        reader.between(from * SECOND + 1, to * SECOND).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let read: Vec<Interval> = lines
        .iter()
        .filter_map(|line| if let Line::Interval(one) = line { Some((**one).clone()) } else { None })
        .collect();
    assert_eq!(read, intervals[from as usize..to as usize]);
    assert!(matches!(&lines[4], Line::Event(event) if event.at_ns == 1_244 * SECOND), "{}", lines.len());
    assert_eq!(lines.len(), 11);
    // In the undamaged file the range is found without the index too.
    fs::write(&path, &whole).unwrap();
    fs::remove_file(dir.path().join(INDEX_FILE)).unwrap();
    let reader = RunReader::open(dir.path()).unwrap();
    assert_eq!(reader.between(from * SECOND + 1, to * SECOND).unwrap().count(), 11);
}

#[test]
fn a_killed_run_is_read_to_its_last_line_and_a_truncated_one_up_to_there() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, _) = long_run(dir.path(), &header(Headline::Response, 0));
    // Dropped without a sum: the last frame is incomplete.
    let mut live = writer.digest().clone();
    assert!(live.in_progress && Digest::read(dir.path()).unwrap().in_progress);
    drop(writer);
    let read = Digest::read(dir.path()).unwrap();
    live.in_progress = false;
    assert!(read == live && !read.is_complete() && !read.torn);
    let path = dir.path().join(PACKED_FILE);
    let whole = fs::read(&path).unwrap();
    let mut before = INTERVALS;
    for cut in (0..3_000).step_by(211) {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let digest = Digest::read(dir.path()).unwrap();
        assert!(digest.intervals <= before && digest.intervals >= 1_200, "cut {cut}: {}", digest.intervals);
        assert_eq!(
            digest.tally().scheduled,
            (0..digest.intervals).map(|i| small(i).tally.scheduled).sum::<u64>()
        );
        before = digest.intervals;
    }
    assert!(before < INTERVALS);
}

#[test]
fn a_compressed_run_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(PACKED_FILE), "somebody's").unwrap();
    let again = RunWriter::create(dir.path(), &header(Headline::Response, 0), "", &HostInfo::default());
    let Err(error) = again else { panic!("it was written over") };
    assert!(error.to_string().contains("run.ndjson.zst exists"), "{error}");
}

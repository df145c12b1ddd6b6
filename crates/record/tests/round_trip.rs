//! A record is read back as it was written, and no run is overwritten.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{header, interval, write_run};
use dnsdyno_measure::{Arrivals, Tally};
use dnsdyno_record::{
    Digest, FORMAT, HOST_FILE, Headline, HostInfo, Line, PLAN_FILE, RUN_FILE, ReadError, RunReader,
    RunWriter, WriteError,
};

#[test]
fn every_figure_is_read_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let header = header(Headline::Response, 0);
    let (_, intervals, sum) = write_run(dir.path(), &header, 6);
    let mut reader = RunReader::open(dir.path()).unwrap();
    assert_eq!(reader.header(), &header);
    let lines: Vec<Line> = reader.by_ref().map(Result::unwrap).collect();
    assert!(reader.is_complete() && !reader.is_torn());
    let read: Vec<_> = lines
        .iter()
        .filter_map(|l| if let Line::Interval(i) = l { Some((**i).clone()) } else { None })
        .collect();
    assert_eq!(read, intervals);
    assert!(matches!(&lines[4], Line::Event(event) if *event == common::event(4 * common::SECOND)));
    assert!(matches!(lines.last(), Some(Line::Sum(read)) if **read == sum));
}

#[test]
fn the_intervals_merge_exactly_into_the_sum() {
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &header(Headline::Response, 0), 9);
    let (mut tally, mut arrivals) = (Tally::new(3), Arrivals::default());
    for line in RunReader::open(dir.path()).unwrap() {
        match line.unwrap() {
            Line::Interval(interval) => {
                tally.merge(&interval.tally);
                arrivals.merge_in_time(&interval.arrivals);
            }
            Line::Sum(sum) => {
                assert_eq!(sum.late_after_settled, 1);
                tally.ends.came_late_after_all(sum.late_after_settled);
                assert_eq!(tally, sum.tally);
                assert_eq!(arrivals, sum.arrivals);
                assert!(sum.tally.is_settled());
            }
            Line::Event(_) => {}
        }
    }
    assert_eq!(tally.ends.answered, (0..9).map(|i| 900 + i).sum::<u64>());
}

#[test]
fn the_writer_and_the_reader_build_the_same_digest() {
    for (headline, phases, intervals) in
        [(Headline::Response, 0, 6), (Headline::Service, 5, 10), (Headline::Response, 0, 99)]
    {
        let dir = tempfile::tempdir().unwrap();
        let (writer, ..) = write_run(dir.path(), &header(headline, phases), intervals);
        let read = Digest::read(dir.path()).unwrap();
        assert!(read.is_complete());
        assert_eq!(&read, writer.digest(), "{phases} phases, {intervals} intervals");
        // The path of the run file may be given instead of its folder.
        assert_eq!(read, Digest::read(&dir.path().join(RUN_FILE)).unwrap());
    }
}

#[test]
fn a_figure_that_is_not_finite_is_written_as_zero() {
    let dir = tempfile::tempdir().unwrap();
    let header = header(Headline::Response, 0);
    let mut writer = RunWriter::create(dir.path(), &header, "", &HostInfo::default()).unwrap();
    let mut odd = interval(0);
    odd.asked_qps = f64::NAN;
    writer.interval(&odd).unwrap();
    // Another thread writes.
    while writer.unsaved().lines > 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // It is in progress as long as there is its writer.
    assert_eq!(&Digest::read(dir.path()).unwrap(), writer.digest());
}

#[test]
fn a_run_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let header = header(Headline::Response, 0);
    write_run(dir.path(), &header, 2);
    let before = fs::read(dir.path().join(RUN_FILE)).unwrap();
    let again = RunWriter::create(dir.path(), &header, "", &HostInfo::default());
    let Err(error @ WriteError::AlreadyARun { .. }) = again else { panic!("it was written over") };
    assert!(error.to_string().contains("run.ndjson exists"), "{error}");
    assert_eq!(fs::read(dir.path().join(RUN_FILE)).unwrap(), before);
    // An existing plan is not changed, and no other file remains in its folder.
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join(PLAN_FILE), "mine").unwrap();
    assert!(RunWriter::create(other.path(), &header, "", &HostInfo::default()).is_err());
    assert_eq!(fs::read_to_string(other.path().join(PLAN_FILE)).unwrap(), "mine");
    assert!(!other.path().join(RUN_FILE).exists() && !other.path().join(HOST_FILE).exists());
}

#[test]
fn a_folder_that_cannot_be_created_or_written_is_named_in_the_error() {
    let dir = tempfile::tempdir().unwrap();
    let header = header(Headline::Response, 0);
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let Err(error) = RunWriter::create(&file.join("run"), &header, "", &HostInfo::default()) else {
        panic!("a folder in a file")
    };
    assert!(error.to_string().contains("file/run") && error.to_string().contains("choose one"), "{error}");

    let locked = dir.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    match RunWriter::create(&locked, &header, "", &HostInfo::default()) {
        Err(error) => assert!(error.to_string().contains("locked/run.ndjson"), "{error}"),
        // root may write everywhere: no error.
        Ok(_) => assert!(fs::metadata(locked.join(RUN_FILE)).is_ok()),
    }
}

#[test]
fn a_file_that_is_not_a_record_is_refused_with_its_name_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |name: &str, content: &str| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        let error = RunReader::open(&path).err().expect(name).to_string();
        assert!(error.contains(name), "{error}");
        error
    };
    assert!(refused("empty", "").contains("has no run"));
    assert!(refused("half", "{\"runid\":\"x\",\"ty").contains("has no run"));
    assert!(refused("text", "hello\n").contains("line 1"));
    assert!(refused("foreign", "{\"runid\":\"x\",\"type\":\"header\"}\n").contains("another program"));
    assert!(refused("headless", "{\"runid\":\"x\",\"type\":\"event\"}\n").contains("\"event\""));
    let missing = RunReader::open(&dir.path().join("missing"));
    assert!(matches!(missing, Err(ReadError::Open { .. })));
}

#[test]
fn a_newer_format_is_refused_with_an_advice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(RUN_FILE);
    let newer = FORMAT + 1;
    let line =
        format!("{{\"runid\":\"x\",\"type\":\"header\",\"dnsdyno\":{{\"format\":{newer},\"other\":[]}}}}\n");
    fs::write(&path, line).unwrap();
    let Err(error @ ReadError::Newer { format, .. }) = RunReader::open(&path) else { panic!("read") };
    assert_eq!(format, newer);
    assert!(error.to_string().contains("the version that wrote it"), "{error}");
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error_and_not_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    write_run(dir.path(), &header(Headline::Response, 0), 4);
    let path = dir.path().join(RUN_FILE);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[2] = lines[2].replacen("\"count\":901", "\"count\":902", 1);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let error = Digest::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("add up"), "{error}");
}

#[test]
fn unknown_properties_and_types_of_lines_are_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, ..) = write_run(dir.path(), &header(Headline::Response, 0), 4);
    let path = dir.path().join(RUN_FILE);
    let newer: String = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["more"] = 1.into();
            for place in
                ["/dnsdyno", "/dnsdyno/ends", "/dnsdyno/ends/not_sent", "/dnsdyno/arrivals/anomalies"]
            {
                if let Some(object) = line.pointer_mut(place) {
                    object["more"] = 1.into();
                }
            }
            format!("{line}\n{{\"runid\":\"0199f0c4-test\",\"type\":\"weather\",\"dnsdyno\":[1]}}\n")
        })
        .collect();
    fs::write(&path, newer).unwrap();
    assert_eq!(&Digest::read(dir.path()).unwrap(), writer.digest());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 32, ..Default::default() })]

    #[test]
    fn any_durations_and_counts_are_read_back_as_they_were_written(
        durations in proptest::collection::vec(0..u64::MAX / 2, 0..200),
        counts in proptest::array::uniform12(0..1_u64 << 50),
        codes in proptest::collection::vec((0..4096u16, 1..1000u64), 0..40),
    ) {
        let mut written = interval(0);
        written.tally.service.clear();
        durations.iter().for_each(|ns| written.tally.service.record(*ns));
        codes.iter().for_each(|(code, count)| written.tally.rcodes.add(*code, *count));
        for (reason, count) in dnsdyno_measure::NotSentReason::ALL.into_iter().zip(counts) {
            written.tally.ends.not_sent.add(reason, count);
        }
        written.tally.scheduled = written.tally.ends.total();
        written.tally.bytes_sent = counts[9];
        (written.arrivals.cpu_ns, written.arrivals.in_flight_max) = (counts[10], counts[11]);
        let dir = tempfile::tempdir().unwrap();
        let mut writer =
            RunWriter::create(dir.path(), &header(Headline::Response, 0), "", &HostInfo::default()).unwrap();
        writer.interval(&written).unwrap();
        drop(writer);
        let read = RunReader::open(dir.path()).unwrap().next().unwrap().unwrap();
        proptest::prop_assert_eq!(read, Line::Interval(Box::new(written)));
    }
}

//! A record that no run has written: it is refused with its line and the reason, or read in bounded time and memory.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{SECOND, event, header, interval, write_run};
use dnsdyno_record::{
    Digest, Headline, HostInfo, INDEX_FILE, MAX_ROWS, Phase, RUN_FILE, ReadError, RunWriter,
};
use serde_json::{Value, json};

/// The lines of a run of four intervals: header, interval, interval, interval, event, interval, sum.
struct Lines {
    folder: tempfile::TempDir,
    lines: Vec<Value>,
}

impl Lines {
    fn new() -> Lines {
        Lines::of(0)
    }

    fn of(phases: u64) -> Lines {
        let folder = tempfile::tempdir().unwrap();
        write_run(folder.path(), &header(Headline::Response, phases), 4);
        let text = fs::read_to_string(folder.path().join(RUN_FILE)).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
        assert_eq!(
            kinds.join(" ").replace("stats_", ""),
            "header periodic periodic periodic event periodic sum"
        );
        Lines { folder, lines }
    }

    /// Sets a property of ours in a line.
    fn with(mut self, line: usize, place: &str, value: impl Into<Value>) -> Lines {
        *self.lines[line - 1].pointer_mut(&format!("/dnsdyno{place}")).unwrap_or_else(|| panic!("{place}")) =
            value.into();
        self
    }

    fn path(&self) -> PathBuf {
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        let path = self.folder.path().join(RUN_FILE);
        fs::write(&path, text).unwrap();
        path
    }

    /// The record must be refused with these words.
    #[track_caller]
    fn refused(self, words: &str) {
        let error = Digest::read(&self.path()).expect_err(words).to_string();
        assert!(error.contains(words), "no {words:?} in: {error}");
        assert!(!error.chars().any(char::is_control) && error.len() < 1_000, "{error:?}");
    }
}

#[test]
fn a_record_whose_ends_do_not_add_up_is_refused_with_both_figures() {
    Lines::new().with(3, "/scheduled", 100).refused(
        "line 3: its ends add up to 916, but 100 queries were scheduled: the record was changed, or written by another",
    );
    Lines::new().with(7, "/scheduled", 100).refused("line 7: its ends add up to");
}

#[test]
fn a_sum_that_is_not_that_of_the_intervals_is_refused_with_the_counter() {
    let counter = |place: &str, value: u64, words: &str| Lines::new().with(7, place, value).refused(words);
    counter("/requests", 1, "line 7: its `requests` is 1, but the intervals before it add up to");
    counter("/arrivals/anomalies/duplicates", 21, "`arrivals.anomalies.duplicates` is 21");
    counter("/late_after_settled", 2, "`ends.answered_late`");
    let mut without_an_interval = Lines::new();
    without_an_interval.lines.remove(3);
    without_an_interval.refused("line 6: its `scheduled` is");
}

#[test]
fn watched_series_that_no_run_has_are_refused_with_their_line() {
    let counters = "/watched/0/counters";
    // The third interval is in line 4.
    let many: Value = (0..5_000).map(|n| (format!("series{n}"), json!(1))).collect();
    Lines::new()
        .with(4, counters, many)
        .refused("line 4: not a line of a dnsdyno record: a map has more than 4096");
    Lines::new().with(4, counters, json!({ "a".repeat(300): 1 })).refused("a name has more than 200 octets");
    Lines::new().with(4, counters, json!({ "udp.drops": -1 })).refused("line 4");
    Lines::new().with(4, "/watched", json!(vec![Value::Null; 65])).refused("a list has more than 64 entries");
    let more = json!({ "snmp.Udp.RcvbufErrors": 1 });
    Lines::new().with(7, counters, more).refused(
        "line 7: its `watched.0.snmp.Udp.RcvbufErrors` is 1, but the intervals before it add up to 166",
    );
}

#[test]
fn a_name_of_a_series_that_acts_on_a_terminal_is_not_printed_as_it_is() {
    let name = "\u{1b}[2Jdrops";
    let lines = Lines::new().with(2, "/watched/0/counters", json!({ name: 5 }));
    lines.with(7, "/watched/0/counters", json!({ name: 1 })).refused("[2Jdrops` is 1");
}

#[test]
fn a_record_that_says_that_lines_are_lost_is_read_without_them() {
    let mut lines = Lines::new().with(5, "/kind", "record_gap");
    lines.lines.remove(3);
    let digest = Digest::read(&lines.path()).unwrap();
    assert!(digest.is_complete() && digest.intervals == 3);
    // More than the sum is not what a gap leaves.
    lines.with(6, "/requests", 1).refused("`requests` is 1");
}

#[test]
fn one_header_is_first_and_one_sum_is_last() {
    let mut twice = Lines::new();
    twice.lines.push(twice.lines[6].clone());
    twice.refused("line 8: it follows the sum, which ends a record");
    let mut after = Lines::new();
    after.lines.push(after.lines[4].clone());
    after.refused("line 8: it follows the sum");
    let mut joined = Lines::new();
    joined.lines.insert(3, joined.lines[0].clone());
    joined.refused("line 4: not a line of a dnsdyno record: it is a second header");
    let mut headless = Lines::new();
    headless.lines.remove(0);
    headless.refused("line 1: not a line of a dnsdyno record: it is a \"stats_periodic\"");
}

#[test]
fn intervals_that_do_not_follow_each_other_are_refused() {
    Lines::new().with(3, "/index", 0).refused("line 3: interval 0, from 1000000000 ns, is not after");
    Lines::new()
        .with(3, "/from_ns", 5)
        .refused("line 3: interval 1, from 5 ns, is not after the one before it");
    Lines::new().with(3, "/to_ns", SECOND).refused("line 3: an interval from 1000000000 ns to 1000000000 ns");
    // Each change of the phase was a row of its own, with all histograms.
    let mut alternating = Lines::of(2);
    alternating.lines.truncate(2);
    (0..50).for_each(|n| alternating.lines.push(alternating.lines[1 + n % 2].clone()));
    alternating.refused("line 3: interval 0");
}

#[test]
fn a_load_of_very_many_parts_has_a_header_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut many = header(Headline::Response, 0);
    let phase = |n| Phase { label: "25,000 queries/s".into(), from_ns: n * SECOND, to_ns: (n + 1) * SECOND };
    many.phases = (0..200_000).map(phase).collect();
    drop(RunWriter::create(folder.path(), &many, "", &HostInfo::default()).unwrap());
    assert!(Digest::read(folder.path()).unwrap().header.phases.is_empty());
}

#[test]
fn intervals_far_apart_are_read_into_the_rows_of_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer =
        RunWriter::create(folder.path(), &header(Headline::Response, 0), "", &HostInfo::default()).unwrap();
    for n in 0..60 {
        let mut far = interval(n);
        far.index = (1 << 55) / 60 * n;
        (far.from_ns, far.to_ns) = (far.index, far.index + SECOND);
        writer.interval(&far).unwrap();
    }
    drop(writer);
    let digest = Digest::read(folder.path()).unwrap();
    assert_eq!((digest.intervals, digest.rows().len() <= MAX_ROWS), (60, true));
    Lines::new().with(6, "/index", u64::MAX).refused("line 6: its `index` is 18446744073709551615");
    Lines::new().with(6, "/to_ns", u64::MAX).refused("line 6: its `to_ns` is 18446744073709551615");
}

#[test]
fn a_count_that_no_run_has_is_refused() {
    let most = u64::MAX;
    Lines::new().with(2, "/requests", most).refused("line 2: its `requests` is 18446744073709551615");
    Lines::new().with(2, "/arrivals/sent", most).refused("line 2: its `sent` is");
    Lines::new().with(2, "/workers/0/sent", most).refused("line 2: its `sent` is");
    Lines::new()
        .with(2, "/rcodes", json!({ "4096": 1 }))
        .refused("4096 is neither an RCODE nor an HTTP status");
    Lines::new().with(1, "/interval_ns", 0).refused("line 1: its `interval_ns` is 0");
    let reversed =
        json!([{ "label": "", "from_ns": 5, "to_ns": 9 }, { "label": "", "from_ns": 7, "to_ns": 9 }]);
    Lines::new().with(1, "/phases", reversed).refused("line 1: a phase from 7 ns to 9 ns");
}

#[test]
fn a_list_or_a_line_that_is_too_long_is_refused_before_it_takes_memory() {
    let many = |count: usize| Value::Array(vec![json!({}); count]);
    Lines::new().with(2, "/members", many(100_000)).refused("a list has more than 32 entries");
    Lines::new().with(2, "/workers", many(100_000)).refused("a list has more than 65536 entries");
    Lines::new().with(2, "/types", many(100_000)).refused("a list has more than 65536 entries");
    let counts = Value::Array(vec![1.into(); 100_000]);
    Lines::new().with(2, "/response/counts", counts).refused("a list has more than");
    Lines::new()
        .with(5, "/message", "x".repeat(100_000))
        .refused("line 5: not a line of a dnsdyno record: it has");
    Lines::new().with(5, "/figures", json!({ "list": [1] })).refused("line 5:");
    Lines::new().with(1, "/load", "x".repeat(9 << 20)).refused("line 1: a line is longer than 8 MiB");
}

#[test]
fn what_a_file_contains_is_shown_in_errors_without_control_characters() {
    let dirty = "\u{1b}]0;title\u{7}\u{9b}2J\r\n".repeat(100);
    Lines::new().with(1, "/headline", dirty.clone()).refused("unknown variant");
    Lines::new().with(1, "/types/0", dirty.clone()).refused("unknown query type");
    Lines::new().with(7, "/ended/how", dirty.clone()).refused("unknown variant");
    let mut odd = Lines::new();
    odd.lines[0]["type"] = dirty.into();
    odd.refused("where the header should be");
}

/// A compressed run of 1,300 intervals, and its digest.
fn packed() -> (tempfile::TempDir, Digest) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer =
        RunWriter::create(folder.path(), &header(Headline::Response, 0), "", &HostInfo::default()).unwrap();
    let intervals: Vec<_> = (0..1_300)
        .map(|index| {
            let mut small = interval(0);
            (small.index, small.from_ns, small.to_ns) = (index, index * SECOND, (index + 1) * SECOND);
            small
        })
        .collect();
    intervals.iter().for_each(|one| writer.interval(one).unwrap());
    writer.event(&event(3)).unwrap();
    writer.finish(&common::sum(&intervals)).unwrap();
    let digest = writer.digest().clone();
    (folder, digest)
}

/// Changes the text of the index.
fn with_index(folder: &Path, change: impl Fn(&str) -> String) {
    let path = folder.join(INDEX_FILE);
    let text = zstd::stream::decode_all(fs::File::open(&path).unwrap()).unwrap();
    let changed = change(&String::from_utf8(text).unwrap());
    fs::write(&path, zstd::bulk::compress(changed.as_bytes(), 1).unwrap()).unwrap();
}

#[test]
fn an_index_that_lies_changes_nothing() {
    let (folder, digest) = packed();
    let index = fs::read(folder.path().join(INDEX_FILE)).unwrap();
    let lies: [(&str, &str); 7] = [
        ("\"scheduled\":58", "\"scheduled\":59"),
        ("\"intervals\":64", "\"intervals\":18446744073709551615"),
        ("\"lines\":64", "\"lines\":18446744073709551615"),
        ("\"index\":64,", "\"index\":18446744073709551615,"),
        ("\"requests\":", "\"requests\":9"),
        ("\"from_byte\":", "\"from_byte\":1"),
        ("\"more_events\":0", "\"more_events\":18446744073709551615"),
    ];
    for (true_text, lie) in lies {
        fs::write(folder.path().join(INDEX_FILE), &index).unwrap();
        with_index(folder.path(), |text| {
            assert!(text.contains(true_text), "{true_text} in {}", &text[..600]);
            text.replacen(true_text, lie, 2)
        });
        let read = Digest::read(folder.path()).unwrap_or_else(|error| panic!("{lie}: {error}"));
        // The number of events that are not stored has nothing to be held against.
        assert!(read == digest || lie.contains("events"), "{lie}");
    }
}

#[test]
fn a_record_that_expands_without_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.zst");
    let mut lines = fs::read(Lines::new().path()).unwrap();
    lines.extend(b"{\"type\":\"unknown\"}\n".repeat(8_000_000));
    fs::write(&path, zstd::bulk::compress(&lines, 1).unwrap()).unwrap();
    let error = Digest::read(&path).unwrap_err();
    assert!(matches!(error, ReadError::Read { .. }), "{error}");
    assert!(error.to_string().contains("times its size"), "{error}");
}

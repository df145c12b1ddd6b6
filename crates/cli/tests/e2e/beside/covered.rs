//! Intervals that the load covers in part: their rates in every output are over that part.

use std::collections::BTreeMap;

use dnsdyno_record::Row;
use dnsdyno_record::figures::row_rate;
use dnsdyno_responder::Faults;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Workplace, responder};

/// The columns of the last line of comma-separated values in which queries were due, by their titles.
fn last_line(csv: &str) -> BTreeMap<String, f64> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    let mut cells = lines.map(|line| {
        let cells = titles
            .iter()
            .zip(line)
            .filter_map(|(title, cell)| Some(((*title).to_owned(), cell.parse().ok()?)));
        cells.collect::<BTreeMap<_, f64>>()
    });
    cells.rfind(|cells| cells["scheduled"] > 0.0).unwrap()
}

#[test]
fn the_last_interval_has_the_rate_of_the_load_in_every_output() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!("run -s {} -d q.txt --rate 4k --for 2.2s --interval 250ms -o run", server.address());
    let ran = work.dnsdyno(&words).gives(0);
    assert_eq!(work.record("run").tally().ends.answered, 8_800, "{ran:?}");
    let live: Vec<_> = ran.stderr.lines().filter(|line| line.contains("asked ")).collect();
    assert!(live.len() >= 3 && live.iter().all(|line| line.contains("asked 4,000")), "{live:?}");
    let shown = work.dnsdyno("show run").gives(0).stdout;
    let row: Vec<_> = shown.lines().filter(|line| line.trim_start().starts_with("2.00 ")).collect();
    assert!(row.len() == 1 && row[0].matches("4,000").count() == 2, "{shown}");
    let json: Value = serde_json::from_str(&work.dnsdyno("show run --json").gives(0).stdout).unwrap();
    for rows in ["rows", "intervals"] {
        let rows = json[rows].as_array().unwrap();
        let last = rows.iter().rfind(|row| row["queries"]["scheduled"] != 0).unwrap();
        assert_eq!(
            (&last["from_ns"], &last["covered_ns"]),
            (&2_000_000_000_u64.into(), &200_000_000_u64.into())
        );
        for rate in ["asked_qps", "sent_qps", "answered_qps"] {
            assert_eq!(last[rate], 4_000.0, "{last}");
        }
    }
    for export in ["show run --csv", "export csv run"] {
        let last = last_line(&work.dnsdyno(export).gives(0).stdout);
        for rate in ["asked_qps", "sent_qps", "answered_qps"] {
            assert_eq!(last[rate], 4_000.0, "{export}: {last:?}");
        }
    }
    let plot = work.dnsdyno("export gnuplot run").gives(0).stdout;
    let last: Vec<f64> =
        plot.lines().last().unwrap().split_whitespace().map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(last[..4], [2.1, 4_000.0, 4_000.0, 4_000.0], "{plot}");
}

#[test]
fn the_first_interval_of_a_load_that_begins_with_a_pause_has_its_rate_from_there_on() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let piece = |rate: &str, lasts: &str| format!("[[piece]]\nrate = \"{rate}\"\nfor = \"{lasts}\"\n");
    work.write("load.toml", piece("0", "150ms") + &piece("2k", "600ms"));
    let words = format!("run -s {} -d q.txt --plan load.toml --interval 250ms -o run", server.address());
    work.dnsdyno(&words).gives(0);
    let rows: Vec<_> =
        work.intervals("run").iter().map(Row::of).filter(|row| row.tally.scheduled > 0).collect();
    let covered: Vec<_> = rows.iter().map(|row| (row.covered_ns / 1_000_000, row.asked_qps())).collect();
    assert_eq!(covered, [(100, 2_000.0), (250, 2_000.0), (250, 2_000.0)]);
}

/// The last interval in which queries were due.
fn last_row(work: &Workplace) -> Row {
    work.intervals("run").iter().map(Row::of).rfind(|row| row.tally.scheduled > 0).unwrap()
}

#[test]
fn the_interval_in_which_a_run_is_stopped_has_its_rate_until_then() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let words = format!("run -s {} -d q.txt --rate 1k --for 50s --interval 1s -o run", server.address());
    let mut run = work.start(&words);
    run.until("an interval settles", || !work.intervals("run").is_empty());
    run.signal(Signal::INT);
    run.wait().gives(130);
    let last = last_row(&work);
    assert!((last.asked_qps() - 1_000.0).abs() < 1e-6 && last.covered_ns < 1_000_000_000, "{last:?}");
    assert!(row_rate(&last, last.tally.ends.answered).is_some_and(|rate| rate > 500.0), "{last:?}");
}

#[test]
fn the_interval_in_which_a_condition_ends_a_run_has_its_rate_until_then() {
    let work = Workplace::with_queries();
    let server = responder(Faults::default());
    let load = "--rate 1k --for 50s --interval 1s --stop-when rate>1";
    work.dnsdyno(&format!("run -s {} -d q.txt {load} -o run", server.address())).gives(0);
    let last = last_row(&work);
    assert!((last.asked_qps() - 1_000.0).abs() < 1e-6 && last.covered_ns < 1_000_000_000, "{last:?}");
}

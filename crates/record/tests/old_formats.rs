//! Runs of all older formats can be read. Each was written by a version of its time and is never regenerated: a new
//! format gets a new folder here.

use std::path::{Path, PathBuf};

use dnsdyno_measure::{NotSentReason, Quantile, Warning};
use dnsdyno_record::{Digest, Ended, FORMAT, Headline};

fn old(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old").join(name)
}

#[test]
fn there_is_a_run_of_every_older_format() {
    for format in 1..FORMAT {
        assert!(Digest::read(&old(&format!("v{format}"))).unwrap().is_complete(), "format {format}");
    }
}

#[test]
fn a_run_of_format_1_is_read() {
    let digest = Digest::read(&old("v1")).unwrap();
    let header = &digest.header;
    assert_eq!((header.headline, header.target.as_str()), (Headline::Response, "localhost"));
    assert_eq!((header.types.as_slice(), header.timeout_ns), (&[1, 28, 65280][..], 5_000_000_000));
    assert_eq!((digest.intervals, digest.rows().len(), digest.events.len()), (2, 2, 1));
    let tally = digest.tally();
    assert_eq!((tally.scheduled, tally.ends.answered, tally.ends.timed_out), (1829, 1801, 14));
    assert_eq!(tally.ends.not_sent.of(NotSentReason::GeneratorLate), 2);
    let duplicates = digest.arrivals().anomalies.duplicates;
    assert_eq!((digest.events[0].kind.as_str(), duplicates), ("unreachable", 10));
    assert_eq!(digest.events[0].message, "the server refused 2 queries (ICMP port unreachable)");
    assert_eq!((tally.types[0].answered, tally.types[1].sent, tally.types[2].sent), (1781, 40, 0));
    assert!(tally.response.stddev_ns().unwrap().abs_diff(288_447) < 1_000);
    assert_eq!((tally.rcodes.of(3), tally.rcodes.of(4000)), (24, 2));
    let p50 = tally.response_latency().quantile(0.5);
    assert!(matches!(p50, Some(Quantile::At(ns)) if ns.abs_diff(620_000) < 6_000), "{p50:?}");
    assert_eq!(digest.ended(), Some(&Ended::ByTime));
    assert!(matches!(digest.warnings()[0], Warning::SocketDrops { packets: 3, timed_out: 70 }));
}

#[test]
fn a_run_of_format_2_is_read() {
    let digest = Digest::read(&old("v2")).unwrap();
    assert_eq!((digest.header.target.as_str(), digest.header.queries), ("127.0.0.1", 1));
    assert!(digest.header.checks.is_empty() && digest.header.queries_hash.is_none());
    let tally = digest.tally();
    assert_eq!((tally.scheduled, tally.ends.answered, tally.ends.timed_out), (500, 481, 19));
    assert_eq!(digest.ended(), Some(&Ended::ByCount));
    // Its rule for late sends was another one.
    assert!(matches!(&digest.warnings()[..], [Warning::SendsLate { longest_ns: 0, .. }]));
}

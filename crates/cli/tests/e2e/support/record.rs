//! Checks of every record.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dnsdyno_measure::{ConnectionEnd, Half, MemberTally, Tally, WatchedKind};
use dnsdyno_record::{Digest, Interval, Line, PACKED_FILE, RUN_FILE, RunReader, Sum, schema::RUN_SCHEMA};
use dnsdyno_report::{SUMMARY_SCHEMA, write_json};
use dnsdyno_servers::{Measure, series_of};
use jsonschema::Validator;
use serde_json::{Map, Value};

/// Checks a record against both schemas and its own sums, and its summary against its own; returns its digest.
#[track_caller]
pub(crate) fn check_record(run: &Path) -> Digest {
    lines_follow_the_schemas(run);
    let mut reader = RunReader::open(run).unwrap_or_else(|error| panic!("{error}"));
    let types = reader.header().types.len();
    let transport = reader.header().transport.clone();
    let mut together = Tally::new(types);
    let mut count = 0;
    for line in &mut reader {
        match line.unwrap_or_else(|error| panic!("{error}")) {
            Line::Interval(interval) => {
                add_up(&interval.tally, &format!("{}, interval {}", run.display(), interval.index));
                assert_eq!(interval.index, count, "intervals come in order, without a gap");
                together.merge(&interval.tally);
                count += 1;
            }
            Line::Sum(sum) => {
                is_the_sum_of(&sum, together.clone(), run);
                connections_add_up(&sum, &transport, run);
            }
            Line::Event(_) => {}
        }
    }
    let digest = Digest::read(run).unwrap_or_else(|error| panic!("{error}"));
    summary_follows_its_schema(&digest, run);
    statistics_are_in_the_catalogue(&digest, run);
    digest
}

/// Whatever a server calls them, its statistics have the names of the catalogue, which the rules of a diagnosis use; or
/// their own after `raw.`.
#[track_caller]
fn statistics_are_in_the_catalogue(digest: &Digest, run: &Path) {
    for (source, samples) in digest.header.watched.iter().zip(digest.watched()) {
        let (WatchedKind::Server, Some(samples)) = (source.kind, samples) else { continue };
        let is_own = |name: &&String| !name.starts_with("raw.");
        let measure = |name: &String| series_of(name).map(|series| series.measure);
        for name in samples.counters.keys().filter(is_own) {
            assert_eq!(measure(name), Some(Measure::Counter), "{}: {}: {name}", run.display(), source.label);
        }
        for name in samples.gauges.keys().filter(is_own) {
            let measure = measure(name);
            let is_gauge = matches!(measure, Some(Measure::Gauge | Measure::GaugeNs));
            assert!(is_gauge, "{}: {}: {name}: {measure:?}", run.display(), source.label);
        }
    }
}

/// With every key that it has, and no other.
#[track_caller]
fn summary_follows_its_schema(digest: &Digest, run: &Path) {
    static SCHEMA: OnceLock<Validator> = OnceLock::new();
    let validator = SCHEMA.get_or_init(|| compile(SUMMARY_SCHEMA));
    let mut json = Vec::new();
    write_json(&mut json, digest, Map::new(), std::iter::empty::<io::Result<Interval>>()).unwrap();
    let summary: Value = serde_json::from_slice(&json).unwrap();
    let errors: Vec<_> = validator.iter_errors(&summary).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{}: {errors:?}", run.display());
}

/// The intervals in a record that is still being written: an empty record is no error.
pub(crate) fn intervals_of(run: &Path) -> Vec<Interval> {
    let Ok(reader) = RunReader::open(run) else { return Vec::new() };
    let interval = |line| if let Ok(Line::Interval(interval)) = line { Some(*interval) } else { None };
    reader.filter_map(interval).collect()
}

/// Each query scheduled has one end, and each count of the answered counts the same ones.
#[track_caller]
fn add_up(tally: &Tally, of: &str) {
    let ends = &tally.ends;
    assert_eq!(ends.total(), tally.scheduled, "{of}: the ends add up: {ends:?}");
    assert_eq!(tally.response.count(), ends.answered, "{of}: response times");
    assert_eq!(tally.service.count(), ends.answered, "{of}: service times");
    assert_eq!(tally.types.iter().map(|n| n.answered).sum::<u64>(), ends.answered, "{of}: answers by type");
    let fallback = tally.fallback.as_deref();
    let over_tcp = fallback.map_or(0, |fallback| fallback.tcp_requests - fallback.tcp_retried);
    let left = tally.requests - tally.retried - over_tcp;
    assert_eq!(tally.types.iter().map(|n| n.sent).sum::<u64>(), left, "{of}: queries that left, by type");
    // Those that were passed to a connection which never opened were not late either.
    assert!(tally.lateness.count() >= left, "{of}: lateness of each that left");
    assert!(ends.refused + ends.timed_out > 0 || tally.lateness.count() == left, "{of}: lateness");
    if let Some(fallback) = fallback {
        assert_eq!(
            fallback.started,
            fallback.answered + fallback.failed_in(Half::Tcp),
            "{of}: {:?}",
            fallback.failed
        );
        assert!(
            fallback.started <= fallback.udp_requests && over_tcp <= fallback.started,
            "{of}: {:?}",
            fallback.failed
        );
    }
    if !tally.members.is_empty() {
        let sum = |count: fn(&MemberTally) -> u64| tally.members.iter().map(count).sum::<u64>();
        assert_eq!(sum(|member| member.scheduled), tally.scheduled, "{of}: queries of the members");
        assert_eq!(sum(|member| member.sent), left, "{of}: queries of the members that left");
        assert_eq!(sum(|member| member.ends.total()), ends.total(), "{of}: ends of the members");
        assert_eq!(sum(|member| member.response.count()), ends.answered, "{of}: answers of the members");
    }
}

/// The sum is that of the intervals, except for responses received after their interval was written.
#[track_caller]
fn is_the_sum_of(sum: &Sum, mut together: Tally, run: &Path) {
    add_up(&sum.tally, &format!("{}, sum", run.display()));
    together.ends.came_late_after_all(sum.late_after_settled);
    assert_eq!(sum.tally.scheduled, together.scheduled, "{}: queries of sum and intervals", run.display());
    assert_eq!(sum.tally.ends, together.ends, "{}: ends of sum and intervals", run.display());
}

/// Each connection has one end, and, over TLS, one handshake.
#[track_caller]
fn connections_add_up(sum: &Sum, transport: &str, run: &Path) {
    let Some(connections) = &sum.arrivals.connections else { return };
    let of = run.display();
    let started = connections.established + connections.failed_total();
    assert_eq!(connections.opened, started, "{of}: {connections:?}");
    assert_eq!(connections.established, connections.ended_total(), "{of}: {connections:?}");
    if !["dot", "doh"].contains(&transport) || connections.established == 0 {
        return;
    }
    let encrypted = connections.encrypted.as_ref().unwrap_or_else(|| panic!("{of}: no handshakes"));
    let shaken = encrypted.done_total() + encrypted.failed_total();
    assert_eq!(connections.established, shaken, "{of}: {connections:?}");
    assert_eq!(connections.ended(ConnectionEnd::Handshake), encrypted.failed_total(), "{of}");
}

/// Each complete line is valid; the last one may be incomplete if the writer was killed.
#[track_caller]
fn lines_follow_the_schemas(run: &Path) {
    let text = match fs::read(run.join(PACKED_FILE)) {
        // The last frame of a killed run has no end: its content is read.
        Ok(packed) => {
            let mut text = Vec::new();
            let _ = std::io::Read::read_to_end(&mut zstd::Decoder::new(&packed[..]).unwrap(), &mut text);
            text
        }
        Err(_) => fs::read(run.join(RUN_FILE)).unwrap(),
    };
    for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        let line: Value = serde_json::from_slice(line).unwrap();
        for (name, validator) in schemas() {
            let errors: Vec<_> = validator.iter_errors(&line).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{} {}: {name}: {errors:?}", run.display(), line["type"]);
        }
    }
}

/// Our schema, and that of dns-metrics where it is next to the checkout.
fn schemas() -> &'static [(&'static str, Validator)] {
    static SCHEMAS: OnceLock<Vec<(&'static str, Validator)>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let mut schemas = vec![("our schema", compile(RUN_SCHEMA))];
        let standard: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "../../../shared/reference/dns-metrics.schema.json"]
                .iter()
                .collect();
        if let Ok(text) = fs::read_to_string(standard) {
            schemas.push(("dns-metrics", compile(&text)));
        }
        schemas
    })
}

fn compile(text: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

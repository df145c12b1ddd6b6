//! `docs/metrics.md` and the dashboard against what is served: every name in them exists, and none is left out.

mod support;

use std::collections::BTreeSet;
use std::fs;

use dnsdyno_measure::{
    Arrivals, ConnectFailure, ConnectionEnd, HandshakeFailure, HandshakeKind, NotSentReason, Samples, Side,
    Watched, WatchedKind,
};
use dnsdyno_record::{Digest, Interval, Line, RunReader};
use dnsdyno_runner::{Live, Observer};
use dnsdyno_serve::Metrics;
use serde_json::Value;
use support::{get, simulated};

/// The text of a run that has everything: several phases, losses, connections, handshakes, a doubt.
fn everything() -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    simulated(&run, |_| {});
    let mut metrics = Metrics::serve("127.0.0.1:0".parse().unwrap()).unwrap();
    let reader = RunReader::open(&run).unwrap();
    let mut header = reader.header().clone();
    header.watched.push(watched());
    metrics.begins(&header, Some(1_000_000_000)).unwrap();
    let mut digest = Digest::new(header);
    let mut first = None;
    for line in reader {
        let Line::Interval(mut interval) = line.unwrap() else { continue };
        interval.tally.ends.not_sent.add(NotSentReason::NoRoute, 1);
        add_connections(&mut interval.arrivals);
        interval.arrivals.socket_drops = 1;
        metrics.passed(&live(&interval));
        metrics.settled(&interval);
        interval.watched = vec![Some(samples_of_a_host())];
        metrics.sampled(&interval);
        digest.interval(&interval);
        metrics.idle(&digest);
        first.get_or_insert(interval);
    }
    // A phase, percentiles and open connections are told while the run has them; the last interval of the simulated
    // run has none.
    let first = first.unwrap();
    metrics.settled(&first);
    metrics.passed(&live(&first));
    let accept = "Accept: application/openmetrics-text";
    get(metrics.address(), &format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{accept}\r\n\r\n")).body
}

/// An interval as it passed, at 4,000 queries a second.
fn live(interval: &Interval) -> Live<'_> {
    let Interval { index, to_ns, ref arrivals, .. } = *interval;
    Live { index, to_ns, covered_ns: interval.covered_ns(), asked_qps: 4_000.0, arrivals }
}

fn watched() -> Watched {
    Watched {
        kind: WatchedKind::Host,
        side: Side::Both,
        label: "this host".into(),
        software: None,
        version: None,
        settings: [].into(),
        unset: Vec::new(),
        missing: Vec::new(),
    }
}

fn samples_of_a_host() -> Samples {
    Samples {
        counters: [("udp.drops".to_owned(), 3), ("raw.own".to_owned(), 3)].into(),
        gauges: [("memory_bytes".to_owned(), 5)].into(),
    }
}

#[test]
fn watched_counters_are_added_up_and_a_servers_own_names_are_left_out() {
    let text = everything();
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}"));
        line.to_owned()
    };
    let labels = r#"{kind="host",source="this host",series="udp.drops"}"#;
    let intervals = text.matches("raw.own").count();
    assert_eq!(intervals, 0);
    let rise = of(&format!("dnsdyno_watched_rise_total{labels}"));
    let sum: u64 = rise.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(sum >= 6 && sum.is_multiple_of(3), "{rise}");
    assert!(of("dnsdyno_watched_value{").ends_with(" 5.0"), "{text}");
}

fn add_connections(arrivals: &mut Arrivals) {
    let connections = arrivals.connections_mut();
    (connections.opened, connections.established, connections.open_max) = (3, 2, 2);
    connections.add_failed(ConnectFailure::Refused, 1);
    connections.add_ended(ConnectionEnd::ByServer, 2);
    connections.connect.record(100_000);
    connections.encrypted_mut().add_handshake(HandshakeKind::ALL[0], 2_000_000);
    connections.encrypted_mut().add_failed(HandshakeFailure::ALL[0], 1);
}

/// The names of the families.
fn families(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|named| named.split(' ').next().unwrap().to_owned()).collect()
}

/// The names of the samples.
fn samples(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split([' ', '{']).next().unwrap().to_owned()).collect()
}

/// All words of a text that begin as the metrics do.
fn names_in(text: &str) -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_of_name(letter));
    words.filter(|word| word.starts_with("dnsdyno_")).map(str::to_owned).collect()
}

/// A file of the repository.
fn document(path: &str) -> String {
    let path = format!("{}/../../docs/{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_table_of_metrics_has_each_metric_with_its_type_and_labels() {
    let (text, document) = (everything(), document("metrics.md"));
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut described = BTreeSet::new();
    for row in rows {
        let (name, rest) = row.split_once('`').unwrap();
        described.insert(name.to_owned());
        let mut cells = rest.split('|').map(str::trim).skip(1);
        let (kind, labels) = (cells.next().unwrap(), cells.next().unwrap());
        assert!(text.contains(&format!("# TYPE {name} {kind}\n")), "{name} is no {kind}");
        let given: BTreeSet<&str> = labels.split(", ").map(|label| label.trim_matches('`')).collect();
        let sample = text.lines().find(|line| {
            let of_name = line.strip_prefix(name);
            let suffixes = ["{", " ", "_total", "_info", "_bucket"];
            of_name.is_some_and(|rest| suffixes.iter().any(|suffix| rest.starts_with(suffix)))
        });
        let labels = sample.unwrap().split_once('{').map_or("", |(_, labels)| labels);
        let served: BTreeSet<&str> = labels
            .split("\",")
            .filter_map(|label| label.split_once("=\"").map(|(key, _)| key))
            .filter(|key| *key != "le")
            .collect();
        let given = if given == BTreeSet::from([""]) { BTreeSet::new() } else { given };
        assert_eq!(given, served, "labels of {name}: {sample:?}");
    }
    assert_eq!(described, families(&text));
}

#[test]
fn each_name_in_the_text_and_in_the_dashboard_is_served() {
    let text = everything();
    let (families, samples) = (families(&text), samples(&text));
    for document in ["metrics.md", "grafana/dashboard.json"] {
        let named = names_in(&self::document(document));
        assert!(named.len() > 20, "{named:?}");
        let unknown: Vec<_> =
            named.iter().filter(|name| !samples.contains(*name) && !families.contains(*name)).collect();
        assert!(unknown.is_empty(), "{document}: {unknown:?}");
    }
}

#[test]
fn the_queries_of_the_dashboard_use_names_of_samples() {
    let samples = samples(&everything());
    let dashboard: Value = serde_json::from_str(&document("grafana/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: Vec<_> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() > 25);
    for query in queries {
        let named = names_in(query);
        assert!(!named.is_empty() && named.is_subset(&samples), "{query}");
    }
}

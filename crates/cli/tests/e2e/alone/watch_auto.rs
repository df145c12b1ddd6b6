//! `--watch auto`: what listens at the target is found with its process, its kind and its statistics.

use dnsdyno_lab::{Need, Place, ServerOptions, VethPair, require};
use dnsdyno_measure::{Side, WatchedKind};
use dnsdyno_record::Digest;

use crate::support::{Workplace, real_server};

/// What was watched: kind, side and label.
fn watched(digest: &Digest) -> Vec<(WatchedKind, Side, String)> {
    digest.header.watched.iter().map(|watched| (watched.kind, watched.side, watched.label.clone())).collect()
}

#[test]
fn a_server_in_a_namespace_is_found_with_its_statistics() {
    if !require(&[Need::Root]) {
        return;
    }
    let pair = VethPair::new(1).unwrap();
    let options = ServerOptions {
        address: pair.far().ipv4.into(),
        place: Place::in_namespace(pair.far()),
        parts: vec!["statistics".to_owned()],
        ..ServerOptions::default()
    };
    let Some(server) = real_server("bind", &options) else { return };
    let work = Workplace::with_queries();
    let (address, pid) = (server.address(), server.pid());
    let words = format!("run -s {address} -d q.txt --count 1000 --outstanding 20 --watch auto -o run");
    let found = format!("auto: named ({pid}) listens at {address}; statistics: http://");
    work.start_in(pair.near(), &words).wait().gives(0).says(&[&found]);
    let digest = work.record("run");
    let channel = server.listener("statistics").unwrap();
    let expected = [
        (WatchedKind::Host, Side::Generator, "this host".to_owned()),
        (WatchedKind::Host, Side::Server, format!("the network namespace of named ({pid})")),
        (WatchedKind::Process, Side::Server, format!("named ({pid})")),
        (WatchedKind::Server, Side::Server, format!("BIND at {channel}")),
    ];
    assert_eq!(watched(&digest), expected);
    let server = digest.watched()[3].as_ref().unwrap();
    assert_eq!(server.counter("queries"), 1_000);
}

#[test]
fn a_server_on_this_host_without_statistics_is_watched_by_its_process_and_the_line_to_add_is_said() {
    let Some(server) = real_server("bind", &ServerOptions::default()) else { return };
    let work = Workplace::with_queries();
    let (address, pid) = (server.address(), server.pid());
    let add = "add to its configuration: statistics-channels { inet 127.0.0.1 port 8053";
    work.dnsdyno(&format!("run -s {address} -d q.txt --count 100 --watch auto -o run")).gives(0).says(&[add]);
    let digest = work.record("run");
    let expected = [
        (WatchedKind::Host, Side::Both, "this host".to_owned()),
        (WatchedKind::Process, Side::Server, format!("named ({pid})")),
    ];
    assert_eq!(watched(&digest), expected);
}

#[test]
fn the_control_socket_of_a_server_on_this_host_is_found() {
    let Some(server) = real_server("nsd", &ServerOptions::default()) else { return };
    let work = Workplace::with_queries();
    let address = server.address();
    // For longer than NSD takes to replace the process that answers, which it does when its statistics are read.
    work.dnsdyno(&format!("run -s {address} -d q.txt --rate 500 --for 4s --watch auto -o run")).gives(0);
    let digest = work.record("run");
    let kinds: Vec<_> = watched(&digest).into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(
        kinds,
        [WatchedKind::Host, WatchedKind::Process, WatchedKind::Server],
        "{:?}",
        digest.header.watched
    );
    assert_eq!(digest.watched()[2].as_ref().unwrap().counter("queries"), 2_000);
    // NSD is a process for the transfer of zones, one for the others, and one that answers, which is away while NSD
    // replaces it.
    let process = digest.watched()[1].as_ref().unwrap();
    assert!(process.gauge("threads") >= 2, "{process:?}");
}

/// NSD 4.6 makes new server processes when it is asked for its statistics, and their connections end.
#[test]
fn watching_ends_no_connection_and_has_all_cpu_time() {
    for name in ["bind", "knot", "nsd", "pdns", "unbound"] {
        let Some(server) = real_server(name, &ServerOptions::default()) else { return };
        let work = Workplace::with_queries();
        let load = "--transport tcp --clients 20 --queries-per-connection 0 --rate 2k --for 3s";
        work.dnsdyno(&format!("run -s {} -d q.txt {load} --watch auto --quiet -o run", server.address()))
            .gives(0);
        let digest = work.record("run");
        let connections = digest.arrivals().connections.as_deref().unwrap();
        assert_eq!((connections.established, digest.tally().retried), (20, 0), "{name}: {connections:?}");
        let process = digest.watched()[1].as_ref().unwrap();
        let of_threads: u64 = process
            .counters
            .iter()
            .filter(|(series, _)| series.starts_with("thread.") && series.ends_with(".cpu_ns"))
            .map(|(_, cpu_ns)| cpu_ns)
            .sum();
        // Of a process the kernel counts in hundredths of a second.
        let cpu_ns = process.counter("cpu_ns");
        assert!(cpu_ns + 100_000_000 >= of_threads && of_threads > 0, "{name}: {cpu_ns} and {of_threads}");
    }
}
